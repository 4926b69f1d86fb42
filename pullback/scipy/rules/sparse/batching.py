"""How the operators run inside of vmap: many right-hand sides of one matrix are columns, many matrices a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.arrays.batched.array import Batch
from pullback.arrays.batched.rules import rule, with_leading
from pullback.arrays.batched.values import is_batched, run, shape_of
from pullback.core.numpy_types import AnyArray


def _on_columns(name: str) -> Callable[..., Any]:
    of_all = with_leading(name, (0, 1))

    def on_columns(batch: Batch, data: AnyArray, x: Any, *more: object) -> AnyArray:
        if is_batched(batch, data) or not is_batched(batch, x):
            return of_all(batch, data, x, *more)
        shape = shape_of(x)  # of one element: (n,) or (n, k)
        size, k = batch.size, (shape[1] if len(shape) == 2 else 1)
        values = run("reshape", x.values, (size, shape[0], k))
        columns = run("reshape", run("permute", values, (1, 0, 2)), (shape[0], size * k))
        found = run(name, data, columns, *more)
        rows = shape_of(found)[0]
        found = run("permute", run("reshape", found, (rows, size, k)), (1, 0, 2))
        return run("reshape", found, (size, rows, *shape[1:]))

    return on_columns


for _name in ("spmm", "spsolve"):
    rule(f"scipy_sparse.{_name}")(_on_columns(f"scipy_sparse.{_name}"))
rule("scipy_sparse.spmap")(with_leading("scipy_sparse.spmap", (0,)))
rule("scipy_sparse.sddmm")(with_leading("scipy_sparse.sddmm", (0, 1)))
