"""`strict=True`: refuses outputs that do not depend on an input; without it they get derivatives of zero."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.autograd.functional.arguments import Point
from pullback.core import cuts
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError
from pullback.core.tensor import Tensor

_REMEDY = "strict=True refuses that; leave strict out to get zeros."


def check_outputs(point: Point, outputs: Sequence[Tensor]) -> None:
    """Every output requires grad."""
    if not point.strict:
        if outputs and not any(map(point.requires_grad, outputs)):
            say_independent(point)
        return
    for i, output in enumerate(outputs):
        if not point.requires_grad(output):
            raise GradientError(
                f"Output {i} of the user-provided function does not require gradients: "
                f"output {i} of the function given to {point.name}() does not require grad: it is independent of every "
                f"input, or was detached on the way. {_REMEDY}"
            )


def say_independent(point: Point) -> None:
    """Warn that no output depends on any input, unless the outputs are themselves derivatives."""
    if not point.run.explained:
        names = [f"input {i}" for i in range(len(point.inputs.tensors))]
        cuts.warn(point.run, f"functional.{point.name}", point.function, names)


def check_gradient(point: Point, gradient: Sequence[Tensor | None], what: str) -> None:
    """`what` depends on every input, and its gradient on something: else there is no second derivative."""
    if not point.strict:
        return
    for i, g in enumerate(gradient):
        constant = f"The jacobian of the user-provided function with respect to input {i} is independent of the input"
        if g is None:
            hessian = point.name == "hessian"  # of which PyTorch says it of the Jacobian
            said = constant if hessian else f"The output of the user-provided function is independent of input {i}"
            raise independent(point, what, i, said)
        if not point.requires_grad(g):
            raise independent(point, f"the gradient with respect to input {i}", None, constant)


def independent(point: Point, what: str, i: int | None, said: str) -> GradientError:
    """The error of something that does not depend on input i (None: on any input); `said` is PyTorch's sentence."""
    which = "every input" if i is None else f"input {i}"
    return GradientError(f"{said}: {what} of the function given to {point.name}() is independent of {which}. {_REMEDY}")


def filled(
    point: Point, results: Sequence[Tensor | None], like: Sequence[Tensor], missing: str, constant: str
) -> list[Tensor]:
    """The results with zeros for None.

    In strict mode neither None nor, under create_graph, a result without history is accepted: `missing` and `constant`
    say of what each is a sign, with {} for the number.
    """
    for i in list(point.dropped):
        point.say_withheld(i)
    found = []
    for i, (result, x) in enumerate(zip(results, like, strict=True)):
        if point.strict and result is None:
            raise GradientError(
                f"The output of the user-provided function is independent of input {i}: {missing.format(i)} (in "
                f"{point.name}()). {_REMEDY}"
            )
        if point.strict and point.asks_for_graph and result is not None and not point.requires_grad(result):
            raise GradientError(
                f"The jacobian of the user-provided function is independent of input {i}: {constant.format(i)} (in "
                f"{point.name}() with create_graph=True), so that it has no derivative. {_REMEDY}"
            )
        found.append(TENSOR.zeros_like(x) if result is None else result)
    return found
