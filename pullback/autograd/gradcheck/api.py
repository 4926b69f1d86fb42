"""gradcheck and gradgradcheck."""

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
from pullback.core.factory import from_numpy
from pullback.core.named import named
from pullback.core.tensor import Tensor

__all__ = ["gradcheck", "gradgradcheck"]


@named("autograd.gradcheck", "callable func")
def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check gradients against central differences.

    Parameters
    ----------
    func : callable
        Takes the inputs, returns a Tensor or a tuple. Outputs that do not require grad are not looked at.
    inputs : Tensor, or sequence of Tensors and other arguments
        Those that require grad are checked; they should be float64 or complex128. They are perturbed in place, one
        element at a time, and are as before when gradcheck returns.
    eps : float
        Step of the differences.
    atol, rtol : float
        Analytical a and numerical n agree where |a - n| <= atol + rtol |n|.
    raise_exception : bool
        False: return False instead of raising GradcheckError.
    nondet_tol : float
        How far two runs of the same backward may differ.
    check_undefined_grad : bool
        Whether to check that undefined gradients of outputs act as zeros.
    check_grad_dtypes : bool
        Whether to check that gradients have the dtypes of the inputs.
    check_forward_ad : bool
        Whether to check forward mode too: Jacobians by dual tensors (or a custom Function's jvp) against the same
        differences. The inputs are handed over as duals, so that parameters read elsewhere do not move.
    check_backward_ad : bool
        Whether to check backward; one of the two must be.
    check_batched_grad, check_batched_forward_grad, masked : bool
        Not available; True is refused.
    fast_mode : bool
        Compare u^T J v for random u and v rather than J: 2 calls for each input and 2 backwards for each output, where
        slow mode takes as many for each number in them. A mismatch is looked at again in slow mode, for the report.

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    GradcheckError
        They do not. The message shows the worst entries and names the usual mistake that the numbers show, if they show
        one; see its attributes, and `Diagnosis`.
    ValueError
        No input requires grad, or there is nothing to check.
    RuntimeError
        Elements of an input share memory (an expanded tensor), or two inputs do.
    NotImplementedError
        An option that is not available.

    Notes
    -----
    For a complex input x = a + ib and a real coordinate L of the output the gradient is dL/da + i dL/db, twice the
    conjugate Wirtinger derivative, as in PyTorch. A complex output has two real coordinates, real and imaginary part.

    Central differences have an error of about eps**2 |f'''| / 6 + 1e-16 |f| / eps.

    Examples
    --------
    >>> x = pb.tensor([0.5, 1.5], requires_grad=True)
    >>> pb.autograd.gradcheck(lambda x: (x * x).sum(), x)
    True
    """
    _refuse_options(
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        masked=masked,
    )
    _check_switches(
        "gradcheck",
        raise_exception=raise_exception,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        fast_mode=fast_mode,
    )
    _check_sizes("gradcheck", eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol)
    if not check_backward_ad and not check_forward_ad:
        raise ValueError(
            "gradcheck: check_backward_ad=False and check_forward_ad=False leave nothing to check; set one of them."
        )
    problem = Problem(func, as_tuple(inputs), eps, atol, rtol, nondet_tol)
    checks = Checks(check_backward_ad, check_forward_ad, fast_mode, check_undefined_grad, check_grad_dtypes)
    return _checked(problem, raise_exception, checks)


@named("autograd.gradgradcheck", "callable func")
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    check_rev_over_fwd: bool = False,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: the gradients of the gradients, to the inputs and to the incoming gradients.

    Parameters
    ----------
    func, inputs
        As for gradcheck.
    grad_outputs : Tensor or sequence of Tensor, optional
        Gradients of the differentiable outputs; by default random ones that require grad.
    gen_non_contig_grad_outputs : bool
        Whether the random ones are strided.
    check_rev_over_rev, check_fwd_over_rev, check_rev_over_fwd : bool
        How to differentiate again: the backward by backward, the backward by forward mode, forward mode by backward
        (which PyTorch's gradgradcheck does not offer). One of them must be True.
    check_batched_grad, masked : bool
        Not available; True is refused.
    eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode
        As for gradcheck.

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    GradcheckError
        They do not. In the message, output k is the gradient of the k-th input that gets one, and the inputs are those
        of `func`, then the incoming gradients.
    ValueError, RuntimeError, NotImplementedError
        As gradcheck.

    Examples
    --------
    >>> x = pb.tensor([0.5, 1.5], requires_grad=True)
    >>> pb.autograd.gradgradcheck(lambda x: x * x * x, x)
    True
    """
    _refuse_options(check_batched_grad=check_batched_grad, masked=masked)
    _check_switches(
        "gradgradcheck",
        gen_non_contig_grad_outputs=gen_non_contig_grad_outputs,
        raise_exception=raise_exception,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_fwd_over_rev=check_fwd_over_rev,
        check_rev_over_rev=check_rev_over_rev,
        check_rev_over_fwd=check_rev_over_fwd,
        fast_mode=fast_mode,
    )
    _check_sizes("gradgradcheck", eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol)
    if not (check_rev_over_rev or check_fwd_over_rev or check_rev_over_fwd):
        raise ValueError(
            "gradgradcheck: nothing is left to check; set check_rev_over_rev, check_fwd_over_rev or check_rev_over_fwd."
        )
    arguments = as_tuple(inputs)
    first = Problem(func, arguments, eps, atol, rtol, nondet_tol)
    outputs = first.run()
    if not first.chosen:
        raise ValueError("gradgradcheck: no output of func requires grad, so there is no gradient to differentiate.")
    if grad_outputs is None:
        cotangents = tuple(_random_like(o, gen_non_contig_grad_outputs, seed) for seed, o in enumerate(outputs))
    else:
        cotangents = as_tuple(grad_outputs)
    if len(cotangents) != len(outputs):
        raise ValueError(f"gradgradcheck: {len(cotangents)} grad_outputs for {len(outputs)} differentiable outputs.")
    problem = Problem(_gradient_function(first, len(arguments)), arguments + cotangents, eps, atol, rtol, nondet_tol)
    problem.input_names = [f"argument {i}" for i in range(len(arguments))]
    problem.input_names += [f"grad_outputs[{k}]" for k in range(len(cotangents))]
    reached = grad(outputs, first.checked, cotangents, retain_graph=True, allow_unused=True)
    problem.output_names = [f"gradient of input {i}" for i, g in zip(first.wrt, reached, strict=True) if g is not None]
    checks = Checks(check_rev_over_rev, check_fwd_over_rev, fast_mode, check_undefined_grad, check_grad_dtypes)
    agree = _checked(problem, raise_exception, checks)
    if agree and check_rev_over_fwd:
        agree = _checked(_tangent_problem(first, arguments), raise_exception, checks._replace(back=True, forward=False))
    return agree


def _tangent_problem(first: Problem, arguments: tuple[Any, ...]) -> Problem:
    """The tangents of a function's outputs as a function of the inputs and their tangents."""
    tangents = tuple(_random_like(x, False, seed) for seed, x in enumerate(first.checked))
    function = _forward().jvp_function(first, len(arguments))
    problem = Problem(function, arguments + tangents, first.eps, first.atol, first.rtol, first.nondet_tol)
    problem.input_names = [f"argument {i}" for i in range(len(arguments))]
    problem.input_names += [f"tangent of argument {i}" for i in first.wrt]
    return problem


class Checks(NamedTuple):
    """Which checks to run, and how."""

    back: bool
    forward: bool
    fast: bool
    undefined: bool
    dtypes: bool


def _forward() -> Any:
    """The checks of forward mode, which bring arrays with tangents with them: loaded when they are asked for."""
    return import_module("pullback.autograd.gradcheck.forward")


def _checked(problem: Problem, raise_exception: bool, checks: Checks) -> bool:
    """Run the checks; a failure raises, or is False."""
    try:
        outputs = problem.run()
        if not outputs:
            raise ValueError(
                "gradcheck: no output of func is floating point or complex, so there is nothing to check: "
                "integers and bools have no derivative."
            )
        if checks.forward:
            _forward().check_forward(problem, outputs, checks.fast, checks.back)
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
        if checks.undefined:
            check_undefined(problem)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


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
        mismatch_message(problem, bad, findings) + (f"\n{BACKWARD_ALONE}" if checks.forward and of_rule else ""),
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


def _check_switches(function: str, **switches: Any) -> None:
    """Raise for what should be True or False and is neither."""
    for name, value in switches.items():
        if not isinstance(value, (bool, np.bool_, int)):
            raise TypeError(f"{function}: {name} must be True or False, got {value!r}.")


def _check_sizes(function: str, **sizes: Any) -> None:
    """Raise for a step that is no positive finite number, or a tolerance that is negative or nan."""
    for name, value in sizes.items():
        what = "a positive finite number" if name == "eps" else "a number that is not negative"
        if (
            isinstance(value, bool)
            or not issubclass(type(value), (int, float, np.number))
            or issubclass(type(value), complex)
        ):
            raise TypeError(f"{function}: {name} must be {what}, got {value!r}.")
        if not value >= 0 or (name == "eps" and value in (0, np.inf)):
            raise ValueError(f"{function}: {name} must be {what}, got {value!r}.")


def _refuse_options(**options: bool | None) -> None:
    """Raise for an option that would check what pullback does not have."""
    rows = "the gradients of a batch are computed row by row, which leaves nothing to compare the rows with"
    reasons = {
        "check_batched_grad": rows,
        "check_batched_forward_grad": rows,
        "masked": "it is about sparse layouts, and every tensor is dense",
    }
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"gradcheck: {name}=True is not available: {reasons[name]}. Leave it out.")
