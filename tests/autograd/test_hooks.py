"""Hooks on tensors, leaves and nodes: what they are given, what they may return, and what happens when they fail."""

import copy
import functools
import gc
import inspect
import pickle
import re
import threading
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb

pytestmark = pytest.mark.usefixtures("both_loops")


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def accumulator(x):
    return (x * 1).grad_fn.next_functions[0][0]


class HalfDone(pb.autograd.Function):
    """x * 2 + 0 * w, whose backward has no gradient for w."""

    @staticmethod
    def forward(ctx, x, w):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2, None


# -- undefined gradients ---------------------------------------------------------------------------------------


def test_hooks_run_where_the_gradient_is_undefined_and_see_none():
    x, seen = leaf(), []
    a, b = pb.unbind(x * 1)
    a.register_hook(lambda g: seen.append(("a", g.item())))
    b.register_hook(lambda g: seen.append(("b", g)))
    a.grad_fn.register_prehook(lambda outs: seen.append(("pre", outs[0].item(), outs[1])))
    a.grad_fn.register_hook(lambda ins, outs: seen.append(("post", ins[0].tolist(), outs[1])))
    a.backward()
    assert seen == [("a", 1), ("b", None), ("pre", 1, None), ("post", [1, 0], None)]


def test_every_kind_of_hook_runs_on_a_graph_without_gradients():
    x, w, seen = leaf(), leaf(), []
    y = w * 3
    y.register_hook(lambda g: seen.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda outs: seen.append(("pre", outs)))
    y.grad_fn.register_hook(lambda ins, outs: seen.append(("post", ins, outs)))
    y.retain_grad()
    w.register_hook(lambda g: seen.append(("leaf", g)))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(("after", p.grad)))
    leafs = y.grad_fn.next_functions[0][0]
    leafs.register_prehook(lambda outs: seen.append(("leaf pre", outs)))
    leafs.register_hook(lambda ins, outs: seen.append(("leaf post", ins, outs)))
    HalfDone.apply(x, y).sum().backward()
    assert seen == [
        ("tensor", None),
        ("pre", (None,)),
        ("post", (None, None), (None,)),
        ("leaf", None),
        ("leaf pre", (None,)),
        ("after", None),
        ("leaf post", (), (None,)),
    ]
    assert y.grad is None
    assert w.grad is None
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("kind", ["tensor", "leaf", "pre", "post"])
def test_an_undefined_gradient_cannot_be_replaced(kind):
    x, w = leaf(), leaf()
    y = w * 3

    def inventive(*_):
        return pb.ones(2) if kind in ("tensor", "leaf") else (pb.ones(2), None)[: 1 if kind == "pre" else 2]

    register = {
        "tensor": y.register_hook,
        "leaf": w.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[kind]
    handle = register(inventive)
    z = HalfDone.apply(x, y).sum()
    with pytest.raises(RuntimeError, match=r"inventive.*can't replace a None gradient.*Return None where"):
        z.backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [2, 2]


def test_none_within_a_tuple_means_no_gradient():
    x = leaf()
    y = x * 2
    y.grad_fn.register_hook(lambda ins, outs: (None, None))
    y.sum().backward()
    assert x.grad is None
    y = x * 2
    y.grad_fn.register_prehook(lambda outs: (None,))
    y.sum().backward()
    assert x.grad is None


# -- what hooks see --------------------------------------------------------------------------------------------


def test_node_hooks_see_gradients_in_the_shape_and_dtype_of_the_inputs():
    x, w, seen = leaf(), pb.tensor(3.0, requires_grad=True), []
    y = x * w
    y.grad_fn.register_hook(lambda ins, outs: seen.extend(g.tolist() for g in ins))
    y.sum().backward()
    assert seen == [[3, 3], 3]
    z = x * (1 + 1j)
    z.grad_fn.register_hook(lambda ins, outs: seen.append(ins[0].dtype))
    z.real.sum().backward()
    assert seen[-1] == np.float64


def test_node_hooks_of_a_custom_function():
    x, w, seen = leaf(), leaf(), []
    y = HalfDone.apply(x, w)
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    y.grad_fn.register_hook(lambda ins, outs: seen.append((ins[0].tolist(), ins[1], outs[0].tolist())))
    y.sum().backward()
    assert seen == [([20, 20], None, [10, 10])]
    assert x.grad.tolist() == [20, 20]


def test_hooks_run_in_the_grad_mode_of_the_backward():
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append((pb.is_grad_enabled(), g.requires_grad)))
    x.register_post_accumulate_grad_hook(lambda p: seen.append((pb.is_grad_enabled(), p.grad.requires_grad)))
    (x * x).sum().backward()
    assert seen == [(False, False)] * 2
    x.grad = None
    (x * x).sum().backward(create_graph=True)
    assert seen[2:] == [(True, True)] * 2


