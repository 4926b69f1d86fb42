"""assert_close: two results agree to a tolerance that suits their dtype, or the report says where they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core.annotations import DTypeLike
from pullback.core.tensor import Tensor

__all__ = ["assert_close", "default_tolerance"]

# Relative and absolute tolerance by the coarser of the two dtypes: those of torch.testing.assert_close.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "longdouble": (1e-7, 1e-7),
    "clongdouble": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Parameters
    ----------
    actual, expected : Tensor, ndarray, number, or sequence or mapping of these
        Compared in shape, dtype (where `check_dtype`) and values. Numbers, and lists of numbers against an array,
        have no dtype.
    rtol, atol : float, optional
        Give both or none. By default those of the coarser dtype: float64 1e-7 and 1e-7, float32 1.3e-6 and 1e-5,
        float16 1e-3 and 1e-5, integers and bool 0 and 0.
    equal_nan : bool, default False
        Whether nan equals nan.
    check_dtype : bool, default True
    msg : str, or callable(str) -> str, optional
        The message to raise instead of the report, or a function that makes it from the report.

    Returns
    -------
    None

    Raises
    ------
    AssertionError
        Something differs. The report says how many elements do, and shows the worst of them.

    Examples
    --------
    >>> assert_close(pb.tensor([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"assert_close needs rtol and atol both, or neither; got rtol={rtol}, atol={atol}.")
    report = _difference(actual, expected, "", rtol, atol, equal_nan, check_dtype)
    if report:
        raise AssertionError(msg(report) if callable(msg) else msg or report)


def default_tolerance(*dtypes: DTypeLike) -> tuple[float, float]:
    """The tolerance of the coarsest of these dtypes."""
    pairs = [TOLERANCES.get(np.dtype(d).name, (0.0, 0.0)) for d in dtypes]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _difference(
    actual: Any, expected: Any, where: Any, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool
) -> str | None:
    """Describes the first difference; None if there is none."""
    options = (rtol, atol, equal_nan, check_dtype)
    if isinstance(expected, Mapping) or isinstance(actual, Mapping):
        if not (isinstance(actual, Mapping) and isinstance(expected, Mapping)) or set(actual) != set(expected):
            return f"{_at(where)}Keys differ: got {_kind(actual)}, expected {_kind(expected)}."
        pairs = [(f"{where}[{k!r}]", actual[k], expected[k]) for k in expected]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"{_at(where)}Got {_kind(actual)}, expected {_kind(expected)}."
        pairs = [(f"{where}[{i}]", a, e) for i, (a, e) in enumerate(zip(actual, expected, strict=True))]
    else:
        return _array_difference(actual, expected, where, *options)
    return next((d for at, a, e in pairs if (d := _difference(a, e, at, *options))), None)


def _array_difference(
    actual: Any, expected: Any, where: Any, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool
) -> str | None:
    """Describes the difference between two arrays or numbers; None if they agree."""
    a, e = _as_array(actual), _as_array(expected)
    if a.dtype.kind not in "biufc" or e.dtype.kind not in "biufc":
        return (
            None
            if type(actual) is type(expected) and actual == expected
            else f"{_at(where)}Got {actual!r}, expected {expected!r}."
        )
    if a.shape != e.shape:
        return f"{_at(where)}Shapes differ: got {a.shape}, expected {e.shape}."
    both_arrays = not any(_is_number(x) or _is_sequence(x) for x in (actual, expected))
    if check_dtype and both_arrays and a.dtype != e.dtype:
        return f"{_at(where)}Dtypes differ: got {a.dtype}, expected {e.dtype}."
    if rtol is None or atol is None:
        rtol, atol = default_tolerance(a.dtype, e.dtype)
    exact = rtol == atol == 0 and a.dtype.kind in "iub" and e.dtype.kind in "iub"
    left, right = _comparable(a, e)
    close = np.equal(a, e) if exact else np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return None if close.all() else _report(a, e, close, where, rtol, atol)


def _comparable(a: Any, e: Any) -> tuple[Any, Any]:
    """Both in a dtype in which a difference can be formed without wrapping or refusing."""
    if a.dtype.kind in "fc" or e.dtype.kind in "fc":
        return a, e
    return a.astype(np.float64), e.astype(np.float64)


def _report(a: Any, e: Any, close: Any, where: Any, rtol: float | None, atol: float | None) -> str:
    """How many elements differ, by how much, and the worst of them."""
    wide = np.complex128 if "c" in (a.dtype.kind, e.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        absolute = np.abs(a.astype(wide) - e.astype(wide))
        relative = absolute / np.abs(e.astype(wide))
    rank = np.where(close, -1.0, np.where(np.isnan(absolute), np.inf, absolute)).ravel()
    worst = [np.unravel_index(i, a.shape) for i in np.argsort(-rank, kind="stable")[: min(5, (~close).sum())]]
    rows = [("index", "actual", "expected", "absolute", "relative")]
    rows += [
        (str(tuple(int(i) for i in at)), str(a[at]), str(e[at]), f"{absolute[at]:.3g}", f"{relative[at]:.3g}")
        for at in worst
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    table = "\n".join("  " + "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    count = int((~close).sum())
    return (
        f"{_at(where)}{count} of {close.size} elements differ ({100 * count / close.size:.1f}%) by more than "
        f"atol={atol:g} + rtol={rtol:g} * |expected|. The worst:\n{table}"
    )


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    """The ndarray in a tensor, or of a number."""
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _kind(value: Any) -> str:
    """A name for a container in a report."""
    if isinstance(value, Mapping):
        return f"a mapping with the keys {sorted(map(str, value))}"
    return f"{type(value).__name__} of length {len(value)}" if _is_sequence(value) else type(value).__name__


def _at(where: str) -> str:
    return f"At item {where}: " if where else ""
