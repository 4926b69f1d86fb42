"""Patterns of products with sparse matrices: an entry that is not stored passes nothing on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.arrays.index_sets import IndexSets, Store
from pullback.arrays.index_sets.kernels import everything, gathered, rule, union_along
from pullback.dispatch.operator import Operator


@rule("scipy_sparse.spmap")
def _spmap(op: Operator, args: Sequence[Any], store: Store) -> Any:
    x, pattern = args
    if x.ndim != 1:
        return everything(op, args, store)
    ids = gathered(store, pattern.shape[:1], [(pattern.rows, x.ids[pattern.cols])])
    return IndexSets(ids, store, x.dtype)


@rule("scipy_sparse.spmm")
def _spmm(op: Operator, args: Sequence[Any], store: Store) -> Any:
    data, x, pattern = args
    if data.ndim != 1:
        return everything(op, args, store)
    shape = (pattern.shape[0], *x.shape[1:])
    places = np.arange(int(np.prod(shape))).reshape(shape)[pattern.rows]
    parts = []
    if type(x) is IndexSets:
        parts.append((places, x.ids[pattern.cols]))
    if type(data) is IndexSets:
        parts.append((places, data.ids.reshape(-1, *[1] * (x.ndim - 1))))
    return IndexSets(gathered(store, shape, parts), store, np.result_type(data.dtype, x.dtype))


@rule("scipy_sparse.sddmm")
def _sddmm(op: Operator, args: Sequence[Any], store: Store) -> Any:
    u, v, pattern, columns = args
    if u.ndim != 1 + bool(columns):
        return everything(op, args, store)
    parts = []
    for x, of_entries in ((u, pattern.rows), (v, pattern.cols)):
        if type(x) is IndexSets:
            ids = union_along(store, x.ids, (1,)).ravel() if columns else x.ids
            parts.append((np.arange(len(of_entries)), ids[of_entries]))
    return IndexSets(gathered(store, (len(pattern.rows),), parts), store, np.result_type(u.dtype, v.dtype))
