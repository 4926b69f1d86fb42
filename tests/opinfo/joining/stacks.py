"""OpInfo records of the operators of the area joining."""

import numpy as np

from pullback.testing.opinfo.core import OpInfo, Raises, by_axis
from pullback.testing.opinfo.samples import cases, on

__all__ = ["OPINFOS"]

EVERY = (np.float64, np.float32, np.int64, np.bool)


def info(name, reference, samples, **how):
    """A record of an operator that moves elements of any dtype; it refuses to join nothing."""
    nothing = Raises((ValueError, RuntimeError), (name,), ([],))
    return OpInfo(name, reference, samples, dtypes=EVERY, complex=True, errors=[nothing, *how.pop("errors", ())], **how)


def cat(xs, dim=0):
    """np.concatenate, where an array of shape (0,) joins anything."""
    return np.concatenate([x for x in xs if x.shape != (0,)] or xs, dim)


OPINFOS = [
    info(
        "cat",
        cat,
        cases(
            on([(2, 3), (1, 3)]), on([(2, 3), (2, 1), (2, 2)], 1), on([(2,), (0,), (3,)]), on([(2, 2), (0,)], -1),
            on([(0,), (0,)]), on([(2, 0), (2, 3)], 1), on([(3, 2)], dim=-2),
        ),
        errors=[
            Raises(RuntimeError, ("cat", "(2, 3)", "(3, 2)"), ([np.ones((2, 3)), np.ones((3, 2))],)),
            Raises(TypeError, ("cat", "None"), ([np.ones(2), None],)),
            Raises(RuntimeError, ("cat",), ([np.ones(()), np.ones(())],)),
        ],
    ),
    info(
        "stack",
        by_axis(np.stack),
        cases(on([(2, 3), (2, 3)]), on([(2,), (2,), (2,)], -1), on([(), ()]), on([(2, 3)], 1)),
        errors=[Raises(RuntimeError, ("stack", "(2,)", "(3,)"), ([np.ones(2), np.ones(3)],))],
    ),
    info("hstack", np.hstack, cases(on([(2,), (3,)]), on([(2, 1), (2, 2)]), on([(), ()]))),
    info("vstack", np.vstack, cases(on([(2,), (2,)]), on([(1, 3), (2, 3)]), on([(), ()]), on([(3,), (2, 3)]))),
    info("dstack", np.dstack, cases(on([(2,), (2,)]), on([(2, 3), (2, 3)]), on([(), ()]), on([(2, 1, 1), (2, 1, 2)]))),
    info("column_stack", np.column_stack, cases(on([(2,), (2,)]), on([(2, 1), (2,)]), on([(), ()]))),
]  # fmt: skip
