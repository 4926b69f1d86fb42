"""Derivatives of special functions in their parameters, at points over their regions, with mpmath's values there.

For tests/scipy/test_special.py, and for the second table in docs/special.md. mpmath differentiates by differences with
60 digits, of which 18 remain where the slope is no smaller than 1e-24 times the value.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable

import mpmath as mp
import numpy as np
import scipy.special

import pullback as pb


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A function of SciPy, mpmath's, the argument that is differentiated, and values of each argument, all combined."""

    name: str
    value: Callable
    argument: int
    values: tuple
    region: str  # in words, for the table
    bound: float = 1e-12  # relative error
    digits: int = 60  # of mpmath's arithmetic, of which differences lose those of the value over the slope
    waves: bool = False  # whether there are zeros: errors are then relative to the size of the function too

    def points(self):
        """Every combination of values."""
        return list(itertools.product(*self.values))

    def slopes(self):
        """Our derivative at each point."""
        columns = np.array(self.points(), dtype=float).T
        x = pb.tensor(columns[self.argument], requires_grad=True)
        args = [*columns[: self.argument], x, *columns[self.argument + 1 :]]
        (slope,) = pb.autograd.grad(getattr(scipy.special, self.name)(*args).sum(), x)
        return slope.numpy()

    def worst(self):
        """The largest relative error."""
        return max(map(self.error, self.points(), self.slopes()))

    def error(self, point, found):
        """The relative error at a point."""
        with mp.workdps(self.digits):
            args = [mp.mpf(x) for x in point]
            at = args[self.argument]
            h = mp.mpf(10) ** -18 * max(abs(at), mp.mpf(10) ** -3)

            def value(x):
                return self.value(*args[: self.argument], x, *args[self.argument + 1 :])

            wanted = mp.re(value(at + h) - value(at - h)) / (2 * h)
            size = max(abs(wanted), abs(value(at)) if self.waves else 0)
            if not 1e-290 < abs(wanted) < 1e308:
                return 0.0 if abs(found) < 1e-280 or np.isinf(found) else np.inf
            return float(abs(mp.mpf(float(found)) - wanted) / size)


def _poisson(nc, central):
    half = nc / 2
    return mp.exp(-half) * mp.fsum(half**j / mp.factorial(j) * central(j) for j in range(90))


def _gammainc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def _betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def _stdtr(v, t):
    return _betainc(v / 2, mp.mpf(1) / 2, v / (v + t * t)) / 2  # for t < 0


def _nctdtr(v, d, t):
    def part(s):
        return mp.ncdf(t * s - d) * s ** (v - 1) * mp.exp(-v * s * s / 2)

    scale = 2 * (v / 2) ** (v / 2) / mp.gamma(v / 2)
    return scale * mp.quad(part, [0, 0.25, 0.5, 1, 1.5, 2, 3, 5, 9])


def _jacobi(n, a, b, x):
    return mp.binomial(n + a, n) * mp.hyp2f1(-n, n + a + b + 1, a + 1, (1 - x) / 2)


def _wright_bessel(a, b, x):
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


def _ncf_point(dfn, dfd, f):
    return dfn * f / (dfd + dfn * f)