def test_a_factor_that_requires_grad_is_recorded_only_under_create_graph():
    x, w = leaf(), leaf(3.0, 4.0)
    x.register_hook(lambda g: g * w)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [6, 8]
    assert not x.grad.requires_grad
    (g,) = pb.autograd.grad((x * 2).sum(), x, create_graph=True)
    assert pb.autograd.grad(g.sum(), w)[0].tolist() == [2, 2]


def test_node_hooks_under_create_graph_are_recorded():
    x = leaf()
    y = x**3
    y.grad_fn.register_prehook(lambda outs: (outs[0] * x,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] * x, *ins[1:]))
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)  # 3 x**2 * x * x
    assert g.tolist() == [3, 48]
    assert pb.autograd.grad(g.sum(), x)[0].tolist() == [12, 96]


def test_hooks_on_a_gradient_run_in_the_second_backward():
    x, seen = leaf(), []
    (g,) = pb.autograd.grad((x**3).sum(), x, create_graph=True)
    g.register_hook(lambda h: seen.append(h.tolist()))
    g.sum().backward()
    assert seen == [[1, 1]]
    assert x.grad.tolist() == [6, 12]


def test_returning_the_same_gradient_changes_nothing():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g)
    x.register_hook(lambda g: g)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_hook_that_returns_a_tensor_of_its_own_does_not_lend_its_memory():
    x, own = leaf(), pb.ones(2)
    x.register_hook(lambda g: own)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert own.tolist() == [1, 1]


# -- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "error", "match"),
    [
        (lambda g: pb.ones(1, 2), RuntimeError, r"shape \(1, 2\); expected \(2,\).*Return one that"),
        (lambda g: g.to(pb.float32), RuntimeError, "dtype float32; expected float64.*or None"),
        (lambda g: g * 1j, RuntimeError, "dtype complex128; expected float64"),
        (lambda g: [g], TypeError, "returned a list as gradient; expected a Tensor or None"),
    ],
)
def test_a_tensor_hook_that_returns_something_else_is_named_with_its_place(result, error, match):
    y = leaf() * 2

    def meddling(g):
        return result(g)

    y.register_hook(meddling)
    with pytest.raises(error, match=r"hook 'meddling' on output 0 of MulBackward0 .*" + match):
        y.sum().backward()


def test_a_hook_on_a_leaf_is_named_with_its_place():
    x = leaf()
    x.register_hook(lambda g: g.sum())
    with pytest.raises(
        RuntimeError,
        match=r"'<lambda>' on a leaf has changed the size .* returned a gradient of shape \(\); expected \(2,\)",
    ):
        (x * 2).sum().backward()


@pytest.mark.parametrize("kind", ["pre", "post"])
@pytest.mark.parametrize(
    ("result", "error", "match"),
    [
        (lambda g: g, TypeError, r"returned a Tensor; expected a tuple with 1 gradient\(s\), or None"),
        (lambda g: [g], TypeError, "returned a list; expected a tuple"),
        (lambda g: (g, g), RuntimeError, "returned 2 gradients; expected 1"),
        (lambda g: (), RuntimeError, "returned 0 gradients; expected 1"),
        (lambda g: (g.sum(),), RuntimeError, r"shape \(\); expected \(2,\)"),
        (lambda g: (g.to(pb.float32),), RuntimeError, "dtype float32; expected float64"),
        (lambda g: (1.0,), TypeError, "float as gradient; expected a Tensor or None"),
    ],
)
def test_a_node_hook_that_returns_something_else_is_named(kind, result, error, match):
    x = leaf()
    y = x.sin()

    def meddling(gradients, *_):
        return result(gradients[0])

    (y.grad_fn.register_prehook if kind == "pre" else y.grad_fn.register_hook)(meddling)
    with pytest.raises(error, match=f"{'pre-' * (kind == 'pre')}hook 'meddling' of SinBackward0.*{match}"):
        y.sum().backward()
    assert x.grad is None


def test_a_hook_on_an_accumulator_has_no_gradients_to_replace():
    x = leaf()
    node = accumulator(x)
    with node.register_hook(lambda ins, outs: ()):
        (x * 2).sum().backward()
    node.register_hook(lambda ins, outs: outs)
    with pytest.raises(RuntimeError, match=r"AccumulateGrad has returned an .* it returned 1 gradients; expected 0"):
        (x * 2).sum().backward()


