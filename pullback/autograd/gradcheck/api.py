"""gradcheck and gradgradcheck. What they do is imported with the first call: most programs make none."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

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
        Whether to check that undefined gradients of outputs act as zeros; with check_forward_ad also that undefined
        tangents of inputs do, and that the tangents for several inputs are the sum of those for each.
    check_grad_dtypes : bool
        Whether to check that gradients have the dtypes of the inputs.
    check_forward_ad : bool
        Whether to check forward mode too: Jacobians by dual tensors (or a custom Function's jvp) against the same
        differences. The inputs are handed over as duals, so that parameters read elsewhere do not move.
    check_backward_ad : bool
        Whether to check backward; one of the two must be.
    check_batched_grad, check_batched_forward_grad : bool
        Whether to check that backward (forward mode) gives for a batch of cotangents (tangents), at once as under
        `func.vmap`, what it gives for each. They go with check_backward_ad and check_forward_ad.
    masked : bool
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
    _refuse_masked(masked)
    _check_switches(
        "gradcheck",
        raise_exception=raise_exception,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
        fast_mode=fast_mode,
    )
    _check_sizes("gradcheck", eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol)
    if not check_backward_ad and not check_forward_ad:
        raise _NothingToCheckError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True: gradcheck: "
            "check_backward_ad=False and check_forward_ad=False leave nothing to check; set one of them."
        )
    for name, wanted, needed, asked in (
        ("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad),
        ("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad),
    ):
        if wanted and not asked:
            raise ValueError(
                f"gradcheck: Setting {name}=True requires {needed} to be True: it compares that mode with itself. Set "
                f"{needed}=True, or leave {name} out."
            )
    steps = (eps, atol, rtol, nondet_tol)
    checks = (check_backward_ad, check_forward_ad, fast_mode, check_undefined_grad, check_grad_dtypes)
    batched = (check_batched_grad, check_batched_forward_grad)
    return _checks().check(func, inputs, steps, (*checks, *batched), raise_exception)  # type: ignore[no-any-return]


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
    check_batched_grad : bool
        As for gradcheck, of the gradients' backward.
    masked : bool
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
    _refuse_masked(masked)
    _check_switches(
        "gradgradcheck",
        gen_non_contig_grad_outputs=gen_non_contig_grad_outputs,
        raise_exception=raise_exception,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
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
    steps = (eps, atol, rtol, nondet_tol)
    checks = (check_rev_over_rev, check_fwd_over_rev, fast_mode, check_undefined_grad, check_grad_dtypes)
    batched = (check_batched_grad and check_rev_over_rev, False)
    strided, forward = gen_non_contig_grad_outputs, check_rev_over_fwd
    again = _checks().check_again
    return again(func, inputs, grad_outputs, strided, steps, (*checks, *batched), forward, raise_exception)  # type: ignore[no-any-return]


class _NothingToCheckError(ValueError, AssertionError):
    """A ValueError, and what PyTorch raises."""


def _checks() -> Any:
    return import_module("pullback.autograd.gradcheck.checks")


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


def _refuse_masked(masked: bool | None) -> None:
    """Raise for an option that would check what pullback does not have."""
    if masked:
        raise NotImplementedError(
            "gradcheck: masked=True is not available: it is about sparse layouts, and every tensor is dense. Leave it "
            "out."
        )
