"""Who sees the views, for how long, and that they pass for what they stand for."""

import copy
import doctest
import functools
import gc
import inspect
import math
import pickle
import pkgutil
import subprocess
import sys
import threading
import types
import typing

import numpy  # noqa: ICN001 - several names of one module
import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats
from numpy import asarray as users_asarray
from numpy.linalg import norm
from scipy.linalg import expm

import pullback as pb
from pullback.interop.adopt import views

GENUINE = [numpy, users_asarray]  # adopt() reaches names, not lists
SOURCE = """
    import numpy as np
    import numpy
    import numpy.linalg as la
    from math import sqrt
    from scipy.linalg import expm
    import scipy.special

    def zeros(n: np.ndarray) -> np.float64:
        return np.zeros(n)

    def imports_inside(n):
        import numpy
        from numpy import zeros
        import scipy.linalg, math
        return numpy, zeros, scipy, scipy.linalg, math
"""


def genuine_everywhere():
    """The modules and functions that stand in every namespace, by the namespaces' ids."""
    kinds = types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type(numpy.sum)
    found = [d for d in gc.get_objects() if type(d) is dict and "__builtins__" in d]
    return {id(d): {name: value for name, value in d.items() if type(value) in kinds} for d in found}


def test_release_restores_everything(module_of):
    modules = [module_of(SOURCE), module_of(SOURCE, listed=False)]
    genuine = [dict(vars(m)) for m in modules]
    methods = {k: dict(vars(k)) for k in (np.vectorize, type(np.r_).__mro__[1], scipy.stats.rv_continuous)}
    before, importing = genuine_everywhere(), __import__
    pb.adopt()
    later = module_of(SOURCE)
    assert later.np is modules[0].np
    seen = [(m.np, m.numpy, m.la, m.sqrt, m.expm, m.scipy) for m in modules]
    pb.release()
    for np_, numpy_, la, *others in seen:
        assert np_ is numpy_ is not numpy
        assert la is np_.linalg is not numpy.linalg
        assert all(x is not genuine[0][name] for x, name in zip(others, ("sqrt", "expm", "scipy"), strict=True))
    for module, had in zip([*modules, later], [*genuine, genuine[0]], strict=True):
        assert all(vars(module)[name] is had[name] for name in ("np", "numpy", "la", "sqrt", "expm", "scipy"))
    assert all(list(vars(m)) == list(had) for m, had in zip(modules, genuine, strict=True))
    after = genuine_everywhere()
    for key in before.keys() & after.keys():
        for name in before[key].keys() & after[key].keys():
            assert after[key][name] is before[key][name], name
    assert __import__ is importing
    assert all(dict(vars(k)) == had for k, had in methods.items())
    pb.release()  # once more does nothing


def test_this_module_is_adopted_inside_the_block_alone():
    genuine = [numpy, users_asarray, expm, norm, math]
    with pb.adopt():
        assert all(x is not y for x, y in zip((numpy, users_asarray, expm, norm, math), genuine, strict=True))
    assert all(x is y for x, y in zip((numpy, users_asarray, expm, norm, math), genuine, strict=True))


def test_imports_in_functions_and_in_namespaces_of_no_file(module_of):
    module = module_of(SOURCE)
    cell = {"__name__": "__main__"}
    with pb.adopt():
        inside = module.imports_inside(3)
        assert inside[0] is module.np
        assert inside[1] is module.np.zeros
        assert inside[2:] == (module.scipy, module.scipy.linalg, math)
        exec("import numpy as np, scipy.linalg as la\nfrom numpy import *", cell)
        assert cell["np"] is module.np
        assert cell["la"] is module.scipy.linalg
        assert cell["asarray"] is module.np.asarray
        assert pb.func.grad(eval("lambda x: np.array([x, 2 * x]).sum()", cell))(1.0) == 3.0
    assert cell["np"] is numpy
    assert module.imports_inside(3)[0] is numpy


