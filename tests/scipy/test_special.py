"""scipy.special on tensors: parameters against mpmath, delicate points, complex arguments, refusals."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats

import pullback as pb
from pullback.extend import DetachingError, UnsupportedError
from pullback.scipy import special
from tests.scipy.special_parameters import PARAMETERS, labels

INF = np.inf


@pytest.mark.parametrize("row", PARAMETERS, ids=labels())
def test_derivatives_in_parameters_agree_with_mpmath(row):
    assert row.worst() < row.bound


def slope(name, argument, *args):
    """The derivative of scipy.special's function in one of its arguments, by reverse and by forward mode."""

    def f(x):
        return getattr(special, name)(*args[:argument], x, *args[argument + 1 :])

    x = np.asarray(args[argument], dtype=np.result_type(args[argument], float))
    backward = pb.func.grad(lambda x: np.real(f(x)))(x)
    forward = np.real(pb.func.jvp(f, (x,), (np.ones_like(x),))[1])
    np.testing.assert_allclose(forward, np.real(backward), rtol=1e-12, atol=1e-300)
    return backward


REMOVABLE = [  # function, argument, arguments, derivative: the limit where a formula would divide 0 by 0
    ("ellipk", 0, (0.0,), np.pi / 8),
    ("ellipe", 0, (0.0,), -np.pi / 8),
    ("ellipkm1", 0, (1.0,), -np.pi / 8),
    ("exprel", 0, (0.0,), 0.5),
    ("spence", 0, (1.0,), -1.0),
    ("boxcox", 1, (np.e, 0.0), 0.5),
    ("boxcox1p", 1, (np.e - 1, 0.0), 0.5),
    ("inv_boxcox", 1, (1.0, 0.0), -np.e / 2),
    ("boxcox", 1, (0.0, 2.0), 0.25),
    ("pseudo_huber", 0, (0.0, 0.0), 0.0),
    ("pseudo_huber", 0, (0.0, 2.0), 2.0),
    ("pseudo_huber", 1, (0.0, 2.0), 0.0),
    ("binom", 0, (1.0, 2.0), 0.5),
    ("binom", 0, (0.0, 2.0), -0.5),
    ("binom", 1, (3.0, 5.0), 0.05),
    ("binom", 1, (3.0, -1.0), 0.25),
    ("rgamma", 0, (0.0,), 1.0),
    ("rgamma", 0, (-1.0,), -1.0),
    ("rgamma", 0, (-3.0,), -6.0),
    ("lambertw", 0, (0.0,), 1.0),
    ("beip", 0, (0.0,), 0.5),
    ("bei", 0, (0.0,), 0.0),
    ("owens_t", 1, (0.0, 0.0), 0.5 / np.pi),
    ("elliprf", 0, (1.0, 1.0, 1.0), -1 / 6),
    ("elliprj", 3, (1.0, 1.0, 1.0, 1.0), -0.6),
    ("elliprg", 1, (0.0, 1.0, 1.0), np.pi / 16),
    ("agm", 0, (1.0, 1.0), 0.5),
    ("stdtr", 0, (3.0, 0.0), 0.0),
    ("gammainc", 0, (2.0, 0.0), 0.0),
    ("gammainc", 0, (2.0, INF), 0.0),
    ("gammainc", 1, (2.0, INF), 0.0),
    ("gammainc", 0, (INF, 0.5), 0.0),
    ("gammaincc", 0, (INF, 0.5), 0.0),
    ("gammaincc", 1, (INF, 0.5), 0.0),
    ("chdtr", 0, (INF, 2.0), 0.0),
    ("chdtr", 1, (INF, 2.0), 0.0),
    ("gdtr", 0, (3.0, 0.5, 0.0), 0.0),
    ("gdtr", 0, (3.0, 0.5, INF), 0.0),
    ("gdtr", 2, (0.0, 0.5, 2.0), 0.0),
    ("gdtr", 2, (3.0, 1.0, 0.0), 3.0),
    ("gdtrc", 0, (3.0, 0.5, 0.0), 0.0),
    ("fdtr", 0, (1.0, 2.0, INF), 0.0),
    ("fdtr", 1, (1.0, 2.0, INF), 0.0),
    ("fdtr", 2, (1.0, 2.0, INF), 0.0),
    ("fdtrc", 0, (1.0, 1.0, 0.0), 0.0),
    ("fdtrc", 2, (2.0, 3.0, 0.0), -1.0),
    ("exprel", 0, (-INF,), 0.0),
    ("exprel", 0, (INF,), INF),
    ("betainc", 0, (2.0, 3.0, 0.0), 0.0),
    ("betainc", 1, (2.0, 3.0, 1.0), 0.0),
    ("voigt_profile", 1, (0.3, 0.0, 0.7), 0.0),
    ("jv", 0, (2.0, INF), 0.0),
    ("jv", 0, (1.0, 0.0), 0.0),
    ("kve", 1, (2.0, INF), 0.0),
    ("ive", 1, (1.0, 0.0), 0.5),
    ("ive", 1, (0.0, 0.0), 0.0),
    ("iv", 0, (0.0, 1.0), -float(mp.besselk(0, 1))),
    ("kv", 0, (0.0, 1.0), 0.0),
    ("diric", 0, (0.0, 5), 0.0),
    ("kl_div", 0, (1.0, 1.0), 0.0),
    ("kl_div", 1, (1.0, 1.0), 0.0),
    ("powm1", 1, (0.0, 2.0), 0.0),
    ("eval_jacobi", 3, (0, 0.4, 0.7, 0.3), 0.0),
    ("shichi", 0, (0.5,), None),
]


