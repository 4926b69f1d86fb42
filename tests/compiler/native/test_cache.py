"""Code on disk: only whole code of one's own is loaded, and where none can be kept everything works without."""

import errno
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from pullback.compiler.errors import CompileWarning
from pullback.compiler.native import cache, toolchain
from pullback.compiler.native.cache import Cache
from pullback.compiler.native.code import INDEX, Code, Module
from tests.compiler.native.calls import called

POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no owners of this kind")


@pytest.fixture(autouse=True)
def nothing_said_before(monkeypatch):
    monkeypatch.setattr(cache, "_SAID", set())


def _module(number):
    code = Code("number", [("x", INDEX)], INDEX)
    code.give(code.params[0] + number)
    return Module([code])


def _fresh(tool, number, store):
    """The number that the code gives, built or loaded as in a new process; and whether it was built."""
    toolchain._LOADED.clear()
    built = []

    def compile(text):
        built.append(text)
        return type(tool).compile(tool, text)

    tool.compile = compile
    try:
        return called(tool.build(_module(number), store), "number", "qq")(0), bool(built)
    finally:
        del tool.compile


def _entries(folder):
    return sorted(path for path in folder.glob("code-*/*") if not path.name.startswith("new-"))


def test_code_is_built_once(tool, tmp_path):
    assert _fresh(tool, 7, Cache(tmp_path)) == (7, True)
    assert _fresh(tool, 7, Cache(tmp_path)) == (7, False)
    assert _fresh(tool, 8, Cache(tmp_path)) == (8, True)
    assert len(_entries(tmp_path)) == 2


def test_equal_modules_share_their_code(tool, tmp_path):
    store = Cache(tmp_path)
    assert tool.build(_module(9), store) is tool.build(_module(9), store)


def test_another_machine_has_code_of_its_own(tool, tmp_path, monkeypatch):
    _fresh(tool, 7, Cache(tmp_path))
    monkeypatch.setattr(tool, "identity", f"{tool.identity}, another processor")
    assert _fresh(tool, 7, Cache(tmp_path)) == (7, True)


