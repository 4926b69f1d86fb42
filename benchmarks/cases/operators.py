"""40 operators on about 1e6 elements, forward and backward timed apart: what single kernels cost against PyTorch's.

The shapes are those of use: matrices of 1000 rows where an operator works along a dimension, square factors for the
product, a batch of 10,000 rows of 100 classes for the losses. The forward pass records its graph; the backward pass is
`autograd.grad` of a graph that is kept, with a cotangent of random numbers.

Too long for every run: ``--only operators`` asks for it, ``--only op-gelu`` for its lines on gelu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Run, Table
from benchmarks.contenders import both
from benchmarks.jax_names import names_of

GOAL = 1.3  # of the geometric mean over the table
FLAT, MATRIX, ROWS = (1_000_000,), (1000, 1000), (10_000, 100)


@dataclass(frozen=True)
class Operator:
    """One line of the table.

    Parameters
    ----------
    name : str
    call : function of (lib, the differentiable tensors, the other tensors by name)
    shapes : shapes of the differentiable inputs, numbers of the normal distribution
    dtype : their dtype
    low : None, or the least of them, which are then uniform up to low + 2
    constants : other arrays by name, each drawn by a function of the generator
    """

    name: str
    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = (FLAT,)
    dtype: str = "float32"
    low: float | None = None
    constants: Mapping[str, Callable[[np.random.Generator], np.ndarray]] | None = None

    def data(self) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        """The inputs: (the differentiable ones, the others)."""
        rng = np.random.default_rng(0)
        inputs = [self.draw(rng, shape) for shape in self.shapes]
        return inputs, {name: draw(rng) for name, draw in (self.constants or {}).items()}

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """One differentiable input."""
        numbers = rng.standard_normal(shape) if self.low is None else rng.uniform(self.low, self.low + 2, shape)
        return numbers.astype(self.dtype)


def integers(below: int, shape: tuple[int, ...]) -> Callable[[np.random.Generator], np.ndarray]:
    """Draws indices."""
    return lambda rng: rng.integers(0, below, shape)


def booleans(shape: tuple[int, ...]) -> Callable[[np.random.Generator], np.ndarray]:
    """Draws a mask without a pattern."""
    return lambda rng: rng.random(shape) < 0.5


OPERATORS = [
    # pointwise
    Operator("add", lambda lib, x, y: x + y, (FLAT, FLAT)),
    Operator("mul", lambda lib, x, y: x * y, (FLAT, FLAT), "float64"),
    Operator("div", lambda lib, x, y: x / y, (FLAT, FLAT), low=0.5),
    Operator("exp", lambda lib, x: lib.exp(x)),
    Operator("exp", lambda lib, x: lib.exp(x), dtype="float64"),
    Operator("log", lambda lib, x: lib.log(x), low=0.5),
    Operator("sqrt", lambda lib, x: lib.sqrt(x), low=0.5),
    Operator("sin", lambda lib, x: lib.sin(x)),
    Operator("sin", lambda lib, x: lib.sin(x), dtype="float64"),
    Operator("tanh", lambda lib, x: lib.tanh(x)),
    Operator("tanh", lambda lib, x: lib.tanh(x), dtype="float64"),
    Operator("sigmoid", lambda lib, x: lib.sigmoid(x)),
    Operator("erf", lambda lib, x: lib.erf(x)),
    Operator("pow", lambda lib, x: x**3),
    Operator("abs", lambda lib, x: lib.abs(x)),
    Operator("maximum", lambda lib, x, y: lib.maximum(x, y), (FLAT, FLAT)),
    Operator("clamp", lambda lib, x: lib.clamp(x, -1.0, 1.0)),
    Operator("where", lambda lib, x, y, mask: lib.where(mask, x, y), (FLAT, FLAT), constants={"mask": booleans(FLAT)}),
    Operator("relu", lambda lib, x: lib.nn.functional.relu(x)),
    Operator("gelu", lambda lib, x: lib.nn.functional.gelu(x)),
    Operator("softplus", lambda lib, x: lib.nn.functional.softplus(x)),
    # reductions and scans
    Operator("sum", lambda lib, x: lib.sum(x)),
    Operator("mean", lambda lib, x: lib.mean(x, 0), (MATRIX,), "float64"),
    Operator("std", lambda lib, x: lib.std(x, 1), (MATRIX,)),
    Operator("amax", lambda lib, x: lib.amax(x, 1), (MATRIX,)),
    Operator("prod", lambda lib, x: lib.prod(x, 1), (ROWS,), low=0.0),
    Operator("logsumexp", lambda lib, x: lib.logsumexp(x, 1), (MATRIX,)),
    Operator("cumsum", lambda lib, x: lib.cumsum(x, 1), (MATRIX,)),
    Operator("sort", lambda lib, x: lib.sort(x, 1)[0], (MATRIX,), "float64"),  # float32 numbers would be equal at times
    # shape, indexing, joining
    Operator("cat", lambda lib, x, y: lib.cat([x, y], 1), ((1000, 500), (1000, 500))),
    Operator("transpose", lambda lib, x: lib.t(x).reshape(-1), (MATRIX,)),
    Operator("index_select", lambda lib, x, at: lib.index_select(x, 0, at), (MATRIX,),
             constants={"at": integers(1000, (1000,))}),
    Operator("gather", lambda lib, x, at: lib.gather(x, 1, at), (MATRIX,), constants={"at": integers(1000, MATRIX)}),
    Operator("scatter_add", lambda lib, x, y, at: lib.scatter_add(x, 1, at, y), (MATRIX, MATRIX),
             constants={"at": integers(1000, MATRIX)}),
    # products and nn
    Operator("matmul", lambda lib, x, y: x @ y, (MATRIX, MATRIX)),
    Operator("softmax", lambda lib, x: lib.nn.functional.softmax(x, 1), (MATRIX,)),
    Operator("log_softmax", lambda lib, x: lib.nn.functional.log_softmax(x, 1), (ROWS,)),
    Operator("layer_norm", lambda lib, x, w, b: lib.nn.functional.layer_norm(x, (1000,), w, b),
             (MATRIX, (1000,), (1000,))),
    Operator("cross_entropy", lambda lib, x, at: lib.nn.functional.cross_entropy(x, at), (ROWS,),
             constants={"at": integers(100, (10_000,))}),
    Operator("mse_loss", lambda lib, x, y: lib.nn.functional.mse_loss(x, y), (FLAT, FLAT)),
]  # fmt: skip


def one_direction(lib: Any, operator: Operator, backward: bool) -> Run:
    """The forward pass, or the backward pass through a graph that is kept."""
    inputs, constants = operator.data()
    inputs = [lib.from_numpy(array).requires_grad_() for array in inputs]
    forward = partial(operator.call, lib, *inputs, **{name: lib.from_numpy(a) for name, a in constants.items()})
    if not backward:
        return lambda: forward().detach()
    out = forward()
    cotangent = np.random.default_rng(1).standard_normal(tuple(out.shape)).astype(operator.dtype)
    cotangent = lib.from_numpy(np.asarray(cotangent))
    return lambda: lib.autograd.grad(out, inputs, cotangent, retain_graph=True)


def by_jax(lib: Any, *, operator: Operator, backward: bool) -> Run:
    """The same, each direction compiled: what the forward pass keeps goes from one to the other."""
    inputs, constants = operator.data()
    function = partial(operator.call, names_of(lib), **constants)
    given = list(map(lib.numpy.asarray, inputs))
    if not backward:
        compiled = lib.jit(function)
        return lambda: lib.block_until_ready(compiled(*given))
    out, pull = lib.jit(lambda *given: lib.vjp(function, *given))(*given)
    cotangent = np.random.default_rng(1).standard_normal(out.shape).astype(operator.dtype)
    compiled, cotangent = lib.jit(lambda pull, g: pull(g)), lib.numpy.asarray(cotangent)
    return lambda: lib.block_until_ready(compiled(pull, cotangent))


def row(operator: Operator, jax: bool = False) -> list[Case]:
    """Forward and backward of an operator, by JAX too if its names are there."""
    return [
        Case(
            name=f"op-{operator.name}-{operator.dtype}-{direction}",
            title=f"{operator.name}, {operator.dtype}, {direction}",
            build=both(one_direction, operator, direction == "backward")
            | ({"jax": partial(by_jax, operator=operator, backward=direction == "backward")} if jax else {}),
            rtol=1e-3,
        )
        for direction in ("forward", "backward")
    ]


TABLE = Table(
    name="operators",
    title="40 operators on 1e6 elements, forward and backward",
    rows=[row(operator, jax=True) for operator in OPERATORS],
    goal=GOAL,
    by_default=False,
)
