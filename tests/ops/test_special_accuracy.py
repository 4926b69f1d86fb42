"""Special functions and their derivatives against mpmath over their whole domains."""

import numpy as np
import pytest
import scipy.special

import pullback as pb
from pullback import special
from tests.ops.special_regions import REGIONS, worst

ULP = 2.0**-52


@pytest.mark.parametrize("region", REGIONS, ids=lambda r: f"{r.label}-{r.low:g}-{r.high:g}")
def test_value_and_derivative_agree_with_mpmath(region):
    value, slope = worst(region)
    assert value < region.bound * ULP
    assert slope < region.bound * ULP


def slopes(function, x, order=1):
    """The derivative of that order, by backward through backward."""
    y = x = pb.tensor(x, requires_grad=True)
    y = function(x)
    for _ in range(order):
        (y,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    return y.detach().numpy()


@pytest.mark.parametrize(
    ("function", "taylor"),
    [
        (pb.sinc, [1, 0, -(np.pi**2) / 3, 0, np.pi**4 / 5]),
        (special.spherical_bessel_j0, [1, 0, -1 / 3, 0, 1 / 5]),
        (special.bessel_j0, [1, 0, -1 / 2, 0, 3 / 8]),
        (special.bessel_j1, [0, 1 / 2, 0, -3 / 8, 0]),
        (pb.i0, [1, 0, 1 / 2, 0, 3 / 8]),
        (special.i1, [0, 1 / 2, 0, 3 / 8, 0]),
        (special.erfcx, [1, -2 / np.sqrt(np.pi), 2, -8 / np.sqrt(np.pi), 12]),
        (lambda x: special.legendre_polynomial_p(x + 1, 3), [1, 6, 15, 15, 0]),
        (lambda x: special.chebyshev_polynomial_t(x + 1, 4), [1, 16, 80, 192, 192]),
        (lambda x: special.laguerre_polynomial_l(x, 3), [1, -3, 3, -1, 0]),
    ],
)
def test_derivatives_of_every_order_where_a_quotient_would_be_0_by_0(function, taylor):
    for order, wanted in enumerate(taylor):
        np.testing.assert_allclose(slopes(function, 0.0, order), wanted, rtol=1e-13, atol=1e-13)


def test_slopes_in_the_tails_have_all_their_digits():
    x = np.array([1e3, 1e6, 1e9])
    np.testing.assert_allclose(slopes(special.erfcx, x), -(x**-2) / np.sqrt(np.pi) * (1 - 1.5 / x**2), rtol=1e-11)
    np.testing.assert_allclose(slopes(special.i0e, x), -0.5 / np.sqrt(2 * np.pi) * x**-1.5 * (1 + 3 / 8 / x), rtol=1e-5)
    np.testing.assert_allclose(slopes(special.log_ndtr, -x), x + 1 / x, rtol=1e-11)
    np.testing.assert_allclose(slopes(special.log_ndtr, -x, 2), -1 + 1 / x**2, rtol=1e-9)


INF = np.inf
EDGES = [  # function, argument, value, derivative
    (pb.lgamma, 2.0**-1070, 1070 * np.log(2), -INF),
    (pb.lgamma, INF, INF, INF),
    (pb.digamma, INF, INF, 0),
    (lambda x: pb.polygamma(3, x), INF, 0, 0),
    (pb.sinc, -INF, 0, 0),
    (special.erfcx, INF, 0, 0),
    (special.erfcx, -INF, INF, -INF),
    (special.log_ndtr, -1e200, -INF, 1e200),
    (special.log_ndtr, INF, 0, 0),
    (special.i0e, INF, 0, 0),
    (special.i1e, -INF, 0, 0),
    (special.i1, 1e4, INF, INF),
    (special.modified_bessel_k1, 0.0, INF, -INF),
    (special.modified_bessel_k1, INF, 0, 0),
    (special.scaled_modified_bessel_k0, 0.0, INF, -INF),
    (special.scaled_modified_bessel_k1, INF, 0, 0),
    (special.bessel_j0, -INF, 0, 0),
    (special.bessel_y0, 0.0, -INF, INF),
    (special.bessel_y1, 0.0, -INF, INF),
    (special.bessel_y1, INF, 0, 0),
    (special.spherical_bessel_j0, INF, 0, 0),
    (special.airy_ai, INF, 0, 0),
    (lambda x: special.chebyshev_polynomial_t(x, 3), -1e200, -INF, INF),
    (lambda x: special.laguerre_polynomial_l(x, 3), 1e200, -INF, -INF),
    (lambda x: pb.igamma(pb.tensor(2.0), x), INF, 1, 0),
    (lambda x: pb.igamma(pb.tensor(2.0), x), 0.0, 0, 0),
    (lambda x: pb.igamma(pb.tensor(0.5), x), 0.0, 0, INF),
]


@pytest.mark.parametrize(("function", "x", "value", "slope"), EDGES)
def test_ends_of_the_domain_have_their_limits(function, x, value, slope):
    np.testing.assert_allclose(slopes(function, x, 0), value, rtol=1e-15)
    np.testing.assert_allclose(slopes(function, x, 1), slope, rtol=1e-15)


def test_arguments_without_derivative_say_so():
    a, x = pb.tensor(2.0, requires_grad=True), pb.tensor(3.0, requires_grad=True)
    for name, function in (("igamma", pb.igamma), ("special.zeta", special.zeta), ("special.jv", special.jv)):
        assert pb.autograd.grad(function(a.detach(), x), x)[0].isfinite()
        with pytest.raises(NotImplementedError, match=name):
            function(a, x).backward()


@pytest.mark.parametrize("name", ["eval_chebyt", "eval_chebyu", "eval_hermite", "eval_laguerre", "eval_legendre"])
def test_polynomials_of_scipy_have_the_degree_first(name):
    ufunc = getattr(scipy.special, name)
    x = np.array([0.2, 0.5])
    np.testing.assert_allclose(ufunc(3, pb.tensor(x)).numpy(), ufunc(3, x), rtol=1e-14)
    with pytest.raises(ValueError, match=rf"{name}: the degree n must be a whole number.*2\.5"):
        ufunc(2.5, pb.tensor(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("function", [pb.lgamma, special.erfcx, special.i1e, special.bessel_j1, pb.sinc, pb.logit])
def test_short_precision_stays_short(function, dtype):
    x = pb.tensor(np.array([0.5], dtype), requires_grad=True)
    y = function(x)
    y.backward(pb.ones(1, dtype=dtype))
    assert y.dtype == x.grad.dtype == dtype
