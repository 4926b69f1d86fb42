"""Forward mode: tangents that are 0 by structure stay 0 behind infinite slopes, computed zeros do not."""

import random

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad

NAN, INF = np.nan, np.inf

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def along(f, at, direction):
    """The tangent of f at a point along a direction: by func.jvp, and the same by forward_ad."""
    at, direction = np.array(at, float), np.array(direction, float)
    _, tangent = pb.func.jvp(f, (at,), (direction,))
    with forward_ad.dual_level():
        out = f(forward_ad.make_dual(pb.tensor(at), pb.tensor(direction)))
        other = forward_ad.unpack_dual(out).tangent
    np.testing.assert_array_equal(np.zeros(out.shape) if other is None else other.numpy(), tangent)
    return tangent


# -- computed zeros ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (lambda x: x.log().sum().exp(), [0, 2, 3], NAN),
        (lambda x: x.log().softmax(0), [0, 2, 2], [NAN] * 3),
        (lambda x: x.logit().sigmoid(), [0, 0.5], [NAN, 1]),
        (lambda x: x.sqrt() ** 2, [0, 4], [NAN, 1]),
        (lambda x: (x * 0).sqrt(), [0, 4], [NAN, NAN]),
        (lambda x: (x * 1e-200 * 1e-200).sqrt(), [0, 4], [NAN, NAN]),
        (lambda x: (x - x).sqrt(), [1], [NAN]),
        (lambda x: pb.where(x > 0, x, 0.0 * x).sqrt(), [0, 4], [NAN, 0.25]),
        (lambda x: (x.square() + pb.where(x > 0, x, 0.0)).sqrt(), [0, 1], [NAN, 3 / 8**0.5]),
    ],
)
def test_a_computed_zero_stays_nan(f, at, expected):
    np.testing.assert_allclose(along(f, at, np.ones(len(at))), expected, rtol=1e-14)


# -- structural zeros --------------------------------------------------------------------------------------------------
def written(y, index, value):
    y = y.clone()
    y[index] = value
    return y


def filled(x):
    buffer = x.detach()[[0, 1, 2, 0]] * 0
    buffer[1:3] = x[1:]
    return buffer[:3].flip(0)[[2, 1, 0]]