def test_packages_of_scipy_that_are_loaded_when_first_used():
    program = """if True:
        import numpy as np, pullback as pb, scipy, sys
        pb.adopt()
        assert "scipy.stats" not in sys.modules
        x = np.array([0.5, 1.0])
        assert abs(pb.func.grad(lambda x: scipy.spatial.distance.euclidean(x, [0.5, 0.0]))(x) - [0, 1]).max() < 1e-15
        genuine = scipy.stats.rv_continuous.logpdf.genuine
        pb.release()
        assert scipy.stats.rv_continuous.logpdf is genuine
        assert scipy is sys.modules["scipy"]
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_modules_hidden_from_the_collector_are_reached():
    """Servers call gc.freeze() before they fork."""
    program = """if True:
        import gc, types, sys
        import numpy as np, pullback as pb
        gc.freeze()
        with pb.adopt():
            assert pb.func.grad(lambda x: np.sum(np.array([x[0], x[1] ** 2])))(np.ones(2)).tolist() == [1, 2]
        assert np is sys.modules["numpy"]
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_libraries_and_compiled_modules_are_left_alone(adopted):
    assert numpy is not GENUINE[0]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if "site-packages" in file or not file.endswith(".py"):
            values = list(vars(module).values()) if isinstance(module, types.ModuleType) else ()
            assert not any(value is numpy or value is users_asarray for value in values), name


def test_an_installed_package_is_reached_by_its_name(tmp_path, monkeypatch):
    home = tmp_path / "site-packages"
    home.mkdir()
    (home / "installed_package.py").write_text("import numpy as np\ndef f(x):\n    return np.array([x, x]).sum()\n")
    monkeypatch.syspath_prepend(home)
    import installed_package

    genuine = installed_package.np
    with pb.adopt():
        assert installed_package.np is genuine
        with pb.adopt("installed_package"):
            assert installed_package.np is numpy
            assert pb.func.grad(installed_package.f)(1.0) == 2.0
        assert installed_package.np is genuine
        assert numpy is not genuine


@pytest.mark.parametrize("name", ["numpy", "pullback", "scipy.linalg", 3])
def test_what_cannot_be_adopted_is_refused(name):
    with pytest.raises(ValueError, match="name a package as it is imported"):
        pb.adopt(name)
    assert numpy is sys.modules["numpy"]


def test_another_thread_makes_plain_arrays(adopted):
    made = {}

    def f(x):
        made["here"] = np.zeros(2)
        thread = threading.Thread(target=lambda: made.update(there=np.zeros(2)))
        thread.start()
        thread.join()
        return x**2

    pb.func.grad(f)(1.0)
    assert isinstance(made["here"], pb.Tensor)
    assert type(made["there"]) is np.ndarray


def test_blocks_need_not_be_nested():
    first, second = pb.adopt(), pb.adopt()
    first.__exit__(None, None, None)
    assert numpy is not GENUINE[0]
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert numpy is GENUINE[0]
    pb.adopt()
    with pb.adopt():
        pb.release()
    assert numpy is GENUINE[0]


def test_an_error_in_a_block_undoes_it():
    with pytest.raises(KeyError), pb.adopt():
        {}["nothing"]
    assert numpy is sys.modules["numpy"]