def _replace(path, data):
    """Another file: the old one may be in use."""
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("alter", [
    lambda entry: _replace(entry / "code", (entry / "code").read_bytes()[:100]),
    lambda entry: _replace(entry / "code", b"\xff" * 1000),
    lambda entry: (entry / "code").unlink(),
    lambda entry: (entry / "sha256").unlink(),
    lambda entry: _replace(entry / "sha256", b"\xff\xfe"),
    lambda entry: _replace(entry / "sha256", b""),
], ids=["torn", "altered", "no code", "no hash", "no text", "empty"])  # fmt: skip
def test_what_is_not_whole_is_built_again(tool, tmp_path, alter):
    _fresh(tool, 7, Cache(tmp_path))
    (entry,) = _entries(tmp_path)
    alter(entry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        assert _fresh(tool, 7, Cache(tmp_path)) == (7, True)


def test_what_has_been_altered_is_replaced(tool, tmp_path):
    _fresh(tool, 7, Cache(tmp_path))
    (entry,) = _entries(tmp_path)
    _replace(entry / "code", b"\xff" * 1000)
    assert _fresh(tool, 7, Cache(tmp_path)) == (7, True)
    assert _fresh(tool, 7, Cache(tmp_path)) == (7, False)


@POSIX
def test_the_folder_is_private(tool, tmp_path):
    _fresh(tool, 7, Cache(tmp_path / "new"))
    (folder,) = (tmp_path / "new").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def _refuses(tool, store):
    with pytest.warns(CompileWarning, match="is not used for compiled code"):
        assert _fresh(tool, 7, store) == (7, True)
    assert _fresh(tool, 7, store) == (7, True)  # which says nothing more: a warning is an error here


@POSIX
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_into_which_others_write_is_refused(tool, tmp_path, mode):
    _fresh(tool, 7, Cache(tmp_path))
    (tmp_path / f"code-{cache._FORMAT}").chmod(mode)
    _refuses(tool, Cache(tmp_path))


@POSIX
def test_a_folder_of_somebody_else_is_refused(tool, tmp_path, monkeypatch):
    _fresh(tool, 7, Cache(tmp_path))
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    _refuses(tool, Cache(tmp_path))


@POSIX
def test_a_link_to_a_folder_is_refused(tool, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / f"code-{cache._FORMAT}").symlink_to(tmp_path / "elsewhere")
    _refuses(tool, Cache(tmp_path))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_where_nothing_can_be_written_code_is_not_kept(tool, tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(CompileWarning, match="not kept"):
        assert _fresh(tool, 7, Cache(tmp_path / "file")) == (7, True)
    assert _fresh(tool, 7, Cache(tmp_path / "file")) == (7, True)


def test_a_full_disk_leaves_nothing_behind(tool, tmp_path, monkeypatch):
    store = Cache(tmp_path)
    _fresh(tool, 1, store)
    write = Path.write_text

    def full(self, text, *args, **kwargs):
        if self.name == "sha256":
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return write(self, text, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.warns(CompileWarning, match="No space left"):
        assert _fresh(tool, 7, store) == (7, True)
    assert _fresh(tool, 8, store) == (8, True)  # which says nothing more
    assert len(list(tmp_path.glob("code-*/*"))) == 1


def test_code_that_goes_meanwhile_is_loaded_all_the_same(tool, tmp_path, monkeypatch):
    _fresh(tool, 7, Cache(tmp_path))
    store = Cache(tmp_path)
    find = store.find

    def gone(key):
        code, path = find(key)
        path.unlink()
        return code, path

    monkeypatch.setattr(store, "find", gone)
    assert _fresh(tool, 7, store) == (7, False)


def test_what_was_used_least_recently_goes_first(tmp_path):
    store = Cache(tmp_path, most=10_000)
    for nr in range(10):
        assert store.keep(f"{nr}", bytes(1000)) is not None
        os.utime(tmp_path / f"code-{cache._FORMAT}" / f"{nr}", (nr, nr))
    assert store.find("0") is not None  # used now
    store.keep("10", bytes(1000))
    left = {path.name for path in _entries(tmp_path)}
    assert {"0", "10", "9"} <= left
    assert "1" not in left
    assert len(left) <= 8
    assert store.keep("large", bytes(5000)) is None


def test_what_a_process_has_left_half_written_is_no_code(tool, tmp_path):
    _fresh(tool, 7, Cache(tmp_path))
    (entry,) = _entries(tmp_path)
    entry.rename(entry.with_name("new-abc"))
    assert _fresh(tool, 7, Cache(tmp_path)) == (7, True)


def test_processes_may_build_the_same_at_once(tool, tmp_path):
    text = f"""
import sys
from tests.compiler.native.calls import called
from tests.compiler.native.test_cache import _module
from pullback.compiler.native import toolchain
from pullback.compiler.native.cache import Cache
from pathlib import Path
tool = toolchain.Llvm() if {tool.name == "llvmlite"} else toolchain.CCompiler([{tool.name!r}])
for number in range(12):
    assert called(tool.build(_module(number), Cache(Path({str(tmp_path)!r}))), "number", "qq")(0) == number
"""
    running = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", text], cwd=Path(__file__).parents[3]) for _ in range(2)
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert len(_entries(tmp_path)) == 12
    assert len(list(tmp_path.glob("code-*/*"))) == 12


def test_the_environment_says_where(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PULLBACK_CACHE", raising=False)
    assert cache.folder() == tmp_path / "pullback"
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path / "own"))
    assert cache.folder() == tmp_path / "own"
    assert toolchain.store() is toolchain.store()


def test_nothing_but_code_is_read(tool, tmp_path):
    """An entry is code and its hash: nothing of it is taken for an object of Python."""
    _fresh(tool, 7, Cache(tmp_path))
    (entry,) = _entries(tmp_path)
    assert sorted(path.name for path in entry.iterdir()) == ["code", "sha256"]
    assert np.frombuffer((entry / "code").read_bytes(), np.uint8).size > 100
