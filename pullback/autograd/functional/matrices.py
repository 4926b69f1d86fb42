"""jacobian and hessian: whole matrices of derivatives, row by row (column by column: see columns.py)."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.functional.arguments import Arrays, Bundle, Function, Point
from pullback.autograd.functional.strict import check_gradient, check_outputs, independent, say_independent
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, ReadError, UnsupportedError
from pullback.core.factory import from_numpy
from pullback.core.named import named
from pullback.core.tensor import Tensor

_STRATEGIES = ("reverse-mode", "forward-mode")


@named("autograd.functional.jacobian", "callable func")
def jacobian(
    func: Function,
    inputs: Arrays,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function: the derivative of every element of its outputs by every element of its inputs.

    Parameters
    ----------
    func : callable
        Takes the inputs as Tensors; returns a Tensor or a tuple of Tensors.
    inputs : Tensor, ndarray or float, or tuple of these; floating or complex
        Where to differentiate.
    create_graph : bool, default False
        Return a result that is itself differentiable, with respect to inputs that require grad and to what `func`
        captures.
    strict : bool, default False
        Raise where an output does not depend on an input, instead of giving zeros.
    vectorize : bool, default False
        Compute all rows of an output at once, by one backward of batched values: much faster, with more memory.
        Where hooks or custom Functions are on the way they are computed one after another all the same; see
        `is_grads_batched` in `pullback.autograd.grad`. In forward mode all columns are computed at once, by one call
        of `func` with batched tangents; one after another where an operator has no rule for batches. It cannot be
        combined with `strict`, and allows complex outputs.
    strategy : 'reverse-mode' or 'forward-mode', default 'reverse-mode'
        Whether rows are computed, by a backward for each element of the outputs, or columns, by a call of `func` with
        tangents for each element of the inputs: choose the fewer. Forward mode cannot be combined with `strict`.

    Returns
    -------
    Tensor, or tuple or tuple of tuples of Tensor
        `jacobian[i][j]` has the shape of output i followed by that of input j, and the dtype of input j (forward mode:
        of output i). Without the index i if `func` returns a single Tensor, and without j if `inputs` is not a tuple.

    Raises
    ------
    RuntimeError
        An input is of an integer dtype, an output is complex (but for `vectorize`), or `strict` refuses.
    TypeError
        An input is not an array, or `func` returned something other than Tensors.
    ValueError
        `strategy` is neither of the two.

    Notes
    -----
    In reverse mode `func` runs once; each element of its outputs then takes one backward through the same graph. A row
    is what `pullback.autograd.grad` gives: for complex inputs, the conjugate of the derivative. A column of forward
    mode is the derivative along a real direction.

    Examples
    --------
    >>> pb.autograd.functional.jacobian(lambda x: x**2, np.array([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    >>> pb.autograd.functional.jacobian(lambda x, y: (x * y).sum(), (np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    (tensor([3., 4.]), tensor([1., 2.]))
    """
    _check_options("jacobian", strategy, "strategy", strict=strict, vectorize=vectorize)
    point = Point("jacobian", inputs, create_graph=create_graph, strict=strict)
    with point.recording():
        if strategy == "forward-mode":
            found = _by_columns(point, lambda inputs: _some(point.evaluate(func, inputs)), vectorize)
            if not point.depends and any(x.numel() for x in point.inputs.tensors):
                say_independent(point)
            return found
        outputs = _some(point.evaluate(func))
        check_outputs(point, outputs.tensors)
        names = [f"output {i}" for i in range(len(outputs.tensors))]
        return _assembled(point, outputs, names, vectorize=vectorize)


