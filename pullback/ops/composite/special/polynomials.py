"""Special functions made of others."""

import math

import numpy as np

from pullback.ops.composite.casts import floating


def mvlgamma(self, p, *, ops):
    """log of the multivariate gamma function: p (p - 1) / 4 log(pi) + the sum of lgamma(self - j / 2) over j < p."""
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, but it is {p}")
    x = floating(self, ops)
    terms = ops.lgamma(ops.unsqueeze(x, -1) - ops.arange(0, 0.5 * p, 0.5, dtype=x.dtype))
    return ops.sum(terms, -1) + p * (p - 1) / 4 * math.log(math.pi)


def special_chebyshev_polynomial_v(x, n, *, ops):
    """V_n = U_n - U_{n-1}."""
    n = _whole(n, ops)
    return ops.special_chebyshev_polynomial_u(x, n) - ops.special_chebyshev_polynomial_u(x, n - 1)


def special_chebyshev_polynomial_w(x, n, *, ops):
    """W_n = U_n + U_{n-1}."""
    n = _whole(n, ops)
    return ops.special_chebyshev_polynomial_u(x, n) + ops.special_chebyshev_polynomial_u(x, n - 1)


def special_shifted_chebyshev_polynomial_t(x, n, *, ops):
    """T_n(2 x - 1)."""
    return ops.special_chebyshev_polynomial_t(2 * x - 1, n)


def special_shifted_chebyshev_polynomial_u(x, n, *, ops):
    """U_n(2 x - 1)."""
    return ops.special_chebyshev_polynomial_u(2 * x - 1, n)


def special_shifted_chebyshev_polynomial_v(x, n, *, ops):
    """V_n(2 x - 1)."""
    return special_chebyshev_polynomial_v(2 * x - 1, n, ops=ops)


def special_shifted_chebyshev_polynomial_w(x, n, *, ops):
    """W_n(2 x - 1)."""
    return special_chebyshev_polynomial_w(2 * x - 1, n, ops=ops)


def _whole(n, ops):
    """n without its fraction; signed, so that 0 - 1 is negative."""
    if issubclass(type(n), (int, float)):
        return math.trunc(n) if math.isfinite(n) else n
    return ops.to(n, np.dtype(np.int64)) if n.dtype.kind == "u" else ops.trunc(n)
