"""Checks that an operator gives a batch, under vmap, what it gives each sample of it; its gradients too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pullback.autograd.api import grad
from pullback.core.annotations import DTypeLike
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor
from pullback.func.batching import vmap
from pullback.testing.close import assert_close
from pullback.testing.opinfo.calls import (
    REFUSALS,
    accepted,
    flat_tensors,
    function_of,
    headed,
    replaced,
    sampling,
    to_arrays,
    to_tensors,
    tolerance_of,
)
from pullback.testing.opinfo.core import OpInfo

__all__ = ["check_vmap"]


def check_vmap(info: OpInfo, dtype: DTypeLike, samples: int | None = None) -> None:
    """Under vmap, over a first and a last dimension, results and gradients are those of each sample.

    What vmap refuses, in an error, is not checked.
    """
    if info.random:
        return
    function = function_of(info)
    for sample in accepted(info, dtype)[:samples]:
        with sampling(info, sample, dtype), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"vmap.* (has no batching rule|runs on one sample)")
            args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
            inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]

            def of_inputs(*values: Any, args: Any = args, kwargs: Any = kwargs, inputs: Any = inputs) -> Any:
                new_args, new_kwargs = replaced((args, kwargs), inputs, values)
                return tuple(flat_tensors(function(*new_args, **new_kwargs)))

            if inputs:
                _check(info, dtype, of_inputs, [t.numpy(force=True) for t in inputs])


def _check(info: OpInfo, dtype: DTypeLike, function: Any, arrays: list[Any]) -> None:
    pair = (arrays, [np.flip(x) for x in arrays])  # the same numbers in other places lie in the domain too
    try:
        alone = [_with_gradients(function, values) for values in pair]
    except REFUSALS:
        return
    if len({tuple(np.shape(x) for x in found) for found in alone}) > 1:
        return  # the size of a result depends on numbers
    expected = [np.stack(found) for found in zip(*alone, strict=True)]
    for dim in (0, -1):
        stacked = [np.stack(both, dim) for both in zip(*pair, strict=True)]
        try:
            got = _with_gradients(lambda *values, dim=dim: vmap(function, dim)(*values), stacked)
        except RuntimeError:
            continue
        results = len(got) - len(arrays)
        got = [*got[:results], *(np.moveaxis(g, dim, 0) for g in got[results:])]
        assert_close(got, expected, **tolerance_of(info, dtype), equal_nan=True, msg=headed(f"vmap(in_dims={dim})"))


def _with_gradients(function: Any, arrays: list[Any]) -> list[Any]:
    """The results as ndarrays, and the gradient of their sum to each array."""
    inputs = [from_numpy(x.copy()).requires_grad_() for x in arrays]
    results = list(function(*inputs))
    roots = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
    ones = [from_numpy(np.ones(r.shape, r.dtype)) for r in roots]
    grads = grad(roots, inputs, ones, allow_unused=True) if roots else [None] * len(inputs)
    zeros = (np.zeros_like(x) for x in arrays)
    return [*map(to_arrays, results), *(z if g is None else to_arrays(g) for g, z in zip(grads, zeros, strict=True))]
