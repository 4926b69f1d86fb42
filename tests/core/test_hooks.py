"""Hooks on tensors, leaves and nodes: when they run, what they see, what they may replace, how they go away."""

import numpy as np
import pytest

import pullback as pb


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


# -- tensors ---------------------------------------------------------------------------------------------------


def test_a_hook_sees_the_gradient_of_its_tensor():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(seen.append)
    (y * y).sum().backward()
    assert [g.tolist() for g in seen] == [[4, 8]]
    assert x.grad.tolist() == [8, 16]
    assert not seen[0].requires_grad


def test_a_hook_runs_once_on_the_whole_gradient():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y + y * 3 + y.sum()).sum().backward()
    assert seen == [[6, 6]]


def test_hooks_replace_the_gradient_one_after_the_other():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[20, 20]]
    assert x.grad.tolist() == [40, 40]


def test_hooks_on_a_leaf_run_before_accumulation():
    x = leaf()
    x.grad = pb.full((2,), 100.0)
    x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [120, 120]


@pytest.mark.parametrize("of_leaf", [True, False])
def test_hooks_change_what_grad_returns(of_leaf):
    x = leaf()
    y = x * 2
    (x if of_leaf else y).register_hook(lambda g: g * 10)
    (g,) = pb.autograd.grad(y.sum(), x if of_leaf else y)
    assert g.tolist() == ([20, 20] if of_leaf else [10, 10])


def test_hooks_of_one_of_several_outputs():
    x = leaf(3.0, 1.0, 2.0)
    values, _ = pb.sort(x)
    values.register_hook(lambda g: g * 10)
    (values * pb.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [30, 10, 20]
    x.grad = None
    a, b, c = pb.unbind(x * 1)
    b.register_hook(lambda g: g * 5)
    (a + b + c).backward()
    assert x.grad.tolist() == [1, 5, 1]


def test_a_removed_hook_does_not_run():
    x, seen = leaf(), []
    handle = x.register_hook(seen.append)
    handle.remove()
    handle.remove()
    with x.register_hook(seen.append):
        pass
    (x * 2).sum().backward()
    assert seen == []


def test_a_hook_may_remove_itself_and_add_others():
    x, seen = leaf(), []

    def once(g):
        handle.remove()
        x.register_hook(lambda g: seen.append("later"))
        seen.append("once")

    handle = x.register_hook(once)
    for _ in range(2):
        (x * 2).sum().backward()
    assert seen == ["once", "later"]


def test_a_handle_outlives_its_tensor():
    handle = leaf().register_hook(print)
    handle.remove()


def test_hooks_survive_in_the_graph_when_the_tensor_is_gone():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(1))
    z = y.sum()
    del y
    z.backward()
    assert seen == [1]


@pytest.mark.parametrize("of_leaf", [True, False])
@pytest.mark.parametrize(
    ("result", "error", "match"),
    [
        (lambda g: g.sum(), RuntimeError, r"shape \(\); expected \(2,\)"),
        (lambda g: g.to(pb.float32), RuntimeError, "dtype float32; expected float64"),
        (lambda g: 3.0, TypeError, "float"),
        (lambda g: np.ones(2), TypeError, "ndarray"),
    ],
)
def test_a_hook_that_returns_something_else_is_named(of_leaf, result, error, match):
    def meddling(g):
        return result(g)

    x = leaf()
    y = x * 2
    (x if of_leaf else y).register_hook(meddling)
    with pytest.raises(error, match="meddling.*" + match):
        y.sum().backward()
    assert x.grad is None


def test_hooks_are_refused_where_there_is_no_gradient():
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        pb.ones(2).register_hook(print)


def test_hooks_under_create_graph_are_recorded():
    x = leaf()
    y = x**2
    y.register_hook(lambda g: g * x)
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)  # 2 x * x
    assert g.tolist() == [2, 8]
    g.sum().backward()
    assert x.grad.tolist() == [4, 8]


def test_a_gradient_seen_by_a_hook_is_whole_and_writable():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(seen.append)
    y.sum().backward()  # the gradient of a sum is one number, repeated
    seen[0].mul_(0)
    assert x.grad.tolist() == [2, 2]
    assert seen[0].stride() == (1,)


def test_a_kept_gradient_does_not_change_later():
    x, seen = pb.ones(5000, requires_grad=True), []
    y = x * 2
    y.register_hook(seen.append)
    z = y * 3 + y * 4
    z.sum().backward(retain_graph=True)
    kept = seen[0].tolist()
    z.sum().backward()
    assert seen[0].tolist() == kept
    assert set(kept) == {7.0}


# -- leaves, after accumulation --------------------------------------------------------------------------------


