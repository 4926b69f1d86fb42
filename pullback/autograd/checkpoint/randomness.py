"""Running a function again with the random numbers that it drew the first time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.numpy.random import draws
from pullback.core.blocks import Block, Steps, several

default_generator: Callable[[], np.random.Generator] = draws.default_generator
States: TypeAlias = list[tuple[np.random.Generator, Any]]


def generator_states(values: Iterable[Any] = ()) -> States:
    """The states of the default generator, and of the generators among `values`."""
    generators = [default_generator(), *(v for v in values if isinstance(v, np.random.Generator))]
    return [(generator, generator.bit_generator.state) for generator in generators]


def restore(states: States) -> None:
    """Put the generators back into these states."""
    for generator, state in states:
        generator.bit_generator.state = state


class as_it_was(Block):
    """Inside, the generators start from these states; afterwards they are where they were."""

    def __init__(self, states: States) -> None:
        self.states = states

    def _steps(self) -> Steps:
        now = [(generator, generator.bit_generator.state) for generator, _ in self.states]
        leave = several(*(partial(setattr, g.bit_generator, "state", s) for g, s in now))
        return restore, self.states, *leave
