"""OpInfo records of nn.functional's dropouts of channels, selu's dropouts, rrelu and gumbel_softmax."""

import numpy as np

from pullback.testing.opinfo.core import FLOATS, OpInfo, Raises
from pullback.testing.opinfo.samples import cases, on

__all__ = ["OPINFOS"]

PUBLIC = "nn.functional."


def noisy(name, *calls, errors=()):
    """A record of an operator with random results."""
    return OpInfo(PUBLIC + name, None, cases(*calls, away_from=0), dtypes=FLOATS, random=True, errors=errors,
                  because="random: tests/ops/test_noise.py has the distributions")  # fmt: skip


def bad_probability(name, shape):
    """1.5 is no probability."""
    return Raises(ValueError, naming=(name, "1.5"), args=(np.ones(shape), 1.5))


OPINFOS = [
    noisy("dropout1d", on((2, 3, 2)), on((3, 2), 0.25), on((1, 2, 2), p=1.0), on((2, 2), training=False),
          errors=[bad_probability("dropout1d", (2, 2)),
                  Raises(RuntimeError, naming=("dropout1d", "(3,)"), args=(np.ones(3),))]),
    noisy("dropout2d", on((2, 2, 1, 2)), on((2, 2, 2), 0.25), on((1, 1, 1, 1), p=0.0),
          errors=[bad_probability("dropout2d", (2, 2, 2))]),
    noisy("dropout3d", on((1, 2, 1, 1, 2)), on((2, 1, 1, 2), 0.25),
          errors=[bad_probability("dropout3d", (2, 2, 2, 2))]),
    noisy("alpha_dropout", on((2, 3), training=True), on((2, 3)), on((), 0.2, True), on((0,), 0.5, True),
          on((3,), 1.0, True), errors=[bad_probability("alpha_dropout", (2,))]),
    noisy("feature_alpha_dropout", on((2, 2, 2), training=True), on((2, 3)), on((2, 2), 0.2, True),
          errors=[bad_probability("feature_alpha_dropout", (2, 2))]),
    noisy("gumbel_softmax", on((2, 3)), on((3,), 0.5), on((2, 3), dim=0)),
    noisy("rrelu", on((2, 3), training=True), on((), 0.1, 0.2, True), on((0,), training=True),
          errors=[Raises(RuntimeError, naming=("rrelu", "lower", "0.3", "0.1"), args=(np.ones(2), 0.3, 0.1))]),
    OpInfo(PUBLIC + "rrelu", lambda x, low=1 / 8, high=1 / 3: np.where(x > 0, x, x * x.dtype.type((low + high) / 2)),
           cases(on((2, 3)), on((), 0.1, 0.2), on((0,)), noncontiguous=True, away_from=0), dtypes=FLOATS,
           variant="not_training"),
]  # fmt: skip
