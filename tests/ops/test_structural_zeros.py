"""Structural zeros win over infinite slopes, computed ones do not: no wrong finite number, and gradients add up."""

import random
import tracemalloc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.engine import structural_zeros

NAN, INF = np.nan, np.inf

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the forward, which does compute log(0)


def slope(f, at, **options):
    x = pb.tensor(at, requires_grad=True)
    (found,) = pb.autograd.grad(f(x).sum(), x, **options)
    return found.detach().numpy()


# -- computed zeros ---------------------------------------------------------------------------------------------------
COMPUTED = [
    ("product", lambda x: x.log().sum().exp(), [0.0, 2.0, 3.0], [NAN, 0, 0]),
    ("logsumexp", lambda x: x.log().logsumexp(0), [0.0, 2.0, 2.0], [NAN, 0.25, 0.25]),
    ("softmax", lambda x: x.log().softmax(0)[0], [0.0, 2.0, 2.0], [NAN, 0, 0]),
    ("logit and back", lambda x: x.logit().sigmoid(), [0.0, 0.5], [NAN, 1]),
    ("inverse of a sum", lambda x: 1 / (1 / x).sum(), [0.0, 2.0], [NAN, 0]),
    ("even in the root", lambda x: x.sqrt().cos(), [0.0], [NAN]),
    ("root squared", lambda x: x.sqrt() ** 2, [0.0, 4.0], [NAN, 1]),
    ("behind a mask that takes it", lambda x: pb.where(x >= 0, x.log().exp(), 0.0), [0.0, 2.0, -1.0], [NAN, 1, 0]),
    ("underflow", lambda x: x.sqrt() * 1e-200 * 1e-200, [0.0], [NAN]),
    ("times 0", lambda x: x.log() * 0, [0.0, 1.0], [NAN, 0]),
    ("times 0, another elsewhere", lambda x: x.log() * 0 + pb.where(x > 0, x, 0.0), [0.0, 1.0], [NAN, 1]),
    ("xlogy", lambda x: 1 / pb.xlogy(x, 0.0), [2.0], [NAN]),
]


@pytest.mark.parametrize(("f", "at", "expected"), [case[1:] for case in COMPUTED], ids=[case[0] for case in COMPUTED])
def test_a_computed_zero_stays_nan(f, at, expected):
    np.testing.assert_allclose(slope(f, at), expected, rtol=1e-13)
    np.testing.assert_allclose(slope(f, at, create_graph=True), expected, rtol=1e-13)
    np.testing.assert_allclose(pb.func.grad(lambda x: f(x).sum())(np.array(at)), expected, rtol=1e-13)


def test_a_float32_underflow_stays_nan():
    x = pb.tensor(np.zeros(1, np.float32), requires_grad=True)
    (x.sqrt() * 1e-30 * 1e-30).sum().backward()
    assert np.isnan(x.grad.numpy()).all()


