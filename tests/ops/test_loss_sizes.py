"""Losses say so when a target of another size is broadcast, as PyTorch's do."""

import warnings

import numpy as np
import pytest

import pullback as pb
import pullback.nn.functional as F
from pullback.autograd import forward_ad

WARNING = [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss]


@pytest.mark.parametrize("loss", WARNING)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("sizes", [((3, 1), (3,)), ((3,), (3, 1)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((3,), ())])
def test_a_target_of_another_size_is_warned_of(loss, reduction, sizes):
    x, target = (pb.ones(*size) if size else pb.tensor(1.0) for size in sizes)
    for given in (x, pb.ones(*sizes[0], requires_grad=True)):
        with pytest.warns(UserWarning, match="Using a target size .* that is different to the input size") as said:
            found = loss(given, target, reduction=reduction)
        assert said[0].filename == __file__  # the line of the user
        assert found.shape == (np.broadcast_shapes(*sizes) if reduction == "none" else ())


@pytest.mark.parametrize("loss", WARNING)
def test_nothing_is_said_of_targets_of_the_same_size(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = pb.ones(3, 2, requires_grad=True)
        y = loss(x, pb.zeros(3, 2))
        pb.autograd.grad(y, x, create_graph=True)
        pb.func.grad(loss)(x.detach(), pb.zeros(3, 2))
        with forward_ad.dual_level():
            loss(forward_ad.make_dual(pb.ones(3), pb.ones(3)), pb.zeros(3))


@pytest.mark.parametrize("loss", WARNING)
def test_sizes_that_do_not_fit_are_an_error_and_no_warning(loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match=r"\(2, 3\).*\(3, 2\)"):
            loss(pb.ones(2, 3), pb.ones(3, 2))


@pytest.mark.parametrize("sizes", [((3, 1), (3,)), ((3,), (3, 1))])
def test_soft_margin_loss_refuses_a_target_that_makes_more_of_its_input(sizes):
    x, target = (pb.ones(*size) for size in sizes)
    with pytest.raises(RuntimeError, match=r"soft_margin_loss.*target\.reshape\(input\.shape\)"):
        F.soft_margin_loss(x, target)
    assert F.soft_margin_loss(pb.ones(2, 3), pb.ones(3)).shape == ()