class TestDispatchersPassForWhatTheyStandFor:
    FUNCTIONS = ("zeros", "array", "sum", "full", "linspace", "concatenate")

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_function(self, name, adopted):
        genuine, seen = getattr(sys.modules["numpy"], name), getattr(np, name)
        assert seen is not genuine
        assert seen == genuine
        assert genuine == seen
        assert {genuine: 1}[seen] == {seen: 1}[genuine] == 1
        assert repr(seen) == repr(genuine)
        assert isinstance(seen, type(genuine))
        assert (seen.__name__, seen.__doc__, seen.__module__) == (name, genuine.__doc__, "numpy")
        assert inspect.getmodule(seen) is inspect.getmodule(genuine)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            text = pickle.dumps(seen, protocol)
            assert b"pullback" not in text
            assert pickle.loads(text) is genuine
        assert pickle.loads(pickle.dumps(functools.partial(seen, axis=0))).func is genuine
        assert copy.copy(seen) == copy.deepcopy(seen) == genuine
        try:
            expected = inspect.signature(genuine)
        except ValueError:
            with pytest.raises(ValueError, match="signature"):
                inspect.signature(seen)
        else:
            assert inspect.signature(seen) == expected

    def test_functions_of_scipy_and_math(self, adopted):
        assert isinstance(expm, types.FunctionType)
        assert inspect.isfunction(expm)
        assert inspect.signature(expm).parameters.keys() == {"A"}
        assert inspect.getsource(expm).startswith("@_apply_over_batch") or "def expm" in inspect.getsource(expm)
        assert pickle.loads(pickle.dumps(math.sqrt)) is math.sqrt.genuine
        assert inspect.isbuiltin(math.sqrt)

    def test_every_attribute_is_there_whatever_it_is(self, adopted):
        for seen in (np.zeros, np.sum, math.exp, expm, scipy.stats.zscore, scipy.special.sph_harm_y, scipy.fft.fft):
            for name in set(dir(seen.genuine)) - {"__builtins__", "__dict__"}:
                assert hasattr(seen, name), (seen, name)
        for name in ("closure", "code", "defaults", "globals", "kwdefaults", "annotations"):
            for seen in (expm, scipy.optimize.rosen, scipy.optimize.minimize):
                assert getattr(seen, f"__{name}__") is getattr(seen.genuine, f"__{name}__")
        assert inspect.getclosurevars(scipy.optimize.rosen).nonlocals == {}

    def test_classes_of_scipy(self, adopted):
        from scipy.interpolate import BSpline, CubicSpline, PPoly

        spline = CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0])
        assert issubclass(CubicSpline, PPoly)
        assert not issubclass(BSpline, PPoly)
        assert isinstance(spline, BSpline | CubicSpline)
        assert isinstance(None, BSpline | None)
        assert isinstance(spline, None | CubicSpline)
        assert scipy.signal.lti[int].__args__ == (int,)

    @pytest.mark.skipif(not hasattr(scipy.stats, "Mixture"), reason="SciPy has random variables from 1.15 on")
    def test_an_abstract_class_of_scipy_and_its_clone_remember_instances_apart(self, adopted):
        other = scipy.stats.make_distribution(scipy.stats.cauchy)()
        assert scipy.stats.Mixture([other, other]).pdf(0.5) == other.pdf(0.5)
        kind = sys.modules["scipy.stats._distribution_infrastructure"].ContinuousDistribution
        assert isinstance(other, kind)
        assert not isinstance(scipy.stats.Normal(), kind)

    def test_a_class_of_scipy_is_a_subclass_of_abstract_ones(self, adopted):
        from scipy.sparse import csr_array, csr_matrix, sparray, spmatrix

        assert issubclass(csr_array, sparray)
        assert not issubclass(csr_array, spmatrix)
        assert issubclass(csr_matrix, (int, spmatrix))
        assert isinstance(csr_array(np.eye(2)), sparray)
        assert not isinstance(np.eye(2), sparray)
        assert pb.func.grad(lambda x: float(isinstance(csr_array(x * np.eye(2)), sparray)) * x)(1.0) == 1.0

    def test_methods_of_classes_of_scipy(self, adopted):
        from scipy.interpolate import BSpline
        from scipy.signal import ShortTimeFFT
        from scipy.spatial.transform import Rotation

        for kind, names in {
            Rotation: ("from_quat", "create_group", "apply", "__mul__", "as_quat"),
            BSpline: ("design_matrix", "__call__"),
            ShortTimeFFT: ("from_window", "stft"),
        }.items():
            for name in names:
                seen, genuine = getattr(kind, name), getattr(kind.genuine, name)
                genuine = getattr(genuine, "genuine", genuine)  # of which there is another in place while adopted
                assert seen == genuine
                assert {genuine: 1}[seen] == 1
                assert isinstance(seen, type(genuine))
                assert pickle.loads(pickle.dumps(Rotation.create_group)) == Rotation.genuine.create_group

        class Of:
            turned, group = Rotation.from_rotvec, Rotation.create_group

        assert len(Of().group("C3")) == 3  # a bound method, which is bound no further
        np.testing.assert_allclose(
            Rotation.apply(Of.turned([0.0, 0.0, np.pi]), [1.0, 0.0, 0.0]), [-1.0, 0.0, 0.0], 0, 1e-12
        )

    @pytest.mark.parametrize("seen_before", [False, True])
    def test_a_subclass_calls_methods_of_the_class_by_name(self, seen_before):
        from scipy.interpolate import CubicSpline

        if seen_before:
            views.adopted(CubicSpline)
        with pb.adopt():
            self._calls_methods_by_name()

    def _calls_methods_by_name(self):
        from scipy.interpolate import CubicSpline

        class Mine(CubicSpline):
            def __init__(self, x, y):
                CubicSpline.__init__(self, x, y)

            def __call__(self, x):
                return CubicSpline.__call__(self, x, 1)

            def __setattr__(self, name, value):
                CubicSpline.__setattr__(self, name, value)

        x = np.array([0.0, 1.0, 2.0, 3.0])
        assert Mine(x, x**2)(1.5) == pytest.approx(3.0)
        assert pb.func.grad(Mine(x, x**2))(1.5) == pytest.approx(2.0)
        assert copy.deepcopy(CubicSpline) == CubicSpline
        assert pickle.loads(pickle.dumps(CubicSpline)) is CubicSpline.genuine

    @pytest.mark.parametrize(
        "name", ["scipy.interpolate.CubicSpline", "scipy.sparse.csr_array", "scipy.signal.ShortTimeFFT"]
    )
    def test_what_is_set_on_a_class_of_scipy_is_set_on_the_class_itself(self, name, adopted, monkeypatch):
        seen = pkgutil.resolve_name(name.replace("scipy", f"{__name__}:scipy", 1))
        make = {
            "CubicSpline": lambda: seen([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]), "csr_array": lambda: seen(np.eye(2)),
            "ShortTimeFFT": lambda: seen(np.ones(2), 1, 1.0),
        }[seen.__name__]  # fmt: skip
        before = dict(vars(seen.genuine))
        assert vars(seen) == before
        with monkeypatch.context() as patched:
            patched.setattr(seen, "of_mine", lambda self: 3, raising=False)
            patched.setattr(seen, "__repr__", lambda self: "mine")
            assert make().of_mine() == 3
            assert repr(make()) == "mine"
        assert not hasattr(make(), "of_mine")
        assert not hasattr(seen, "of_mine")
        assert repr(make()) != "mine"
        assert dict(vars(seen.genuine)) == before

    def test_errors_of_calls_without_tensors_are_scipys(self, adopted):
        with pytest.raises(ValueError, match="hop=-1") as raised:
            scipy.signal.ShortTimeFFT(np.ones(2), -1, 1.0)
        assert type(raised.value) is ValueError

    def test_methods_bind_as_they_would(self, adopted):
        class Of:
            total, root, new = np.sum, math.sqrt, np.zeros

        assert Of().root(4.0) == 2.0
        assert len(Of().new(2)) == 2
        thing = Of()
        assert thing.total() is thing  # np.sum(self), as without

    def test_modules(self, adopted):
        genuine = sys.modules["numpy"]
        assert isinstance(np, types.ModuleType)
        assert np == genuine
        assert genuine == np
        assert np != math
        assert {genuine: 1}[np] == 1
        assert dir(np) == dir(genuine)
        assert repr(np) == repr(genuine)
        assert np.sin is genuine.sin
        assert np.ndarray is genuine.ndarray
        assert np.__version__ == genuine.__version__
        assert np.__spec__ is genuine.__spec__
        assert pickle.loads(pickle.dumps(np)) is genuine
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            np.nothing
        np.of_mine = 3
        assert genuine.of_mine == 3
        del np.of_mine
        assert not hasattr(genuine, "of_mine")
        assert not hasattr(np, "of_mine")

    def test_annotations_and_doctests(self, module_of, adopted):
        module = module_of('''
            import numpy as np

            def f(n: np.ndarray) -> "np.float64":
                """
                >>> f(2)
                array([0., 0.])
                >>> np.zeros
                <built-in function zeros>
                """
                return np.zeros(n)
        ''')
        assert typing.get_type_hints(module.f) == {"n": np.ndarray, "return": np.float64}
        assert doctest.testmod(module).failed == 0


def test_vars_of_a_view_are_those_of_the_module():
    with pb.adopt():
        for view in (math, np, np.linalg):
            genuine = sys.modules[view.__name__]
            assert vars(view) is not vars(genuine)
            # NumPy imports some of its packages when they are first asked for.
            names = {name for name, value in vars(genuine).items() if not isinstance(value, types.ModuleType)}
            assert names <= set(vars(view))
            assert all(vars(view)[name] is getattr(view, name) for name in names)
