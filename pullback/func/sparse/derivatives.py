"""sparse_jacobian and sparse_hessian: derivatives as sparse matrices, by one pass for each color of a coloring."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.masks import may_be_nan
from pullback.core.errors import GradientError
from pullback.core.named import named
from pullback.core.tensor import ndarray
from pullback.func.boundary import Argnums, split_aux
from pullback.func.forward import push
from pullback.func.gradient import grad
from pullback.func.linearization import linearized
from pullback.func.reverse import vjp
from pullback.func.sparse.coloring import Coloring, Mode, color_hessian, color_jacobian
from pullback.func.sparse.pattern import find
from pullback.func.sparse.vectors import FEW, Chosen, batches_of, joined, one_argument, products


@named("func.sparse_jacobian", "callable func")
def sparse_jacobian(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    sparsity: Any = None,
    mode: Mode = "auto",
    check: bool | None = None,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` as a sparse matrix.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree of arrays (with
        `has_aux`, a pair of that and anything else).
    argnums : int or str, default 0
        The argument with respect to which it is differentiated: an array or a tree of arrays.
    has_aux : bool, default False
        True if `func` returns a pair: what is differentiated, and anything else.
    sparsity : scipy.sparse array or matrix, 2-D array or Coloring, optional
        Which entries may differ from zero, as `jacobian_sparsity` finds it, or a coloring of these. It is found anew
        at each call if it is not given, which costs more than the evaluation.
    mode : {"auto", "forward", "reverse", "both"}, default "auto"
        See `color_jacobian`.
    check : bool, optional
        Whether to compare the matrix with one more forward pass, in a direction that is not special, and refuse a
        pattern that lacks an entry, unless that is below 1e-9 of its row's. By default just if `sparsity` is given.

    Returns
    -------
    callable
        Takes the same arguments, and returns a scipy.sparse.csr_array of shape (m, n), the elements of the result by
        those of the argument, each in the order of their leaves and of C within each leaf. With `has_aux` a pair of
        that and what is auxiliary.

    Raises
    ------
    RuntimeError
        The pattern has another shape than the Jacobian, or lacks an entry.
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda x: x[1:] * x[:-1]
    >>> pb.func.sparse_jacobian(f)(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])

    What does not change from call to call is found once:

    >>> x = np.ones(1000)
    >>> coloring = pb.func.color_jacobian(pb.func.jacobian_sparsity(f)(x))
    >>> coloring
    <Coloring of 1998 entries of 999 x 1000: 2 forward passes>
    >>> jacobian = pb.func.sparse_jacobian(f, sparsity=coloring)
    >>> jacobian(x).shape
    (999, 1000)
    """
    choice = one_argument("sparse_jacobian", func, argnums)
    coloring = sparsity if sparsity is None or isinstance(sparsity, Coloring) else color_jacobian(sparsity, mode)
    checked = (sparsity is not None) if check is None else check

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(choice, args, kwargs, has_aux)
        colors = color_jacobian(find(chosen), mode) if coloring is None else coloring
        return _evaluated(chosen, colors, checked)

    return jacobian