# -- structural zeros -------------------------------------------------------------------------------------------------
STRUCTURAL = [
    ("slice", lambda x: x.log()[1:]),
    ("negative step", lambda x: x.log()[:0:-1]),
    ("narrow", lambda x: x.log().narrow(0, 1, 2)),
    ("select", lambda x: pb.stack([x.log().select(0, 1), x.log()[2]])),
    ("index", lambda x: x.log()[[2, 1]]),
    ("index, repeated", lambda x: x.log()[[1, 1, 2, 2]] / 2),
    ("boolean index", lambda x: x.log()[x > 0]),
    ("gather", lambda x: x.log().gather(0, pb.tensor([1, 2]))),
    ("index_select", lambda x: x.log().index_select(0, pb.tensor([2, 1]))),
    ("take", lambda x: x.log().take(pb.tensor([2, 1]))),
    ("split", lambda x: x.log().split([1, 2])[1]),
    ("unbind", lambda x: sum(x.log().unbind(0)[1:])),
    ("chunk", lambda x: pb.cat(x.log().chunk(3)[1:])),
    ("as_strided", lambda x: x.log().as_strided((2,), (1,), 1)),
    ("unfold", lambda x: x.log()[1:].unfold(0, 2, 1)),
    ("relu", lambda x: x.log().relu()),
    ("clamp", lambda x: x.log().clamp(-1, 5)),
    ("clamp by tensors", lambda x: x.log().clamp(pb.tensor([-1.0] * 3), pb.tensor([5.0] * 3))),
    ("hardtanh", lambda x: pb.nn.functional.hardtanh(x.log(), -5, 5)),
    ("threshold", lambda x: pb.nn.functional.threshold(x.log(), 0.1, 0)),
    ("maximum", lambda x: pb.maximum(x.log(), pb.tensor(0.5))),
    ("fmax", lambda x: pb.fmax(x.log(), pb.tensor(0.5))),
    ("topk", lambda x: x.log().topk(2).values),
    ("sort", lambda x: pb.sort(x.log()).values[1:]),
    ("max", lambda x: x.log()[1:] + 0 * x.log().max()),
    ("tril", lambda x: x.log().flip(0).expand(1, 3).tril(1)),
    ("diagonal", lambda x: (x.log().reshape(3, 1) + pb.zeros(3, 2)).diagonal(-1)),
    ("masked_fill", lambda x: x.log().masked_fill(x == 0, 7.0)),
    ("masked_select", lambda x: x.log().masked_select(x > 0)),
    ("masked_scatter", lambda x: x.log().masked_scatter(x == 0, pb.ones(1))),
    ("index_fill", lambda x: x.log().index_fill(0, pb.tensor([0]), 1.0)),
    ("index_copy", lambda x: x.log().index_copy(0, pb.tensor([0]), pb.ones(1))),
    ("scatter", lambda x: x.log().scatter(0, pb.tensor([0]), pb.ones(1))),
    ("put", lambda x: pb.Tensor.put(x.log(), pb.tensor([0]), pb.ones(1))),
    ("nan_to_num", lambda x: x.log().nan_to_num()),
    ("nansum", lambda x: (x.log() + pb.tensor([NAN, 0.0, 0.0])).nansum()),
    ("negative padding", lambda x: pb.nn.functional.pad(x.log(), (-1, 0))),
    ("nll_loss", lambda x: -2 * pb.nn.functional.nll_loss(x.log().expand(2, 3), pb.tensor([1, 2]))),
    ("floor", lambda x: x.log().floor() + pb.where(x > 0, x.log(), 0.0)),
    ("masked.sum", lambda x: pb.masked.sum(x.log(), mask=x > 0)),
    ("a matrix of rows", lambda x: (x.log().reshape(3, 1) * pb.ones(3, 4))[1:].sum(1) / 4),
    ("cumsum of what is masked", lambda x: pb.where(x > 0, x.log(), 0.0).flip(0).cumsum(0)[:2] * pb.tensor([0.5, 0.5])
     + pb.where(x > 0, x.log(), 0.0).cumsum(0)[1:] * pb.tensor([0.0, 0.5])),
    ("written over", lambda x: written(x.log(), 0, 1.0)),
    ("written over a slice", lambda x: written(x.log(), slice(0, 1), 1.0)),
    ("a view, written into", lambda x: view_zeroed(x.log())),
    ("a view, filled by a mask", lambda x: view_filled(x.log())),
]  # fmt: skip


def written(y, index, value):
    y[index] = value
    return y


def view_zeroed(y):
    y[:1].zero_()
    return y


def view_filled(y):
    y[:2].masked_fill_(pb.tensor([True, False]), 3.0)
    return y


