"""Special functions over regions, with mpmath's values there: for tests, and for the table in docs/special.md."""

import dataclasses
from collections.abc import Callable

import mpmath
import numpy as np

import pullback as pb
from pullback import special

mpmath.mp.dps = 60


@dataclasses.dataclass(frozen=True)
class Region:
    """A function over an interval: its name, mpmath's, the slope if mpmath cannot differentiate quickly, the limits."""

    name: str
    low: float
    high: float
    value: Callable
    slope: Callable
    args: tuple = ()  # before the argument that moves
    after: tuple = ()  # behind it
    waves: bool = False  # whether there are zeros: errors are then relative to the largest of neighbouring points
    bound: float = 32.0  # units in the last place, of value and derivative

    @property
    def label(self):
        """The call."""
        given = [*map(str, self.args), "x", *map(str, self.after)]
        return f"{self.name}({', '.join(given)})"

    def points(self, count=24):
        """Points over the interval: spread by logarithm where it has a sign and is wide."""
        a, b = sorted((abs(self.low), abs(self.high)))
        if self.low * self.high > 0 and b > 20 * a:
            spread = np.geomspace(a, b, count)
            return np.sort(spread if self.low > 0 else -spread)
        return np.linspace(self.low, self.high, count)


def worst(region):
    """The largest relative error of value and derivative over the region's points."""
    points = region.points()
    x = pb.tensor(points, requires_grad=True)
    y = getattr(special, region.name, None) or getattr(pb, region.name)
    y = y(*map(_tensor, region.args), x, *region.after)
    y.sum().backward()
    found = (y.detach().numpy(), x.grad.numpy())
    return tuple(
        _error(f, [wanted(mpmath.mpf(float(p))) for p in points], region.waves)
        for f, wanted in zip(found, (region.value, region.slope), strict=True)
    )


def _tensor(argument):
    return pb.tensor(argument) if isinstance(argument, float) else argument


def _error(found, wanted, waves):
    size = [abs(w) for w in wanted]
    if waves:
        size = [max(size[max(i - 3, 0) : i + 4]) for i in range(len(size))]
    errors = [
        abs(mpmath.mpf(float(f)) - w) / s if np.isfinite(f) else mpmath.inf
        for f, w, s in zip(found, wanted, size, strict=True)
    ]
    return float(max(errors))


def _d(function):
    """The derivative by mpmath's own differences, at 60 digits."""
    return lambda x: mpmath.diff(function, x)


def _scaled(function, sign):
    return lambda x: function(x) * mpmath.exp(sign * abs(x))


def _w(x):
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _erfcx_slope(x):
    return 2 * x * _w(x) - 2 / mpmath.sqrt(mpmath.pi)


def _density(a):
    return lambda x: x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a)


def _lower(a):
    return lambda x: _density(a)(x) * x / a * mpmath.hyp1f1(1, a + 1, x, maxterms=10**6)


def _upper(a):
    return lambda x: mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def _gammaincinv(y):
    start = mpmath.mpf(special.gammaincinv(2.5, pb.tensor(float(y))).item())
    return mpmath.findroot(lambda x: _lower(2.5)(x) / y - 1, start)


def _gammainccinv(y):
    start = mpmath.mpf(special.gammainccinv(2.5, pb.tensor(float(y))).item())
    return mpmath.findroot(lambda x: mpmath.log(_upper(2.5)(x) / y), start)


def _betaincinv(y):
    start = mpmath.log(special.betaincinv(2.5, 1.5, pb.tensor(float(y))).item())
    return mpmath.exp(mpmath.findroot(lambda log: mpmath.log(_betainc(2.5, 1.5)(mpmath.exp(log)) / y), start))


def _erfcinv(y):
    start = mpmath.mpf(special.erfcinv(pb.tensor(float(y))).item())
    return mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x) / y), start)


def _beta_density(a, b):
    return lambda x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b)


def _betainc(a, b):
    return lambda x: mpmath.betainc(a, b, 0, x, regularized=True)


def _normal(x):
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)


