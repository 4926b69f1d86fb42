"""The small functions that ask about tensors."""

import numpy as np
import pytest

import pullback as pb


def test_as_tensor_shares_memory_as_asarray_does():
    array = np.ones(2)
    assert pb.as_tensor is pb.asarray
    assert np.shares_memory(pb.as_tensor(array).numpy(), array)


def test_questions():
    t = pb.ones(2, 3)
    assert pb.is_tensor(t)
    assert not pb.is_tensor(np.ones(2))
    assert pb.numel(t) == 6
    assert not pb.is_inference(t)
    with pb.inference_mode():
        assert pb.is_inference(pb.ones(1))


@pytest.mark.parametrize("attribute", ["data", "grad"])
def test_a_replacement_that_does_not_fit_is_named(attribute):
    t = pb.ones(2, requires_grad=True)
    if attribute == "data":  # of a leaf it may have any shape
        t = t * 1
    with pytest.raises(RuntimeError, match=rf"assigning to \.{attribute}: expected a Tensor of shape \(2,\)"):
        setattr(t, attribute, pb.ones(3))
