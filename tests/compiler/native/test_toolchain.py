"""Which compiler is used: the best that is there and computes what NumPy does."""

import importlib.util
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import plan
from pullback.compiler.callbacks import callback
from pullback.compiler.errors import CompileWarning
from pullback.compiler.native import cache, selftest, toolchain
from pullback.compiler.native.cache import Cache
from pullback.compiler.native.code import INDEX, Code, Module
from pullback.compiler.native.toolchain import CCompiler, CompilerError, Llvm
from tests.compiler.native.calls import called


@pytest.fixture(autouse=True)
def anew(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "_SAID", set())
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PULLBACK_COMPILER", raising=False)
    toolchain._chosen.cache_clear()
    yield
    toolchain._chosen.cache_clear()


def _module(number=3):
    code = Code("number", [("x", INDEX)], INDEX)
    code.give(code.params[0] + number)
    return Module([code])


def test_the_one_that_is_named_is_taken(tool, monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILER", tool.name)
    assert toolchain.chosen().name == tool.name
    assert called(toolchain.build(_module()), "number", "qq")(1) == 4


def test_none_is_an_answer(monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILER", "none")
    assert toolchain.chosen() is None
    with pytest.raises(CompilerError, match=r"pip install 'pullback\[compile\]'"):
        toolchain.build(_module())


def test_what_nobody_has_compiled_starts_no_compiler_of_the_machine(monkeypatch):
    tried = []
    with monkeypatch.context() as patch:
        patch.setattr(toolchain, "_chosen", lambda named, cc: tried.append(named))
        patch.setattr(toolchain, "find_spec", lambda name: None)
        toolchain.chosen(asked_for=False)
        assert not tried
        toolchain.chosen()
        patch.setenv("PULLBACK_COMPILER", "cc")
        toolchain.chosen(asked_for=False)
    assert tried == [None, "cc"]


def test_what_a_solver_calls_is_asked_for_by_nobody(monkeypatch):
    asked = []
    monkeypatch.setattr(plan, "chosen", lambda asked_for: asked.append(asked_for))
    function = callback(lambda x: np.sin(x) * 2, False, None)
    for _ in range(3):
        function(np.ones(2))
    assert asked
    assert not any(asked)
    compiled = pb.compile(lambda x: np.sin(x) * 2)
    for _ in range(3):
        compiled(np.ones(2))
    assert asked[-1]


def test_llvmlite_that_is_wanted_and_not_there(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None if name == "llvmlite" else find(name))
    monkeypatch.setenv("PULLBACK_COMPILER", "llvmlite")
    with pytest.warns(CompileWarning, match=r"pip install 'pullback\[compile\]'"):
        assert toolchain.chosen() is None


def test_a_command_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILER", "no-such-compiler -O3")
    with pytest.warns(CompileWarning, match="no-such-compiler"):
        assert toolchain.chosen() is None


def _script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


@pytest.fixture
def cc(tool):
    if not isinstance(tool, CCompiler):
        pytest.skip("of compilers of C")
    if sys.platform == "win32":
        pytest.skip("scripts are written for another shell")
    return tool.name


@pytest.mark.parametrize("broken", [
    "exit 1", "echo no room >&2; exit 4", 'case "$*" in *--version*) exec {cc} "$@";; esac; exit 0', "kill -9 $$",
    'exec {cc} "$@" -Dsqrt=fabs', 'exec {cc} "$@" -ffast-math -fassociative-math',
], ids=["fails", "complains", "writes nothing", "dies", "is wrong", "is careless"])  # fmt: skip
def test_a_broken_compiler_is_left_out(cc, monkeypatch, tmp_path, broken):
    bad = _script(tmp_path / "bad-cc", broken.format(cc=cc))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    monkeypatch.setenv("CC", bad)
    with pytest.warns(CompileWarning, match="bad-cc"):
        assert toolchain.chosen().name == cc
    assert toolchain.chosen().name == cc  # which says nothing more: a warning is an error here
    assert np.finfo(float).smallest_subnormal * np.float64(1) > 0, "what is left out leaves no trace in the processor"
    monkeypatch.setenv("PULLBACK_COMPILER", bad)
    cache._SAID.clear()
    with pytest.warns(CompileWarning, match="bad-cc"):
        assert toolchain.chosen() is None


def test_a_command_may_have_options(cc, monkeypatch, tmp_path):
    monkeypatch.setenv("PULLBACK_COMPILER", shlex.join([_script(tmp_path / "my cc", f'exec {cc} "$@"'), "-O1"]))
    assert toolchain.chosen().name.endswith("-O1")


def test_llvmlite_that_is_broken_is_left_out(tool, monkeypatch):
    if isinstance(tool, Llvm):
        pytest.skip("it is the other one that is used then")
    monkeypatch.setattr(Llvm, "compile", lambda *_: (_ for _ in ()).throw(RuntimeError("LLVM cannot")))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: name == "llvmlite" or None)
    pytest.importorskip("llvmlite")
    with pytest.warns(CompileWarning, match="LLVM cannot"):
        assert isinstance(toolchain.chosen(), CCompiler)


def test_it_is_tried_once_on_a_machine(tool, tmp_path, monkeypatch):
    store = Cache(tmp_path)
    assert selftest.passes(tool, 16, store)
    monkeypatch.setattr(tool, "compile", lambda text: pytest.fail("it is tried again"))
    assert selftest.passes(tool, 16, Cache(tmp_path))
    monkeypatch.setattr(tool, "identity", f"{tool.identity}, newer")
    with pytest.raises(pytest.fail.Exception):
        selftest.passes(tool, 16, store)


def test_threads_may_build_at_once(tool):
    def build(nr):
        return called(tool.build(_module(nr % 4), None), "number", "qq")(0) == nr % 4

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(build, range(16)))


@pytest.mark.parametrize("full", [True, False], ids=["disk", "llvm"])
def test_a_compiler_that_fails_later_leaves_plans(tool, monkeypatch, full):
    monkeypatch.setenv("PULLBACK_COMPILER", tool.name)
    names = iter("abcdef")

    def fails(text):
        raise OSError(28, "No space left", f"/tmp/{next(names)}") if full else RuntimeError("LLVM cannot")

    monkeypatch.setattr(toolchain.chosen(), "compile", fails)
    with pytest.warns(CompileWarning, match="without machine code: .* has failed: "):
        _compiled_sum(1.5)
    _compiled_sum(2.5)  # which says nothing more


def _compiled_sum(factor):
    x = np.linspace(0, 1, 5)
    f = pb.compile(lambda x: np.sum(np.sin(x) * factor))
    for _ in range(4):
        np.testing.assert_allclose(f(x), np.sum(np.sin(x)) * factor)


def test_importing_pullback_compiles_nothing():
    text = "import sys, pullback; assert not {'llvmlite', 'scipy.linalg.cython_blas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_vectors_are_those_of_the_machine():
    assert toolchain.vector_bytes() in (16, 32, 64)