@pytest.mark.parametrize("v", [0, 0.5, 1, 1.5, 2, 3, -2])
def test_the_scaled_bessel_function_has_its_derivatives_at_zero(v):
    """Those of exp(-|x|) I_v(x), of x**v times a series; 0 at a kink."""
    found, f = [], lambda x: special.ive(v, x)
    for _ in range(4):
        f = pb.func.grad(f)
        found.append(f(0.0))
    known = {
        0: (0, 1.5, 0, 35 / 8), 0.5: (INF, -INF, INF, -INF), 1: (0.5, 0, 1.875, 0), 1.5: (0, INF, -INF, INF),
        2: (0, 0.25, 0, 1.75), 3: (0, 0, 0.125, 0), -2: (0, 0.25, 0, 1.75),
    }  # fmt: skip
    np.testing.assert_allclose(found, known[v], rtol=1e-14)


def test_the_mixed_derivative_of_a_distribution_function_at_zero():
    hessian = pb.func.hessian(lambda p: special.gdtr(p[0], 1.0, p[1]))(np.array([3.0, 0.0]))
    np.testing.assert_allclose(hessian, [[0, 1], [1, -9]], rtol=1e-14)


@pytest.mark.parametrize(("name", "argument", "args", "wanted"), REMOVABLE)
def test_limits_at_removable_points(name, argument, args, wanted):
    if wanted is None:
        shi = pb.func.grad(lambda x: special.shichi(x)[0])(args[0])
        np.testing.assert_allclose(shi, np.sinh(args[0]) / args[0], rtol=1e-14)
        return
    np.testing.assert_allclose(np.real(slope(name, argument, *args)), wanted, rtol=1e-13, atol=1e-15)


def _faddeeva(z):
    return mp.exp(-(z**2)) * mp.erfc(-1j * z)


