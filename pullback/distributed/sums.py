"""Sums over data: `sum_over`, a differentiable operation, and `value_and_grad`, in one pass over the data."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from pullback.core.errors import with_article
from pullback.core.named import named
from pullback.core.pytree import flatten, leaves_like, unflatten
from pullback.distributed import derivatives
from pullback.distributed.partitions import partitions_of
from pullback.distributed.terms import Terms
from pullback.distributed.trees import TreeSum
from pullback.func.boundary import TENSOR_FACES, Argnums
from pullback.func.rules.calls import levels_of, moves
from pullback.func.rules.custom import CustomFunction
from pullback.workers.engines import engine_of
from pullback.workers.spreading import Spreading

_REDUCTIONS = ("sum", "mean")


@named("distributed.sum_over")
def sum_over(
    func: Callable[..., Any],
    partitions: Any,
    workers: Any = None,
    *,
    retries: int = 0,
    seed: int = 0,
    progress: bool | None = None,
) -> Sum:
    """The sum of a function over partitions of data, as one differentiable function of its other arguments.

    Parameters
    ----------
    func : callable
        `func(*args, *data)` of the arguments and the data of one partition, written for NumPy, SciPy or pullback. It
        gives a number, an array or a tree (dict, list, tuple) of these, of the same form for each partition.
    partitions : sequence, or collection of Dask
        One item a partition: an array, a dataframe or anything else that `func` takes; a tuple is several arguments. A
        callable is called by the worker, and what it gives stands in its place: it loads the data. `rows` cuts arrays
        and files. An array, dataframe or bag of Dask, or a tuple of these, is taken block by block.
    workers : int, executor, Client or map, optional
        Who computes; by default this thread. A number is so many processes of pullback's own (-1: one a core), started
        once and ended with the program. Else any executor (`concurrent.futures`, loky, mpi4py.futures), a Client of
        Dask's `distributed`, or a map (`multiprocessing.Pool(4).map`).
    retries : int, default 0
        How often a partition is tried again after an exception, for data that come over a network.
    seed : int, default 0
        With the number of the partition it is the seed of what `func` draws from pullback's random functions and from
        `pullback.default_generator()`, at each of its calls.
    progress : bool, optional
        Whether a bar shows how many partitions are done; `show_progress` says what None means.

    Returns
    -------
    Sum
        A callable. Of ndarrays it gives ndarrays and numbers, of Tensors a Tensor of the graph; it has derivatives of
        every order, in every transform.

    Raises
    ------
    TypeError
        `partitions` is data, and no sequence of partitions; `workers` is nothing that computes.
    ValueError
        There are no partitions, or Dask's collections are not cut alike.
    RuntimeError
        On a call: partitions give results of different forms, `func` uses a variable that is being differentiated and
        is no argument, something cannot be pickled, or processes are lost again and again with the same partition.

    Notes
    -----
    The vjp of F(x) = sum_i f(x, d_i) is the sum of the vjps of f(x, d_i). So the backward is a sum over the same
    partitions by the same workers, and no data are kept for it. Where f gives one real number, its gradient is computed
    with the value, in one pass over the data.

    Terms are added two by two, in a tree whose shape depends on the number of partitions alone: the sum is the same to
    the last bit, whoever computes it, as long as `func` is. Small partitions go together, until a task takes 10 ms.

    Examples
    --------
    >>> import numpy as np
    >>> parts = pb.distributed.rows(np.arange(8.0).reshape(4, 2), size=2)
    >>> total = pb.distributed.sum_over(lambda w, X: np.sum(np.exp(-X @ w)), parts)
    >>> pb.func.grad(lambda w: np.log(total(w)))(np.zeros(2))
    array([-3., -4.])
    """
    return _sum("distributed.sum_over", func, (), partitions, workers, retries, seed, progress)


@named("distributed.value_and_grad")
def value_and_grad(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    reduce: str = "sum",
    workers: Any = None,
    retries: int = 0,
    seed: int = 0,
    progress: bool | None = None,
) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A function that computes a sum over partitions of data and its gradient, both in one pass.

    Parameters
    ----------
    func : callable
        `func(*params, *data)`, as of `sum_over`; it gives a real number.
    argnums : int, str, or tuple of these, default 0
        With respect to which arguments, as of `func.value_and_grad`.
    reduce : {'sum', 'mean'}, default 'sum'
        'mean' divides by the number of partitions.
    workers, retries, seed, progress
        As of `sum_over`.

    Returns
    -------
    callable
        `(params, partitions)` -> (value, gradient). `params` is the tuple of the arguments; anything else is the only
        one. `partitions` are those of `sum_over`.

    Raises
    ------
    ValueError
        `reduce` is neither.
    RuntimeError, TypeError, IndexError
        On a call, as of `sum_over` and `func.value_and_grad`.

    Examples
    --------
    >>> import numpy as np
    >>> squares = pb.distributed.value_and_grad(lambda w, X, y: np.sum((X @ w - y) ** 2))
    >>> X, y = np.arange(10.0).reshape(5, 2), np.ones(5)
    >>> value, gradient = squares(np.array([1.0, 0.0]), pb.distributed.rows(X, y, size=2))
    >>> value.item(), gradient
    (85.0, array([200., 230.]))
    """
    name = "distributed.value_and_grad"
    if reduce not in _REDUCTIONS:
        raise ValueError(f"{name}: reduce must be 'sum' or 'mean', got {reduce!r}.")
    derivation = functools.partial(derivatives.value_and_gradient, argnums)

    def compute(params: Any, partitions: Any) -> tuple[Any, Any]:
        total = _sum(name, func, (derivation,), partitions, workers, retries, seed, progress)
        found = total(*params) if isinstance(params, tuple) else total(params)
        if reduce == "mean":
            leaves, structure = flatten(found)
            found = unflatten(structure, [x / len(total) for x in leaves])
        return found  # type: ignore[no-any-return]

    return compute


