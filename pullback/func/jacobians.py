"""jacrev, jacfwd, jacobian and hessian: whole derivatives, all rows or all columns in one pass."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine.accumulate import owned
from pullback.core import modes
from pullback.core.array_type import table_of
from pullback.core.errors import EndedLevelError, GradientError
from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, wrap
from pullback.dispatch.outer_levels import seen_outside
from pullback.func.batching import map_over, vmap
from pullback.func.boundary import (
    TENSOR_FACES,
    Argnums,
    Choice,
    Structure,
    face_of,
    gradient_outward,
    is_plain,
    lift_others,
    name_of,
    rebuild,
    zeros_of,
)
from pullback.func.forward import paired, push
from pullback.func.reverse import Recording
from pullback.func.spread_jacobian import spread_jacobian

_MODES = ("auto", "forward", "reverse")
_HESSIAN_MODES = ("auto", "forward-over-reverse", "reverse-over-reverse")
_FORWARD = ("forward", "forward-over-reverse")


@named("func.jacrev", "callable func")
def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` in reverse mode: all its rows in one pass.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree (dict, list, tuple)
        of arrays (with `has_aux`, a pair of that and anything else).
    argnums : int, str, or tuple of these, default 0
        With respect to which arguments: positions, or names of parameters.
    has_aux : bool, default False
        `func` returns a pair (output, aux). aux is not differentiated, and is returned beside the Jacobian.
    holomorphic : bool, default False
        For complex arguments and results: the function is complex differentiable, and its complex derivative is meant.
    chunk_size : int, optional
        How many rows are computed at once, to save memory; all by default. With 1 the backward runs without vmap.

    Returns
    -------
    callable
        Takes the same arguments, and returns the tree of the results, with the tree of the argument in each place:
        blocks of the shape of the result followed by that of the argument. A tuple stands there for several argnums.
        With `has_aux` a pair (Jacobian, aux). ndarrays for ndarrays, floats for floats.

    Raises
    ------
    RuntimeError
        Arguments or results are complex without `holomorphic`, or real with it; the function returned no array.
    IndexError
        `argnums` names an argument that the call lacks.
    TypeError
        An argument to differentiate is not a floating-point array, or tree of these.
    ValueError
        `chunk_size` is not positive.

    Notes
    -----
    The function runs once. One backward through its graph carries a cotangent for each element of the results. The time
    is that of so many rows of arithmetic, the memory of the gradients too: for more results than arguments, `jacfwd` is
    the better one, and `jacobian` chooses.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.jacrev(lambda x: np.stack([x[0] * x[1], x[0] ** 2]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [4., 0.]])
    >>> pb.func.jacrev(lambda w, x: {"out": w @ x}, argnums=("w", "x"))(np.eye(2)[:1], np.ones(2))
    {'out': (array([[[1., 1.]]]), array([[1., 0.]]))}
    """
    return _transform("jacrev", func, argnums, has_aux, holomorphic, chunk_size, "reverse")


