"""scan, fori_loop and while_loop: loops whose derivative takes the memory of what goes from step to step."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from pullback.core.errors import GradientError, with_article
from pullback.core.named import named
from pullback.core.pytree import Structure, TreeSpec, flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.closures import Captures, faced
from pullback.func.implicit.functions import check_functions
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.loops.run import Loop, shape_of

_Tree = Any


class Form:
    """A tree's structure, and the face of each leaf, which a step sees in its place."""

    def __init__(self, leaves: Leaves, structure: Structure) -> None:
        self._structure, self._faces = structure, [type(x) if isinstance(x, Tensor) else None for x in leaves]

    @property
    def key(self) -> Hashable:
        """Equal for forms that are alike."""
        return repr(self._structure), (*self._faces,)

    def tree(self, leaves: Leaves) -> _Tree:
        """These leaves in the structure."""
        pairs = zip(leaves, self._faces, strict=True)
        return unflatten(self._structure, [x if face is None else faced(x, face, False) for x, face in pairs])

    def leaves(self, name: str, tree: _Tree, k: int) -> Leaves:
        """The leaves of what step k has returned."""
        found, structure = flatten(tree)
        if structure != self._structure:
            raise GradientError(
                f"{name}: step {k} must return a carry of the same structure as it takes. It takes "
                f"{TreeSpec(self._structure, len(self._faces))} and returns {TreeSpec(structure, len(found))}."
            )
        return found


@named("func.scan")
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: _Tree,
    xs: _Tree = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    slots: int | None = None,
) -> tuple[_Tree, _Tree]:
    """A loop over slices: `carry, y = f(carry, x)` for each x along the first dimension of xs. It is JAX's `lax.scan`.

    Parameters
    ----------
    f : callable
        `f(carry, x)` gives (carry, y). The carry keeps its structure, shapes and kinds of numbers; y is a tree of
        arrays, or None. f must do the same when it runs again. What it captures and is differentiated gets its
        gradient too.
    init : array, number, or tree of these
        The carry at first.
    xs : array or tree of arrays, optional
        Of equal first dimensions. Without it x is None, and `length` says how many steps there are.
    length : int, optional
    reverse : bool, default False
        Begin with the last slice. The y of a slice is in its place all the same.
    slots : int, optional
        How many carries are kept at a time, instead of all: the others are computed again, as in `checkpointed_loop`.

    Returns
    -------
    carry : tree like init
        After the last step.
    ys : tree of arrays
        Those of all steps, along a new first dimension.

    Raises
    ------
    RuntimeError
        f gives a carry of another structure, shapes or kinds of numbers than it takes.
    CheckpointError
        In backward: f gave something else when it ran again.
    ValueError, TypeError
        xs have different first dimensions, or `length` is another; f does not return a pair; `slots` is below 1.

    Notes
    -----
    The loop is one node. Its backward runs each step again, records it, and pulls back through it: time grows by one
    forward run, memory is that of the carries and of one step's graph. It has derivatives of every order, in both
    modes. Under `vmap` the step runs on all samples at once; the carry is then of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> def smoothed(x, rate):
    ...     def step(level, x):
    ...         level = level + rate * (x - level)
    ...         return level, level
    ...     return pb.func.scan(step, 0.0, x)[1]
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> smoothed(x, 0.5)
    array([0.5  , 1.25 , 2.625])
    >>> pb.func.jacobian(smoothed, argnums=1)(x, 0.5)
    array([1.  , 2.  , 3.75])
    """
    check_functions("scan", f=f)
    name = name_of("scan", f)
    slices, x_structure = ([], None) if xs is None else flatten(xs)
    count = _length(slices, length)
    carry, structure = flatten(init)
    form, x_form = Form(carry, structure), Form(slices, x_structure)
    captured = Captures(name, f)
    y_structure: list[Any] = []

    def step(carry: Leaves, k: int, x: Leaves, held: Leaves) -> tuple[Leaves, Leaves]:
        found = captured.given(held)[0](form.tree(carry), None if xs is None else x_form.tree(x))
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(f"{name}: f must return a pair (carry, y), got {with_article(found)}.")
        y, y_structure[:] = _leaves_of_y(name, found[1])
        return form.leaves(name, found[0], k), y

    if not count:  # a step on zeros tells of which shapes nothing is
        zeros = [np.zeros(x.shape[1:], x.dtype) for x in slices]
        with np.errstate(all="ignore"):
            y = step([*carry], 0, zeros, captured.tensors)[1] if xs is not None else []
        nothing = [np.zeros((0, *np.shape(part)), getattr(part, "dtype", type(part))) for part in y]
        return init, unflatten(y_structure[0] if y else None, nothing)
    loop = Loop(
        name, captured, step, carry, slices, captured.tensors, count, form=(form.key, x_form.key), backwards=reverse
    )
    loop.slots = checked_slots("scan", slots, count)
    last, ys = loop.run()
    return unflatten(structure, last), unflatten(y_structure[0], ys)