@named("func.sparse_hessian", "callable func")
def sparse_hessian(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    sparsity: Any = None,
    check: bool | None = None,
) -> Callable[..., Any]:
    """A function that computes the Hessian of a scalar `func` as a sparse matrix.

    The products with the colors' vectors are derivatives of the gradient along these: forward over reverse mode.

    Parameters
    ----------
    func : callable
        Returns a real scalar (with `has_aux`, a pair of that and anything else).
    argnums, has_aux, sparsity, check
        As for `sparse_jacobian`; `hessian_sparsity` finds the pattern, and `color_hessian` colors it.

    Returns
    -------
    callable
        Takes the same arguments, and returns a symmetric scipy.sparse.csr_array of shape (n, n); with `has_aux` a pair
        of that and what is auxiliary.

    Raises
    ------
    TypeError
        The argument is not real floating point, `argnums` names several, or `sparsity` is a coloring of
        `color_jacobian`.
    RuntimeError
        The function returns no real scalar, or `sparsity` has another shape or lacks an entry.
    IndexError
        `argnums` names an argument that the call lacks.
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Examples
    --------
    >>> import numpy as np
    >>> rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> pb.func.sparse_hessian(rosenbrock)(np.ones(3)).toarray()
    array([[ 802., -400.,    0.],
           [-400., 1002., -400.],
           [   0., -400.,  200.]])
    """
    choice = one_argument("sparse_hessian", func, argnums)
    choice.function = grad(func, argnums, has_aux)
    coloring = sparsity if sparsity is None or isinstance(sparsity, Coloring) else color_hessian(sparsity)
    checked = (sparsity is not None) if check is None else check
    if coloring is not None and not coloring.symmetric:
        raise TypeError("func.sparse_hessian: the coloring must be one of color_hessian's, got one of a Jacobian.")

    def hessian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(choice, args, kwargs, has_aux)
        colors = color_hessian(find(chosen)) if coloring is None else coloring
        return _evaluated(chosen, colors, checked)

    return hessian


def _evaluated(chosen: Chosen, coloring: Coloring, check: bool) -> Any:
    by_columns = by_rows = along = None
    aux: list[Any] = []
    if coloring.pattern.shape[1] != chosen.size:
        raise GradientError(
            f"func.{chosen.transform}: sparsity has shape {coloring.pattern.shape}, but the argument has {chosen.size} "
            "elements, one for each column. Was it found for other arguments?"
        )
    if coloring.forward or check:
        by_columns, along, *aux = _pushed(chosen, coloring, check)
    if coloring.reverse:
        value, pull, *aux = vjp(chosen.of_leaves, *chosen.leaves, has_aux=chosen.has_aux)
        _fits(chosen, coloring, joined(chosen.transform, value).size)
        by_rows = products(chosen.transform, pull, coloring.row_seeds(), value)
    if by_columns is None and by_rows is None:
        found = chosen.of_leaves(*chosen.leaves)
        value, *aux = split_aux(chosen.transform, found) if chosen.has_aux else (found,)
        _fits(chosen, coloring, joined(chosen.transform, value).size)
    matrix = coloring.matrix(None if by_columns is None else by_columns.T, by_rows)
    if may_be_nan(matrix.data):
        _separated(chosen, coloring, matrix)
    if along is not None:
        _compare(chosen, matrix, coloring.directions(check)[-1], along)
    return (matrix, *aux) if aux else matrix


def _pushed(chosen: Chosen, coloring: Coloring, check: bool) -> tuple[Any, ...]:
    """(the products with the seeds, a color in each row; that with the direction to check with; perhaps an aux).

    The first two are None if unwanted. Where a NaN shows they are found again, direction by direction: a 0 in one is
    then known to move nothing, however infinite a slope it meets. That costs too much where no NaN shows.
    """
    directions = coloring.directions(check)
    samples = [x[0] for x in batches_of(directions[-1:], chosen.leaves)] if check else chosen.leaves
    found = linearized(chosen.of_leaves, tuple(chosen.leaves), tuple(samples), has_aux=chosen.has_aux, masks=False)
    value, linear, along, *aux = found
    _fits(chosen, coloring, joined(chosen.transform, value).size)
    made, along = None, joined(chosen.transform, along) if check else None
    if coloring.forward:
        seeds = directions[:-1] if check else directions
        made = products(chosen.transform, lambda tangents: linear(*tangents), seeds, chosen.leaves)
        if may_be_nan(made.ravel()):
            wrong = np.isnan(made).any(1)
            made[wrong] = _each_pushed(chosen, seeds[wrong])
    if along is not None and may_be_nan(along):
        (along,) = _each_pushed(chosen, directions[-1:])
    return made, along, *aux


def _each_pushed(chosen: Chosen, directions: ndarray) -> ndarray:
    """The products with directions, one in each row, by a forward pass for each."""

    def tangent(tangents: Any) -> Any:
        return push(chosen.transform, chosen.result_of_leaves, tuple(chosen.leaves), tuple(tangents))[1]

    return products(chosen.transform, tangent, directions, chosen.leaves)


