"""The public names are exactly those in public_names.txt: adding or removing one is a decision, seen in the diff.

After a deliberate change: python -m tests.test_public_names

That command runs after `make codegen`, whose environment has no pytest: nothing here imports it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pullback as pb

LIST = Path(__file__).with_name("public_names.txt")
MODULES = (
    "pullback", "pullback.autograd", "pullback.autograd.functional", "pullback.compiler",
    "pullback.distributed", "pullback.extend", "pullback.fft",
    "pullback.func", "pullback.library", "pullback.linalg", "pullback.nn", "pullback.nn.functional", "pullback.optim",
    "pullback.optim.lr_scheduler", "pullback.optimize", "pullback.random", "pullback.special", "pullback.testing",
    "pullback.utils", "pullback.utils.checkpoint", "pullback.viz",
)  # fmt: skip
# Modules inside of these, as PyTorch has them: their names are public, and what they import is in sight too.
PARTS = (
    "pullback.autograd.anomaly_mode", "pullback.autograd.forward_ad", "pullback.autograd.function",
    "pullback.autograd.grad_mode", "pullback.autograd.graph", "pullback.autograd.profiler",
    "pullback.autograd.variable", "pullback.masked", "pullback.overrides", "pullback.signal.windows",
    "pullback.utils.pytree",
)  # fmt: skip


def found() -> list[str]:
    """The dotted public names of the modules, and of Tensor."""
    names = [f"{module}.{name}" for module in (*MODULES, *PARTS) for name in importlib.import_module(module).__all__]
    names += [f"pullback.Tensor.{name}" for name in dir(pb.Tensor) if not name.startswith("_")]
    return sorted(names)


def test_public_names_are_those_listed():
    # In a process of its own: other tests load operators, which are methods of Tensor from then on.
    command = [sys.executable, "-m", "tests.test_public_names", "--print"]
    run = subprocess.run(command, cwd=LIST.parents[1], capture_output=True, text=True, check=True)
    listed, there = set(LIST.read_text(encoding="utf-8").split()), set(run.stdout.split())
    remedy = "If it is meant: python -m tests.test_public_names"
    assert not there - listed, f"new public names: {sorted(there - listed)}. {remedy}"
    assert not listed - there, f"lost public names: {sorted(listed - there)}. {remedy}"


def test_public_names_exist_and_are_said_once():
    names = found()
    assert len(names) == len(set(names))
    for name in names:
        target = pb
        for part in name.split(".")[1:]:
            target = getattr(target, part)


def test_nothing_else_looks_public():
    for module in MODULES:
        home = importlib.import_module(module)
        parts = {name.split(".")[-1] for name in sys.modules if name.rpartition(".")[0] == module}  # submodules
        there = {name for name in vars(home) if not name.startswith("_")}
        assert not there - set(home.__all__) - parts - {"annotations"}, module  # that of `from __future__`


def test_dir_shows_the_public_names():
    assert set(dir(pb)) == {*pb.__all__, "__version__"}
    assert not hasattr(pb, "sinn")


def test_internal_operators_are_not_public():
    names = ("alias", "setitem", "setitem_", "slice_view", "gelu_backward", "numpy_T", "matrix_H", "_einsum_pair")
    for name in names:
        assert not hasattr(pb, name)
        assert not hasattr(pb.Tensor, name)
    assert isinstance(pb.Tensor.mT, property)
    assert not hasattr(pb, "mT")


def test_what_few_programs_need_is_imported_when_it_is_used():
    program = (
        "import sys, pullback as pb\n"
        "later = ['pullback.testing', 'pullback.viz', 'pullback.extend', 'pullback.codegen', 'yaml']\n"
        "later += ['pullback.optimize']\n"
        "assert not [m for m in later if m in sys.modules], sys.modules.keys()\n"
        "pb.viz.graph, pb.testing.make_tensor, pb.extend.OpInfo, pb.optimize.minimize\n"
        "assert all(m in sys.modules for m in later)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_command_needs_no_pytest():
    program = (
        "import runpy, sys\n"
        "sys.modules['pytest'] = None\n"
        "sys.argv = ['public_names', '--print']\n"
        "runpy.run_module('tests.test_public_names', run_name='__main__')\n"
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, cwd=LIST.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pullback.Tensor.backward" in done.stdout


if __name__ == "__main__":
    text = "\n".join(found()) + "\n"
    sys.stdout.write(text) if "--print" in sys.argv else LIST.write_text(text, encoding="utf-8")
