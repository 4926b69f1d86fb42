"""jet: Taylor mode, derivatives of high order along curves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.arrays.taylor import TaylorArray, TaylorLevel
from pullback.core import cuts, modes
from pullback.core.array_face import surfaced
from pullback.core.array_type import array_type, is_array, table_of
from pullback.core.errors import GradientError, explained, refusals, with_article
from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.boundary import (
    check_callable,
    check_results,
    direction_like,
    enter,
    floating_argument,
    note_on_lists,
    raw_outward,
)
from pullback.func.rules import taylor as _rule_taylor  # noqa: F401 - registers itself
from pullback.graph.kept_values import surfaced_result


@named("func.jet", "callable func")
def jet(func: Callable[..., Any], primals: Any, series: Any) -> Any:
    """The value of `func` along curves, and its derivatives with respect to their parameter: Taylor mode.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree of arrays.
    primals : tuple
        The positional arguments x: floating-point arrays, or trees of these.
    series : tuple
        For each of them a list of K derivatives x', x'', ..., of the curve x(t) at t = 0, each of its structure, shapes
        and dtypes; None stands for zero. All lists are of one length.

    Returns
    -------
    (output, derivatives)
        f(x(0)), and the list of K derivatives of f(x(t)) at t = 0, each of the structure of the output: ndarrays for
        ndarrays.

    Raises
    ------
    TypeError
        `primals` or `series` is not a tuple, a series is not a list, or a leaf is not floating point.
    RuntimeError
        Structures, shapes, dtypes or the lengths of the lists differ.
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Notes
    -----
    One run on truncated series; the cost grows with K**2 for products and with K**2 to K**3 for what is made of them,
    where K nested transforms cost 2**K. With x' = v and no further derivatives, the results are the derivatives of
    t -> f(x + t v). See A. Griewank and A. Walther, "Evaluating Derivatives" (2008), chapter 13.

    Examples
    --------
    >>> import numpy as np
    >>> y, derivatives = pb.func.jet(np.log1p, (0.0,), ([1.0, None, None],))
    >>> [d.item() for d in derivatives]
    [1.0, -1.0, 2.0]
    """
    check_callable("jet", func)
    state = modes.current()
    order = _order(primals, series)
    found, structure = flatten(primals)
    given = [surfaced(x, state.level) for x in found]
    level, curve = state.level + 1, TaylorLevel()
    run = cuts.Run(level, "jet", func)
    before, refused = modes.set_modes(state.deeper()), refusals.last
    try:
        rows = [_leaves(primals, [part[k] for part in series], k) for k in range(order)]
        arrays = [
            enter(x, _entered(x, [row[i] for row in rows], i, curve, state.level), level) for i, x in enumerate(given)
        ]
        output = run.watch(func, *unflatten(structure, arrays))
        values, results, depends = _take_apart(output, run, curve, order)
    except Exception as error:
        note_on_lists(error, primals)
        if (better := explained(error, refused)) is error:
            raise
        raise better from None
    finally:
        curve.open = False
        modes.restore(before)
    if cuts.WATCHED:
        cuts.note_derivative(given)
    if not depends and not run.explained:
        cuts.warn(run, "func.jet", func, [cuts.argument_name(func, i, len(primals)) for i in range(len(primals))])
    return values, results


def _order(primals: Any, series: Any) -> int:
    for name, given in (("primals", primals), ("series", series)):
        if not isinstance(given, tuple):
            raise TypeError(f"func.jet: {name} must be a tuple, one for each argument, got {with_article(given)}.")
    if not primals or len(primals) != len(series):
        raise GradientError(f"func.jet: {len(primals)} primals and {len(series)} series; give one for each argument.")
    for i, part in enumerate(series):
        if not isinstance(part, (list, tuple)):
            raise TypeError(f"func.jet: series {i} must be a list of derivatives, got {with_article(part)}.")
    orders = {len(part) for part in series}
    if len(orders) > 1:
        raise GradientError(f"func.jet: the series have different lengths, {sorted(orders)}; put None for zeros.")
    return orders.pop()


def _leaves(primals: Any, derivatives: list[Any], k: int) -> list[Any]:
    """The leaves of the derivatives of one order, None where they are zero."""
    found = []
    for i, (primal, derivative) in enumerate(zip(primals, derivatives, strict=True)):
        leaves, structure = flatten(primal)
        if derivative is None:
            found += [None] * len(leaves)
            continue
        own, other = flatten(derivative)
        if other != structure:
            raise GradientError(f"func.jet: derivative {k + 1} of primal {i} must have the structure of the primal.")
        found += own
    return found


def _entered(primal: Any, derivatives: list[Any], i: int, curve: TaylorLevel, level: int) -> Any:
    x = floating_argument(primal, f"func.jet: primal {i} is")
    if x.dtype.kind not in "fc":
        raise TypeError(
            f"func.jet: primal {i} has dtype {x.dtype}, which has no derivatives: convert it, for example with "
            ".astype(float)."
        )
    coefficients = [array_type(x).copy(x)]
    for k, derivative in enumerate(derivatives, start=1):
        if derivative is None:
            coefficients.append(None)
            continue
        d = direction_like(surfaced(derivative, level), x.dtype, f"func.jet: derivative {k} of primal {i} is")
        if tuple(d.shape) != tuple(x.shape) or d.dtype != x.dtype:
            raise GradientError(
                f"func.jet: primal {i} has shape {tuple(x.shape)} and dtype {x.dtype}, its derivative {k} "
                f"{tuple(d.shape)} and {d.dtype}; they must agree."
            )
        coefficients.append(d / d.dtype.type(math.factorial(k)) if k > 1 else array_type(d).copy(d))
    return TaylorArray(coefficients, curve)


def _take_apart(output: Any, run: cuts.Run, curve: TaylorLevel, order: int) -> tuple[Any, list[Any], bool]:
    """(values, derivatives of each order, whether one moves) of what the function returned, one level further out."""
    found, structure = flatten(output)
    if not found:
        raise GradientError(
            f"func.jet: the function returned no array (it returned {output!r}). Is a `return` missing?"
        )
    found = [surfaced_result(x, run, records=False) for x in found]
    check_results(found, structure, "func.jet: ", "")
    values: list[Any] = []
    rows: list[Any] = []
    depends = order == 0
    for x in found:
        raw: Any = x._array if isinstance(x, Tensor) and x._level == run.level else x
        moves = type(raw) is TaylorArray and raw.level is curve
        parts = raw.coefficients if moves else (raw, *[None] * order)
        depends = depends or moves
        values.append(raw_outward(x, parts[0], run.level, False))
        rows.append([raw_outward(x, _derivative(parts[0], c, k), run.level, False) for k, c in enumerate(parts) if k])
    results = [unflatten(structure, [row[k] for row in rows]) for k in range(order)]
    return unflatten(structure, values), results, depends


def _derivative(first: Any, coefficient: Any, k: int) -> Any:
    if coefficient is None:
        first = first if is_array(first) else np.asarray(first)
        return table_of((first,)).zeros_like(first)
    return coefficient if k == 1 else coefficient * coefficient.dtype.type(math.factorial(k))
