"""The checks that an OpInfo drives. Each takes the record and a dtype, and raises where the operator is wrong.

`check_operator` runs them all, for authors of operators elsewhere; `tests/ops/` runs them one by one.
"""

from pullback.core.errors import type_name
from pullback.testing.opinfo.calls import accepted, reference_result
from pullback.testing.opinfo.core import OpInfo
from pullback.testing.opinfo.derivative_checks import check_gradient, check_limit, check_second, check_tangent
from pullback.testing.opinfo.value_checks import check_error, check_forward, check_inplace, check_layouts, check_out

__all__ = [
    "check_error",
    "check_forward",
    "check_gradient",
    "check_inplace",
    "check_layouts",
    "check_limit",
    "check_operator",
    "check_out",
    "check_second",
    "check_tangent",
]


def check_operator(info: OpInfo) -> None:
    """Run every check of a record: values, layouts, writes, gradients, tangents, second derivatives, limits, errors.

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
    for dtype in info.dtypes:
        for check, name in (
            (check_forward, "forward"),
            (check_layouts, "layouts"),
            (check_inplace, "inplace"),
            (check_out, "out"),
        ):
            if info.skip(name, dtype) is None:
                check(info, dtype)
    for dtype in info.grad_dtypes or ():
        if info.order >= 1 and info.skip("gradient", dtype) is None:
            check_gradient(info, dtype)
        if info.order >= 1 and info.skip("tangent", dtype) is None:
            check_tangent(info, dtype)
        if info.order >= 2 and info.skip("second", dtype) is None:
            check_second(info, dtype)
    for limit in info.limits:
        check_limit(info, limit)
    for refusal in info.errors:
        check_error(info, refusal)


def _why_none(info: OpInfo) -> str:
    """Why the reference takes none of the samples, if there are any."""
    whys = [reference_result(info, sample)[1] for dtype in info.dtypes for sample in info.samples_for(dtype)]
    return f" that the reference takes ({whys[0]})" if whys else ""
