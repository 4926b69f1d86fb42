"""OpInfo records of the area special; tests/ops/test_special_accuracy.py compares values and slopes with mpmath."""

import math

import numpy as np
import scipy.special as sp

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample, weakly
from pullback.testing.opinfo.samples import broadcasting, broadcasting_pairs, unary

__all__ = ["OPINFOS"]

COMPLEX = np.ones(2, complex)
POSITIVE = {"low": 0.5, "high": 3}
ROOT_PI = math.sqrt(math.pi)


def one(name, reference, low=-2.0, high=2.0, *args, away_from=(), **how):
    """The record of a function of one real tensor."""
    errors = [Raises(RuntimeError, (name.split(".")[-1].split("_")[-1], "complex"), (COMPLEX, *args))]
    return OpInfo(name, reference, unary(*args, low=low, high=high, away_from=away_from, shapes=((), (3,), (0,))),
                  dtypes=how.pop("dtypes", FLOATS), errors=how.pop("errors", errors), **how)  # fmt: skip


def constant_first(low, high, orders=(0, 1, 2.5)):
    """Orders, which have no gradient, before differentiable arguments."""

    def samples(make):
        for order in orders:
            yield Sample(order, make((3,), low=low, high=high))
        yield Sample(np.array([orders[:1], orders[-1:]]).astype(make.dtype), make((3,), low=low, high=high)).named(
            "both"
        )
        yield Sample(orders[-1], make((0,)))

    return samples


def shaped(name, reference):
    """The record of igamma or igammac, which take no plain numbers."""

    def samples(make):
        for a in (0.5, 2.0, 30.0):
            yield Sample(np.full((2, 1), a, make.dtype), make((3,), low=0.5 * a, high=1.5 * a + 0.1))
        yield Sample(np.ones(3, make.dtype), make((), low=0.5, high=2))

    return OpInfo(name, reference, samples, dtypes=FLOATS, errors=[
        Raises(TypeError, (name, "Tensor", "float"), (np.ones(2), 2.0)),
        Raises(RuntimeError, (name, "(2,)", "(3,)"), (np.ones(2), np.ones(3)))])  # fmt: skip


GAMMAS = [
    one("lgamma", sp.gammaln, 0.3, 4, limits=[Limit(at=(1e-300,), grad=(-1e300,), because="-log(x) near 0")]),
    one("digamma", sp.psi, 0.3, 4),
    one("mvlgamma", lambda x, p: np.vectorize(sp.multigammaln)(x, p) if x.size else x, 2, 4, 3,
        check_dtype=False, errors=[Raises(RuntimeError, ("mvlgamma", "0"), (np.ones(2), 0))]),
    OpInfo("polygamma", sp.polygamma, lambda make: [
        Sample(n, make((3,), **POSITIVE)) for n in (0, 1, 4)], dtypes=FLOATS, check_dtype=False, inplace=False,
        errors=[Raises(RuntimeError, ("polygamma", "-1"), (-1, np.ones(2)))]),
    OpInfo("polygamma", lambda x, n: sp.polygamma(n, x), unary(2, **POSITIVE), dtypes=FLOATS, check_dtype=False,
           call=lambda x, n: x.polygamma(n), inplace=True, variant="method"),
    shaped("igamma", sp.gammainc),
    shaped("igammac", sp.gammaincc),
    OpInfo("gamma_density", lambda a, x: (np.exp((a - 1) * np.log(x) - x) / sp.gamma(a)).astype(x.dtype),
           broadcasting_pairs(numbers=False, left={"low": 0.5, "high": 20}, right=POSITIVE), dtypes=FLOATS,
           numbers=(1e-4, 1e-6),
           limits=[Limit(at=(3.0, 0.0), value=0.0, grad=(0.0, 0.0), because="x**2 / 2 near 0"),
                   Limit(at=(1.0, 0.0), value=1.0, grad=(None, -1.0), because="exp(-x)"),
                   Limit(at=(2.0, 1e4), value=0.0, grad=(None, 0.0), because="underflow, not infinity times 0")]),
    OpInfo("special.zeta", sp.zeta, constant_first(0.5, 3, orders=(2, 3.5)), dtypes=FLOATS, check_dtype=False),
]  # fmt: skip


