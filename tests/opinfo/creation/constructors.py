"""OpInfo records of the operators of the area creation."""

import math

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Raises
from pullback.testing.opinfo.samples import T, cases, on

__all__ = ["OPINFOS"]

ONCE = (np.float64,)  # no input, hence no dtype under test
UNINITIALISED = "memory as it was found: shape and dtype only"
NEGATIVE = (-1,)


def made(name, reference, *calls, **how):
    """A record of an operator that takes no tensor."""
    return OpInfo(name, reference, cases(*calls), dtypes=ONCE, order=0, **how)


def shapes(*more, **kwargs):
    """Calls with a size as numbers, a tuple, a list, none at all."""
    return [on(None, size, *more, **kwargs) for size in ((2, 3), [3], (), (0, 2))]


def like(name, reference, *more, **how):
    """A record of an operator that takes shape and dtype from a tensor."""
    calls = [on(shape, *more) for shape in ((), (2, 3), (0,))]
    return OpInfo(name, reference, cases(*calls, on((2,), *more, dtype=np.float32)), complex=True, order=0, **how)


def new(name, reference, *more, **how):
    """A record of a method that takes the dtype from a tensor."""
    calls = [on((2,), size, *more) for size in ((2, 3), [3], (), (0, 2))]
    return OpInfo(name, reference, cases(*calls, on((2,), (3,), *more, dtype=np.float32)), complex=True, order=0, **how)


def numbers_between(start, end, steps, dtype=None):
    """linspace, integers towards zero."""
    return np.linspace(start, end, steps).astype(dtype or np.float64)


OPINFOS = [
    made("zeros", np.zeros, *shapes(), *shapes(dtype=np.int64), errors=[Raises(RuntimeError, ("zeros",), (NEGATIVE,))]),
    made("ones", np.ones, *shapes(), *shapes(dtype=np.complex64)),
    made("full", np.full, *shapes(2), *shapes(2.5), *shapes(True), *shapes(1 + 2j), *shapes(2, dtype=np.float32)),
    made("empty", None, *shapes(), *shapes(dtype=np.int64), random=True, repeatable=False, because=UNINITIALISED),
    like("zeros_like", np.zeros_like),
    like("ones_like", np.ones_like),
    like("full_like", np.full_like, 2),
    like("empty_like", None, random=True, repeatable=False, because=UNINITIALISED),
    new("new_zeros", lambda x, size, dtype=None: np.zeros(size, dtype or x.dtype)),
    new("new_ones", lambda x, size, dtype=None: np.ones(size, dtype or x.dtype)),
    new("new_full", lambda x, size, value, dtype=None: np.full(size, value, dtype or x.dtype), 3),
    new("new_empty", None, random=True, repeatable=False, because=UNINITIALISED),
    made("scalar_tensor", lambda s, dtype=np.float64: np.array(s, dtype), on(None, 2), on(None, 2, dtype=np.int64)),
    made(
        "arange",
        np.arange,
        *(on(None, *limits) for limits in ((5,), (3.0,), (1, 2, 0.25), (5, 0, -2), (0, 6, 2), (0, 5, 2), (3, 3), (0,))),
        on(None, 5, dtype=np.float32),
        errors=[
            Raises(RuntimeError, ("arange", "step", "0"), (0, 3, 0)),
            Raises(RuntimeError, ("arange", "step", "-2"), (0, 3, -2)),
            Raises(RuntimeError, ("arange", "inf"), (0, math.inf)),
        ],
    ),
    made(
        "linspace",
        numbers_between,
        *(on(None, 0, 1, steps) for steps in (0, 1, 2, 5)),
        on(None, 0, -5, 4, dtype=np.int64),
        errors=[
            Raises(RuntimeError, ("linspace", "steps", "-1"), (0, 1, -1)),
            Raises(RuntimeError, ("linspace", "start", "(2,)"), (np.ones(2), 1.0, 3)),
            Raises(TypeError, ("linspace", "steps"), (0, 1, 2.5)),
        ],
    ),
    OpInfo(
        "linspace",
        np.linspace,
        cases(*(on((), T(()), steps) for steps in (0, 1, 5)), on((), 1.5, 4)),
        dtypes=ONCE,
        variant="ends",
    ),
    OpInfo(
        "logspace",
        np.logspace,
        cases(*(on((), T(()), steps) for steps in (0, 1, 4)), on((), 0.5, 3, base=2.0)),
        dtypes=ONCE,
        variant="ends",
    ),
    made("logspace", np.logspace, on(None, 0, 2, 3), on(None, -1.0, 1.0, 4, base=2.0), on(None, 0, 2, 0)),
    made(
        "eye",
        np.eye,
        *(on(None, *sizes) for sizes in ((3,), (2, 3), (0,), (3, 0))),
        on(None, 2, dtype=np.int64),
        errors=[Raises(RuntimeError, ("eye", "-1"), NEGATIVE)],
    ),
    made("tril_indices", lambda r, c, k=0: np.stack(np.tril_indices(r, k, c)), on(None, 3, 2), on(None, 2, 4, 1)),
    made("triu_indices", lambda r, c, k=0: np.stack(np.triu_indices(r, k, c)), on(None, 3, 2), on(None, 2, 4, -1)),
]
