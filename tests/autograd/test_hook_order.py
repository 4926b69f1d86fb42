"""In which order hooks run, which of them run at all, and what becomes of them when their tensor is modified in place.

PyTorch's "Backward Hooks execution" is the specification.
"""

import pytest

import pullback as pb

pytestmark = pytest.mark.usefixtures("both_loops")


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def watch(tensor, log, name=""):
    """Hooks of every kind on `tensor` and its node, registered in an order that is none of theirs."""
    node = tensor.grad_fn or (tensor * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda ins, outs: log.append(f"{name}post"))
    node.register_prehook(lambda outs: log.append(f"{name}pre"))
    if tensor.is_leaf:
        tensor.register_post_accumulate_grad_hook(lambda p: log.append(f"{name}accumulated"))
    tensor.register_hook(lambda g: log.append(f"{name}tensor"))
    return node  # the leaf's must be kept: its own reference is weak


# -- order -----------------------------------------------------------------------------------------------------


def test_order_at_a_computed_tensor():
    x, log = leaf(), []
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_hook(lambda ins, outs: log.append(("post", ins[0].tolist(), outs[0].tolist())))
    y.grad_fn.register_prehook(lambda outs: (log.append(("pre", outs[0].tolist(), y.grad.tolist())), (outs[0] + 1,))[1])
    y.register_hook(lambda g: (log.append(("tensor", g.tolist(), y.grad)), g * 10)[1])
    y.sum().backward()
    assert log == [("tensor", [1, 1], None), ("pre", [10, 10], [10, 10]), ("post", [22, 22], [11, 11])]
    assert y.grad.tolist() == [10, 10]  # of the tensor: what the node's pre-hook makes of it is the node's alone
    assert x.grad.tolist() == [22, 22]


def test_order_at_a_leaf():
    x, log = leaf(), []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(lambda ins, outs: log.append(("post", ins, outs[0].tolist(), x.grad.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad.tolist())))
    node.register_prehook(lambda outs: (log.append(("pre", outs[0].tolist(), x.grad)), (outs[0] + 1,))[1])
    x.register_hook(lambda g: (log.append(("tensor", g.tolist(), x.grad)), g * 10)[1])
    y.sum().backward()
    assert log == [
        ("tensor", [2, 2], None),
        ("pre", [20, 20], None),
        ("accumulated", [21, 21]),
        ("post", (), [21, 21], [21, 21]),
    ]


@pytest.mark.parametrize("kind", ["tensor", "leaf", "accumulated", "pre", "post"])
def test_hooks_of_one_kind_run_in_the_order_of_registration(kind):
    x, log = leaf(), []
    y = x * 2
    register = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[kind]
    handles = [register(lambda *_, i=i: log.append(i)) for i in range(5)]
    handles[1].remove()
    register(lambda *_: log.append(5))
    y.sum().backward()
    assert log == [0, 2, 3, 4, 5]


def test_later_node_hooks_see_what_earlier_ones_returned():
    x, seen = leaf(), []
    y = x.sin()
    for n in (10, 100):
        y.grad_fn.register_prehook(lambda outs, n=n: (outs[0] * n,))
        y.grad_fn.register_hook(lambda ins, outs, n=n: (seen.append(outs[0].tolist()), (ins[0] * 0 + n,))[1])
    y.grad_fn.register_hook(lambda ins, outs: seen.append(ins[0].tolist()))
    y.sum().backward()
    assert seen == [[1000, 1000], [1000, 1000], [100, 100]]
    assert x.grad.tolist() == [100, 100]


def test_the_gradient_is_retained_last_whenever_that_was_asked_for():
    for retain_first in (True, False):
        y = leaf() * 2
        if retain_first:
            y.retain_grad()
        y.register_hook(lambda g: g * 10)
        if not retain_first:
            y.retain_grad()
        y.register_hook(lambda g: g + 1)
        y.sum().backward()
        assert y.grad.tolist() == [11, 11]


def test_hooks_registered_and_removed_by_a_hook_count_from_the_next_backward_on():
    y, log = leaf() * 2, []

    def first(g):
        log.append("first")
        later.remove()
        y.register_hook(lambda g: log.append("new"))

    y.register_hook(first)
    later = y.register_hook(lambda g: log.append("later"))
    z = y.sum()
    z.backward(retain_graph=True)
    assert log == ["first", "later"]
    log.clear()
    z.backward()
    assert log == ["first", "new"]


