"""Which entries of a Jacobian or Hessian may differ from zero, found by running the function on index sets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from pullback.arrays.dual import DualArray
from pullback.arrays.index_sets import IndexSets, Store
from pullback.core.errors import IndependentResultWarning
from pullback.core.named import named
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, wrap
from pullback.func.boundary import Argnums
from pullback.func.forward import push
from pullback.func.gradient import grad
from pullback.func.sparse.coloring import csr_of_bool
from pullback.func.sparse.vectors import Chosen, one_argument


@named("func.jacobian_sparsity", "callable func")
def jacobian_sparsity(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that finds which entries of the Jacobian of `func` may differ from zero.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree of arrays (with
        `has_aux`, a pair of that and anything else, which is not looked at).
    argnums : int or str, default 0
        The argument with respect to which it is differentiated: an array or a tree of arrays.
    has_aux : bool, default False
        True if `func` returns a pair: what is differentiated, and anything else.

    Returns
    -------
    callable
        Takes the same arguments, and returns a scipy.sparse.csr_array of bool of shape (m, n), where m is the number of
        elements of the result and n that of the argument, in the order of their leaves and of C within each.

    Raises
    ------
    NotImplementedError
        An operator on the way has no forward-mode derivative.
    TypeError
        The argument is not floating point, or the function returned what is not an array.

    Notes
    -----
    The function runs once, in forward mode. Its tangents hold no numbers: each element holds the set of the elements of
    the argument that it depends on. A product, for example, depends on both factors, even where one of them happens to
    be 0. Products of matrices are the exception: zeros of a constant matrix pass nothing on. No values are tried out.
    So the pattern holds wherever the function runs the same operators. Branches of `if`, and indices computed from
    values, are those of this call; `np.where`, maxima and sorting count with every outcome. The result of an operator
    without a closer rule (a decomposition, a Fourier transform) depends on all of its argument.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.jacobian_sparsity(lambda x: x[1:] * x[:-1])(np.zeros(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    choice = one_argument("jacobian_sparsity", func, argnums)

    def sparsity(*args: Any, **kwargs: Any) -> Any:
        return find(Chosen(choice, args, kwargs, has_aux))

    return sparsity


@named("func.hessian_sparsity", "callable func")
def hessian_sparsity(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that finds which entries of the Hessian of a scalar `func` may differ from zero.

    As `jacobian_sparsity` of its gradient: the sets go through the backward pass too.

    Parameters
    ----------
    func : callable
        Returns a real scalar (with `has_aux`, a pair of that and anything else).
    argnums : int or str, default 0
    has_aux : bool, default False
        True if `func` returns a pair: what is differentiated, and anything else.

    Returns
    -------
    callable
        Takes the same arguments, and returns a scipy.sparse.csr_array of bool of shape (n, n).

    Raises
    ------
    TypeError
        The argument is not real floating point, or `argnums` names several.
    RuntimeError
        The function returns no real scalar.
    IndexError
        `argnums` names an argument that the call lacks.
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.hessian_sparsity(lambda x: np.sum(x[1:] * x[:-1] ** 2))(np.zeros(3)).toarray().astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    """
    choice = one_argument("hessian_sparsity", func, argnums)
    choice.function = grad(func, argnums, has_aux)

    def sparsity(*args: Any, **kwargs: Any) -> Any:
        return symmetric(find(Chosen(choice, args, kwargs, has_aux)))

    return sparsity


def symmetric(pattern: Any) -> Any:
    """A pattern and its mirror image."""
    return sp.csr_array(pattern + pattern.T)


def find(chosen: Chosen, most: int | None = None) -> Any:
    """The pattern of the Jacobian of a function of the chosen argument, there; None for more than `most` entries."""
    leaves = [x if x.dtype == np.float64 else x.astype(np.float64) for x in chosen.leaves]  # beside which sets fit
    store = Store(sum(x.size for x in leaves), chosen.constants())
    tangents, start = [], 0
    for x in leaves:
        sets: Any = IndexSets.identity(store, start, x.shape, x.dtype)
        tangents.append(wrap(sets, 0) if isinstance(x, Tensor) else sets)
        start += x.size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndependentResultWarning)  # an empty pattern says it
        value, tangent = push(chosen.transform, chosen.result_of_leaves, tuple(leaves), tuple(tangents), masks=False)
    found = []
    for y, t in zip(flatten(value)[0], flatten(tangent)[0], strict=True):
        sets = _sets_in(t, store)
        found.append(np.zeros(np.size(y), np.int64) if sets is None else sets.ids.ravel())
    if most is not None and sum(store.counts(ids).sum() for ids in found) > most:
        return None
    members = [store.members(ids) for ids in found]
    ends = np.concatenate([[0], *[counts for counts, _ in members]]).cumsum()
    elements = np.concatenate([np.zeros(0, np.int64), *[elements for _, elements in members]])
    pattern = csr_of_bool(elements, ends, (ends.size - 1, store.size))
    pattern.sort_indices()
    return pattern


def _sets_in(x: Any, store: Store) -> IndexSets | None:
    """The sets of this run in a tangent, which may be inside of Tensors and of duals of transforms further out."""
    while isinstance(x, (Tensor, DualArray)):
        x = x._array if isinstance(x, Tensor) else x.primal
    return x if type(x) is IndexSets and x.store is store else None
