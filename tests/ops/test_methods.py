"""Methods whose tensor is not the first argument of the function."""

import inspect

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import Tensor
from pullback.ops.late import load_all
from pullback.ops.tables import OPERATORS

load_all()


def test_where_as_a_method_chooses_its_own_tensor_where_the_condition_holds():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    condition, other = pb.tensor([True, False, True]), pb.tensor([7.0, 8.0, 9.0], requires_grad=True)
    y = x.where(condition, other)
    y.sum().backward()
    assert y.tolist() == x.where(condition=condition, other=other).tolist() == [1.0, 8.0, 3.0]
    assert x.grad.tolist() == [1.0, 0.0, 1.0]
    assert other.grad.tolist() == [0.0, 1.0, 0.0]
    assert x.where(condition, 0.0).tolist() == [1.0, 0.0, 3.0]


def test_where_as_a_method_of_truth_values():
    a, condition, other = (pb.tensor(v) for v in ([True, False, False], [False, False, True], [True, True, False]))
    assert a.where(condition, other).tolist() == [True, True, False]
    assert np.where(condition, a, other).tolist() == [True, True, False]


def test_the_condition_of_where_must_be_one():
    with pytest.raises(RuntimeError, match="condition must be boolean"):
        pb.ones(2).where(pb.ones(2), pb.ones(2))


def test_polygamma_as_a_method_takes_its_order():
    assert pb.tensor(1.0).polygamma(1).item() == pb.polygamma(1, pb.tensor(1.0)).item()


@pytest.mark.parametrize("name", sorted(name for name in vars(Tensor) if name in OPERATORS and name[0] != "_"))
def test_a_method_takes_its_tensor_first(name):
    firsts = [next(iter(inspect.signature(form.function).parameters)) for form in OPERATORS[name]]
    assert name == "where" or {"input", "self", "A", "repeats"}.intersection(firsts)


def test_arguments_may_be_left_open_where_they_may_in_pytorch():
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.roll(1, dims=None).tolist() == pb.roll(x, 1).tolist() == [[4.0, 1.0], [2.0, 3.0]]
    for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"):
        transform = getattr(pb.fft, name)
        assert transform(x, s=4, dim=0).tolist() == transform(x, s=(4,), dim=(0,)).tolist()
        assert transform(x, s=4).tolist() == transform(x, s=(4,)).tolist()