@pytest.mark.parametrize("method", ["register_hook", "register_post_accumulate_grad_hook", "retain_grad"])
def test_a_tensor_without_gradient_has_no_hooks(method):
    with pytest.raises(RuntimeError, match=r"(?s)require.*grad.*requires_grad_\(\)"):
        getattr(pb.ones(2), method)(*([print] * (method != "retain_grad")))


def test_only_leaves_have_hooks_after_accumulation():
    with pytest.raises(RuntimeError, match=r"non-leaf tensors.*MulBackward0.*Use register_hook\(\)"):
        (leaf() * 2).register_post_accumulate_grad_hook(print)


@pytest.mark.parametrize("where", ["tensor", "leaf", "after", "pre", "post", "all", "any"])
def test_a_hook_that_cannot_be_called_is_an_error_of_the_backward_that_names_the_line(where):
    x = leaf()
    y = x * 2
    register = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "after": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "all": functools.partial(pb.autograd.graph.register_multi_grad_hook, (x, y)),
        "any": functools.partial(pb.autograd.graph.register_multi_grad_hook, (x, y), mode="any"),
    }[where]
    handle = register(3)
    line = inspect.currentframe().f_lineno - 1
    loss = y.sum()
    said = rf"'int' object is not callable: a hook must be callable, and 3 .* line {line} of {re.escape(__file__)}"
    with pytest.raises(TypeError, match=said):
        loss.backward(retain_graph=True)
    handle.remove()
    loss.backward()


def test_a_hook_that_cannot_be_called_is_let_go_of_with_its_graph():
    class Hook:
        pass

    hook = Hook()
    gone = weakref.ref(hook)
    y = leaf() * 2
    y.grad_fn.register_hook(hook)
    del hook
    assert gone() is not None
    del y
    assert gone() is None


# -- hooks that raise ------------------------------------------------------------------------------------------


def boom(*_):
    raise KeyError("boom")