@named("autograd.functional.hessian", "callable func")
def hessian(
    func: Function,
    inputs: Arrays,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: the Jacobian of its gradient.

    Parameters
    ----------
    func : callable
        Takes the inputs as Tensors; returns a Tensor of one element.
    inputs : Tensor, ndarray or float, or tuple of these; floating
    create_graph, strict, vectorize : bool, default False
        As for `jacobian`; strict also refuses a gradient that does not depend on the inputs (a linear function).
    outer_jacobian_strategy : 'reverse-mode' or 'forward-mode', default 'reverse-mode'
        How the gradient, itself always computed in reverse mode, is differentiated; see `jacobian`.

    Returns
    -------
    Tensor, or tuple of tuples of Tensor
        `hessian[i][j]` has the shape of input i followed by that of input j: a single Tensor if `inputs` is not a
        tuple.

    Raises
    ------
    RuntimeError, TypeError, ValueError
        As for `jacobian`, or `func` returned several Tensors or elements.

    Examples
    --------
    >>> pb.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, np.array([3.0, 5.0]))
    tensor([[ 0., 10.],
            [10.,  6.]])
    """
    _check_options("hessian", outer_jacobian_strategy, "outer_jacobian_strategy", strict=strict, vectorize=vectorize)
    point = Point("hessian", inputs, create_graph=create_graph, strict=strict)
    with point.recording():
        if outer_jacobian_strategy == "forward-mode":
            return _by_columns(
                point,
                lambda inputs: _gradient(point, func, inputs, recorded=point.create_graph),
                vectorize,
                lambda inputs: _gradient_further_in(point, func, inputs),
            )
        gradient = _gradient(point, func, point.inputs.tensors, recorded=True)
        names = [f"the gradient with respect to input {i}" for i in range(len(gradient.tensors))]
        return _assembled(point, gradient, names, vectorize=vectorize)


def _some(outputs: Bundle) -> Bundle:
    if not outputs.tensors:
        raise GradientError(
            "the function given to jacobian() returned an empty tuple: there is nothing to differentiate."
        )
    return outputs


def _gradient(point: Point, func: Function, inputs: Sequence[Tensor], *, recorded: bool) -> Bundle:
    """The gradient of a scalar function, in the nesting of the inputs."""
    output = point.evaluate_scalar(func, inputs)
    check_outputs(point, (output,))
    found = point.gradients((output,), inputs, create_graph=recorded)
    check_gradient(point, found, "the output")
    gradient = tuple(TENSOR.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))
    return Bundle(gradient, point.inputs.is_tuple)


def _gradient_further_in(point: Point, func: Function, inputs: tuple[Tensor, ...]) -> Bundle:
    """The same at a level of its own, for inputs of a level that has not recorded them."""
    inner = Point(point.name, inputs, create_graph=False, strict=False)
    with inner.recording():
        found = _gradient(inner, func, inner.inputs.tensors, recorded=False)
        return Bundle(tuple(inner.finished(found.tensors)), point.inputs.is_tuple)


def _by_columns(
    point: Point,
    compute: Callable[[tuple[Tensor, ...]], Bundle],
    vectorize: bool,
    for_all: Callable[[tuple[Tensor, ...]], Bundle] | None = None,
) -> Any:
    """The Jacobian of `compute` in forward mode; `for_all` computes the same of inputs with batched tangents."""
    # Imported when asked for, as arrays with tangents are.
    columns = importlib.import_module("pullback.autograd.functional.columns")
    if vectorize and any(x.numel() for x in point.inputs.tensors):
        with contextlib.suppress(UnsupportedError, ReadError):  # without a rule for batches: one after another
            return columns.assembled_at_once(point, for_all or compute)
    return columns.assembled(point, compute)


def _assembled(point: Point, outputs: Bundle, names: Sequence[str], *, vectorize: bool) -> Any:
    """The Jacobian in the nesting of outputs and inputs."""
    blocks = []
    for output, name in zip(outputs.tensors, names, strict=True):
        if output.is_complex() and not vectorize:
            raise GradientError(
                f"{name} of the function given to {point.name}() is complex ({output.dtype}), and only real numbers "
                "have a gradient. Return pullback.view_as_real(output), or pass vectorize=True for the conjugate "
                "derivative."
            )
        blocks.append(point.inputs.like_this(point.finished(_block_row(point, output, name, at_once=vectorize))))
    return outputs.like_this(blocks)


def _block_row(point: Point, output: Tensor, name: str, *, at_once: bool) -> list[Tensor]:
    """The Jacobian of one output by every input."""
    rows = _rows_at_once(point, output) if at_once and output.numel() else _row_by_row(point, output, name)
    for i, found in enumerate(rows):
        if found is None:
            point.say_withheld(i)
    shapes = [(*output.shape, *x.shape) for x in point.inputs.tensors]
    return [
        _zeros(x, shape) if found is None else TENSOR.reshape(found, shape)
        for found, shape, x in zip(rows, shapes, point.inputs.tensors, strict=True)
    ]


def _rows_at_once(point: Point, output: Tensor) -> Sequence[Tensor | None]:
    """The gradients of all elements of an output, stacked; None for an input to which none leads."""
    count = output.numel()
    (basis,) = _construct_standard_basis_for((output,), (count,))
    return point.gradients_of_rows(output, basis.reshape(count, *output.shape))


def _construct_standard_basis_for(tensors: Sequence[Tensor], numels: Sequence[int]) -> tuple[Tensor, ...]:
    """For each tensor its columns of the identity matrix over the elements of all, as in PyTorch."""
    size, starts = sum(numels), np.cumsum([0, *numels])
    pairs = zip(tensors, numels, starts, strict=False)
    return tuple(from_numpy(np.eye(size, n, -int(start), dtype=x.dtype)) for x, n, start in pairs)


def _row_by_row(point: Point, output: Tensor, name: str) -> Sequence[Tensor | None]:
    """The same, one after the other; None too where the output has no elements."""
    rows: list[list[Tensor]] = [[] for _ in point.inputs.tensors]
    undefined = [True for _ in rows]
    for j in range(output.numel()):
        row = _gradient_of_element(point, output, j)
        for i, (g, x) in enumerate(zip(row, point.inputs.tensors, strict=True)):
            if point.strict:
                _check_row(point, g, name, i)
            rows[i].append(TENSOR.zeros_like(x) if g is None else g)
            undefined[i] = undefined[i] and g is None
    return [None if nothing else TENSOR.stack(found) for found, nothing in zip(rows, undefined, strict=True)]


def _gradient_of_element(point: Point, output: Tensor, j: int) -> tuple[Tensor | None, ...]:
    unit = np.zeros(math.prod(output.shape), output.dtype)
    unit[j] = 1
    cotangent = from_numpy(unit.reshape(output.shape))
    return point.gradients(
        (output,), point.inputs.tensors, (cotangent,), create_graph=point.create_graph, retain_graph=True
    )


def _check_row(point: Point, row: Tensor | None, name: str, i: int) -> None:
    if row is None:
        said = f"{name[:1].upper()}{name[1:]} of the user-provided function is independent of input {i}"
        raise independent(point, name, i, said)
    if point.asks_for_graph and not point.requires_grad(row):
        said = f"The jacobian of the user-provided function is independent of input {i}"
        raise independent(point, f"the derivative of {name} with respect to input {i}", None, said)


def _zeros(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The block of an output that does not depend on `x`, or has no elements."""
    return from_numpy(np.zeros(shape, x.dtype))


def _check_options(name: str, strategy: str, argument: str, *, strict: bool, vectorize: bool) -> None:
    if strategy not in _STRATEGIES:
        raise ValueError(f"{argument} must be 'reverse-mode' or 'forward-mode', got {strategy!r}.")
    if strict and strategy == "forward-mode":
        raise GradientError(
            f"{name}() cannot combine strict=True with {argument}='forward-mode', which does not see what depends on "
            "what. Leave one of them out."
        )
    if strict and vectorize:
        raise GradientError(
            "`strict=True` and `vectorized=True` are not supported together: "
            f"{name}() cannot combine strict=True with vectorize=True: strict=True checks one row at a time. "
            "Leave one of them out."
        )
