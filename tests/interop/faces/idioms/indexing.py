"""Reading by index: numbers, slices, masks, arrays of whole numbers, and all of them mixed."""

import numpy as np

EXPRESSIONS = """
x[0]
x[-1]
x[np.int64(2)]
x[i]
x[True]
x[False]
x[None]
x[...]
x[()]
x[:]
x[1:4]
x[-3:]
x[:-1]
x[::2]
x[::-1]
x[4:1:-2]
x[10:]
x[2:2]
x[slice(1, 5, 2)]
x[np.s_[1:3]]
x[np.newaxis, :]
x[:, None]
x[[0, 2]]
x[[]]
x[[-1, -1, 0]]
x[(0,)]
x[np.array([4, 1, 1])]
x[np.array([[0, 1], [2, 3]])]
x[np.array(2)]
x[np.array([], dtype=int)]
x[k]
x[k[0]]
x[k[:2]]
x[k > 1] if False else x[:4][k > 1]
x[b]
x[~b]
x[x > 1]
x[(x > 0.5) & (x < 3)]
x[np.where(x > 1)]
x[np.nonzero(x > 1)[0]]
x[np.flatnonzero(x > 1)]
x[x.argsort()]
x[np.argsort(-x)]
x[np.argmax(x)]
x[x.argmin()]
x[list(range(3))]
x[range(3)]
x[[True, False, True, False, True, False]]
x[np.r_[0:2, 4]]
x[-k]
x[len(x) // 2]
x[x.size // 2]
x[int(1.9)]
x[b][0]
x[1:][b[1:]]
x[::-1][::2]
x[b.nonzero()]
x[b.argmax()]
v[1]
v[1:3]
v[::-1]
v[[0, 3]]
v[v > 1]
A[0]
A[-1]
A[1, 2]
A[1][2]
A[:, 1]
A[:, -1]
A[0, :]
A[0, ...]
A[..., 0]
A[...]
A[1:, 2:]
A[::2, ::-1]
A[:, None]
A[:, None, :]
A[None, :, :, None]
A[..., None]
A[0, None]
A[1, 1:3]
A[1:2, 1]
A[[0, 2]]
A[[0, 2], :]
A[:, [0, 2]]
A[[0, 2], [1, 3]]
A[[0, 2], 1]
A[1, [0, 2]]
A[np.ix_([0, 2], [1, 3])]
A[np.ix_([0, 2], [True, False, True, False])]
A[[[0], [2]], [1, 3]]
A[np.arange(3), np.arange(3)]
A[np.arange(3), [0, 3, 1]]
A[A > 0]
A[A > 0].sum()
A[A[:, 0] > 0]
A[A[:, 0] > 0, 1]
A[:, A[0] > 0]
A[p > 0]
A[:, q > 0]
A[A[:, 0].argsort()]
A[np.triu_indices(3)]
A[np.tril_indices(3, -1)]
A[np.diag_indices(3)]
A[np.unravel_index(5, A.shape)]
A[np.unravel_index(np.argmax(A), A.shape)]
A[tuple(np.argwhere(A > 2)[0])]
A[np.argmax(A, axis=0), range(4)]
A[1, k]
A[:, k]
A[:, k[::-1]]
A[-1:, ::2]
A[0:0]
A[:, [0, 2]].ravel()
A[:, [0, 2]].T.reshape(-1)
np.exp(A[:, [0, 2]]).ravel()
A[[0, 2]].T.ravel()
T[:, [0, 2], 1].ravel()
A[A[:, 0] > 0].T.ravel()
A[True]
A[..., [1]]
A[1, ...][0]
A[:][1][::2]
A[[1]][0]
A[(1, 2)]
A[tuple([1, 2])]
A.T[0]
A.T[1:, 0]
F[0]
F[:, 1]
F[F > 0]
F[[2, 0]]
F[:, ::-1]
T[0]
T[0, 1]
T[0, 1, 2]
T[..., 1]
T[:, 1]
T[:, 1, None]
T[0, ..., 1]
T[1, :, 2]
T[:, [0, 2], 1]
T[:, [0, 2], [1, 3]]
T[[0, 1], :, [1, 3]]
T[[0, 1], 1:, [1, 3]]
T[0, [0, 2], :]
T[[0, 1], [0, 2]]
T[..., None, 0]
T[T > 1]
T[:, T[0, :, 0] > 0]
T[1, T[0, :, 0] > 0, 2:]
T[:, np.array([[0, 1], [1, 2]]), 1]
T[None, ..., [0, 1]]
T[::-1, :, ::2]
T[np.newaxis].shape
T[0][1][2]
e[:]
e[e > 0]
e[[]]
E[:, 0]
E[None]
o[()]
o[...]
o[None]
o[..., None]
o[o > 1]
o[True]
s[()]
s[...]
s[None]
s[..., None]
s[True]
s[False]
s[s > 0]
s[s < 0]
x.sum()[x.sum() > 1]
z[1]
z[1:].real
z[::-1].imag
z[abs(z) > 1]
h[0]
h[1:]
h[h > 1]
b[0]
b[::2]
b[b]
k[0]
k[k]
k[::-1]
K[1]
K[K > 2]
K[:, 0]
x.take([0, 2])
x.take(1)
x.item(3)
A.item(1, 2)
A.item((1, 2))
A.item(5)
A.take([0, 5])
A.take([0, 2], axis=1)
A.take([[0, 1], [1, 2]], axis=0)
A.take(k, axis=1)
x.take([7, -1], mode="wrap")
x.take([7, -1], mode="clip")
np.take(x, [1, 2])
np.take(A, 1, axis=1)
np.take_along_axis(A, np.argsort(A, axis=1), axis=1)
np.take_along_axis(A, A.argmax(axis=1)[:, None], 1)
np.choose([0, 1, 0, 1, 0, 1], [x, y])
np.compress([True, False, True], A, axis=0)
np.extract(x > 1, x)
np.select([x > 2, x > 1], [x, -x], default=0)
np.select([x > 2, x > 1], [x, y])
np.where(x > 1, x, 0)
np.where(x > 1, x, y)
np.where(b, x, -x)
np.where(A > 0)[0]
np.argwhere(A > 0)
np.diagonal(A)
np.diag(A)
np.diag(x)
np.diag(x, k=1)
np.diag(C, -1)
A.diagonal()
A.diagonal(offset=1)
T.diagonal(axis1=1, axis2=2)
A.flat[3]
A.flat[1:4]
A.flat[[0, 5]]
A.flat[A.ravel() > 0]
list(A.flat)[:3]
len(A.flat)
A.flat.copy()
x[np.searchsorted(np.sort(x), 1.0)]
x[np.digitize(1.0, np.sort(x))]
x[np.random.default_rng(0).integers(0, 6, 3)]
x[np.random.default_rng(0).permutation(6)]
np.lib.stride_tricks.sliding_window_view(x, 3)
np.lib.stride_tricks.sliding_window_view(x, 3)[::2].mean(axis=1)
np.lib.stride_tricks.as_strided(x, (4, 3), (8, 8))
"""


