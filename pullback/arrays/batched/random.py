"""Random numbers for a batch: each element draws its own, all share the same, or drawing is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from pullback.arrays.batched.array import BatchedArray
from pullback.arrays.batched.batch import Batch
from pullback.arrays.batched.errors import no_randomness, undrawn
from pullback.arrays.batched.rules import RULES, Rule, element
from pullback.arrays.batched.values import everywhere, is_batched, rank_of, run
from pullback.arrays.numpy.random.draws import default_generator
from pullback.core.array_type import is_array
from pullback.core.drawing import Drawing, drawing, drawn
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.dispatch.operator import Operator, parameters_of


def note_state(drew_from: dict[int, Any], generator: np.random.Generator) -> None:
    """Note the state of a generator, unless it is known from before."""
    if id(generator) not in drew_from:
        drew_from[id(generator)] = generator, generator.bit_generator.state


class Draws:
    """How a call of vmap treats random numbers while its function runs at `level`."""

    def __init__(self, batch: Batch, level: int) -> None:
        self.batch, self.level = batch, level
        self.outer: Drawing | None = drawing.get()

    def check(self) -> None:
        """Refuse to draw numbers that are the same for all elements, unless that is asked for."""
        if self.batch.randomness == "error":
            raise no_randomness(self.batch)
        if self.batch.randomness == "different":
            raise undrawn(self.batch)
        if self.outer is not None:
            self.outer.check()

    def seeded(self) -> None:
        """Let the default generator be seeded."""
        if self.outer is not None:
            self.outer.seeded()

    def create(self, op: Any, kernel: Callable[..., Any], args: Sequence[Any]) -> Any:
        """An array of random numbers: one for each element, or one for all."""
        batch = self.batch
        if batch.randomness == "error":
            raise no_randomness(batch)
        names = parameters_of(op)
        with drawing_as(self.outer):
            if batch.randomness == "same":
                for x in args:
                    if batch.drew_from is not None and isinstance(x, np.random.Generator):
                        note_state(batch.drew_from, x)
                return drawn(op, kernel, args)
            if "size" in names:
                place = names.index("size")
                size = args[place]
                size = (size,) if isinstance(size, int) else tuple(size)
                found = drawn(op, kernel, [*args[:place], (batch.size, *size), *args[place + 1 :]])
            else:
                found = run("stack", [drawn(op, kernel, args) for _ in range(batch.size)], 0)
        return wrap(BatchedArray(found, batch), self.level)

    def each(self, op: Operator, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments, one of them as often as there are elements if no element has its own and numbers differ."""
        if self.outer is not None:
            args = self.outer.each(op, args)
        places = [n for n, _ in op.tensors if is_array(args[n]) or type(args[n]) is ndarray]
        if self.batch.randomness != "different" or not places or any(_level(args[n]) >= self.level for n in places):
            return args
        n = places[0]
        x = args[n] if isinstance(args[n], Tensor) else wrap(args[n])
        expanded = run("expand", x, (self.batch.size, *x.shape), False)
        return [*args[:n], wrap(BatchedArray(expanded, self.batch), self.level), *args[n + 1 :]]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Within the batch, and those around it, as if they had not ended: what is recomputed is not returned."""
        was_open = self.batch.open
        with self.outer.again() if self.outer is not None else nullcontext(), drawing_as(self):
            self.batch.open = True
            try:
                yield
            finally:
                self.batch.open = was_open


def _level(x: Any) -> int:
    return x._level if isinstance(x, Tensor) else -1


@contextmanager
def drawing_as(state: Drawing | None) -> Iterator[None]:
    """Draw as another transform does, or as if there were none."""
    token = drawing.set(state)
    try:
        yield
    finally:
        drawing.reset(token)


def outside(batch: Batch) -> Any:
    """Draw as outside of the batch."""
    state = drawing.get()
    while isinstance(state, Draws) and state.batch is not batch:
        state = state.outer
    return drawing_as(state.outer if isinstance(state, Draws) else state)


def _random(name: str) -> Rule:
    """An operator that draws for the arrays that it is given."""

    def draws(batch: Batch, *args: Any) -> Any:
        if batch.randomness == "error":
            raise no_randomness(batch)
        with outside(batch):
            return _different(name, batch, args) if batch.randomness == "different" else _same(name, batch, args)

    return draws


def _different(name: str, batch: Batch, args: Sequence[Any]) -> Any:
    arrays = [x for x in args if is_batched(batch, x) or (is_array(x) and x.ndim)]
    rank = max(map(rank_of, arrays))
    if name == "multinomial" and rank == 2:  # which takes two dimensions at most
        rows = run("reshape", args[0].values, (batch.size * args[0].shape[0], args[0].shape[1]))
        return run("reshape", run(name, rows, *args[1:]), (batch.size, args[0].shape[0], args[1]))
    return run(name, *[everywhere(batch, x, rank) if any(x is y for y in arrays) else x for x in args])


def _same(name: str, batch: Batch, args: Sequence[Any]) -> Any:
    """One element after the other, each with the generator as it was for the first."""
    generator = next((x for x in args if isinstance(x, np.random.Generator)), None) or default_generator()
    if batch.drew_from is not None:
        note_state(batch.drew_from, generator)
    state, results = generator.bit_generator.state, []
    for i in range(batch.size):
        generator.bit_generator.state = state
        results.append(run(name, *[element(batch, x, i) for x in args]))
    if isinstance(results[0], tuple):
        return tuple(run("stack", list(each), 0) for each in zip(*results, strict=True))
    return run("stack", results, 0)


def _writing(name: str) -> Rule:
    """An operator that writes random numbers into its first argument."""

    def written(batch: Batch, x: BatchedArray, *rest: Any) -> BatchedArray:
        if batch.randomness == "error":
            raise no_randomness(batch)
        values = x.values
        numbers = values if type(values) is ndarray else np.empty(values.shape, values.dtype)
        with outside(batch):
            if batch.randomness == "different":
                run(name, numbers, *[everywhere(batch, y, x.ndim) if is_batched(batch, y) else y for y in rest])
            else:
                first = np.empty(x.shape, x.dtype)
                numbers[...] = _same(name, batch, [BatchedArray(np.stack([first] * batch.size), batch), *rest])
        if numbers is not values:
            values.copy_(wrap(numbers))
        return x

    return written


RULES.update({
    name: _random(name)
    for name in (
        "rand_like", "randn_like", "randint_like", "randint_like_low", "normal", "bernoulli", "bernoulli_p", "binomial",
        "poisson", "multinomial", "native_dropout",
    )
})  # fmt: skip
RULES.update({
    name: _writing(name)
    for name in (
        "uniform_", "normal_", "log_normal_", "exponential_", "cauchy_", "geometric_", "bernoulli_", "random_",
        "random_to",
        "random_from",
    )
})  # fmt: skip
