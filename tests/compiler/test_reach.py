"""A program is stale after each change of what its function reads, and after no other; what is unseen is refused."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.reach.reached import reach_of
from tests.compiler.random_state import tried
from tests.compiler.state_programs import FRESH, PRELUDE, REFUSED, STALE


def run(source, tmp_path):
    """The names of a program of the user's, which is in a file."""
    file = tmp_path / "model.py"
    file.write_text(source if source.startswith(PRELUDE) else PRELUDE + source)
    module = sys.modules["model"] = types.ModuleType("model")
    module.__file__ = str(file)
    exec(compile(file.read_text(), str(file), "exec"), vars(module))
    return vars(module)


@pytest.fixture(autouse=True)
def math_as_it_was():
    import math

    before = dict(vars(math))
    yield
    vars(math).update(before)
    sys.modules.pop("model", None)
    pb.release()


@pytest.mark.parametrize("case", STALE)
def test_change_is_seen(case, tmp_path):
    source, change = STALE[case]
    scope = run(source, tmp_path)
    found = reach_of(scope["f"])
    assert not found.refused
    assert found.watches.changed() is None
    assert not found.watches.stale()
    scope["f"](np.ones(2))
    assert not found.watches.stale(), found.watches.changed()
    exec(change, scope)
    assert found.watches.stale()
    assert found.watches.stale()  # and remains so
    assert found.watches.changed()


@pytest.mark.parametrize("case", FRESH)
def test_nothing_is_seen_where_nothing_has_changed(case, tmp_path):
    source, change = FRESH[case]
    scope = run(source, tmp_path)
    found = reach_of(scope["f"])
    assert not found.refused
    exec(change, scope)
    assert found.watches.changed() is None
    assert not found.watches.stale()
    assert not found.watches.stale()


@pytest.mark.parametrize("case", REFUSED)
def test_what_nobody_can_follow_is_refused(case, tmp_path):
    source, word = REFUSED[case]
    found = reach_of(run(source, tmp_path)["f"])
    assert found.refused
    refusal = found.refused[0]
    assert word in refusal.what
    assert refusal.filename == str(tmp_path / "model.py"), refusal
    assert 0 < refusal.lineno <= source.count("\n") + 1


def test_captured_tensors_and_arrays_are_listed_once(tmp_path):
    scope = run(
        "w, a = pb.ones(2), np.ones(2)\nclass A: pass\nm = A()\nm.w, m.a = w, a\n"
        "def f(x): return x * w * m.w + a + m.a + sum([w])",
        tmp_path,
    )
    found = reach_of(scope["f"])
    assert [*map(id, found.tensors)] == [id(scope["w"])]
    assert [*map(id, found.arrays)] == [id(scope["a"])]


def test_nothing_of_the_users_runs_meanwhile(tmp_path):
    scope = run(
        "def bad(*a): raise AssertionError\n"
        "class A:\n    __eq__ = __len__ = __iter__ = __repr__ = __bool__ = __get__ = __call__ = __contains__ = bad\n"
        "    __hash__ = object.__hash__\n    r = property(bad)\n    __class__ = property(bad)\n"
        "class D(dict):\n    keys = values = items = get = __iter__ = __getitem__ = __len__ = bad\n"
        "class L(list):\n    __iter__ = __getitem__ = __len__ = bad\n"
        "class G:\n    __getattr__ = __getattribute__ = bad\n    def __call__(self): pass\n"
        "a, d, l, g = A(), D(a=A()), L([A()]), G()\ndef f(x): return a.r + d.b + l.c + a + a.d.e",
        tmp_path,
    )
    found = reach_of(scope["f"])
    assert not found.watches.stale()
    scope["a"].new = 3
    assert found.watches.changed() is None
    assert reach_of(scope["g"]).refused[0].what == "`__getattr__` of the class G"