def test_post_accumulate_hooks_see_the_new_grad():
    x, seen = leaf(), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [[2, 2], [5, 5]]


def test_post_accumulate_hooks_may_consume_the_grad():
    x = leaf()

    def step(parameter):
        with pb.no_grad():
            parameter -= parameter.grad
        parameter.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.tolist() == [-1, 0]
    assert x.grad is None


def test_post_accumulate_hooks_belong_to_leaves_and_to_backward():
    x, seen = leaf(), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(1))
    pb.autograd.grad((x * 2).sum(), x)
    assert seen == []
    (x * 2).sum().backward(inputs=[x])
    assert seen == [1]
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [1]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        pb.ones(2).register_post_accumulate_grad_hook(print)


# -- nodes -----------------------------------------------------------------------------------------------------


def test_node_hooks_see_both_sides():
    x, seen = leaf(), []
    y = x * 2
    y.grad_fn.register_prehook(lambda outs: seen.append(("pre", [g.tolist() for g in outs])))
    y.grad_fn.register_hook(
        lambda ins, outs: seen.append(("post", [g.tolist() for g in ins if g is not None], [g.tolist() for g in outs]))
    )
    (y * 3).sum().backward()
    assert seen == [("pre", [[3, 3]]), ("post", [[6, 6]], [[3, 3]])]


def test_node_hooks_may_replace_gradients():
    x = leaf()
    y = x * 2
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] + 1, *ins[1:]))
    y.sum().backward()
    assert x.grad.tolist() == [21, 21]


def test_node_hooks_can_be_removed():
    x = leaf()
    y = x * 2
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,)).remove()
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 10, *ins[1:])).remove()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_prehook_does_not_change_the_captured_gradient_of_its_tensor():
    x = leaf()
    y = x * 2
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    z = y.sum()
    assert pb.autograd.grad(z, y, retain_graph=True)[0].tolist() == [1, 1]
    assert pb.autograd.grad(z, x)[0].tolist() == [20, 20]


def test_hooks_on_the_accumulator_of_a_leaf():
    x, seen = leaf(), []
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    assert accumulator.name() == "AccumulateGrad"
    assert accumulator.variable is x
    accumulator.register_prehook(lambda outs: (outs[0] * 10,))
    accumulator.register_hook(lambda ins, outs: seen.append((ins, outs[0].tolist(), x.grad.tolist())))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [20, 20]
    assert seen == [((), [20, 20], [20, 20])]


@pytest.mark.parametrize(
    ("register", "hook", "match"),
    [
        ("register_hook", lambda ins, outs: (ins[0],) * 5, "5 gradients; expected"),
        ("register_prehook", lambda outs: (outs[0],) * 2, "2 gradients; expected 1"),
        ("register_prehook", lambda outs: (outs[0].sum(),), r"shape \(\); expected \(2,\)"),
        ("register_hook", lambda ins, outs: (ins[0].reshape(1, 2), *ins[1:]), r"shape"),
    ],
)
def test_a_node_hook_that_returns_something_else_is_refused(register, hook, match):
    x = leaf()
    y = pb.sin(x)
    getattr(y.grad_fn, register)(hook)
    with pytest.raises(RuntimeError, match=match):
        y.sum().backward()
    assert x.grad is None


def test_nodes_carry_metadata():
    y = leaf() * 2
    y.grad_fn.metadata["note"] = 5
    assert y.grad_fn.metadata == {"note": 5}
    metadata = y.grad_fn.input_metadata[0]
    assert (metadata.shape, metadata.dtype, metadata.device) == ((2,), np.dtype("f8"), "cpu")


# -- retained gradients ----------------------------------------------------------------------------------------


def test_a_retained_gradient_is_what_hooks_made_of_it():
    x = leaf()
    y = x * 2
    y.retain_grad()  # although registered first, it comes last
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10, 10]


def test_retained_gradients_accumulate():
    x = leaf()
    y = x * 2
    y.retain_grad()
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [2, 2]


def test_retained_gradients_follow_an_in_place_operation_and_hooks_do_not():
    x, seen = leaf(), []
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]  # of y as it is now
    assert seen == [[3, 3]]  # of y as it was when the hook was registered
    assert x.grad.tolist() == [3, 3]


def test_a_retained_gradient_shares_memory_with_nothing():
    x = leaf()
    y = x * 1
    z = y * 1
    y.retain_grad()
    z.retain_grad()
    z.sum().backward()
    grads = [x.grad, y.grad, z.grad]
    for i, g in enumerate(grads):
        g.mul_(0)
        assert [h.tolist() for h in grads[i + 1 :]] == [[1, 1]] * (2 - i)