def three(name, reference, low=0.1, high=0.9):
    """The record of a function of two shapes, which have no gradient, and a differentiable argument."""

    def samples(make):
        for a, b in ((0.5, 2), (3, 1.5), (20, 30), (0.25, 0.75)):
            yield Sample(a, b, make((3,), low=low, high=high))
        yield Sample(np.full((2, 1), 2, make.dtype), 2.5, make((3,), low=low, high=high))

    return OpInfo(name, reference, samples, dtypes=FLOATS, numbers=(1e-5, 1e-6))


def beta_density(a, b, x):
    """As it is defined."""
    return (x ** (a - 1) * (1 - x) ** (b - 1) / sp.beta(a, b)).astype(x.dtype)


SHAPE, INSIDE = {"low": 1.5, "high": 15}, {"low": 0.1, "high": 0.9}
BETAS = [
    OpInfo("special.gammaincinv", weakly(sp.gammaincinv), constant_first(0.1, 0.9, orders=(0.5, 1, 20)), dtypes=FLOATS,
           numbers=(1e-5, 1e-6), limits=[Limit(at=(np.array(1), 0.0), value=0.0, grad=(1.0,), because="-log1p(-y)")]),
    OpInfo("special.gammainccinv", weakly(sp.gammainccinv), constant_first(0.1, 0.9, orders=(0.5, 1, 20)),
           dtypes=FLOATS, numbers=(1e-5, 1e-6)),
    three("special.betainc", sp.betainc),
    three("special.betaincinv", sp.betaincinv),
    OpInfo("beta_density", beta_density, broadcasting(3, numbers=False, each=[SHAPE, SHAPE, INSIDE]), dtypes=FLOATS,
           numbers=(1e-4, 1e-6)),
]  # fmt: skip

ERRORS = [
    one("special.erfcinv", sp.erfcinv, 0.1, 1.9),
    one("erfinv", sp.erfinv, -0.9, 0.9,
        limits=[Limit(at=(1.0,), value=math.inf, grad=(math.inf,), because="vertical at 1")]),
    one("special.entr", sp.entr, 0.3, 2,
        limits=[Limit(at=(0.0,), value=0.0, grad=(math.inf,), because="vertical at 0")]),
    one("special.erfcx", sp.erfcx,
        limits=[Limit(at=(1e8,), value=1e-8 / ROOT_PI, grad=(-1e-16 / ROOT_PI,), second=(2e-24 / ROOT_PI,),
                      because="1 / (sqrt(pi) x)")]),
    OpInfo("scaled_repeated_erfc", lambda x, n: (np.exp(x * x) * (np.exp(-x * x) / ROOT_PI - x * sp.erfc(x))),
           unary(1, low=-2, high=3), dtypes=(np.float64,)),
    one("special.ndtr", sp.ndtr),
    one("special.log_ndtr", sp.log_ndtr,
        limits=[Limit(at=(-1e10,), value=-5e19, grad=(1e10,), second=(-1.0,), because="-x**2 / 2 in the tail"),
                Limit(at=(50.0,), value=0.0, grad=(0.0,), because="flat")]),
    one("inverse_mills", lambda x: np.exp(-x * x / 2 - sp.log_ndtr(x)) / math.sqrt(2 * math.pi)),
    one("special.ndtri", sp.ndtri, 0.1, 0.9,
        limits=[Limit(at=(0.0,), value=-math.inf, grad=(math.inf,), because="vertical at 0")]),
    OpInfo("special.xlog1py", weakly(sp.xlog1py), broadcasting_pairs(right={"low": -0.6, "high": 2}), dtypes=FLOATS,
           errors=[Raises(TypeError, ("xlog1py", "float"), (2.0, 3.0)),
                   Raises(RuntimeError, ("xlog1py", "complex"), (COMPLEX, np.ones(2)))],
           limits=[Limit(at=(0.0, -1.0), value=0.0, grad=(0.0, 0.0), because="0 * log1p(y) is 0 for every y"),
                   Limit(at=(0.0, 1.0), value=0.0, grad=(math.log(2), 0.0), second=(0.5, 0.5), because="log1p(y) dx")]),
]  # fmt: skip