@pytest.mark.parametrize("f", [case[1] for case in STRUCTURAL], ids=[case[0] for case in STRUCTURAL])
def test_a_structural_zero_wins(f):
    at = [0.0, 2.0, 4.0]  # log'(0) is infinite, and at 0 its second derivative too
    truth = slope(lambda x: f(pb.where(x > 0, x, 1e-3)), at)
    assert truth[0] == 0
    second = slope(lambda x: pb.autograd.grad(f(pb.where(x > 0, x, 1e-3)).sum(), x, create_graph=True)[0], at)
    for first in (lambda x: x, lambda x: x.sqrt().square(), lambda x: x * 1):
        np.testing.assert_allclose(slope(lambda x, g=first: f(g(x)), at), truth, rtol=1e-12)
        np.testing.assert_allclose(slope(lambda x, g=first: f(g(x)), at, create_graph=True), truth, rtol=1e-12)
    twice = slope(lambda x: pb.autograd.grad(f(x).sum(), x, create_graph=True)[0], at)
    np.testing.assert_allclose(twice, second, rtol=1e-12)
    nested = pb.func.grad(lambda x: pb.func.grad(lambda y: f(y).sum())(x).sum())
    np.testing.assert_allclose(nested(np.array(at)), second, rtol=1e-12)


def test_the_zeros_of_a_users_cotangent_touch_nothing():
    x = pb.tensor([0.0, 4.0, 0.0], requires_grad=True)
    x.sqrt().backward(pb.tensor([0.0, 1.0, 0.0]))
    assert x.grad.tolist() == [0.0, 0.25, 0.0]
    (found,) = pb.autograd.grad(x.sqrt().log(), x, pb.tensor([0.0, 1.0, 0.0]), create_graph=True)
    assert found.tolist() == [0.0, 0.125, 0.0]
    assert pb.autograd.grad(found.sum(), x)[0].tolist() == [0.0, -1 / 32, 0.0]
    assert pb.autograd.grad(pb.ones(2) @ x[:2].sqrt(), x, pb.tensor(0.0))[0].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(
        pb.autograd.functional.jacobian(pb.sqrt, pb.tensor([0.0, 4.0])).numpy(), [[INF, 0.0], [0.0, 0.25]]
    )


def test_zeros_that_are_variables_are_touched():
    """Twice backward gives a jvp, by way of a cotangent that is 0 and requires grad."""
    x = pb.tensor([1.0, 4.0], requires_grad=True)
    v = pb.zeros(2, requires_grad=True)
    (pulled,) = pb.autograd.grad(x.sqrt(), x, v, create_graph=True)
    assert pb.autograd.grad(pulled, v, pb.ones(2))[0].tolist() == [0.5, 0.25]
    (unrecorded,) = pb.autograd.grad(x.sqrt(), x, pb.zeros(2))
    assert unrecorded.tolist() == [0.0, 0.0]


def test_nothing_at_all_goes_through_every_node():
    x = pb.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
    y = (x.log().softmax(1) @ x.sqrt()).logsumexp(0)
    pb.where(pb.tensor(False), y, 1.0).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_what_else_contributes_touches():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()
    (pb.where(x > 0, root, 0.0) + root * 0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [NAN, 0.25])


def test_two_masks_that_meet_leave_untouched_what_both_leave():
    x = pb.tensor([0.0, 0.0, 4.0, 4.0], requires_grad=True)
    root = x.sqrt()
    first, second = pb.tensor([False, False, True, True]), pb.tensor([False, True, False, True])
    (pb.where(first, root, 0.0) + pb.where(second, root, 0.0)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, INF, 0.25, 0.5])


def test_broadcast_inputs_are_touched_by_any_part():
    a = pb.tensor([[0.0], [4.0]], requires_grad=True)
    mask = pb.tensor([[False, False], [False, True]])
    pb.where(mask, a.sqrt() * pb.tensor([NAN, 2.0]), 0.0).sum().backward()
    assert a.grad.tolist() == [[0.0], [0.5]]