_SEEDS = 40_000_000  # numbers in those that tell columns apart


def _separated(chosen: Chosen, coloring: Coloring, matrix: Any) -> None:
    """Find entries that are NaN again, from fewer and fewer columns (rows) at a time.

    Where an infinite slope has met a computed 0, the product with a color is NaN also in rows of its other columns.
    What stays is NaN by itself, but where that concerns more columns than can be tried.
    """
    value = joined(chosen.transform, chosen.result_of_leaves(*chosen.leaves))
    lost = np.isnan(matrix.data) & ~np.isnan(value[matrix.tocoo().row])
    by_columns, by_rows = coloring.places()
    if coloring.forward:
        _searched(matrix.data, lost, by_columns, partial(_each_pushed, chosen), chosen.size)
    if coloring.reverse:
        result, pull, *_ = vjp(chosen.result_of_leaves, *chosen.leaves)
        product = partial(products, chosen.transform, pull, like=result)
        _searched(matrix.data, lost, by_rows, product, value.size)


def _searched(data: ndarray, lost: ndarray, where: Any, product: Callable[[ndarray], ndarray], size: int) -> None:
    """Write into `data` those entries that are `lost`, from products with their lines; `where`: `Coloring.places`."""
    own, colors, lines, across = where
    entries = np.flatnonzero(lost[own])
    places, lines, across = np.flatnonzero(own)[entries], lines[entries], across[entries]
    left = np.unique(lines)
    groups = [left[colors[left] == color] for color in np.unique(colors[left])]
    while groups and len(groups) * size <= max(_SEEDS, FEW * size):
        seeds, group = np.zeros((len(groups), size)), np.full(size, -1)
        for nr, members in enumerate(groups):
            seeds[nr, members], group[members] = 1, nr
        found = product(seeds)[group[lines], across]
        data[places] = found
        rest = np.isnan(found)
        left = np.unique(lines[rest])
        many = [x for x in (left[group[left] == nr] for nr, members in enumerate(groups) if members.size > 1) if x.size]
        groups = [half for x in many for half in np.array_split(x, 2) if half.size]
        rest &= np.isin(lines, np.concatenate([np.zeros(0, int), *groups]))
        places, lines, across = places[rest], lines[rest], across[rest]


def _fits(chosen: Chosen, coloring: Coloring, rows: int) -> None:
    if coloring.pattern.shape != (rows, chosen.size):
        raise GradientError(
            f"func.{chosen.transform}: sparsity has shape {coloring.pattern.shape}, but the derivative has shape "
            f"{(rows, chosen.size)}, the result's elements by the argument's. Was it found for other arguments?"
        )


_ROUGHLY = 0.1  # of the root of the accuracy: 1.5e-9 of a row's entries in float64


def _compare(chosen: Chosen, matrix: Any, direction: ndarray, found: ndarray) -> None:
    """Refuse a pattern that lacks an entry: the matrix does not give the derivative along a direction then."""
    share = _ROUGHLY * np.sqrt(np.finfo(found.dtype).eps)
    with np.errstate(invalid="ignore"):
        expected = matrix @ direction
        error = np.subtract(expected, found)
        np.abs(error, out=error)
        bound = np.abs(found)
        bound *= share
        rows = np.flatnonzero(error > bound)  # as a rule none, or few, where large entries cancel; not a NaN's
        if not rows.size:
            return
        wrong = rows[error[rows] > share * (abs(matrix[rows]) @ direction + np.abs(found[rows]))]
    if wrong.size:
        row = int(wrong[0])
        raise GradientError(
            f"func.{chosen.transform}: the sparsity that was given lacks an entry in row {row}: along a direction d "
            f"the derivative is {found[row]:.6g} there, but the sparse matrix times d is {expected[row]:.6g}. "
            "The sparsity was found where the function took other branches, or for another function. Find it here, or "
            "omit it. If the function only loses digits by cancellation, give check=False."
        )