@pytest.mark.parametrize("where", ["tensor", "leaf", "pre", "post", "leaf pre"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_that_raises_leaves_graph_and_gradients_as_they_were(where, create_graph):
    x, w = leaf(), leaf(3.0, 4.0)
    y = x * w
    y.retain_grad()
    z = (y * y).sum()
    x.grad, w.grad, y.grad = (pb.full((2,), 7.0) for _ in range(3))
    register = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "leaf pre": y.grad_fn.next_functions[0][0].register_prehook,
    }[where]
    with register(boom), pytest.raises(KeyError, match="boom"):
        z.backward(retain_graph=True, create_graph=create_graph)
    assert pb.is_grad_enabled()
    assert [t.grad.tolist() for t in (x, w, y)] == [[7, 7]] * 3
    z.backward()
    assert x.grad.tolist() == [7 + 18, 7 + 64]
    assert w.grad.tolist() == [7 + 6, 7 + 32]
    assert y.grad.tolist() == [7 + 6, 7 + 16]


def test_a_gradient_that_a_hook_was_shown_stays_when_a_later_hook_raises():
    x, w = leaf(), leaf()
    x.register_post_accumulate_grad_hook(lambda p: None)  # has .grad filled at once
    y = (w * 2) * (x * 3)
    w.register_hook(boom)
    with pytest.raises(KeyError):
        y.sum().backward()
    assert x.grad.tolist() == [6, 12]
    assert w.grad is None


# -- hooks that run a backward ---------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["tensor", "leaf", "after", "pre", "post"])
def test_a_hook_may_run_another_backward(where):
    x, w = leaf(), leaf()
    y = x * 2

    def other(*_):
        with pb.enable_grad():
            (w * w).sum().backward()

    {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "after": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[where](other)
    (y * w).sum().backward()
    assert w.grad.tolist() == [2 + 2, 4 + 4]  # of w * w, and of y * w
    assert x.grad.tolist() == [2, 4]


def test_a_hook_may_differentiate_through_its_own_tensor():
    x, seen = leaf(), []
    y = x**3
    running = []

    def again(g):
        if not running:
            running.append(1)
            seen.append(pb.autograd.grad(y, x, pb.ones(2), retain_graph=True)[0].tolist())

    y.register_hook(again)
    (y * 2).sum().backward()
    assert seen == [[3, 12]]
    assert x.grad.tolist() == [6, 24]


# -- handles ---------------------------------------------------------------------------------------------------


def test_a_handle_removes_its_hook_once_and_no_other():
    x, seen = leaf(), []
    first = x.register_hook(lambda g: seen.append("first"))
    x.register_hook(lambda g: seen.append("second"))
    first.remove()
    first.remove()
    (x * 2).sum().backward()
    assert seen == ["second"]


def test_a_handle_is_a_context_manager_that_returns_itself():
    x, seen = leaf(), []
    with x.register_hook(lambda g: seen.append(1)) as handle:
        (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [1]


def test_a_hook_is_removed_when_the_block_raises():
    x, seen = leaf(), []
    with pytest.raises(KeyError), x.register_hook(seen.append):
        raise KeyError
    (x * 2).sum().backward()
    assert seen == []


def test_the_same_function_may_be_registered_twice():
    x, seen = leaf(), []

    def count(g):
        seen.append(1)

    handle = x.register_hook(count)
    x.register_hook(count)
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [1, 1, 1]


def test_a_copy_or_pickle_of_a_handle_removes_nothing():
    x, seen = leaf(), []
    handle = x.register_hook(lambda g: seen.append(1))
    copy.deepcopy(handle).remove()
    copy.copy(handle).remove()
    pickle.loads(pickle.dumps(handle)).remove()
    (x * 2).sum().backward()
    assert seen == [1]


def test_a_handle_keeps_nothing_alive():
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = x * 2
        handles = [x.register_hook(boom), y.register_hook(boom), y.grad_fn.register_hook(boom)]
        handles += [y.grad_fn.register_prehook(boom), accumulator(x).register_prehook(boom)]
        gone = [weakref.ref(x), weakref.ref(y), weakref.ref(y.grad_fn)]
        del x, y
        assert [r() for r in gone] == [None] * 3
        for handle in handles:
            handle.remove()
    finally:
        gc.enable()


# -- hooks and copies of tensors -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["register_hook", "register_post_accumulate_grad_hook"])
def test_pickling_leaves_hooks_behind_with_a_warning(method):
    x = leaf()

    def my_hook(_):
        raise AssertionError

    getattr(x, method)(my_hook)
    with pytest.warns(UserWarning, match=r"without its hooks \('my_hook'\): register them again.*t.detach\(\)"):
        loaded = pickle.loads(pickle.dumps(x))
    (loaded * 2).sum().backward()
    assert loaded.grad.tolist() == [2, 2]


def test_deepcopy_leaves_hooks_behind():
    x = leaf()
    x.register_hook(boom)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied = copy.deepcopy(x)
        pickle.dumps(leaf())
    (copied * 2).sum().backward()
    assert copied.grad.tolist() == [2, 2]


# -- threads ---------------------------------------------------------------------------------------------------


def test_hooks_registered_by_many_threads_all_run():
    x, seen = leaf(), []
    y = x * 2
    barrier = threading.Barrier(8)

    def register():
        barrier.wait()
        for t in (x, y):
            t.register_hook(lambda g: seen.append("t"))
        y.grad_fn.register_hook(lambda ins, outs: seen.append("n"))

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    y.sum().backward()
    assert sorted(seen) == ["n"] * 8 + ["t"] * 16


@pytest.mark.parametrize("result", [1, pb.ones(2)])
def test_a_post_accumulate_hook_must_return_none(result):
    x = leaf()

    def hook(parameter):
        return result

    x.register_post_accumulate_grad_hook(hook)
    with pytest.raises(
        RuntimeError, match=r"post-accumulate hook 'hook' returned (an int|a Tensor); it must return None"
    ):
        (x * 2).sum().backward()


def test_backward_hooks_are_a_dict_that_a_leaf_takes():
    x, y = pb.ones(2, requires_grad=True), pb.ones(2)
    x._backward_hooks = {"twice": lambda grad: grad * 2}
    y._backward_hooks = {}
    y._backward_hooks["never"] = None
    z = x + y
    assert z._backward_hooks is None
    handle = z.register_hook(lambda grad: grad * 3)
    assert list(z._backward_hooks) == [handle.id]
    z.sum().backward()
    assert x.grad.tolist() == [6, 6]
    x._backward_hooks = None
    with pytest.raises(RuntimeError, match="call register_hook"):
        z._backward_hooks = {}


def test_volatile_says_what_to_write():
    with pytest.warns(UserWarning, match=r"Variable.volatile is always False\); compute inside `with pullback.no_grad"):
        assert not pb.ones(2).volatile