CLOSE = [  # function, argument, arguments, mpmath's function: where terms of the obvious formula cancel
    ("ellipk", 0, (1e-12,), mp.ellipk),
    ("spence", 0, (1 + 1e-9,), lambda z: mp.polylog(2, 1 - z)),
    ("kl_div", 0, (1 + 1e-9, 1.0), lambda x, y: x * mp.log(x / y) - x + y),
    ("pseudo_huber", 0, (1.0, 1e-5), lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)),
    ("betaln", 0, (1e8, 1.0), lambda a, b: mp.log(mp.beta(a, b))),
    ("poch", 0, (1e9, 0.5), mp.rf),
    ("dawsn", 0, (1e3,), lambda x: 1 / (2 * x) + 1 / (4 * x**3) + 3 / (8 * x**5) + 15 / (16 * x**7)),
    ("voigt_profile", 0, (400.0, 1.0, 0.5),
     lambda x, s, g: mp.re(_faddeeva((x + 1j * g) / (s * mp.sqrt(2)))) / s / mp.sqrt(2 * mp.pi)),
    ("ndtri_exp", 0, (-200.0,), None),
    ("ive", 1, (0.7, 1e6), None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument", "args", "value"), CLOSE)
def test_nothing_cancels(name, argument, args, value):
    found = slope(name, argument, *args)
    if name == "ndtri_exp":  # 1 / (density / distribution function)
        x = mp.mpf(float(sp.ndtri_exp(args[0])))
        wanted = mp.ncdf(x) / mp.npdf(x)
    elif name == "ive":  # sqrt(1 / (2 pi x)) (1 - (4 v**2 - 1) / (8 x) ...)
        x, v = mp.mpf(args[1]), mp.mpf(args[0])
        wanted = -1 / (2 * x) / mp.sqrt(2 * mp.pi * x) * (1 - 3 * (4 * v * v - 1) / (8 * x))
    else:
        with mp.workdps(120):
            point = [mp.mpf(x) for x in args]
            h = point[argument] * mp.mpf(10) ** -30
            up, down = ([*point[:argument], point[argument] + s * h, *point[argument + 1 :]] for s in (1, -1))
            wanted = mp.re(value(*up) - value(*down)) / (2 * h)
    np.testing.assert_allclose(float(found), float(wanted), rtol=3e-11)


@pytest.mark.parametrize("z", [0.7 + 1.3j, -2.4 + 0.2j, 6.0 - 3.0j])
@pytest.mark.parametrize(
    "name", ["gamma", "loggamma", "rgamma", "psi", "exp1", "expi", "erfi", "dawsn", "wofz", "wrightomega", "lambertw"]
)
def test_complex_arguments(name, z):
    f, h = getattr(sp, name), 1e-5
    slopes = [(f(z + d) - f(z - d)) / (2 * d) for d in (h, 1j * h)]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-7)
    tangent = pb.func.jvp(getattr(special, name), (np.array(z),), (np.array(1.0 + 0j),))[1]
    np.testing.assert_allclose(tangent, slopes[0], rtol=1e-7)
    x = pb.tensor(z, requires_grad=True)
    getattr(sp, name)(x).backward(pb.tensor(1.0 + 0j))
    np.testing.assert_allclose(x.grad.numpy(), np.conj(tangent), rtol=1e-12)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "hankel1"])
def test_bessel_functions_of_complex_arguments_in_the_argument_and_not_in_the_order(name):
    z = np.array(1.3 + 0.4j)
    f, h = getattr(sp, name), 1e-5
    tangent = pb.func.jvp(lambda z: getattr(special, name)(0.7, z), (z,), (np.array(1.0 + 0j),))[1]
    np.testing.assert_allclose(tangent, (f(0.7, z + h) - f(0.7, z - h)) / (2 * h), rtol=1e-7)
    with pytest.raises(ValueError, match="complex"):
        pb.func.grad(lambda v: np.real(getattr(special, name)(v, z)))(0.7)


REFUSED = [
    (lambda x: special.elliprj(x, -1.0, 2.0, 3.0), "not negative"),
    (lambda x: special.hyp2f1(x, 1.0, 2.0, 0.999), "0.99"),
    (lambda x: special.hyperu(-x, 0.5, 1.0), "a > 0"),
    (lambda x: special.eval_jacobi(2.5, x, 1.0, 0.3), "whole"),
    (lambda x: special.eval_jacobi(x, 0.4, 1.0, 0.3), "eval_jacobi"),
    (lambda x: special.struve(x, 1.0), "struve"),
    (lambda x: special.comb(x, 2.0, exact=True), "exact"),
    (lambda x: special.sph_harm_y(2, 1, x, 0.3, diff_n=1)[0], "diff_n"),
    (lambda x: special.spherical_jn(x, 1.0), "spherical_jn"),
    (lambda x: special.polygamma(x, 1.0), "polygamma"),
    (lambda x: special.zeta(x, 1.5, out=np.empty(())), "out="),
    (lambda x: special.mathieu_a(2, x), "mathieu_a"),
    (lambda x: special.ellip_harm(5, 8, 1, 1, x), "ellip_harm"),
    (lambda x: special.roots_jacobi(3, x, 1.0)[0], "roots_jacobi"),
]


