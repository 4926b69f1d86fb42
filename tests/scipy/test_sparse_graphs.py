"""Graphs in sparse matrices of tensors: which entries of value 0 are edges, as SciPy has it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import pullback as pb
from pullback.core.errors import UnsupportedError

WEIGHTS = np.array([[0, 2.0, 9.0, 0], [0, 0, 3.1, 8.0], [0, 0, 0, 1.0], [4.0, 0, 0, 0]])
ROWS, COLS = np.nonzero(WEIGHTS)

WAYS = {
    "dense": lambda W: W,
    "csr": lambda W: sparse.csr_array(W),
    "coo, csc": lambda W: sparse.coo_matrix(W).tocsc(),
    "lil": lambda W: sparse.lil_array(W),
    "scaled, transposed": lambda W: (sparse.csr_array(W).T * 2.0).T.astype(np.float64),
    "sum": lambda W: sparse.csr_array(W) + sparse.csr_array(W),
    "halves": lambda W: sparse.triu(W) + sparse.tril(W, -1),
    "stacked": lambda W: sparse.vstack([sparse.csr_array(W)[:2], sparse.csr_array(W)[2:]]),
    "entries": lambda W: sparse.csr_array((W[ROWS, COLS], (ROWS, COLS))),
    "an edge of length 0": lambda W: sparse.csr_array(
        (np.append(W[ROWS, COLS], W[0, 0]), (np.append(ROWS, 0), np.append(COLS, 3)))
    ),
}

# Functions written out, for adopt() does not reach into a dictionary.
FUNCTIONS = {
    "dijkstra": lambda W: csgraph.dijkstra(W),
    "bellman_ford": lambda W: csgraph.bellman_ford(W),
    "floyd_warshall": lambda W: csgraph.floyd_warshall(W),
    "johnson": lambda W: csgraph.johnson(W),
    "undirected": lambda W: csgraph.shortest_path(W, directed=False),
    "spanning tree": lambda W: csgraph.minimum_spanning_tree(W).toarray(),
    "components": lambda W: csgraph.connected_components(W, connection="strong")[1].astype(float),
}


@pytest.fixture(scope="module", autouse=True)
def adopting():
    """`adopt()` for all of these tests: it looks through everything in memory each time."""
    with pb.adopt():
        yield


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_edges_are_scipys(way, function):
    found = function(way(pb.tensor(WEIGHTS, requires_grad=True)))
    np.testing.assert_allclose(np.asarray(pb.as_tensor(found).detach()), function(way(WEIGHTS)))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_gradients_are_those_of_the_edges(way):
    def total(W):
        lengths = csgraph.dijkstra(way(W))
        return np.sum(np.where(np.isfinite(lengths), lengths, 0.0))

    gradient = pb.func.grad(total)(WEIGHTS)
    for place in zip(ROWS, COLS, strict=True):
        step = np.zeros_like(WEIGHTS)
        step[place] = 1e-5
        np.testing.assert_allclose(
            gradient[place], (total(WEIGHTS + step) - total(WEIGHTS - step)) / 2e-5, rtol=1e-6, atol=1e-6
        )


def test_structure_is_that_of_scipys_entries():
    A = sparse.csr_array(pb.tensor(WEIGHTS, requires_grad=True))
    plain = sparse.csr_array(WEIGHTS)
    assert csgraph.structural_rank(A) == csgraph.structural_rank(plain)
    np.testing.assert_array_equal(csgraph.maximum_bipartite_matching(A), csgraph.maximum_bipartite_matching(plain))
    assert A.nnz == 16
    assert len(A.data) == 16  # asking for SciPy's entries takes nothing away


def test_zeros_of_which_scipys_place_is_not_known_are_refused():
    A = sparse.csr_array(pb.tensor(WEIGHTS, requires_grad=True)) @ sparse.csr_array(np.eye(4))
    with pytest.raises(UnsupportedError, match=r"dijkstra: 10 entries .* are 0.*eliminate_zeros"):
        csgraph.dijkstra(A)
    A.eliminate_zeros()
    np.testing.assert_allclose(np.asarray(csgraph.dijkstra(A).detach()), csgraph.dijkstra(WEIGHTS))
