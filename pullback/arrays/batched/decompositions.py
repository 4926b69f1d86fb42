"""Rules for what belongs to decompositions, where it is not all matrices."""

from __future__ import annotations

from typing import Any

from pullback.arrays.batched.array import Batch, BatchedArray
from pullback.arrays.batched.rules import RULES, laid_out, on_matrices, refuse_as_kernel, rule, with_leading
from pullback.arrays.batched.values import everywhere, rank_of, run, shape_of, shifted

RULES["lu_permutation"] = with_leading("lu_permutation", (0,))
RULES["cdist_rows"] = on_matrices("cdist_rows", (0, 1))
_least_squares = on_matrices("linalg_lstsq_matrices", (0, 1))
# Their arguments are those of one decomposition, so all have the same dimensions in front.
for _name, _count in (
    ("eigenvalue_slope", 5), ("eigenvalue_tangent", 5), ("singular_value_slope", 5), ("singular_value_tangent", 5),
    ("hermitian_map_slope", 4), ("hermitian_map_curve", 5),
):  # fmt: skip
    RULES[_name] = with_leading(_name, tuple(range(_count)))


@rule("linalg_solve_matrices")
def _solve(batch: Batch, a: Any, b: Any, check_errors: bool) -> Any:
    if rank_of(a) < 2 or rank_of(b) < 2:
        refuse_as_kernel("linalg_solve_matrices", batch, (a, b, check_errors))
    rank = max(rank_of(a), rank_of(b))
    found, info = run("linalg_solve_matrices", everywhere(batch, a, rank), everywhere(batch, b, rank), check_errors)
    return found, run("reshape", info, (batch.size, *shape_of(a)[:-2]))  # one for each matrix, not for each solution


@rule("ldl_solve")
def _ldl_solve(batch: Batch, factors: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    rank = max(rank_of(factors), rank_of(b))
    matrices = [everywhere(batch, x, rank) for x in (factors, b)]
    return run("ldl_solve", matrices[0], everywhere(batch, pivots, rank - 1), matrices[1], hermitian)


@rule("renorm")
@laid_out
def _renorm(batch: Batch, x: BatchedArray, p: Any, dim: int, maxnorm: Any) -> Any:
    if x.ndim < 2:
        refuse_as_kernel("renorm", batch, (x, p, dim, maxnorm))
    place = shifted(dim, x.ndim, "renorm")
    values = run("movedim", x.values, place, 1)
    rows = run("reshape", values, (values.shape[0] * values.shape[1], *values.shape[2:]))
    return run("movedim", run("reshape", run("renorm", rows, p, 0, maxnorm), values.shape), 1, place)


@rule("times_inner_points")
def _times_inner_points(batch: Batch, x: BatchedArray, factor: float, dim: int, size: int) -> Any:
    return run("times_inner_points", x.values, factor, shifted(dim, x.ndim, "fft"), size)


@rule("linalg_lstsq_matrices")
def _lstsq(batch: Batch, *args: Any) -> Any:
    # What a driver does not give is an array without elements, whatever the batch.
    return [run("expand", x, (batch.size, 0), False) if x.shape == (0,) else x for x in _least_squares(batch, *args)]