@pytest.mark.parametrize(("f", "words"), REFUSED)
def test_what_is_not_known_is_refused_by_an_error_that_says_so(f, words):
    with pytest.raises(Exception, match=words):
        pb.func.grad(lambda x: np.real(f(x)))(0.7)


def test_lists_shapes_and_broadcasting():
    a, x = np.array([[0.5], [2.0]]), np.array([0.3, 1.0, 4.0])
    grad_a, grad_x = pb.func.grad(lambda a, x: special.gammainc(a, x).sum(), argnums=(0, 1))(a, x)
    assert grad_a.shape == (2, 1)
    assert grad_x.shape == (3,)
    alone = [[pb.func.grad(special.gammainc)(p, q) for q in x] for p in a[:, 0]]
    np.testing.assert_allclose(grad_a[:, 0], np.sum(alone, axis=1), rtol=1e-13)
    listed = pb.func.grad(lambda a: special.gammainc(a, [0.3, 1.0]).sum())(a[:, 0])
    np.testing.assert_allclose(listed, [alone[0][0], alone[1][1]], rtol=1e-13)
    with pytest.raises(DetachingError, match="gammainc"):
        pb.func.grad(lambda a: special.gammainc([a[0], a[1]], [0.3, 1.0]).sum())(a[:, 0])
    assert pb.func.grad(lambda a: special.gammainc(a, x[:0]).sum())(2.0) == 0.0


@pytest.mark.parametrize("name", ["gammainc", "betaln", "jv", "kve", "poch", "stdtr"])
def test_vmap_is_the_loop(name):
    f = pb.func.grad(getattr(special, name), argnums=(0, 1))
    a, x = np.array([0.6, 1.3, 2.2]), np.array([0.4, 1.1, 3.0])
    together = pb.func.vmap(f)(a, x)
    alone = np.transpose([f(p, q) for p, q in zip(a, x, strict=True)])
    np.testing.assert_allclose(together, alone, rtol=1e-14)


@pytest.mark.parametrize("name", ["gammainc", "betaln", "jv", "iv", "kve"])
def test_float32_stays_float32(name):
    x = pb.tensor(np.array([1.5, 2.5], np.float32), requires_grad=True)
    y = getattr(sp, name)(x, np.array([0.7, 0.9], np.float32))
    y.sum().backward()
    assert y.dtype == x.grad.dtype == np.float32


def test_third_derivatives_in_a_parameter():
    third = pb.func.grad(pb.func.grad(pb.func.grad(lambda a: special.gammainc(a, 1.3))))(2.2)
    with mp.workdps(40):
        wanted = mp.diff(lambda a: mp.gammainc(a, 0, mp.mpf(1.3), regularized=True), mp.mpf(2.2), 3)
    np.testing.assert_allclose(third, float(wanted), rtol=1e-11)


def test_spherical_harmonics_at_the_pole_have_the_limit_from_within():
    f = pb.func.grad(lambda t: np.imag(special.sph_harm_y(3, 1, t, 0.4)))
    np.testing.assert_allclose(f(0.0), f(1e-9), rtol=1e-8)
    assert f(0.0) != 0


def test_what_jumps_is_a_constant_in_between():
    assert pb.func.grad(lambda x: special.round(x) * x)(2.3) == 2.0
    assert pb.func.grad(lambda x: special.gammasgn(x) * x)(-0.5) == -1.0
    x = pb.tensor([2.3], requires_grad=True)
    assert type(sp.round(x)) is np.ndarray
    assert pb.func.grad(lambda k: special.pdtr(k, 2.0) * k)(2.3) == sp.pdtr(2, 2.0)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("eval_chebyc", (-0.06, 0.37)),
        ("eval_chebys", (0.52, 0.3)),
        ("eval_gegenbauer", (0.32, 4.7, 0.2)),
        ("eval_genlaguerre", (-0.45, 4.9, 0.41)),
        ("eval_jacobi", (-0.36, 4.2, 0.77, 0.3)),
        ("eval_sh_jacobi", (0.47, 4.3, 4.0, 0.79)),
        ("eval_sh_legendre", (0.14, 0.58)),
        ("hyp2f1", (0.0, 4.2, 0.3, 0.6)),
    ],
)
def test_degrees_that_are_not_whole(name, args):
    """The slope in the argument is that of SciPy's function, which takes any degree."""
    function, *before, x = getattr(special, name), *args
    ends = [getattr(sp, name)(*before, x + h) for h in (1e-5, -1e-5)]
    assert pb.func.grad(lambda x: function(*before, x))(x) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:.*non-integer arg")