@named("func.jacfwd", "callable func")
def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` in forward mode: all its columns in one pass.

    Parameters, results and errors are those of `jacrev`, but that the results may be complex where the arguments are
    real, and that `randomness` says what random operators in the function do, as for `vmap`.

    Parameters
    ----------
    func, argnums, has_aux, holomorphic, chunk_size
        As of `jacrev`.
    randomness : {"error", "different", "same"}
        What random operators do, as of `vmap`.

    Returns
    -------
    callable
        Returns the Jacobian, as that of `jacrev` does.

    Raises
    ------
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Notes
    -----
    The function runs once (once for each chunk), on tangents for each element of the arguments. For fewer results than
    arguments `jacrev` is the better one.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.jacfwd(lambda x: np.stack([x[0] * x[1], x[0] ** 2]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [4., 0.]])
    """
    return _transform("jacfwd", func, argnums, has_aux, holomorphic, chunk_size, "forward", randomness)


@named("func.jacobian", "callable func")
def jacobian(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    mode: str = "auto",
    workers: Any = None,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func`, by rows or by columns: whichever are fewer.

    Parameters
    ----------
    func, argnums, has_aux, holomorphic, chunk_size : as for `jacrev`
    mode : {'auto', 'forward', 'reverse'}, default 'auto'
        'forward' is `jacfwd`, 'reverse' is `jacrev`. 'auto' runs the function once, recorded, and counts: with no more
        elements in the results than in the arguments it goes on in reverse mode. Else it runs the function a second
        time, in forward mode; where an operator has no forward-mode derivative, or the function has kept values of
        the first run, it stays with reverse mode.
    workers : int, executor, Client or map, optional
        Who computes, as of `distributed.sum_over`: each worker some of the rows or columns, for functions that take
        seconds. Each runs the function once, and this thread once more to learn the form of its result. For plain
        arrays, and without `has_aux`.

    Returns
    -------
    callable
        As for `jacrev`. It has a function `mode` of the same arguments that says which mode is taken there: 'forward'
        or 'reverse'.

    Raises
    ------
    RuntimeError, TypeError, ValueError, IndexError
        As of `jacrev` and `jacfwd`.

    Examples
    --------
    >>> import numpy as np
    >>> jac = pb.func.jacobian(lambda t: np.stack([np.exp(t), np.sin(t)]))
    >>> jac(0.0)
    array([1., 1.])
    >>> jac.mode(0.0)
    'forward'
    """
    if mode not in _MODES:
        raise ValueError(f"func.jacobian: mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}.")
    if workers is not None:
        if has_aux:
            raise ValueError("func.jacobian: workers= and has_aux=True do not go together: call func for aux.")
        by = [functools.partial(f, holomorphic=holomorphic, chunk_size=chunk_size) for f in (jacfwd, jacrev)]
        return functools.wraps(func)(spread_jacobian(Choice("jacobian", func, argnums), workers, mode, *by))
    return _transform("jacobian", func, argnums, has_aux, holomorphic, chunk_size, mode)


@named("func.hessian", "callable func")
def hessian(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
    mode: str = "auto",
) -> Callable[..., Any]:
    """A function that computes the Hessian of `func`: all second derivatives, in one pass.

    Parameters
    ----------
    func : callable
        As for `jacrev`; as a rule its result is a scalar.
    argnums, has_aux, holomorphic, chunk_size : as for `jacrev`
    mode : {'auto', 'forward-over-reverse', 'reverse-over-reverse'}, default 'auto'
        How the gradient, itself computed in reverse mode, is differentiated. 'auto' counts as `jacobian` does, which
        for a scalar result means reverse mode.

    Returns
    -------
    callable
        Takes the same arguments, and returns the tree of the results, with the tree of the argument in each place, and
        that again in each place of it: for an argument of shape (n,) and a scalar result an array of shape (n, n). It
        has a function `mode` of the same arguments that says which mode is taken there.

    Raises
    ------
    RuntimeError, TypeError, ValueError
        As for `jacrev`.

    Notes
    -----
    The function runs once, and so does its gradient, recorded; one backward through both carries all rows.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.hessian(lambda x: x[0] * x[1] ** 2)(np.array([3.0, 5.0]))
    array([[ 0., 10.],
           [10.,  6.]])
    """
    if mode not in _HESSIAN_MODES:
        raise ValueError(f"func.hessian: mode must be one of {', '.join(map(repr, _HESSIAN_MODES))}, got {mode!r}.")
    inner = _transform("hessian", func, argnums, has_aux, holomorphic, None, "reverse", own=True)
    return _transform("hessian", inner, argnums, has_aux, holomorphic, chunk_size, mode)


def _transform(
    name: str,
    function: Any,
    argnums: Any,
    has_aux: bool,
    holomorphic: bool,
    chunk_size: int | None,
    mode: str,
    randomness: str = "error",
    own: bool = False,
) -> Callable[..., Any]:
    """A public function of this name; with `own` the chosen arguments are nobody else's, and are not copied again."""
    choice = Choice(name, function, argnums)
    if chunk_size is not None and (not isinstance(chunk_size, (int, np.integer)) or chunk_size <= 0):
        raise ValueError(
            f"func.{name}: `chunk_size` should be greater than 0, or None for all at once, got {chunk_size!r}."
        )

    def start(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Recording | None, Any]:
        """(the recorded call for reverse mode, or None), (Jacobian, aux) by forward mode."""
        if mode in _FORWARD:
            return None, _columns(choice, args, kwargs, has_aux, holomorphic, chunk_size, randomness)
        recording = Recording(choice, args, kwargs, has_aux, own)
        # Reverse mode has no derivative of complex results by real arguments: it takes them for holomorphic.
        turning = not holomorphic and any(y.dtype.kind == "c" for y in recording.forms)
        if mode == "auto" and (turning or _has_fewer_columns(recording)):
            # An operator without forward-mode derivative, or a function that has kept values of the recorded run.
            with contextlib.suppress(NotImplementedError, EndedLevelError):
                return None, _columns(choice, args, kwargs, has_aux, holomorphic, chunk_size, randomness)
        return recording, None

    def computed(*args: Any, **kwargs: Any) -> Any:
        recording, found = start(args, kwargs)
        if recording is not None:
            found = _rows(recording, holomorphic, chunk_size), recording.aux
        return found if has_aux else found[0]

    def which(*args: Any, **kwargs: Any) -> str:
        """Which mode is taken for these arguments."""
        recording, _ = start(args, kwargs)
        return forward if recording is None else backward

    made: Any = functools.wraps(function)(computed)
    forward, backward = _HESSIAN_MODES[1:] if name == "hessian" else _MODES[1:]
    if name in ("jacobian", "hessian"):
        made.mode = which
    return made  # type: ignore[no-any-return]


