"""What a trace gives to transforms: arrays that record stand for ndarrays, and go into levels as bare as these do."""

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.dual import DualArray
from pullback.arrays.traced.array import TracedArray
from pullback.compiler.tracing import trace
from pullback.core.array_face import NestedArray

X, W = np.linspace(0.1, 1.0, 3), np.linspace(1.0, 2.0, 3)


def traced(function, *arrays):
    return trace(list(arrays), 0, lambda given: function(*given), lambda array: False)


def test_a_differentiated_array_holds_what_records_and_no_tensor_of_level_0():
    seen = []

    def loss(x):
        seen.append(type(x._array))
        return np.sum(np.sin(x))

    made = traced(pb.func.grad(loss), X)
    assert seen == [TracedArray]
    np.testing.assert_allclose(made.result, np.cos(X))


def test_so_do_the_parts_of_a_dual_number():
    seen = []

    def f(x):
        assert type(x._array) is DualArray
        seen.append((type(x._array.primal), type(x._array.tangent)))
        return np.sin(x)

    made = traced(lambda x, v: pb.func.jvp(f, (x,), (v,)), X, W)
    assert seen == [(TracedArray, TracedArray)]
    np.testing.assert_allclose(made.result[1], np.cos(X) * W)


def test_an_array_beside_a_differentiated_one_is_a_constant_of_its_level():
    seen = []

    def loss(x, w):
        y = w * x
        seen.append(type(y._array))
        return np.sum(y @ w * x)

    made = traced(pb.func.grad(loss), X, W)
    assert seen == [TracedArray]
    np.testing.assert_allclose(made.result, pb.func.grad(loss)(X, W))


@pytest.mark.parametrize("transform", [pb.func.grad, pb.func.hessian, pb.func.jacfwd])
def test_results_of_transforms_leave_as_arrays_that_record(transform):
    def twice(x):
        inner = transform(lambda x: np.sum(np.sin(x) * x))(x)
        return np.sum(inner * inner)

    def left(x):
        kinds.append(type(transform(lambda x: np.sum(np.sin(x) * x))(x)))
        return x

    kinds = []
    traced(left, X)
    assert kinds == [NestedArray]
    made = traced(pb.func.grad(twice), X)
    np.testing.assert_allclose(made.result, pb.func.grad(twice)(X))
    compiled = pb.compile(pb.func.vmap(pb.func.grad(twice)))
    batch = np.stack([X, W, X * W])
    for _ in range(5):
        found = compiled(batch)
    np.testing.assert_allclose(found, pb.func.vmap(pb.func.grad(twice))(batch))


def test_the_cotangent_of_a_loss_has_no_mask():
    made = traced(pb.func.grad(lambda x: np.sum(np.sin(x))), X)
    names = [step.name for step in made.graph.steps]
    assert "where" not in names
    assert "ne" not in names
