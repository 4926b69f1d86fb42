"""Maps: element by element, by the rules of `functions`."""

from __future__ import annotations

from typing import Any

from pullback.arrays.traced.graph import ONE, Step, Value
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.lowering import BOOL, FLOATS, RULES, Lowering

_BASIC: dict[str, Any] = {
    "add": lambda c, t, a, b: a + b, "sub": lambda c, t, a, b: a - b, "mul": lambda c, t, a, b: a * b,
    "div": lambda c, t, a, b: a / b, "neg": lambda c, t, a: -a, "pow": lambda c, t, a, b: a * a,
    "clone": lambda c, t, a: a,
    **{name: (lambda f: lambda c, t, a: f(c, a))(FUNCTIONS[name]) for name in ("sin", "cos", "exp", "log", "tanh", "sigmoid", "sqrt") if name in FUNCTIONS},
}  # fmt: skip


def _map(lowering: Lowering, step: Step) -> bool:
    if step.form is not ONE or not all(type(x) in (Value, int, float) for x in step.args):
        return False
    result = step.results[0]
    if result.dtype not in FLOATS or not all(x.dtype in FLOATS for x in step.values()):
        return False
    return lowering.gives(step, lowering.map(step.name, _BASIC[step.name], step.args, result))


RULES.update(dict.fromkeys(_BASIC, _map))