def _has_fewer_columns(recording: Recording) -> bool:
    return sum(leaf._array.size for leaf in recording.leaves) < sum(y.size for y in recording.forms)


# -- by rows -----------------------------------------------------------------------------------------------------------
def _rows(recording: Recording, holomorphic: bool, chunk_size: int | None) -> Any:
    """The Jacobian by reverse mode: a cotangent for each element of the results, all in one pass."""
    name = recording.choice.transform
    _check_kinds(name, "arguments", [leaf._array for leaf in recording.leaves], holomorphic)
    _check_kinds(name, "results", recording.forms, holomorphic)
    shapes = [tuple(y.shape) for y in recording.forms]
    dependent = [i for i, y in enumerate(recording.outputs) if y is not None]
    basis = _basis([recording.forms[i] for i in dependent])

    def pull(*cotangents: Any) -> list[Any]:
        given: list[Any] = [None] * len(shapes)
        for i, cotangent in zip(dependent, cotangents, strict=True):
            # What flows is raw, so that no operator of the backward wraps and dispatches.
            given[i] = cotangent._array if isinstance(cotangent, Tensor) else cotangent
        found = recording.pull(given)
        return [zeros_of(leaf) if g is None else g for leaf, g in zip(recording.leaves, found, strict=True)]

    count = len(basis[0]) if basis else 0
    if count == 1:  # this and the next without vmap, and so without its limits
        rows = [_whole(g) for g in pull(*[x[0] for x in basis])]
    elif count and chunk_size == 1:
        each = [[_whole(g)[None] for g in pull(*[x[k] for x in basis])] for k in range(count)]
        rows = [table_of(pieces).cat(list(pieces), 0) for pieces in zip(*each, strict=True)]
    elif count:
        rows = [_whole(g) for g in map_over(pull, tuple(basis), {}, chunk_size=chunk_size)]
    else:
        recording.pull([None] * len(shapes))  # says what depends on nothing
        rows = [None for _ in recording.leaves]
    starts = _starts([shapes[i] for i in dependent])
    blocks = []
    for i, shape in enumerate(shapes):
        row = []
        for leaf, found in zip(recording.leaves, rows, strict=True):
            whole = (*shape, *leaf._array.shape)
            if i in dependent and found is not None:
                start = starts[dependent.index(i)]
                block = found[start : start + math.prod(shape)] if count > 1 else found
                block = block.reshape(whole) if tuple(block.shape) != whole else block
                block = block.conj() if holomorphic else block
            else:
                zeros = zeros_of(leaf)
                block = zeros.reshape((1,) * len(shape) + tuple(zeros.shape)) + np.zeros(whole, zeros.dtype)
            row.append(gradient_outward(leaf, block, recording.level))
        blocks.append(recording.arranged(row))
    return unflatten(recording.structure, blocks)


