"""A derivative in a direction that is exactly 0 is 0, whatever the slope: masked branches give no NaN."""

import threading
import warnings

import numpy as np
import pytest

import pullback as pb

NAN, INF = np.nan, np.inf

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the forward, which does compute log(0)


def cut(f):
    """f(x) where x > 0, and 0 elsewhere."""
    return lambda x: pb.where(x > 0, f(x), 0.0)


def overwritten(x):
    y = x.log()
    y[~(x > 0)] = 0.0
    return y


def filled(x):
    return x.log().masked_fill(~(x > 0), 0.0)


def chosen(x):
    return x.sqrt()[x > 0]


def selected(x):
    return x.sqrt().masked_select(x > 0)


def chain(x):
    return pb.where(x > 0, (x.sqrt() + 1 / x).log(), 0.0)


AT = [-1.0, 0.0, NAN, -INF, 4.0]
# name, function, its derivative and its second at 4; both are 0 at the others
MASKED = [
    ("sqrt", cut(pb.sqrt), 0.25, -1 / 32),
    ("rsqrt", cut(pb.rsqrt), -1 / 16, 3 / 128),
    ("log", cut(pb.log), 0.25, -1 / 16),
    ("reciprocal", cut(lambda x: 1 / x), -1 / 16, 1 / 32),
    ("root times x", cut(lambda x: x.sqrt() * x), 3.0, 0.375),
    ("power", cut(lambda x: x**0.5), 0.25, -1 / 32),
    ("power of numbers", cut(lambda x: pb.pow(x, -1)), -1 / 16, 1 / 32),
    ("x log x", cut(lambda x: x * x.log()), np.log(4.0) + 1, 0.25),
    ("x / x", cut(lambda x: x / x), 0.0, 0.0),
    ("acosh", cut(lambda x: pb.acosh(x + 1)), 24**-0.5, -5 * 24**-1.5),
    ("digamma", cut(pb.digamma), 0.28382295573711526, -0.0800397322451146),
    ("written over", overwritten, 0.25, -1 / 16),
    ("masked_fill", filled, 0.25, -1 / 16),
    ("index", chosen, 0.25, -1 / 32),
    ("masked_select", selected, 0.25, -1 / 32),
    ("NumPy's where", lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.25, -1 / 32),
    ("nan_to_num", lambda x: pb.nan_to_num(x.sqrt().log(), 0.0, 0.0, 0.0), 1 / 8, -1 / 32),
]
IDS = [case[0] for case in MASKED]
CASES = pytest.mark.parametrize(("f", "slope", "second"), [case[1:] for case in MASKED], ids=IDS)


def expected(last):
    return [0.0, 0.0, 0.0, 0.0, last]


@CASES
def test_backward(f, slope, second):
    x = pb.tensor(AT, requires_grad=True)
    f(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected(slope), rtol=1e-13)


@CASES
def test_each_element_alone(f, slope, second):
    for value, gradient in zip(AT, expected(slope), strict=True):
        x = pb.tensor([value], requires_grad=True)
        f(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), [gradient], rtol=1e-13)


@CASES
def test_backward_that_is_recorded_and_its_own(f, slope, second):
    x = pb.tensor(AT, requires_grad=True)
    (grad,) = pb.autograd.grad(f(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(grad.detach().numpy(), expected(slope), rtol=1e-13)
    grad.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected(second), rtol=1e-13)


@CASES
def test_function_transforms_nested(f, slope, second):
    gradient = pb.func.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(gradient(np.array(AT)), expected(slope), rtol=1e-13)
    np.testing.assert_allclose(pb.func.grad(lambda x: gradient(x).sum())(np.array(AT)), expected(second), rtol=1e-13)


@CASES
def test_forward_mode(f, slope, second):
    for i in range(len(AT)):
        direction = np.zeros(len(AT))
        direction[i] = 1.0
        _, tangent = pb.func.jvp(lambda x: f(x).sum(), (np.array(AT),), (direction,))
        np.testing.assert_allclose(tangent, expected(slope)[i], rtol=1e-13)


@CASES
def test_forward_over_reverse_and_reverse_over_forward(f, slope, second):
    at, ones = np.array(AT), np.ones(len(AT))
    _, tangent = pb.func.jvp(pb.func.grad(lambda x: f(x).sum()), (at,), (ones,))
    np.testing.assert_allclose(tangent, expected(second), rtol=1e-13)
    turned = pb.func.grad(lambda x: pb.func.jvp(lambda y: f(y).sum(), (x,), (ones,))[1])(at)
    np.testing.assert_allclose(turned, expected(second), rtol=1e-13)


def test_a_chain_of_poles():
    x = pb.tensor([0.0, 1.0], requires_grad=True)
    chain(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.0, -0.25], rtol=1e-15)


def test_missing_values_leave_the_fit_alone():
    data = np.array([1.0, NAN, 3.0])
    x = pb.tensor([0.0, 0.0, 0.0], requires_grad=True)
    pb.nansum((x - data) ** 2).backward()
    assert x.grad.tolist() == [-2.0, 0.0, -6.0]
    slope = pb.func.grad(lambda a: np.nanmean((a * data - 1.0) ** 2))(np.array(2.0))
    assert slope == (2 * 1 * 1 + 2 * 5 * 3) / 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.complex128, np.longdouble])
