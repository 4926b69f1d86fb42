"""Nodes have PyTorch's names where the operator is the same one, with the numbers that PyTorch gives its overloads."""

import pytest

import pullback as pb


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (lambda x: x.log1p(), "Log1PBackward0"),
        (lambda x: pb.fft.fft(x), "FftR2CBackward0"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0)[0], "MaxBackward0"),
        (lambda x: x.min(), "MinBackward1"),
        (lambda x: x[1:], "SliceBackward0"),
        (lambda x: x[[0, 1]], "IndexBackward0"),
        (lambda x: pb.div(x, 2, rounding_mode="floor"), "DivBackward2"),
        (lambda x: pb.linalg.solve(pb.eye(3) * x, x), "LinalgSolveExBackward0"),
        (lambda x: pb.var_mean(x)[1], "VarMeanBackward0"),
        (lambda x: pb.std_mean(x, 0, False)[1], "StdMeanBackward0"),
        (lambda x: pb.aminmax(x).max, "AminmaxBackward0"),
    ],
)
def test_nodes_are_called_as_pytorchs(run, name):
    y = run(pb.ones(3, requires_grad=True))
    assert name in {y.grad_fn.name(), *(node.name() for node, _ in y.grad_fn.next_functions if node is not None)}


@pytest.mark.parametrize("run", [pb.var_mean, pb.std_mean, pb.aminmax])
def test_two_results_of_one_operator_have_one_node(run):
    x = pb.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, -1.0]], requires_grad=True)
    first, second = run(x)
    assert first.grad_fn is second.grad_fn
    seen = []
    first.grad_fn.register_prehook(seen.append)
    (first + second).backward()
    assert [g.tolist() for g in seen[0]] == [1, 1]


def test_a_mean_has_its_gradient_where_the_variance_has_none():
    x = pb.ones(1, requires_grad=True)
    with pytest.warns(RuntimeWarning):  # of a variance without a degree of freedom
        _, mean = pb.var_mean(x)
    mean.backward()
    assert x.grad.tolist() == [1]
