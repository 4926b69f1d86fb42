"""What is given to an operator and changed before backward: an error that says so, or the gradient of the call.

Each operator is called with its indices, masks, labels, weights as Tensors and as ndarrays, with its lists, and with
its numbers as arrays of one element. All of these are changed in place between forward and backward.
"""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import SavedTensorModifiedError
from pullback.core.tensor import Tensor
from pullback.testing import assert_close
from pullback.testing.opinfo.calls import REFUSALS, flat_tensors, function_of, sampling, seeded
from pullback.testing.opinfo.core import Input, Plain, map_arrays
from tests.opinfo.records import OPINFOS

WAYS = ("tensors", "ndarrays", "lists", "numbers as ndarrays", "numbers as tensors")


def other_values(array):
    """Values that an index, mask or label may have instead of those in `array`."""
    if array.dtype.kind == "b":
        return ~array
    if array.dtype.kind in "iu":
        return np.full_like(array, 0 if (array == array.min(initial=0)).all() else array.min(initial=0))
    return 2 * array + 1


def change(given):
    if isinstance(given, Tensor):
        given.copy_(other_values(given.numpy()))
    elif isinstance(given, list):
        given[:] = [0] * len(given) if any(given) else [1] * len(given)
    elif given.flags.writeable:
        given[...] = other_values(given)


class Arguments:
    """The arguments of a sample, those that require grad, and those that can be changed, given in one of the WAYS."""

    def __init__(self, sample, way):
        self.way, self.inputs, self.changeable = way, [], []
        self.args, self.kwargs = self._given(map_arrays(self._array, (sample.args, sample.kwargs)))

    def _array(self, x):
        if isinstance(x, Input) and x.dtype.kind in "fc":
            self.inputs.append(pb.tensor(np.array(x.view(np.ndarray)), requires_grad=True))
            return self.inputs[-1]
        array = np.array(x.array if isinstance(x, Plain) else x.view(np.ndarray))
        # ndarrays of floating numbers are kept as they are: they may be data sets.
        as_array = self.way == "ndarrays" and array.dtype.kind in "biu"
        given = array if as_array or isinstance(x, Plain) else pb.from_numpy(array)
        if (self.way == "tensors" and isinstance(given, Tensor)) or as_array:
            self.changeable.append(given)
        return given

    def _given(self, tree):
        if isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
            made = type(tree)(self._given(t) for t in tree)
            if self.way == "lists" and isinstance(made, list) and all(type(t) is int for t in made):
                self.changeable.append(made)
            return made
        if isinstance(tree, dict):
            return {name: self._given(t) for name, t in tree.items()}
        if type(tree) in (int, float) and self.way.startswith("numbers"):
            given = np.array(tree) if self.way == "numbers as ndarrays" else pb.tensor(tree)
            self.changeable.append(given)
            return given
        return tree


def loss_of(result):
    """A number that depends on every element of every output."""
    outs = [out for out in flat_tensors(result) if out.requires_grad]
    parts = [(out * np.linspace(1, 2, out.numel()).reshape(out.shape)).sum().real for out in outs]
    return sum(parts) if parts else None


def gradients(info, sample, way, changing):
    """The gradients of the inputs; None if there is nothing to change or to differentiate."""
    given = Arguments(sample, way)
    if not given.inputs or not given.changeable:
        return None
    seeded(info)
    loss = loss_of(function_of(info)(*given.args, **given.kwargs))
    if loss is None:
        return None
    for changed in given.changeable if changing else ():
        change(changed)
    return pb.autograd.grad(loss, given.inputs, materialize_grads=True)


@pytest.mark.parametrize("info", [i for i in OPINFOS if i.order and i.grad_dtypes], ids=lambda info: info.full_name)
def test_arguments_changed_before_backward(info):
    for sample in info.samples_for(info.grad_dtypes[0]):
        for way in WAYS:
            with np.errstate(all="ignore"):
                try:
                    expected = gradients(info, sample, way, changing=False)
                except REFUSALS:  # not every operator takes arrays for its numbers
                    continue
                if expected is None:
                    continue
                with sampling(info, sample, way):
                    try:
                        found = gradients(info, sample, way, changing=True)
                    except SavedTensorModifiedError:
                        continue
                    assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


# -- an index that is filled anew in a loop ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pb.tensor, np.array])
def test_index_that_is_reused_in_a_loop(make):
    w = pb.ones(6, requires_grad=True)
    index, loss = make([0, 0]), 0
    for k in range(3):
        index[:] = pb.tensor([2 * k, 2 * k + 1]) if make is pb.tensor else [2 * k, 2 * k + 1]
        loss = loss + w[index].sum()
    loss.backward()
    assert w.grad.tolist() == [1.0] * 6


BRACKETS = {
    "x[i]": lambda x, i, m: x[i],
    "x[:, i]": lambda x, i, m: x[:, i],
    "x[i, i]": lambda x, i, m: x[i, i],
    "x[i[0]]": lambda x, i, m: x[i[0]],
    "x[i[0]:]": lambda x, i, m: x[i[0] :],
    "x[..., i[1]::-1]": lambda x, i, m: x[..., i[1] :: -1],
    "x[m]": lambda x, i, m: x[m],
    "x[m, 1:]": lambda x, i, m: x[m, 1:],
    "np.take": lambda x, i, m: np.take(x, i, axis=1),
}


@pytest.mark.parametrize("make", [pb.tensor, np.array])
@pytest.mark.parametrize("read", BRACKETS.values(), ids=BRACKETS)
def test_indices_are_those_of_the_call(read, make):
    def grads(changing):
        x = pb.arange(9.0).reshape(3, 3).requires_grad_()
        index, mask = make([1, 2]), make([True, False, True])
        y = (read(x.exp(), index, mask) ** 2).sum()
        if changing:
            index[:] = 0
            mask[:] = False
        (first,) = pb.autograd.grad(y, x, create_graph=True)
        return first, pb.autograd.grad(first.sum(), x)

    assert_close(grads(changing=True), grads(changing=False), rtol=0, atol=0)


@pytest.mark.parametrize("make", [pb.tensor, np.array])
def test_indices_of_writes_are_those_of_the_call(make):
    def write(x, changing):
        y, v = x * 1, x[:2] * 3
        index, mask = make([2, 0]), make([True, False, True])
        y[index] = v
        y[mask] += 1
        z = y.index_put((pb.tensor(index) if make is np.array else index,), v, accumulate=True)
        if changing:
            index[:] = 1
            mask[:] = False
        return (z * pb.tensor([1.0, 10.0, 100.0])).sum()

    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    write(x, changing=True).backward()
    expected = pb.autograd.grad(write(x, changing=False), x)[0]
    assert x.grad.tolist() == expected.tolist()


def test_mask_of_where():
    x, mask = pb.ones(2, requires_grad=True), np.array([True, False])
    y = np.where(mask, x, 0)
    mask[:] = True
    y.sum().backward()
    assert x.grad.tolist() == [1, 0]
    mask = pb.tensor([True, False])
    y = np.where(mask, x, 0)
    mask[:] = True
    with pytest.raises(SavedTensorModifiedError, match="WhereBackward0 saved 'condition'"):
        y.sum().backward()


def test_index_inside_transforms():
    index = pb.tensor([0, 1])

    def f(x):
        y = x[index].sum()
        index.add_(1)
        return y

    assert pb.func.grad(f)(pb.ones(4)).tolist() == [1, 1, 0, 0]
    assert pb.func.grad(f)(pb.ones(4)).tolist() == [0, 1, 1, 0]
