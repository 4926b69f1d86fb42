"""Bad calls of public functions end in errors that name the function and the argument: see tests/bad_calls.py."""

import os

import numpy as np
import pytest

import pullback as pb
import pullback.nn.functional as F
from tests import bad_calls

LONG = os.environ.get("PULLBACK_LONG") == "1"


def judged(count, seed):
    with bad_calls.careful():
        outcomes, findings = bad_calls.run(count, seed)
    assert not findings, bad_calls.report(outcomes, findings)
    return outcomes


@pytest.mark.parametrize("seed", [11, 12])
def test_bad_calls_end_in_clear_errors(seed):
    outcomes = judged(2500, seed)
    assert outcomes["result"] > 100
    assert outcomes["TypeError"] > 500


@pytest.mark.skipif(not LONG, reason="takes ten minutes: PULLBACK_LONG=1")
@pytest.mark.parametrize("seed", range(7))
def test_many_bad_calls_end_in_clear_errors(seed):
    judged(20_000, 100 + seed)


X = pb.ones(2, 3)
WEIGHT = pb.tensor(0.5, requires_grad=True)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: pb.sin(None), TypeError, r"^sin\(\): argument 'input' must be a Tensor.*got None"),
        (lambda: X.sum(dim=2), IndexError, r"^sum\(.*expected to be in range of \[-2, 1\], but got 2\)"),
        (lambda: np.sum(X, axis=2), IndexError, r"sum\(.*expected to be in range of \[-2, 1\], but got 2\)"),
        (lambda: X.stride(5), IndexError, r"stride\(\).*in range of \[-2, 1\], but got 5"),
        (lambda: X.size(5), IndexError, r"size\(\).*in range of \[-2, 1\], but got 5"),
        (lambda: F.glu(X, dim=2), IndexError, r"glu\(.*in range of \[-2, 1\], but got 2"),
        (lambda: pb.tensor_split(X, 2, dim=2), IndexError, r"tensor_split\(.*dim: 2.*in range of \[-2, 1\], but got 2"),
        (lambda: pb.fft.fftshift(X, 2), IndexError, r"fft\.fftshift\(.*in range of \[-2, 1\], but got 2"),
        (lambda: pb.fft.fft([1, 2]), TypeError, r"^fft\.fft\(\): argument 'input' must be a Tensor.*got a list"),
        (lambda: pb.lu_solve([1], 2, 3), TypeError, r"^lu_solve\(\): argument .* must be a Tensor"),
        (lambda: pb.einsum("ij", [1]), RuntimeError, r"^einsum\(equation: 'ij', tensors: \[1\]\)"),
        (lambda: pb.is_same_size(X, 3), TypeError, r"^is_same_size\(\): argument 'other' must be a Tensor"),
        (lambda: pb.special.chebyshev_polynomial_v(X, None), TypeError, r"chebyshev_polynomial_v\(\): argument 'n'"),
        (lambda: pb.tensordot(X, X, 3), RuntimeError, r"^tensordot\(.*dims must be between 0 and 2, got 3"),
        (lambda: X @ X, RuntimeError, r"^matmul\(.*float64\(2, 3\).*cannot be multiplied: .* size 2 where 3 is needed"),
        (lambda: pb.isclose(X, X, rtol=X), TypeError, r"^isclose\(\): argument 'rtol' must be a number"),
        (lambda: pb.allclose(X, X, rtol=X), TypeError, r"^allclose\(\): argument 'rtol' must be a number"),
        (lambda: pb.cumsum(X, None), TypeError, r"^cumsum\(\): argument 'dim' must be an int, got None"),
        (lambda: pb.abs_(X, 1, 2), TypeError, r"^abs_\(\) takes 1 positional argument but 3 were given"),
        (lambda: X.__rsub__(), TypeError, r"^Tensor\.__rsub__\(\) missing 1 required positional argument: 'other'"),
        (lambda: X.pow_("a"), TypeError, r"^pow_\(\): argument 'exponent' must be a Tensor.*got str"),
        (lambda: X.half(3), TypeError, r"^Tensor\.half\(\): argument 'memory_format'"),
        (lambda: np.einsum_path(X, X), TypeError, r"np\.einsum_path: argument 'subscripts'"),
        (lambda: pb.broadcast_tensors(X, None), TypeError, r"^broadcast_tensors\(\): argument 'tensors'"),
    ],
)
def test_errors_name_function_and_argument(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("make", [pb.tensor, pb.zeros, pb.rand, pb.asarray, pb.arange])
def test_a_misspelt_keyword_is_asked_for(make):
    with pytest.raises(TypeError, match=rf"^{make.__qualname__}\(\).*'require_grad'; did you mean 'requires_grad'"):
        make(3.0 if make is pb.tensor else 3, require_grad=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.leaky_relu(X, WEIGHT),
        lambda: F.softplus(X, beta=WEIGHT),
        lambda: pb.full((2,), WEIGHT),
        lambda: F.dropout(X, WEIGHT),
        lambda: pb.addmm(X, X, X.T, beta=WEIGHT),
    ],
)
def test_a_number_that_requires_grad_is_refused_where_no_gradient_would_reach_it(call):
    with pytest.raises(TypeError, match="no gradient goes to it"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.sum(0, keepdim="no"),
        lambda: F.dropout(X, training="eval"),
        lambda: pb.sort(X, descending="no"),
        lambda: pb.tril(X, 1.5),
        lambda: pb.unsqueeze(X, True),
        lambda: pb.squeeze(X, True),
        lambda: pb.roll(X, "1"),
        lambda: pb.zeros(2, requires_grad="no"),
        lambda: pb.full((2,), "1"),
    ],
)
def test_what_python_would_take_for_something_else_is_refused(call):
    with pytest.raises(TypeError, match=r"must be .*got"):
        call()


