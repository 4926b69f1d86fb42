"""A `.grad` that the user assigned is added to in place, so that a bucket of gradients fills; others never alias."""

import numpy as np
import pytest

import pullback as pb


def leaf(n=2, dtype=None):
    return pb.ones(n, dtype=dtype, requires_grad=True)


def test_a_bucket_of_gradients_fills():
    p, q, flat = leaf(), leaf(3), pb.zeros(5)
    p.grad, q.grad = flat[:2], flat[2:]
    held = p.grad
    for times in (1, 2):
        ((p * 2).sum() + (q * 3).sum()).backward()
        assert flat.tolist() == [2 * times] * 2 + [3 * times] * 3
    assert p.grad is held
    flat.zero_()
    (p * 5).sum().backward()
    assert flat.tolist() == [5, 5, 0, 0, 0]
    p.grad.zero_()
    (p * 7).sum().backward()
    assert p.grad is held
    assert flat.tolist() == [7, 7, 0, 0, 0]


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64, pb.complex128])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_every_dtype_and_shape(dtype, shape):
    x = pb.ones(shape, dtype=dtype, requires_grad=True)
    x.grad = given = pb.ones(shape, dtype=dtype)
    (x * 2).backward(pb.ones(shape, dtype=dtype))
    assert x.grad is given
    assert (given.numpy() == 3).all()


def test_an_array_of_the_users_fills():
    memory = np.zeros((2, 4))[:, ::2]
    x = pb.ones(2, 2, requires_grad=True)
    x.grad = pb.from_numpy(memory)
    (x * 2).sum().backward()
    assert (memory == 2).all()


def test_what_the_engine_made_is_added_to_in_place_whoever_holds_it():
    x = leaf()
    (x * 2).sum().backward()
    held = x.grad
    (x * 2).sum().backward()
    assert x.grad is held
    assert held.tolist() == [4, 4]


def test_under_create_graph_the_sum_is_a_new_tensor():
    x = leaf()
    (x * x).sum().backward(create_graph=True)
    held = x.grad
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not held
    assert held.tolist() == [2, 2]
    (second,) = pb.autograd.grad(x.grad.sum(), x)
    assert second.tolist() == [4, 4]


def test_a_recorded_backward_leaves_the_assigned_one_alone():
    x = leaf()
    x.grad = given = pb.ones(2)
    (x**2).sum().backward(create_graph=True)
    assert given.tolist() == [1, 1]
    assert x.grad.tolist() == [3, 3]
    assert x.grad.requires_grad
    (x**2).sum().backward()
    assert given.tolist() == [1, 1]


def test_read_only_memory_is_replaced():
    array = np.ones(2)
    array.flags.writeable = False
    x = leaf()
    x.grad = pb.from_numpy(array)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert array.tolist() == [1, 1]


def test_a_graph_that_saved_the_bucket_notices():
    x, w, flat = leaf(), leaf(), pb.ones(2)
    loss = (w * flat).sum()
    x.grad = flat
    (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*backward\(\)"):
        loss.backward()


def test_cotangents_that_are_parts_of_the_bucket():
    p, q, flat = leaf(), leaf(), pb.tensor([1.0, 2.0, 3.0, 4.0])
    p.grad, q.grad = flat[:2], flat[2:]
    pb.cat([q, p]).backward(flat)  # q is handed p's part, and p is handed q's
    assert flat.tolist() == [4, 6, 4, 6]
    p.grad = q.grad = flat[1:3]
    (p + q).backward(flat[:2])
    assert flat.tolist() == [4, 14, 16, 6]


def test_two_leaves_with_one_gradient():
    p, q, both = leaf(), leaf(), pb.zeros(2)
    p.grad = q.grad = both
    (p * 2 + q * 3).sum().backward()
    assert both.tolist() == [5, 5]


def test_a_backward_that_fails_leaves_the_bucket_alone():
    p, q, flat = leaf(), leaf(), pb.zeros(4)
    p.grad, q.grad = flat[:2], flat[2:]
    y = q * 1
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (p * y).sum().backward()
    assert flat.tolist() == [0, 0, 0, 0]


def test_a_hook_after_the_adding_sees_the_bucket():
    p, flat, seen = leaf(), pb.zeros(2), []
    p.grad = flat
    p.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad is flat and flat.tolist()))
    (p * 2).sum().backward()
    assert seen == [[2, 2]]
