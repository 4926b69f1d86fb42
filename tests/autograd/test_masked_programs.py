"""Random programs of views, writes, masks and hooks agree with scalars, which know nothing of these.

`PULLBACK_PROGRAMS=100000 pytest tests/autograd/test_masked_programs.py -n 2` runs so many of each kind; seeds are 0, 1,
2, ..., so that what fails can be run again: `told(seed, singular)` prints the smallest program that does.
"""

import os

import numpy as np
import pytest

import pullback as pb
from tests.autograd import masked_programs
from tests.autograd import scalars as s
from tests.autograd.masked_programs import Run, disagreement, shrunk, steps_of, told

COUNT = int(os.environ.get("PULLBACK_PROGRAMS", "400"))
# Infinite slopes behind masks: what is NaN and what is 0 is the rule of structural zeros (docs/conventions.md).
SINGULAR = os.environ.get("PULLBACK_SINGULAR", "1") == "1"
PARTS = 8  # so that processes can share the work


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("singular", [False, True] if SINGULAR else [False])
@pytest.mark.filterwarnings("ignore")
def test_programs_agree_with_scalars(part, singular):
    compared = 0
    for seed in range(part, COUNT, PARTS):
        differs, had_backward = disagreement(steps_of(seed), singular)
        assert not differs, told(seed, singular)
        compared += had_backward
    assert compared > 0.8 * COUNT / PARTS  # a generator that only makes what is refused proves nothing


def test_scalars_differentiate():
    x, y = s.leaf(0.5), s.leaf(2.0)
    z = s.mul(s.exp(s.mul(x, y)), s.log(y))
    first = s.backward([(z, s.ONE)])
    assert np.isclose(first[x].value, y.value * np.e * np.log(2))
    second = s.backward([(first[x], s.ONE)])
    assert np.isclose(second[x].value, y.value**2 * np.e * np.log(2))
    assert np.isclose(second[y].value, np.e * (np.log(2) * (1 + x.value * y.value) + 1))
    assert s.backward([(s.constant(1.0), s.ONE)]) == {}


def test_a_computed_zero_and_one_that_nothing_reached_are_told_apart():
    x = s.leaf(0.0)
    root = s.sqrt(x)
    assert x not in s.backward([(s.constant(0.0), s.ONE)])
    assert np.isnan(s.backward([(s.square(root), s.ONE)])[x].value)  # 2 * 0 * inf


MUTATIONS = {
    "a value behind a mask": ("where", lambda mask, t, u: t * mask + u * ~np.asarray(mask) + 0.01),
    "a gradient of a maximum": ("maximum", lambda t, u: pb.where(t > u, t.detach(), u)),
    "an order": ("sqrt", lambda t: t.detach() ** 0.5 * (0.5 + 0.5 * t / t.detach())),
}


@pytest.mark.parametrize(("name", "wrong"), MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.filterwarnings("ignore")
def test_the_comparison_sees_what_is_wrong_and_shrinks_it(name, wrong, monkeypatch):
    if name == "sqrt":  # right in value and slope, wrong in the second derivative
        monkeypatch.setitem(masked_programs.UNARY, "sqrt", (wrong, *masked_programs.UNARY["sqrt"][1:]))
    else:
        monkeypatch.setattr(pb, name, wrong)
    seed = next(seed for seed in range(3000) if disagreement(steps_of(seed))[0])
    steps = shrunk(steps_of(seed))
    assert len(steps) <= 5
    assert disagreement(steps)[0]
    assert f"seed {seed}: " in told(seed)
    assert all(not disagreement(steps[:i] + steps[i + 1 :])[0] for i in range(len(steps)))


@pytest.mark.filterwarnings("ignore")
def test_programs_meet_every_kind_of_step():
    met = " ".join(" ".join(Run(steps_of(seed)).names) for seed in range(300))
    for word in ("view", "where(", "rescue", "relu", "clamp", "maximum", "pattern", "index_select", "unbind", "sort(",
                 "+=", "copy_", "masked_fill_", "index_put_", "hooked by", "to(float32)", "detach()", "softmax",
                 "inner", "sum(", "cat(", "div("):  # fmt: skip
        assert word in met, word
