"""What surrounds the numbers: groups, states, memory, transforms, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import SavedTensorModifiedError, UnsupportedError
from pullback.optim import (
    ASGD,
    LBFGS,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    Optimizer,
    RAdam,
    RMSprop,
    Rprop,
    lr_scheduler,
)

BY_RULE = [
    (SGD, {"lr": 0.1, "momentum": 0.9}),
    (Adam, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    (AdamW, {"lr": 0.1}),
    (RMSprop, {"lr": 0.1, "centered": True, "momentum": 0.5}),
    (Adagrad, {"lr": 0.1}),
    (Adadelta, {"lr": 0.1, "eps": 0.1}),
    (Adamax, {"lr": 0.1, "weight_decay": 0.1}),
    (NAdam, {"lr": 0.1, "weight_decay": 0.1}),
    (RAdam, {"lr": 0.1, "betas": (0.8, 0.9)}),
    (Rprop, {"lr": 0.1}),
    (ASGD, {"lr": 0.1, "lambd": 0.1, "t0": 2.0}),
]
every = pytest.mark.parametrize(("kind", "options"), BY_RULE, ids=lambda x: getattr(x, "__name__", ""))


def descend(optimizer, loss, steps=5):
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


@every
def test_large_parameters_move_as_small_ones_do(kind, options):
    values = np.random.default_rng(0).standard_normal((300, 411))
    large, parts = pb.tensor(values, requires_grad=True), [pb.tensor(row, requires_grad=True) for row in values]
    descend(kind([large], **options), lambda: (large**2 / 3 + large.sin()).sum())
    descend(kind(parts, **options), lambda: sum((x**2 / 3 + x.sin()).sum() for x in parts))
    rows = np.stack([x.detach().numpy() for x in parts])
    np.testing.assert_allclose(large.detach().numpy(), rows, rtol=1e-9)  # sin rounds otherwise in long vectors


@every
@pytest.mark.parametrize("layout", ["F", "strided"])
def test_parameters_that_are_not_contiguous(kind, options, layout):
    values = np.random.default_rng(1).standard_normal((300, 411))
    memory = np.asfortranarray(values) if layout == "F" else np.repeat(values, 2, axis=1)[:, ::2]
    x, y = pb.from_numpy(memory).requires_grad_(), pb.tensor(values, requires_grad=True)
    for p in (x, y):
        descend(kind([p], **options), lambda p=p: (p.cos() + p * p).sum())
    assert np.array_equal(memory, y.detach().numpy())


@every
def test_complex_parameters_are_two_real_ones(kind, options):
    z = pb.tensor([1.0 + 2j, -0.5 - 1j], requires_grad=True)
    pair = pb.view_as_real(z.detach()).clone().requires_grad_()
    descend(kind([z], **options), lambda: ((z * z).abs() + 7 * z.real + 5 * z.imag).sum())
    descend(
        kind([pair], **options), lambda: ((pb.view_as_complex(pair) ** 2).abs() + 7 * pair[:, 0] + 5 * pair[:, 1]).sum()
    )
    np.testing.assert_allclose(pb.view_as_real(z.detach()).numpy(), pair.detach().numpy(), rtol=1e-12)


@every
def test_dtypes_stay(kind, options):
    x = pb.tensor([1.0, 2.0], dtype=pb.float32, requires_grad=True)
    optimizer = kind([x], **options)
    descend(optimizer, lambda: (x * x).sum())
    assert x.dtype == np.float32
    assert {v.dtype for v in optimizer.state[x].values() if isinstance(v, np.ndarray)} <= {np.dtype(np.float32)}


@every
@pytest.mark.parametrize("through", [lambda x: x, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_state_goes_on_elsewhere(kind, options, through):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    optimizer = kind([x], **options)
    loss = lambda p: lambda: (p**4).sum() / 50  # noqa: E731
    descend(optimizer, loss(x))
    y = x.detach().clone().requires_grad_()
    other = kind([y], lr=77.0)
    other.load_state_dict(through(optimizer.state_dict()))
    for p, o in ((x, optimizer), (y, other)):
        descend(o, loss(p))
    assert np.array_equal(x.detach().numpy(), y.detach().numpy())
    assert other.param_groups[0]["lr"] == 0.1


def test_numbers_kept_once_for_a_parameter_go_on():
    """Those of NAdam and ASGD, which PyTorch writes as arrays without an axis."""
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for kind, names in ((NAdam, {"mu_product"}), (ASGD, {"eta", "mu"})):
        optimizer, other = kind([x]), kind([x])
        descend(optimizer, lambda: (x * x).sum(), 2)
        state = optimizer.state_dict()
        arrays = {0: {key: np.array(value) for key, value in state["state"][0].items()}}
        other.load_state_dict({**state, "state": arrays})
        assert {key for key, value in other.state[x].items() if type(value) is float} == names
        assert {key: other.state[x][key] for key in names} == {key: state["state"][0][key] for key in names}


def test_a_first_length_may_be_a_function_of_the_step():
    optimizer = Rprop.functional(lr=lambda step: 0.5 / (1 + step))
    w, _ = optimizer.update(1.0, 3.0, optimizer.init(1.0))
    assert w == 0.5


def test_a_state_of_pytorch_is_understood():
    """As torch.optim writes it, with its tensors turned into arrays; SGD counts no steps there."""
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    optimizer = SGD([x], lr=1.0)
    group = {"lr": 0.5, "momentum": 0.5, "foreach": None, "params": [0]}
    optimizer.load_state_dict({"state": {0: {"momentum_buffer": np.array([1.0, 1.0])}}, "param_groups": [group]})
    x.grad = pb.ones(2)
    optimizer.step()
    np.testing.assert_allclose(x.detach().numpy(), [0.25, 1.25])
    assert "foreach" not in optimizer.param_groups[0]


def test_a_state_of_another_shape_is_refused():
    x, y = pb.zeros(2).requires_grad_(), pb.zeros(3).requires_grad_()
    optimizer = Adam([x])
    descend(optimizer, lambda: x.sum())
    with pytest.raises(ValueError, match=r"Adam.load_state_dict: exp_avg has shape \(2,\), its parameter \(3,\)"):
        Adam([y]).load_state_dict(optimizer.state_dict())
    with pytest.raises(ValueError, match=r"groups of \[1\] parameters, and this optimizer has groups of \[2\]"):
        Adam([x, y]).load_state_dict(optimizer.state_dict())


def test_a_state_of_lbfgs_goes_on():
    def minimise(x, optimizer, steps):
        def closure():
            optimizer.zero_grad()
            loss = ((x**4).sum() + (x[0] - x[1]) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(steps):
            optimizer.step(closure)

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    options = {"max_iter": 2, "line_search_fn": "strong_wolfe"}
    optimizer = LBFGS([x], **options)
    minimise(x, optimizer, 2)
    y = x.detach().clone().requires_grad_()
    other = LBFGS([y], **options)
    other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    minimise(x, optimizer, 3)
    minimise(y, other, 3)
    assert np.array_equal(x.detach().numpy(), y.detach().numpy())


def test_groups_have_options_of_their_own():
    x, y, z = (pb.tensor([1.0], requires_grad=True) for _ in range(3))
    optimizer = SGD([{"params": [x]}, {"params": y, "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": [z], "weight_decay": 1.0})
    descend(optimizer, lambda: (x + y + z).sum(), 1)
    assert [p.item() for p in (x, y, z)] == pytest.approx([0.9, 0.5, 0.8])
    assert "group 1: 1 parameters, lr=0.5" in repr(optimizer)


def test_parameters_without_a_gradient_stay():
    x, y = (pb.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = Adam([x, y], weight_decay=1.0)
    descend(optimizer, lambda: x.sum(), 1)
    assert y.item() == 1
    assert y not in optimizer.state
    assert x in optimizer.state


def test_zero_grad():
    x = pb.tensor([1.0], requires_grad=True)
    optimizer = SGD([x])
    (3 * x).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.item() == 0
    optimizer.zero_grad()
    assert x.grad is None


def test_a_step_is_a_write_that_graphs_notice():
    x = pb.tensor([1.0], requires_grad=True)
    y = (x * x).sum()
    x.grad = pb.ones(1)
    SGD([x]).step()
    with pytest.raises(SavedTensorModifiedError, match=r"SGD\.step"):
        y.backward()


def test_step_takes_a_closure():
    x = pb.tensor([3.0], requires_grad=True)
    optimizer = SGD([x], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with pb.no_grad():
        assert optimizer.step(closure).item() == 9
    assert x.item() == 0


@every
def test_functional_steps_are_differentiable(kind, options):
    """By the start, and by the options, through a dozen steps."""
    target = np.array([1.0, -2.0, 0.5])

    def after(hyper, steps=12):
        optimizer = kind.functional(**(options | {"lr": hyper["lr"]}))
        w = hyper["start"]
        state = optimizer.init(w)
        for _ in range(steps):
            gradient = pb.func.grad(lambda w: np.sum((w - target) ** 2 + 0.1 * (w - target) ** 4))(w)
            w, state = optimizer.update(w, gradient, state)
        return np.sum(w**2)

    hyper = {"lr": 0.05, "start": np.array([0.1, 0.2, -0.3])}
    pb.func.check_grads(after, (hyper,), order=1, modes=("rev", "fwd"))


def test_functional_steps_where_every_gradient_is_zero():
    """The derivative of sqrt(v) at 0 is infinite; the step's is not."""
    optimizer = Adam.functional(lr=0.1)

    def after(w):
        state = optimizer.init(w)
        w, state = optimizer.update(w, pb.func.grad(lambda w: np.sum(w * w * 0))(w), state)
        return w

    np.testing.assert_array_equal(pb.func.jacrev(after)(np.ones(2)), np.eye(2))


