"""One training step of a two-layer classifier, for the cases digits-mlp and large-mlp."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Run

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


def tensors(lib: Any, *, shape: Shape) -> Run:
    """pullback and PyTorch: the same lines run on both."""
    functional = lib.nn.functional
    x, target = (lib.from_numpy(array) for array in shape.data())
    parameters = [lib.from_numpy(array).requires_grad_() for array in shape.weights()]
    w1, b1, w2, b2 = parameters

    def run() -> Any:
        hidden = functional.relu(functional.linear(x, w1, b1))
        loss = functional.cross_entropy(functional.linear(hidden, w2, b2), target)
        loss.backward()
        with lib.no_grad():
            for parameter in parameters:
                parameter -= LEARNING_RATE * parameter.grad
                parameter.grad = None
        return loss.item()

    return run


def cross_entropy(parameters: Any, x: Any, target: Any, np: Any) -> Any:
    """The same loss from NumPy-like functions, for the libraries that have no other."""
    w1, b1, w2, b2 = parameters
    logits = np.maximum(x @ w1.T + b1, 0) @ w2.T + b2
    top = np.max(logits, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
    return np.mean(log_norm - logits[np.arange(len(target)), target])


def hips(lib: Any, *, shape: Shape) -> Run:
    """HIPS autograd on a list of arrays."""
    import autograd.numpy as anp

    x, target = shape.data()
    parameters = shape.weights()
    step = lib.value_and_grad(partial(cross_entropy, x=x, target=target, np=anp))

    def run() -> Any:
        loss, grads = step(parameters)
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter -= LEARNING_RATE * grad
        return loss

    return run


def jax(lib: Any, *, shape: Shape) -> Run:
    """JAX: the whole step, update included, in one compiled program."""
    import jax.numpy as jnp

    x, target = (jnp.asarray(array) for array in shape.data())
    state = [[jnp.asarray(array) for array in shape.weights()]]

    @lib.jit
    def step(parameters: Any) -> Any:
        loss, grads = lib.value_and_grad(partial(cross_entropy, x=x, target=target, np=jnp))(parameters)
        return loss, [parameter - LEARNING_RATE * grad for parameter, grad in zip(parameters, grads, strict=True)]

    def run() -> Any:
        loss, state[0] = step(state[0])
        return float(loss)

    return run


def contenders(shape: Shape) -> dict[str, Any]:
    """How each library is built for `shape`."""
    return {
        "pullback": partial(tensors, shape=shape),
        "torch": partial(tensors, shape=shape),
        "autograd": partial(hips, shape=shape),
        "jax": partial(jax, shape=shape),
    }
