"""grad(): what it returns for every argument, capture in the middle of a graph, and higher derivatives."""

import numpy as np
import pytest

import pullback as pb

grad = pb.autograd.grad


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def test_gradients_are_returned_and_not_accumulated():
    a, b = leaf(), leaf(3.0, 4.0)
    ga, gb = grad((a * b).sum(), (a, b))
    assert (ga.tolist(), gb.tolist()) == ([3, 4], [1, 2])
    assert a.grad is None
    assert b.grad is None
    assert isinstance(grad((a * 2).sum(), a), tuple)


def test_grad_outputs():
    x = leaf()
    assert grad(x**2, x, pb.tensor([1.0, 10.0]))[0].tolist() == [2, 40]
    assert grad(x**2, x, [pb.tensor([1.0, 10.0])])[0].tolist() == [2, 40]
    assert grad(x**2, x, grad_outputs=np.array([1.0, 10.0]))[0].tolist() == [2, 40]
    assert grad([x**2, x * 3], x, [pb.ones(2), pb.tensor([1.0, 0.0])])[0].tolist() == [5, 4]
    assert grad([x.sum(), x * 3], x, [None, pb.ones(2)])[0].tolist() == [4, 4]


def test_the_order_of_inputs_is_the_order_of_results():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    y = a + 10 * b + 100 * c
    assert [g.item() for g in grad(y, [c, a, b])] == [100, 1, 10]


def test_an_input_may_occur_twice():
    x = leaf()
    first, second = grad((x * 2).sum(), [x, x])
    assert first.tolist() == second.tolist() == [2, 2]
    first.mul_(0)
    assert second.tolist() == [2, 2]


def test_intermediate_tensors_as_inputs():
    x = leaf()
    y = x * 3
    z = y**2
    gx, gy, gz = grad(z.sum(), [x, y, z])
    assert (gx.tolist(), gy.tolist(), gz.tolist()) == ([18, 36], [6, 12], [1, 1])


def test_an_output_as_input():
    x = leaf(5.0)
    y = x * 2
    assert grad(y, y)[0].tolist() == [1]
    assert grad(x, x)[0].tolist() == [1]


def test_one_of_several_outputs_of_a_node_as_input():
    x = leaf(3.0, 1.0, 2.0)
    values, _ = pb.sort(x)
    assert grad((values**2).sum(), values)[0].tolist() == [2, 4, 6]
    a, b = pb.unbind(pb.stack([x, x * 2]))
    ga, gb = grad((a * b).sum(), [a, b])
    assert (ga.tolist(), gb.tolist()) == ([6, 2, 4], [3, 1, 2])


def test_capture_stops_where_nothing_more_is_wanted():
    class Fails(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError

    y = Fails.apply(leaf())
    assert grad((y * 3).sum(), y)[0].tolist() == [3, 3]


def test_capture_goes_on_to_inputs_further_down():
    x = leaf()
    y = x * 3
    z = y * y
    gy, gx = grad(z.sum(), [y, x])
    assert (gy.tolist(), gx.tolist()) == ([6, 12], [18, 36])


def test_hooks_of_an_intermediate_input_change_what_is_captured():
    x = leaf()
    y = x * 3
    y.register_hook(lambda g: g * 10)
    gy, gx = grad(y.sum(), [y, x])
    assert (gy.tolist(), gx.tolist()) == ([10, 10], [30, 30])


def test_retained_gradients_are_filled_by_grad_too():
    x = leaf()
    y = x * 3
    y.retain_grad()
    grad((y * 2).sum(), x)
    assert y.grad.tolist() == [2, 2]


# -- unused inputs ---------------------------------------------------------------------------------------------


def test_an_unused_input_is_refused_by_default():
    x, u = leaf(), leaf()
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match=r"not have been used in the graph \(inputs\[1\].*allow_unused=True"):
        grad(y, [x, u], retain_graph=True)
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(y, u, allow_unused=False)


def test_an_unused_input_may_be_none_or_zeros():
    x, u = leaf(), leaf(1.0, 2.0, 3.0)
    y = (x * 2).sum()
    gx, gu = grad(y, [x, u], allow_unused=True, retain_graph=True)
    assert gx.tolist() == [2, 2]
    assert gu is None
    gx, gu = grad(y, [x, u], materialize_grads=True)
    assert (gu.tolist(), gu.dtype, gu.requires_grad) == ([0, 0, 0], np.float64, False)


def test_materialize_grads_contradicts_allow_unused_false():
    x = leaf()
    with pytest.raises(ValueError, match="materialize_grads"):
        grad(x.sum(), x, allow_unused=False, materialize_grads=True)


def test_a_later_tensor_is_unused():
    x = leaf()
    y = x * 2
    z = y * 2
    assert grad(y.sum(), z, allow_unused=True) == (None,)


