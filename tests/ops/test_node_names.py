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
    ],
)
def test_nodes_are_called_as_pytorchs(run, name):
    y = run(pb.ones(3, requires_grad=True))
    assert name in {y.grad_fn.name(), *(node.name() for node, _ in y.grad_fn.next_functions if node is not None)}
