"""Every special way that is taken for speed gives what its plain way gives, as exactly as its declaration says.

See pullback/arrays/numpy/declarations.py. What is drawn: all dtypes, orders of memory, sizes around the one from which
the way pays, empty arrays, infinities, NaN, zeros of both signs and subnormal numbers.
"""

import itertools
import math

import numpy as np
import pytest

import pullback.arrays.batched  # noqa: F401 - it calls ways of its own
from pullback.arrays.numpy.declarations import FAST_WAYS, SAME_BITS, Exactness, FastWay
from pullback.arrays.numpy.fast.choices import blendable, maskable
from pullback.ops.late import load_all

load_all()
DTYPES = ["float32", "float64", "float16", "complex64", "int64"]
WIDER = {"float16": np.float32, "float32": np.float64, "float64": np.longdouble, "complex64": np.complex128}
LAYOUTS = {
    "contiguous": np.array,
    "reversed": lambda x: x[::-1].copy()[::-1] if x.ndim else x,
    "stepped": lambda x: np.repeat(x, 2, -1)[..., ::2] if x.ndim else x,
    "turned": lambda x: x.T.copy().T,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape) if x.ndim and x.size else x,
}
POWERS = [3, 4, -1, 0.5, 5, -2, 2.5, 0, 1.0, math.inf]
EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -1e-310, 20.5, -4.1, 1.0, 100.0]


