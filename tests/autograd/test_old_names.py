"""Names and arguments that PyTorch keeps, some for old code: programs that use them run with the import changed."""

import importlib

import numpy as np
import pytest

import pullback as pb
from pullback import autograd
from pullback.autograd import Variable
from pullback.autograd.function import Function, FunctionCtx, InplaceFunction, once_differentiable
from pullback.utils.checkpoint import checkpoint, noop_context_fn


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


# -- Variable ---------------------------------------------------------------------------------------------------


def test_variable_gives_a_leaf_that_shares_the_memory():
    data = leaf() * 2
    x = Variable(data, requires_grad=True)
    assert type(x) is pb.Tensor
    assert x.is_leaf
    assert x.requires_grad
    assert not Variable(data).requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8]
    Variable(data).zero_()
    assert data.tolist() == [0, 0]


def test_every_tensor_is_a_variable_and_nothing_else_is():
    assert isinstance(leaf(), Variable)
    assert not isinstance(np.ones(2), Variable)
    with pytest.raises(TypeError, match=r"takes a Tensor, got ndarray; make a leaf with pullback\.tensor"):
        Variable(np.ones(2))


# -- modules where PyTorch has them ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("anomaly_mode", ("detect_anomaly", "set_detect_anomaly")),
        ("grad_mode", ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled")),
        ("variable", ("Variable",)),
        ("gradcheck", ("gradcheck", "gradgradcheck", "GradcheckError")),
        ("function", ("Function", "FunctionCtx", "InplaceFunction", "once_differentiable")),
    ],
)
def test_submodules_hold_what_pytorchs_do(module, names):
    home = importlib.import_module(f"pullback.autograd.{module}")
    for name in names:
        assert getattr(home, name) is getattr(autograd, name, getattr(home, name))


def test_ctx_is_a_functionctx_and_an_inplacefunction_a_function():
    class Double(InplaceFunction):
        @staticmethod
        def forward(ctx: FunctionCtx, x):
            assert isinstance(ctx, FunctionCtx)
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        @once_differentiable
        def backward(ctx: FunctionCtx, grad):
            assert isinstance(ctx, FunctionCtx)
            return grad * 2

    assert issubclass(Double, Function)
    x = leaf()
    y = Double.apply(x * 1)
    assert y.grad_fn.name() == "DoubleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_noop_context_fn_may_be_named_as_context_fn():
    x = leaf()
    checkpoint(lambda x: x.exp(), x, use_reentrant=False, context_fn=noop_context_fn).sum().backward()
    assert x.grad.tolist() == x.exp().tolist()


# -- threads ------------------------------------------------------------------------------------------------------


def test_multithreading_may_be_switched_and_stays_off():
    with autograd.set_multithreading_enabled(True):
        assert not autograd.is_multithreading_enabled()

    @autograd.set_multithreading_enabled(False)
    def gradient(x):
        return autograd.grad((x * x).sum(), x)[0]

    assert gradient(leaf()).tolist() == [2, 4]
    with pytest.raises(TypeError, match="takes a bool, got int"):
        autograd.set_multithreading_enabled(1)


# -- arguments ------------------------------------------------------------------------------------------------------


def test_backward_takes_grad_variables_with_a_warning():
    x = leaf()
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead") as caught:
        autograd.backward(x * 2, grad_variables=pb.tensor([1.0, 10.0]))
    assert caught[0].filename == __file__
    assert x.grad.tolist() == [2, 20]
    y = x * 2
    with (
        pytest.warns(FutureWarning),
        pytest.raises(RuntimeError, match=r"`grad_tensors` and `grad_variables` .*both given; pass `grad_tensors`"),
    ):
        autograd.backward(y, pb.ones(2), grad_variables=pb.ones(2))
    assert x.grad.tolist() == [2, 20]


def test_backward_takes_its_arguments_in_pytorchs_order():
    x, w = leaf(), leaf()
    autograd.backward((x * w).sum(), None, True, False, None, [x])
    assert x.grad.tolist() == [1, 2]
    assert w.grad is None


def test_grad_takes_its_arguments_in_pytorchs_order():
    x, unused = leaf(), leaf()
    y = (x * x).sum()
    assert autograd.grad(y, (x, unused), None, True, False, True, True)[1] is None
    (rows,) = autograd.grad(y, x, pb.tensor([1.0, 2.0]), True, False, True, None, True)
    assert rows.tolist() == [[2, 4], [4, 8]]


def test_only_inputs_is_accepted_and_false_ignored_with_a_warning():
    x, w = leaf(), leaf()
    y = (x * w).sum()
    assert autograd.grad(y, x, only_inputs=True, retain_graph=True)[0].tolist() == [1, 2]
    with pytest.warns(FutureWarning, match=r"only_inputs=False is ignored.*autograd\.backward") as caught:
        assert autograd.grad(y, x, only_inputs=False)[0].tolist() == [1, 2]
    assert caught[0].filename == __file__
    assert w.grad is None


def test_a_dict_of_inputs_gives_a_dict_of_gradients():
    parameters = {"weight": leaf(), "bias": leaf(), "unused": leaf()}
    loss = (parameters["weight"] * 3 + parameters["bias"]).sum()
    grads = autograd.grad(loss, parameters, allow_unused=True, retain_graph=True)
    assert list(grads) == ["weight", "bias", "unused"]
    assert (grads["weight"].tolist(), grads["bias"].tolist(), grads["unused"]) == ([3, 3], [1, 1], None)
    zeros = autograd.grad(loss, parameters, materialize_grads=True, retain_graph=True)["unused"]
    assert zeros.tolist() == [0, 0]
    autograd.backward(loss, inputs={"bias": parameters["bias"]})
    assert parameters["bias"].grad.tolist() == [1, 1]
    assert parameters["weight"].grad is None
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `grad\(\)` cannot be empty"):
        autograd.grad(loss, {})


# -- names that are not there -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("bfloat16", "use float32 or float16"),
        ("cuda", "leave devices out"),
        ("FloatTensor", r"pullback\.tensor\(data, dtype=...\)"),
        ("save", "use pickle"),
        ("Size", r"a shape is a tuple"),
    ],
)
def test_a_missing_name_says_what_to_write_instead(name, remedy):
    with pytest.raises(AttributeError, match=f"'pullback' has no attribute '{name}': .*{remedy}"):
        getattr(pb, name)


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'pullback' has no attribute 'nope'$"):
        pb.nope
