"""One training step of a two-layer classifier: loss, backward, plain gradient descent in place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Goal, Run
from benchmarks.contenders import Build, fastest
from benchmarks.jax_names import names_of

LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Shape:
    """Rows in a batch and the widths of the layers; everything is float32."""

    batch: int
    inputs: int
    hidden: int
    classes: int

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """A batch of inputs and of class numbers."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal((self.batch, self.inputs)).astype(np.float32)
        return x, rng.integers(0, self.classes, self.batch)

    def weights(self) -> list[np.ndarray]:
        """Weight and bias of each layer, as `linear` takes them."""
        rng = np.random.default_rng(1)
        sizes = (self.hidden, self.inputs), (self.hidden,), (self.classes, self.hidden), (self.classes,)
        return [(rng.standard_normal(size) / np.sqrt(size[-1])).astype(np.float32) for size in sizes]


def step(lib: Any, shape: Shape, by_optimizer: bool = False) -> Run:
    """Goes on training from call to call; updates by hand, or by the library's SGD."""
    functional = lib.nn.functional
    x, target = (lib.from_numpy(array) for array in shape.data())
    parameters = [lib.from_numpy(array).requires_grad_() for array in shape.weights()]
    w1, b1, w2, b2 = parameters
    optimizer = lib.optim.SGD(parameters, lr=LEARNING_RATE)

    def run() -> Any:
        hidden = functional.relu(functional.linear(x, w1, b1))
        loss = functional.cross_entropy(functional.linear(hidden, w2, b2), target)
        loss.backward()
        grads = [parameter.grad for parameter in parameters]
        if by_optimizer:
            optimizer.step()
            optimizer.zero_grad()
            return loss, *grads
        with lib.no_grad():
            for parameter, grad in zip(parameters, grads, strict=True):
                parameter.sub_(grad, alpha=LEARNING_RATE)
                parameter.grad = None
        return loss, *grads

    return run


def step_by_jax(lib: Any, shape: Shape) -> Run:
    """One compiled function from parameters to parameters, whose memory it may use again."""
    names = names_of(lib)
    functional = names.nn.functional
    x, target = map(names.from_numpy, shape.data())

    def loss(parameters: Any, x: Any, target: Any) -> Any:
        w1, b1, w2, b2 = parameters
        hidden = functional.relu(functional.linear(x, w1, b1))
        return functional.cross_entropy(functional.linear(hidden, w2, b2), target)

    def updated(parameters: Any, x: Any, target: Any) -> Any:
        value, grads = lib.value_and_grad(loss)(parameters, x, target)
        return [p - LEARNING_RATE * g for p, g in zip(parameters, grads, strict=True)], value, grads

    compiled = lib.jit(updated, donate_argnums=0)
    parameters = list(map(names.from_numpy, shape.weights()))

    def run() -> Any:
        nonlocal parameters
        parameters, value, grads = lib.block_until_ready(compiled(parameters, x, target))
        return value, *grads

    return run


def steps(shape: Shape) -> Build:
    """By hand, by PyTorch's SGD too, and by JAX."""
    ways = [partial(step, shape=shape, by_optimizer=by_optimizer) for by_optimizer in (False, True)]
    return {"pullback": ways[0], "torch": fastest(*ways), "jax": partial(step_by_jax, shape=shape)}


CASES = [
    Case(
        name="mlp-small",
        title="training step, batch 64, 64-128-10, float32: loss, backward, SGD in place",
        build=steps(Shape(batch=64, inputs=64, hidden=128, classes=10)),
        goals=[Goal(0.95)],
        rtol=1e-4,
    ),
    Case(
        name="mlp-large",  # mostly matrix products: how close to BLAS it comes
        title="training step, batch 512, 1024-2048-1024, float32: loss, backward, SGD in place",
        build=steps(Shape(batch=512, inputs=1024, hidden=2048, classes=1024)),
        goals=[Goal(1.15)],
        rtol=1e-4,
    ),
]
