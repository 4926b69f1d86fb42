"""Element-by-element operators at 0, inf, nan, huge and tiny numbers: forward mode says what backward says."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.core.factory import from_numpy
from pullback.testing.opinfo.calls import REFUSALS, accepted, flat_tensors, function_of, replaced
from pullback.testing.opinfo.core import Input, Plain, map_arrays
from tests.opinfo.nn import activations_and_losses
from tests.opinfo.pointwise import elementary, functions
from tests.opinfo.special import functions as special

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INF, NAN = np.inf, np.nan
MANY = [0.0, -0.0, INF, -INF, NAN, 1e-300, 1e-20, -1e-20, 1e200, -1e200, 1e5, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -3.0]
FEW = [0.0, -0.0, INF, -INF, NAN, 1e200, -0.5, 2.0]  # for three arguments


def grids(count):
    """For each of so many arguments a vector, in which all combinations of special numbers stand."""
    numbers = [[*MANY, *np.linspace(-50, 50, 24)], MANY][count > 1] if count < 3 else FEW
    return [np.array(column) for column in zip(*itertools.product(numbers, repeat=count), strict=True)]


def calls(info):
    """(function of vectors, how many) for each sample of an operator that works element by element."""
    function = function_of(info)
    for sample in accepted(info, np.float64):
        inputs = []

        def collect(x, inputs=inputs):
            if isinstance(x, Input) and x.dtype.kind == "f":
                inputs.append(from_numpy(np.ones(x.shape)))
                return inputs[-1]
            return x.array if isinstance(x, Plain) else from_numpy(x.view(np.ndarray))

        args, kwargs = map_arrays(collect, (sample.args, sample.kwargs))

        def call(*xs, inputs=inputs, args=args, kwargs=kwargs):
            found = function(*replaced(args, inputs, xs), **replaced(kwargs, inputs, xs))
            (only,) = [r for r in flat_tensors(found) if r.dtype.kind == "f"]
            return only

        if 1 <= len(inputs) <= 3 and works_by_element(call, len(inputs)):
            yield call, len(inputs)


def works_by_element(call, count):
    """Whether each element of the result depends on that element of the inputs alone."""
    rng = np.random.default_rng(0)
    before = [rng.uniform(0.1, 0.9, 4) for _ in range(count)]
    try:
        y = call(*map(from_numpy, before)).numpy()
        for i in range(4):
            after = [x.copy() for x in before]
            for x in after:
                x[i] += 0.05
            z = call(*map(from_numpy, after)).numpy()
            if y.shape != (4,) or z.shape != (4,) or np.delete(y != z, i).any():
                return False
    except (*REFUSALS, NotImplementedError):
        return False
    return True


def backward(call, xs, i):
    leaves = [from_numpy(x.copy()) for x in xs]
    leaves[i].requires_grad_()
    y = call(*leaves)
    if not y.requires_grad:
        return np.zeros(xs[i].shape)
    return pb.autograd.grad(y, leaves[i], pb.ones_like(y))[0].numpy()


def forward(call, xs, i):
    def of_one(x):
        return call(*[x if j == i else from_numpy(other) for j, other in enumerate(xs)])

    return pb.func.jvp(of_one, (from_numpy(xs[i]),), (pb.ones(xs[i].shape, dtype=xs[i].dtype),))[1].numpy()


def records():
    """What may work element by element, but for what loops over a degree or an order.

    Nor exp(target) * input of kl_div: at input 0 and a target of 1e5 forward computes inf * 0, and backward need not.
    """
    homes = [elementary.OPINFOS, functions.OPINFOS, special.OPINFOS, activations_and_losses.OPINFOS]
    found = [info for home in homes for info in home if info.order and np.float64 in info.grad_dtypes]
    return [
        info
        for info in found
        if not (info.random or "polynomial" in info.name or "_derivative" in info.name)
        and info.full_name != "nn.functional.kl_div.log_target"
    ]


@pytest.mark.parametrize("info", records(), ids=lambda info: info.full_name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_a_tangent_that_is_not_there_takes_no_part(info, dtype):
    for call, count in calls(info):
        xs = [x.astype(dtype) for x in grids(count)]
        for i in range(count):
            try:
                pulled = backward(call, xs, i)
                pushed = forward(call, xs, i)
            except (*REFUSALS, NotImplementedError):  # of these dtypes, or not derived
                continue
            with np.errstate(all="ignore"):
                near = np.isclose(pushed, pulled, rtol=1e-7 if dtype == np.float64 else 2e-3, atol=1e-30)
            wrong = ~(near | np.isnan(pulled))
            at = [tuple(float(x[k]) for x in xs) for k in np.flatnonzero(wrong)[:5]]
            assert not at, f"argument {i} at {at}: backward {pulled[wrong][:5]}, forward {pushed[wrong][:5]}"
