"""OpInfo records of the operators of the area random."""

import numpy as np

from pullback.testing.opinfo.core import FLOATS, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on

__all__ = ["OPINFOS"]

RANDOM = "random: shape and dtype only; the distributions are tested in tests/ops/test_random.py"
ONCE = (np.float64,)  # no input, hence no dtype under test
SIZES = ((2, 3), [3], (), (0, 2))


def drawn(name, *calls, dtypes=ONCE, order=0, **how):
    """A record of an operator with random results."""
    return OpInfo(name, None, cases(*calls), dtypes=dtypes, order=order, random=True, because=RANDOM, **how)


def filled(name, *more, errors=(), dtypes=FLOATS):
    """A record of a method that fills a tensor."""
    return drawn(name, *(on(shape, *more) for shape in ((), (2, 3), (0,))), dtypes=dtypes, errors=errors)


OPINFOS = [
    drawn("rand", *(on(None, size) for size in SIZES), on(None, (2,), dtype=np.float32)),
    drawn("randn", *(on(None, size) for size in SIZES), on(None, (2,), dtype=np.complex64)),
    drawn(
        "randint",
        *(on(None, 5, size) for size in SIZES),
        on(None, -2, 5, (3,)),
        errors=[Raises(RuntimeError, ("randint", "low", "high", "5", "2"), (5, 2, (3,)))],
    ),
    drawn("randperm", on(None, 5), on(None, 0), errors=[Raises(RuntimeError, ("randperm", "-1"), (-1,))]),
    drawn("rand_like", on(()), on((2, 3)), dtypes=FLOATS),
    drawn("randn_like", on(()), on((2, 3)), dtypes=(*FLOATS, np.complex128)),
    drawn("randint_like", on((2, 3), 5), on((2, 3), -2, 5), dtypes=(np.float64, np.int64)),
    drawn(
        "normal",
        on((2, 3), T((3,), low=0.5)),
        on((3,), 2.0),
        on((3,)),
        dtypes=FLOATS,
        errors=[Raises(RuntimeError, ("normal", "std", "negative"), (np.zeros(2), -np.ones(2)))],
    ),
    OpInfo(
        "bernoulli",
        None,
        cases(on((2, 3)), on(()), on((0,)), low=0.1, high=0.9),
        dtypes=FLOATS,
        order=0,
        random=True,
        because=RANDOM,
        errors=[Raises(RuntimeError, ("bernoulli", "[0, 1]"), (np.array([2.0]),))],
    ),
    OpInfo(
        "poisson",
        None,
        cases(on((2, 3)), on(()), on((0,)), low=0.1, high=9),
        dtypes=FLOATS,
        order=0,
        random=True,
        because=RANDOM,
        errors=[
            Raises(RuntimeError, ("poisson", "input", "negative"), (-np.ones(2),)),
            Raises(RuntimeError, ("poisson", "int64"), (np.ones(2, np.int64),)),
        ],
    ),
    OpInfo(
        "binomial",
        None,
        lambda make: [
            Sample(np.full((2, 3), 4.0, make.dtype), make((2, 3), low=0.1, high=0.9)),
            Sample(np.full((2, 1), 4.0, make.dtype), make((3,), low=0.1, high=0.9)),
            Sample(np.full((3,), 4.0, make.dtype), 0.5),
        ],
        dtypes=FLOATS,
        order=0,
        random=True,
        because=RANDOM,
        errors=[
            Raises(RuntimeError, ("binomial", "count", "int64"), (np.ones(2, np.int64), 0.5)),
            Raises(RuntimeError, ("binomial", "prob", "[0, 1]"), (np.ones(2), 1.5)),
            Raises(RuntimeError, ("binomial", "counts", "0, 1, 2"), (np.array([0.5]), 0.5)),
            Raises(RuntimeError, ("binomial", "counts", "0, 1, 2"), (np.array([-1.0]), 0.5)),
        ],
    ),
    OpInfo(
        "multinomial",
        None,
        cases(on((4,), 2), on((2, 4), 2), on((2, 4), 9, replacement=True), low=0.1, high=0.9),
        dtypes=FLOATS,
        order=0,
        random=True,
        because=RANDOM,
        errors=[
            Raises(RuntimeError, ("multinomial", "replacement"), (np.ones(3), 4)),
            Raises(RuntimeError, ("multinomial", "num_samples", "0"), (np.ones(3), 0)),
            Raises(RuntimeError, ("multinomial", "weights", "negative"), (-np.ones(3), 1)),
        ],
    ),
    filled("uniform_", 1.0, 2.0, errors=[Raises(RuntimeError, ("uniform_", "low", "high"), (np.ones(2), 2.0, 1.0))]),
    filled("normal_", 1.0, 2.0, errors=[Raises(RuntimeError, ("normal_", "std"), (np.ones(2), 0.0, -1.0))]),
    filled("log_normal_", errors=[Raises(RuntimeError, ("log_normal_", "std"), (np.ones(2), 0.0, 0.0))]),
    filled("exponential_", errors=[Raises(RuntimeError, ("exponential_", "lambd"), (np.ones(2), 0.0))]),
    filled("cauchy_", errors=[Raises(RuntimeError, ("cauchy_", "sigma"), (np.ones(2), 0.0, 0.0))]),
    filled("geometric_", 0.3, errors=[Raises(RuntimeError, ("geometric_", "p"), (np.ones(2), 2.0))]),
    filled("bernoulli_", 0.3),
    filled("random_", 3, 9, dtypes=(np.float64, np.int64)),
]