# -- by columns --------------------------------------------------------------------------------------------------------
def _columns(
    choice: Choice,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    has_aux: bool,
    holomorphic: bool,
    chunk_size: int | None,
    randomness: str,
) -> tuple[Any, Any]:
    """(the Jacobian by forward mode, aux): a tangent for each element of the arguments, all in one pass."""
    name = choice.transform
    places = choice.places(args, kwargs)
    primals = tuple(kwargs[n] if isinstance(n, str) else args[n] for n in places)
    leaves, structure = paired(name, primals, primals, modes.current().level)
    arrays = [p for _, p, _ in leaves]
    _check_kinds(name, "arguments", arrays, holomorphic)
    basis, kept = _basis(arrays), [None, None]

    def function(*chosen: Any) -> Any:
        given, named_ones = list(args), dict(kwargs)
        for n, x in zip(places, chosen, strict=True):
            holder: Any = named_ones if isinstance(n, str) else given
            holder[n] = x
        lift_others(given, named_ones, modes.current().level)
        return choice.function(*given, **named_ones)

    if not basis:
        raise GradientError(f"func.{name}: the chosen arguments hold no array to differentiate.")
    function.__qualname__ = getattr(choice.function, "__qualname__", type(choice.function).__name__)
    function.__wrapped__ = choice.function  # type: ignore[attr-defined]  # of which an error gives file and line
    names = [name_of(choice.function, n, args) for n in places]

    # Masks of all directions at once cost twice the rest, and matter only where a NaN shows: see `_repaired`.
    masks = bool(modes.current().level) or not _are_plain(map(_numbers, arrays))

    def push_all(*tangents: Any) -> Any:
        directions = unflatten(structure, list(tangents))
        value, tangent, *aux = push(name, function, primals, directions, has_aux=has_aux, names=names, masks=masks)
        kept[:] = [value, aux[0] if has_aux else None]
        return [_numbers(x) for x in flatten(tangent)[0]]

    push_all.__name__ = f"func.{name}"
    at_once = vmap(push_all, out_dims=-1, randomness=randomness, chunk_size=chunk_size)
    columns, plain = [_numbers(c) for c in at_once(*basis)], not masks
    masks = True
    if plain and not _are_plain(columns):  # the function holds tensors that record
        columns = at_once(*basis)
    columns = _repaired(columns, lambda k: push_all(*[part[k] for part in basis]))
    values, built = flatten(kept[0])
    if holomorphic:
        _check_kinds(name, "results", values, holomorphic)
    starts = _starts([x.shape for x in arrays])
    structures: list[Structure] = []
    for x in primals:
        found, own = flatten(x)
        structures.append(None if isinstance(own, int) else (own, len(found)))
    blocks = []
    for value, column in zip(values, columns, strict=True):
        shape, face, row = tuple(column.shape[:-1]), face_of(value), []
        for start, (given, p, _) in zip(starts, leaves, strict=True):
            block = column[..., start : start + math.prod(p.shape)].reshape((*shape, *p.shape))
            if block.dtype.kind not in "fc":  # of whole numbers and truth values, which do not move
                block = np.zeros(block.shape, p.dtype)
            if type(block) is not np.ndarray or given is not p:
                block = face(block)
            if type(given) in TENSOR_FACES and not isinstance(block, Tensor):
                block = wrap(np.asarray(block), 0)
            row.append(seen_outside(block, modes.current().level))
        arranged = rebuild(row, structures)
        blocks.append(tuple(arranged) if choice.several else arranged[0])
    return unflatten(built, blocks), kept[1]


def _numbers(x: Any) -> Any:
    return x._array if is_plain(x) else x


def _are_plain(arrays: Iterable[Any]) -> bool:
    return all(type(x) is np.ndarray for x in arrays)


def _repaired(columns: list[Any], column: Callable[[int], list[Any]]) -> list[Any]:
    """The columns, of which those with a NaN are computed again, each alone.

    Where the 0 of a tangent meets an infinite slope it is 0 if it is one by structure (see arrays.masks). That
    is known of a single tangent, not of all at once.
    """
    if not _are_plain(columns):
        return columns
    again = {int(k) for c in columns for k in np.flatnonzero(np.isnan(c).any(axis=tuple(range(c.ndim - 1))))}
    if again:
        columns = [c.copy() for c in columns]
    for k in again:
        for c, found in zip(columns, column(k), strict=True):
            c[..., k] = found
    return columns


# -- both --------------------------------------------------------------------------------------------------------------
def _basis(arrays: Sequence[Any]) -> list[Any]:
    """The unit vectors of the space in which these arrays are one vector: for each array its parts of all of them."""
    sizes = [math.prod(x.shape) for x in arrays]
    count = sum(sizes)
    if len(arrays) == 1:
        return [np.eye(count, dtype=arrays[0].dtype).reshape((count, *arrays[0].shape))]
    parts = []
    for start, size, x in zip(_starts([x.shape for x in arrays]), sizes, arrays, strict=True):
        part = np.zeros((count, size), x.dtype)
        part[start : start + size] = np.eye(size, dtype=x.dtype)
        parts.append(part.reshape((count, *x.shape)))
    return parts


def _whole(found: Any) -> Any:
    """Gradients in memory of their own."""
    box, found = [found], None
    return owned(box)


def _starts(shapes: Sequence[Sequence[int]]) -> list[int]:
    starts = [0]
    for shape in shapes:
        starts.append(starts[-1] + math.prod(shape))
    return starts[:-1]


def _check_kinds(name: str, what: str, arrays: Sequence[Any], holomorphic: bool) -> None:
    for x in arrays:
        kind = np.asarray(x).dtype.kind if not hasattr(x, "dtype") else x.dtype.kind
        if holomorphic and kind != "c":
            raise GradientError(
                f"func.{name}: holomorphic=True needs complex {what}, got {getattr(x, 'dtype', type(x).__name__)}; "
                "convert them, for example with .astype(complex)."
            )
        if not holomorphic and kind == "c":
            raise GradientError(
                f"func.{name}: Expected all {what} to be real, got {x.dtype}. For a complex differentiable function "
                "give holomorphic=True; else take real and imaginary parts apart."
            )
