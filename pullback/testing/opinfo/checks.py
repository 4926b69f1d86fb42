"""The checks that an OpInfo drives. Each takes the record and a dtype, and raises where the operator is wrong.

`check_operator` runs them all, for authors of operators elsewhere; `tests/ops/` runs them one by one.
"""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from pullback.core.annotations import DTypeLike
from pullback.core.errors import type_name
from pullback.testing.opinfo.batch_checks import check_vmap
from pullback.testing.opinfo.calls import (
    REFUSALS,
    accepted,
    function_of,
    reference_result,
    result_and_grads,
    sampling,
)
from pullback.testing.opinfo.core import OpInfo
from pullback.testing.opinfo.derivative_checks import check_gradient, check_limit, check_second, check_tangent
from pullback.testing.opinfo.precision_checks import check_backward
from pullback.testing.opinfo.tag_checks import check_tags
from pullback.testing.opinfo.value_checks import (
    check_aliases,
    check_error,
    check_error_inputs,
    check_forward,
    check_inplace,
    check_layouts,
    check_out,
)

Check: TypeAlias = Callable[[OpInfo, Any], None]

__all__ = [
    "check_aliases",
    "check_backward",
    "check_error",
    "check_error_inputs",
    "check_forward",
    "check_gradient",
    "check_inplace",
    "check_layouts",
    "check_limit",
    "check_operator",
    "check_out",
    "check_second",
    "check_tags",
    "check_tangent",
    "check_vmap",
]


def check_operator(info: OpInfo) -> None:
    """Run every check of a record: values, layouts, writes, tags, vmap, derivatives of each kind, limits, errors.

    Parameters
    ----------
    info : OpInfo

    Returns
    -------
    None

    Raises
    ------
    AssertionError, GradcheckError
        The operator is wrong; a note on the error names the sample.
    TypeError
        `info` is not an OpInfo.
    ValueError
        The record has no samples, or an `order` that is not 0, 1 or 2.

    Examples
    --------
    >>> from pullback.testing import OpInfo, Sample, check_operator
    >>> check_operator(OpInfo("exp", np.exp, lambda make: [Sample(make((3,)))]))
    """
    if not isinstance(info, OpInfo):
        raise TypeError(f"check_operator: give the OpInfo of the operator, not {type_name(info)}.")
    if info.order not in (0, 1, 2):
        raise ValueError(f"{info.name}: order={info.order!r} must be 0, 1 or 2: the derivatives that are checked.")
    if not any(True for dtype in info.dtypes for _ in accepted(info, dtype)):
        raise ValueError(f"{info.name}: `samples` gives none{_why_none(info)}, so nothing would be checked.")
    tried = info.complex is None and _takes_complex(info)
    if tried:
        info = dataclasses.replace(info, complex=True, grad_dtypes=None)
    for name, check, order, dtypes in _plan(info):
        for dtype in dtypes:
            if info.order >= order and info.skip(name, dtype) is None:
                try:
                    _run(info, name, check, dtype)
                except Exception as error:
                    if tried and dtype == np.complex128:
                        error.add_note(_WHY_COMPLEX)
                    raise


_WHY_COMPLEX = (
    "complex128 is tried because the operator takes it and the record names no dtypes. A formula that is right for "
    "real numbers may lack conj(...) around the slope. If the operator is for real numbers, write complex=False in the "
    "OpInfo."
)


def _takes_complex(info: OpInfo) -> bool:
    """True if an operator that is differentiable has complex results, and gradients, for complex samples."""
    samples = accepted(info, np.complex128) if info.order else []
    try:
        for sample in samples:
            with sampling(info, sample):
                results, *_ = result_and_grads(function_of(info), sample.args, sample.kwargs, True)
                kinds = {x.dtype.kind for x in (results if isinstance(results, tuple) else (results,))}
                if "c" not in kinds or "f" in kinds:
                    return False  # the real part of something, say, whose gradient is no conjugate of a slope
    except (*REFUSALS, AttributeError):
        return False
    return bool(samples)


def _run(info: OpInfo, name: str, check: Check, dtype: DTypeLike | None) -> None:
    """Run a check in its decorators."""

    @wraps(check)  # for this run alone: unittest's decorators leave marks on the function that they are given
    def decorated(info: OpInfo, dtype: Any) -> None:
        check(info, dtype)

    for decoration in info.decorators:
        if decoration.is_active(name, dtype):
            for decorator in decoration.decorators:
                decorated = decorator(decorated)
    try:
        decorated(info, dtype)
    except unittest.SkipTest:
        return
    except Exception:
        if not _is_to_fail(decorated):
            raise
    else:
        if _is_to_fail(decorated):
            of = "" if dtype is None else f" in {np.dtype(dtype)}"
            raise AssertionError(f"{info.full_name}: the check {name!r}{of} was expected to fail, but passes.")


def _is_to_fail(decorated: Any) -> bool:
    return getattr(decorated, "__unittest_expecting_failure__", False)


def _plan(info: OpInfo) -> Iterator[tuple[str, Check, int, Sequence[DTypeLike | None]]]:
    """Each check with its name, the derivatives that it is of, and the dtypes in which it runs."""
    differentiable = info.grad_dtypes or ()
    yield "tags", check_tags, 0, info.dtypes  # first: it names the kernel, or the formula, that writes
    yield "forward", check_forward, 0, info.dtypes
    yield "layouts", check_layouts, 0, info.dtypes
    yield "inplace", check_inplace, 0, info.dtypes
    yield "out", check_out, 0, info.dtypes
    yield "vmap", check_vmap, 0, differentiable or info.dtypes[:1]
    yield "gradient", check_gradient, 1, differentiable
    yield "tangent", check_tangent, 1, differentiable
    yield "second", check_second, 2, differentiable
    yield "backward", check_backward, 1, info.backward_dtypes or ()
    yield "aliases", check_aliases, 0, info.dtypes
    yield "errors", check_error_inputs, 0, info.dtypes
    yield "limits", _check_limits, 0, (None,)
    yield "errors", _check_errors, 0, (None,)


def _check_limits(info: OpInfo, _: DTypeLike | None) -> None:
    for limit in info.limits:
        check_limit(info, limit)


def _check_errors(info: OpInfo, _: DTypeLike | None) -> None:
    for refusal in info.errors:
        check_error(info, refusal)


def _why_none(info: OpInfo) -> str:
    """Why the reference takes none of the samples, if there are any."""
    whys = [reference_result(info, sample)[1] for dtype in info.dtypes for sample in info.samples_for(dtype)]
    return f" that the reference takes ({whys[0]})" if whys else ""
