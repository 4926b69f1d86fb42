"""NumPy kernels that draw random numbers, and the generator they draw from by default.

Every kernel takes `generator`, a `numpy.random.Generator`; None means the one of this module, which `manual_seed`
seeds. A Generator locks itself for each draw, so threads may share it; which of them gets which numbers is then up to
chance.
"""

from __future__ import annotations  # np.random is imported by NumPy when first asked for

import math
import operator
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.arrays.numpy.creation.filled import DEFAULT
from pullback.core.drawing import drawing

MAX_CATEGORIES = 2**24

_lock = threading.Lock()
_state: dict[str, Any] = {}  # holds the default generator, once someone has asked for it
_of_block: ContextVar[dict[str, Any]] = ContextVar("_of_block", default=_state)  # the same where a block has its own


def default_generator() -> np.random.Generator:
    """The generator that serves every call without one; seeded by the system until `manual_seed` is called.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> _ = pb.manual_seed(0)
    >>> type(pb.default_generator()).__name__
    'Generator'
    """
    state = _of_block.get()
    if "generator" not in state:
        seeds = np.random.PCG64(state.get("key"))
        state.setdefault("generator", np.random.Generator(seeds))  # atomic: one of two threads wins
    generator: np.random.Generator = state["generator"]
    return generator


@contextmanager
def drawing_from(key: Sequence[int]) -> Iterator[None]:
    """A block with a default generator of its own, which begins with this key as its seed."""
    before = _of_block.set({"key": key})
    try:
        yield
    finally:
        _of_block.reset(before)


def manual_seed(seed: int) -> np.random.Generator:
    """Seed the default generator and return it.

    Parameters
    ----------
    seed : int
        Any integer; negative ones count from 2**64, as in PyTorch.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    TypeError
        `seed` is not a whole number.

    Examples
    --------
    >>> _ = pb.manual_seed(0)
    >>> pb.rand(2).round(decimals=4)
    tensor([0.637 , 0.2698])
    """
    try:
        whole = operator.index(seed)
    except TypeError:
        raise TypeError(f"manual_seed(): seed must be an int, got {seed!r}.") from None
    generator = default_generator()
    with _lock:
        generator.bit_generator.state = np.random.PCG64(whole % 2**64).state
    return generator


def get_rng_state() -> dict[str, object]:
    """The state of the default generator: a dict, for `set_rng_state`.

    Returns
    -------
    dict

    Examples
    --------
    >>> state = pb.get_rng_state()
    >>> first = pb.rand(2)
    >>> pb.set_rng_state(state)
    >>> bool((pb.rand(2) == first).all())
    True
    """
    return dict(default_generator().bit_generator.state)


def set_rng_state(state: dict[str, object]) -> None:
    """Put the default generator into a state that `get_rng_state` gave.

    Parameters
    ----------
    state : dict

    Returns
    -------
    None

    Raises
    ------
    TypeError, ValueError
        `state` is nothing that `get_rng_state` gave.

    Examples
    --------
    >>> pb.set_rng_state(pb.get_rng_state())
    """
    try:
        default_generator().bit_generator.state = state
    except (TypeError, ValueError, KeyError) as error:
        raise type(error)(f"set_rng_state(): state must be what get_rng_state() gave: {error}.") from None


def source(generator: np.random.Generator | None) -> np.random.Generator:
    """The generator that a kernel draws from."""
    state = drawing.get()
    if state is not None:
        state.check()
    return generator or default_generator()


# Continuous


def rand(size, dtype=None, generator=None):
    """Uniform in [0, 1)."""
    return uniform(size, DEFAULT if dtype is None else np.dtype(dtype), generator)


def rand_like(self, dtype=None, generator=None):
    """Uniform in [0, 1), of the shape and dtype of self."""
    return uniform(self.shape, self.dtype if dtype is None else np.dtype(dtype), generator)


def randn(size, dtype=None, generator=None):
    """Standard normal; complex numbers have half the variance in each part."""
    return gaussian(size, DEFAULT if dtype is None else np.dtype(dtype), generator)


def randn_like(self, dtype=None, generator=None):
    """Standard normal, of the shape and dtype of self."""
    return gaussian(self.shape, self.dtype if dtype is None else np.dtype(dtype), generator)


def normal(mean, std=1.0, generator=None):
    """Normal, with mean and standard deviation for each element."""
    if np.any(np.less(std, 0)):
        raise ValueError("every element of std must be at least 0, but some are negative.")
    dtype = np.result_type(mean, std)
    dtype = dtype if dtype.kind in "fc" else DEFAULT
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    return gaussian(shape, dtype, generator) * std + mean


def normal_size(mean, std, size, dtype=None, generator=None):
    """Normal with one mean and standard deviation, of a shape."""
    require(std >= 0, f"std must be at least 0, but it is {std}.")
    return randn(size, dtype, generator) * std + mean


def uniform(size, dtype, generator):
    """Uniform in [0, 1), real or both parts of complex."""
    draw = source(generator).random
    return in_dtype(draw, size, dtype)