# -- infinite cotangents ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: x.max().sqrt(), [0, 0, INF]),
        (lambda x: x.amax().sqrt(), [0, 0, INF]),
        (lambda x: (-x).min().neg().sqrt(), [0, 0, INF]),
        (lambda x: (-x).amin(0).neg().sqrt(), [0, 0, INF]),
        (lambda x: (x + 1).median().sqrt() + (x + 1).nanmedian().sqrt(), [0, INF, 0]),
        (lambda x: x.angle() ** 0.5 + (x + 1).max() / 3, [0, 0, 1]),
        (lambda x: (x + pb.tensor([NAN, 2.0, 0.0])).nansum().sub(1).sqrt(), [0, INF, INF]),
        (lambda x: (x.abs().max() - 2).sqrt() + (pb.linalg.vector_norm(x, INF) - 2).sqrt(), [-INF, 0, 0]),
    ],
)
def test_an_infinite_cotangent_stays_where_it_belongs(f, expected):
    np.testing.assert_array_equal(slope(f, [-2.0, -1.0, 0.0]), expected)


def test_angle_of_real_numbers_has_no_slope():
    np.testing.assert_array_equal(slope(lambda x: x.angle() ** 0.5, [2.0, 1.0, 0.0]), [0, 0, 0])
    assert pb.func.jvp(pb.angle, (np.array([1.0]),), (np.array([INF]),))[1] == 0


def test_scatter_reduce_gives_extremes_alone_an_infinite_cotangent():
    x = pb.tensor([0.0, -1.0], requires_grad=True)
    pb.tensor([-2.0]).scatter_reduce(0, pb.tensor([0, 0]), x, "amax").sqrt().sum().backward()
    assert x.grad.tolist() == [INF, 0.0]


# -- programs ---------------------------------------------------------------------------------------------------------
STEEP = [
    pb.sqrt, pb.log, pb.reciprocal, pb.rsqrt, pb.exp, pb.sin, pb.square, pb.neg, lambda x: x**1.5,
    lambda x: (x + 1).acosh(), lambda x: pb.logit(x / 4), lambda x: x.clamp(-3, 3), lambda x: x.abs() ** 0.5,
]  # fmt: skip
PAIRED = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / b, pb.hypot, pb.maximum, lambda a, b: a - 2 * b]
MASKS = [
    lambda y, m: pb.where(m, y, 0.5),
    lambda y, m: pb.where(~m, 0.25, y),
    lambda y, m: y.masked_fill(~m, 1.5),
    lambda y, m: y[m],
    lambda y, m: y.masked_select(m),
    lambda y, m: y[np.flatnonzero(m.numpy())],
    lambda y, m: y[np.repeat(np.flatnonzero(m.numpy()), 2)],
    lambda y, m: written(y.clone(), ~m, 1.0),
    lambda y, m: pb.stack([y[i] for i in np.flatnonzero(m.numpy())]),
    lambda y, m: (y.reshape(2, 3) * pb.ones(4, 2, 3)).masked_fill(~m.reshape(2, 3), 0.5).sum(0).reshape(-1),
    lambda y, m: pb.where(m, y + pb.where(m, y, 0.0), 2.0),
]
MOVES = [
    lambda y, m: (y, m),
    lambda y, m: (y.flip(0), m.flip(0)),
    lambda y, m: (y.roll(2, 0), m.roll(2, 0)),
    lambda y, m: (y.reshape(2, 3).t().reshape(-1), m.reshape(2, 3).t().reshape(-1)),
    lambda y, m: (pb.cat([y[:2], y[2:]]), m),
    lambda y, m: (pb.stack(y.unbind()), m),
]
AFTER = [
    lambda y: y, pb.sin, lambda y: y.cumsum(0), lambda y: y.softmax(0), lambda y: y.logsumexp(0),
    lambda y: y.flip(0) * y, lambda y: pb.outer(y.reshape(-1), y.reshape(-1)), lambda y: (y * y).sum(),
    lambda y: y.mean() * y, lambda y: pb.where(y > 0, y, y.sin()),
]  # fmt: skip


