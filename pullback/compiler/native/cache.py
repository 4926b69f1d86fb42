"""Machine code on disk, from one process to the next.

An entry is a folder, named by the hash of all that its code depends on, with the code and the code's own hash. It is
written aside and renamed, so what is there is whole; what has been altered since is not loaded. Code is loaded from
nobody's folder but the user's own, into which nobody else can write. `PULLBACK_CACHE` says where it lies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import warnings
from hashlib import sha256
from pathlib import Path

from pullback.compiler.errors import CompileWarning

MOST = 256 << 20  # bytes
_FORMAT = "1"  # of an entry
_SAID: set[str] = set()


class Cache:
    """Code by key.

    Parameters
    ----------
    folder : Path
    most : int
        Bytes; beyond them what has not been used for longest goes.
    """

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self._folder, self._most = folder / f"code-{_FORMAT}", most
        self._size: int | None = None  # as far as this process knows

    def find(self, key: str) -> tuple[bytes, Path] | None:
        """The code for this key and its file, if it is there, whole and ours."""
        entry = self._folder / key
        try:
            if not self._is_ours():
                return None
            code = (entry / "code").read_bytes()
            if sha256(code).hexdigest() != (entry / "sha256").read_text():
                shutil.rmtree(entry, ignore_errors=True)
                return None
            with contextlib.suppress(OSError):  # a folder that can only be read serves as well
                os.utime(entry)
        except (OSError, UnicodeDecodeError):
            return None
        return code, entry / "code"

    def keep(self, key: str, code: bytes) -> Path | None:
        """Write code down; its file, or None where that cannot be."""
        if len(code) > self._most // 4:
            return None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return None
            aside = Path(tempfile.mkdtemp(prefix="new-", dir=self._folder))
            try:
                (aside / "code").write_bytes(code)
                (aside / "sha256").write_text(sha256(code).hexdigest())
                aside.rename(self._folder / key)
            except OSError:
                shutil.rmtree(aside, ignore_errors=True)
                if (found := self.find(key)) is not None:  # another process was faster
                    return found[1]
                raise
            self._trim(len(code))
        except OSError as error:
            say_once(f"compiled code is not kept in {self._folder}: {error.strerror}")
            return None
        return self._folder / key / "code"

    def _is_ours(self) -> bool:
        """True if nobody else could have put code into the folder."""
        found = self._folder.lstat()
        if not hasattr(os, "getuid"):
            return stat.S_ISDIR(found.st_mode)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            say_once(
                f"{self._folder} is not used for compiled code: it must be a folder of yours (user {os.getuid()}), "
                f"into which nobody else may write, and has owner {found.st_uid}, {stat.filemode(found.st_mode)}. "
                "Remove it, or set PULLBACK_CACHE to another folder."
            )
            return False
        return True

    def _trim(self, added: int) -> None:
        """Make room, if there is too much."""
        self._size = None if self._size is None else self._size + added
        if self._size is not None and self._size <= self._most:
            return
        entries = []
        for entry in self._folder.iterdir():
            with contextlib.suppress(OSError):  # gone meanwhile
                code = entry / "code"
                entries.append((entry.stat().st_mtime, code.stat().st_size if code.exists() else 0, entry))
        self._size = sum(size for _, size, _ in entries)
        too_much = self._size > self._most
        for _, size, entry in sorted(entries, key=lambda x: x[0]):
            if not too_much or self._size <= self._most * 3 // 4:  # some room at once: it is seldom looked at
                break
            shutil.rmtree(entry, ignore_errors=True)
            self._size -= size


def say_once(text: str) -> None:
    """Warn, unless that has been said."""
    if text not in _SAID:
        _SAID.add(text)
        warnings.warn(text, CompileWarning, stacklevel=2)


def folder() -> Path:
    """The folder that the environment names, or the system's for such things."""
    if named := os.environ.get("PULLBACK_CACHE"):
        return Path(named).expanduser()
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "pullback"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir())) / "pullback" / "cache"
    try:
        home = Path.home()
    except RuntimeError:  # no home: a folder in which everybody writes holds one of ours
        return Path(tempfile.gettempdir()) / f"pullback-{os.getuid()}"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "pullback"
