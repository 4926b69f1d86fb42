"""backward(): accumulation, its arguments, several roots, and that gradients share memory with nobody."""

import itertools

import numpy as np
import pytest

import pullback as pb


def leaf(*values, **kwargs):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True, **kwargs)


# -- what backward computes ------------------------------------------------------------------------------------


def test_the_gradient_of_a_scalar():
    x = leaf()
    assert (x**3).sum().backward() is None
    assert x.grad.tolist() == [3, 12]
    assert not x.grad.requires_grad
    assert x.grad.is_leaf


def test_a_cotangent_weighs_the_outputs():
    x = leaf()
    (x**2).backward(pb.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2, 40]


@pytest.mark.parametrize(
    "cotangent", [np.array([1.0, 10.0]), pb.tensor([1, 10]), pb.tensor([1.0, 10.0], dtype=pb.float32)]
)
def test_a_cotangent_may_be_an_array_or_of_another_dtype(cotangent):
    x = leaf()
    (x**2).backward(cotangent)
    assert x.grad.tolist() == [2, 40]
    assert x.grad.dtype == np.float64


def test_one_element_of_any_shape_needs_no_cotangent():
    x = leaf(3.0)
    (x * x).backward()
    (x * x).reshape(1, 1).backward()
    assert x.grad.tolist() == [12]


def test_a_leaf_may_be_its_own_output():
    x = leaf(3.0)
    x.backward()
    x.backward(pb.tensor([5.0]))
    assert x.grad.tolist() == [6]


def test_gradients_accumulate_over_calls():
    x = leaf()
    for _ in range(3):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [6, 6]
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_gradients_accumulate_over_uses():
    x = leaf()
    (x * x + x * 3 + x.sum() * x).sum().backward()
    # d/dx_i (x_i^2 + 3 x_i) + d/dx_i (sum x)^2
    assert x.grad.tolist() == [2 * 1 + 3 + 2 * 3, 2 * 2 + 3 + 2 * 3]


def test_a_diamond():
    x = leaf(2.0)
    a = x * 3
    b, c = a.exp(), a * a
    (b * c).backward()
    a = 6.0
    assert np.isclose(x.grad.item(), 3 * (np.exp(a) * a * a + np.exp(a) * 2 * a))


def test_a_ladder_of_shared_subgraphs_takes_linear_time():
    x = leaf(1.0)
    y = x * 1
    for _ in range(60):
        y = (y + y) / 2
    y.backward()
    assert x.grad.item() == 1.0


def test_unused_branches_cost_nothing_and_get_nothing():
    x, u = leaf(), leaf()
    _ = (u * x).exp()
    y = (x * 2).sum()
    y.backward()
    assert u.grad is None
    assert x.grad.tolist() == [2, 2]


def test_an_output_without_gradient_is_a_constant():
    x = leaf()
    values, indices = pb.max(x, dim=0)
    (values * indices).backward()
    assert x.grad.tolist() == [0, 1]


def test_several_roots():
    x = leaf()
    a, b = x * 2, x**2
    pb.autograd.backward([a, b], [pb.ones(2), pb.tensor([1.0, 10.0])])
    assert x.grad.tolist() == [4, 42]
    x.grad = None
    c = (x * 3).sum()
    d = c * 2
    pb.autograd.backward((c, d))  # one root inside the graph of another
    assert x.grad.tolist() == [9, 9]


def test_the_same_root_twice():
    x = leaf()
    y = (x * 2).sum()
    pb.autograd.backward([y, y])
    assert x.grad.tolist() == [4, 4]


def test_some_cotangents_may_be_none():
    x = leaf()
    pb.autograd.backward([x.sum(), x * 2], [None, pb.tensor([1.0, 0.0])])
    assert x.grad.tolist() == [3, 1]


# -- retain_graph and create_graph -----------------------------------------------------------------------------


def test_a_second_backward_through_released_tensors_is_refused():
    x = leaf()
    y = (x.exp() * 2).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"second time .*Backward0 has already released.*retain_graph=True"):
        y.backward()
    assert np.allclose(x.grad.tolist(), 2 * np.exp([1.0, 2.0]))


