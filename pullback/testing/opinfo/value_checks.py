"""Checks of values: against the reference, over memory layouts, in place, with out=, and refusals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.annotations import DTypeLike
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor, ndarray
from pullback.testing.close import assert_close
from pullback.testing.opinfo.calls import (
    LAYOUTS,
    REFUSALS,
    accepted,
    flat_tensors,
    function_of,
    headed,
    inplace_method,
    must_refuse,
    reference_result,
    relayout,
    require,
    result_and_grads,
    sampling,
    seeded,
    takes_out,
    to_arrays,
    to_reference,
    to_tensors,
    tolerance_of,
    twins,
)
from pullback.testing.opinfo.core import OpInfo, Raises, Sample, map_arrays

__all__ = [
    "check_aliases",
    "check_error",
    "check_error_inputs",
    "check_forward",
    "check_inplace",
    "check_layouts",
    "check_out",
]


def check_forward(info: OpInfo, dtype: DTypeLike) -> None:
    """Values, shape and dtype are the reference's, and no argument is changed."""
    function = function_of(info)
    pairs = twins(info, dtype)
    if info.reference_inputs is not None:
        pairs += list(zip(*(list(info.reference_inputs(info.make(dtype))) for _ in range(2)), strict=True))
    for sample, twin in pairs:
        with sampling(info, sample, dtype):
            args, kwargs = to_tensors((sample.args, sample.kwargs))
            expected, refused = reference_result(info, twin)
            seeded(info)
            if refused is not None:
                must_refuse(function, args, kwargs, refused)
                continue
            got = to_arrays(function(*args, **kwargs))
            if info.random and info.repeatable:
                got = map_arrays(np.copy, got)
                seeded(info)
                again = to_arrays(function(*args, **kwargs))
                assert_close(again, got, rtol=0, atol=0, equal_nan=True, msg=headed("under one seed"))
            if info.reference is not None and info.random:
                _assert_same_kind(got, expected)
            elif info.reference is not None:
                assert_close(got, expected, **tolerance_of(info, dtype), equal_nan=True, check_dtype=info.check_dtype)
            if info.name.endswith("_") and not info.name.endswith("__"):
                continue  # changes its first argument by name
            after, before = to_reference((sample.args, sample.kwargs)), to_reference((twin.args, twin.kwargs))
            _assert_unchanged(before, after)


def check_layouts(info: OpInfo, dtype: DTypeLike) -> None:
    """Strided, reversed, Fortran-ordered and offset inputs give what contiguous ones give, gradients included."""
    if info.random:
        return
    function = function_of(info)
    differentiable = info.differentiable(dtype)
    for sample in info.samples_for(dtype):
        with sampling(info, sample, dtype):
            try:
                expected = result_and_grads(function, *relayout(sample, np.ascontiguousarray), differentiable)
            except REFUSALS:
                continue  # check_forward sees to it that this is right
            for name, how in LAYOUTS.items():
                got = result_and_grads(function, *relayout(sample, how), differentiable)
                tolerance = tolerance_of(info, dtype)
                assert_close(got, expected, **tolerance, equal_nan=True, msg=headed(f"layout {name}"))


def check_inplace(info: OpInfo, dtype: DTypeLike) -> None:
    """`x.name_(...)` gives x the values of `name(x, ...)`, on a view its base too, and the same gradients."""
    method = inplace_method(info)
    if method is None or info.random:
        return
    function = function_of(info)
    for sample, twin in twins(info, dtype):
        if not (sample.args and isinstance(sample.args[0], np.ndarray)):
            continue
        with sampling(info, sample, dtype):
            args, kwargs = to_tensors((twin.args, twin.kwargs))
            try:
                expected = to_arrays(function(*args, **kwargs))
            except REFUSALS:
                continue
            x, *rest = sample.args
            rest, kwargs = to_tensors((tuple(rest), sample.kwargs))
            target = from_numpy(np.array(x))
            fits = expected.shape == x.shape and np.can_cast(expected.dtype, x.dtype, "same_kind")
            fits = fits or info.inplace == "view"
            if not fits:
                must_refuse(method, (target, *rest), kwargs, "the result does not fit into x")
                assert_close(target, np.asarray(x), rtol=0, atol=0, equal_nan=True)
                continue
            version = target._version
            require(method(target, *rest, **kwargs) is target, "an in-place method must return its tensor")
            require(target._version > version, "the version counter did not move")
            assert_close(target, expected.astype(x.dtype), **tolerance_of(info, dtype), equal_nan=True)
            if expected.dtype == x.dtype and info.differentiable(x.dtype):
                _check_inplace_gradient(info, function, method, sample)


