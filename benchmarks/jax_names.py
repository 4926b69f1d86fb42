"""jax.numpy under PyTorch's names, as far as the cases use them: so their lines run on JAX, which traces them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def names_of(jax: Any) -> Any:
    """An object with these names, which stands for the library in a case."""
    import jax.numpy as jnp

    made = SimpleNamespace(**{name: getattr(jnp, name) for name in _SAME})
    made.nn = SimpleNamespace(functional=_functional(jax, jnp))
    made.relu, made.sigmoid, made.logsumexp = jax.nn.relu, jax.nn.sigmoid, jax.nn.logsumexp
    made.erf, made.clamp, made.amax, made.cat = jax.scipy.special.erf, jnp.clip, jnp.max, jnp.concatenate
    made.permute, made.transpose, made.t = jnp.transpose, jnp.swapaxes, jnp.transpose
    made.from_numpy, made.bmm = jnp.asarray, jnp.matmul
    made.add = lambda x, y, alpha=1: x + alpha * y
    made.max = lambda x, dim: (jnp.max(x, dim), jnp.argmax(x, dim))
    made.sort = lambda x, dim: (jnp.sort(x, dim), jnp.argsort(x, dim))
    made.std = lambda x, dim: jnp.std(x, dim, ddof=1)
    made.chunk = jnp.split
    made.split = lambda x, size: jnp.split(x, list(range(size, len(x), size)))
    made.flatten = lambda x, start: x.reshape((*x.shape[:start], -1))
    made.index_select = lambda x, dim, at: jnp.take(x, at, dim)
    made.gather = lambda x, dim, at: jnp.take_along_axis(x, at, dim)
    made.scatter_add = lambda x, dim, at, y: x.at[jnp.arange(len(x))[:, None], at].add(y)  # of matrices, along rows
    return made


_SAME = (
    "abs", "cos", "cumsum", "einsum", "exp", "float32", "float64", "log", "maximum", "mean", "prod", "sin", "sqrt",
    "stack", "sum", "tanh", "where", "zeros",
)  # fmt: skip


def _functional(jax: Any, jnp: Any) -> Any:
    """The layers and losses, from PyTorch's formulas."""

    def layer_norm(x: Any, shape: tuple[int, ...], weight: Any, bias: Any) -> Any:
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(var + 1e-5) * weight + bias

    def cross_entropy(x: Any, target: Any) -> Any:
        taken = jnp.take_along_axis(jax.nn.log_softmax(x), target[..., None], -1)
        return -jnp.mean(taken)

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(jnp.float32(q.shape[-1]))) @ v

    def conv2d(x: Any, weight: Any, bias: Any) -> Any:
        return jax.lax.conv(x, weight, (1, 1), "VALID") + bias[:, None, None]

    def max_pool2d(x: Any, size: int) -> Any:
        window = (1, 1, size, size)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")

    return SimpleNamespace(
        relu=jax.nn.relu,
        gelu=lambda x: jax.nn.gelu(x, approximate=False),
        softplus=jax.nn.softplus,
        softmax=jax.nn.softmax,
        log_softmax=jax.nn.log_softmax,
        linear=lambda x, weight, bias: x @ weight.T + bias,
        layer_norm=layer_norm,
        cross_entropy=cross_entropy,
        mse_loss=lambda x, y: jnp.mean((x - y) ** 2),
        scaled_dot_product_attention=attention,
        conv2d=conv2d,
        max_pool2d=max_pool2d,
        pad=lambda x, widths: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [widths]),
    )