def test_other_dtypes_keep_theirs(dtype):
    x = pb.tensor(np.array([0.0, 4.0], dtype), requires_grad=True)
    pb.where(np.array([False, True]), x.log(), dtype(0)).abs().sum().backward()
    assert x.grad.dtype == dtype
    assert x.grad.tolist() == [0.0, 0.25]


def test_numbers_without_dimensions_and_broadcasting():
    x = pb.tensor(0.0, requires_grad=True)
    pb.where(x > 0, x.sqrt(), 0.0).backward()
    assert x.grad.item() == 0.0
    a, b = pb.tensor([[0.0], [2.0]], requires_grad=True), pb.tensor([0.0, 4.0], requires_grad=True)
    pb.where((a > 0) & (b > 0), b / a, 0.0).sum().backward()
    assert a.grad.tolist() == [[0.0], [-1.0]]
    assert b.grad.tolist() == [0.0, 0.5]


def test_what_the_loss_does_depend_on_stays_infinite_or_nan():
    x = pb.tensor([0.0, -1.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [INF, NAN, 0.25])
    y = pb.tensor([0.0, 0.0], requires_grad=True)
    (y * y).sum().sqrt().backward()  # infinite cotangent, slope 0: which of them wins is not to be known
    assert np.isnan(y.grad.numpy()).all()


def test_a_slope_without_mask_is_as_numbers_have_it():
    x = pb.tensor([NAN, 4.0], requires_grad=True)
    (x.log() * 0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [NAN, 0.0])


def test_hooks_see_what_arrives():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    root, seen = x.sqrt(), []
    root.register_hook(lambda g: seen.append(g.tolist()))
    root.grad_fn.register_hook(lambda grads, _: seen.append(grads[0].tolist()))
    pb.where(x > 0, root, 0.0).sum().backward()
    assert seen == [[0.0, 1.0], [0.0, 0.25]]


def test_nothing_is_left_behind():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    pb.where(x > 0, x.sqrt(), 0.0).sum().backward()
    y = pb.where(x > 0, x.sqrt(), 0.0)
    y.grad_fn(pb.tensor([1.0, 1.0]))  # a node run by hand, outside of any backward
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    with np.errstate(invalid="raise"):
        pb.where(x > 0, x.sqrt(), 0.0).sum().backward()
        with pytest.raises(FloatingPointError):
            np.zeros(1) / np.zeros(1)


def test_a_backward_inside_another_does_not_make_it_careless():
    x = pb.tensor([NAN, 4.0], requires_grad=True)
    y = x.log()

    def inner(grad):
        z = pb.tensor([0.0], requires_grad=True)
        with pb.enable_grad():
            pb.where(z > 0, z.sqrt(), 0.0).sum().backward()
        return grad

    y.register_hook(inner)
    pb.where(x > 0, y, 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_threads_are_careful_each_for_itself():
    failures = []

    def work():
        for _ in range(200):
            x = pb.tensor([-1.0, 0.0, 4.0], requires_grad=True)
            with warnings.catch_warnings():
                pb.where(x > 0, x.sqrt(), 0.0).sum().backward()
            if x.grad.tolist() != [0.0, 0.0, 0.25]:
                failures.append(x.grad.tolist())

    with np.errstate(all="ignore"):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


@pytest.mark.parametrize("pool", [pb.nn.functional.lp_pool1d, pb.nn.functional.lp_pool2d])
def test_the_zero_slope_of_a_pool_of_zeros_is_no_mask(pool):
    dims = 1 if pool is pb.nn.functional.lp_pool1d else 2

    def f(x):
        return pool(x.sqrt().reshape((1,) * dims + (-1,)), 2.0, 2 if dims == 1 else (1, 2)).sum()

    x = np.array([0.0, 0.0, 4.0, 9.0])
    slope = pb.func.grad(f)(x)
    assert np.isnan(slope[:2]).all()
    assert np.isfinite(slope[2:]).all()
    assert np.isnan(pb.func.jvp(f, (x,), (np.ones(4),))[1])
    assert (
        pb.func.grad(lambda x: pool(x.reshape((1,) * dims + (-1,)), 2.0, (1,) * (dims - 1) + (2,)).sum())(
            np.zeros(4)
        ).tolist()
        == [0.0] * 4
    )


@pytest.mark.parametrize("x", [-0.5, 1.5, np.nan])
def test_logit_outside_of_its_domain_is_nan_at_every_order(x):
    f = pb.logit
    for _ in range(3):
        f = pb.func.grad(f)
        assert np.isnan(f(np.array(x)))


def test_logit_clamped_is_constant_outside_and_nan_at_nan():
    slope = pb.func.grad(lambda x: pb.logit(x, 0.1))
    assert [slope(np.array(x)) for x in (-0.5, 0.05, 1.5)] == [0.0] * 3
    assert pb.func.grad(slope)(np.array(0.05)) == 0
    assert np.isnan(slope(np.array(np.nan)))


def test_zeros_of_grad_outputs_count_unless_a_derivative_by_them_is_recorded():
    x, v = pb.tensor([0.0, 1.0, 4.0], requires_grad=True), pb.tensor([0.0, 0.0, 1.0], requires_grad=True)
    assert pb.autograd.grad(x.sqrt(), x, v)[0].tolist() == [0.0, 0.0, 0.25]
    recorded = pb.autograd.grad(x.sqrt(), x, v, create_graph=True)[0].tolist()
    assert np.isnan(recorded[0])
    assert recorded[1:] == [0.0, 0.25]