def test_functional_steps_of_a_batch():
    optimizer = Adam.functional(lr=0.1)
    step = lambda w, g: optimizer.update(w, g, optimizer.init(w))[0]  # noqa: E731
    w, g = np.random.default_rng(0).standard_normal((2, 4, 3))
    np.testing.assert_allclose(pb.vmap(step)(w, g), np.stack([step(a, b) for a, b in zip(w, g, strict=True)]))


def test_a_rate_may_be_a_function_of_the_step():
    optimizer = SGD.functional(lr=lambda step: 1.0 if step == 0 else 0.25)
    w, state = 0.0, None
    state = optimizer.init(w)
    w, state = optimizer.update(w, 1.0, state)
    w, state = optimizer.update(w, 1.0, state)
    assert w == -1.25
    assert state.step == 2
    assert optimizer.update(w, 1.0, state, lr=2.0)[0] == -3.25


def test_a_subclass_has_a_rule_or_a_step():
    class SignDescent(Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def _kept(self, options):
            return {}

        @staticmethod
        def rule(p, g, state, options, t):
            return p - options["lr"] * np.sign(g)

    x = pb.tensor([2.0, -5.0], requires_grad=True)
    optimizer = SignDescent([x], 0.5)
    descend(optimizer, lambda: (x * x).sum(), 2)
    assert x.tolist() == [1.0, -4.0]


def test_options_may_be_switched_on_later():
    """SGD begins to gather momentum as PyTorch's does, with the gradient; Adam's largest v is that of now."""
    x, y = (pb.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    late, early = SGD([x], lr=0.1), SGD([y], lr=0.1, momentum=0.9, dampening=0.5)
    descend(late, lambda: (x * x).sum(), 1)
    late.param_groups[0].update(momentum=0.9, dampening=0.5)
    with pb.no_grad():
        y.copy_(x)
    for p, optimizer in ((x, late), (y, early)):
        descend(optimizer, lambda p=p: (p * p).sum(), 3)
    assert x.tolist() == y.tolist()
    adam = Adam([x])
    descend(adam, lambda: (x * x).sum(), 1)
    adam.param_groups[0]["amsgrad"] = True
    descend(adam, lambda: (x * x).sum(), 1)
    assert np.array_equal(adam.state[x]["max_exp_avg_sq"], adam.state[x]["exp_avg_sq"])


def test_a_state_of_another_optimizer_is_refused():
    x = pb.tensor([1.0], requires_grad=True)
    momentum, adam = SGD([x], momentum=0.9), Adam([x])
    descend(momentum, lambda: (x * x).sum(), 1)
    adam.load_state_dict(momentum.state_dict())
    with pytest.raises(ValueError, match=r"Adam.step: .* has momentum_buffer and not exp_avg, exp_avg_sq: .* another"):
        adam.step()


def test_parameters_with_names():
    x, y = (pb.tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = SGD([("x", x), ("y", y)], lr=0.1)
    assert [p is q for p, q in zip(optimizer.param_groups[0]["params"], (x, y), strict=True)] == [True, True]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["x", "y"]


def schedule(make):
    optimizer = SGD([pb.zeros(1, requires_grad=True)], lr=1.0, momentum=0.5)
    scheduler, rates = make(optimizer), []
    for _ in range(6):
        rates += scheduler.get_last_lr()
        optimizer.step()
        scheduler.step()
    return rates


def chained(optimizer):
    parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    return lr_scheduler.ChainedScheduler(parts)


def in_sequence(optimizer):
    parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    return lr_scheduler.SequentialLR(optimizer, parts, [2])


@pytest.mark.parametrize(
    ("inner", "first", "expected"),
    [
        (chained, True, [0.1, 0.09, 0.81, 1.0, 0.5, 0.25]),
        (chained, False, [1.0, 0.5, 0.25, 0.1, 0.09, 0.81]),
        (in_sequence, True, [0.1, 1.0, 0.5, 1.0, 0.5, 0.25]),  # one epoch short: PyTorch's
        (in_sequence, False, [1.0, 0.5, 0.25, 0.1, 0.1, 1.0]),
    ],
)
def test_a_sequence_of_compound_schedulers(inner, first, expected):
    def make(optimizer):
        parts = [inner(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.5)]
        return lr_scheduler.SequentialLR(optimizer, parts if first else parts[::-1], [3])

    np.testing.assert_allclose(schedule(make), expected)


def test_a_scheduler_may_override_get_lr_as_in_pytorch():
    class Halved(lr_scheduler.CyclicLR):
        def get_lr(self):
            return [rate / 2 for rate in super().get_lr()]

    cyclic = {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 2}
    whole = schedule(lambda o: lr_scheduler.CyclicLR(o, **cyclic))
    np.testing.assert_allclose(schedule(lambda o: Halved(o, **cyclic)), np.array(whole) / 2)


def test_a_state_of_a_scheduler_has_the_rates_and_what_objects_hold():
    class Slower:
        def __init__(self):
            self.by = 1.0

        def __call__(self, epoch):
            return 1 / (1 + self.by * epoch)

    def made():
        return lr_scheduler.LambdaLR(SGD([pb.zeros(1)], lr=1.0), [Slower()])

    first, second = made(), made()
    first.lr_lambdas[0].by = 3.0
    first.step()
    state = first.state_dict()
    assert (state["_last_lr"], state["lr_lambdas"]) == ([0.25], [{"by": 3.0}])
    second.load_state_dict(state)
    assert second.get_last_lr() == [0.25]
    second.step()
    assert second.get_last_lr() == [1 / 7]
    functions = lr_scheduler.LambdaLR(SGD([pb.zeros(1)], lr=1.0), lambda epoch: 1 / (1 + epoch))
    assert functions.state_dict()["lr_lambdas"] == [None]


def test_one_cycle_may_be_stepped_after_each_of_its_steps():
    scheduler = lr_scheduler.OneCycleLR(SGD([pb.zeros(1)], momentum=0.9), 0.5, total_steps=4)
    for _ in range(4):
        scheduler.step()
    with pytest.raises(ValueError, match=r"OneCycleLR.step: there are 4 steps, and this is one more"):
        scheduler.step()


def test_a_phase_of_one_cycle_may_have_no_length():
    rates = schedule(lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=10, pct_start=0.1))
    assert rates[0] == 0.5
    assert rates == sorted(rates, reverse=True)


X = pb.tensor([1.0], requires_grad=True)
FROZEN = pb.from_numpy(np.broadcast_to(np.ones(1), (3,))).requires_grad_()
WRONG = [
    (lambda: SGD({X}), TypeError, "SGD: params is a list and not a set"),
    (lambda: SGD([{"lr": 0.1}]), TypeError, 'SGD: a group is a dict with its Tensors as "params"; this one has lr'),
    (lambda: SGD([FROZEN]), ValueError, r"of shape \(3,\) is read-only: give a copy"),
    (lambda: LBFGS([X]).step(lambda: None), TypeError, "LBFGS.step: the closure returned None; it returns the loss"),
    (lambda: lr_scheduler.StepLR(SGD([X]), 0), ValueError, "StepLR: step_size is at least 1, not 0"),
    (lambda: lr_scheduler.CosineAnnealingLR(SGD([X]), 0), ValueError, "T_max is at least 1, not 0"),
    (lambda: lr_scheduler.LinearLR(SGD([X]), total_iters=0), ValueError, "LinearLR: total_iters is at least 1"),
    (lambda: lr_scheduler.PolynomialLR(SGD([X]), 0), ValueError, "PolynomialLR: total_iters is at least 1"),
    (lambda: lr_scheduler.OneCycleLR(SGD([X]), 0.1, total_steps=9, pct_start=1.1), ValueError, "pct_start is a part"),
    (lambda: lr_scheduler.OneCycleLR(SGD([X]), 0.1, total_steps=0), ValueError, "total_steps is at least 1"),
    (lambda: SGD(X), TypeError, "SGD: params is a list of Tensors or of dicts, not one Tensor"),
    (lambda: SGD([]), ValueError, "SGD: there is no parameter"),
    (lambda: SGD([np.ones(2)]), TypeError, "a parameter is a Tensor and not a .*ndarray; .*SGD.functional"),
    (lambda: Adam([X * 2]), ValueError, "Adam: a parameter is a leaf; this one was computed, by Mul"),
    (lambda: Adam([X, X]), ValueError, r"of shape \(1,\) is there twice"),
    (lambda: Adam([X], lr=-1.0), ValueError, "Adam: lr is at least 0, not -1.0"),
    (lambda: Adam([X], betas=(0.9, 1.0)), ValueError, "betas is two numbers, at least 0 and below 1"),
    (lambda: Adam([X], betas=0.9), ValueError, "betas is two numbers"),
    (lambda: SGD([X], nesterov=True), ValueError, "nesterov=True needs momentum above 0"),
    (lambda: SGD([{"params": [X], "rate": 1}]), TypeError, "SGD: there is no option 'rate'; there are lr, momentum"),
    (lambda: Adam.functional(rate=1), TypeError, "Adam.functional: there is no option 'rate'; there are lr, betas"),
    (lambda: Adam.functional().init({"n": 3}), TypeError, "floating-point numbers, not int"),
    (lambda: LBFGS.functional(), UnsupportedError, "LBFGS has no rule for one array at a time"),
    (lambda: Rprop([X], etas=(1.5, 2.0)), ValueError, "Rprop: etas is two numbers, one between 0 and 1 and one above"),
    (lambda: Rprop([X], step_sizes=(1, 0.1)), ValueError, "Rprop: step_sizes is two numbers, the least and the larg"),
    (lambda: Adadelta([X], rho=1.5), ValueError, "Adadelta: rho is between 0 and 1, not 1.5"),
    (lambda: LBFGS([X], line_search_fn="wolfe"), ValueError, "line_search_fn is None or 'strong_wolfe', not 'wolfe'"),
    (lambda: LBFGS([X]).step(), TypeError, "LBFGS.step: give the closure"),
    (lambda: LBFGS([{"params": [X]}, {"params": [pb.zeros(1)]}]), ValueError, "LBFGS: all parameters are of one group"),
    (lambda: lr_scheduler.StepLR(3, 1), TypeError, "StepLR: give a pullback.optim.Optimizer, not 3"),
    (lambda: lr_scheduler.CyclicLR(Adagrad([X]), 0.1, 1.0), ValueError, "Adagrad has no momentum: give cycle_mom"),
    (lambda: lr_scheduler.LambdaLR(SGD([X]), [abs, abs]), ValueError, "lr_lambda: 2 values for 1 groups"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_trees_of_another_structure_are_refused():
    optimizer = Adam.functional()
    state = optimizer.init({"a": 1.0})
    with pytest.raises(ValueError, match=r"Adam\.functional\.update: grads are"):
        optimizer.update({"a": 1.0}, {"b": 1.0}, state)
    with pytest.raises(ValueError, match="the state is of 1 arrays, params of 2"):
        optimizer.update([1.0, 2.0], [1.0, 2.0], state)
    with pytest.raises(ValueError, match=r"a gradient of shape \(2,\) for a parameter of \(\)"):
        optimizer.update({"a": 1.0}, {"a": np.ones(2)}, state)


def test_inside_a_transform_the_functional_form_is_named():
    def loss(x):
        p = pb.zeros(1, requires_grad=True)
        p.grad = x
        SGD([p]).step()
        return p.sum()

    with pytest.raises(UnsupportedError, match=r"SGD.functional\(\)"):
        pb.func.jvp(loss, (pb.ones(1),), (pb.ones(1),))


class Unwritten(Optimizer):
    """An optimizer whose author has forgotten `step`."""


class OfEpochs(lr_scheduler.LRScheduler):
    """A scheduler whose author has forgotten `rate`."""


def stepped():
    x = pb.ones(2, requires_grad=True)
    x.sum().backward()
    return x


def changed(**options):
    optimizer = SGD([stepped()], lr=0.1)
    group = optimizer.param_groups[0]
    group.update(options)
    if not options:
        del group["lr"]
    return optimizer


UNFIT = [
    (lambda: Adam([X], foreach=True), TypeError, "Adam: there is no option 'foreach'; it says how PyTorch.*leave it"),
    (lambda: Adam([{"params": [X], "fused": False}]), TypeError, "Adam: there is no option 'fused'; it says how PyTor"),
    (lambda: SGD([X], differentiable=True), TypeError, r"'differentiable'; .* are those of SGD.functional\("),
    (lambda: Adam([X], weight_deca=1), TypeError, "did you mean 'weight_decay'"),
    (lambda: Adam([X], lr="a"), TypeError, r"Adam: lr must be a number, got 'a' \(a str\)"),
    (lambda: Adam(3), TypeError, r"Adam: params is a list of Tensors or of dicts, got 3 \(an int\): write \[tensor\]"),
    (
        lambda: Adam({"w": X}),
        TypeError,
        r"not one dict: write .*\"params\".*list\(tensors.items\(\)\).*Adam.functional",
    ),
    (lambda: Adam(), TypeError, "Adam: missing a required argument: 'params'; its arguments are params, lr"),
    (lambda: SGD([X]).add_param_group([X]), TypeError, r'SGD: a group is a dict.*got a list.*write \{"params"'),
    (lambda: SGD([X]).step(3), TypeError, r"SGD.step: closure is a function.*call backward\(\) before step\(\)"),
    (lambda: SGD([X]).load_state_dict({"a": 1}), TypeError, r"give what SGD.state_dict\(\) .*not a dict of 'a'"),
    (lambda: changed(lr="a").step(), ValueError, "SGD.step: lr is at least 0, not 'a'"),
    (lambda: changed().step(), KeyError, "SGD.step: a group has lost its option 'lr'; by default it is 0.1"),
    (lambda: Unwritten([stepped()], {}).step(), NotImplementedError, r"write step\(self, closure=None\) in it"),
    (lambda: OfEpochs(SGD([X])), NotImplementedError, r"OfEpochs: write rate\(self, now, base, epoch, group\)"),
    (lambda: Adam.functional().update(1.0, 1.0, None), TypeError, r"state is what init\(params\) .* got None"),
    (lambda: lr_scheduler.StepLR(SGD([X]), 1, verbose=True), TypeError, r"print\(scheduler.get_last_lr\(\)\)"),
    (lambda: lr_scheduler.StepLR(SGD([X]), "a"), TypeError, "StepLR: step_size must be a number, got 'a'"),
    (lambda: lr_scheduler.ReduceLROnPlateau(X), TypeError, "ReduceLROnPlateau: give a pullback.optim.Optimizer, not a"),
    (lambda: lr_scheduler.ReduceLROnPlateau(SGD([X])).step(pb.ones(3)), TypeError, "metrics is a number.*loss.item"),
    (lambda: lr_scheduler.MultiStepLR(SGD([X]), 3), TypeError, "MultiStepLR: milestones is a list of ints, got 3"),
    (lambda: lr_scheduler.LambdaLR(SGD([X]), 3), TypeError, "LambdaLR: lr_lambda is a function of the epoch"),
    (lambda: lr_scheduler.ChainedScheduler([3]), TypeError, "ChainedScheduler: schedulers is a list of LRSchedulers"),
    (lambda: lr_scheduler.StepLR(SGD([X]), 1).load_state_dict({}), TypeError, "StepLR.load_state_dict: give what Step"),
]


@pytest.mark.parametrize(("call", "error", "message"), UNFIT)
def test_what_does_not_fit_is_refused_in_words(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_state_of_another_optimizer_is_refused():
    state = Adam.functional().init(1.0)
    with pytest.raises(
        ValueError, match=r"SGD.functional.update: the state has exp_avg, exp_avg_sq and not momentum_bu"
    ):
        SGD.functional(momentum=0.9).update(1.0, 1.0, state)
    steps = SGD.functional(momentum=0.9)
    new, _ = steps.update(1.0, 1.0, steps.init(1.0), momentum=0.0)  # an option of this step alone
    assert new == 1.0 - 1e-3


def test_a_plateau_takes_a_loss_of_one_element():
    scheduler = lr_scheduler.ReduceLROnPlateau(SGD([pb.ones(1, requires_grad=True)]))
    for loss in (pb.tensor([2.0]), np.ones((1, 1)), np.float32(0.5), 0):
        scheduler.step(loss)
    assert scheduler.best == 0


def test_a_rate_in_a_tensor_is_written_into_for_each_group():
    x, y = (pb.zeros(1, requires_grad=True) for _ in range(2))
    rate = pb.tensor(1.0)
    optimizer = pb.optim.SGD([{"params": [x]}, {"params": [y]}], lr=rate)
    scheduler = pb.optim.lr_scheduler.LambdaLR(optimizer, [lambda epoch: 0.5**epoch, lambda epoch: 0.25**epoch])
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 0.25]
    assert optimizer.param_groups[0]["lr"] is rate
    assert [group["lr"].item() for group in optimizer.param_groups] == [0.5, 0.25]