# -- which hooks run -------------------------------------------------------------------------------------------


def test_grad_runs_the_hooks_of_its_inputs_but_not_those_of_their_nodes():
    x, log = leaf(), []
    y = x * 2
    nodes = watch(x, log, "x "), watch(y, log, "y ")
    y.retain_grad()
    x.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g * 10)
    z = (y * 3).sum()
    assert pb.autograd.grad(z, y, retain_graph=True)[0].tolist() == [30, 30]
    assert log == ["y tensor"]
    assert y.grad.tolist() == [30, 30]
    log.clear()
    assert pb.autograd.grad(z, x)[0].tolist() == [600, 600]
    assert log == ["y tensor", "y pre", "y post", "x tensor"]
    assert x.grad is None
    del nodes


def test_the_node_of_an_input_runs_if_another_input_is_behind_it():
    x, log = leaf(), []
    y = x * 2
    watch(y, log)
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda outs: (outs[0] + 1,))
    gy, gx = pb.autograd.grad((y * 3).sum(), [y, x])
    assert log == ["tensor", "pre", "post"]
    assert gy.tolist() == [30, 30]  # what the tensor's hooks made of it; the pre-hooks are the node's
    assert gx.tolist() == [62, 62]


def test_backward_with_inputs_runs_the_hooks_on_the_way_and_no_others():
    a, b, log = leaf(), leaf(), []
    p, q = a * 2, b * 3
    nodes = [watch(t, log, name) for t, name in ((a, "a "), (b, "b "), (p, "p "), (q, "q "))]
    (p * q).sum().backward(inputs=[a])
    assert log == ["p tensor", "p pre", "p post", "a tensor", "a pre", "a accumulated", "a post"]
    assert b.grad is None
    del nodes


def test_backward_with_a_computed_tensor_as_input_does_not_run_its_node():
    x, log = leaf(), []
    y = x.exp()
    watch(y, log)
    y.register_hook(lambda g: g * 10)
    y.sum().backward(inputs=[y])
    assert log == ["tensor"]
    assert y.grad.tolist() == [10, 10]
    y.sum().backward()  # so nothing that it saved was released
    assert x.grad is not None


def test_an_output_that_leads_to_no_input_runs_no_hooks():
    a, b, log = leaf(), leaf(), []
    first, second = (a * 2).sum(), b.exp().sum()
    watch(second, log)
    (g,) = pb.autograd.grad([first, second], [a])
    assert g.tolist() == [2, 2]
    assert log == []
    second.backward()
    assert log == ["tensor", "pre", "post"]


def test_running_a_node_by_hand_runs_no_hooks():
    y, log = leaf() * 2, []
    node = watch(y, log)
    assert node(pb.ones(2))[0].tolist() == [2, 2]
    assert log == []


# -- tensors modified in place ---------------------------------------------------------------------------------


