"""scipy.sparse.csgraph: lengths of shortest paths, spanning trees and Laplacians as functions of the weights.

The paths and trees are found on plain weights; where they are unique they stay while the weights move a little, and the
lengths are sums of the weights along them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from scipy.sparse import csgraph

from pullback.core.errors import UnsupportedError
from pullback.core.numpy_types import AnyArray, Arrays, DTypeLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.ways import gives_no_gradient
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.sparse.operators import spmap
from pullback.scipy.rules.sparse.pattern import Pattern
from pullback.scipy.rules.sparse.sparse_array import STORED, MatrixLike, Product, Sparse, applied, is_sparse, sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pullback.scipy.rules.sparse.types import Places


def _weights(graph: MatrixLike, name: str) -> tuple[AnyArray, csr_array]:
    """(values of the edges, matrix of their numbers from 1 on): SciPy's entries, or what is neither 0 nor infinite."""
    if is_sparse(graph):
        A = sparse(graph).asformat("csr")
        stored = np.ones(len(A.pattern), bool) if A.zeros == STORED else frozen(A._data, name) != 0
        if A.zeros is None and not stored.all():
            raise UnsupportedError(
                f"scipy.sparse.csgraph.{name}: {np.sum(~stored)} entries of the sparse matrix are 0, and whether SciPy "
                "keeps them, as edges of length 0, is not known. Call A.eliminate_zeros() if they are no edges; else "
                "make the matrix of its entries: csr_array((values, (rows, cols)), shape)."
            )
        numbers = A.with_values(np.cumsum(stored) * stored).tocsr(copy=True)
        numbers.eliminate_zeros()
        return A._data[np.flatnonzero(stored)], numbers
    graph = array(graph)
    plain = frozen(graph, name)
    rows, cols = np.nonzero((plain != 0) & np.isfinite(plain))
    numbers = scipy.sparse.csr_array((np.arange(1, len(rows) + 1), (rows, cols)), shape=plain.shape)
    return graph[rows, cols], numbers


def _paths(name: str) -> None:
    function = getattr(csgraph, name)

    def rule(csgraph: MatrixLike, *args: object, **options: object) -> Arrays:
        wanted = options.pop("return_predecessors", False)
        if options.get("min_only"):
            raise UnsupportedError(f"scipy.sparse.csgraph.{name}: min_only has no rule; take the least of the lengths.")
        if options.get("unweighted"):
            raise UnsupportedError(f"scipy.sparse.csgraph.{name}: unweighted lengths have no gradient.")
        if args:
            raise UnsupportedError(f"scipy.sparse.csgraph.{name}: give the options by name beside a Tensor.")
        values, numbers = _weights(csgraph, name)
        plain = scipy.sparse.csr_array((frozen(values, name), numbers.indices, numbers.indptr), shape=numbers.shape)
        lengths, before, *rest = function(plain, return_predecessors=True, **options)
        found = _sums_along(values, plain, numbers, lengths, before, bool(options.get("directed", True)))
        return (found, before, *rest) if wanted else found

    scipy_rule(f"scipy.sparse.csgraph.{name}")(rule)


def _sums_along(
    values: AnyArray,
    plain: csr_array,
    numbers: csr_array,
    lengths: np.ndarray[Any, Any],
    before: Places,
    directed: bool,
) -> AnyArray:
    """The sums of weights along the paths that the predecessors tell of; what is not reached stays infinite."""
    n = numbers.shape[0]
    tables = np.atleast_2d(before)
    row, at = (x.ravel() for x in np.indices(tables.shape))
    goal = np.arange(tables.size)
    here: Places = at.copy()
    edges, goals = [], []
    edge_of = _edge_finder(plain, numbers, directed)
    while True:
        previous = tables[row, here]
        on = previous >= 0
        if not on.any():
            break
        row, here, previous, goal = row[on], here[on], previous[on], goal[on]
        edges.append(edge_of(previous, here))
        goals.append(goal)
        here = previous
        if len(edges) > n:
            raise UnsupportedError(
                "scipy.sparse.csgraph: the predecessors go in a circle, so the paths have no length."
            )
    on_edge, at_goal = (np.concatenate([np.zeros(0, int), *x]) for x in (edges, goals))
    sums = applied(spmap, values, Pattern(at_goal, on_edge, (tables.size, len(values)))).reshape(np.shape(lengths))
    return sums + np.where(np.isfinite(lengths), 0.0, lengths)