MASKS = {  # each gives [0, x[1], x[2]], and the 0 does not move
    "where": lambda x: pb.where(x > 0, x, 0.0),
    "where, a tensor": lambda x: pb.where(x > 0, x, pb.zeros(3, dtype=x.dtype)),
    "where, the other way": lambda x: pb.where(x <= 0, pb.zeros_like(x), x),
    "NumPy's where": lambda x: np.where(x > 0, x, 0.0),
    "masked_fill": lambda x: x.masked_fill(x <= 0, 0.0),
    "written": lambda x: written(x, 0, 0.0),
    "written by a mask": lambda x: written(x, x <= 0, 0.0),
    "written by a slice": lambda x: written(x, slice(0, 1), pb.zeros(1)),
    "into a buffer": filled,
    "relu": lambda x: (x - 1e-3).relu() + pb.tensor([0, 1e-3, 1e-3]),
    "clamp": lambda x: x.clamp(0.0, 9.0).clamp_min(1e-9) - pb.tensor([1e-9, 0, 0]),
    "cat": lambda x: pb.cat([pb.zeros(1), x[1:]]),
    "stack": lambda x: pb.stack([pb.tensor(0.0), x[1], x[2]]),
    "pad": lambda x: pb.nn.functional.pad(x[1:], (1, 0)),
    "index_put": lambda x: x.index_put((pb.tensor([0]),), pb.zeros(1)),
    "index_fill": lambda x: x.index_fill(0, pb.tensor([0]), 0.0),
    "index_copy": lambda x: x.index_copy(0, pb.tensor([0]), pb.zeros(1)),
    "index_add": lambda x: pb.zeros(3).index_add(0, pb.tensor([1, 2]), x[1:], alpha=1),
    "scatter": lambda x: x.scatter(0, pb.tensor([0]), pb.zeros(1)),
    "scatter_add": lambda x: pb.zeros(3).scatter_add(0, pb.tensor([1, 2]), x[1:]),
    "put": lambda x: pb.Tensor.put(x, pb.tensor([0]), pb.zeros(1)),
    "masked_scatter": lambda x: x.masked_scatter(x <= 0, pb.zeros(1)),
    "slice_scatter": lambda x: x.slice_scatter(pb.zeros(1), 0, 0, 1),
    "tril": lambda x: x.expand(2, 3).triu(1)[0],
    "diag_embed": lambda x: x[1:].diag_embed()[[1, 0, 1], [0, 0, 1]],
    "maximum": lambda x: pb.maximum(x, pb.tensor([0.0, -1, -1])) + 0 * x.detach(),
    "masked_fill_": lambda x: x.clone().masked_fill_(x <= 0, 0.0),
    "view zeroed after": lambda x: pb.where(x > 0, x, 0.0).clone(),
}
AT, DIRECTION = [-1.0, 2.0, 4.0], [1.0, 1.0, 3.0]
MOVES = {
    "nothing": lambda y: y,
    "reshape": lambda y: y.reshape(1, 3).reshape(3),
    "flip twice": lambda y: y.flip(0).flip(0),
    "a sum with nothing": lambda y: pb.stack([y, pb.where(y > 99, y, 0.0)]).sum(0),
    "a product": lambda y: y * 1.0 * pb.tensor([3.0, 1.0, 1.0]),
    "a product with what is infinite": lambda y: y * pb.tensor([1.0, 1.0, 1.0]),
    "expand and index": lambda y: y.expand(4, 3)[2],
    "double": lambda y: (y + y) / 2,
    "float32 and back": lambda y: y.to(pb.float32).to(pb.float64),
    "contiguous": lambda y: y.expand(2, 3).contiguous()[1],
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_a_structural_zero_wins(mask, move):
    for steep, slope in ((pb.sqrt, lambda y: 0.5 / np.sqrt(y)), (pb.log, lambda y: 1 / y)):
        found = along(lambda x, steep=steep: steep(move(mask(x))), AT, DIRECTION)
        np.testing.assert_allclose(found, [0.0, slope(2.0), 3 * slope(4.0)], rtol=1e-6)
        if mask in (filled, MASKS["masked_fill_"]):
            continue  # a write of one transform inside another
        second = along(lambda x, steep=steep: along_inside(lambda y: steep(move(mask(y))), x), AT, DIRECTION)
        assert second[0] == 0
        assert np.isfinite(second).all()


def along_inside(f, x):
    return pb.func.jvp(f, (x,), (np.array(DIRECTION),))[1]


def test_the_users_own_zeros_touch_nothing():
    np.testing.assert_array_equal(along(pb.sqrt, [0.0, 4.0], [0.0, 1.0]), [0, 0.25])
    np.testing.assert_array_equal(along(lambda x: x.reshape(2, 1).sqrt().log(), [0.0, 4.0], [0.0, 1.0]), [[0], [0.125]])
    np.testing.assert_array_equal(along(lambda x: pb.ones(1, 2) @ x.sqrt(), [0.0, 4.0], [0.0, 0.0]), [0])
    columns = pb.autograd.functional.jacobian(pb.sqrt, pb.tensor([0.0, 4.0]), strategy="forward-mode")
    np.testing.assert_array_equal(columns.numpy(), [[INF, 0.0], [0.0, 0.25]])


def test_zeros_along_which_a_derivative_is_wanted_are_touched():
    v = pb.tensor([0.0, 0.0], requires_grad=True)
    _, tangent = pb.func.jvp(pb.sqrt, (pb.tensor([1.0, 4.0]),), (v,))
    assert pb.autograd.grad(tangent.sum(), v)[0].tolist() == [0.5, 0.25]
    found = pb.func.grad(lambda v: pb.func.jvp(pb.sqrt, (np.array([1.0, 4.0]),), (v,))[1].sum())(np.zeros(2))
    np.testing.assert_array_equal(found, [0.5, 0.25])
    _, found = pb.func.jvp(
        lambda v: pb.func.jvp(pb.log, (np.array([0.0, 4.0]),), (v,))[1], (np.zeros(2),), (np.ones(2),)
    )
    np.testing.assert_array_equal(found, [INF, 0.25])


def test_a_term_that_stands_still_adds_nothing_where_another_moves():
    def f(x):
        return pb.where(x > 0, x, 0.0) * (1 / x)  # x / x where positive; 0 * inf elsewhere, of which the 0 stands

    x = np.array([0.0, 2.0])
    np.testing.assert_array_equal(pb.func.jvp(f, (x,), (np.ones(2),))[1], [NAN, 0])  # 0 * (-inf): the other moves
    constant = np.array([INF, 3.0])
    found = pb.func.jvp(lambda x: pb.where(x > 1, x, 0.0) * constant + x, (x,), (np.ones(2),))[1]
    np.testing.assert_array_equal(found, [1, 4])
    found = pb.func.jvp(lambda x: pb.maximum(pb.where(x > 1, x, 0.0) / 0.0, x), (x,), (np.ones(2),))[1]
    np.testing.assert_array_equal(found, [1, INF])


def test_nothing_at_all_goes_through_every_operator():
    def f(x):
        y = pb.where(pb.tensor(False), x, 0.0).reshape(2, 2)
        return (y.log().softmax(1) @ y.sqrt()).logsumexp(0)

    np.testing.assert_array_equal(along(f, [0.0, 1, 2, 3], np.ones(4)), [0, 0])


# -- writes ------------------------------------------------------------------------------------------------------------
WRITES = {
    "of the base": (lambda y, view, x: y.copy_(x), True),
    "of the view": (lambda y, view, x: view.copy_(x[:1] * 2), True),
    "of a part": (lambda y, view, x: y.__setitem__(slice(0, 1), x[:1]), True),
    "by a sum": (lambda y, view, x: view.add_(x[:1]), True),
}


@pytest.mark.parametrize("write", [case[0] for case in WRITES.values()], ids=WRITES)
@pytest.mark.parametrize("viewed_before", [True, False])
def test_what_is_written_over_is_touched_again(write, viewed_before):
    """A mask does not outlive a write into its memory, through whatever tensor."""

    def f(x):
        if viewed_before:
            y = x.clone()
            view = y[:1]
            y.masked_fill_(pb.tensor([True, False]), 0.0)
        else:
            y = pb.where(pb.tensor([False, True]), x, 0.0)
            view = y[:1]
        write(y, view, x)
        return pb.cat([y.sqrt(), view.sqrt()])

    found = along(f, [0.0, 4.0], [1.0, 1.0])
    np.testing.assert_array_equal(found[[0, 2]], [INF, INF])


def test_a_write_into_the_tangent_that_was_given_counts():
    x, v = pb.tensor([0.0, 4.0]), pb.tensor([0.0, 1.0])
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, v)
        v.fill_(2.0)
        assert forward_ad.unpack_dual(d.sqrt()).tangent.tolist() == [INF, 0.5]


