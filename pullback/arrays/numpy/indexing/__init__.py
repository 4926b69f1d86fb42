"""Kernels of the area indexing: gathers, scatters, masks, searches, sorting."""

from pullback.arrays.numpy.indexing.masks import (
    masked_fill, masked_fill_, masked_scatter, masked_scatter_, masked_select, masked_select_backward,
)
from pullback.arrays.numpy.indexing.scatter_reductions import (
    index_reduce, index_reduce_, scatter_reduce, scatter_reduce_,
)
from pullback.arrays.numpy.indexing.scattering import (
    gather, gather_backward, index_add, index_add_, index_copy, index_copy_, index_fill, index_fill_, index_select,
    index_select_backward, placed_along, scatter, scatter_, scatter_add, scatter_add_, scatter_value, scatter_with,
)
from pullback.arrays.numpy.indexing.searching import (
    consecutive, isin, nonzero_static, repeat_positions, searchsorted, unique, unravel_index,
)
from pullback.arrays.numpy.indexing.sorting import (
    argsort,
    numpy_argpartition,
    numpy_argsort,
    order_of_partition,
    sort,
    topk,
)
from pullback.arrays.numpy.indexing.subscripts import (
    advanced_index, argwhere, diagonal_scatter, index_accumulate, index_put, index_put_, put, put_, setitem,
    setitem_, slice_backward, slice_view, take, take_backward,
)