def test_hooks_see_the_gradient_of_the_value_that_they_were_registered_on():
    x, log = leaf(), []
    y = x * 1
    y.register_hook(lambda g: log.append(("first", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: log.append(("second", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: log.append(("third", g.tolist())))
    y.sum().backward()
    assert log == [("third", [1, 1]), ("second", [5, 5]), ("first", [15, 15])]


def test_a_handle_finds_its_hook_after_an_in_place_operation():
    x, log = leaf(), []
    y = x * 1
    before = y.register_hook(lambda g: log.append("before"))
    y.mul_(3)
    after = y.register_hook(lambda g: log.append("after"))
    before.remove()
    z = y.sum()
    z.backward(retain_graph=True)
    assert log == ["after"]
    after.remove()
    z.backward()
    assert log == ["after"]


def test_a_retained_gradient_moves_on_with_each_in_place_operation():
    x = leaf()
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    y.retain_grad()
    y.mul_(5)
    assert y.retains_grad
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [15, 15]


def test_a_retained_gradient_moves_on_under_a_failed_in_place_operation():
    x = leaf()
    y = x * 1
    y.retain_grad()
    with pytest.raises(RuntimeError):
        y.mul_(pb.ones(3, 2))
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2, 2]


def test_hooks_of_a_base_when_a_view_is_written_into():
    x, log = leaf(), []
    y = x * 1
    v = y[0:1]
    v.register_hook(lambda g: log.append(("view before", g.tolist())))
    y.register_hook(lambda g: log.append(("base before", g.tolist())))
    v.mul_(3)
    v.register_hook(lambda g: log.append(("view after", g.tolist())))
    y.register_hook(lambda g: log.append(("base after", g.tolist())))
    (y * 2).sum().backward()
    # The view's old function is not in the base's new history, and its new one leads to the base, not from it.
    assert log == [("base after", [2, 2]), ("base before", [6, 2])]


def test_hooks_of_a_view_when_its_base_is_written_into():
    x, log = leaf(), []
    y = x * 1
    v = y[0:1]
    v.register_hook(lambda g: log.append(("before", g.tolist())))
    y.mul_(3)
    v.register_hook(lambda g: log.append(("after", g.tolist())))
    (v * 7).sum().backward()
    assert log == [("after", [7])]
    assert x.grad.tolist() == [21, 0]


def test_retained_gradients_of_base_and_view_when_the_view_is_written_into():
    x = leaf()
    y = x * 1
    v = y[0:1]
    y.retain_grad()
    v.retain_grad()
    v.mul_(3)
    ((y * 2).sum() + v.sum() * 7).backward()
    assert v.grad.tolist() == [7]
    assert y.grad.tolist() == [9, 2]
    assert x.grad.tolist() == [27, 2]


def test_retained_gradients_of_base_and_view_when_the_base_is_written_into():
    x = leaf()
    y = x * 1
    v = y[0:1]
    y.retain_grad()
    v.retain_grad()
    y.mul_(3)
    ((y * 2).sum() + v.sum() * 7).backward()
    assert v.grad.tolist() == [7]
    assert y.grad.tolist() == [9, 2]
    assert x.grad.tolist() == [27, 6]


def test_hooks_of_a_parameter_that_is_updated_go_on_to_run():
    x, log = leaf(), []
    x.register_hook(lambda g: log.append(g.tolist()))
    with pb.no_grad():
        x.mul_(3)
    (x * x).sum().backward()
    assert log == [[6, 12]]


def test_hooks_of_a_tensor_that_joins_the_graph_by_an_in_place_operation():
    x, log = leaf(), []
    t = pb.zeros(2)
    t.add_(x)
    t.register_hook(lambda g: log.append(g.tolist()))
    t.mul_(2)
    t.sum().backward()
    assert log == [[2, 2]]
    assert x.grad.tolist() == [2, 2]


def test_hooks_of_a_leaf_that_becomes_a_result_stay_with_the_leaf_it_was():
    x, t, log = leaf(), leaf(), []
    t.register_hook(lambda g: log.append("leaf"))
    t.requires_grad_(False)
    t.mul_(x)
    t.sum().backward()
    assert log == []
    assert x.grad.tolist() == [1, 2]


def test_hooks_of_a_leaf_survive_a_while_without_gradient():
    x, log = leaf(), []
    x.register_hook(lambda g: log.append(1))
    x.requires_grad_(False)
    x.requires_grad_(True)
    (x * 2).sum().backward()
    assert log == [1]


# -- retain_grad -----------------------------------------------------------------------------------------------


def test_retain_grad_does_nothing_on_a_leaf_and_once_is_enough():
    x = leaf()
    x.retain_grad()
    assert not x.retains_grad
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3]


def test_a_retained_gradient_is_differentiable_under_create_graph():
    x = leaf()
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert y.grad.requires_grad
    assert y.grad.tolist() == [2, 8]
    x.grad = None
    y.grad.sum().backward()
    assert x.grad.tolist() == [4, 8]


def test_gradients_are_retained_of_each_output_of_a_node():
    x = leaf(3.0, 1.0)
    a, b = pb.unbind(x * 1)
    a.retain_grad()
    b.retain_grad()
    (a * 2 + b * 5).backward()
    assert (a.grad.item(), b.grad.item()) == (2, 5)
    a, b = pb.unbind(x * 1)
    a.retain_grad()
    b.retain_grad()
    (a * 2).backward()
    assert a.grad.item() == 2
    assert b.grad is None
