"""By what the programs of the compiler's tests run: as plans of NumPy's kernels, and some in machine code too."""

import os
import shutil
from importlib.util import find_spec

import pytest

PLANS = os.environ["PULLBACK_COMPILER"]  # "none", unless somebody wants all tests otherwise
NATIVE = {  # by the last part of the module's name
    "test_faces", "test_node", "test_programs", "test_records", "test_state", "test_training", "test_whole_programs",
    "test_writes",
}  # fmt: skip


def native_compiler():
    """What `PULLBACK_COMPILER` is to name, so that programs run in machine code; None where there is no compiler."""
    if find_spec("llvmlite") is not None:
        return "llvmlite"
    return next(filter(shutil.which, ("gcc", "cc", "clang")), None)


def pytest_generate_tests(metafunc):
    """Two cases of each test of these modules, one for each way to run a program."""
    if PLANS == "none" and metafunc.module.__name__.rpartition(".")[2] in NATIVE:
        metafunc.parametrize("runs_by", ["plans", "machine code"], indirect=True)


@pytest.fixture(autouse=True)
def runs_by(request, monkeypatch):
    """Programs run by this."""
    if getattr(request, "param", "plans") == "plans":
        return
    if (name := native_compiler()) is None:
        pytest.skip("there is neither llvmlite nor a C compiler")
    monkeypatch.setenv("PULLBACK_COMPILER", name)
