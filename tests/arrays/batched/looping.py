"""An operator under vmap against a loop over the batch, for the samples of its records."""

from functools import partial

import numpy as np

from pullback.autograd import grad as gradients
from pullback.core.factory import from_numpy
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor
from pullback.func import grad, jvp
from pullback.func import vmap as mapped
from pullback.ops.tables import TENSOR
from pullback.testing.opinfo.calls import REFUSALS, function_of, seeded, to_arrays
from pullback.testing.opinfo.core import Input, Plain, map_arrays

SIZE = 3
vmap = partial(mapped, randomness="same")  # some operators draw, by a seed of their record
FACTORS = (1, 0.875, 1.125)


def batch_of(x):
    """Some arrays like `x` in one, in the domain of most operators."""
    if x.dtype.kind in "fc":
        return np.stack([x * factor for factor in FACTORS]).astype(x.dtype)
    return np.stack([x, np.roll(x, 1) if x.ndim else x, x])


class Case:
    """One sample with some of its arrays batched: `wanted(number, array)` says which."""

    def __init__(self, info, sample, wanted, keep=lambda result: isinstance(result, Tensor)):
        self.info, self.keep, self.arrays, self.chosen = info, keep, [], []
        self.args = map_arrays(lambda x: self._slot(x, wanted), (sample.args, sample.kwargs))
        self.batches = [batch_of(self.arrays[i]) for i in self.chosen]

    def _slot(self, x, wanted):
        if isinstance(x, Plain):
            return x
        number = len(self.arrays)
        self.arrays.append(np.array(x.view(np.ndarray)))
        if wanted(number, x):
            self.chosen.append(number)
        return np.array(number).view(Slot)

    def call(self, *given):
        """The tensors among the results, for these arrays in place of the chosen ones."""
        given = dict(zip(self.chosen, given, strict=True))

        def put(x):
            if isinstance(x, Plain):
                return x.array
            number = int(x.view(np.ndarray))
            return given[number] if number in given else from_numpy(self.arrays[number].copy())

        args, kwargs = map_arrays(put, self.args)
        seeded(self.info)
        return [x for x in flatten(function_of(self.info)(*args, **kwargs))[0] if self.keep(x)]

    def looped(self, function):
        """The results of `function` for each element of the batch, stacked."""
        results = [flatten(function(*self.element(i)))[0] for i in range(SIZE)]
        return [np.stack([np.asarray(to_arrays(x)) for x in each]) for each in zip(*results, strict=True)]

    def reference(self):
        """What a loop gives; of one array SIZE times where other numbers are refused."""
        try:
            return self.looped(self.call)
        except REFUSALS:
            self.batches = [np.stack([self.arrays[i]] * SIZE) for i in self.chosen]
            return self.looped(self.call)

    def element(self, i):
        """The chosen arrays of one element of the batch."""
        return [from_numpy(np.array(batch[i])) for batch in self.batches]

    def tensors(self, dim=0):
        """All elements, with the batch dimension at `dim`."""
        return [from_numpy(np.array(np.moveaxis(batch, 0, dim), order="C")) for batch in self.batches]


class Slot(np.ndarray):
    """Stands for an array of a sample: a number of no dimension."""


def compare(found, expected, rtol=1e-9, atol=1e-10):
    """Shapes, dtypes and numbers."""
    found = [np.asarray(to_arrays(x)) for x in flatten(found)[0]]
    assert len(found) == len(expected)
    for x, wanted in zip(found, expected, strict=True):
        assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(x, wanted, rtol=rtol, atol=atol)


def check_values(info, sample):
    """vmap of the operator: all arrays batched, in front and behind, and each alone."""
    count = len(Case(info, sample, lambda number, x: True).arrays)
    choices = [(lambda number, x: True, dim) for dim in ((0,) if by_memory(info) else (0, -1))]
    if count > 1 and not info.name.endswith("_"):  # what is not batched cannot be written into
        choices += [(lambda number, x, one=one: number == one, 0) for one in range(count)]
    for wanted, dim in choices if count else ():
        case = Case(info, sample, wanted)
        expected = case.reference()
        compare(vmap(case.call, in_dims=dim)(*case.tensors(dim)), expected)


def by_memory(info):
    """Whether the result depends on the order of memory, which is another where the batch dimension comes last."""
    return info.name.startswith(("view_as_complex", "is_contiguous"))


def number_like(shape, dtype, seed):
    """A random direction."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(shape)
    return np.asarray(v + 1j * rng.standard_normal(shape) if dtype.kind == "c" else v).astype(dtype)


def scalar_of(case):
    """A sum of the results, each element with a factor of its own."""

    def scalar(*xs):
        total = 0.0
        for seed, x in enumerate(case.call(*xs)):
            part = TENSOR.mul(x, from_numpy(number_like(x.shape, x.dtype, seed)))
            total = total + TENSOR.sum(part.real if x.dtype.kind == "c" else part)
        return total

    return scalar


def check_second_derivatives(info, sample):
    """jvp of vjp against vjp of vjp, and vmap of it against a loop."""
    case = Case(
        info, sample, lambda _, x: isinstance(x, Input) and x.dtype.kind == "f",
        lambda x: isinstance(x, Tensor) and x.dtype.kind in "fc",
    )  # fmt: skip
    if not case.chosen:
        return
    case.reference()
    gradient = grad(scalar_of(case), tuple(range(len(case.chosen))))
    directions = [from_numpy(number_like(x.shape[1:], x.dtype, 9 + k)) for k, x in enumerate(case.batches)]

    def tangent(*xs):
        return jvp(gradient, xs, tuple(directions))[1]

    def along(*xs):
        return sum(TENSOR.sum(g * v) for g, v in zip(gradient(*xs), directions, strict=True))

    try:
        expected = case.looped(tangent)
    except NotImplementedError:
        return
    close = {"rtol": 1e-6, "atol": 1e-7}
    compare(grad(along, tuple(range(len(case.chosen))))(*case.element(1)), [x[1] for x in expected], **close)
    compare(vmap(tangent)(*case.tensors()), expected, **close)


def check_derivatives(info, sample):
    """vmap of grad and of jvp, grad and jvp of vmap."""
    case = Case(
        info, sample, lambda _, x: isinstance(x, Input) and x.dtype.kind in "fc",
        lambda x: isinstance(x, Tensor) and x.dtype.kind in "fc",
    )  # fmt: skip
    if not case.chosen:
        return
    case.reference()
    scalar = scalar_of(case)
    gradient = grad(scalar, tuple(range(len(case.chosen))))
    expected = case.looped(gradient)
    close = {"rtol": 1e-7, "atol": 1e-8}
    compare(vmap(gradient)(*case.tensors()), expected, **close)

    inputs = [x.requires_grad_() for x in case.tensors()]
    found = gradients(vmap(scalar)(*inputs).sum(), inputs, allow_unused=True)
    compare([TENSOR.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)], expected, **close)

    def tangent(*xs):
        directions = [from_numpy(number_like(x.shape, x.dtype, 9 + k)) for k, x in enumerate(xs)]
        return jvp(case.call, xs, tuple(directions))[1]

    try:
        expected = case.looped(tangent)
    except NotImplementedError:
        return
    compare(vmap(tangent)(*case.tensors()), expected, **close)
    directions = [np.stack([number_like(x.shape[1:], x.dtype, 9 + k)] * SIZE) for k, x in enumerate(case.batches)]
    compare(jvp(vmap(case.call), tuple(case.tensors()), tuple(map(from_numpy, directions)))[1], expected, **close)
