"""Running a function again with the random numbers that it drew the first time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.numpy.random import draws
from pullback.core.blocks import Block, Steps, several

default_generator: Callable[[], np.random.Generator] = draws.default_generator
# A generator, or what has the old names: a RandomState, and the module np.random with its global one.
States: TypeAlias = list[tuple[Any, Any]]
_GENERATORS = (np.random.Generator, np.random.RandomState)


def generator_states(values: Iterable[Any] = ()) -> States:
    """The states of the default generator, and of the generators among `values`."""
    generators = [default_generator(), *(v for v in values if isinstance(v, np.random.Generator))]
    return [(generator, generator.bit_generator.state) for generator in generators]


def states_around(function: Any, values: Iterable[Any]) -> States:
    """The states of all generators that a call of the function may draw from, as far as that can be seen.

    These are the default one, NumPy's global one, those among the arguments, and those that the function names: in its
    closure, or in its module.
    """
    found = [np.random, default_generator(), *_held_by(function), *values]
    known = {id(g): g for g in found if g is np.random or isinstance(g, _GENERATORS)}
    return [(generator, _state(generator)) for generator in known.values()]


def _held_by(function: Any) -> list[Any]:
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    held = [function.__globals__.get(name) for name in code.co_names]
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # that of a variable without a value yet
            continue
    return held


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state(legacy=False)


def _put_back(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    else:
        generator.set_state(state)


def restore(states: States) -> None:
    """Put the generators back into these states."""
    for generator, state in states:
        _put_back(generator, state)


class as_it_was(Block):
    """Inside, the generators start from these states; afterwards they are where they were."""

    def __init__(self, states: States) -> None:
        self.states = states

    def _steps(self) -> Steps:
        now = [(generator, _state(generator)) for generator, _ in self.states]
        leave = several(*(partial(_put_back, g, s) for g, s in now))
        return restore, self.states, *leave
