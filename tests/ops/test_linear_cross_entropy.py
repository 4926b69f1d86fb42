"""linear_cross_entropy in chunks: how much memory it takes, its options, its higher derivatives."""

import tracemalloc

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.nn import LinearCrossEntropyOptions
from pullback.testing import assert_close

ROWS, FEATURES, CLASSES = 512, 16, 2000
RNG = np.random.default_rng(0)
LABELS = pb.from_numpy(RNG.integers(0, CLASSES, ROWS))


def leaves():
    """Input and weights that require grad."""
    shapes = ((ROWS, FEATURES), (CLASSES, FEATURES))
    return [pb.tensor(np.random.default_rng(1).standard_normal(s), requires_grad=True) for s in shapes]


def peak(options):
    """(bytes in use at the worst moment of forward and backward beyond the start, loss, gradients)."""
    x, weight = leaves()
    tracemalloc.start()
    loss = pb.nn.functional.linear_cross_entropy(x, weight, LABELS, options=options)
    loss.backward()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most, loss.item(), x.grad.numpy(), weight.grad.numpy()


def test_all_scores_are_never_there_at_once():
    scores = ROWS * CLASSES * 8
    whole, parts = peak(None), peak(LinearCrossEntropyOptions())
    assert whole[0] > scores
    assert parts[0] < scores / 4
    for expected, found in zip(whole[1:], parts[1:], strict=True):
        assert_close(found, expected, rtol=1e-10, atol=1e-12)


def test_a_graph_can_be_retained_and_differentiated_again():
    x = pb.tensor(RNG.standard_normal((5, 3)), requires_grad=True)
    weight = pb.tensor(RNG.standard_normal((7, 3)), requires_grad=True)
    bias = pb.tensor(RNG.standard_normal(7), requires_grad=True)
    labels, options = pb.tensor([0, 6, 3, 3, 2]), LinearCrossEntropyOptions(batch_chunk_size=2)

    def loss(x, weight, bias):
        return pb.nn.functional.linear_cross_entropy(x, weight, labels, linear_bias=bias, options=options)

    assert gradcheck(loss, (x, weight, bias), check_forward_ad=True)
    assert gradgradcheck(loss, (x, weight, bias))
    value = loss(x, weight, bias)
    value.backward(retain_graph=True)
    once = x.grad.clone()
    value.backward()
    assert_close(x.grad, 2 * once)


def test_labels_that_are_no_classes_are_refused():
    x, weight, options = pb.ones(2, 3), pb.ones(4, 3), LinearCrossEntropyOptions()
    for label in (4, -1):
        with pytest.raises(IndexError):
            pb.nn.functional.linear_cross_entropy(x, weight, pb.tensor([0, label]), options=options)


def test_all_labels_ignored_have_no_mean():
    x, weight = pb.ones(2, 3), pb.ones(4, 3)
    how = {"ignore_index": 1, "options": LinearCrossEntropyOptions()}
    with np.errstate(invalid="ignore"):
        assert np.isnan(pb.nn.functional.linear_cross_entropy(x, weight, pb.tensor([1, 1]), **how).item())


def test_acc_dtype_is_what_is_computed_in():
    x = pb.tensor(RNG.standard_normal((4, 300)), dtype=pb.float16, requires_grad=True)
    weight = pb.tensor(RNG.standard_normal((5, 300)), dtype=pb.float16)
    labels, options = pb.tensor([0, 1, 2, 3]), LinearCrossEntropyOptions(acc_dtype=np.float32)
    loss = pb.nn.functional.linear_cross_entropy(x, weight, labels, options=options)
    exact = pb.nn.functional.linear_cross_entropy(x.detach().to(float), weight.to(float), labels)
    assert loss.dtype == np.float16
    assert loss.item() == np.float16(exact.item())
    loss.backward()
    assert x.grad.dtype == np.float16


@pytest.mark.parametrize(
    ("arguments", "naming"),
    [
        ({"target": np.full((2, 4), 0.25)}, "float64, not class indices"),
        ({"label_smoothing": 0.1}, "label_smoothing is 0.1"),
        ({"linear_weight": np.ones((4, 2, 3)), "target": np.zeros((2, 2), int)}, r"\(2,\) between classes"),
    ],
)
def test_what_cannot_be_chunked_is_told(arguments, naming):
    given = {"linear_weight": np.ones((4, 3)), "target": np.zeros(2, int)} | arguments
    given = {name: pb.tensor(x) if isinstance(x, np.ndarray) else x for name, x in given.items()}
    with pytest.warns(UserWarning, match=naming):
        loss = pb.nn.functional.linear_cross_entropy(pb.ones(2, 3), **given, options=LinearCrossEntropyOptions())
    assert loss.item() == pb.nn.functional.linear_cross_entropy(pb.ones(2, 3), **given).item()


def test_rows_of_a_chunk():
    def rows(count, features, classes, **how):
        return LinearCrossEntropyOptions(**how).rows(count, features, classes)

    assert rows(1000, 10, 100) == 128  # 1000 * 10 / 100 = 100, up to a power of two
    assert rows(1000, 10, 100, chunking_method="aspect_ratio:4") == 32
    assert rows(1000, 100, 10) == 1000
    assert rows(1000, 10, 100, batch_chunk_size=7) == 7
    assert rows(3, 10, 100, batch_chunk_size=7) == 3
    assert rows(1000, 10, 100, chunking_method=None) == 1000
    assert rows(1000, 10, 100, chunking_method="aspect_ratio", batch_chunk_size=128) == 128
    with pytest.raises(ValueError, match=r"128 rows"):
        rows(1000, 10, 100, chunking_method="aspect_ratio", batch_chunk_size=64)


@pytest.mark.parametrize(
    ("options", "naming"),
    [
        ({"batch_chunk_size": 0}, "batch_chunk_size.*0"),
        ({"chunking_method": "halves"}, "chunking_method.*'halves'"),
        ({"chunking_method": "aspect_ratio:0"}, "chunking_method"),
        ({"acc_policy": "loose"}, "acc_policy.*'loose'"),
        ({"acc_dtype": np.int64}, "acc_dtype"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, naming):
    with pytest.raises(ValueError, match=naming):
        LinearCrossEntropyOptions(**options)
