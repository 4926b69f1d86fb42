"""Every operator, forward, backward and twice backward, on arrays that refuse to tell their numbers.

So no formula and no composite looks at numbers but through the protocol of array types: see docs/design/array_types.md.
"""

import random
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import innermost
from pullback.core.errors import LinAlgError, ReadError, UnsupportedError
from pullback.core.tensor import Tensor, wrap
from pullback.testing.opinfo.calls import flat_tensors, function_of, seeded, to_tensors, twins
from tests.arrays.refusing import Kernels, Refusing, RefusingType, bare, hidden, shown
from tests.opinfo.records import OPINFOS
from tests.ops.test_structural_zeros import COMPUTED, STRUCTURAL, program

# What looks at numbers by its nature, and refuses to where there are none.
READERS = {
    "equal": "gives a Python value",
    "allclose": "gives a Python value",
    "tensor_split": "as many results as a tensor of positions has numbers",
    "__getitem__": "NumPy's rules for an index depend on its numbers",
    "index_put": "the same",
}


def mapped(function, tree):
    """A tree with `function` of each Tensor in it."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: mapped(function, x) for key, x in tree.items()}
    return type(tree)(mapped(function, x) for x in tree) if type(tree) in (list, tuple) else tree


def derivatives(info, sample, make, hide, masked=False):
    """[results, gradients, gradients of the gradients] with arrays that `make` and tensors that `hide` gives.

    `masked`: cotangents have zeros, which touch nothing.
    """
    seeded(info)
    args, kwargs = mapped(hide, to_tensors((sample.args, sample.kwargs), requires_grad=info.order >= 1))
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
    found = [flat_tensors(function_of(info)(*args, **kwargs))]
    rng = np.random.default_rng(0)
    for order in range(1, info.order + 1):
        roots = [r for r in found[-1] if r is not None and r.requires_grad]
        if not roots:
            break
        again = order < info.order
        numbers = [rng.standard_normal(r.shape) for r in roots]
        if masked:
            numbers = [x * (rng.random(x.shape) < 0.5) for x in numbers]
        given = [wrap(make(x.astype(r.dtype))) for x, r in zip(numbers, roots, strict=True)]
        if again and not masked:
            given = [x.requires_grad_() for x in given]
        found.append(pb.autograd.grad(roots, inputs, given, allow_unused=True, create_graph=again))
        inputs = inputs + [x for x in given if x.requires_grad]
    return found


def found_and_expected(info):
    """Results and derivatives of every sample, of arrays that refuse and of ndarrays."""
    for dtype in (info.grad_dtypes if info.order else info.dtypes)[:2]:
        for nr, (sample, twin) in enumerate(twins(info, dtype)):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = derivatives(info, sample, np.array, lambda t: t)
                except (RuntimeError, ValueError, TypeError, IndexError):  # a sample that is to be refused
                    continue
                yield derivatives(info, twin, Refusing, hidden), expected
                if nr == 0 and info.order:
                    cotangents = derivatives(info, sample, np.array, lambda t: t, masked=True)
                    yield derivatives(info, twin, Refusing, hidden, masked=True), cotangents


def repeatable(info):
    return not info.random or info.repeatable


@pytest.mark.parametrize(
    "info", [info for info in OPINFOS if info.name not in READERS], ids=lambda info: info.full_name
)
def test_no_formula_looks_at_numbers(info):
    for found, expected in found_and_expected(info):
        for a, b in zip(flat_tensors(found), flat_tensors(expected), strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            if repeatable(info):
                np.testing.assert_allclose(shown(a), b.numpy(force=True), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("info", [info for info in OPINFOS if info.name in READERS], ids=lambda info: info.full_name)
def test_what_reads_numbers_is_refused_where_there_are_none(info):
    with pytest.raises(UnsupportedError):
        list(found_and_expected(info))


@pytest.mark.parametrize("look", [bool, float, list, lambda t: t.item(), lambda t: t.numpy(), lambda t: t.tolist()])
def test_the_type_does_refuse(look):
    with pytest.raises((ReadError, TypeError)):
        look(hidden(pb.tensor(1.0)))


def test_checks_wait_until_the_numbers_are_known():
    tied = hidden(pb.eye(3).requires_grad_())
    RefusingType.waiting.clear()
    values, vectors = pb.linalg.eigh(tied)
    (values * vectors[0]).sum().backward()
    waiting = iter(RefusingType.waiting)
    with pytest.raises(LinAlgError, match="are equal"):
        all(examine() is None for examine in waiting)


# -- structural zeros -------------------------------------------------------------------------------------------------
def first(f, x, again=False):
    return pb.autograd.grad(f(x).sum(), x, create_graph=again)[0]


def second(f, x):
    return pb.autograd.grad(first(f, x, again=True).sum(), x)[0]


def pulled(f, x):
    y = f(x)
    return pb.autograd.grad(y, x, of_type(np.resize([0.0, 1.0, 0.0], y.shape), x))[0]


def pushed(f, x):
    return pb.func.jvp(f, (x.detach(),), (of_type(np.resize([0.0, 1.0], x.shape), x),))[1]


def pushed_gradient(f, x):
    return pushed(pb.func.grad(lambda x: f(x).sum()), x)


def of_type(numbers, like):
    """A tensor with these numbers, which shows them if `like` does."""
    return (hidden if type(like._array) is Refusing else lambda t: t)(pb.tensor(numbers))


MASKED = {name: (f, [0.0, 2.0, 4.0]) for name, f in STRUCTURAL if name != "boolean index"}
MASKED["nothing at all"] = (lambda x: pb.where(pb.tensor(False), (x.log().softmax(0) @ x.sqrt()), 1.0), [0.0, 2.0])
MASKED["nothing of a view"] = (lambda x: pb.where(x < 0, x.log().cumprod(0).softmax(0), 1.0), [0.0, 2.0])
MASKED |= {name: (f, at) for name, f, at, _ in COMPUTED}


@pytest.fixture(params=[False, True], ids=["single", "many"])
def of_samples(request, monkeypatch):
    """Arrays that stand for many samples too, of which nobody sees how many there are: as an array in a trace does."""
    monkeypatch.setattr(RefusingType, "many", request.param)


@pytest.mark.usefixtures("of_samples")
@pytest.mark.parametrize("derivative", [first, second, pulled, pushed, pushed_gradient])
@pytest.mark.parametrize("name", MASKED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeros_are_structural_or_computed_without_a_look_at_numbers(name, derivative):
    f, at = MASKED[name]
    x = pb.tensor(at, requires_grad=True)
    np.testing.assert_allclose(shown(derivative(f, hidden(x))), shown(derivative(f, x)), rtol=1e-12)


@pytest.mark.usefixtures("of_samples")
@pytest.mark.parametrize("derivative", [first, second, pushed, pushed_gradient])
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_masked_programs_agree_without_a_look_at_numbers(seed, derivative):
    rng = random.Random(seed)
    f = program(rng)
    keep = pb.tensor([rng.random() < 0.5 for _ in range(5)] + [True])
    x = pb.tensor([rng.choice([0.0, -1.0, 1.5, 0.7, np.inf]) for _ in range(6)], requires_grad=True)
    found, expected = (shown(derivative(lambda x: f(x, keep), t)) for t in (hidden(x), x))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_plain_cotangent_of_zeros_is_nothing():
    x = hidden(pb.tensor([0.0, 2.0], requires_grad=True))
    for again in (False, True):
        (found,) = pb.autograd.grad(x.log().softmax(0) + x.sqrt(), x, pb.zeros(2), create_graph=again)
        np.testing.assert_array_equal(shown(found), [0.0, 0.0])


def recorded(monkeypatch):
    """A list of the kernels that run on such arrays from here on: (kernel, arguments, what it gives)."""
    steps = []

    def kernel_of(kernels, name):
        kernel = kernels.get(name) or kernels.__missing__(name)

        def run(*args):
            steps.append((kernel, args, kernel(*args)))
            return steps[-1][2]

        return run

    monkeypatch.setattr(Kernels, "__getitem__", kernel_of, raising=False)
    return steps


def run_again(steps, given, other):
    """The results of the steps, by the ids of those of the first run, with another array in the place of `given`."""
    known = {id(given): other}

    def now(x):
        return type(x)(map(now, x)) if type(x) in (list, tuple) else known.get(id(x), x)

    for kernel, args, result in steps:
        found = kernel(*now(args))
        pairs = zip(result, found, strict=True) if type(result) is tuple else [(result, found)]
        known.update((id(before), after) for before, after in pairs)
    return known


@pytest.mark.parametrize("derivative", [first, second, pulled, pushed, pushed_gradient])
@pytest.mark.parametrize("name", MASKED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_masks_are_computed_by_kernels_that_a_trace_records(name, derivative, monkeypatch):
    monkeypatch.setattr(RefusingType, "many", True)
    f, at = MASKED[name]
    x, other = pb.tensor(at, requires_grad=True), pb.tensor(at[::-1], requires_grad=True)
    expected, given = shown(derivative(f, other)), hidden(x)
    steps = recorded(monkeypatch)
    found = derivative(f, given)
    known = run_again(steps, given._array, Refusing(at[::-1]))
    np.testing.assert_allclose(bare(known[id(innermost(found))]), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("derivative", "f"),
    [(first, lambda x: pb.where(x > 0, x.sqrt() * 2, 0.0)), (pushed, lambda x: pb.where(x > 0, x, 0.0).sqrt() * 2)],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_is_touched_where_a_type_computes_no_masks(derivative, f, monkeypatch):
    x = hidden(pb.tensor([0.0, 4.0], requires_grad=True))
    np.testing.assert_array_equal(shown(derivative(f, x)), [0.0, 0.5])
    monkeypatch.setattr(RefusingType, "computes_masks", False)
    np.testing.assert_array_equal(shown(derivative(f, x)), [np.nan, 0.5])


def test_the_truth_of_an_array_is_not_its_length():
    for x in (Refusing(np.ones(3)), Refusing(np.ones(3)) > 100, Refusing(np.ones(0))):
        with pytest.raises(ReadError, match="a truth value looks at the numbers of a Refusing"):
            bool(x)
