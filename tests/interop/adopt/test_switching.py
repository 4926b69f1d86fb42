"""adopt() and release() that are cut off, as by Ctrl-C, leave nothing that the next one does not put right."""

import math
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.interop.adopt import switch
from pullback.interop.adopt.state import State


class CutOffError(BaseException):
    pass


def cut_off_at(count, monkeypatch, step="is_reached"):
    """Let the call of that number raise: where namespaces are looked for, or where views are given or taken back."""
    genuine, calls = getattr(switch, step), [0]

    def counting(value):
        calls[0] += 1
        if calls[0] == count:
            raise CutOffError
        return genuine(value)

    monkeypatch.setattr(switch, step, counting)


@pytest.mark.parametrize("count", [1, 3, 10, 50])
@pytest.mark.parametrize(
    ("at", "step"),
    [("adopt", "is_reached"), ("adopt", "genuine_of"), ("adopt", "adopted"), ("release", "is_reached"),
     ("release", "genuine_of")],
)  # fmt: skip
def test_the_next_one_puts_it_right(at, step, count, monkeypatch):
    if at == "release":
        pb.adopt()
    cut_off_at(count, monkeypatch, step)
    with pytest.raises(CutOffError):
        getattr(pb, at)()
    monkeypatch.undo()
    assert globals()["np"] is sys.modules["numpy"], "what is cut off is finished before the exception goes on"
    assert not State.on
    pb.release()
    assert globals()["np"] is sys.modules["numpy"]
    with pb.adopt():
        assert pb.func.grad(lambda x: math.exp(x))(0.0) == 1.0
        assert globals()["np"] is not sys.modules["numpy"]
    assert globals()["np"] is sys.modules["numpy"]


@pytest.mark.parametrize("count", [1, 10, 100])
def test_a_block_is_adopted_after_a_release_that_was_cut_off(count, monkeypatch):
    pb.adopt()
    cut_off_at(count, monkeypatch)
    with pytest.raises(CutOffError):
        pb.release()
    monkeypatch.undo()
    with pb.adopt():
        assert pb.func.grad(lambda x: math.exp(x) * np.zeros(2).sum() + x)(0.0) == 1.0
    assert globals()["np"] is sys.modules["numpy"]


@pytest.mark.parametrize("count", [1, 10, 100])
def test_the_end_of_a_block_that_is_cut_off_is_its_end(count, monkeypatch):
    adoption = pb.adopt()
    cut_off_at(count, monkeypatch)
    with pytest.raises(CutOffError), adoption:
        assert State.on
    assert not State.on
    assert globals()["np"] is sys.modules["numpy"]


def test_what_was_imported_from_pullback_scipy_stays_when_adopt_ends():
    program = (
        "import numpy as np, pullback as pb\n"
        "from pullback.scipy.special import gammaln\n"
        "from pullback.scipy import linalg\n"
        "before = gammaln, linalg\n"
        "with pb.adopt():\n"
        "    pass\n"
        "assert (gammaln, linalg) == before\n"
        "assert pb.func.grad(lambda x: gammaln(x))(2.0) > 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_adopt_looks_for_namespaces_once(monkeypatch):
    genuine, walks = switch.namespaces, []

    def namespaces():
        walks.append(State.on)
        return genuine()

    monkeypatch.setattr(switch, "namespaces", namespaces)
    with pb.adopt():
        assert walks == [False]
    assert walks == [False, True]


def namespace_of(name):
    """That of a module of the user's, which has run code."""
    space = {"__name__": name, "__file__": f"/home/user/{name}.py"}
    exec("import numpy as np", space)
    return space


def test_for_a_while_only_the_namespaces_are_adopted_that_count():
    one, other, late = namespace_of("one"), namespace_of("other"), {"__name__": "late", "__file__": "late.py"}
    with switch.adopt_meanwhile([one]):
        assert one["np"] is not np
        assert other["np"] is globals()["np"] is sys.modules["numpy"]
        exec("import numpy as np", late)  # what is imported meanwhile is adopted, and given back
        assert late["np"] is one["np"]
        with pb.adopt():
            assert one["np"] is other["np"] is not sys.modules["numpy"]
        assert one["np"] is not sys.modules["numpy"]
        assert other["np"] is sys.modules["numpy"]
    assert one["np"] is other["np"] is late["np"] is sys.modules["numpy"]
    assert not State.on