def neighbours(x):
    return x[2:] - 2 * x[1:-1] + x[:-2]


def periodic_neighbours(x):
    n = len(x)
    return np.array([x[(j + 1) % n] - x[j - 1] for j in range(n)], like=x)


def first_and_rest(x):
    first, *rest = x
    return first, rest


def unpacked(p):
    u, v, w = p
    return u * v - w


def rows_unpacked(A):
    first, second, third = A
    return first * second + third


def nested_unpacking(C):
    (u, v, _), _, (w, _, _) = C
    return u + 2 * v + 3 * w


def columns_unpacked(A):
    u, v, w, _ = A.T
    return u * v + w


def view_of_a_view(A):
    inner = A[1:]
    row = inner[0]
    return row[1:3]


def index_from_a_comparison(x):
    first = np.argmax(x > 2)
    return x[first] + x[first + 1]


def even_and_odd(x):
    return x[::2] * x[1::2]


def picked_by_labels(A):
    labels = np.array([3, 0, 1])
    return -np.log(np.abs(A[np.arange(len(labels)), labels])).mean()


def upper_triangle_into_a_vector(C):
    i, j = np.triu_indices_from(C, k=1)
    return C[i, j]


def mask_of_a_row(A):
    keep = A[1] > 0
    return A[:, keep].sum(axis=0)


def negative_steps(A):
    return A[::-1, ::-1].T[1]
