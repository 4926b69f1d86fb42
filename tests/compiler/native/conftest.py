"""The toolchains of this machine, for tests of all of them."""

import shutil

import pytest

from pullback.compiler.native.toolchain import CCompiler, Llvm


@pytest.fixture(scope="module", params=["c", "llvm"])
def tool(request):
    """One that writes C, and LLVM."""
    if request.param == "llvm":
        pytest.importorskip("llvmlite", reason="llvmlite is not installed")
        return Llvm()
    command = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if command is None:
        pytest.skip("there is no C compiler")
    return CCompiler([command])
