"""What turns a module into machine code."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from pullback.compiler.native import render_c
from pullback.compiler.native.code import Module


class Library:
    """Machine code in memory, for as long as somebody holds it."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def address(self, name: str) -> int:
        """Where a function lies."""
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        assert address
        return address


@cache
def vector_bytes() -> int:
    """The bytes of a vector register of this machine."""
    features = _multiarray_umath.__cpu_features__
    return 64 if features.get("AVX512F") else 32 if features.get("AVX2") else 16


_FLAGS = [
    "-std=c11", "-O2", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math",
    "-ffp-contract=fast", "-w", "-Werror=implicit-function-declaration", "-Wno-psabi", "-shared", "-fPIC",
]  # fmt: skip


def build(module: Module) -> Library:
    """The machine code of a module."""
    command = shutil.which("cc")
    assert command
    with TemporaryDirectory() as folder:
        source, result = Path(folder, "module.c"), Path(folder, "module.so")
        source.write_text(render_c.render(module))
        subprocess.run([command, *_FLAGS, str(source), "-o", str(result), "-lm"], check=True)
        return Library(result)