def _edge_finder(plain: csr_array, numbers: csr_array, directed: bool) -> Callable[[Places, Places], Places]:
    def among(matrix: csr_array, i: Places, j: Places) -> Places:
        return np.asarray(matrix[i, j]).ravel()

    def find(i: Places, j: Places) -> Places:
        forward = among(numbers, i, j).astype(int)
        if not directed:
            back = among(numbers, j, i).astype(int)
            cost = [np.where(e > 0, among(plain, *p), np.inf) for e, p in ((forward, (i, j)), (back, (j, i)))]
            forward = np.where(cost[1] < cost[0], back, forward)
        return forward - 1

    return find


for _name in ("bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"):
    _paths(_name)


@scipy_rule("scipy.sparse.csgraph.minimum_spanning_tree")
def minimum_spanning_tree(csgraph: MatrixLike, overwrite: bool = False) -> Sparse:
    """The edges of the tree, as a sparse matrix."""
    values, numbers = _weights(csgraph, "minimum_spanning_tree")
    plain = frozen(values, "minimum_spanning_tree")
    weighed = scipy.sparse.csr_array((plain, numbers.indices, numbers.indptr), numbers.shape)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(weighed).tocoo()
    edges = np.asarray(numbers[tree.row, tree.col]).ravel().astype(int) - 1
    pattern = Pattern(np.arange(len(edges)), edges, (len(edges), len(values)))
    made = Sparse(applied(spmap, values, pattern), Pattern(tree.row, tree.col, numbers.shape), scipy.sparse.coo_array)
    face = sparse(csgraph).is_matrix if is_sparse(csgraph) else False
    made = made.tocsr()
    return Sparse(made._data, made.pattern, scipy.sparse.csr_matrix) if face else made


@scipy_rule("scipy.sparse.csgraph.laplacian")
def laplacian(
    csgraph: MatrixLike,
    normed: bool = False,
    return_diag: bool = False,
    use_out_degree: bool = False,
    *,
    copy: bool = True,
    form: str = "array",
    dtype: DTypeLike = None,
    symmetrized: bool = False,
) -> Product | tuple[Product, AnyArray]:
    """Degrees on the diagonal, minus the weights; divided by roots of the degrees if normed."""
    if form != "array" or dtype is not None:
        raise UnsupportedError('scipy.sparse.csgraph.laplacian: only form="array" and no dtype have a rule.')
    graph: Any = sparse(csgraph).asformat("csr") if is_sparse(csgraph) else array(csgraph)
    if symmetrized:
        graph = graph + (graph.H if is_sparse(graph) else np.conj(graph.T))
    n = graph.shape[0]
    one = np.eye(n)
    if is_sparse(graph):
        rows, cols = graph.row, graph.col
        off = (rows != cols).astype(float)
        graph = Sparse(graph._data * off, graph.pattern, graph.kind)
        degrees = graph.sums(1 if use_out_degree else 0)
    else:
        graph = graph * (1 - one)
        degrees = np.sum(graph, axis=1 if use_out_degree else 0)
    if not normed:
        made = _diagonal(degrees, graph) - graph if is_sparse(graph) else one * degrees - graph
        return (made, degrees) if return_diag else made
    isolated = frozen(degrees, "laplacian") == 0
    roots = np.where(isolated, 1.0, np.sqrt(np.where(isolated, 1.0, degrees)))
    diagonal = 1.0 - isolated
    if is_sparse(graph):
        scaled = Sparse(graph._data / (roots[graph.row] * roots[graph.col]), graph.pattern, graph.kind)
        made = _diagonal(diagonal, graph) - scaled
    else:
        made = one * diagonal - graph / (roots[:, None] * roots)
    return (made, roots) if return_diag else made


def _diagonal(values: AnyArray, like: Sparse) -> Sparse:
    """A diagonal matrix of the same class."""
    each = np.arange(like.shape[0])
    return Sparse(values, Pattern(each, each, like.shape), like.kind)


gives_no_gradient(
    *(f"scipy.sparse.csgraph.{name}" for name in (
        "breadth_first_order", "connected_components", "depth_first_order", "maximum_bipartite_matching",
        "min_weight_full_bipartite_matching", "reverse_cuthill_mckee", "structural_rank",
    ))
)  # fmt: skip
