"""SciPy's functions on Arrays under `adopt()`, recorded: what a call costs above its rule, and above SciPy's own."""

# ruff: noqa: PLW0108 - a lambda looks the name up when it is called, as a user's function does

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import fft, integrate, interpolate, linalg, ndimage, signal, special, stats

from benchmarks.case import Case, Goal, Run, Table

ABOVE_THE_RULE = 20e-6
X = np.linspace(0.1, 2.0, 5)
A = np.eye(5) * 4.0 + np.add.outer(X, X)

CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any], np.ndarray]] = {  # name: (adopted, rule, x)
    "erf": (lambda x: special.erf(x), lambda s, x: s.special.erf(x), X),
    "gammainc": (lambda x: special.gammainc(x, 0.5), lambda s, x: s.special.gammainc(x, 0.5), X),
    "logsumexp": (lambda x: special.logsumexp(x), lambda s, x: s.special.logsumexp(x), X),
    "solve": (lambda a: linalg.solve(a, X), lambda s, a: s.linalg.solve(a, X), A),
    "cholesky": (lambda a: linalg.cholesky(a), lambda s, a: s.linalg.cholesky(a), A),
    "expm": (lambda a: linalg.expm(a), lambda s, a: s.linalg.expm(a), A),
    "norm-logpdf": (lambda x: stats.norm.logpdf(x), lambda s, x: s.stats.norm.logpdf(x), X),
    "simpson": (lambda x: integrate.simpson(x), lambda s, x: s.integrate.simpson(x), X),
    "dct": (lambda x: fft.dct(x), lambda s, x: s.fft.dct(x), X),
    "lfilter": (lambda x: signal.lfilter([1.0], [1.0, 0.5], x), lambda s, x: s.signal.lfilter([1.0], [1.0, 0.5], x), X),
    "gaussian": (
        lambda a: ndimage.gaussian_filter(a, 1.0),
        lambda s, a: s.ndimage.gaussian_filter(a, 1.0),
        A,
    ),
    "spline": (
        lambda y: interpolate.CubicSpline(X, y)(0.5),
        lambda s, y: s.interpolate.CubicSpline(X, y)(0.5),
        X,
    ),
}


def recorded(pb: Any, x: np.ndarray) -> Any:
    """An Array as a transform shows it to its function, but a leaf."""
    return pb.core.array_face.as_array(pb.tensor(x, requires_grad=True))


def adopted(pb: Any, *, call: Callable[[Any], Any], x: np.ndarray) -> Run:
    """SciPy's name, in a module that sees it by `adopt()`."""
    pb.adopt()
    return partial(call, recorded(pb, x))


def by_rule(pb: Any, *, call: Callable[[Any, Any], Any], x: np.ndarray) -> Run:
    """The rule, called directly."""
    return partial(call, pb.scipy, recorded(pb, x))


def by_scipy(_: Any, *, call: Callable[[Any], Any], x: np.ndarray) -> Run:
    """SciPy alone, of plain numbers."""
    return partial(call, x)


TABLE = Table(
    name="scipy",
    title="SciPy's functions on Arrays of 5 or 5x5 numbers under adopt(), recorded, beside their rules and SciPy alone",
    rows=[
        [
            Case(
                f"scipy-{name}",
                f"scipy's {name}",
                {
                    "pullback": partial(adopted, call=call, x=x),
                    "operators": partial(by_rule, call=rule, x=x),
                    "numpy": partial(by_scipy, call=call, x=x),
                },
                goals=[Goal(ABOVE_THE_RULE, of="operators", above=True), Goal(None, of="numpy")],
            )
            for name, (call, rule, x) in CALLS.items()
        ]
    ],
)