@named("func.fori_loop")
def fori_loop(
    lower: int, upper: int, body: Callable[[int, Any], Any], init: _Tree, *, slots: int | None = None
) -> _Tree:
    """A loop that counts: `carry = body(i, carry)` for i = lower, ..., upper - 1. It is JAX's `lax.fori_loop`.

    Parameters
    ----------
    lower, upper : int
    body : callable
        `body(i, carry)` gives a carry of the same structure, shapes and kinds of numbers. It must do the same when it
        runs again. What it captures and is differentiated gets its gradient too.
    init : array, number, or tree of these
    slots : int, optional
        As of `scan`.

    Returns
    -------
    tree like init
        `init` itself where there is no step.

    Raises
    ------
    RuntimeError, CheckpointError
        As of `scan`.
    TypeError, ValueError
        A bound is no int; `slots` is below 1.

    Examples
    --------
    >>> power = lambda x: pb.func.fori_loop(0, 5, lambda i, y: y * x, 1.0)
    >>> value, slope = pb.func.value_and_grad(power)(2.0)
    >>> print(value, slope)
    32.0 80.0
    """
    check_functions("fori_loop", body=body)
    name = name_of("fori_loop", body)
    _check_int("fori_loop", "lower", lower)
    _check_int("fori_loop", "upper", upper)
    first, count = int(lower), max(int(upper) - int(lower), 0)
    carry, structure = flatten(init)
    form, captured = Form(carry, structure), Captures(name, body)

    def step(carry: Leaves, k: int, x: Leaves, held: Leaves) -> tuple[Leaves, Leaves]:
        return form.leaves(name, captured.given(held)[0](first + k, form.tree(carry)), k), []

    if not count:
        return init
    loop = Loop(name, captured, step, carry, [], captured.tensors, count, form=(form.key, first))
    loop.slots = checked_slots("fori_loop", slots, count)
    return unflatten(structure, loop.run()[0])


@named("func.while_loop")
def while_loop(
    test: Callable[[Any], Any], body: Callable[[Any], Any], init: _Tree, *, max_steps: int | None = None
) -> _Tree:
    """A loop that goes on while a test is true: `while test(carry): carry = body(carry)`.

    It is JAX's `lax.while_loop`, with a derivative in reverse mode too: the number of steps is what it is for the
    arguments, so the derivative is that of as many steps.

    Parameters
    ----------
    test : callable
        `test(carry)` is true if there is another step. It has no derivative.
    body : callable
        `body(carry)` gives a carry of the same structure, shapes and kinds of numbers. Both must do the same when they
        run again. What `body` captures and is differentiated gets its gradient too.
    init : array, number, or tree of these
    max_steps : int, optional
        An error is raised if the test is true after so many.

    Returns
    -------
    tree like init
        `init` itself where there is no step.

    Raises
    ------
    RuntimeError, CheckpointError
        As of `scan`; there are more than `max_steps`.
    TypeError, ValueError
        `test` or `body` cannot be called; `max_steps` is no int, or negative.

    Notes
    -----
    Under `vmap` the body runs on all samples as long as the test is true for one; a sample whose test is false stays
    what it is. Memory holds the carries of all steps.

    Examples
    --------
    >>> def root(a):  # Newton's method for x * x = a
    ...     def better(x):
    ...         return 0.5 * (x + a / x)
    ...     return pb.func.while_loop(lambda x: abs(x * x - a) > 1e-12 * a, better, a)
    >>> value, slope = pb.func.value_and_grad(root)(2.0)
    >>> round(float(value), 6), round(float(slope), 6)
    (1.414214, 0.353553)
    """
    check_functions("while_loop", test=test, body=body)
    name = name_of("while_loop", body)
    if max_steps is not None:
        _check_count("while_loop", "max_steps", max_steps)
    carry, structure = flatten(init)
    form, captured = Form(carry, structure), Captures(name, body, test)

    def goes_on(carry: Leaves, held: Leaves) -> Any:
        return captured.given(held)[1](form.tree(carry))

    def step(carry: Leaves, k: int, x: Leaves, held: Leaves) -> tuple[Leaves, Leaves]:
        return form.leaves(name, captured.given(held)[0](form.tree(carry)), k), []

    loop = Loop(name, captured, step, carry, [], captured.tensors, None, form=form.key, test=goes_on)
    loop.limit = max_steps
    return unflatten(structure, loop.run()[0])


def checked_slots(function: str, slots: int | None, count: int) -> int | None:
    """The number of carries that are kept at a time; None if all are."""
    if slots is None:
        return None
    _check_int(function, "slots", slots)
    if slots < 1:
        raise ValueError(f"func.{function}: slots must be at least 1, got {slots}.")
    return min(int(slots), count)


def name_of(function: str, f: Any) -> str:
    """The name of a call, for errors: that of the loop and of the user's function."""
    return f"{function}({getattr(f, '__name__', type(f).__name__)})"


def _check_int(function: str, role: str, given: Any) -> None:
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise TypeError(f"func.{function}: {role} must be an int, got {with_article(given)}.")


def _check_count(function: str, role: str, given: Any) -> None:
    _check_int(function, role, given)
    if given < 0:
        raise ValueError(f"func.{function}: {role} must not be negative, got {given}.")


def _length(slices: Leaves, length: int | None) -> int:
    """How many steps a scan has."""
    if length is not None:
        _check_count("scan", "length", length)
    sizes = set()
    for x in slices:
        if not hasattr(x, "shape") or not len(x.shape):
            raise TypeError(
                f"func.scan: xs must be an array, or a tree of arrays, with a first dimension, got {with_article(x)} "
                "in it. A list is a tree of its items: make it one array (np.stack)."
            )
        sizes.add(int(x.shape[0]))
    if len(sizes) > 1:
        raise ValueError(f"func.scan: the first dimensions of xs must be equal, got {sorted(sizes)}.")
    if not sizes and length is None:
        raise TypeError("func.scan: without xs, length must say how many steps there are.")
    if sizes and length is not None and sizes != {length}:
        raise ValueError(f"func.scan: length is {length}, and the first dimension of xs is {sizes.pop()}.")
    return int(length) if length is not None else sizes.pop()


def _leaves_of_y(name: str, y: _Tree) -> tuple[Leaves, list[Structure]]:
    """The leaves of a y, and its structure in a list."""
    leaves, structure = flatten(y)
    for x in leaves:
        if shape_of(x) is None:
            raise TypeError(f"{name}: y must be an array, a number, or a tree of these, got {with_article(x)} in it.")
    return leaves, [structure]
