"""func.ravel_pytree: trees as vectors and back, in and outside of transforms."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import pullback as pb
from pullback.func import ravel_pytree

Pair = namedtuple("Pair", ["left", "right"])


def test_a_tree_comes_back_with_its_shapes_and_dtypes():
    tree = {"b": Pair(np.float32(2), [np.arange(6.0).reshape(2, 3)]), "a": 0.5, "none": None}
    vector, unravel = ravel_pytree(tree)
    np.testing.assert_array_equal(vector, [0.5, 2, 0, 1, 2, 3, 4, 5])
    again = unravel(vector + 1)
    assert type(again["b"]) is Pair
    assert again["b"].left.dtype == np.float32
    assert again["none"] is None
    np.testing.assert_array_equal(again["b"].right[0], tree["b"].right[0] + 1)
    assert ravel_pytree({})[0].shape == (0,)


def test_results_of_transforms_go_to_any_optimiser_as_vectors():
    def loss(p):
        return np.sum((p["w"] @ np.array([1.0, 2.0]) + p["b"] - 3) ** 4)

    start, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": 0.5})
    flat = pb.func.grad(lambda v: loss(unravel(v)))(start)
    np.testing.assert_array_equal(flat, ravel_pytree(pb.func.grad(loss)(unravel(start)))[0])
    assert pb.func.hessian(lambda v: loss(unravel(v)))(start).shape == (5, 5)
    tangent = pb.func.jvp(lambda v: unravel(v)["w"], (start,), (np.arange(5.0),))[1]
    np.testing.assert_array_equal(tangent, [[1, 2], [3, 4]])


def test_ravel_is_differentiable_and_tensors_stay_tensors():
    tree = {"x": np.array([1.0, 2.0]), "y": 3.0}
    gradient = pb.func.grad(lambda p: np.sum(ravel_pytree(p)[0] ** 3))(tree)
    np.testing.assert_array_equal(gradient["x"], [3, 12])
    assert gradient["y"] == 27
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    vector, unravel = ravel_pytree([w, w * 2])
    assert type(vector) is pb.Tensor
    (unravel(vector)[1] ** 2).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [8, 16])


@pytest.mark.parametrize(
    ("tree", "match"),
    [
        ({"n": 3}, r"\['n'\], which is an int: pass a floating-point number"),
        ([np.arange(3)], "dtype is int64"),
        ({"z": np.ones(2) * 1j, "x": 1.0}, r"real and complex.*\['x'\]: float64"),
        ({"s": "text"}, "a str"),
    ],
)
def test_what_is_no_vector_of_numbers_is_refused(tree, match):
    with pytest.raises(TypeError, match=match):
        ravel_pytree(tree)


def test_a_vector_of_another_size_is_refused():
    _, unravel = ravel_pytree({"x": np.ones(3)})
    with pytest.raises(RuntimeError, match=r"shape \(3,\).*got \(4,\)"):
        unravel(np.ones(4))
