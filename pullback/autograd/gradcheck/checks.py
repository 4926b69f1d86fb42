"""The checks of gradcheck and gradgradcheck, one after another."""

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from pullback.autograd.api import grad
from pullback.autograd.gradcheck.analytical import analytical_jacobians, check_dtypes
from pullback.autograd.gradcheck.compare import blocks_of, failing
from pullback.autograd.gradcheck.diagnose import diagnose
from pullback.autograd.gradcheck.error import GradcheckError
from pullback.autograd.gradcheck.fast import projections_agree
from pullback.autograd.gradcheck.numerical import numerical_jacobians
from pullback.autograd.gradcheck.problem import Problem, as_tuple, values_of
from pullback.autograd.gradcheck.report import mismatch_message
from pullback.autograd.gradcheck.sides import BACKWARD_ALONE, OF_THE_FUNCTION, backward_of, check_linear
from pullback.autograd.gradcheck.undefined import check_undefined, check_zero_cotangent
from pullback.core.cuts import frames_to_user
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor

Steps = tuple[float, float, float, float]  # eps, atol, rtol, nondet_tol


class Checks(NamedTuple):
    """Which checks to run, and how."""

    back: bool
    forward: bool
    fast: bool
    undefined: bool
    dtypes: bool
    batched: bool
    batched_forward: bool


def check(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    steps: Steps,
    checks: Sequence[bool],
    raise_exception: bool,
) -> bool:
    """Do what gradcheck does with arguments that are in order."""
    return _checked(Problem(func, as_tuple(inputs), *steps), raise_exception, Checks(*checks))


def check_again(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Any] | None,
    strided: bool,
    steps: Steps,
    checks: Sequence[bool],
    forward: bool,
    raise_exception: bool,
) -> bool:
    """Do what gradgradcheck does with arguments that are in order; `strided` and `forward` as its longer names say."""
    arguments = as_tuple(inputs)
    first = Problem(func, arguments, *steps)
    outputs = first.run()
    if not first.chosen:
        raise ValueError("gradgradcheck: no output of func requires grad, so there is no gradient to differentiate.")
    if grad_outputs is None:
        cotangents = tuple(_random_like(o, strided, seed) for seed, o in enumerate(outputs))
    else:
        cotangents = as_tuple(grad_outputs)
    if len(cotangents) != len(outputs):
        raise ValueError(f"gradgradcheck: {len(cotangents)} grad_outputs for {len(outputs)} differentiable outputs.")
    problem = Problem(_gradient_function(first, len(arguments)), arguments + cotangents, *steps)
    problem.input_names = [f"argument {i}" for i in range(len(arguments))]
    problem.input_names += [f"grad_outputs[{k}]" for k in range(len(cotangents))]
    reached = grad(outputs, first.checked, cotangents, retain_graph=True, allow_unused=True)
    problem.output_names = [f"gradient of input {i}" for i, g in zip(first.wrt, reached, strict=True) if g is not None]
    chosen = Checks(*checks)
    agree = _checked(problem, raise_exception, chosen)
    if agree and forward:
        agree = _checked(
            _tangent_problem(first, arguments),
            raise_exception,
            chosen._replace(back=True, forward=False, batched=False),
        )
    return agree


def _tangent_problem(first: Problem, arguments: tuple[Any, ...]) -> Problem:
    """The tangents of a function's outputs as a function of the inputs and their tangents."""
    tangents = tuple(_random_like(x, False, seed) for seed, x in enumerate(first.checked))
    function = _forward().jvp_function(first, len(arguments))
    problem = Problem(function, arguments + tangents, first.eps, first.atol, first.rtol, first.nondet_tol)
    problem.input_names = [f"argument {i}" for i in range(len(arguments))]
    problem.input_names += [f"tangent of argument {i}" for i in first.wrt]
    return problem


def _forward() -> Any:
    """The checks of forward mode, which bring arrays with tangents with them: loaded when they are asked for."""
    return import_module("pullback.autograd.gradcheck.forward")


def _batched() -> Any:
    """The checks of batched values, loaded when they are asked for, as these are."""
    return import_module("pullback.autograd.gradcheck.batched")


