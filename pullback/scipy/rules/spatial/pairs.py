"""Distances between all pairs of points, which SciPy computes in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from pullback.core.array_type import numbers_of
from pullback.core.errors import GradientError
from pullback.core.numpy_types import AnyArray, ArrayLike, Out
from pullback.core.tensor import Tensor
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.operands import array, astype, floating, frozen, ops

_HOME = "scipy.spatial.distance."
_STEPS = frozenset({
    "dice", "hamming", "jaccard", "matching", "rogerstanimoto", "russellrao", "sokalsneath", "yule",
})  # fmt: skip


def _power(s: AnyArray, exponent: float) -> AnyArray:
    """s ** exponent for s >= 0, with the slope 0 at 0: that of the distance between equal points."""
    away = s > 0
    return np.where(away, np.where(away, s, 1.0) ** exponent, 0.0)


def _weighed(x: AnyArray, w: AnyArray | None) -> AnyArray:
    return x if w is None else x * w


def _minkowski(u: AnyArray, v: AnyArray, p: float = 2, w: AnyArray | None = None) -> AnyArray:
    distance = np.abs(u - v)
    if p == np.inf:
        return _chebyshev(u, v, w)
    return _power(np.sum(_weighed(distance**p, w), -1), 1 / p)


def _chebyshev(u: AnyArray, v: AnyArray, w: AnyArray | None = None) -> AnyArray:
    return np.max(_weighed(np.abs(u - v), None if w is None else (np.asarray(frozen(w, "max")) > 0) * 1.0), -1)


def _canberra(u: AnyArray, v: AnyArray, w: AnyArray | None = None) -> AnyArray:
    size = np.abs(u) + np.abs(v)
    return np.sum(_weighed(np.where(size > 0, np.abs(u - v) / np.where(size > 0, size, 1.0), 0.0), w), -1)


def _braycurtis(u: AnyArray, v: AnyArray, w: AnyArray | None = None) -> AnyArray:
    return np.sum(_weighed(np.abs(u - v), w), -1) / np.sum(_weighed(np.abs(u + v), w), -1)


def _cosine(u: AnyArray, v: AnyArray, w: AnyArray | None = None) -> AnyArray:
    product, sizes = np.sum(_weighed(u * v, w), -1), np.sum(_weighed(u * u, w), -1) * np.sum(_weighed(v * v, w), -1)
    return 1 - product / np.sqrt(sizes)


def _correlation(u: AnyArray, v: AnyArray, w: AnyArray | None = None) -> AnyArray:
    total = u.shape[-1] if w is None else np.sum(w)
    u, v = (x - np.sum(_weighed(x, w), -1, keepdims=True) / total for x in (u, v))
    return _cosine(u, v, w)


def _jensenshannon(u: AnyArray, v: AnyArray, base: float | None = None) -> AnyArray:
    u, v = (x / np.sum(x, -1, keepdims=True) for x in (u, v))
    mean = (u + v) / 2
    divergence = np.sum(special.rel_entr(u, mean) + special.rel_entr(v, mean), -1) / 2
    return _power(divergence if base is None else divergence / np.log(base), 0.5)


def _mahalanobis(u: AnyArray, v: AnyArray, VI: AnyArray) -> AnyArray:
    distance = u - v
    return _power(np.sum((distance @ VI) * distance, -1), 0.5)


_METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda u, v, w=None: np.sum(_weighed(np.abs(u - v), w), -1),
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _minkowski,
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": lambda u, v, V: _power(np.sum((u - v) ** 2 / V, -1), 0.5),
    "sqeuclidean": lambda u, v, w=None: np.sum(_weighed((u - v) ** 2, w), -1),
}


@scipy_rule(_HOME + "cdist")
def cdist(XA: ArrayLike, XB: ArrayLike, metric: str = "euclidean", *, out: Out = None, **kwargs: object) -> AnyArray:
    """The distance of each row of XA from each of XB."""
    XA, XB = floating(array(XA)), floating(array(XB))
    _check("cdist", (XA, XB), out)
    if XA.shape[-1] != XB.shape[-1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension).")
    if callable(metric):
        found = [ops.stack([array(metric(XA[i], b, **kwargs)) for b in XB]) for i in range(XA.shape[0])]
        return ops.stack(found)
    XA, XB = astype(XA, np.float64), astype(XB, np.float64)  # as SciPy computes
    by, given = _metric("cdist", metric, (XA, XB), kwargs)
    return by(XA[:, None, :], XB[None, :, :], **given)


@scipy_rule(_HOME + "pdist")
def pdist(X: ArrayLike, metric: str = "euclidean", *, out: Out = None, **kwargs: object) -> AnyArray:
    """The distances between rows of X: i and j > i, in that order."""
    X = floating(array(X))
    _check("pdist", (X,), out)
    i, j = np.triu_indices(X.shape[0], 1)
    if callable(metric):
        return ops.stack([array(metric(X[a], X[b], **kwargs)) for a, b in zip(i, j, strict=True)])
    X = astype(X, np.float64)
    by, given = _metric("pdist", metric, (X,), kwargs)
    return by(X[i], X[j], **given)


def _check(name: str, points: tuple[AnyArray, ...], out: Out) -> None:
    if out is not None:
        raise GradientError(f"{_HOME}{name}: out has no derivative; leave it out.")
    for x in points:
        if x.ndim != 2:
            raise ValueError("A 2-dimensional array must be passed.")
        if x.dtype.kind == "c":
            raise GradientError(f"{_HOME}{name}: the points must be real, got dtype {x.dtype}.")


def _metric(
    name: str, metric: str, points: tuple[AnyArray, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The distance of this name, and its parameters."""
    short = _NAMES.get(str(metric).lower())
    if short is None:
        plain = [np.asarray(frozen(x, name)) for x in points]
        genuine(_HOME + name)(*plain, metric, **kwargs)  # which says what is wrong
        raise GradientError(
            f"{_HOME}{name}: {metric!r} counts where points differ, which has no derivative; detach the points."
        )
    given = {key: x if key == "p" or x is None else floating(array(x)) for key, x in kwargs.items()}
    if short == "seuclidean" and given.get("V") is None:
        given["V"] = np.var(np.concatenate(points), axis=0, ddof=1)
    if short == "mahalanobis" and given.get("VI") is None:
        given["VI"] = np.linalg.inv(np.cov(np.concatenate(points).T)).T
    if given.get("w", 0) is None:
        del given["w"]
    return _METRICS[short], given


