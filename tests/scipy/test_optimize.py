"""Solvers of scipy.optimize in transforms: nothing is silent, whichever way a variable gets in."""

import functools
import warnings

import numpy as np
import pytest
from scipy import optimize
from scipy.sparse.linalg import LinearOperator

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError
from pullback.interop.adopt.views import genuine_of
from tests.scipy.test_calls import differences

X = np.array([1.37, 0.71])


@pytest.fixture(autouse=True)
def adopting():
    with pb.adopt():
        yield


def cubic(z, a, b):
    return z**3 + a * z - b


def bowl(z, x):
    return np.sum(np.cosh(z - x) + 0.3 * x * z**2)


def exponential(t, a, k):
    return a * np.exp(-k * t)


T = np.linspace(0, 1, 9)


class Decay:
    """A model with its parameters in an attribute, as programs have it."""

    def __init__(self, p):
        self.p = p

    def residual(self, x):
        return x[0] * np.exp(-x[1] * T) - self.p[0] * np.exp(-self.p[1] * T) - 0.1 * T**2

    def cost(self, x):
        return np.sum(self.residual(x) ** 2)


def quartic(p):
    return lambda x: np.sum((x - p) ** 4 + x**2)


EXACT = {"xtol": 1e-14, "ftol": 1e-14}
CAPTURED = {  # name: (a call, the same with `args`)
    "brentq": (
        lambda p: optimize.brentq(lambda z: z**3 + p[1] * z - p[0], 0, 3),
        lambda p: optimize.brentq(cubic, 0, 3, (p[1], p[0])),
    ),
    "newton by fprime": (
        lambda p: optimize.newton(lambda z: z**3 + p[1] * z - p[0], 1.0, fprime=lambda z: 3 * z**2 + p[1]),
        lambda p: optimize.newton(cubic, 1.0, args=(p[1], p[0])),
    ),
    "fsolve, a default": (
        lambda p: optimize.fsolve(lambda z, p=p: z**3 + p * z - 1, np.ones(2)),
        lambda p: optimize.fsolve(lambda z, p: z**3 + p * z - 1, np.ones(2), (p,)),
    ),
    "root by jac, args too": (
        lambda p: (
            optimize.root(lambda z, a: z**3 + p * z - a, np.ones(2), (p[0],), jac=lambda z, a: np.diag(3 * z**2 + p)).x
        ),
        lambda p: optimize.root(lambda z, p, a: z**3 + p * z - a, np.ones(2), (p, p[0])).x,
    ),
    "root, its jac beside": (
        lambda p: optimize.root(lambda z: (z**3 + p * z - 1, np.diag(3 * z**2 + p)), np.ones(2), jac=True).x,
        lambda p: optimize.root(lambda z, p: z**3 + p * z - 1, np.ones(2), (p,)).x,
    ),
    "fixed_point, a partial": (
        lambda p: optimize.fixed_point(functools.partial(lambda p, z: p * np.cos(z) / 9, p), np.ones(2)),
        lambda p: optimize.fixed_point(lambda z, p: p * np.cos(z) / 9, np.ones(2), (p,)),
    ),
    "minimize": (
        lambda p: optimize.minimize(quartic(p), np.ones(2), tol=1e-12).x,
        lambda p: optimize.minimize(lambda x, p: quartic(p)(x), np.ones(2), (p,), tol=1e-12).x,
    ),
    "minimize, its value": (
        lambda p: optimize.minimize(quartic(p), np.ones(2), tol=1e-12).fun,
        lambda p: optimize.minimize(lambda x, p: quartic(p)(x), np.ones(2), (p,), tol=1e-12).fun,
    ),
    "minimize_scalar": (
        lambda p: optimize.minimize_scalar(lambda x: (x - p[0]) ** 4 + p[1] * x**2, tol=1e-12).x,
        lambda p: optimize.minimize_scalar(lambda x, p: (x - p[0]) ** 4 + p[1] * x**2, args=(p,), tol=1e-12).x,
    ),
    "fmin_bfgs": (
        lambda p: optimize.fmin_bfgs(quartic(p), np.ones(2), gtol=1e-10, disp=0),
        lambda p: optimize.fmin_bfgs(lambda x, p: quartic(p)(x), np.ones(2), args=(p,), gtol=1e-10, disp=0),
    ),
    "least_squares, a method": (
        lambda p: optimize.least_squares(Decay(p).residual, [1.0, 1.0], **EXACT).x,
        lambda p: optimize.least_squares(lambda x, p: Decay(p).residual(x), [1.0, 1.0], args=(p,), **EXACT).x,
    ),
    "leastsq": (
        lambda p: optimize.leastsq(Decay(p).residual, [1.0, 1.0], **EXACT)[0],
        lambda p: optimize.leastsq(lambda x, p: Decay(p).residual(x), [1.0, 1.0], (p,), **EXACT)[0],
    ),
    "curve_fit": (
        lambda p: optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t) + p[1] * t**2, T, 1 + p[0] * T)[0],
        lambda p: optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), T, 1 + p[0] * T - p[1] * T**2)[0],
    ),
    "one in another": (
        lambda p: optimize.brentq(lambda x: x - optimize.brentq(lambda y: y**3 + p[0] * y - p[1] - x, 0, 5), 0.1, 5),
        lambda p: optimize.brentq(lambda x, a, b: x - optimize.brentq(cubic, 0, 5, (a, b + x)), 0.1, 5, (p[0], p[1])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURED)
def test_what_functions_capture_counts_as_what_comes_in_args(name):
    captured, by_args = (lambda p, f=f: np.sum(np.cos(f(p))) for f in CAPTURED[name])
    np.testing.assert_allclose(captured(X), by_args(X), rtol=1e-6)
    for derivative in (pb.func.grad, pb.func.jacfwd, pb.func.hessian):
        np.testing.assert_allclose(derivative(captured)(X), derivative(by_args)(X), rtol=1e-5, atol=1e-7)
    assert np.any(pb.func.grad(captured)(X))


def test_a_captured_tensor_outside_of_transforms():
    a = pb.tensor([1.3, 2.0], requires_grad=True)
    optimize.root(lambda z: z**3 + a * z - 2, np.ones(2)).x.sum().backward()
    expected = pb.func.grad(lambda a: optimize.root(lambda z: z**3 + a * z - 2, np.ones(2)).x.sum())(
        np.array([1.3, 2.0])
    )
    np.testing.assert_allclose(a.grad.numpy(), expected)


def test_fields_that_would_be_constants_are_not_there_and_say_so():
    def slope(x):
        found = optimize.minimize(quartic(x), np.ones(2))
        assert "hess_inv" not in found
        assert not hasattr(found, "__array__")
        return np.sum(found.jac)

    with pytest.raises(
        AttributeError, match=r"'jac': where a solution is being differentiated, its result has only x, fun"
    ):
        pb.func.grad(slope)(X)
    with pytest.raises(KeyError, match="'jac': where a solution is being differentiated"):
        pb.func.grad(lambda x: optimize.minimize(quartic(x), np.ones(2))["jac"].sum())(X)


KEPT = []  # a global variable is not looked for


def test_what_a_function_finds_elsewhere_is_refused():
    def find(x):
        KEPT[:] = [x]
        return optimize.minimize(lambda z: np.sum((z - KEPT[0]) ** 2), np.zeros(2)).x.sum()

    with pytest.raises(RuntimeError, match=r"scipy\.optimize\.minimize"):
        pb.func.grad(find)(X)
    KEPT.clear()


ELSEWHERE = {
    "bounds": lambda x: optimize.minimize(bowl, np.zeros(2), X, bounds=[(None, x[0])] * 2).x,
    "Bounds": lambda x: optimize.minimize(bowl, np.zeros(2), X, bounds=optimize.Bounds(x - 5, x)).x,
    "bounds of lsq_linear": lambda x: optimize.lsq_linear(np.eye(2), np.ones(2), (-1, x)).x,
    "constraint's args": lambda x: (
        optimize.minimize(
            bowl, np.zeros(2), X, constraints={"type": "eq", "fun": lambda z, a: z[0] - a, "args": (x[0],)}
        ).x
    ),
    "LinearConstraint": lambda x: (
        optimize.minimize(bowl, np.zeros(2), X, constraints=optimize.LinearConstraint(np.eye(2), -x, x)).x
    ),
    "constraint": lambda x: (
        optimize.minimize(bowl, np.zeros(2), X, constraints={"type": "eq", "fun": lambda z: z[0] - x[0]}).x
    ),
    "tolerance": lambda x: optimize.brentq(cubic, -3, 3, (1.0, 2.0), x[0]),
}


def test_the_keyword_arguments_of_a_function_are_differentiable():
    def find(x):
        return np.sum(optimize.least_squares(lambda z, b, a: z - a * b, np.ones(2), args=(x,), kwargs={"a": x}).x)

    np.testing.assert_allclose(pb.func.grad(find)(X), 2 * X)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_differentiated_elsewhere_is_refused(name):
    with pytest.raises((RuntimeError, TypeError), match=r"scipy\.optimize"):
        pb.func.grad(lambda x: np.sum(ELSEWHERE[name](x)))(X)


@pytest.mark.parametrize(
    "find",
    [
        lambda x: optimize.root(lambda z, a: z**2 + a, np.ones(2), (x,)).x,
        lambda x: optimize.minimize(bowl, np.full(2, 5.0), (x,), options={"maxiter": 1}).x,
        lambda x: optimize.fmin(bowl, np.full(2, 5.0), (x,), maxiter=2, disp=0),
        lambda x: optimize.root_scalar(cubic, (x[0], x[1]), "secant", x0=50.0, x1=60.0, maxiter=2).root,
        lambda x: optimize.newton(cubic, np.full(2, 50.0), None, (x, x), maxiter=2, full_output=True, disp=False)[0],
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_did_not_converge_has_no_gradient(find):
    with pytest.raises(RuntimeError, match=r"converge|not a solution|not found"):
        pb.func.grad(lambda x: np.sum(find(x)))(X)


class TestBounds:
    def find(self, x):
        return optimize.minimize(bowl, np.zeros(2), (x,), bounds=[(None, 0.2)] * 2, tol=1e-12).x

    def test_a_parameter_that_is_held_does_not_move(self):
        """At [1.37, 0.1] the first is held, and the second is free."""
        x = np.array([1.37, 0.1])
        assert self.find(x)[0] == 0.2
        jacobian = pb.func.jacrev(self.find)(x)
        np.testing.assert_array_equal(jacobian[0], 0)
        expected = differences(lambda x: self.find(x)[1], x)  # of a solution by differences
        np.testing.assert_allclose(jacobian[1], expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(pb.func.jacfwd(self.find)(x), jacobian, rtol=1e-12)

    def test_samples_of_vmap_have_bounds_of_their_own(self):
        batch = np.array([[1.37, 0.1], [0.1, 1.37]])
        gradient = pb.func.grad(lambda x: self.find(x).sum())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that samples run one after the other is said once in a process
            together = pb.func.vmap(gradient)(batch)
        np.testing.assert_allclose(together, [gradient(x) for x in batch])
        assert (together == 0).sum() == 2

    @pytest.mark.parametrize(
        "find",
        [
            lambda x: optimize.nnls(np.eye(2), x)[0],
            lambda x: optimize.lsq_linear(np.eye(2), x, (0, 3), method="bvls").x,
            lambda x: optimize.minimize(lambda z, x: np.sum((z - x) ** 2), np.ones(2), (x,), bounds=[(0, 3)] * 2).x,
            lambda x: optimize.fmin_tnc(
                lambda z, x: np.sum((z - x) ** 2), np.ones(2), None, (x,), 1, [(0, 3)] * 2, disp=0
            )[0],
        ],
        ids=["nnls", "lsq_linear", "minimize", "fmin_tnc"],
    )
    def test_a_kink_is_refused(self, find):
        with pytest.raises(RuntimeError, match="kink"):
            pb.func.grad(lambda x: np.sum(find(x)))(np.array([0.0, 1.0]))


def test_second_derivatives_and_both_modes():
    root = lambda a: optimize.brentq(cubic, -3, 5, (a, 2.0))  # noqa: E731
    second = pb.func.grad(pb.func.grad(root))(1.3)
    np.testing.assert_allclose(second, differences(lambda a: pb.func.grad(root)(a[0]), np.array([1.3]))[0], rtol=1e-6)
    np.testing.assert_allclose(pb.func.jvp(pb.func.grad(root), (1.3,), (1.0,))[1], second)


def test_backward_of_a_tensor():
    a = pb.tensor(np.array([1.3]), requires_grad=True)
    found = optimize.root_scalar(cubic, (a[0], 2.0), bracket=(-3, 5))
    assert found.converged
    found.root.backward()
    z = found.root.detach().item()
    np.testing.assert_allclose(a.grad.numpy(), [-z / (3 * z**2 + 1.3)])


def test_the_covariance_of_a_fit_moves_with_the_data():
    t = np.linspace(0, 3, 8)
    y = np.cos(t) + 3
    for kwargs in ({}, {"sigma": 1 + t, "absolute_sigma": True}, {"sigma": np.diag(1 + t) + 0.1}):
        size = lambda y, kwargs=kwargs: np.sum(optimize.curve_fit(exponential, t, y, **kwargs)[1])  # noqa: E731
        value, gradient = pb.func.value_and_grad(size)(y)
        np.testing.assert_allclose(value, size(y), rtol=1e-4)
        h = 1e-3 * np.eye(8)
        expected = [(size(y + e) - size(y - e)) / 2e-3 for e in h]
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_a_start_has_no_part_in_the_solution():
    with pytest.warns(pb.extend.IndependentResultWarning):
        gradient = pb.func.grad(lambda x: np.sum(optimize.fsolve(lambda z, a: z - a, x, (2.0,))))(X)
    np.testing.assert_array_equal(gradient, 0)


def test_results_hold_no_arrays_that_look_constant():
    found = {}

    def find(x):
        found["minimize"] = optimize.minimize(bowl, np.zeros(2), (x,))
        found["lbfgs"] = optimize.fmin_l_bfgs_b(bowl, np.zeros(2), None, (x,), True)[2]
        found["fsolve"] = optimize.fsolve(lambda z, a: z - a, np.ones(2), (x,), full_output=True)[1]
        return np.sum(found["minimize"].x)

    pb.func.grad(find)(X)
    assert not {"jac", "hess_inv"} & set(found["minimize"])
    assert "grad" not in found["lbfgs"]
    assert not {"fjac", "qtf"} & set(found["fsolve"])


def test_a_covariance_given_to_curve_fit_is_read_below_its_diagonal():
    t = np.linspace(0.0, 1.0, 4)
    y = np.array([2.0, 1.4, 1.1, 0.7])
    S = np.array([[0.2, 0.05, 0.0, 0.01], [0.05, 0.3, 0.02, 0.0], [0.0, 0.02, 0.25, 0.03], [0.01, 0.0, 0.03, 0.2]])
    D = np.arange(16.0).reshape(4, 4) % 5 - 2

    def fit(S):
        popt, pcov = optimize.curve_fit(
            lambda t, a, b: a * np.exp(-b * t), t, y, [2.0, 1.0], S, True, ftol=1e-14, xtol=1e-14
        )
        return np.sum(popt * [1.0, 2.0]) + np.sum(pcov)

    expected = (fit(S + 1e-5 * D) - fit(S - 1e-5 * D)) / 2e-5
    with pb.adopt():
        slope = pb.func.grad(fit)(S)
        _, tangent = pb.func.jvp(fit, (S,), (D,))
    np.testing.assert_allclose(np.sum(slope * D), expected, rtol=1e-4)
    np.testing.assert_allclose(tangent, expected, rtol=1e-4)
    np.testing.assert_array_equal(np.triu(slope, 1), 0)


def test_the_cost_of_an_assignment_has_the_permutation_for_its_gradient():
    def cost(C):
        rows, columns = optimize.linear_sum_assignment(C)
        assert type(rows) is np.ndarray
        return C[rows, columns].sum()

    C = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    rows, columns = genuine_of(optimize.linear_sum_assignment)(C)
    permutation = np.zeros((3, 3))
    permutation[rows, columns] = 1.0
    np.testing.assert_array_equal(pb.func.grad(cost)(C), permutation)
    np.testing.assert_array_equal(pb.func.grad(lambda C: -cost(-C))(C).sum(0), np.ones(3))


@pytest.mark.parametrize(
    "name", ["differential_evolution", "dual_annealing", "shgo", "direct", "brute", "basinhopping"]
)
def test_a_search_whose_function_holds_a_tensor_is_refused_by_name(name):
    start = np.zeros(2) if name == "basinhopping" else [(0, 3), (0, 3)]
    with pytest.raises(RuntimeError, match=name) as caught:
        pb.func.grad(lambda x: getattr(optimize, name)(lambda z: np.sum((z - x) ** 2), start))(X)
    assert isinstance(caught.value, (UnsupportedError, DetachingError))


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "df-sane", "broyden1"])
def test_roots_by_every_method_have_the_derivative_of_the_solution(method):
    def root(x):
        return optimize.root(lambda z, a: z**3 + z - a, np.ones(2), (x,), method).x

    found, at = pb.func.jacrev(root)(X), root(X)
    np.testing.assert_allclose(found, np.diag(1 / (3 * at**2 + 1)), rtol=1e-9, atol=1e-12)


def test_jacobians_may_be_linear_operators():
    def fit(x):
        def slopes(z, a):
            d = 3 * z**2 + 1
            return LinearOperator((2, 2), matvec=lambda v: d * v.ravel(), rmatvec=lambda v: d * v.ravel())

        return optimize.least_squares(lambda z, a: z**3 + z - a, np.ones(2), slopes, args=(x,), xtol=1e-12).x

    np.testing.assert_allclose(pb.func.jacrev(fit)(X), np.diag(1 / (3 * fit(X) ** 2 + 1)), rtol=1e-6, atol=1e-12)