def _check_inplace_gradient(
    info: OpInfo, function: Callable[..., Any], method: Callable[..., Tensor], sample: Sample
) -> None:
    """The gradient through `x.clone().name_()`, and through a view of a clone, is that of `name(x)`."""

    def on_clone(x: Tensor, *rest: Any, **kwargs: Any) -> Tensor:
        return method(x.clone(), *rest, **kwargs)

    def on_view(x: Tensor, *rest: Any, **kwargs: Any) -> Tensor:
        base = x.clone()
        view = base.view(x.shape)
        method(view, *rest, **kwargs)
        return view if info.inplace == "view" else base

    args = sample.args, sample.kwargs
    expected = result_and_grads(function, *args, True)
    for way in (on_clone, on_view):
        got = result_and_grads(way, *args, True)
        assert_close(got, expected, **tolerance_of(info, np.float64), equal_nan=True, msg=headed(way.__name__))


def check_out(info: OpInfo, dtype: DTypeLike) -> None:
    """`out=` receives the result and is returned; it is refused when a gradient would be lost."""
    if not takes_out(info) or info.random:
        return
    function = function_of(dataclasses.replace(info, observe=None))  # what comes back must be `out` itself
    for sample, twin in twins(info, dtype):
        with sampling(info, sample, dtype):
            args, kwargs = to_tensors((twin.args, twin.kwargs))
            try:
                expected = to_arrays(function(*args, **kwargs))
            except REFUSALS:
                continue
            args, kwargs = to_tensors((sample.args, sample.kwargs))
            single = isinstance(expected, np.ndarray)
            out = tuple(from_numpy(np.ones_like(e)) for e in ((expected,) if single else expected))
            got = function(*args, **kwargs, out=out[0] if single else out)
            same = all(g is o for g, o in zip((got,) if single else got, out, strict=True))
            require(same, "what comes back is not the tensor given as out=")
            assert_close(to_arrays(got), expected, **tolerance_of(info, dtype), equal_nan=True)
            args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
            if any(t.requires_grad for t in flat_tensors((args, kwargs))) and info.order >= 1:
                refusal = "out= does not support arguments that require grad"
                must_refuse(function, args, {**kwargs, "out": out[0] if single else out}, refusal)


def check_aliases(info: OpInfo, dtype: DTypeLike) -> None:
    """Each alias gives the results and gradients of the operator."""
    differentiable = info.differentiable(dtype)
    for alias in info.aliases:
        function = function_of(dataclasses.replace(info, name=alias, call=None))
        for sample in accepted(info, dtype):
            with sampling(info, sample, dtype):
                seeded(info)
                expected = result_and_grads(function_of(info), sample.args, sample.kwargs, differentiable)
                seeded(info)
                got = result_and_grads(function, sample.args, sample.kwargs, differentiable)
                assert_close(got, expected, rtol=0, atol=0, equal_nan=True, msg=headed(f"the alias {alias}"))


def check_error_inputs(info: OpInfo, dtype: DTypeLike) -> None:
    """The calls that `error_inputs` draws in that dtype are refused."""
    for refusal in () if info.error_inputs is None else info.error_inputs(info.make(dtype)):
        check_error(info, refusal)


def check_error(info: OpInfo, refusal: Raises) -> None:
    """The call is refused with the right error, in words that name what is wrong."""
    args, kwargs = to_tensors((refusal.args, refusal.kwargs))
    with sampling(info, refusal):
        try:
            function_of(info)(*args, **kwargs)
        except refusal.error as error:
            message = str(error)
        else:
            raise AssertionError(f"accepted, but {refusal.error} is due")
        missing = [text for text in refusal.naming if text not in message]
        require(not missing, f"the message lacks {missing}: {message}")


def _assert_same_kind(got: Any, expected: Any) -> None:
    """Shapes and dtypes agree."""
    pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
    for g, e in pairs:
        found, wanted = (g.shape, g.dtype), (np.shape(e), np.asarray(e).dtype)
        require(found == wanted, f"got shape and dtype {found}, expected {wanted}")


def _assert_unchanged(before: Any, after: Any) -> None:
    """The arguments are what they were."""
    arrays: tuple[list[ndarray], list[ndarray]] = ([], [])
    map_arrays(arrays[0].append, before)
    map_arrays(arrays[1].append, after)
    for a, b in zip(*arrays, strict=True):
        assert_close(b, a, rtol=0, atol=0, equal_nan=True, msg=headed("an argument was changed"))
