"""An undefined gradient (None) means zeros: in every node, in custom Functions, in every check of a gradient.

Every node of every operator is met through the samples of its record, those of its second derivative too.
"""

import inspect
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.basic_nodes import Error, Identity, UndefinedGrad
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.autograd.graph import call_node
from pullback.core.errors import LinAlgError
from pullback.graph.node import AccumulateGrad
from pullback.testing import assert_close
from pullback.testing.opinfo.calls import accepted, flat_tensors, function_of, seeded, to_tensors
from tests.opinfo.records import OPINFOS

pytestmark = pytest.mark.usefixtures("both_loops")

DIFFERENTIABLE = [info for info in OPINFOS if info.order and np.float64 in info.grad_dtypes]
MOST_OUTPUTS = 4  # beyond, only the first few and the last are left undefined


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def nodes_below(tensors):
    """The nodes from which gradients of these tensors flow, without the leaves'."""
    seen, waiting = {}, [t.grad_fn for t in tensors]
    while waiting:
        node = waiting.pop()
        if node is not None and not isinstance(node, AccumulateGrad) and node not in seen:
            seen[node] = True
            waiting += [following for following, _ in node.next_functions]
    return list(seen)


def nodes_of(info):
    """One node of each class, and number of outputs, in the graphs of the samples and of their gradients."""
    found = {}
    for sample in accepted(info, np.float64):
        args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
        inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
        seeded(info)
        outputs = [o for o in flat_tensors(function_of(info)(*args, **kwargs)) if o.requires_grad]
        grads = []
        if outputs and info.order >= 2:
            ones = [pb.ones_like(o, requires_grad=True) for o in outputs]
            grads = pb.autograd.grad(outputs, inputs, ones, create_graph=True, allow_unused=True)
        for node in nodes_below([*outputs, *(g for g in grads if g is not None and g.requires_grad)]):
            found.setdefault((type(node), len(node.input_metadata)), node)
    return list(found.values())


def run(node, grads):
    """What the node makes of these gradients, as ndarrays or None."""
    with pb.no_grad(), np.errstate(all="ignore"):
        return [None if g is None else np.array(g.numpy()) for g in call_node(node, grads)]


def may_be_defined(node):
    """For each output of a node whether its gradient can be defined."""
    count = len(node.input_metadata)
    return getattr(node, "differentiable_outputs", ()) or (True,) * count


@pytest.mark.parametrize("info", DIFFERENTIABLE, ids=lambda info: info.full_name)
def test_nodes_take_undefined_gradients_for_zeros(info, monkeypatch):
    for node in nodes_of(info):
        everything_undefined(node, monkeypatch)
        if len(node.input_metadata) > 1:
            some_undefined(node)


def everything_undefined(node, monkeypatch):
    """All gradients undefined give undefined gradients, and the formula does not run."""

    def must_not_run(*args):
        raise AssertionError(f"{node.name()} ran its formula on undefined gradients")

    with monkeypatch.context() as patched:
        patched.setattr(type(node), "apply", must_not_run)
        assert run(node, [None] * len(node.input_metadata)) == [None] * len(node.next_functions)


def some_undefined(node):
    """Some gradients undefined give what zeros give."""
    rng = np.random.default_rng(0)
    defined = [k for k, may in enumerate(may_be_defined(node)) if may]
    looked_at = defined if len(defined) <= MOST_OUTPUTS else [*defined[: MOST_OUTPUTS - 1], defined[-1]]
    full = [pb.from_numpy(rng.standard_normal(m.shape).astype(m.dtype)) for m in node.input_metadata]
    for choice in product((True, False), repeat=len(looked_at)):
        if not any(choice):
            continue
        missing = {k for k, given in zip(looked_at, choice, strict=True) if not given}
        with_none = [g if k in defined and k not in missing else None for k, g in enumerate(full)]
        with_zeros = [
            pb.zeros_like(g) if k in missing else w for k, (g, w) in enumerate(zip(full, with_none, strict=True))
        ]
        try:
            pairs = zip(run(node, with_none), run(node, with_zeros), strict=True)
        except LinAlgError:
            continue  # these cotangents are no loss's: they depend on the phases of eigenvectors
        for got, expected in pairs:
            if got is None or expected is None:
                assert not np.any(got if expected is None else expected), node.name()
            else:
                assert_close(got, expected, equal_nan=True)


def test_the_records_reach_nodes_of_several_outputs():
    reached = [node for info in DIFFERENTIABLE for node in nodes_of(info)]
    several = {node.name() for node in reached if len(node.input_metadata) > 1}
    assert several >= {"SortBackward0", "TopkBackward0", "UnbindBackward0", "MaxBackward0"}