class Draw:
    """Arrays of one dtype, order of memory and content."""

    def __init__(self, dtype, layout, content):
        self.dtype, self.layout, self.content = np.dtype(dtype), layout, content
        self.rng = np.random.default_rng(0)

    def __call__(self, *shape):
        x = self.rng.uniform(0.9, 1.1, shape) if self.content == "near one" else 3 * self.rng.standard_normal(shape)
        x = np.asarray(x)
        if self.content == "edges" and x.size:
            x.reshape(-1)[self.rng.integers(0, x.size, 30)] = self.rng.choice(EDGES, 30)
        if self.content == "one edge" and x.size:
            x.reshape(-1)[x.size // 2] = self.rng.choice(EDGES[:5])
        if self.dtype.kind == "i":
            x = np.nan_to_num(x, posinf=9, neginf=-9)
        with np.errstate(over="ignore", under="ignore"):
            return LAYOUTS[self.layout](x.astype(self.dtype))

    def index(self, below, *shape):
        """Whole numbers from 0 on, in the same order of memory."""
        return LAYOUTS[self.layout](self.rng.integers(0, max(1, below), shape))

    def mask(self, *shape):
        """True and False, contiguous."""
        return self.rng.random(shape) < 0.5


def matrices(draw, n, widths=(2, 16, 100, 300, 2000)):
    """Matrices of about n elements."""
    for width in widths:
        yield draw(-(-n // width), width)


def of_sums(draw, n):
    yield from ((draw(n), axis) for axis in (None, 0, (0,)))
    for x in matrices(draw, n):
        yield from ((x, axis, keep) for axis in (0, 1, -1, None, (0, 1)) for keep in (False, True))
    yield from ((draw(-(-n // 60), 6, 10), axis) for axis in (1, (0, 2), (1, 2), 2))


def of_rows(draw, n):
    rows = -(-n // 64)
    return [
        (draw(30, 64), draw.index(30, rows), draw(rows, 64)),
        (draw(4 * rows + 9, 64), draw.index(30, rows), draw(rows, 64)),
    ]


# The arguments of each way, for arrays of about n elements.
SAMPLES = {
    "larger": lambda draw, n: [(draw(n), 0.0), (draw(n), -1), (draw(n), draw(n))],
    "smaller": lambda draw, n: [(draw(n), 0.0), (draw(n), math.inf), (draw(n), draw(n))],
    "masked": lambda draw, n: [(x, -draw.mask(n).astype(np.int8)) for x in [draw(n)] if maskable(draw.mask(n), x)],
    "blended": lambda draw, n: [
        args
        for args in [(draw.mask(n), draw(n), draw(n)), (draw.mask(n), draw(n), 2.5), (draw.mask(n), -0.0, draw(n))]
        if blendable(*args)
    ],
    "places_along": lambda draw, n: [
        (x, dim, draw.index(x.shape[dim], *x.shape)) for x in matrices(draw, n, (3, 50)) for dim in (0, 1)
    ],
    "places_of": lambda draw, n: [
        args
        for x in matrices(draw, n, (3, 50))
        for args in [
            (x, (draw.index(len(x), 50), draw.index(x.shape[1], 50))),
            (x, (draw.index(len(x), 7, 1), draw.index(x.shape[1], 5))),
            (x, (slice(None), draw.index(x.shape[1], 9))),
            (x, (draw.index(len(x), 9),)),
            (x, (slice(None), draw.index(x.shape[1], 9), ...)),
        ]
        if len(x)
    ],
    "add_rows": of_rows,
    "summed_rows": lambda draw, n: [(out.shape, index, values) for out, index, values in of_rows(draw, n)],
    "sigmoid": lambda draw, n: [(draw(n),), (draw(3, -(-n // 3)),)],
    "real_power": lambda draw, n: [(draw(n), p) for p in POWERS if draw.dtype.char in "fd"],  # halves: (-inf)**0.5
    "erf": lambda draw, n: [(draw(n),), (draw(3, -(-n // 3)),)],
    "sin": lambda draw, n: [(draw(n),), (100 * draw(3, -(-n // 3)),)],
    "cos": lambda draw, n: [(draw(n),), (100 * draw(3, -(-n // 3)),)],
    "scaled_into": lambda draw, n: [(draw(5, n // 5), draw(5, n // 5), a) for a in (0.3, -2, 0)],
    "order": lambda draw, n: [
        (np.round(x, digits), dim, down)
        for x in matrices(draw, n, (3, 50, 2000))
        for dim in (0, 1) for down in (False, True) for digits in (0, 9)
    ],
    "top_order": lambda draw, n: [
        (np.round(x, digits), k, dim, largest)
        for x in matrices(draw, n, (50, 2000))
        for k in (1, 5) for dim in (0, 1) for largest in (False, True) for digits in (0, 9) if x.shape[dim] >= k
    ],
    "normal_cdf": lambda draw, n: [(draw(n),), (draw(3, -(-n // 3)),)],
    "times_normal_cdf": lambda draw, n: [(draw(n),), (draw(3, -(-n // 3)),)],
    "running_sum": lambda draw, n: [
        (x, dim, back) for x in [draw(n), *matrices(draw, n, (16, 50, 2000))]
        for dim in range(x.ndim) for back in (False, True)
    ],
    "contiguous_prod": of_sums,
    "others_by_division": lambda draw, n: [(x, dim) for x in matrices(draw, n) for dim in (0, 1, -1)],
    "contiguous_sum": of_sums,
    "filled": lambda draw, n: [(draw(), (n,)), (draw(1), (3, n)), (draw(1, 1), (2, -1))],
    "summed": lambda draw, n: [
        (x, dim, keep) for x in matrices(draw, n, (1, 7, 300)) for dim in (0, 1, None) for keep in (False, True)
    ],
    "outer_products": lambda draw, n: [
        (draw(-(-n // (rows * columns)), rows), draw(-(-n // (rows * columns)), columns))
        for rows, columns in ((16, 64), (33, 16), (9, 80), (40, 300))
    ],
    "product": lambda draw, n: [
        (draw(n // 7, 7), draw(7, 5)), (draw(n // 7, 7), draw(7)), (draw(2, n // 14, 7), draw(7, 3)),
    ],
    "softplus_slope": lambda draw, n: [(draw(n), beta, threshold) for beta in (1, 0.7) for threshold in (20, 5)],
}  # fmt: skip


def sizes(way):
    """Around the one from which the way pays."""
    at = way.pays_from
    return [0, 1, at - 1, at, at + 1, 2 * at + 37] if at else [0, 1, 50, 2100]


def copies(args, dtype=None):
    """The arguments in memory of their own, or in another dtype."""
    arrays = [isinstance(x, np.ndarray) and x.dtype.kind in "fc" for x in args]
    if dtype is not None:
        return [x.astype(dtype) if is_array else x for x, is_array in zip(args, arrays, strict=True)]
    return [x.copy("K") if is_array and x.flags.writeable else x for x, is_array in zip(args, arrays, strict=True)]


def outcome(function, args, writes):
    """What comes out; None where the function does not apply."""
    result = function(*args)
    return result if not writes else args[0] if result is not False else None


def numbers(x):
    """Real numbers: of complex ones both parts."""
    x = np.asarray(x)
    return np.stack([x.real, x.imag]) if x.dtype.kind == "c" else x


@np.errstate(all="ignore")
def check(way, args):
    """Hold the way against the plain one on these arguments; says whether it applied."""
    try:
        expected = outcome(way.plain, copies(args), way.writes)
    except (TypeError, ValueError, IndexError):  # arguments that are refused before a special way is thought of
        return False
    got = outcome(way.way, copies(args), way.writes)
    if got is None:
        return False
    assert np.shape(got) == np.shape(expected)
    assert got.dtype == expected.dtype
    if way.exact.units == 0 or got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected)
        if way.exact.of == "values":
            return True
        is_number = ~np.isnan(numbers(expected))
        np.testing.assert_array_equal(np.signbit(numbers(got))[is_number], np.signbit(numbers(expected))[is_number])
        return True
    exact, measure = widened(way, args)
    limits = np.finfo(got.dtype)
    allowed = way.exact.units * limits.eps * measure + limits.tiny
    near = np.abs(got - exact) <= np.fmax(allowed, np.abs(expected - exact))  # the plain way may be farther still
    near |= (got == expected) | (np.isnan(got) & np.isnan(expected))
    assert near.all(), (got[~near][:3], expected[~near][:3], exact[~near][:3])
    return True


def widened(way, args):
    """(the plain way in a wider dtype; that of which the declared units are meant)."""
    dtype = next((x.dtype for x in args if isinstance(x, np.ndarray) and x.dtype.kind in "fc"), np.dtype(np.float64))
    try:
        exact = outcome(way.plain, copies(args, WIDER[dtype.name]), way.writes)
    except TypeError:  # a function of SciPy has no wider dtype than float64
        exact = outcome(way.plain, copies(args), way.writes)
    if way.exact.of == "terms":
        magnitudes = [
            abs(x) if isinstance(x, (np.ndarray, float, int)) and np.asarray(x).dtype.kind in "fc" else x for x in args
        ]
        return exact, outcome(way.plain, copies(magnitudes, WIDER[dtype.name]), way.writes)
    if way.exact.of == "factors":
        each = args[0].size // max(1, exact.size)
        return exact, np.abs(exact) * (each if each > 1 else max(args[0].shape))
    return exact, np.abs(exact)


@np.errstate(all="ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", [pytest.param(way, id=way.way.__name__) for way in FAST_WAYS])
def test_a_special_way_gives_what_the_plain_way_gives(way, dtype):
    applied = 0
    drawn = [(layout, "any") for layout in LAYOUTS]
    drawn += [("contiguous", content) for content in ("near one", "edges", "one edge")]
    for (layout, content), size in itertools.product(drawn, sizes(way)):
        for args in SAMPLES[way.way.__name__](Draw(dtype, layout, content), size):
            applied += check(way, args) and size >= way.pays_from
    assert applied or dtype not in ("float32", "float64"), "the samples never reach the special way"


def test_every_way_has_samples_and_no_others_have():
    assert sorted(SAMPLES) == sorted(way.way.__name__ for way in FAST_WAYS)


@pytest.mark.parametrize(
    ("spoil", "exact"),
    [
        (lambda x: -x, SAME_BITS),  # -0.0
        (lambda x: np.nextafter(x, 9), SAME_BITS),
        (lambda x: x.astype(np.float32), SAME_BITS),
        (lambda x: x[None], SAME_BITS),
        (lambda x: x + 3e-16, Exactness(2)),
        (lambda x: x * (1 + 1e-15), Exactness(2)),
        (lambda x: x + np.nan, Exactness(1e9)),
    ],
)
def test_what_is_not_as_declared_is_found(spoil, exact):
    x = np.array([0.0, 1e-3, 0.5])
    assert check(FastWay(np.positive, np.positive, 0, exact, False), (x,))
    with pytest.raises(AssertionError):
        check(FastWay(spoil, np.positive, 0, exact, False), (x,))