def test_orders_of_which_scipy_takes_the_whole_part():
    with pb.adopt():
        slope = pb.func.grad(lambda x: sp.expn(2.7, x))(0.8)
        assert slope == pytest.approx(-sp.expn(1, 0.8), rel=1e-14)
        for name in ("kn", "yn"):
            with pytest.raises(ValueError, match="the order n must be a whole number"):
                pb.func.grad(lambda x, name=name: getattr(special, name)(1.5, x))(0.8)


@pytest.mark.parametrize("name", ["eval_chebyt", "eval_legendre", "eval_laguerre", "kn", "yn"])
def test_a_degree_has_no_derivative(name):
    with pytest.raises(UnsupportedError, match=r"no derivative in n, .* detach\(\)"):
        pb.func.grad(lambda n: getattr(special, name)(n, 0.8))(3.0)


def test_incomplete_elliptic_integrals_at_a_plain_amplitude():
    for phi in (0.3, 4.0):
        for name, integral in (("ellipkinc", mp.ellipf), ("ellipeinc", mp.ellipe)):
            expected = float(mp.diff(lambda m, f=integral, phi=phi: f(phi, m), 0.5))
            found = pb.func.grad(lambda m, name=name, phi=phi: getattr(special, name)(phi, m))(0.5)
            assert found == pytest.approx(expected, rel=1e-12)