def test_a_result_without_gradient_does_not_reach_its_inputs():
    x = leaf()
    y = (x.detach() * x).sum() + (x > 0).sum()
    assert grad(y, x)[0].tolist() == [1, 2]


# -- retain_graph, create_graph, higher derivatives ------------------------------------------------------------


def test_grad_releases_the_graph_unless_told_otherwise():
    x = leaf()
    y = x.exp().sum()
    grad(y, x, retain_graph=True)
    grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x)


def test_grad_releases_only_what_it_ran():
    a, b = leaf(), leaf()
    y = (a.exp() * b.exp()).sum()
    grad(y, a)
    with pytest.raises(RuntimeError, match="MulBackward0"):
        grad(y, b)


def test_grad_of_an_unused_input_runs_and_releases_nothing():
    x, u = leaf(), leaf()
    y = x.exp().sum()
    assert grad(y, u, allow_unused=True) == (None,)
    y.backward()
    assert np.allclose(x.grad.tolist(), np.exp([1.0, 2.0]))


@pytest.mark.parametrize(
    ("f", "third"),
    [
        (lambda x: x**4, lambda x: 24 * x),
        (pb.sin, lambda x: -np.cos(x)),
        (pb.exp, np.exp),
        (lambda x: 1 / x, lambda x: -6 / x**4),
        (pb.log, lambda x: 2 / x**3),
        (lambda x: x * pb.sin(x), lambda x: -3 * np.sin(x) - x * np.cos(x)),
        (lambda x: pb.sqrt(x), lambda x: 3 / 8 * x**-2.5),
    ],
)
def test_third_derivatives(f, third):
    x = leaf(0.7, 1.3)
    y = f(x)
    for _ in range(3):
        (y,) = grad(y.sum(), x, create_graph=True)
    assert np.allclose(y.tolist(), third(np.array([0.7, 1.3])))


def test_a_mixed_derivative():
    x, y = leaf(2.0), leaf(3.0)
    (gx,) = grad(x**2 * y**3, x, create_graph=True)  # 2 x y^3
    (gxy,) = grad(gx, y, create_graph=True)  # 6 x y^2
    (gxyx,) = grad(gxy, x)  # 6 y^2
    assert [g.item() for g in (gx, gxy, gxyx)] == [108, 108, 54]


def test_a_full_hessian_row_by_row():
    A = np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    x = leaf(1.0, 2.0, 3.0)
    f = (x * pb.mv(pb.from_numpy(A), x)).sum() / 2
    (g,) = grad(f, x, create_graph=True)
    rows = [grad(g, x, e, retain_graph=True)[0].tolist() for e in np.eye(3)]
    assert np.allclose(rows, A)


def test_the_cotangent_itself_may_be_differentiated():
    x = leaf()
    v = leaf(5.0, 7.0)
    (g,) = grad(x**2, x, v, create_graph=True)  # 2 x v
    gx, gv = grad(g.sum(), [x, v])
    assert (gx.tolist(), gv.tolist()) == ([10, 14], [2, 4])


def test_double_backward_trick_gives_forward_derivatives():
    x = leaf(1.0, 2.0)
    y = pb.stack([x[0] * x[1], x[0] ** 2])
    w = pb.zeros(2, requires_grad=True)
    (g,) = grad(y, x, w, create_graph=True)  # J^T w
    (tangent,) = grad(g, w, pb.tensor([1.0, 10.0]))  # J v
    assert tangent.tolist() == [2 * 1 + 1 * 10, 2 * 1 * 1]


def test_a_gradient_penalty():
    x, w = leaf(1.0, 2.0), leaf(0.5, -1.0)
    y = (w * x**2).sum()
    (g,) = grad(y, x, create_graph=True)
    (g**2).sum().backward()  # sum (2 w x)^2
    assert w.grad.tolist() == [8 * 0.5 * 1, 8 * -1.0 * 4]
    assert x.grad.tolist() == [8 * 0.25 * 1, 8 * 1.0 * 2]


def test_without_create_graph_results_are_constants():
    x = leaf()
    (g,) = grad((x**2).sum(), x)
    assert not g.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(g.sum(), x)


def test_a_linear_function_has_a_constant_gradient():
    x = leaf()
    (g,) = grad((3 * x).sum(), x, create_graph=True)
    assert g.tolist() == [3, 3]
    assert not g.requires_grad or grad(g.sum(), x, allow_unused=True) == (None,)


def test_gradients_through_views_written_into_before():
    # The function of a view is made again after its base was modified; it must be found on the way to the inputs.
    x = leaf()
    y = x * 1
    v = y[0:1]
    y.mul_(3)
    z = (v * 2).sum()
    assert grad(z, x, retain_graph=True)[0].tolist() == [6, 0]
    assert grad(z, [x, y])[1].tolist() == [2, 0]
