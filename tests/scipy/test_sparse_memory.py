"""Which sparse matrices share memory, and what writes in place: as SciPy has it, for each class."""

import numpy as np
import pytest
from scipy import sparse

import pullback as pb

CLASSES = [
    f"{form}_{face}" for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil") for face in ("array", "matrix")
]
ROWS, COLS, POINTERS = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 2]), np.array([0, 1, 3, 4])
X = np.array([1.0, -3.0, 2.0, 4.0])

MADE_OF_IT = {
    "itself": lambda A: A,
    "T": lambda A: A.T,
    "transpose": lambda A: A.transpose(copy=True),
    "copy": lambda A: A.copy(),
    "neg": lambda A: -A,
    "abs": abs,
    "conj": lambda A: A.conj(),
    "conjugate": lambda A: A.conjugate(copy=False),
    "real": lambda A: A.real,
    "astype": lambda A: A.astype(float),
    "astype_shared": lambda A: A.astype(float, copy=False),
    "product": lambda A: A * 1.0,
    "multiply": lambda A: A.multiply(1.0),
    "power": lambda A: A.power(1),
    "plus": lambda A: A + 0,
    "tril": lambda A: sparse.tril(A, 2),
    "triu": lambda A: sparse.triu(A, -2, format="csr"),
    "hstack": lambda A: sparse.hstack([A]),
    "vstack": lambda A: sparse.vstack([A, A]),
    "block_array": lambda A: sparse.block_array([[A]]),
    "block_diag": lambda A: sparse.block_diag([A]),
    "kron": lambda A: sparse.kron(np.ones((1, 1)), A),
    "same_shape": lambda A: A.reshape((3, 3)),
    "sin": lambda A: A.sin(),
    "toarray": lambda A: A.toarray(),
    "same_format": lambda A: A.asformat(None),
    "same_format_copied": lambda A: A.asformat(None, copy=True),
    "padded": lambda A: A.tobsr(blocksize=(3, 3)),
    "power_of_matrix": lambda A: sparse.linalg.matrix_power(A, 1),
}
for _form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
    for _copy in ({}, {"copy": True}, {"copy": False}):
        MADE_OF_IT[f"to{_form}{_copy}"] = lambda A, form=_form, copy=_copy: getattr(A, f"to{form}")(**copy)
        MADE_OF_IT[f"as {_form}{_copy}"] = lambda A, form=_form, copy=_copy: A.asformat(form, **copy)
        MADE_OF_IT[f"{_form}_array{_copy}"] = lambda A, form=_form, copy=_copy: getattr(sparse, f"{form}_array")(
            A, **copy
        )
for _name, _key in {
    "all": slice(None), "both": (slice(None), slice(None)), "rows": slice(0, 3), "list": [0, 1, 2], "ellipsis": ...,
}.items():  # fmt: skip
    MADE_OF_IT[f"item {_name}"] = lambda A, key=_key: A[key]

MAKERS = {
    "dense": lambda new, x, **options: new(x.reshape(2, 2), **options),
    "places": lambda new, x, **options: new((x, (ROWS, COLS)), shape=(3, 3), **options),
    "sorted places": lambda new, x, **options: new((x, (np.arange(4), np.arange(4))), shape=(4, 4), **options),
    "places twice": lambda new, x, **options: new((x, ([1, 0, 0, 0], [0, 1, 0, 1])), shape=(2, 2), **options),
    "compressed": lambda new, x, **options: new((x, COLS, POINTERS), shape=(3, 3), **options),
    "unsorted": lambda new, x, **options: new((x, [1, 0, 2, 2], [0, 2, 3, 4]), shape=(3, 3), **options),
    "twice": lambda new, x, **options: new((x, [0, 0, 1, 1], [0, 3, 4]), shape=(2, 2), **options),
    "diagonals": lambda new, x, **options: new((x.reshape(2, 2), [0, 1]), shape=(3, 3), **options),
    "turned diagonals": lambda new, x, **options: new((x.reshape(2, 2).T, [0, 1]), shape=(3, 3), **options),
    "blocks": lambda new, x, **options: new((x.reshape(2, 2, 1), [0, 1], [0, 2]), shape=(2, 2), **options),
    "diags": lambda new, x, **options: sparse.diags_array(x),
    "spdiags": lambda new, x, **options: sparse.spdiags(x.reshape(2, 2), [0, 1], 3, 3),
    "block_diag": lambda new, x, **options: sparse.block_diag([x.reshape(2, 2)]),
}