def test_permute_takes_one_dim_as_it_takes_several():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    x.permute(dims=-1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: np.clip(X, None, 1, keepdims=1), TypeError, r"^np\.clip\(.*unexpected keyword argument 'keepdims'"),
        (lambda: pb.ones(3).resize_(bytearray(b"a"), X), TypeError, r"^Tensor\.resize_\(\): argument 'size' must be"),
        (lambda: X.to_device("nope"), ValueError, r"^Tensor\.to_device\(.*device: 'nope'.*Unsupported device"),
        (lambda: pb.vstack(np.array([None, 1])), TypeError, r"^vstack\(\): argument 'tensors' must be a tuple"),
        (lambda: pb.ones(3).resize_(-1), RuntimeError, r"^Tensor\.resize_\(self: .* may be negative"),
        (lambda: pb.func.color_hessian([[1, 2], [3]]), ValueError, r"^func\.color_hessian\(sparsity: .* unequal"),
        (lambda: pb.func.color_jacobian(3), TypeError, "^color_jacobian: sparsity must be .*got an int"),
        (lambda: pb.autograd.graph.show_saved(X, ""), TypeError, r"^show_saved: node must be .*got a Tensor"),
        (lambda: pb.autograd.graph.show_saved(WEIGHT.exp().grad_fn, "x"), ValueError, "nothing under 'x'.*: result"),
    ],
)
def test_functions_that_are_no_operators_name_themselves(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_a_pattern_may_be_of_a_dtype_that_scipy_lacks():
    assert pb.func.color_jacobian(np.eye(3, dtype=np.float16)).passes == 1


def test_errors_of_users_code_stay_as_they_are():
    def wrong(x):
        return x.no_such_attribute

    with pytest.raises(AttributeError, match="no_such_attribute"):
        np.apply_along_axis(wrong, 0, X)
    with pytest.raises(AttributeError, match="no_such_attribute"):
        pb.autograd.functional.jacobian(wrong, X)


def test_public_functions_can_be_pickled():
    import pickle

    for function in (pb.sum, pb.add, pb.abs_, pb.fft.fft, F.relu, pb.linalg.inv, pb.Tensor.view_as, pb.stack):
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: pb.no_grad()(3), "no_grad: it decorates a function, got int; otherwise write `with no_grad"),
        (lambda: pb.no_grad("x"), "no_grad: it decorates a function, got str"),
        (lambda: pb.inference_mode("no"), "inference_mode: mode must be True or False, got str"),
        (lambda: pb.autograd.detect_anomaly(check_nan="no"), "detect_anomaly: check_nan must be True or False"),
        (lambda: pb.autograd.set_detect_anomaly(None), "set_detect_anomaly: mode must be True or False, got NoneType"),
        (lambda: pb.utils.pytree.tree_map([1.0], np.sin), "tree_map: the function comes first, then the trees; got"),
        (lambda: pb.utils.pytree.tree_unflatten(3, pb.utils.pytree.tree_flatten(3)[1]), "tree_unflatten: the leaves"),
        (lambda: pb.utils.checkpoint.checkpoint_sequential(3, 2, X), "checkpoint_sequential: functions is a list.*got"),
        (lambda: pb.utils.checkpoint.checkpoint_sequential([3], 1, X), "checkpoint_sequential: functions is a list"),
        (lambda: pb.custom_vjp(np.sin).defvjp(3), "custom_vjp, custom_jvp: vjp must be callable, got int"),
        (lambda: pb.custom_jvp(np.sin).defjvp(None), "custom_vjp, custom_jvp: jvp must be callable, got NoneType"),
        (lambda: pb.from_dlpack([1.0]), r"from_dlpack: x must be an array with __dlpack__, got list.*pullback.tensor"),
        (lambda: pb.set_rng_state(3), r"set_rng_state\(\): state must be what get_rng_state\(\) gave"),
        (lambda: pb.autograd.function.once_differentiable(3), "once_differentiable: it decorates a backward, got int"),
        (lambda: pb.autograd.graph.disable_saved_tensors_hooks(3), "give the message of the error, a str, got int"),
        (lambda: pb.utils.checkpoint.set_checkpoint_early_stop("no"), "enable must be True or False, got str"),
        (lambda: pb.testing.check_operator("sin"), "check_operator: give the OpInfo of the operator"),
    ],
)
def test_what_no_operator_is_says_what_it_takes(call, match):
    with pytest.raises(TypeError, match=match):
        call()
