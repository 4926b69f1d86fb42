"""`opcheck` finds each mistake that an author of an operator can make, and says in a sentence what is wrong."""

import numpy as np
import pytest

import pullback as pb
from pullback.library import OpCheckError, custom_op, opcheck

X = np.array([0.5, 2.0])


def _cube(name, backward=None, tangent=None, *, tags=(), saved=True, forward=None):
    def cube(x: np.ndarray) -> np.ndarray:
        return x**3

    op = custom_op(f"tests_opcheck::{name}", forward or cube, mutates_args=(), tags=tags)
    if backward is not None:
        op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    if tangent is not None:
        op.register_tangent(tangent)
    return op


def _right(ctx, g):
    return 3 * g * ctx.saved_tensors[0] ** 2


def _failures(op, *args, **options):
    found = opcheck(op, args, raise_exception=False, **options)
    return {test: said for test, said in found.items() if said.startswith("FAILED")}


def test_a_right_operator_passes_every_test():
    op = _cube("right", _right, lambda tangents, y, x: 3 * x**2 * tangents[0], tags="pointwise")
    assert set(opcheck(op, (X,)).values()) == {"SUCCESS"}
    assert set(opcheck(pb.ops.tests_opcheck.right, (X,)).values()) == {"SUCCESS"}


def test_a_wrong_backward_is_found():
    found = _failures(_cube("factor", lambda ctx, g: 2 * g * ctx.saved_tensors[0] ** 2), X)
    assert list(found) == ["test_gradcheck"]  # the second derivative is that of what it gives
    assert "the backward is wrong. Correct what register_autograd was given" in found["test_gradcheck"]


def test_a_wrong_tangent_is_found():
    found = _failures(_cube("tangent", _right, lambda tangents, y, x: 2 * x**2 * tangents[0]), X)
    assert list(found) == ["test_tangent"]
    assert "the tangent is wrong. Correct what register_tangent was given" in found["test_tangent"]


def test_a_backward_that_leaves_the_graph_is_found():
    def leaves(ctx, g):
        return g * pb.from_numpy(3 * ctx.saved_tensors[0].detach().numpy() ** 2)

    assert list(_failures(_cube("leaves", leaves), X)) == ["test_gradgradcheck"]


def test_a_missing_backward_is_found():
    found = _failures(_cube("missing"), X, test_utils="test_autograd_registration")
    assert "no backward is registered" in found["test_autograd_registration"]
    assert "Write missing.register_autograd(" in found["test_autograd_registration"]


def test_a_result_that_aliases_is_found():
    def same(x: np.ndarray) -> np.ndarray:
        return x[:]

    found = _failures(_cube("same", lambda ctx, g: g, forward=same), X)
    assert list(found) == ["test_aliasing"]

    workspace = np.empty(2)

    def reused(x: np.ndarray) -> np.ndarray:
        workspace[:] = x
        return workspace

    found = _failures(_cube("reused", lambda ctx, g: g, forward=reused), X, test_utils=["test_aliasing"])
    assert "it returns the same memory at each call" in found["test_aliasing"]


def test_a_hidden_write_is_found():
    def hidden(x: np.ndarray) -> np.ndarray:
        x.base[...] += 1  # around the protection
        return 2 * x

    found = _failures(_cube("hidden", forward=hidden), X, test_utils="test_schema")
    assert "it changes its array argument number 0, which it does not declare" in found["test_schema"]


def test_a_random_operator_needs_its_tag():
    rng = np.random.default_rng(0)

    def noisy(x: np.ndarray) -> np.ndarray:
        return x + rng.normal(size=x.shape)

    found = _failures(_cube("noisy", forward=noisy), X, test_utils="test_schema")
    assert "a second call with the same arguments gives another result. Tag it random" in found["test_schema"]


def test_a_tag_that_is_not_true_is_found():
    def reverse(x: np.ndarray) -> np.ndarray:
        return x[::-1].copy()

    found = _failures(_cube("reverse", lambda ctx, g: np.flip(g), tags="pointwise", forward=reverse), X)
    assert "is tagged pointwise, but an element of its result depends on other elements" in found["test_tags"]


def test_it_raises_the_first_failure_and_refuses_what_it_cannot_check():
    with pytest.raises(OpCheckError, match=r"tests_opcheck::raising, test_gradcheck: the backward is wrong"):
        opcheck(_cube("raising", lambda ctx, g: g), (X,))
    with pytest.raises(ValueError, match=r"opcheck: there is no test 'test_faketensor'. Write some of: test_schema"):
        opcheck(_cube("named", _right), (X,), test_utils="test_faketensor")
    with pytest.raises(TypeError, match=r"opcheck takes what custom_op has made"):
        opcheck(np.sin, (X,))


def test_only_the_tensors_that_require_grad_are_differentiated_if_any_does():
    def scaled(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    op = custom_op("tests_opcheck::scaled", scaled, mutates_args=())
    op.register_autograd(
        lambda ctx, g: (g * ctx.saved_tensors[0], None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1]),
    )
    assert not _failures(op, pb.tensor(X, requires_grad=True), X)
    assert "test_gradcheck" in _failures(op, X, X)


def test_a_backward_that_swaps_needs_input_grad_is_found():
    def scaled(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        first, second = ctx.needs_input_grad
        return grad * y if second else None, grad * x if first else None

    op = custom_op("tests_opcheck::swapped", scaled, mutates_args=())
    op.register_autograd(backward, setup_context=setup_context)
    found = _failures(op, X, X + 1)
    assert "only input 0 requires grad than when all do" in found["test_gradcheck"]
    assert "ctx.needs_input_grad" in found["test_gradcheck"]