def gaussian(size, dtype, generator):
    """Normal of variance 1, real or complex."""
    z = in_dtype(source(generator).standard_normal, size, dtype)
    return z * math.sqrt(0.5) if dtype.kind == "c" else z


def in_dtype(draw, size, dtype):
    """draw(size) in any floating or complex dtype: float32 natively, others from float64."""
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        z = np.empty(size, dtype)
        z.real, z.imag = in_dtype(draw, size, part), in_dtype(draw, size, part)
        return z
    if dtype.kind != "f":
        raise ValueError(f"dtype must be floating or complex, but it is {dtype}.")
    if dtype == np.float32:
        return np.asarray(draw(size, dtype))
    return np.asarray(draw(size)).astype(dtype, copy=False)


# Discrete


def randint(high, size, dtype=None, generator=None):
    """Integers in [0, high)."""
    return integers(0, high, size, np.int64 if dtype is None else dtype, generator)


def randint_low(low, high, size, dtype=None, generator=None):
    """Integers in [low, high)."""
    return integers(low, high, size, np.int64 if dtype is None else dtype, generator)


def randint_like(self, high, dtype=None, generator=None):
    """Integers in [0, high), of the shape and dtype of self."""
    return integers(0, high, self.shape, self.dtype if dtype is None else dtype, generator)


def randint_like_low(self, low, high, dtype=None, generator=None):
    """Integers in [low, high), of the shape and dtype of self."""
    return integers(low, high, self.shape, self.dtype if dtype is None else dtype, generator)


def integers(low, high, size, dtype, generator):
    """Integers in [low, high), in any dtype."""
    require(low < high, f"low must be less than high, but they are {low} and {high}.")
    require_held(low, high - 1, np.dtype(dtype))
    return np.asarray(source(generator).integers(low, high, size)).astype(dtype, copy=False)


def randperm(n, dtype=None, generator=None):
    """0, ..., n - 1 in random order."""
    require(n >= 0, f"n must not be negative, but it is {n}.")
    return source(generator).permutation(n).astype(np.int64 if dtype is None else dtype, copy=False)


def bernoulli(self, generator=None):
    """1 with the probability that each element of self gives, else 0."""
    if self.dtype.kind != "f":
        raise ValueError(f"probabilities must be floating, but their dtype is {self.dtype}.")
    return coin(self.shape, self, generator).astype(self.dtype)


def bernoulli_p(self, p, generator=None):
    """1 with probability p, else 0, of the shape and dtype of self."""
    return coin(self.shape, p, generator).astype(self.dtype)


def coin(shape, p, generator):
    """True with probability p."""
    require(np.all(np.greater_equal(p, 0) & np.less_equal(p, 1)), "probabilities must lie in [0, 1].")
    return np.asarray(source(generator).random(shape)) < p


def poisson(self, generator=None):
    """Counts of events, each element of self being the number expected; in the dtype of self."""
    real_floating(self)
    require(bool(np.all(np.greater_equal(self, 0))), "input must not hold negative rates or nan.")
    return np.asarray(source(generator).poisson(self)).astype(self.dtype)


def binomial(count, prob, generator=None):
    """Counts of successes in `count` trials of probability `prob`, in their dtype."""
    dtype = real_floating(count) if np.ndim(prob) == 0 else np.result_type(real_floating(count), real_floating(prob))
    require(bool(np.all(np.greater_equal(count, 0) & np.equal(count, np.floor(count)))), "counts must be 0, 1, 2, ...")
    require(bool(np.all(np.greater_equal(prob, 0) & np.less_equal(prob, 1))), "probabilities must lie in [0, 1].")
    return np.asarray(source(generator).binomial(np.asarray(count).astype(np.int64), prob)).astype(dtype)


def multinomial(self, num_samples, replacement=False, generator=None):
    """Indices drawn with the weights in the last dimension of self."""
    check_multinomial(self, num_samples, replacement)
    draw = source(generator).random
    rows = np.atleast_2d(self).astype(np.float64)
    if replacement:
        cumulative = np.cumsum(rows, -1)
        # Scaled into [0, total): a category of weight 0 has no interval of its own, so it is never found.
        at = draw((len(rows), num_samples)) * cumulative[:, -1:]
        chosen = np.stack([np.searchsorted(c, a, side="right") for c, a in zip(cumulative, at, strict=True)])
        last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, -1)
        chosen = np.minimum(chosen, last[:, None])
    else:
        # The order of exponential arrival times at these rates is a draw without replacement.
        with np.errstate(divide="ignore"):
            arrival = -np.log1p(-draw(rows.shape)) / rows
        chosen = np.argsort(np.where(rows > 0, arrival, math.inf), -1, kind="stable")[:, :num_samples]
    return chosen.astype(np.int64, copy=False).reshape(*self.shape[:-1], num_samples)