def test_property_that_keeps_its_result_is_seen_once(tmp_path):
    scope = run(
        "class A:\n    rate = 1\n    @functools.cached_property\n    def r(self): return self.rate\na = A()\n"
        "def f(x): return x * a.r",
        tmp_path,
    )
    before = reach_of(scope["f"])
    scope["f"](1.0)
    assert before.watches.changed() == "the global `a` of model.py has `r` now, and had not"
    after = reach_of(scope["f"])
    scope["f"](1.0)
    assert not after.watches.stale()
    scope["a"].r = 2
    assert after.watches.stale()


def test_contents_of_arrays_on_demand(tmp_path):
    scope = run(
        "from scipy.interpolate import CubicSpline\ns = CubicSpline([0, 1, 2], [0.0, 1.0, 0.0])\na = np.zeros(3)\n"
        "def f(x, b=[np.ones(2)]): return s(x) + a[0] + b[0]",
        tmp_path,
    )
    for array in (scope["s"].c, scope["a"], scope["f"].__defaults__[0][0]):
        found = reach_of(scope["f"])
        assert id(array) in map(id, found.arrays)
        array.flat[-1] += 1
        assert not found.watches.stale()
        found.watches.arrays(contents=True)
        assert not found.watches.stale()
        array.flat[-1] += 1
        assert found.watches.stale()


def test_program_under_adopt(tmp_path):
    scope = run(
        "import scipy.special\nrate = 1.0\ndef f(x): return np.zeros(2) + math.sin(1) * scipy.special.erf(x) * rate",
        tmp_path,
    )
    with pb.adopt():
        scope["f"](1.0)
        found = reach_of(scope["f"])
        assert not found.refused
        assert not found.watches.stale()
        scope["f"](1.0)
        assert not found.watches.stale(), found.watches.changed()
        scope["rate"] = 2.0
        assert found.watches.stale()


def test_cycles_end(tmp_path):
    scope = run(
        "c = []\nc.append(c)\nclass A: pass\na = A()\na.a = a\na.f = lambda: f\ndef f(x): return a.a, a.f, c", tmp_path
    )
    found = reach_of(scope["f"])
    assert not found.refused
    assert not found.watches.stale()


def test_other_threads_and_types_of_arguments(tmp_path):
    scope = run("rate = 1\nclass P:\n    def norm(self): return rate\ndef f(p): return p.norm()", tmp_path)
    found = reach_of(scope["f"], [scope["P"]])
    scope["rate"] = 2
    assert found.watches.changed() == "the global `rate` of model.py is 2 now, and was 1"


def test_users_modules(tmp_path, monkeypatch):
    config = types.ModuleType("config_of_a_test")
    config.RATE, config.other = 1.0, 0
    monkeypatch.setitem(sys.modules, "config_of_a_test", config)
    scope = run("def f(x):\n    import config_of_a_test as c\n    return x * c.RATE", tmp_path)
    found = reach_of(scope["f"])
    config.other = 3
    assert not found.watches.stale()
    config.RATE = 2.0
    assert found.watches.changed() == "the attribute `RATE` of the module config_of_a_test is 2.0 now, and was 1.0"


def test_what_tells_something_is_listed(tmp_path):
    scope = run(
        "import logging, warnings; log = logging.getLogger('a')\n"
        "def f(x):\n    print(x)\n    log.info('a')\n    warnings.warn('b')\n    return x",
        tmp_path,
    )
    found = reach_of(scope["f"])
    assert not found.refused
    assert [x.lineno for x in found.told] == [6, 7, 8]


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_no_program_at_random_is_stale(first):
    for seed in range(first, first + 10):
        outcomes, program = tried(seed)
        assert "STALE" not in outcomes, program


def test_refusal_in_an_installed_package_tells_the_users_line(tmp_path, monkeypatch):
    home = tmp_path / "site-packages"
    home.mkdir()
    (home / "package_of_a_test.py").write_text("import time\n\n\ndef now(): return time.time()\n")
    monkeypatch.syspath_prepend(home)
    scope = run("import package_of_a_test\n\ndef f(x):\n    return x * package_of_a_test.now()", tmp_path)
    (refusal,) = reach_of(scope["f"]).refused
    assert refusal.filename == str(tmp_path / "model.py")
    assert refusal.lineno == PRELUDE.count("\n") + 4
    sys.modules.pop("package_of_a_test")
