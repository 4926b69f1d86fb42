"""Every operator in a program: traced forward, backward and twice backward, the plan gives what eager mode does."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import writer
from pullback.core.tensor import Tensor, wrap
from pullback.testing.opinfo.calls import LAYOUTS, flat_tensors, inplace_method, relayout, seeded, to_tensors
from pullback.testing.opinfo.core import Sample
from tests.arrays.test_refusing import derivatives, mapped
from tests.compiler.recorded import Recorder, arrays_of, copied, moved
from tests.opinfo.records import OPINFOS

REFUSED = (RuntimeError, ValueError, TypeError, IndexError)
DETERMINISTIC = [info for info in OPINFOS if not info.random]


@pytest.fixture(autouse=True)
def without_warnings(monkeypatch):
    monkeypatch.setattr(writer, "_REUSED", 1)  # so that small arrays too are written over
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def kept(t):
    """The same Tensor in memory of its own, with the same strides."""
    return wrap(copied(t.numpy(force=True))).requires_grad_(t.requires_grad)


def given(arrays):
    """A function that gives one after the other of these arrays in the place of a Tensor, or an array."""
    following = iter(arrays)

    def replaced(x):
        array = copied(next(following))
        return wrap(array).requires_grad_(x.requires_grad) if isinstance(x, Tensor) else array

    return replaced


def check_program(run, seed=lambda: None):
    """Trace `run(array, tensor)`, which makes its inputs by these functions, and compare the plan with eager mode.

    At other numbers too, where eager mode takes them.
    """
    try:
        expected = arrays_of(run(copied, kept))
    except REFUSED:  # a sample that is to be refused
        return
    recorder = Recorder()
    made = recorder.program(run(recorder.array, recorder.tensor))
    here = [copied(x) for x in recorder.examples]
    there = [moved(x) for x in here]
    recorder.spoil()
    compare(made, here, expected, seed)
    following = given(there)
    try:
        elsewhere = arrays_of(run(following, following))
    except REFUSED:
        return
    compare(made, there, elsewhere, seed)
    compare(made, here, expected, seed)


def compare(made, inputs, expected, seed):
    before = [copied(x) for x in inputs]
    seed()
    found = [np.asarray(x) for x in made.compute(inputs)]
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        inexact = b.dtype.kind in "fc"
        tolerance = 1e-9 if not inexact or np.finfo(b.dtype).eps < 1e-10 else 1e-4
        size = np.abs(b[np.isfinite(b)]).max(initial=0.0) if inexact else 0.0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * float(size))
    for a, b in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="an input was written into")
    for nr, a in enumerate(found):
        assert not any(np.may_share_memory(a, b) for b in (*found[:nr], *inputs))


def samples_of(info):
    """Each sample of a record, and whether cotangents have zeros; some in other layouts of memory."""
    for dtype in (info.grad_dtypes if info.order else info.dtypes)[:2]:
        for nr, sample in enumerate(info.samples_for(dtype)):
            yield sample, False
            if not nr and info.order:
                yield sample, True
        for sample, how in zip(info.samples_for(dtype), LAYOUTS.values(), strict=False):
            args, kwargs = relayout(sample, how)
            yield Sample(*args, **kwargs), False


@pytest.mark.parametrize("info", DETERMINISTIC, ids=lambda info: info.full_name)
def test_a_program_gives_what_eager_mode_does(info):
    for sample, masked in samples_of(info):
        check_program(lambda array, tensor, at=sample, masked=masked: derivatives(info, at, array, tensor, masked))


@pytest.mark.parametrize(
    "info", [info for info in OPINFOS if info.random and info.repeatable], ids=lambda info: info.full_name
)
def test_a_random_operator_draws_at_each_run_as_in_eager_mode(info):
    for sample, masked in samples_of(info):
        check_program(
            lambda array, tensor, at=sample, masked=masked: derivatives(info, at, array, tensor, masked),
            seed=lambda: seeded(info),
        )


WINDOWS = {"signal.windows.exponential"}  # of which nothing is a Tensor
INPLACE = [info for info in DETERMINISTIC if inplace_method(info) and info.name not in WINDOWS]


def written(info, sample, array, tensor):
    """[what the in-place form has written into, a view of it, gradients]."""
    args, kwargs = mapped(tensor, to_tensors((sample.args, sample.kwargs), requires_grad=info.order >= 1))
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
    target = args[0].clone()
    view = target[...]
    inplace_method(info)(target, *args[1:], **kwargs)
    if not target.requires_grad:
        return [target, view]
    cotangent = wrap(array(np.random.default_rng(0).standard_normal(target.shape).astype(target.dtype)))
    return [target, view, *pb.autograd.grad(target, inputs, cotangent, allow_unused=True)]


@pytest.mark.parametrize("info", INPLACE, ids=lambda info: info.full_name)
def test_in_place_forms_give_what_eager_mode_does(info):
    for dtype in (info.grad_dtypes if info.order else info.dtypes)[:2]:
        for sample in info.samples_for(dtype)[:2]:
            check_program(lambda array, tensor, at=sample: written(info, at, array, tensor))