def test_a_second_backward_is_fine_if_nothing_was_saved():
    x = leaf()
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_retain_graph_allows_another_backward():
    x = leaf()
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert np.allclose(x.grad.tolist(), 3 * np.exp([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_create_graph_makes_the_gradient_differentiable():
    x = leaf()
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    assert x.grad.tolist() == [3, 12]
    first, x.grad = x.grad, None
    first.sum().backward(create_graph=True)
    assert x.grad.tolist() == [6, 12]
    second, x.grad = x.grad, None
    second.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_create_graph_accumulates_differentiably():
    x = leaf(2.0)
    (x**2).backward(create_graph=True)
    (x**3).backward(create_graph=True)
    total, x.grad = x.grad, None  # 2 x + 3 x^2
    assert total.tolist() == [16]
    total.backward()
    assert x.grad.tolist() == [14]


def test_create_graph_retains_the_graph_unless_told_otherwise():
    x = leaf()
    y = x.exp().sum()
    y.backward(create_graph=True)
    y.backward(create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    x.grad = None


def test_without_create_graph_the_gradient_is_a_constant():
    x = leaf()
    (x**3).sum().backward(retain_graph=True)
    assert not x.grad.requires_grad


# -- inputs ----------------------------------------------------------------------------------------------------


def test_inputs_limit_accumulation():
    a, b = leaf(), leaf()
    (a * b).sum().backward(inputs=[a])
    assert a.grad.tolist() == [1, 2]
    assert b.grad is None
    (a * b).sum().backward(inputs=b)
    assert b.grad.tolist() == [1, 2]


def test_the_same_input_twice_is_accumulated_once():
    x = leaf()
    (x * 2).sum().backward(inputs=[x, x])
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("retain", [True, False])
def test_a_computed_tensor_among_inputs_gets_its_grad(retain):
    x = leaf()
    y = x * 2
    if retain:
        y.retain_grad()
    (y * 3).sum().backward(inputs=[y])
    assert y.grad.tolist() == [3, 3]
    assert x.grad is None


def test_hooks_run_for_inputs_and_for_no_others():
    a, b, seen = leaf(), leaf(), []
    a.register_hook(lambda g: g * 10)
    b.register_hook(lambda g: seen.append("b"))
    (a * b).sum().backward(inputs=[a])
    assert a.grad.tolist() == [10, 20]
    assert seen == []


def test_only_the_way_to_the_inputs_runs():
    class Fails(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError

    a, b = leaf(), leaf()
    y = (a * 2 + Fails.apply(b)).sum()
    y.backward(inputs=[a])
    assert a.grad.tolist() == [2, 2]
    with pytest.raises(KeyError):
        (a * 2 + Fails.apply(b)).sum().backward()


# -- sharing ---------------------------------------------------------------------------------------------------


def shared(tensors):
    arrays = [t.detach().numpy() for t in tensors]
    return [(i, j) for (i, a), (j, b) in itertools.combinations(enumerate(arrays), 2) if np.shares_memory(a, b)]


PROGRAMS = {
    "sum of leaves": lambda a, b, c: a + b + c,
    "differences": lambda a, b, c: a - b - c,
    "one leaf many times": lambda a, b, c: a + a + b + c,
    "views": lambda a, b, c: a.reshape(-1).reshape(a.shape) + b.T.T + c[:],
    "copies": lambda a, b, c: a.clone() + b.contiguous() + c.to(b.dtype),
    "stack": lambda a, b, c: pb.stack([a, b, c]),
    "cat": lambda a, b, c: pb.cat([a, b, c]),
    "where": lambda a, b, c: pb.where(a > 0, a, b) + c,
    "expand": lambda a, b, c: a.expand(3, *a.shape).sum(0) + b + c,
    "sums": lambda a, b, c: a.sum() + b.sum() + c.sum(),
    "unbind": lambda a, b, c: sum(pb.unbind(a)) + pb.stack(pb.unbind(b)) + c,
    "transposed": lambda a, b, c: a.T + b.T + c.T,
    "real": lambda a, b, c: pb.real(a) + pb.real(b) + c,
}


@pytest.mark.parametrize("size", [3, 60], ids=["small", "large"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_never_share_memory(program, size, create_graph):
    leaves = [pb.ones(size, size, requires_grad=True) for _ in range(3)]
    out = program(*leaves)
    cotangent = pb.full(out.shape, 1.0)
    out.backward(cotangent, retain_graph=True, create_graph=create_graph)
    everything = [cotangent, out, *leaves, *(x.grad for x in leaves)]
    assert [(i, j) for i, j in shared(everything) if j >= 5] == []
    kept = [x.grad.tolist() for x in leaves]
    cotangent.mul_(0)
    assert [x.grad.tolist() for x in leaves] == kept
    for x in leaves:
        assert x.grad.detach().numpy().flags.writeable
        assert 0 not in x.grad.stride()
        x.grad = None


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_grad_returns_never_shares_memory(program, create_graph):
    leaves = [pb.ones(3, 3, requires_grad=True) for _ in range(3)]
    out = program(*leaves)
    cotangent = pb.full(out.shape, 1.0)
    results = pb.autograd.grad(out, [*leaves, leaves[0], out], cotangent, create_graph=create_graph)
    assert [(i, j) for i, j in shared([cotangent, out, *leaves, *results]) if j >= 5] == []
    assert not any(0 in r.stride() for r in results)


def test_an_array_given_as_cotangent_is_not_taken_over():
    x = leaf()
    g = np.ones(2)
    x.backward(g)
    (x * 1).backward(g)
    g[:] = 100
    assert x.grad.tolist() == [2, 2]


def test_a_grad_that_somebody_holds_sees_the_next_gradients():
    x = pb.ones(3000, requires_grad=True)
    (x * 2).sum().backward()
    held, version = x.grad, x.grad._version
    (x * 2).sum().backward()
    assert x.grad is held
    assert held[0].item() == 4
    assert held._version > version


def test_a_grad_that_a_graph_has_saved_is_not_changed_unnoticed():
    x, w = pb.ones(3000, requires_grad=True), pb.ones(3000, requires_grad=True)
    (x * 2).sum().backward()
    product = (x.grad * w).sum()
    (x * 2).sum().backward()
    with pytest.raises(pb.extend.SavedTensorModifiedError, match=r"backward\(\) has modified it"):
        product.backward()


def test_a_grad_assigned_by_the_user_is_added_to_in_place():
    x, mine = pb.ones(3000, requires_grad=True), pb.ones(3000)
    array = mine.numpy()
    x.grad = mine
    (x * 2).sum().backward()
    assert x.grad is mine
    assert mine[0].item() == 3
    assert array[0] == 3


def test_accumulation_reaches_arrays_and_views_of_grad():
    x = pb.ones(3000, requires_grad=True)
    (x * 2).sum().backward()
    array = x.grad.numpy()
    part = x.grad[0:2]
    (x * 2).sum().backward()
    assert array[0] == 4
    assert part.tolist() == [4, 4]


# -- dtypes ----------------------------------------------------------------------------------------------------


def test_a_gradient_has_the_dtype_of_its_leaf():
    x = pb.ones(2, dtype=pb.float32, requires_grad=True)
    w = pb.full((2,), 3.0, requires_grad=True)
    y = x * w
    assert y.dtype == np.float64
    y.sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
    assert x.grad.tolist() == [3, 3]


def test_a_real_input_of_a_complex_function_gets_a_real_gradient():
    x, z = leaf(), pb.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * z
    y.backward(pb.tensor([1.0, 1j]))
    # conj(dy/dx) g = conj(z) g, its real part for x; conj(x) g for z
    assert x.grad.dtype == np.float64
    assert x.grad.tolist() == [1.0, -1.0]
    assert z.grad.tolist() == [1, 2j]


def test_complex_outputs_need_a_cotangent():
    z = pb.tensor([1 + 2j], requires_grad=True)
    with pytest.raises(RuntimeError, match="real scalar outputs but got complex128"):
        (z * z).sum().backward()
    (z * z).backward(pb.tensor([1 + 0j]))
    assert z.grad.tolist() == [2 * (1 - 2j)]  # conj(2 z)


def test_the_modulus_of_a_complex_number():
    z = pb.tensor([3 + 4j], requires_grad=True)
    z.abs().sum().backward()
    assert np.allclose(z.grad.numpy(), [0.6 + 0.8j])


def test_a_real_cotangent_of_a_complex_output():
    z = pb.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"same dtype.*float64.*complex128"):
        (z * 1j).backward(pb.tensor(2.0))
    (z * 1j).backward(2.0)  # a Python number has no dtype
    assert z.grad.item() == -2j  # conj(1j) * 2


def test_asking_a_computed_tensor_for_grad_warns_that_nothing_fills_it():
    x = pb.tensor([1.0], requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match=r"not a leaf.*MulBackward0.*retain_grad\(\)"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None  # without a warning, as for the leaf
    assert x.grad is None
    assert y.detach().grad is None
