"""Functions of Hermitian matrices, V diag(f(w)) V^H, and their first two derivatives by divided differences.

Daleckii and Krein (AMS Translations 47, 1965, 1-30): along E the derivative is V (D * (V^H E V)) V^H with
D_ij = f[w_i, w_j] = (f(w_i) - f(w_j)) / (w_i - w_j), for equal values f'(w_i); the second derivative likewise has
f[w_i, w_k, w_j]. For values so near that a quotient would cancel, divided differences are averages of f' over the
segment, of f'' over the triangle of the values (Hermite and Genocchi), taken by Gauss's rules.
"""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.decompositions.matrices import adjoint, require_matrices
from pullback.arrays.numpy.decompositions.spectra import linalg_eigh
from pullback.core.errors import OperatorError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # on [0, 1]


def hermitian_map(A, function, UPLO="L"):
    """V diag(f(w)) V^H, then w and V. `function.at(x, order)` gives f or a derivative of it, element by element."""
    require_matrices("linalg.matrix_function", square=True, A=A)
    values, vectors = linalg_eigh(A, UPLO)
    return (vectors * function.at(values, 0)[..., None, :]) @ adjoint(vectors), values, vectors


def hermitian_map_slope(A, direction, values, vectors, function):
    """The derivative at A along (the Hermitian part of) a direction."""
    inner = _inside(direction, vectors)
    return vectors @ (_first_differences(values, function) * inner) @ adjoint(vectors)


@loops("columns")
def hermitian_map_curve(A, direction, other, values, vectors, function):
    """The second derivative at A along two directions: a sum over k of f[w_i, w_k, w_j] (E_ik G_kj + G_ik E_kj).

    The sum goes term by term: all at once it would take the memory of n**3 numbers.
    """
    E, G = _inside(direction, vectors), _inside(other, vectors)
    first, inner = _first_differences(values, function), np.zeros_like(E)
    for k in range(values.shape[-1]):
        both = E[..., :, k, None] * G[..., None, k, :] + G[..., :, k, None] * E[..., None, k, :]
        inner += _second_differences(values, k, first, function) * both
    return vectors @ inner @ adjoint(vectors)


def _inside(X, vectors):
    """V^H X V of the Hermitian part of X."""
    if X.shape[-2:] != vectors.shape[-2:]:
        raise OperatorError(f"linalg.matrix_function: a direction of shape {X.shape} for matrices {vectors.shape}")
    return adjoint(vectors) @ ((X + adjoint(X)) / 2) @ vectors


def _first_differences(values, function):
    """f[w_i, w_j] at row i, column j."""
    x, y = np.broadcast_arrays(values[..., :, None], values[..., None, :])
    f = function.at(values, 0)
    fx, fy = np.broadcast_arrays(f[..., :, None], f[..., None, :])
    slopes = function.at(values, 1)
    steepest = np.maximum(np.abs(slopes[..., :, None]), np.abs(slopes[..., None, :]))
    near = _near(np.abs(x - y), steepest, np.maximum(np.abs(fx), np.abs(fy)))
    found = np.divide(fx - fy, x - y, out=np.zeros_like(x), where=~near)
    x, y = x[near], y[near]
    found[near] = sum(
        w * function.at(x + t * (y - x), 1)
        for t, w in zip(_NODES.astype(x.dtype), _WEIGHTS.astype(x.dtype), strict=True)
    )
    return found


def _near(gaps, slopes, sizes):
    """Where a difference of numbers of these sizes, over these gaps, would lose too many digits."""
    with np.errstate(invalid="ignore", over="ignore"):
        return (gaps == 0) | (gaps * slopes <= sizes * np.finfo(gaps.dtype).eps ** 0.2)


def _second_differences(values, k, first, function):
    """f[w_i, w_k, w_j] at row i, column j, by the pair of values that are farthest apart."""
    x, z = np.broadcast_arrays(values[..., :, None], values[..., None, :])
    y = np.broadcast_to(values[..., k, None, None], x.shape)
    xy, yz = np.broadcast_arrays(first[..., :, k, None], first[..., None, k, :])
    pairs = np.stack([x - z, x - y, y - z])
    widest = np.abs(pairs).argmax(0)[None]
    gap = np.take_along_axis(pairs, widest, 0)[0]
    rise = np.take_along_axis(np.stack([xy - yz, first - yz, xy - first]), widest, 0)[0]
    curves = np.abs(function.at(values, 2))
    steepest = np.maximum(np.maximum(curves[..., :, None], curves[..., None, :]), curves[..., k, None, None])
    near = _near(np.abs(gap), steepest, np.maximum(np.maximum(np.abs(xy), np.abs(yz)), np.abs(first)))
    found = np.divide(rise, gap, out=np.zeros_like(x), where=~near)
    x, y, z = x[near], y[near], z[near]
    nodes = list(zip(_NODES.astype(x.dtype), _WEIGHTS.astype(x.dtype), strict=True))
    # A point of the triangle is s x + (1 - s) (t y + (1 - t) z); its area element is (1 - s) ds dt.
    found[near] = sum(
        u * v * (1 - s) * function.at(s * x + (1 - s) * (t * y + (1 - t) * z), 2) for s, u in nodes for t, v in nodes
    )
    return found