def exp_i0_derivative(x, order):
    """By modified Bessel functions of neighbouring orders, which cancel for large x."""
    i0e, i1e, i2e = (sp.ive(n, x) for n in range(3))
    return i1e - i0e if order == 1 else 1.5 * i0e - 2 * i1e + 0.5 * i2e


def exp_k0_derivative(x, order):
    """By modified Bessel functions of neighbouring orders, which cancel for large x."""
    k0e, k1e, k2e = (sp.kve(n, x) for n in range(3))
    return k0e - k1e if order == 1 else 1.5 * k0e - 2 * k1e + 0.5 * k2e


KINDS = {"j": sp.jv, "y": sp.yv, "i": sp.iv, "k": sp.kv}
VERTICAL = [Limit(at=(0.0,), value=math.inf, grad=(-math.inf,), because="a pole at 0")]
BESSELS = [
    one("i0", sp.i0, limits=[Limit(at=(0.0,), value=1.0, grad=(0.0,), second=(0.5,), because="1 + x**2 / 4")]),
    one("special.i0e", sp.i0e, away_from=0,
        limits=[Limit(at=(0.0,), value=1.0, grad=(0.0,), because="a kink of slopes -1 and 1")]),
    one("special.i1", sp.i1, limits=[Limit(at=(0.0,), value=0.0, grad=(0.5,), second=(0.0,), because="x / 2")]),
    one("special.i1e", sp.i1e, away_from=0, limits=[Limit(at=(0.0,), value=0.0, grad=(0.5,), because="x / 2")]),
    one("i1_derivative", lambda x: (sp.i0(x) + sp.iv(2, x)) / 2, limits=[
        Limit(at=(0.0,), value=0.5, grad=(0.0,), second=(0.375,), because="1/2 + 3 x**2 / 16"),
        Limit(at=(1e4,), value=math.inf, because="overflow, not infinity minus infinity")]),
    OpInfo("i1e_derivative", lambda x: (sp.ive(0, x) + sp.ive(2, x)) / 2 - np.sign(x) * sp.ive(1, x),
           unary(low=-9, high=9, away_from=0), dtypes=FLOATS, numbers=(1e-5, 1e-7)),
    OpInfo("i0e_derivative", exp_i0_derivative, unary(1, low=0.1, high=4), dtypes=(np.float64,)),
    OpInfo("i0e_derivative", exp_i0_derivative, unary(2, low=0.1, high=4), dtypes=(np.float64,), variant="second"),
    one("special.modified_bessel_k0", sp.k0, 0.3, 3, limits=VERTICAL),
    one("special.modified_bessel_k1", sp.k1, 0.3, 3, limits=VERTICAL),
    one("special.scaled_modified_bessel_k0", sp.k0e, 0.3, 3, limits=VERTICAL),
    one("special.scaled_modified_bessel_k1", sp.k1e, 0.3, 3, limits=VERTICAL),
    OpInfo("k0e_derivative", exp_k0_derivative, unary(1, low=0.3, high=4), dtypes=(np.float64,)),
    OpInfo("k0e_derivative", exp_k0_derivative, unary(2, low=28, high=40), dtypes=(np.float64,), variant="second",
           numbers=(1e-9, 0)),
    one("special.bessel_j0", sp.j0),
    one("special.bessel_j1", sp.j1,
        limits=[Limit(at=(0.0,), value=0.0, grad=(0.5,), second=(0.0,), because="x / 2")]),
    one("special.bessel_y0", sp.y0, 0.5, 3),
    one("special.bessel_y1", sp.y1, 0.5, 3),
    *(OpInfo(f"special.{kind}v", lambda v, z, kind=kind: KINDS[kind](v, z), constant_first(0.5, 3),
             dtypes=(*FLOATS, np.complex128), check_dtype=False) for kind in KINDS),
    one("special.spherical_bessel_j0", lambda x: np.sinc(x / np.pi), -3, 3,
        limits=[Limit(at=(0.0,), value=1.0, grad=(0.0,), second=(-1 / 3,), because="1 - x**2 / 6"),
                Limit(at=(math.inf,), value=0.0, grad=(0.0,), because="the limit")]),
    OpInfo("spherical_jn", lambda x, n: sp.spherical_jn(n, x), unary(2, low=0.2, high=4), dtypes=(np.float64,)),
    one("special.airy_ai", lambda x: sp.airy(x)[0], -3, 3),
    one("airy_ai_prime", lambda x: sp.airy(x)[1], -3, 3),
]  # fmt: skip