def _checked(problem: Problem, raise_exception: bool, checks: Checks) -> bool:
    """Run the checks; a failure raises, or is False."""
    try:
        outputs = problem.run()
        if not problem.layout:
            warnings.warn(
                "gradcheck: func returns an empty tuple, so nothing was checked; return what is to be differentiated.",
                stacklevel=frames_to_user(),
            )
            return True
        if not outputs:
            raise ValueError(
                "gradcheck: no output of func is floating point or complex, so there is nothing to check: "
                "integers and bools have no derivative."
            )
        if checks.forward:
            _check_forward(problem, outputs, checks)
        if not checks.back:
            return True
        if not checks.fast or not projections_agree(problem, outputs):
            _check_jacobians(problem, outputs, checks)
        if not problem.chosen:
            return True
        if checks.dtypes:
            check_dtypes(problem, outputs)
        check_zero_cotangent(problem, outputs)
        check_linear(backward_of(problem, outputs), False, problem.nondet_tol)
        if checks.batched:
            _batched().check_batched_cotangents(problem, outputs)
        if checks.undefined:
            check_undefined(problem)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_forward(problem: Problem, outputs: list[Tensor], checks: Checks) -> None:
    """Check forward mode; where both rules raise, let the backward's error out, as PyTorch does."""
    try:
        _forward().check_forward(problem, outputs, checks.fast, checks.back, checks.undefined)
    except GradcheckError:
        raise  # it has looked at the backward
    except Exception:
        if checks.back and problem.chosen:
            backward_of(problem, outputs)(1.0)
        raise
    if checks.batched_forward:
        _batched().check_batched_tangents(problem, outputs)


def _check_jacobians(problem: Problem, outputs: list[Tensor], checks: Checks) -> None:
    """Compare full Jacobians; a mismatch is reported with its diagnosis."""
    if problem.chosen:
        analytical, missing = analytical_jacobians(problem, outputs)
        numerical = numerical_jacobians(problem)
    else:
        numerical = numerical_jacobians(problem)  # must be zero: nothing here says otherwise
        analytical = [[np.zeros_like(n) for n in row] for row in numerical]
        missing = [[True for _ in row] for row in numerical]
    blocks = blocks_of(problem, outputs, numerical, analytical, missing)
    bad = failing(problem, blocks)
    if not bad:
        if checks.fast:
            check_linear(backward_of(problem, outputs), False, problem.nondet_tol)
            raise GradcheckError(
                "gradcheck: fast mode found a mismatch that slow mode does not: errors within the tolerance add up, or"
                " the function is not deterministic. Check with fast_mode=False."
            )
        return
    findings = diagnose(problem, blocks, bad, backward_of(problem, outputs) if problem.chosen else None)
    of_rule = not findings or findings[0][0].kind not in OF_THE_FUNCTION
    raise GradcheckError(
        ("" if problem.chosen else "Numerical gradient for function expected to be zero, as no output requires grad. ")
        + mismatch_message(problem, bad, findings)
        + (f"\n{BACKWARD_ALONE}" if checks.forward and of_rule else ""),
        input_index=bad[0].input_number,
        output_index=bad[0].output_number,
        numerical=bad[0].numerical,
        analytical=bad[0].analytical,
        diagnosis=findings[0][0] if findings else None,
        side="backward" if of_rule else None,
    )


def _gradient_function(first: Problem, count: int) -> Callable[..., tuple[Tensor, ...]]:
    """(inputs, cotangents) -> gradients of the inputs, with their graph; without those that are None."""

    def gradient(*arguments: Any) -> tuple[Tensor, ...]:
        wrt = [arguments[i] for i in first.wrt]
        for x in wrt:
            x.requires_grad_()  # the check of forward mode hands over what is in no graph
        outputs = as_tuple(first.func(*arguments[:count]))
        chosen = [outputs[k] for k in first.chosen]
        grads = grad(chosen, wrt, arguments[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradient


def _random_like(output: Tensor, strided: bool, seed: int) -> Tensor:
    """A random cotangent for an output, in [-1, 1), the same in every run."""
    values = values_of(output)
    rng = np.random.default_rng(seed)
    shape = (*values.shape[:-1], 2 * values.shape[-1]) if strided and values.ndim else values.shape
    cotangent = rng.uniform(-1, 1, shape)
    if values.dtype.kind == "c":
        cotangent = cotangent + 1j * rng.uniform(-1, 1, shape)
    cotangent = np.asarray(cotangent).astype(values.dtype)
    return from_numpy(cotangent[..., ::2] if strided and values.ndim else cotangent).requires_grad_()
