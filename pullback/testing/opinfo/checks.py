"""The checks that an OpInfo drives. Each takes the record and a dtype, and raises where the operator is wrong.

`check_operator` runs them all, for authors of operators elsewhere; `tests/ops/` runs them one by one.
"""

from collections.abc import Callable, Iterator, Sequence

from pullback.core.annotations import DTypeLike
from pullback.core.errors import type_name
from pullback.testing.opinfo.batch_checks import check_vmap
from pullback.testing.opinfo.calls import accepted, reference_result
from pullback.testing.opinfo.core import OpInfo
from pullback.testing.opinfo.derivative_checks import check_gradient, check_limit, check_second, check_tangent
from pullback.testing.opinfo.precision_checks import check_backward
from pullback.testing.opinfo.tag_checks import check_tags
from pullback.testing.opinfo.value_checks import check_error, check_forward, check_inplace, check_layouts, check_out

__all__ = [
    "check_backward",
    "check_error",
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
    for name, check, order, dtypes in _plan(info):
        for dtype in dtypes:
            if info.order >= order and info.skip(name, dtype) is None:
                check(info, dtype)
    if info.skip("tags") is None:
        check_tags(info)
    for limit in info.limits:
        check_limit(info, limit)
    for refusal in info.errors:
        check_error(info, refusal)


def _plan(info: OpInfo) -> Iterator[tuple[str, Callable[[OpInfo, DTypeLike], None], int, Sequence[DTypeLike]]]:
    """Each check with its name, the derivatives that it is of, and the dtypes in which it runs."""
    differentiable = info.grad_dtypes or ()
    yield "forward", check_forward, 0, info.dtypes
    yield "layouts", check_layouts, 0, info.dtypes
    yield "inplace", check_inplace, 0, info.dtypes
    yield "out", check_out, 0, info.dtypes
    yield "vmap", check_vmap, 0, differentiable or info.dtypes[:1]
    yield "gradient", check_gradient, 1, differentiable
    yield "tangent", check_tangent, 1, differentiable
    yield "second", check_second, 2, differentiable
    yield "backward", check_backward, 1, info.backward_dtypes or ()


def _why_none(info: OpInfo) -> str:
    """Why the reference takes none of the samples, if there are any."""
    whys = [reference_result(info, sample)[1] for dtype in info.dtypes for sample in info.samples_for(dtype)]
    return f" that the reference takes ({whys[0]})" if whys else ""