def degrees(low, high, *args):
    """Whole degrees, as numbers and tensors, that have no gradient."""

    def samples(make):
        for n in (0, 1, 4, -1):
            yield Sample(make((3,), low=low, high=high), n, *args)
        yield Sample(make((3,), low=low, high=high), np.array([[0], [5]]), *args).named("degrees")
        yield Sample(make((), low=low, high=high), 2.7, *args).named("cut")
        yield Sample(make((0,)), 3, *args)

    return samples


def polynomial(name, evaluate, low=-1.0, high=1.0, *args, **how):
    """The record of an orthogonal polynomial; `evaluate(n, *args, x)` is SciPy's."""

    def reference(x, n, *args):
        n = np.trunc(n).astype(int)
        return np.where(n < 0, 0, evaluate(np.maximum(n, 0), *args, x.astype(float))).astype(x.dtype)

    errors = [Raises(TypeError, (name.split(".")[-1], "float"), (0.5, 3.0))] if "." in name else []
    return OpInfo(name, reference, degrees(low, high, *args), dtypes=FLOATS, errors=errors, **how)


def third_kind(n, x):
    """By angles: V_n(cos t) = cos((n + 1/2) t) / cos(t / 2)."""
    t = np.arccos(x)
    return np.cos((n + 0.5) * t) / np.cos(t / 2)


def fourth_kind(n, x):
    """By angles: W_n(cos t) = sin((n + 1/2) t) / sin(t / 2)."""
    t = np.arccos(x)
    return np.sin((n + 0.5) * t) / np.sin(t / 2)


def shifted(evaluate):
    """The polynomial over [0, 1]."""
    return lambda n, x: evaluate(n, 2 * x - 1)


def at_one(grad):
    """T_3 and U_3 at the end of the interval, where formulas by x**2 - 1 divide by 0."""
    return [Limit(at=(1.0,), kwargs={"n": 3}, grad=(grad,), because="the recurrence's value")]


CHEBYSHEV = {"t": sp.eval_chebyt, "u": sp.eval_chebyu, "v": third_kind, "w": fourth_kind}
POLYNOMIALS = [
    *(polynomial(f"special.chebyshev_polynomial_{kind}", evaluate, -0.9, 0.9,
                 limits=at_one({"t": 9.0, "u": 20.0, "v": 12.0, "w": 28.0}[kind]), numbers=(1e-5, 1e-5))
      for kind, evaluate in CHEBYSHEV.items()),
    *(polynomial(f"special.shifted_chebyshev_polynomial_{kind}", shifted(evaluate), 0.05, 0.95, numbers=(1e-4, 1e-4))
      for kind, evaluate in CHEBYSHEV.items()),
    polynomial("special.hermite_polynomial_h", sp.eval_hermite, -2, 2),
    polynomial("special.hermite_polynomial_he", sp.eval_hermitenorm, -2, 2),
    polynomial("special.laguerre_polynomial_l", sp.eval_laguerre, 0, 3),
    polynomial("special.legendre_polynomial_p", sp.eval_legendre, limits=at_one(6.0)),
    polynomial("gegenbauer", sp.eval_gegenbauer, -1, 1, 2.0),
    polynomial("associated_laguerre", sp.eval_genlaguerre, 0, 3, 1.0),
]  # fmt: skip

OPINFOS = [*GAMMAS, *BETAS, *ERRORS, *BESSELS, *POLYNOMIALS]
