"""Networks of three kinds, value and all gradients of one batch in float32."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.case import Case, Goal, Run
from benchmarks.contenders import by_backward, by_jax, fastest, value_and_grad

STEPS, SEQUENCES, HIDDEN = 100, 16, 64
BATCH, LENGTH, FEATURES, HEADS = 8, 128, 256, 8
IMAGES, CLASSES = 32, 10


def lstm(lib: Any, w: Any, u: Any, b: Any, x: Any) -> Any:
    """A long short-term memory, each step written in operators."""
    h = c = lib.zeros((SEQUENCES, HIDDEN), dtype=lib.float32)
    for t in range(STEPS):
        gates = x[t] @ w + h @ u + b
        i, f, g, o = lib.chunk(gates, 4, 1)
        c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
        h = lib.sigmoid(o) * lib.tanh(c)
    return lib.sum(h * h)


def lstm_by_scan(lib: Any, w: Any, u: Any, b: Any, x: Any) -> Any:
    """The same for JAX, which takes minutes to compile the steps one after the other."""
    from jax.lax import scan

    def step(kept: Any, x: Any) -> Any:
        h, c = kept
        i, f, g, o = lib.chunk(x @ w + h @ u + b, 4, 1)
        c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
        return (lib.sigmoid(o) * lib.tanh(c), c), None

    start = lib.zeros((SEQUENCES, HIDDEN), dtype=lib.float32)
    (h, _), _ = scan(step, (start, start), x)
    return lib.sum(h * h)


def lstm_of_torch(lib: Any) -> Run:
    """PyTorch's own LSTM, one call for all steps."""
    (w, u, b), (x,) = lstm_data()
    layer, data = lib.nn.LSTM(HIDDEN, HIDDEN), lib.from_numpy(x)
    with lib.no_grad():
        layer.weight_ih_l0.copy_(lib.from_numpy(w.T))
        layer.weight_hh_l0.copy_(lib.from_numpy(u.T))
        layer.bias_ih_l0.copy_(lib.from_numpy(b))
        layer.bias_hh_l0.zero_()

    def run() -> Any:
        layer.zero_grad()
        _, (h, _) = layer(data)
        value = (h * h).sum()
        value.backward()
        return value, layer.weight_ih_l0.grad.T, layer.weight_hh_l0.grad.T, layer.bias_ih_l0.grad

    return run


def attention(lib: Any, x: Any, *weights: Any) -> Any:
    """A transformer's block: self-attention, then two layers with gelu, each after a layer norm and beside a sum."""
    norm1, bias1, qkv, qkv_bias, out, out_bias, norm2, bias2, up, up_bias, down, down_bias = weights
    functional = lib.nn.functional
    y = functional.linear(functional.layer_norm(x, (FEATURES,), norm1, bias1), qkv, qkv_bias)
    y = lib.permute(y.reshape((BATCH, LENGTH, 3, HEADS, FEATURES // HEADS)), (2, 0, 3, 1, 4))
    q, k, v = y[0], y[1], y[2]
    heads = lib.transpose(functional.scaled_dot_product_attention(q, k, v), 1, 2)
    x = x + functional.linear(heads.reshape((BATCH, LENGTH, FEATURES)), out, out_bias)
    y = functional.gelu(functional.linear(functional.layer_norm(x, (FEATURES,), norm2, bias2), up, up_bias))
    x = x + functional.linear(y, down, down_bias)
    return lib.mean(x * x)


def convolutions(lib: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, target: Any) -> Any:
    """Two convolutions, pooling, a linear layer, the loss of a classifier."""
    functional = lib.nn.functional
    y = functional.relu(functional.conv2d(x, w1, b1))
    y = functional.max_pool2d(functional.relu(functional.conv2d(y, w2, b2)), 2)
    return functional.cross_entropy(functional.linear(lib.flatten(y, 1), w3, b3), target)


def drawn(shapes: Sequence[tuple[int, ...]], seed: int = 0) -> list[np.ndarray]:
    """Numbers of the normal distribution, matrices and filters scaled by their inputs."""
    rng = np.random.default_rng(seed)
    scale = [1 / math.sqrt(math.prod(shape[1:])) for shape in shapes]
    return [(rng.standard_normal(shape) * by).astype(np.float32) for shape, by in zip(shapes, scale, strict=True)]


def lstm_data() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(w, u, b), (x,)."""
    return drawn([(HIDDEN, 4 * HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN,)]), drawn([(STEPS, SEQUENCES, HIDDEN)], 1)


def attention_data() -> list[np.ndarray]:
    """The inputs, which are differentiated too, and the weights."""
    vector, widest = (FEATURES,), 4 * FEATURES
    shapes = [vector, vector, (3 * FEATURES, FEATURES), (3 * FEATURES,), (FEATURES, FEATURES), vector]
    shapes += [vector, vector, (widest, FEATURES), (widest,), (FEATURES, widest), vector]
    return drawn([(BATCH, LENGTH, FEATURES), *shapes])


def image_data() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The parameters, (images, classes)."""
    weights = drawn([(16, 1, 3, 3), (16,), (32, 16, 3, 3), (32,), (CLASSES, 32 * 12 * 12), (CLASSES,)])
    return weights, [*drawn([(IMAGES, 1, 28, 28)], 1), np.arange(IMAGES) % CLASSES]


def lstm_in_operators(lib: Any) -> Run:
    """Value and gradients."""
    return by_backward(lib, lstm, *lstm_data())


def conv_net(lib: Any) -> Run:
    """Value and gradients."""
    return by_backward(lib, convolutions, *image_data())


def conv_net_channels_last(lib: Any) -> Run:
    """The same, with images and filters as PyTorch computes them most quickly."""

    def laid_out(tensor: Any) -> Any:
        return tensor.to(memory_format=lib.channels_last) if tensor.ndim == 4 else tensor

    return by_backward(lib, convolutions, *image_data(), laid_out)


CASES = [
    Case(
        name="lstm",
        title=f"LSTM of {STEPS} steps in operators (PyTorch: or nn.LSTM), batch {SEQUENCES}, hidden {HIDDEN}, float32",
        build={"pullback": lstm_in_operators, "torch": fastest(lstm_in_operators, lstm_of_torch)}
        | by_jax(lstm_by_scan, *lstm_data()),
        goals=[Goal(4.0)],
        rtol=1e-3,
    ),
    Case(
        name="attention",
        title=f"attention block, batch {BATCH}, sequence {LENGTH}, {FEATURES} features, {HEADS} heads, float32",
        build=value_and_grad(attention, attention_data()),
        goals=[Goal(1.15)],
        rtol=1e-3,
    ),
    Case(
        name="conv-net",
        title=f"batch {IMAGES} of 28x28: two 3x3 convolutions to 16 and 32, max-pool 2, linear, float32",
        build={"pullback": conv_net, "torch": fastest(conv_net, conv_net_channels_last)}
        | by_jax(convolutions, *image_data()),
        goals=[Goal(1.7)],
        rtol=1e-2,  # a pair that max_pool2d tells apart by its last digit moves a whole gradient
    ),
]
