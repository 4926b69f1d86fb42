"""cond: one of two functions, chosen by a value that may be another for each sample of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_type import array_type, innermost
from pullback.core.errors import GradientError, OperatorError
from pullback.core.named import named
from pullback.core.pytree import TreeSpec, flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.implicit.functions import check_functions
from pullback.func.loops.run import chosen


@named("func.cond")
def cond(pred: Any, true_function: Callable[..., Any], false_function: Callable[..., Any], *operands: Any) -> Any:
    """`true_function(*operands)` where `pred` is true, else `false_function(*operands)`. It is JAX's `lax.cond`.

    Parameters
    ----------
    pred : bool, number or array of one element
        It has no derivative.
    true_function, false_function : callable
        Of the operands.
    *operands
        Trees of arrays, and anything else that the functions want.

    Returns
    -------
    What the chosen function returns.

    Raises
    ------
    RuntimeError
        `pred` has several elements. Where it differs among samples of a batch: the functions return other structures
        or shapes.
    TypeError
        A function cannot be called.

    Notes
    -----
    One function runs, as by Python's `if`. Inside of `vmap`, where `pred` may be another for each sample, both run on
    all samples, and each sample has the result of its own: so both must return the same structure and shapes. The
    function that a sample has not chosen has no part in its derivative, also where it gives inf or nan.

    Examples
    --------
    >>> import numpy as np
    >>> def root(x):
    ...     return pb.func.cond(x > 0, np.sqrt, lambda x: 0 * x, x)
    >>> pb.func.grad(root)(4.0).item()
    0.25
    >>> pb.func.vmap(pb.func.grad(root))(np.array([4.0, -1.0]))
    array([0.25, 0.  ])
    """
    check_functions("cond", true_function=true_function, false_function=false_function)
    if np.size(pred) != 1:
        raise OperatorError(
            f"func.cond: pred must have one element, got shape {tuple(np.shape(pred))}; choose element by element by "
            "where(pred, x, y), or map this over the elements by func.vmap."
        )
    if not isinstance(pred, Tensor) or not array_type(innermost(pred)).many:
        return true_function(*operands) if pred else false_function(*operands)
    with np.errstate(all="ignore"):  # of samples that have chosen the other function
        found, structure = flatten(true_function(*operands))
        other, other_structure = flatten(false_function(*operands))
    if structure != other_structure or [np.shape(x) for x in found] != [np.shape(x) for x in other]:
        raise GradientError(
            "func.cond: where pred differs among the samples of a batch both functions must return the same structure "
            f"and shapes, got {TreeSpec(structure, len(found))} with shapes {[np.shape(x) for x in found]} and "
            f"{TreeSpec(other_structure, len(other))} with shapes {[np.shape(x) for x in other]}."
        )
    there = pred.reshape(()) != 0
    return unflatten(structure, [chosen(there, x, y) for x, y in zip(found, other, strict=True)])