def program(rng):
    """f(x, keep): steep functions of x, of which a mask takes the elements that `keep` says, and more behind it."""
    steps = []
    for nr in range(rng.randint(1, 5)):
        pair = rng.random() < 0.4
        steps.append((rng.choice(PAIRED if pair else STEEP), rng.randint(0, nr), rng.randint(0, nr), pair))
    moves, mask, after = [rng.choice(MOVES) for _ in range(2)], rng.choice(MASKS), [rng.choice(AFTER) for _ in range(2)]

    def f(x, keep):
        values = [x]
        for function, i, j, pair in steps:
            values.append(function(values[i], values[j]) if pair else function(values[i]))
        y = values[-1]
        for move in moves:
            y, keep = move(y, keep)
        y = mask(y, keep)
        for function in after:
            y = function(y)
        return y.sum()

    return f


@pytest.mark.parametrize("seed", range(150))
def test_what_is_masked_may_hold_anything(seed):
    """The same gradients as of the program whose masked elements never had a pole: written with two wheres."""
    rng = random.Random(seed)
    f = program(rng)
    keep = np.array([rng.random() < 0.5 for _ in range(6)])
    keep[rng.randrange(6)] = True
    good = np.array([rng.uniform(0.5, 2.0) for _ in range(6)])
    at = np.where(keep, good, [rng.choice([0.0, -1.0, NAN, 0.0, -0.0, INF]) for _ in range(6)])
    mask = pb.tensor(keep)

    def twice_masked(x):
        return f(pb.where(mask, x, 0.7), mask)

    def once_masked(x):
        return f(x, mask)

    expected = slope(twice_masked, at)
    np.testing.assert_allclose(slope(once_masked, at), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope(once_masked, at, create_graph=True), expected, rtol=1e-10, atol=1e-12)

    def second(g):
        return slope(lambda x: pb.autograd.grad(g(x), x, create_graph=True)[0] ** 2 + 0 * x[0], at)

    np.testing.assert_allclose(second(once_masked), second(twice_masked), rtol=1e-8, atol=1e-12)
    nested = pb.func.grad(lambda x: (pb.func.grad(once_masked)(x) ** 2).sum())
    np.testing.assert_allclose(nested(at), second(twice_masked), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_gradients_add_up(seed):
    """Whatever stands beside it, a term contributes what it does alone."""
    rng = random.Random(1000 + seed)
    first, second = program(rng), program(rng)
    masks = [pb.tensor([rng.random() < 0.6 for _ in range(5)] + [True]) for _ in range(2)]
    at = [rng.choice([0.0, 0.0, -1.0, 1.0, 2.0, INF]) for _ in range(6)]
    alone = [slope(lambda x, f=f, m=m: f(x, m), at) for f, m in zip((first, second), masks, strict=True)]
    together = slope(lambda x: first(x, masks[0]) + second(x, masks[1]), at)
    np.testing.assert_allclose(together, alone[0] + alone[1], rtol=1e-9, atol=1e-12)


# -- hooks, custom Functions, cost ------------------------------------------------------------------------------------
def test_hooks_and_custom_functions_see_clean_gradients():
    seen = []

    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad.tolist())
            return grad * 2

    x = pb.tensor([0.0, 4.0], requires_grad=True)
    x.register_hook(lambda g: seen.append(g.tolist()))
    root = x.sqrt()
    root.register_hook(lambda g: seen.append(g.tolist()))
    root.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    pb.where(x > 0, (1 / root).log(), 0.0).sum().backward()
    assert seen == [[0.0, -0.5], ([0.0, -0.125], [0.0, -0.5]), [0.0, -0.125]]
    seen.clear()
    pb.where(x > 0, Double.apply(x.detach().requires_grad_()).sqrt().log(), 0.0).sum().backward()
    np.testing.assert_allclose(seen, [[0.0, 0.0625]], rtol=1e-14)


