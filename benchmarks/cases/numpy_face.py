"""NumPy's functions and methods on Tensors and Arrays, recorded: what they cost beside pullback's own functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Goal, Run, Table
from benchmarks.contenders import fastest

Call = Callable[[Any, Any], Any]
SIN_GOAL = 1.5  # of np.sin(t); what NumPy itself takes to ask a class that does nothing is 1.34

ON_TENSORS: dict[str, tuple[Call, Callable[[Any, Any, Any], Any]]] = {  # name: (by NumPy, by pullback)
    "sin": (lambda x, y: np.sin(x), lambda pb, x, y: pb.sin(x)),
    "multiply": (np.multiply, lambda pb, x, y: pb.mul(x, y)),
    "sum": (lambda x, y: np.sum(x, axis=0), lambda pb, x, y: pb.sum(x, 0)),
    "where": (lambda x, y: np.where(MASK, x, y), lambda pb, x, y: pb.where(MASK, x, y)),
}
ON_ARRAYS: dict[str, Call] = {
    "sin": lambda x, y: np.sin(x),
    "mul": lambda x, y: x * y,
    "mul-number": lambda x, y: x * 2.0,
    "slice": lambda x, y: x[1:],
    "sum-method": lambda x, y: x.sum(axis=0),
}
MASK = np.eye(3, dtype=bool)
WRITES = 200


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Two matrices."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((3, 3)), rng.uniform(0.5, 2.0, (3, 3))


def tensors(pb: Any) -> tuple[Any, Any]:
    """Two that require grad."""
    x, y = (pb.tensor(a, requires_grad=True) for a in numbers())
    return x, y


def by_numpy(pb: Any, *, call: Call) -> Run:
    """NumPy's function on Tensors."""
    return partial(call, *tensors(pb))


def by_operator(pb: Any, *, call: Callable[[Any, Any, Any], Any]) -> Run:
    """The same by pullback's own."""
    return partial(call, pb, *tensors(pb))


def on_arrays(pb: Any, *, call: Call) -> Run:
    """On Arrays, as a transform shows them to its function."""
    found: list[Any] = []

    def keep(x: Any, y: Any) -> Any:
        found.extend((x * 1.0, y * 1.0))
        return np.sum(x * y)

    pb.func.grad(keep, argnums=(0, 1))(*numbers())
    return partial(call, *found)


def filled(lib: Any, x: Any) -> Any:
    """The sum of a buffer that is filled element by element, each from the one before."""
    y = lib.zeros_like(x)
    y[0] = x[0]
    for i in range(1, WRITES):
        y[i] = lib.sin(x[i]) + 0.5 * y[i - 1]
    return y.sum()


def writes(pb: Any) -> Run:
    """Its gradient, of NumPy's code."""
    return partial(pb.func.grad(partial(filled, np)), np.linspace(0.1, 1.0, WRITES))


def writes_forward(pb: Any) -> Run:
    """Its tangent, of NumPy's code."""
    x = np.linspace(0.1, 1.0, WRITES)
    return lambda: pb.func.jvp(partial(filled, np), (x,), (np.ones(WRITES),))[1]


def stacked(lib: Any, x: Any) -> Any:
    """The same sum of a list, as it is written where a loop of writes is slow."""
    first, *others = x.unbind()
    y = [first]
    for one in others:
        y.append(lib.sin(one) + 0.5 * y[-1])
    return lib.stack(y).sum()


def on_tensors(lib: Any, *, function: Call) -> Run:
    """The gradient, of Tensors, whose elements are views."""
    x = lib.tensor(np.linspace(0.1, 1.0, WRITES), requires_grad=True)

    def run() -> Any:
        x.grad = None
        function(lib, x).backward()
        return x.grad

    return run


writes_on_tensors, list_of_tensors = (partial(on_tensors, function=function) for function in (filled, stacked))


TABLE = Table(
    name="numpy-face",
    title="NumPy's functions on Tensors beside pullback's own, and on Arrays; recorded, 3x3",
    rows=[
        [
            Case(
                f"numpy-{name}",
                f"np.{name} of Tensors",
                {"pullback": partial(by_numpy, call=numpys), "operators": partial(by_operator, call=own)},
                goals=[Goal(SIN_GOAL if name == "sin" else None, of="operators")],
            )
            for name, (numpys, own) in ON_TENSORS.items()
        ],
        [
            Case(f"array-{name}", f"{name} of Arrays", {"pullback": partial(on_arrays, call=call)})
            for name, call in ON_ARRAYS.items()
        ],
        [
            Case(
                "array-writes",
                f"gradient of a loop of {WRITES} element writes, beside it of Tensors (PyTorch: or of a list)",
                {
                    "pullback": writes,
                    "operators": writes_on_tensors,
                    "torch": fastest(writes_on_tensors, list_of_tensors),
                },
                per=WRITES,
                goals=[Goal(2.5), Goal(None, of="operators")],
            ),
            Case("array-writes-jvp", f"tangent of {WRITES} element writes", {"pullback": writes_forward}, per=WRITES),
        ],
    ],
)
