"""Functions and data that go to another process: pickled once, kept there by content, named where they cannot go."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from pullback.core.errors import UnsupportedError, with_article
from pullback.core.tensor import Tensor

_KEPT: dict[bytes, Any] = {}  # in a worker: what it has unpickled last, by the digest of its bytes
_MANY = 8


class Shipped:
    """An object on its way to where tasks run.

    Threads get the object itself. A pickler gets bytes, made once; they are unpickled by the first task that needs
    them, so that an object which cannot be loaded there fails that task, and not the process.
    """

    __slots__ = ("_data", "_digest", "_held", "_what")

    def __init__(self, held: object, what: str) -> None:
        self._held, self._what = [held], what  # `what`: of whom the object is, for errors
        self._data: bytes | None = None
        self._digest = b""

    def __reduce__(self) -> tuple[Callable[..., Shipped], tuple[bytes, bytes, str]]:
        return _arrived, (self.data, self._digest, self._what)

    @property
    def data(self) -> bytes:
        """The object as bytes."""
        if self._data is None:
            data = _dumped(self._held[0], self._what)
            self._data, self._digest = data, hashlib.blake2b(data, digest_size=16).digest()
        return self._data

    def get(self) -> Any:
        """Return the object."""
        if not self._held:
            if self._digest not in _KEPT:
                while len(_KEPT) >= _MANY:
                    _KEPT.pop(next(iter(_KEPT)), None)
                _KEPT[self._digest] = self._loaded()
            self._held = [_KEPT[self._digest]]
        return self._held[0]

    def _loaded(self) -> Any:
        assert self._data is not None
        try:
            return pickle.loads(self._data)  # noqa: S301 - what the caller of this task has pickled
        except Exception as error:
            raise UnsupportedError(
                f"{self._what} cannot be loaded in the worker ({type(error).__name__}: {error}). A worker imports "
                "functions by the names of their modules: define them in a module that it can import too, or install "
                "cloudpickle here and there (pip install cloudpickle), which sends them as they are."
            ) from error


def _arrived(data: bytes, digest: bytes, what: str) -> Shipped:
    shipped = Shipped(None, what)
    shipped._data, shipped._digest, shipped._held = data, digest, []
    return shipped


class Failed:
    """An error that a task has met, as its result: every kind of worker hands on results alike."""

    def __init__(self, error: Exception, report: str = "") -> None:
        self.error, self._report = error, report

    def __reduce__(self) -> tuple[Callable[..., Failed], tuple[Exception, str]]:
        # The report names the traceback, which no pickler takes.
        report = "".join(traceback.format_exception(self.error))
        return Failed, (_portable(self.error), report)

    def raised(self) -> Exception:
        """Return the error, with what is known of where it came from."""
        if self._report:
            self.error.__cause__ = _InWorker(f"\n{self._report}")
        return self.error


class _InWorker(Exception):  # noqa: N818 - what an error is shown to come from
    """The traceback in another process."""


def _portable(error: Exception) -> Exception:
    """The error itself if it can be pickled and loaded again, else one that says the same."""
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # noqa: BLE001 - classes of users' own, and what they do
        again = None
    if type(again) is type(error) and str(again) == str(error):
        return error
    made = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


# -- pickling ----------------------------------------------------------------------------------------------------------
@functools.cache
def _dumps() -> Callable[[Any], bytes]:
    """The one of cloudpickle if it is installed: it sends lambdas, and what only a script or a notebook has."""
    try:
        return importlib.import_module("cloudpickle").dumps  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return pickle.dumps


def _dumped(held: object, what: str) -> bytes:
    try:
        return _dumps()(held)
    except Exception as error:
        found = "; ".join(dict.fromkeys(_unpicklable(held, ""))) or str(error)
        by_name = _dumps() is pickle.dumps
        instead = (
            "Define functions at the top level of a module, or install cloudpickle (pip install cloudpickle). "
            * by_name
        )
        raise UnsupportedError(
            f"{what} cannot be sent to another process: {found}. {instead}Make files, locks and the like where they "
            "are used, in the function. Threads get everything as it is: workers=ThreadPoolExecutor(n)."
        ) from error


def _unpicklable(held: object, path: str, depth: int = 6) -> Iterator[str]:
    """The parts of an object that cannot be pickled, and where they are: the innermost ones."""
    try:
        _dumps()(held)
    except Exception:  # noqa: BLE001 - what it is does not matter, that it fails does
        inner = [found for name, part in _parts(held) if depth for found in _unpicklable(part, name, depth - 1)]
        yield from inner or [f"{path}{_named(held)}"]


def _parts(held: object) -> Iterator[tuple[str, object]]:
    """The parts of an object, and what an error says before one."""
    if isinstance(held, functools.partial):
        yield from (("", x) for x in (held.func, *held.args, *held.keywords.values()))
    elif inspect.isfunction(held):
        if _dumps() is pickle.dumps:  # which takes a function by its name, or not at all
            return
        used = inspect.getclosurevars(held)
        for name, part in {**used.globals, **used.nonlocals}.items():
            yield f"{name!r} in {_named(held)} is ", part
    elif isinstance(held, dict):
        yield from ((f"[{key!r}] is ", x) for key, x in held.items())
    elif isinstance(held, (list, tuple)):
        yield from (("", x) for x in held)
    elif hasattr(held, "__dict__"):
        ours = type(held).__module__.startswith("pullback.")
        said = "" if ours else f"of {with_article(held)} is "
        yield from ((f"{name!r} {said}" if said else "", x) for name, x in vars(held).items())


def _named(held: object) -> str:
    if isinstance(held, Tensor):
        return f"{with_article(held)}, which is being differentiated: let it be an argument"
    if not inspect.isfunction(held):
        return with_article(held)
    code = held.__code__
    return f"{held.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