def _sum(
    name: str,
    func: Callable[..., Any],
    derivations: Sequence[Any],
    partitions: Any,
    workers: Any,
    retries: int,
    seed: int,
    progress: bool | None,
) -> Sum:
    if not callable(func):
        raise TypeError(f"{name}: takes a function, got {with_article(func)}.")
    for what, number in (("retries", retries), ("seed", seed)):
        if operator.index(number) < 0:
            raise ValueError(f"{name}: {what} must not be negative, got {number}.")
    terms = Terms(func, derivations, operator.index(seed), operator.index(retries))
    return Sum(terms, partitions_of(partitions, name), Spreading(name, engine_of(workers, name), progress))


class Sum:
    """A sum over partitions, as a function of the arguments that are the same for all; `sum_over` makes it."""

    def __init__(self, terms: Terms, partitions: Sequence[Any], spreading: Spreading) -> None:
        self._terms, self._partitions, self._spreading = terms, partitions, spreading

    def __repr__(self) -> str:
        return f"<sum of {_name(self._terms.function)} over {len(self)} partitions>"

    def __len__(self) -> int:
        return len(self._partitions)

    def __call__(self, *args: Any) -> Any:
        """Return the sum for these arguments."""
        tensors = frozenset(i for i, x in enumerate(flatten(args)[0]) if type(x) in TENSOR_FACES)
        terms = self._terms.derived(functools.partial(derivatives.of_tensors, tensors), first=True)
        return self._of(terms if tensors else self._terms, args)

    def _of(self, terms: Terms, args: tuple[Any, ...]) -> Any:
        """The sum of these terms, a step of the caller's graph: its derivatives are sums of derived terms."""
        leaves, structure = flatten(args)
        wanted = tuple([i for i, x in enumerate(leaves) if moves(x)])

        def derived(derivation: Callable[..., Any], *told: Any) -> Terms:
            return terms.derived(functools.partial(derivation, *told))

        def sum_over(*args: Any) -> Any:
            return self._computed(terms, args)

        def forward(*args: Any) -> tuple[Any, Any]:
            value, gradients = self._of(derived(derivatives.with_gradients, wanted), args)
            return value, (gradients, args)

        def backward(residuals: Any, cotangent: Any) -> Any:
            gradients, args = residuals
            if gradients is None:
                return self._of(derived(derivatives.pulled, wanted), (cotangent, *args))
            found, structure = flatten(gradients)
            return unflatten(structure, [cotangent * x for x in found])

        def jvp(tangents: Any, result: Any, *args: Any) -> Any:
            by_leaf = {nr: t for nr, t, _ in leaves_like(tangents, structure)}
            return self._of(derived(derivatives.pushed, wanted), ([by_leaf[i] for i in wanted], *args))

        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            return self._of(derived(derivatives.batched, in_dims, info.randomness), args), 0

        made = CustomFunction(sum_over, jvp=jvp)
        if any(x._requires_grad for i in wanted for x in levels_of(leaves[i])):  # else nothing asks for gradients
            made.defvjp(forward, backward)
        made.defvmap(vmap)
        made._rule.takes_batches = lambda _: True  # the rules are sums again, and have a vmap
        return made(*args)

    def _computed(self, terms: Terms, args: tuple[Any, ...]) -> Any:
        total = TreeSum(len(self._partitions))
        what = f"{self._spreading.name}: the function {_name(terms.function)} with its arguments"
        self._spreading.over(functools.partial(Terms.sum, terms, args), self._partitions, what, total.put)
        return total.total()


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
