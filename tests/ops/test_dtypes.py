"""Dtypes of results: Python's numbers are weak in every place, and whole numbers never give half precision."""

import re

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.calls import REFUSALS, flat_tensors, function_of, to_tensors
from pullback.testing.opinfo.core import Input, map_arrays
from tests.declared import declared
from tests.opinfo.records import OPINFOS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # log(0) and the like, of samples made whole

WHOLE = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64]


def takers_of_numbers():
    """Names and numbers of Tensor arguments of the operators that take two Tensors or more, and no list of them."""
    for entry in declared():
        given, _, _ = entry["func"].partition("->")
        count = len(re.findall(r"Tensor \w+", given))
        if count > 1 and "internal" not in entry.get("tags", "") and "." not in given.split("(")[0]:
            yield given.split("(")[0], count


def result(function, args):
    """The result as a tensor, None if it is refused."""
    with np.errstate(all="ignore"):
        try:
            out = function(*args)
        except (*REFUSALS, AttributeError):  # of a number, its shape
            return None
    return out if isinstance(out, pb.Tensor) and out.dtype.kind == "f" else None


@pytest.mark.parametrize(("name", "count"), sorted(set(takers_of_numbers())))
def test_a_python_number_is_weak_in_every_place(name, count):
    function = getattr(TENSOR, name)  # what formulas and Python's operators call; a public face may refuse numbers
    for shape in ((2, 2), ()):
        tensor = pb.tensor(np.full(shape, 0.5, np.float32))
        plain = result(function, [tensor] * count)
        if plain is None:
            continue
        for place in range(count):
            for number in (0.5, 1, True):
                args = [tensor] * count
                args[place] = number
                found = result(function, args)
                assert found is None or found.dtype == plain.dtype, (place, number)


@pytest.mark.parametrize("name", ["xlogy", "special_xlog1py", "igamma", "ldexp", "special_zeta"])
def test_beside_a_number_gradients_and_tangents_are_single_too(name):
    function = getattr(TENSOR, name)
    for call in (lambda x: function(x, 1.5), lambda x: function(1.5, x)):
        for shape in ((2,), ()):
            x = pb.tensor(np.full(shape, 1.25, np.float32), requires_grad=True)
            y = call(x)
            exact = call(pb.tensor(np.full(shape, 1.25)))
            np.testing.assert_allclose(y.detach().numpy(), exact.numpy(), rtol=1e-6)
            try:
                y.sum().backward()
            except NotImplementedError:
                continue
            assert x.grad.dtype == np.float32
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(x.detach(), pb.tensor(np.ones(shape, np.float32)))
                assert forward_ad.unpack_dual(call(dual)).tangent.dtype == np.float32


# Where an argument names the dtype of the result, or another one has it.
NAMED = ["to", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "arange", "ones"]


@pytest.mark.parametrize("info", OPINFOS, ids=lambda info: info.full_name)
def test_of_whole_numbers_results_are_double(info):
    if info.random or info.name in NAMED or "window" in info.name or not hasattr_anywhere(info.name):
        pytest.skip("its dtype is given by name, or it is internal")
    function = info.call or function_of(info)

    def dtypes(sample, dtype):
        def cast(x):
            is_input = isinstance(x, Input) and x.dtype.kind in "fc"
            return np.clip(np.abs(x.real), 0, 1).astype(dtype).view(Input) if is_input else x

        args, kwargs = to_tensors(map_arrays(cast, (sample.args, sample.kwargs)))
        with np.errstate(all="ignore"):
            try:
                return {t.dtype for t in flat_tensors(function(*args, **kwargs))}
            except (*REFUSALS, OverflowError):
                return set()

    for sample in info.samples_for(np.float64)[:4]:
        if dtypes(sample, np.float64):
            for dtype in WHOLE:
                assert not dtypes(sample, dtype) & {np.dtype(np.float16), np.dtype(np.float32)}, (sample, dtype)


def hasattr_anywhere(name):
    """Whether an operator is public."""
    home = pb
    for part in name.split("."):
        home = getattr(home, part, None)
    return home is not None or hasattr(pb.Tensor, name)


def test_whole_numbers_keep_their_digits_on_every_way_into_a_function():
    flags, small = pb.tensor([True]), pb.tensor([3], dtype=pb.int8)
    assert pb.exp(flags).item() == flags.exp().item() == np.exp(flags).item() == np.e
    assert pb.exp(np.array([True])).item() == np.e
    out = pb.zeros(1)
    assert pb.sqrt(small, out=out).item() == out.item() == 3**0.5
    assert pb.hypot(small, flags).item() == np.hypot(small, 1).item() == 10**0.5
    assert pb.logsumexp(small, 0).dtype == np.float64
    assert pb.func.grad(lambda x: (x * flags.exp() * small.sqrt()).sum())(pb.ones(1)).item() == np.e * 3**0.5
    assert pb.tensor([True]).round().dtype == np.bool_
