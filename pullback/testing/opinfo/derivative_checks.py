"""Checks of derivatives: against differences, and against known limits at delicate points."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from pullback.autograd.api import grad
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.core.annotations import DTypeLike
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor, ndarray
from pullback.graph.undifferentiable import DerivativeNotImplementedError
from pullback.testing.close import assert_close
from pullback.testing.opinfo.calls import (
    accepted,
    check_subsets,
    flat_tensors,
    function_of,
    headed,
    replaced,
    sampling,
    seeded,
    to_arrays,
    to_tensors,
)
from pullback.testing.opinfo.core import Limit, OpInfo, Plain, Sample

__all__ = ["check_gradient", "check_limit", "check_second", "check_tangent"]

_FORWARD = frozenset({"check_forward_ad", "check_batched_forward_grad"})
_BACKWARD = frozenset({"check_backward_ad", "check_batched_grad"})
FULL_JACOBIAN_UP_TO = 14  # numbers in the inputs; random projections beyond


def check_gradient(info: OpInfo, dtype: DTypeLike) -> None:
    """First derivatives agree with differences, and do not depend on which inputs require grad."""
    for sample in accepted(info, dtype):
        with sampling(info, sample, dtype):
            function, inputs = _of_inputs(info, sample)
            if inputs:
                usual = {"fast_mode": _is_large(inputs), "check_batched_grad": info.check_batched_grad}
                gradcheck(function, inputs, **_options(info, gradcheck, _FORWARD, **usual))
                _check_undefined(function, inputs)
                if np.dtype(dtype) == np.float64:
                    check_subsets(function, [to_arrays(x) for x in inputs])


def check_tangent(info: OpInfo, dtype: DTypeLike) -> None:
    """Tangents of forward mode agree with differences; what is declared `not_implemented` says so and has none.

    An operator that has no `result:` formula passes with a warning, which a `Skip` of this check keeps back.
    """
    forward = {"check_forward_ad": True, "check_backward_ad": False}
    for sample in accepted(info, dtype):
        with sampling(info, sample, dtype):
            function, inputs = _of_inputs(info, sample)
            if inputs:
                if not info.supports_forward_ad:
                    _check_refusal(info, function, inputs)
                    continue
                usual = {"fast_mode": _is_large(inputs), "check_batched_forward_grad": info.check_batched_forward_grad}
                options = _options(info, gradcheck, _BACKWARD, **usual)
                try:
                    gradcheck(function, inputs, **options | forward)
                except DerivativeNotImplementedError:
                    return
                except NotImplementedError as error:
                    why = str(error).partition("): ")[2] or str(error)
                    text = f"{info.full_name}: forward mode is not checked: {why} Or add Skip('tangent', because=...)."
                    warnings.warn(text, stacklevel=2)
                    return


def _check_refusal(info: OpInfo, function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    """Forward mode is refused, and gives no number that nobody looks at."""
    try:
        gradcheck(function, inputs, check_forward_ad=True, check_backward_ad=False, raise_exception=False)
    except NotImplementedError:
        return
    raise AssertionError(
        f"{info.full_name}: supports_forward_ad=False, but forward mode gives a tangent. Remove it, so that the "
        "tangent is checked."
    )


def check_second(info: OpInfo, dtype: DTypeLike) -> None:
    """Second derivatives agree with differences of first ones."""
    for sample in accepted(info, dtype):
        with sampling(info, sample, dtype):
            function, inputs = _of_inputs(info, sample)
            if inputs and any(o.requires_grad for o in flat_tensors(function(*inputs))):
                batched = info.check_batched_gradgrad
                options = _options(info, gradgradcheck, fast_mode=True, check_batched_grad=batched)
                gradgradcheck(function, inputs, **options)


def _is_large(inputs: tuple[Tensor, ...]) -> bool:
    return sum(t.numel() for t in inputs) > FULL_JACOBIAN_UP_TO


def _options(info: OpInfo, check: Callable[..., Any], without: frozenset[str] = frozenset(), **usual: Any) -> Any:
    """The arguments of the record for one of the checks, of those that it knows."""
    known = [inspect.signature(each).parameters for each in (check, gradcheck, gradgradcheck)]
    for name in info.gradcheck:
        if not any(name in parameters for parameters in known):
            raise TypeError(f"{info.full_name}: gradcheck={{{name!r}: ...}}, but gradcheck has no such argument.")
    return usual | {name: x for name, x in info.gradcheck.items() if name in known[0] and name not in without}


def _check_undefined(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    """Of several results, gradients that are undefined count as zero: all at once, or each result alone."""
    roots = [r for r in function(*inputs) if r.requires_grad]
    ones = [from_numpy(np.ones(r.shape, r.dtype)) for r in roots]
    if len(roots) < 2:
        return
    for root, cotangent in zip(roots, ones, strict=True):
        zeros = [c if r is root else c * 0 for r, c in zip(roots, ones, strict=True)]
        alone = grad([root], inputs, [cotangent], retain_graph=True, allow_unused=True)
        beside = grad(roots, inputs, zeros, retain_graph=True, allow_unused=True)
        for got, expected, x in zip(alone, beside, inputs, strict=True):
            pair = [np.zeros(x.shape, x.dtype) if g is None else to_arrays(g) for g in (got, expected)]
            words = "a result whose gradient is undefined, and one whose gradient is zero, give other gradients"
            assert_close(*pair, rtol=1e-6, atol=1e-9, equal_nan=True, msg=headed(words))


def check_limit(info: OpInfo, limit: Limit) -> None:
    """Value and derivatives at a delicate point are those given."""
    function = function_of(info)
    with sampling(info, limit):
        args = tuple(_limit_argument(a) for a in limit.at)
        inputs = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        seeded(info)
        results = flat_tensors(function(*args, **to_tensors(limit.kwargs)))
        compare = partial(assert_close, rtol=limit.rtol, atol=limit.atol, equal_nan=True, check_dtype=False)
        if limit.value is not None:
            value = to_arrays(results[0]) if len(results) == 1 else to_arrays(results)
            compare(value, limit.value, msg=headed("value"))
        for wanted, name in ((limit.grad, "gradient"), (limit.second, "second derivative")):
            roots = [r for r in results if r.requires_grad]
            if not roots or (wanted is None and limit.second is None):
                return
            ones = [from_numpy(np.ones_like(r.numpy(force=True))) for r in roots]
            more = name == "gradient" and limit.second is not None
            grads = grad(roots, inputs, ones, create_graph=more, retain_graph=True, allow_unused=True)
            if wanted is not None:
                got, expected = _numbers(limit, wanted, args, grads)
                compare(got, expected, msg=headed(name))
            results = [g for g in grads if g is not None]


def _numbers(
    limit: Limit, wanted: tuple[Any, ...], args: tuple[Any, ...], grads: Iterable[Tensor | None]
) -> tuple[ndarray, ndarray]:
    """Gradients and what they must be as two vectors, without those that are not to be looked at."""
    grads = iter(grads)
    got = []  # for each argument, the gradients of its numbers; nothing for those that take none
    for a in args:
        takes = isinstance(a, Tensor) and a.requires_grad
        g = next(grads) if takes else None
        got.append(np.ravel(np.zeros(a.shape) if g is None else to_arrays(g)) if takes else np.empty(0))
    numbers = np.concatenate(got)
    by_argument = len(wanted) == len(got) and all(w is None or g.size for g, w in zip(got, wanted, strict=True))
    expected = [w for g, w in zip(got, wanted, strict=True) for w in _spread(w, g.size)] if by_argument else wanted
    if len(expected) != numbers.size:
        raise ValueError(
            f"{limit}: give one gradient for each of the {len(args)} arguments (None where there is none), or one for "
            f"each of the {numbers.size} numbers in those that take one; got {len(wanted)}."
        )
    looked_at = [k for k, w in enumerate(expected) if w is not None]
    return numbers[looked_at], np.array([expected[k] for k in looked_at])


def _spread(wanted: Any, size: int) -> list[Any]:
    """Return what is wanted of each number of one argument."""
    return [wanted] * size if wanted is None else list(np.broadcast_to(np.ravel(wanted), (size,)))


def _of_inputs(info: OpInfo, sample: Sample) -> tuple[Callable[..., tuple[Tensor, ...]], tuple[Tensor, ...]]:
    """The operator as a function of its differentiable inputs alone, and these."""
    function = function_of(info)
    args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]

    def of_inputs(*values: Tensor) -> tuple[Tensor, ...]:
        seeded(info)
        new_args, new_kwargs = replaced((args, kwargs), inputs, values)
        return tuple(flat_tensors(function(*new_args, **new_kwargs)))

    return of_inputs, tuple(inputs)


def _limit_argument(value: Any) -> Any:
    """A number or array of a Limit as a tensor that requires grad; what is not numeric as it is."""
    if isinstance(value, Plain):
        return value.array
    if isinstance(value, (str, bool)) or value is None:
        return value
    array = np.array(value, dtype=None)
    if array.dtype.kind in "iu" and not isinstance(value, np.ndarray):
        array = array.astype(np.float64)
    tensor = from_numpy(array)
    return tensor.requires_grad_() if array.dtype.kind in "fc" else tensor