SEVERAL = {  # name: arguments, at which some outputs are finite and others have no slope
    "airye": (-2.98,), "iti0k0": (-1.3,), "itj0y0": (-1.3,), "it2j0y0": (-1.3,), "it2i0k0": (-1.3,), "sici": (0.0,),
    "shichi": (0.0,), "kelvin": (0.0,), "kelvin ": (-1.3,), "itairy": (0.4,), "airy": (0.4,), "fresnel": (0.3,),
    "ellipj": (0.4, 0.3), "pbdv": (1.0, 0.3), "pbvv": (1.0, 0.3), "pbwa": (1.0, 0.3),
    "pro_ang1": (1.0, 2.0, 0.5, 0.3), "obl_rad1": (1.0, 2.0, 0.5, 0.3), "mathieu_cem": (1.0, 0.5, 20.0),
    "mathieu_modsem1": (1.0, 0.5, 0.3), "modfresnelp": (0.3,),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_the_slope_of_one_output_is_no_other_ones_affair(name):
    *rest, x = SEVERAL[name]
    function = getattr(special, name.strip())
    for nr in range(len(function(*rest, x))):

        def one(x, nr=nr):
            return function(*rest, x)[nr]

        value, slope = (np.asarray(found) for found in pb.func.jvp(one, (x,), (1.0,)))  # of this output alone
        assert np.isfinite(slope).all() or not np.isfinite(value).all()
        for part in (np.real, np.imag) if slope.dtype.kind == "c" else (np.positive,):
            found = pb.func.grad(lambda x, part=part, one=one: part(one(x)).sum())(x)
            np.testing.assert_allclose(found, part(slope), rtol=1e-13, atol=1e-300)


def test_what_is_masked_in_one_output_is_not_in_another():
    def f(x):
        both = special.iti0k0(x)
        return both[0].sum() + np.where(x > 0, both[1], 0.0).sum()  # the second is nan where x < 0

    x = np.array([-1.0, 2.0])
    expected = sp.i0(x) + np.where(x > 0, sp.k0(np.abs(x)), 0)
    np.testing.assert_allclose(pb.func.grad(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(pb.func.vmap(pb.func.grad(f))(np.stack([x, x])), [expected, expected], rtol=1e-14)
    curve = sp.i1(x) - np.where(x > 0, sp.k1(np.abs(x)), 0)
    np.testing.assert_allclose(pb.func.hessian(f)(x), np.diag(curve), rtol=1e-14)


BOUNDS = [  # function, arguments: where SciPy's search for the solution ends at a bound
    ("nbdtrik", (0.2017, 5.3876, 0.9429)), ("bdtrik", (0.1176, 3.441, 0.2226)), ("pdtrik", (0.287, 0.6839)),
    ("fdtridfd", (0.0342, 0.9467, 0.5842)), ("ncfdtridfd", (1.8015, 0.183, 3.0743, 0.3779)),
    ("ncfdtridfn", (0.4485, 5.3434, 4.6104, 0.9193)), ("ncfdtrinc", (2.1251, 5.8699, 0.7657, 0.4196)),
    ("chndtridf", (4.3291, 0.701, 5.8657)), ("chndtrinc", (5.3398, 5.0014, 0.7405)), ("stdtridf", (0.3715, 5.9447)),
    ("nctdtridf", (0.4517, 5.1271, 1.4133)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), BOUNDS)
def test_a_search_that_ends_at_a_bound_moves_with_nothing(name, args):
    function, value = getattr(sp, name), getattr(sp, name)(*args)
    for i in range(len(args)):
        moved = [*args[:i], args[i] * (1 + 1e-5), *args[i + 1 :]]
        assert function(*moved) == value
        assert slope(name, i, *args) == 0
        assert pb.func.hessian(lambda x, i=i: getattr(special, name)(*args[:i], x, *args[i + 1 :]))(args[i]) == 0


def test_where_a_search_found_nothing_there_is_no_slope():
    assert np.isnan(pb.func.grad(lambda p: special.nctdtrinc(2.0, p, 3.0))(0.0))


@pytest.mark.parametrize(
    ("name", "args", "parameters"),
    [
        ("gammaincinv", (2.0, 0.0), 1), ("betaincinv", (2.0, 3.0, 0.0), 2), ("betainccinv", (1.0, 3.0, 0.0), 2),
        ("betaincinv", (2.0, 3.0, 1.0), 2), ("fdtri", (2.0, 3.0, 0.0), 2), ("ncfdtri", (1.0, 2.0, 3.0, 0.0), 3),
    ],
)  # fmt: skip
def test_the_quantiles_of_zero_and_one_move_with_no_parameter(name, args, parameters):
    for i in range(parameters):
        assert slope(name, i, *args) == 0


@pytest.mark.parametrize("x", [0.0, 1e-5, 0.7, 1.0, 2.5])
def test_integrals_of_bessel_functions_near_zero(x):
    """it2j0y0, it2i0k0 and it2struve0 have slopes in which terms cancel near 0."""
    k = range(40)
    with mp.workdps(40):
        t = mp.mpf(x) / 2
        j = sum((-1) ** i * t ** (2 * i + 1) / mp.factorial(i + 1) ** 2 for i in k) / 2
        i0 = sum(t ** (2 * i + 1) / mp.factorial(i + 1) ** 2 for i in k) / 2
        h = -2 / mp.pi * sum((-1) ** i * (2 * t) ** (2 * i) / mp.fac2(2 * i + 1) ** 2 for i in k)
    np.testing.assert_allclose(pb.func.grad(lambda x: special.it2j0y0(x)[0])(x), float(j), rtol=1e-13)
    np.testing.assert_allclose(pb.func.grad(lambda x: special.it2i0k0(x)[0])(x), float(i0), rtol=1e-13)
    np.testing.assert_allclose(slope("it2struve0", 0, x), float(h), rtol=1e-13)


@pytest.mark.parametrize(("df", "t"), [(0.0438, 2.55), (0.1, 1e10), (0.02, 40.0)])
def test_students_t_with_few_degrees_of_freedom(df, t):
    def tail(d):
        return 1 - mp.betainc(d / 2, mp.mpf(1) / 2, 0, d / (d + mp.mpf(t) ** 2), regularized=True) / 2

    with mp.workdps(40):
        wanted = [float(mp.diff(tail, mp.mpf(df), n)) for n in (1, 2)]
    f = pb.func.grad(lambda d: special.stdtr(d, t))
    np.testing.assert_allclose([f(df), pb.func.grad(f)(df)], wanted, rtol=1e-12)


def test_far_tails_of_the_f_distribution_keep_their_digits():
    a, b, x = 0.2286, 0.074, 3.7e14  # where w = a x / (a x + b) is 1 within rounding

    def upper(a, b):
        return mp.betainc(b / 2, a / 2, 0, b / (b + a * mp.mpf(x)), regularized=True)

    with mp.workdps(40):
        wanted = [float(-mp.diff(upper, (mp.mpf(a), mp.mpf(b)), n)) for n in ((1, 0), (0, 1))]
    np.testing.assert_allclose([slope("fdtr", 0, a, b, x), slope("fdtr", 1, a, b, x)], wanted, rtol=1e-11)


@pytest.mark.parametrize(("place", "central"), [(0, 0), (1, 1), (3, 2)])
def test_far_tails_of_the_noncentral_f_distribution_keep_their_digits_too(place, central):
    for dfn, dfd, f in ((0.5, 0.05, 1e14), (3.0, 0.05, 1e14), (1000.0, 0.05, 1e8), (3.0, 3.0, 1e-14)):
        found, wanted = slope("ncfdtr", place, dfn, dfd, 0.0, f), slope("fdtr", central, dfn, dfd, f)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("args", "place", "wanted"),
    [  # central differences in mpmath's 40 digits
        ((5.768293753245499, -54.80424957177755, 0.0003720062710645069), 2, 130248.918),
        ((5.77, 54.8, 271.0), 2, 7.666e-6), ((5.77, 54.8, 271.0), 1, -3.785e-5), ((5.77, 54.8, 271.0), 0, 4.4465e-4),
    ],
)  # fmt: skip
def test_the_noncentral_t_distribution_far_from_the_center(args, place, wanted):
    function = special.nctdtrit if args[2] < 1 else special.nctdtr
    slope = pb.func.grad(lambda x: function(*args[:place], x, *args[place + 1 :]))(args[place])
    assert slope == pytest.approx(wanted, rel=2e-4)


@pytest.mark.parametrize(("df", "t"), [(0.5, 1e18), (0.001, 1e17), (3.0, 1e6), (100.0, 10.0), (0.5, -1e18)])
def test_the_noncentral_t_distribution_moves_with_df_as_students_does_at_the_center(df, t):
    wanted = pb.func.grad(lambda df: special.stdtr(df, t))(df)
    assert pb.func.grad(lambda df: special.nctdtr(df, 0.0, t))(df) == pytest.approx(wanted, rel=1e-9, abs=0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_noncentral_t_distribution_of_few_degrees_of_freedom_far_from_its_center(side):
    # the rest, 1 - F or F, falls as |t|**-df
    df, nc, t = 0.01, 0.5, side * 1e18
    density = pb.func.grad(lambda t: special.nctdtr(df, nc, t))(t)
    beyond = special.nctdtr(df, nc, t) if side < 0 else 1 - special.nctdtr(df, nc, t)
    assert density * abs(t) == pytest.approx(df * beyond, rel=1e-8)


@pytest.mark.parametrize(("df", "nc"), [(1.0, 10.0), (2.0, 20.0), (6.0, 40.0), (10.0, 60.0), (30.0, -20.0)])
def test_the_density_of_the_noncentral_t_distribution_is_the_slope(df, nc):
    for q in (0.01, 0.5, 0.99):
        t = special.nctdtrit(df, nc, q)
        assert pb.func.grad(lambda t: special.nctdtr(df, nc, t))(t) == pytest.approx(
            scipy.stats.nct.pdf(t, df, nc), rel=1e-6
        )


@pytest.mark.parametrize(
    ("name", "place", "args"),
    [
        ("expn", 0, (2.0, 1.2)), ("pro_ang1", 1, (1.0, 1.0, 1.0, 0.2)), ("mathieu_cem", 0, (1.0, 0.2, 3.0)),
        ("smirnov", 0, (5.0, 0.3)), ("struve", 0, (1.5, 2.0)), ("eval_gegenbauer", 0, (1.5, 0.5, 0.2)),
        ("lpmv", 1, (1.0, 2.0, 0.2)),
    ],
)  # fmt: skip
def test_orders_and_degrees_have_no_derivative_and_the_error_says_what_to_write(name, place, args):
    def f(x):
        found = getattr(special, name)(*args[:place], x, *args[place + 1 :])
        return found[0] if isinstance(found, tuple) else found

    with pytest.raises(NotImplementedError, match=rf"derivative for '{name}'.* is wanted, detach\(\) it"):
        pb.func.grad(f)(args[place])
    with pytest.raises(NotImplementedError, match=name):
        pb.func.jvp(f, (args[place],), (1.0,))