def _ndtr(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_ndtr(x):
    return mpmath.log(_ndtr(x)) if x < 0 else mpmath.log1p(-_ndtr(-x))


def _ndtri(p):
    start = mpmath.mpf(float(special.ndtri(pb.tensor(float(p))).item()))
    return mpmath.findroot(lambda x: mpmath.log(_ndtr(x)) - mpmath.log(p), start)


def _sinc_slope(x):
    return (x * mpmath.cos(x) - mpmath.sin(x)) / x**2 if abs(x) > 1e-15 else -x / 3


def regions(name, value, slope, *intervals, **how):
    """The function over several intervals."""
    return [Region(name, low, high, value, slope or _d(value), **how) for low, high in intervals]


def _bessel(name, kind, order, *intervals, **how):
    def value(x):
        return kind(order, x)

    def slope(x):
        if kind is mpmath.besseli:
            return (kind(order - 1, x) + kind(order + 1, x)) / 2
        if kind is mpmath.besselk:
            return -(kind(order - 1, x) + kind(order + 1, x)) / 2
        return (kind(order - 1, x) - kind(order + 1, x)) / 2

    return regions(name, value, slope, *intervals, **how)


def _exp_bessel(name, kind, order, sign, *intervals, **how):
    def value(x):
        return kind(order, x) * mpmath.exp(sign * x)

    def slope(x):
        turn = -1 if kind is mpmath.besselk else 1
        return (turn * (kind(order - 1, x) + kind(order + 1, x)) / 2 + sign * kind(order, x)) * mpmath.exp(sign * x)

    return regions(name, value, slope, *intervals, **how)


def _polynomial(name, value, n, slope=None):
    return regions(name, lambda x: value(n, x), slope, (-1, 1), waves=True, after=(n,), bound=64.0)


psi = mpmath.polygamma
REGIONS = [
    *regions("lgamma", mpmath.loggamma, mpmath.digamma, (1e-300, 0.4), (3, 1e12), bound=16.0),
    *regions("lgamma", mpmath.loggamma, mpmath.digamma, (0.5, 3), waves=True),
    *regions("digamma", mpmath.digamma, lambda x: psi(1, x), (1e-100, 0.4), (2, 1e12)),
    *regions("digamma", mpmath.digamma, lambda x: psi(1, x), (-5.9, -5.1), waves=True),
    *regions("polygamma", lambda x: psi(1, x), lambda x: psi(2, x), (1e-100, 0.4), (0.5, 20), (20, 1e8), args=(1,)),
    *regions("polygamma", lambda x: psi(1, x), lambda x: psi(2, x), (-5.9, -0.1), waves=True, args=(1,)),
    *regions("polygamma", lambda x: psi(3, x), lambda x: psi(4, x), (1e-50, 0.4), (0.5, 1e8), args=(3,)),
    *regions("igamma", _lower(0.5), _density(0.5), (1e-10, 1), (1, 30), args=(0.5,)),
    *regions("igammac", _upper(0.5), lambda x: -_density(0.5)(x), (0.1, 30), (30, 600), args=(0.5,), bound=500.0),
    *regions("igamma", _lower(25), _density(25), (1e-10, 20), (20, 60), args=(25.0,), bound=500.0),
    *regions("igamma", _lower(10**6), _density(10**6), (996000, 1010000), args=(1e6,), bound=500.0),
    *regions("igamma", _lower(10**6), _density(10**6), (990000, 995000), args=(1e6,),
             bound=1e12),  # SciPy sums at most 2000 terms
    *regions("gammaincinv", _gammaincinv, lambda y: 1 / _density(2.5)(_gammaincinv(y)), (1e-10, 0.1), (0.1, 0.99),
             args=(2.5,), bound=64.0),
    *regions("betainc", _betainc(2.5, 1.5), _beta_density(2.5, 1.5), (1e-100, 0.1), (0.1, 0.99), args=(2.5, 1.5)),
    *regions("betainc", _betainc(2000, 3000), _beta_density(2000, 3000), (0.35, 0.45), args=(2000.0, 3000.0),
             bound=900.0),
    *regions("gammainccinv", _gammainccinv, lambda y: -1 / _density(2.5)(_gammainccinv(y)), (1e-300, 0.1), (0.1, 0.99),
             args=(2.5,), bound=2000.0),
    *regions("betaincinv", _betaincinv, lambda y: 1 / _beta_density(2.5, 1.5)(_betaincinv(y)), (1e-100, 0.1),
             (0.1, 0.99), args=(2.5, 1.5), bound=64.0),
    *regions("erfcinv", _erfcinv, lambda y: -mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(_erfcinv(y) ** 2), (1e-300, 0.1),
             (0.1, 0.9), (1.1, 1.999), bound=3000.0),
    *regions("zeta", lambda q: mpmath.zeta(3, q), lambda q: -3 * mpmath.zeta(4, q), (1e-50, 1), (1, 1e6), args=(3.0,)),
    *regions("erfinv", mpmath.erfinv,
             lambda y: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(mpmath.erfinv(y) ** 2), (-0.999, 0.999),
             (1e-200, 1e-3), bound=64.0),
    *regions("entr", lambda x: -x * mpmath.log(x), lambda x: -mpmath.log(x) - 1, (1e-300, 0.3), (1.1, 1e10)),
    *regions("erfcx", _w, _erfcx_slope, (-20, -1), (-1, 2), (2, 4), (4, 30), (30, 1e10),
             bound=900.0),
    *regions("ndtr", _ndtr, _normal, (-37, -1), (-1, 1), (1, 37), bound=2000.0),
    *regions("log_ndtr", _log_ndtr, lambda x: _normal(x) / _ndtr(x), (-1e8, -40), (-40, -1), (-1, 1),
             (1, 30), bound=2000.0),
    *regions("ndtri", _ndtri, lambda p: 1 / _normal(_ndtri(p)), (1e-300, 0.1), (0.1, 0.45), (0.55, 0.999),
             bound=3000.0),
    *regions("xlog1py", lambda y: 2 * mpmath.log1p(y), lambda y: 2 / (1 + y), (-0.999, -0.1),
             (1e-300, 1e300), args=(2.0,)),
    *_bessel("i0", mpmath.besseli, 0, (1e-5, 1), (1, 700)),
    *_bessel("i1", mpmath.besseli, 1, (1e-5, 1), (1, 700)),
    *_exp_bessel("i0e", mpmath.besseli, 0, -1, (1e-5, 1), (1, 30), (30, 1e10)),
    *_exp_bessel("i1e", mpmath.besseli, 1, -1, (1e-5, 1), (2, 30), (30, 1e10)),
    *_bessel("modified_bessel_k0", mpmath.besselk, 0, (1e-10, 1), (1, 700)),
    *_bessel("modified_bessel_k1", mpmath.besselk, 1, (1e-10, 1), (1, 700)),
    *_exp_bessel("scaled_modified_bessel_k0", mpmath.besselk, 0, 1, (1e-10, 1), (1, 30), (30, 1e10), bound=200.0),
    *_exp_bessel("scaled_modified_bessel_k1", mpmath.besselk, 1, 1, (1e-10, 1), (1, 30), (30, 1e10), bound=200.0),
    *_bessel("bessel_j0", mpmath.besselj, 0, (1e-5, 10), (10, 1000), waves=True, bound=250.0),
    *_bessel("bessel_j0", mpmath.besselj, 0, (1e3, 1e5), waves=True, bound=1e5),
    *_bessel("bessel_j1", mpmath.besselj, 1, (1e-5, 10), (10, 1000), waves=True, bound=250.0),
    *_bessel("bessel_j1", mpmath.besselj, 1, (1e3, 1e5), waves=True, bound=1e5),
    *_bessel("bessel_y0", mpmath.bessely, 0, (1e-5, 10), (10, 1000), waves=True, bound=250.0),
    *_bessel("bessel_y0", mpmath.bessely, 0, (1e3, 1e5), waves=True, bound=1e5),
    *_bessel("bessel_y1", mpmath.bessely, 1, (1e-5, 10), (10, 1000), waves=True, bound=250.0),
    *_bessel("bessel_y1", mpmath.bessely, 1, (1e3, 1e5), waves=True, bound=1e5),
    *_bessel("jv", mpmath.besselj, 2.5, (1e-3, 10), (10, 1000), waves=True, args=(2.5,), bound=250.0),
    *_bessel("yv", mpmath.bessely, 2.5, (1e-3, 10), (10, 1000), waves=True, args=(2.5,), bound=250.0),
    *_bessel("iv", mpmath.besseli, 2.5, (1e-3, 10), (10, 600), args=(2.5,)),
    *_bessel("kv", mpmath.besselk, 2.5, (1e-3, 10), (10, 600), args=(2.5,)),
    *regions("spherical_bessel_j0", mpmath.sinc, _sinc_slope, (1e-100, 1), (1, 10), (10, 1000), waves=True),
    *regions("sinc", mpmath.sincpi, lambda x: mpmath.pi * _sinc_slope(mpmath.pi * x),
             (1e-100, 1e-3), (1e-3, 1), (1, 10), (1e3, 1e6), waves=True, bound=64.0),
    *regions("airy_ai", mpmath.airyai, lambda x: mpmath.airyai(x, 1), (0.1, 100), bound=2000.0),
    *regions("airy_ai", mpmath.airyai, lambda x: mpmath.airyai(x, 1), (-100, -0.1), waves=True, bound=2000.0),
    *regions("logit", lambda x: mpmath.log(x / (1 - x)), lambda x: 1 / x / (1 - x), (1e-300, 0.4), (0.6, 1 - 1e-12)),
    *_polynomial("chebyshev_polynomial_t", mpmath.chebyt, 9, lambda x: 9 * mpmath.chebyu(8, x)),
    *_polynomial("chebyshev_polynomial_u", mpmath.chebyu, 9, lambda x: 2 * mpmath.gegenbauer(8, 2, x)),
    *_polynomial("legendre_polynomial_p", mpmath.legendre, 9, lambda x: mpmath.gegenbauer(8, 1.5, x)),
    *_polynomial("hermite_polynomial_h", mpmath.hermite, 9, lambda x: 18 * mpmath.hermite(8, x)),
    *_polynomial("laguerre_polynomial_l", lambda n, x: mpmath.laguerre(n, 0, x), 9,
                 lambda x: -mpmath.laguerre(8, 1, x)),
]  # fmt: skip