def test_what_a_hook_leaves_zero_stays_untouched_and_what_it_makes_does_not():
    x = pb.tensor([0.0, 0.0, 4.0], requires_grad=True)
    root = x.sqrt()
    root.register_hook(lambda g: g * 2 + pb.tensor([0.0, 1.0, 0.0]))
    root[2:].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, INF, 0.5])


def test_a_custom_function_may_make_gradients_of_nothing():
    class Pushed(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad + pb.tensor([0.0, 1.0])

    x = pb.tensor([0.0, 4.0], requires_grad=True)
    pb.where(pb.tensor(False), Pushed.apply(x.sqrt()), 0.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [NAN, 0.25])


def test_anomaly_detection_sees_no_nan_where_none_arrives():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    with pb.autograd.detect_anomaly(), pb.autograd.trace_nans(check_inf=False):
        pb.where(x > 0, x.sqrt().log(), 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.125]


def test_saved_tensors_are_unpacked_once():
    counts = []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: counts.append(1) or t):
        x = pb.tensor([0.0, 4.0], requires_grad=True)
        y = pb.where(x > 0, x.sqrt() * 1, 0.0).relu().sum()
    y.backward()
    assert x.grad.tolist() == [0.0, 0.25]
    assert len(counts) == 3  # the condition, what relu gave, what sqrt gave


def test_a_long_way_with_masks_neither_recurses_nor_grows():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    mask, y = x > 0, x.sqrt()
    for _ in range(20_000):
        y = pb.where(mask, y, 0.0)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_a_network_with_masks_lets_go_of_them():
    """relu and matmul in turn: a mask, and what it was made of, ends at the next matmul."""
    w = pb.tensor(np.eye(300) * 1.0, requires_grad=True)
    y = pb.ones(300, 300)
    for _ in range(20):
        y = (y @ w).relu()
    loss = y.sum()
    del y
    tracemalloc.start()
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 300 * 300 * 8  # a few gradients at a time


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_derivative_that_is_nan_touches_nothing_in_any_sample():
    """The tangent of the slope, at 0 infinite, makes a NaN of the tangent of a cotangent that is nothing."""

    def pushed(x, t):
        gradient = pb.func.grad(lambda x: pb.where(x.sum() < 0, x.log().softmax(0) @ x.sqrt(), 1.0))
        return pb.func.jvp(gradient, (x,), (t,))[1]

    x, t = pb.tensor([[0.0, 2.0], [2.0, 0.0]]), pb.tensor([[0.0, 1.0], [0.0, 1.0]])
    expected = [pushed(*pair).tolist() for pair in zip(x, t, strict=True)]
    assert pb.func.vmap(pushed)(x, t).tolist() == expected == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("use", [lambda w: w * 2.0, lambda w: w * w, lambda w: w[None].sin()])
def test_a_leaf_that_is_used_many_times_lets_go_of_masks(use):
    w = pb.tensor(np.ones(5), requires_grad=True)
    conditions, alive, total = [], [], 0.0
    for step in range(20):
        keep = np.arange(5) > step % 3
        conditions.append(weakref.ref(keep))
        part = pb.where(pb.from_numpy(keep), use(w), 0.0)
        if step == 0:  # which comes last
            part.register_hook(lambda g: alive.append(sum(condition() is not None for condition in conditions)))
        total = total + part.sum()
        del keep, part
    total.backward()
    assert alive[0] <= 3