USES = {
    "toarray": lambda A: A.toarray(),
    "product": lambda A: A @ np.arange(1.0, A.shape[1] + 1),
    "nnz": lambda A: A.nnz,
    "class": lambda A: [A.format in (form, "x") for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")],
    "diagonal": lambda A: A.diagonal(),
    "power": lambda A: A.power(2).toarray(),
    "abs": lambda A: abs(A).toarray(),
    "sin": lambda A: A.sin().toarray(),
    "item": lambda A: A[0, 0],
    "row": lambda A: A[[0]].toarray(),
    "multiply": lambda A: A.multiply(A).toarray(),
    "square": lambda A: (A @ A).toarray(),
    "sum_duplicates": lambda A: (A.sum_duplicates(), A.data * 1)[1],
    "sort_indices": lambda A: (A.sort_indices(), A.data * 1)[1],
    "data of csr": lambda A: A.tocsr().data * 1,
    "data of csc": lambda A: A.tocsc().data * 1,
    "data of coo": lambda A: A.tocoo().data * 1,
    "find": lambda A: np.concatenate([x * 1.0 for x in sparse.find(A)]),
    "nonzero": lambda A: np.concatenate(A.nonzero()),
    "at nonzero": lambda A: (A if A.format == "csc" else A.tocsr())[A.nonzero()],
    "setdiag": lambda A: (A.setdiag(9.0), A.toarray())[1],
    "canonical": lambda A: (A.tocsr().has_canonical_format, A.tocsr().has_sorted_indices),
    "counts": lambda A: A.getnnz(axis=0),
    "divided": lambda A: (A / 3.0).toarray(),
    "counts of formats": lambda A: [A.tolil().nnz, A.todok().nnz, A.todia().nnz, A.tobsr().nnz],
}


@pytest.fixture(scope="module", autouse=True)
def adopting():
    """`adopt()` for all of these tests: it looks through everything in memory each time."""
    with pb.adopt():
        yield


def matrix(kind, x):
    return getattr(sparse, kind)(sparse.coo_array((x * 1.0, (ROWS, COLS)), shape=(3, 3)))


def shown(A):
    return A.toarray() if sparse.issparse(A) else A


def halve(A):
    A *= 0.5


def quarter(A):
    A /= 4.0


def agrees(call):
    """Whether a function that SciPy can compute has the same value of a tensor, and the slope of the differences."""
    try:
        expected = np.asarray(call(X.copy()))
    except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
        return  # nor does SciPy
    value, slope = pb.func.jvp(lambda x: np.asarray(call(x)) * 1.0 + 0 * np.sum(x), (X,), (X[::-1].copy(),))
    assert expected.shape == np.shape(value)
    np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-13)
    after, before = (np.asarray(call(X + h * X[::-1])) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(slope, (after * 1.0 - before) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("write", [halve, quarter])
def test_a_write_into_the_one_is_seen_in_the_other_where_scipy_shares_memory(kind, write):
    for operation in MADE_OF_IT.values():

        def forwards(x, operation=operation):
            A = matrix(kind, x)
            B = operation(A)
            write(A)
            return shown(B)

        def backwards(x, operation=operation):
            A = matrix(kind, x)
            B = operation(A)
            write(B)
            return shown(A)

        agrees(forwards)
        agrees(backwards)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("options", [{}, {"copy": True}, {"dtype": float}, {"dtype": float, "copy": True}])
def test_what_a_matrix_is_made_of_shares_memory_where_scipys_does(kind, options):
    for name, make in MAKERS.items():

        def source_changed(x, make=make):
            y = x * 1
            A = make(getattr(sparse, kind), y, **options)
            y *= 3
            return A.toarray()

        def matrix_changed(x, make=make):
            y = x * 1
            A = make(getattr(sparse, kind), y, **options)
            A *= 3
            return y + A.sum()

        agrees(source_changed)
        if name not in ("twice", "unsorted"):  # which SciPy sorts in the caller's memory when it likes to
            agrees(matrix_changed)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", MAKERS)
def test_matrices_with_entries_in_any_order_and_of_one_place(kind, name):
    for use in USES.values():
        try:
            agrees(lambda x, use=use: use(MAKERS[name](getattr(sparse, kind), x * 1)))
        except pb.extend.UnsupportedError as error:
            if "data has no rule" not in str(error):  # the values of some formats are not kept as SciPy has them
                raise


def test_a_buffer_that_is_used_again():
    def f(x):
        buffer, rows = np.zeros((1, 4)), []
        for k in range(2):
            buffer[0] = x * (k + 1)
            rows.append(sparse.csr_array(buffer))
        return sparse.vstack(rows).sum()

    np.testing.assert_array_equal(pb.func.grad(f)(X), np.full(4, 3.0))


def test_the_places_of_a_matrix_cannot_be_written():
    def f(x):
        A = sparse.csr_array((x, COLS, POINTERS), shape=(3, 3))
        A.indices[0] = 2
        return A.sum()

    with pytest.raises(pb.extend.UnsupportedError, match="read-only"):
        pb.func.grad(f)(X)


@pytest.mark.parametrize("call", [lambda A: A.sum(0), lambda A: A.mean(axis=1), lambda A: A.todense()])
def test_what_is_an_np_matrix_in_scipy_is_refused(call):
    with pytest.raises(pb.extend.UnsupportedError, match=r"np\.matrix, whose"):
        pb.func.grad(lambda x: np.sum(call(sparse.csr_matrix((x, (ROWS, COLS)))) * 1.0))(X)