shapes = (1e-2, 0.3, 1.0, 4.5, 60.0, 2000.0)
orders = (0.5, 1.0, 2.7, 10.3, 40.0, -0.4, -3.3)
lengths = (0.1, 1.0, 9.0, 40.0, 300.0)
_P = Parameter
PARAMETERS = [
    _P("gammainc", _gammainc, 0, ((0.05, 0.3, 2.5), (1e-6, 0.1, 1.0, 5.0, 40.0)), "0.05 <= a <= 2.5, 1e-6 <= x <= 40"),
    _P("gammainc", _gammainc, 0, ((200.0,), (120.0, 190.0, 200.0, 300.0)), "a = 200, 120 <= x <= 300"),
    _P("gammaincc", lambda a, x: 1 - _gammainc(a, x), 0, ((1e4,), (9500.0, 1e4, 10500.0)), "a = 1e4, near the middle"),
    _P("betainc", _betainc, 0, (shapes, (0.5, 3.0, 80.0), (1e-3, 0.2, 0.6)), "0.01 <= a <= 2000, 0.5 <= b <= 80",
       digits=100),
    _P("betainc", _betainc, 1, (shapes, (0.5, 3.0, 80.0), (1e-3, 0.2, 0.6)), "0.01 <= a <= 2000, 0.5 <= b <= 80",
       digits=100),
    _P("stdtr", _stdtr, 0,
       ((1e-10, 5e-5, 0.05, 1.0, 3.3, 24.5, 100.0, 1e6), (-1e-6, -0.3, -1.49, -1.51, -5.0, -1e4, -1e10)),
       "1e-10 <= df <= 1e6, all t"),
    _P("chdtr", lambda v, x: _gammainc(v / 2, x / 2), 0, ((0.5, 3.0, 30.0), (0.1, 3.0, 40.0)), "0.5 <= v <= 30"),
    _P("betaln", lambda a, b: mp.log(mp.beta(a, b)), 0, ((1e-3, 2.0, 1e3, 1e8), (1e-3, 0.5, 1e4)), "1e-3 <= a <= 1e8"),
    _P("poch", mp.rf, 0, ((1e-3, 2.0, 1e3), (1e-3, 0.5, 7.0)), "1e-3 <= z <= 1000"),
    _P("poch", mp.rf, 1, ((1e-3, 2.0, 1e3), (1e-3, 0.5, 7.0)), "1e-3 <= z <= 1000"),
    _P("jv", mp.besselj, 0, (orders, lengths), "-3 <= v <= 40, x <= 300", waves=True),
    _P("yv", mp.bessely, 0, (orders, lengths), "-3 <= v <= 40, x <= 300", waves=True),
    _P("iv", mp.besseli, 0, (orders, lengths), "-3 <= v <= 40, x <= 300"),
    _P("iv", mp.besseli, 0, ((0.0, 1e-6, 1e-3), (1e-8, 0.1, 1.0, 9.0, 40.0)), "v near 0, 1e-8 <= x <= 40", digits=100),
    _P("kv", mp.besselk, 0, (orders, (1e-8, *lengths)), "-3 <= v <= 40, 1e-8 <= x <= 300"),
    _P("ive", lambda v, x: mp.exp(-x) * mp.besseli(v, x), 1, (orders, lengths), "-3 <= v <= 40, x <= 300"),
    _P("kve", lambda v, x: mp.exp(x) * mp.besselk(v, x), 1, (orders, lengths), "-3 <= v <= 40, x <= 300"),
    _P("hyp0f1", mp.hyp0f1, 0, ((0.2, 1.5, 10.0), (-300.0, -20.0, -1.0, 1e-3, 5.0, 300.0)), "v <= 10, -300 <= z <= 300",
       waves=True),
    _P("hyp1f1", mp.hyp1f1, 0, ((-2.4, 0.2, 10.0), (0.3, 12.0), (-500.0, -40.0, -0.1, 4.0, 600.0)),
       "-2.4 <= a <= 10, 0.3 <= b <= 12, -500 <= x <= 600"),
    _P("hyp1f1", mp.hyp1f1, 1, ((-2.4, 0.2, 10.0), (0.3, 12.0), (-500.0, -40.0, -0.1, 4.0, 600.0)), "the same"),
    _P("hyp2f1", mp.hyp2f1, 0, ((-1.4, 3.0), (0.7, 2.2), (1.3, 6.0), (-90.0, -0.4, 0.3, 0.985)), "-99 <= x <= 0.99"),
    _P("hyp2f1", mp.hyp2f1, 2, ((-1.4, 3.0), (0.7, 2.2), (1.3, 6.0), (-90.0, -0.4, 0.3, 0.985)), "-99 <= x <= 0.99"),
    _P("hyperu", mp.hyperu, 0, ((0.2, 1.5, 10.0), (-2.2, 0.3, 12.0), (1e-6, 0.1, 3.0, 1e3)), "a > 0, x <= 1000"),
    _P("hyperu", mp.hyperu, 1, ((0.2, 1.5, 10.0), (-2.2, 0.3, 12.0), (1e-6, 0.1, 3.0, 1e3)), "a > 0, x <= 1000"),
    _P("zeta", mp.zeta, 0, ((1.01, 1.5, 3.0, 20.0), (1e-3, 0.4, 7.0, 1e4)), "1.01 <= x <= 20, 1e-3 <= q <= 1e4"),
    _P("zeta", lambda s: mp.zeta(s), 0, ((-20.5, -3.3, -0.5, 0.5, 0.99, 1.01, 30.0),), "x >= -20, without q"),
    _P("owens_t", lambda h, a: mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mp.pi),
       0, ((0.1, 1.5, 4.0), (0.3, 2.0)), "h <= 4"),
    _P("boxcox", lambda x, m: (x**m - 1) / m, 1, ((1e-3, 0.9, 1.1, 40.0), (-2.0, 1e-9, 0.3, 3.0)), "1e-3 <= x <= 40"),
    _P("inv_boxcox", lambda y, m: (1 + m * y) ** (1 / m), 1, ((0.1, 2.0), (1e-9, 0.3, 3.0)), "0.1 <= y <= 2"),
    _P("ellipk", mp.ellipk, 0, ((-1e6, -1.0, -1e-9, 1e-9, 0.5, 0.999999),), "m < 1"),
    _P("ellipkinc", mp.ellipf, 1, ((0.3, 1.4, 3.0, 20.0), (-4.0, 1e-9, 0.7)), "phi <= 20, -4 <= m <= 0.7"),
    _P("ellipeinc", mp.ellipe, 1, ((0.3, 1.4, 3.0, 20.0), (-4.0, 1e-9, 0.7)), "phi <= 20, -4 <= m <= 0.7"),
    _P("elliprj", mp.elliprj, 3, ((0.0, 0.3), (1e-6, 50.0), (0.2, 1e4), (0.1, 3.0)), "arguments up to 1e4"),
    _P("elliprd", mp.elliprd, 2, ((0.0, 0.3), (1e-6, 50.0), (0.2, 1e4)), "arguments up to 1e4"),
    _P("eval_jacobi", _jacobi, 1, ((1, 4, 9), (-0.4, 1.3), (0.2, 3.0), (-0.9, 0.3)), "n <= 9", waves=True),
    _P("eval_genlaguerre", mp.laguerre, 1, ((1, 4, 9), (-0.4, 1.3), (0.2, 3.0)), "n <= 9", waves=True),
    _P("eval_gegenbauer", mp.gegenbauer, 1, ((1, 4, 9), (0.4, 1.3), (-0.9, 0.3)), "n <= 9", waves=True),
    _P("chndtr", lambda x, v, c: _poisson(c, lambda j: _gammainc(v / 2 + j, x / 2)), 1,
       ((0.5, 4.0, 30.0), (0.6, 5.0), (0.1, 8.0)), "df <= 5, nc <= 8"),
    _P("chndtr", lambda x, v, c: _poisson(c, lambda j: _gammainc(v / 2 + j, x / 2)), 2,
       ((0.5, 4.0, 30.0), (0.6, 5.0), (0.1, 8.0)), "df <= 5, nc <= 8"),
    _P("ncfdtr", lambda m, n, c, f: _poisson(c, lambda j: _betainc(m / 2 + j, n / 2, _ncf_point(m, n, f))), 0,
       ((0.6, 5.0), (4.0,), (0.1, 8.0), (0.3, 3.0)), "dfn <= 5, dfd = 4, nc <= 8", 1e-11),
    _P("ncfdtr", lambda m, n, c, f: _poisson(c, lambda j: _betainc(m / 2 + j, n / 2, _ncf_point(m, n, f))), 1,
       ((0.6, 5.0), (4.0,), (0.1, 8.0), (0.3, 3.0)), "dfn <= 5, dfd = 4, nc <= 8", 1e-11),
    _P("nctdtr", _nctdtr, 0, ((2.0, 9.0), (-1.0,), (-0.5, 3.0)), "2 <= df <= 9, -1 <= nc <= 2", 1e-10),
    _P("nctdtr", _nctdtr, 1, ((2.0, 9.0), (-1.0,), (-0.5, 3.0)), "2 <= df <= 9, -1 <= nc <= 2", 1e-10),
    _P("wright_bessel", _wright_bessel, 0, ((0.3, 1.5), (0.4, 2.0), (0.1, 6.0)), "a <= 1.5, b <= 2, x <= 6"),
]  # fmt: skip


@functools.cache
def labels():
    """The call of each row, with the argument that is differentiated."""
    return [f"{row.name}, argument {row.argument + 1}" for row in PARAMETERS]