def test_every_gradcheck_looks_at_undefined_gradients():
    for check in (gradcheck, gradgradcheck):
        assert inspect.signature(check).parameters["check_undefined_grad"].default is True


# -- through the engine ------------------------------------------------------------------------------------------


def test_the_engine_passes_undefined_gradients_on():
    x = leaf()
    y = UndefinedGrad()(x.exp()).sin()
    assert pb.autograd.grad(y.sum(), x, allow_unused=True) == (None,)
    y = UndefinedGrad()(x.exp()).sin()
    y.sum().backward()
    assert x.grad is None


def test_an_undefined_gradient_adds_nothing_to_a_defined_one():
    x = leaf()
    y = x * 3
    (UndefinedGrad()(y) + y * 2).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_materialize_grads_gives_zeros_for_it():
    x = leaf()
    (g,) = pb.autograd.grad(UndefinedGrad()(x).sum(), x, materialize_grads=True)
    assert g.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        pb.autograd.grad(UndefinedGrad()(x).sum(), x)


def test_an_unused_output_is_undefined():
    x = leaf(3.0, 1.0, 2.0)
    first, _, last = x.unbind()
    (first * last).backward()
    assert x.grad.tolist() == [2, 0, 3]


@pytest.mark.parametrize("several", [False, True])
def test_hooks_get_none_for_an_undefined_gradient(several):
    x, seen = leaf(), []
    y = x.sort()[0] if several else x * x
    y.grad_fn.register_hook(lambda outgoing, incoming: seen.append((outgoing, incoming)))
    UndefinedGrad()(y).sum().backward()
    assert seen == [((None,), (None, None)) if several else ((None, None), (None,))]


def test_error_raises_for_an_undefined_gradient_too():
    x = leaf()
    y = x * 2
    z = pb.from_numpy(y.detach().numpy())
    z._fn, z._requires_grad = Error("not this way", (y.grad_fn,)), True
    z._fn._shape, z._fn._dtype = z.shape, z.dtype
    with pytest.raises(RuntimeError, match="not this way"):
        pb.autograd.grad(UndefinedGrad()(z).sum(), x, allow_unused=True)


def test_identity_passes_none_on():
    x = leaf()
    node = Identity(((x * 2).grad_fn,), x.shape, x.dtype)
    assert node(None) is None


# -- custom Functions ----------------------------------------------------------------------------------------------


def twofold(materialize):
    """A Function of two outputs that notes what its backward gets."""

    class Twofold(pb.autograd.Function):
        seen: ClassVar[list] = []

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, first, second):
            Twofold.seen.append(tuple(None if g is None else g.tolist() for g in (first, second)))
            if first is None or second is None:
                return first if second is None else second * 2
            return first + second * 2

    return Twofold


@pytest.mark.parametrize(("materialize", "nothing"), [(True, [0.0, 0.0]), (False, None)])
def test_functions_get_zeros_unless_they_ask_for_none(materialize, nothing):
    function, x = twofold(materialize), leaf()
    first, second = function.apply(x)
    assert pb.autograd.grad(second.sum(), x, retain_graph=True)[0].tolist() == [2, 2]
    assert pb.autograd.grad(first.sum(), x)[0].tolist() == [1, 1]
    assert function.seen == [(nothing, [1, 1]), ([1, 1], nothing)]


@pytest.mark.parametrize(("materialize", "nothing"), [(True, [0.0, 0.0]), (False, None)])
def test_a_function_runs_although_all_gradients_are_undefined(materialize, nothing):
    function, x = twofold(materialize), leaf()
    cut = [UndefinedGrad()(y) for y in function.apply(x)]
    (g,) = pb.autograd.grad(cut[0].sum() + cut[1].sum(), x, allow_unused=True)
    assert (None if g is None else g.tolist()) == nothing
    assert function.seen == [(nothing, nothing)]


def test_a_function_may_return_none_for_an_input():
    class First(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y.detach()

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x, y = leaf(), leaf()
    total = First.apply(x, y * 3).sum()
    assert pb.autograd.grad(total, y, retain_graph=True, allow_unused=True) == (None,)
    total.backward()
    assert y.grad is None
    assert x.grad.tolist() == [1, 1]


def test_gradcheck_finds_a_function_that_cannot_take_none():
    class Careless(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with (
        pytest.warns(UserWarning, match="check_undefined_grad=False"),
        pytest.raises(RuntimeError, match=r"Undefined gradient of .*(?s:.)*materialize_grads"),
    ):
        gradcheck(Careless.apply, leaf())
    assert gradcheck(Careless.apply, leaf(), check_undefined_grad=False)