def check_multinomial(weights, num_samples, replacement):
    """Refuse what no draw can be made from."""
    require(weights.dtype.kind == "f", f"weights must be floating, but their dtype is {weights.dtype}.")
    require(weights.ndim in (1, 2), f"weights must have 1 or 2 dimensions, but their shape is {weights.shape}.")
    count = weights.shape[-1]
    require(0 < count <= MAX_CATEGORIES, f"there must be 1 to 2**24 categories, but there are {count}.")
    require(num_samples > 0, f"num_samples must be positive, but it is {num_samples}.")
    require(bool(np.all(np.isfinite(weights) & (weights >= 0))), "weights must be finite and not negative.")
    positive = np.count_nonzero(weights, -1)
    require(bool(np.all(positive > 0)), "the weights of a row must not all be 0.")
    require(
        replacement or bool(np.all(positive >= num_samples)),
        f"{num_samples} samples without replacement need as many positive weights; replacement=True needs one",
    )


# In place


def uniform_(self, low=0.0, high=1.0, generator=None):
    """Fill with uniform numbers in [low, high)."""
    require(low <= high, f"low must not exceed high, but they are {low} and {high}.")
    require_held(low, high, floating(self))
    require_held(0, high - low, self.dtype)
    self[...] = uniform(self.shape, floating(self), generator) * (high - low) + low
    return self


def normal_(self, mean=0.0, std=1.0, generator=None):
    """Fill with normal numbers."""
    require(std >= 0, f"std must be at least 0, but it is {std}.")
    self[...] = gaussian(self.shape, floating(self), generator) * std + mean
    return self


def log_normal_(self, mean=1.0, std=2.0, generator=None):
    """Fill with exp of normal numbers."""
    require(std > 0, f"std must be positive, but it is {std}.")
    self[...] = np.exp(gaussian(self.shape, real_floating(self), generator) * std + mean)
    return self


def exponential_(self, lambd=1.0, generator=None):
    """Fill with exponential numbers of rate lambd."""
    require(lambd > 0, f"lambd must be positive, but it is {lambd}.")
    draw = source(generator).standard_exponential
    self[...] = in_dtype(draw, self.shape, real_floating(self)) / lambd
    return self


def cauchy_(self, median=0.0, sigma=1.0, generator=None):
    """Fill with Cauchy numbers."""
    require(sigma > 0, f"sigma must be positive, but it is {sigma}.")
    real_floating(self)
    self[...] = np.asarray(source(generator).standard_cauchy(self.shape)) * sigma + median
    return self


def geometric_(self, p, generator=None):
    """Fill with the number of trials up to the first success."""
    require(0 < p < 1, f"p must lie in (0, 1), but it is {p}.")
    self[...] = source(generator).geometric(p, self.shape)
    return self


def bernoulli_(self, p=0.5, generator=None):
    """Fill with 1 with probability p, else 0."""
    self[...] = coin(self.shape, p, generator)
    return self


def random_(self, generator=None):
    """Fill with whole numbers that the dtype holds exactly: from 0 to its largest, or to 2**mantissa."""
    return random_from(self, 0, None, generator)


def _end(dtype):
    """The first whole number that random_ does not give: beyond the largest, or beyond 2**mantissa."""
    if dtype.kind == "f":
        return 2 ** (np.finfo(dtype).nmant + 1) + 1
    return 2 if dtype.kind == "b" else int(np.iinfo(dtype).max) + 1


def random_to(self, high, generator=None):
    """Fill with whole numbers in [0, high)."""
    return random_from(self, 0, high, generator)


def random_from(self, low, high, generator=None):
    """Fill with whole numbers in [low, high); up to the largest of random_ if high is None."""
    high = _end(self.dtype) if high is None else high
    require(low < high, f"low must be less than high, but they are {low} and {high}.")
    require_held(low, high - 1, self.dtype)
    wide = np.uint64 if high > 2**63 else np.int64
    self[...] = source(generator).integers(low, high, self.shape, dtype=wide)
    return self


def floating(x):
    """The dtype of x, floating or complex."""
    require(x.dtype.kind in "fc", f"the tensor must be floating or complex, but its dtype is {x.dtype}.")
    return x.dtype


def real_floating(x):
    """The dtype of x, floating."""
    require(x.dtype.kind == "f", f"the tensor must be floating, but its dtype is {x.dtype}.")
    return x.dtype


def require_held(low, high, dtype):
    """ValueError unless numbers of this dtype reach from low to high."""
    if dtype.kind == "b":
        least, largest = 0, 1
    else:
        limits = np.finfo(dtype) if dtype.kind in "fc" else np.iinfo(dtype)
        number = float if dtype.kind in "fc" else int
        least, largest = number(limits.min), number(limits.max)
    require(
        least <= low and high <= largest,
        f"numbers from {low} to {high} are out of bounds for {dtype}, whose numbers reach from {least} to {largest}.",
    )


def require(condition, message):
    """ValueError(message) unless condition holds."""
    if not condition:
        raise ValueError(message)
