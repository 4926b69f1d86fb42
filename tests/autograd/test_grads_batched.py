"""grad(is_grads_batched=True): one row of cotangents after another, results stacked."""

import numpy as np
import pytest

import pullback as pb

grad = pb.autograd.grad


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def test_the_identity_gives_the_jacobian():
    x = leaf()
    (rows,) = grad(x**3, x, np.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[3, 0], [0, 12]]
    assert not rows.requires_grad
    assert x.grad is None


def test_several_outputs_and_inputs():
    x, m = leaf(1.0, 2.0, 3.0), pb.tensor([[1.0, 0, 2], [0, 1, 1]], requires_grad=True)
    outputs = [m @ x, (x**2).sum(), m * 2]
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(4, *y.shape)) for y in outputs]
    together = grad(outputs, [x, m], batches, is_grads_batched=True, retain_graph=True)
    assert [tuple(g.shape) for g in together] == [(4, 3), (4, 2, 3)]
    for i in range(4):
        for g, one in zip(together, grad(outputs, [x, m], [b[i] for b in batches], retain_graph=True), strict=True):
            np.testing.assert_array_equal(g.numpy()[i], one.numpy())


def test_a_scalar_output_takes_a_vector_of_cotangents():
    x = leaf()
    assert grad((x**2).sum(), x, pb.tensor([1.0, 10.0]), is_grads_batched=True)[0].tolist() == [[2, 4], [20, 40]]


def test_complex_rows():
    z = pb.tensor([1 + 2j], requires_grad=True)
    (rows,) = grad(z**2, z, np.array([[1.0], [1j]]), is_grads_batched=True)
    np.testing.assert_allclose(rows.numpy(), np.conj(2 * (1 + 2j)) * np.array([[1], [1j]]))


def test_the_graph_is_released_with_the_last_row_alone():
    x = leaf()
    y = x.exp()
    first = grad(y, x, np.eye(2), is_grads_batched=True, retain_graph=True)[0]
    second = grad(y, x, np.eye(2), is_grads_batched=True)[0]
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x, np.eye(2), is_grads_batched=True)


def test_create_graph_is_differentiable_in_inputs_and_cotangents():
    x = leaf()
    v = pb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    (rows,) = grad(x**3, x, v, is_grads_batched=True, create_graph=True)
    gx, gv = grad(rows.sum(), (x, v))
    assert gx.tolist() == [6 * 9, 12 * 12]
    assert gv.tolist() == [[3, 12]] * 3


def test_create_graph_records_whatever_the_callers_mode():
    x, v = leaf(), pb.ones(2, 2, requires_grad=True)
    y = x**3
    with pb.no_grad():
        (rows,) = grad(y, x, v, is_grads_batched=True, create_graph=True)
        assert not pb.is_grad_enabled()
    assert grad(rows.sum(), v)[0].tolist() == [[3, 12]] * 2


def test_unused_inputs():
    x, unused = leaf(), leaf(1.0, 2.0, 3.0)
    y = x**2
    with pytest.raises(RuntimeError, match=r"not have been used in the graph \(inputs\[1\], shape \(3,\)\)"):
        grad(y, (x, unused), np.eye(2), is_grads_batched=True, retain_graph=True)
    rows, nothing = grad(y, (x, unused), np.eye(2), is_grads_batched=True, retain_graph=True, allow_unused=True)
    assert rows.tolist() == [[2, 0], [0, 4]]
    assert nothing is None
    _, zeros = grad(y, (x, unused), np.eye(2), is_grads_batched=True, retain_graph=True, materialize_grads=True)
    assert zeros.tolist() == [[0, 0, 0]] * 2


def test_materialized_zeros_require_grad_under_create_graph():
    x, unused = leaf(), leaf()
    y = x**2
    assert grad(y.sum(), unused, create_graph=True, materialize_grads=True)[0].requires_grad
    batched = grad(y, unused, np.eye(2), is_grads_batched=True, create_graph=True, materialize_grads=True)
    assert batched[0].requires_grad
    assert not grad(y.sum(), unused, materialize_grads=True)[0].requires_grad


def test_a_row_without_a_gradient_counts_as_zeros():
    class Positive(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 if g.numpy().any() else None

    x = leaf()
    (rows,) = grad(Positive.apply(x), x, np.array([[0.0, 0.0], [1.0, 2.0]]), is_grads_batched=True, allow_unused=True)
    assert rows.tolist() == [[0, 0], [2, 4]]


def test_gradient_edges_as_outputs_and_inputs():
    x = leaf()
    y = x**2
    edges = [pb.autograd.graph.get_gradient_edge(t) for t in (y, x)]
    assert grad(*edges, np.eye(2), is_grads_batched=True)[0].tolist() == [[2, 0], [0, 4]]


def test_hooks_see_one_row_at_a_time():
    x = leaf()
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    grad(y, x, np.eye(2), is_grads_batched=True)
    assert seen == [[1, 0], [0, 1]]


BAD = {
    "without rows": (
        np.ones(2),
        RuntimeError,
        r"grad_outputs\[0\].*\(rows, 2\).*outputs\[0\] has shape \(2,\), got \(2,\)",
    ),
    "a number": (1.0, RuntimeError, r"got \(\)"),
    "another shape": (np.ones((3, 3)), RuntimeError, r"expected shape \(rows, 2\).*got \(3, 3\)"),
    "no rows": (np.ones((0, 2)), RuntimeError, "grad_outputs must not be empty"),
    "nothing": (None, RuntimeError, r"grad_outputs\[0\] is None.*rows"),
    "too many": ([np.eye(2)] * 2, RuntimeError, "1 outputs and 2 batches"),
    "text": ("ones", TypeError, r"grad_outputs\[0\].*str"),
    "complex": (np.eye(2) * 1j, RuntimeError, "complex128.*float64"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_batches_are_refused_before_anything_runs(case):
    cotangents, error, message = BAD[case]
    x = leaf()
    y = x**2
    with pytest.raises(error, match=message):
        grad(y, x, cotangents, is_grads_batched=True)
    assert grad(y, x, np.eye(2), is_grads_batched=True)[0].tolist() == [[2, 0], [0, 4]]


def test_batches_of_different_sizes():
    x = leaf()
    y = x**2
    with pytest.raises(ValueError, match=r"same first dimension, got \[2, 3\]"):
        grad([y, y.sum()], x, [np.eye(2), np.ones(3)], is_grads_batched=True)


def test_a_scalar_among_the_outputs_needs_its_batch():
    x = leaf()
    y = x**2
    with pytest.raises(RuntimeError, match=r"grad_outputs\[1\] is None.*outputs\[1\]\.shape"):
        grad([y, y.sum()], x, [np.eye(2), None], is_grads_batched=True)
