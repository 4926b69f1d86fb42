"""check_grads: derivatives of a function of arrays against differences of its values, in every mode and order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.errors import with_article
from pullback.core.named import named
from pullback.core.pytree import flatten, paths_of, unflatten
from pullback.core.tensor import Tensor, ndarray
from pullback.func.boundary import floating_argument
from pullback.func.forward import jvp
from pullback.func.reverse import vjp

MODES = ("fwd", "rev")


@named("func.check_grads", "callable func")
def check_grads(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    order: int = 2,
    modes: Sequence[str] = MODES,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check derivatives of `func` up to an order against differences, along random directions.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree of arrays.
    args : tuple
        Where: floating-point arrays, numbers, or trees of these. The function must be smooth around them.
    order : int, default 2
        The highest derivative. All ways to get there are checked: for 2 and both modes forward over forward, reverse
        over forward, forward over reverse, reverse over reverse.
    modes : sequence of {"fwd", "rev"}
        jvp, vjp.
    rtol, atol : float, optional
        How far the two may differ, relatively and absolutely: by default 1e-5 in float64, 1e-2 in float32.
    eps : float, optional
        First step of the differences, relative to arguments of size 1: by default a fifth root of the dtype's accuracy.
        Where a derivative differs, smaller steps are tried before it counts as wrong.

    Returns
    -------
    None

    Raises
    ------
    AssertionError
        A derivative differs: which mode, which output, and both numbers.
    TypeError, ValueError
        `args` is not a tuple, or holds what has no derivatives, such as an int; or a mode is unknown.

    Notes
    -----
    Differences are central and of fourth order, f'(0) ~ (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h. Reverse mode is
    compared by <w, J v> = <J^T w, v>. A derivative of order 2 is compared with differences of the one of order 1 that
    it came from; so that a rule is found which holds constant what moves, and whose second derivative agrees with it,
    first derivatives are compared at a point nearby too. `autograd.gradcheck` checks Tensors entry by entry.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.check_grads(lambda x: np.sin(x) * x, (np.array([0.5, 2.0]),), order=3)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"func.check_grads: args must be a tuple of arguments, got {with_article(args)}; write (x,).")
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown or isinstance(modes, str):
        raise ValueError(f"func.check_grads: modes must be a sequence of 'fwd' and 'rev', got {modes!r}.")
    for x in flatten(args)[0]:
        if floating_argument(x, "func.check_grads: args hold").dtype.kind not in "fc":
            raise TypeError(f"func.check_grads: args hold an array of dtype {x.dtype}; convert it with .astype(float).")
    accuracy = max((np.finfo(_dtype(x)).eps for x in flatten(args)[0]), default=1e-16)
    coarse = accuracy > np.finfo(np.float64).eps
    settings = _Settings(
        rtol=(1e-2 if coarse else 1e-5) if rtol is None else rtol,
        atol=(1e-2 if coarse else 1e-5) if atol is None else atol,
        eps=float(accuracy**0.2) if eps is None else eps,
        modes=tuple(modes),
    )
    rng = np.random.default_rng(0)
    _check(func, args, order, settings, (), rng)
    if order > 1:
        leaves, structure = flatten(args)
        moves = flatten(_random(args, rng))[0]
        nearby = [x + _dtype(x).type(settings.eps) * v for x, v in zip(leaves, moves, strict=True)]
        _check(func, unflatten(structure, nearby), 1, settings, (), rng)


class _Settings:
    def __init__(self, rtol: float, atol: float, eps: float, modes: tuple[str, ...]) -> None:
        self.rtol, self.atol, self.eps, self.modes = rtol, atol, eps, modes


def _check(function: Any, args: Any, order: int, settings: _Settings, path: tuple[str, ...], rng: Any) -> None:
    if order < 1:
        return
    directions = tuple(_random(x, rng) for x in args)
    expected = _Differences(function, args, directions, settings.eps)
    for mode in settings.modes:
        way = (mode, *path)
        if mode == "fwd":
            value, tangent = jvp(function, args, directions)
            expected.confirm(tangent, settings, way)
            _check(lambda *xs: jvp(function, xs, directions)[1], args, order - 1, settings, way, rng)
        else:
            value, pull = vjp(function, *args)
            weights = _random(value, rng)
            expected.confirm(_product(pull(weights), directions), settings, way, weights)
            _check(lambda *xs, weights=weights: vjp(function, *xs)[1](weights), args, order - 1, settings, way, rng)


def _random(tree: Any, rng: Any) -> Any:
    """A direction at a tree of arrays, or a cotangent."""
    found, structure = flatten(tree)
    return unflatten(structure, [_like(x, rng.standard_normal(np.shape(x)), rng) for x in found])


def _like(x: Any, numbers: Any, rng: Any) -> Any:
    dtype = _dtype(x)
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.standard_normal(np.shape(x))
    numbers = np.asarray(numbers).astype(dtype)
    return x.new_tensor(numbers) if isinstance(x, Tensor) else numbers[()]


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.result_type(type(x))


class _Differences:
    """The derivative along the directions by differences, with the usual step, and with smaller ones where asked for.

    One step cannot serve every function: the usual one grows with the largest argument, and moves a matrix of n rows by
    about n times itself. A derivative is right if one step confirms it: a wrong one agrees with none.
    """

    def __init__(self, function: Any, args: Any, directions: Any, eps: float) -> None:
        self._function, self._moves = function, flatten(directions)[0]
        self._leaves, self._structure = flatten(args)
        sizes = [np.abs(_numbers(x)) for x in self._leaves]
        size = max([1.0, *[float(np.max(s[np.isfinite(s)], initial=0)) for s in sizes]])
        smaller = math.ceil(math.log(size * _SMALLEST, _FACTOR))
        self._steps = [eps * size / _FACTOR**k for k in range(smaller + 1)]
        self._found: list[Any] = []

    def confirm(self, found: Any, settings: _Settings, way: tuple[str, ...], weights: Any = None) -> None:
        """Raise if `found` is the derivative (with weights, its product with them) by no step: what the first says."""
        said: AssertionError | None = None
        for k, step in enumerate(self._steps):
            if k == len(self._found):
                self._found.append(self._with(step))
            expected = self._found[k] if weights is None else _product(weights, self._found[k])
            try:
                _compare(found, expected, settings, way)
            except AssertionError as error:
                said = said or error
            else:
                return
        assert said is not None  # there is one step at least
        raise said

    def _with(self, step: float) -> Any:
        (a, form), (b, _), (c, _), (d, _) = (self._at(t * step) for t in (1, -1, 2, -2))
        found = [(8 * (p - m) - (pp - mm)) / (12 * step) for p, m, pp, mm in zip(a, b, c, d, strict=True)]
        return unflatten(form, found)

    def _at(self, t: float) -> Any:
        moved = [x + _dtype(x).type(t) * v for x, v in zip(self._leaves, self._moves, strict=True)]
        found, form = flatten(self._function(*unflatten(self._structure, moved)))
        return [_numbers(x) for x in found], form


_FACTOR, _SMALLEST = 8, 512  # from one step to the next; the last is about this part of that for arguments of size 1


def _numbers(x: Any) -> ndarray:
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


def _product(a: Any, b: Any) -> float:
    """The real inner product of two trees of arrays."""
    pairs = zip(flatten(a)[0], flatten(b)[0], strict=True)
    return float(sum(np.vdot(_numbers(x), _numbers(y)).real for x, y in pairs))


def _compare(found: Any, expected: Any, settings: _Settings, way: tuple[str, ...]) -> None:
    values, structure = flatten(found)
    for x, y, path in zip(values, flatten(expected)[0], paths_of(structure), strict=True):
        x, y = _numbers(x), _numbers(y)
        scale = np.max(np.abs(y[np.isfinite(y)]), initial=0)
        wrong = ~np.isclose(x, y, rtol=settings.rtol, atol=settings.atol * max(1.0, scale), equal_nan=True)
        if np.any(wrong):
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise AssertionError(
                f"func.check_grads: {' over '.join(way)}: the derivative of order {len(way)} along a random direction "
                f"differs from finite differences{f' at {path}' if path else ''}{f' at {where}' if where else ''}: it "
                f"is {x[where]!r}, differences give {y[where]!r} (rtol {settings.rtol:g}, atol {settings.atol:g})."
            )