_ALIASES = {
    "canberra": (), "braycurtis": (), "chebyshev": ("chebychev", "cheby", "cheb", "ch"),
    "cityblock": ("cblock", "cb", "c"), "correlation": ("co",), "cosine": ("cos",),
    "euclidean": ("euclid", "eu", "e"), "jensenshannon": ("js",), "mahalanobis": ("mahal", "mah"),
    "minkowski": ("mi", "m", "pnorm"), "seuclidean": ("se", "s"), "sqeuclidean": ("sqe", "sqeuclid"),
}  # fmt: skip
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}


@scipy_rule("scipy.spatial.distance_matrix")
def distance_matrix(x: ArrayLike, y: ArrayLike, p: float = 2.0, threshold: int = 1000000) -> AnyArray:
    """The Minkowski distance of each row of x from each of y."""
    x, y = floating(array(x)), floating(array(y))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"x contains {x.shape[-1]}-dimensional vectors but y contains {y.shape[-1]}-dimensional ones")
    return _minkowski(x[:, None, :], y[None, :, :], p)


@scipy_rule(_HOME + "squareform")
def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> AnyArray:
    """A vector of distances as a symmetric matrix, or the other way."""
    X = array(X)
    known = not isinstance(X, Tensor) or numbers_of(X) is not None  # inside of vmap they are not
    plain = frozen(X, "squareform") if known else np.zeros(X.shape)
    wanted = genuine(_HOME + "squareform")(plain, force, checks).ndim
    if X.ndim == wanted:
        return X
    if wanted == 1:
        return X[np.triu_indices(X.shape[0], 1)]
    count = round((1 + np.sqrt(1 + 8 * X.shape[0])) / 2)
    place, upper = np.zeros((count, count), int), np.triu_indices(count, 1)
    place[upper] = np.arange(X.shape[0])
    return np.where(np.eye(count, dtype=bool), X.dtype.type(0), X[place + place.T])


@scipy_rule(_HOME + "directed_hausdorff")
def directed_hausdorff(
    u: ArrayLike,
    v: ArrayLike,
    rng: int | np.random.Generator | None = None,
    *,
    seed: int | np.random.Generator | None = None,
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(the largest distance from u to the nearest of v, and between which)."""
    u, v = floating(array(u)), floating(array(v))
    plain = (np.asarray(frozen(x, "directed_hausdorff"), float) for x in (u, v))
    _, i, j = genuine(_HOME + "directed_hausdorff")(*plain, **({"rng": rng} if seed is None else {"seed": seed}))
    return _minkowski(u[i], v[j]), i, j
