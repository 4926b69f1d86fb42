"""Random programs of views and in-place operators agree with the same programs run without writing anywhere.

`PULLBACK_PROGRAMS=10000 pytest tests/autograd/test_programs.py` runs so many, on each of the two paths that follow
views.
"""

import os

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pullback.graph.replay import force_replay
from tests.autograd.programs import Program

COUNT = int(os.environ.get("PULLBACK_PROGRAMS", "200"))
STEP = st.tuples(st.integers(0, 19), st.sampled_from([False] * 7 + [True]), *[st.integers(0, 59)] * 3)
PROGRAMS = st.lists(STEP, min_size=1, max_size=14)

check = settings(
    max_examples=COUNT, deadline=None, derandomize="PULLBACK_PROGRAMS" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

QUIET_FLATTEN = [(4, True, 44, 17, 10)]  # flatten() of a vector is the vector, with its derivative, under no_grad too
QUIET_TURN = [(6, False, 8, 51, 19), (18, True, 8, 17, 41)]  # a view whose shape changed under no_grad keeps its own


@check
@given(PROGRAMS)
@example(QUIET_FLATTEN)
@example(QUIET_TURN)
def test_programs_followed_by_geometry(steps):
    Program(steps).compare()


@check
@given(PROGRAMS)
@example(QUIET_FLATTEN)
@example(QUIET_TURN)
def test_programs_followed_by_replay(steps):
    with force_replay():
        Program(steps).compare()