def test_parts_that_are_all_there_touch_everything_and_others_do_not(monkeypatch):
    pulled = []
    monkeypatch.setattr(structural_zeros, "_pulled", lambda node, *_: pulled.append(node.name()))
    x = pb.tensor([0.0, 1.0, 4.0, 9.0], requires_grad=True)
    for parts in (x.sqrt().chunk(2), x.sqrt().split(3), x.sqrt().unbind()):
        sum(part.sum() for part in parts).backward()
    assert not pulled
    monkeypatch.undo()
    x.grad = None
    for parts in (x.sqrt().chunk(2), x.sqrt().unbind()):  # no gradient comes to the root of 0, where the slope is inf
        parts[-1].sum().backward()
    assert x.grad.tolist() == pytest.approx([0, 0, 1 / 4, 1 / 3])


# -- slices of large arrays, whose gradients come together in one array ------------------------------------------------
def _of_slices(x):
    parts = [x[k * 500 : (k + 2) * 500] for k in range(5)]  # which overlap
    return (
        sum((k + 1) * (part * part).sum() for k, part in enumerate(parts))
        + x[7] * x[-1]
        + (x[None, ::2] * x[::2]).sum()
    )


def _by_index(x):
    places = np.arange(x.shape[-1])
    parts = [np.take(x, places[k * 500 : (k + 2) * 500]) for k in range(5)]
    squares = sum((k + 1) * (part * part).sum() for k, part in enumerate(parts))
    return squares + np.take(x, 7) * np.take(x, -1) + (np.take(x, places[::2]) ** 2).sum()


def test_gradients_of_many_slices_are_those_of_the_same_elements_taken_by_index():
    x = np.random.default_rng(1).standard_normal(3001)
    expected = pb.func.grad(_by_index)(x)
    assert np.allclose(pb.func.grad(_of_slices)(x), expected)
    assert np.allclose(pb.func.grad(lambda x: _of_slices(np.sin(x)))(x), expected_through(np.sin, np.cos, x))
    v = pb.tensor(x, requires_grad=True)
    y = _of_slices(v)
    for create in (False, True):
        (g,) = pb.autograd.grad(y, v, retain_graph=True, create_graph=create)
        assert np.allclose(g.detach().numpy(), expected)
    y.backward()
    assert np.allclose(v.grad.numpy(), expected)
    rows = np.stack([x, 2 * x])
    assert np.allclose(
        pb.func.vmap(pb.func.grad(_of_slices))(rows), np.stack([expected, pb.func.grad(_by_index)(2 * x)])
    )
    t = np.cos(x)
    of_slices, by_index = (pb.func.jvp(pb.func.grad(f), (x,), (t,))[1] for f in (_of_slices, _by_index))
    assert np.allclose(of_slices, by_index)


def expected_through(function, slope, x):
    return pb.func.grad(_by_index)(function(x)) * slope(x)


def test_gradients_of_slices_share_no_memory_and_take_hooks():
    x = pb.tensor(np.ones(3000), requires_grad=True)
    seen = []
    y = x * 1.0
    y.register_hook(lambda g: seen.append(g.clone()) or g * 2)
    y.retain_grad()
    (3 * y[:2000] + 0 * y[1000:]).sum().backward()
    expected = np.where(np.arange(3000) < 2000, 3.0, 0.0)
    assert np.array_equal(seen[0].numpy(), expected)
    assert np.array_equal(x.grad.numpy(), 2 * expected)
    assert np.array_equal(y.grad.numpy(), 2 * expected)
    x.grad.zero_()
    assert np.array_equal(y.grad.numpy(), 2 * expected)


def test_elements_outside_of_all_slices_of_a_large_array_stay_untouched():
    x = np.concatenate([np.zeros(3000), np.ones(3000)])  # sqrt has an infinite slope at 0

    def f(x):
        y = np.sqrt(x)
        return y[3000:5000].sum() + y[4000:].sum()

    expected = np.where(
        np.arange(6000) < 3000, 0.0, np.where((np.arange(6000) >= 4000) & (np.arange(6000) < 5000), 1.0, 0.5)
    )
    assert np.array_equal(pb.func.grad(f)(x), expected)
    assert np.array_equal(pb.func.vmap(pb.func.grad(f))(np.stack([x, x]))[1], expected)