def test_a_view_that_a_function_made_is_written_into():
    class View(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def jvp(ctx, t):
            return t.view(-1)

    def f(x):
        y = pb.where(pb.tensor([False, True]), x, 0.0)
        View.apply(y).copy_(x)
        return y.sqrt()

    np.testing.assert_array_equal(along(f, [0.0, 4.0], [1.0, 1.0]), [INF, 0.25])


# -- programs ----------------------------------------------------------------------------------------------------------
STEEP = [
    pb.sqrt,
    pb.log,
    pb.reciprocal,
    pb.rsqrt,
    pb.exp,
    pb.sin,
    lambda x: x**1.5,
    lambda x: x.abs() ** 0.5,
    pb.square,
]
PAIRED = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    pb.hypot,
    pb.maximum,
    lambda a, b: a - 2 * b,
    pb.pow,
]
MOVED = [
    lambda y: y.flip(0), lambda y: y.roll(1, 0), lambda y: y.reshape(2, 3).t().reshape(-1),
    lambda y: y[[1, 0, 2, 5, 4, 3]],
    lambda y: pb.cat([y[3:], y[:3]]), lambda y: y.expand(2, 6)[0], lambda y: pb.stack(y.unbind()), lambda y: y.clone(),
    lambda y: y.gather(0, pb.tensor([5, 4, 3, 2, 1, 0])),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_what_stands_still_may_hold_anything(seed):
    """The same tangents as of the program whose elements that stand still have no pole."""
    rng = random.Random(seed)
    steps = [
        (
            rng.choice(["steep", "paired", "moved"]),
            rng.choice(STEEP),
            rng.choice(PAIRED),
            rng.choice(MOVED),
            rng.random(),
        )
        for _ in range(rng.randint(1, 6))
    ]
    keep = np.array([rng.random() < 0.5 for _ in range(6)])
    fill = [rng.choice([0.0, -1.0, NAN, INF, -0.0]) for _ in range(6)]

    def f(x, instead):
        y = pb.where(pb.tensor(keep), x, pb.tensor(instead))
        other = y
        for kind, steep, paired, moved, which in steps:
            if kind == "steep":
                y = steep(y)
            elif kind == "paired":
                y = paired(y, other if which < 0.6 else paired(other, y))
            else:
                y, other = moved(y), moved(other)
        return y

    at = np.array([rng.uniform(0.5, 2.0) for _ in range(6)])
    v = np.array([rng.uniform(0.5, 2.0) for _ in range(6)])
    found, expected = along(lambda x: f(x, fill), at, v), along(lambda x: f(x, [0.7] * 6), at, v)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(
        along(lambda x: pb.func.jvp(lambda y: f(y, fill), (x,), (v,))[1], at, v),
        along(lambda x: pb.func.jvp(lambda y: f(y, [0.7] * 6), (x,), (v,))[1], at, v),
        rtol=1e-9,
        atol=1e-12,
    )
