"""Between kernels, which take raw arrays by position, and functions as their authors write them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine.node_hooks import raw_of
from pullback.autograd.function.vmap import VmapInfo, results_and_dims, samples_first
from pullback.core import modes
from pullback.core.array_face import ARRAYS, as_array, as_tensor, wrap_array
from pullback.core.array_type import REGISTERED, SCALARS, is_array
from pullback.core.errors import GradientTypeError, InplaceError, with_article
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.library.annotations import Signature


class Face:
    """Shows raw arrays to a user's function as it wants them, Tensors or ndarrays, and takes them back.

    What is no ndarray, as of another transform, stands in Tensors of a level above all that are inside of it.
    """

    def __init__(self, arrays: bool | None, raws: Sequence[Any]) -> None:
        self.arrays = bool(arrays)
        self.level = max([modes.current().level, *(_depth(x) + 1 for x in spread(raws))])

    def show(self, x: Any, writable: bool = False) -> Any:
        """A raw array, or a list of them, for a user's function; anything else as it is."""
        if type(x) in (list, tuple):
            return [self.show(y) for y in x]
        if isinstance(x, Tensor):
            return as_array(x) if self.arrays else as_tensor(x)
        if type(x) is ndarray or type(x) in SCALARS:
            x = np.asarray(x)
            if not writable:
                x = x.view()
                x.flags.writeable = False
            return x if self.arrays else wrap(x, self.level)
        if type(x) in REGISTERED:
            return wrap_array(x, self.level) if self.arrays else wrap(x, self.level)
        return x

    def take(self, x: Any, called: str) -> Any:
        """The raw array of what a user's function has returned."""
        if isinstance(x, Tensor):
            return raw_of(as_tensor(x), self.level)
        if type(x) in SCALARS or is_array(x):
            return x
        raise GradientTypeError(f"{called} returned {with_article(x)} where an array is to be.")


def _depth(x: Any) -> int:
    return x._level if isinstance(x, Tensor) else -1


def spread(values: Sequence[Any]) -> Iterator[Any]:
    """The values, those in lists one by one."""
    for x in values:
        if type(x) in (list, tuple):
            yield from x
        else:
            yield x


def by_name(function: Callable[..., Any], signature: Signature, before: Sequence[Any], args: Sequence[Any]) -> Any:
    """`function(*before, *args)`, with those by keyword that the operator takes only so."""
    positional = [x for p, x in zip(signature.parameters, args, strict=True) if p.kind is not p.KEYWORD_ONLY]
    keywords = {p.name: x for p, x in zip(signature.parameters, args, strict=True) if p.kind is p.KEYWORD_ONLY}
    return function(*before, *positional, **keywords)


def kernel_of(fn: Callable[..., Any], signature: Signature, name: str) -> Callable[..., Any]:
    """The kernel that runs a user's function, on ndarrays; `replace(fn)` lets it run another one."""
    running = [functools.partial(_run, fn, signature, name)]

    def kernel(*args: Any) -> Any:
        return running[0](*args)

    def replace(other: Callable[..., Any]) -> None:
        running[0] = functools.partial(_run_bare, other, signature, name)

    kernel.replace = replace  # type: ignore[attr-defined]
    kernel.of = lambda other: functools.partial(_run_bare, other, signature, name)  # type: ignore[attr-defined]
    return kernel


def _run(fn: Callable[..., Any], signature: Signature, name: str, *args: Any) -> Any:
    face = Face(signature.arrays, args)
    arrays = {
        p.name for p, kind in zip(signature.parameters, signature.kinds, strict=True) if kind.startswith("Tensor")
    }
    shown = [
        face.show(x, p.name in signature.mutated) if p.name in arrays else list(x) if type(x) is tuple else x
        for p, x in zip(signature.parameters, args, strict=True)
    ]
    before = modes.set_modes(modes.current().with_recording(False, face.level))
    try:
        found = by_name(fn, signature, (), shown)
    except ValueError as error:
        if "read-only" in str(error):
            raise InplaceError(
                f"{name} writes into an array that it is given ({error}). Let it work on a copy, x = x.copy(), or "
                'declare that it changes its argument: mutates_args=("x",).'
            ) from error
        raise
    finally:
        modes.restore(before)
    return _checked(found, signature, name, args, face)


def _run_bare(fn: Callable[..., Any], signature: Signature, name: str, *args: Any) -> Any:
    return _checked(by_name(fn, signature, (), args), signature, name, args, Face(None, args))


def _checked(found: Any, signature: Signature, name: str, args: Sequence[Any], face: Face) -> Any:
    """Return what a user's function has given as a kernel gives it, after comparing it with the annotation."""
    if signature.mutated:
        if found is not None:
            raise TypeError(
                f"{name} writes into {', '.join(signature.mutated)} and is annotated -> None, but returned "
                f"{with_article(found)}. Remove the return."
            )
        return next(x for p, x in zip(signature.parameters, args, strict=True) if p.name in signature.mutated)
    if signature.outputs is None and not isinstance(found, (list, tuple)):
        raise TypeError(f"{name} is annotated to return a list of arrays, but returned {with_article(found)}.")
    if signature.outputs == 1:
        return _plain(found, name, face)
    if not isinstance(found, (list, tuple)) or signature.outputs not in (None, len(found)):
        what = f"{len(found)} results" if isinstance(found, (list, tuple)) else with_article(found)
        raise TypeError(f"{name} is annotated to return {signature.outputs} arrays, but returned {what}.")
    return [_plain(x, name, face) for x in found]


def _plain(x: Any, name: str, face: Face) -> Any:
    try:
        return face.take(x, name)
    except GradientTypeError:
        raise TypeError(f"{name} is annotated to return an array, but returned {with_article(x)}.") from None


def rule_of_batches(vmap: Callable[..., Any], signature: Signature, name: str) -> Callable[..., Any]:
    """The rule on batched arrays that runs a user's vmap."""
    from pullback.arrays.batched.array import BatchedArray

    def rule(batch: Any, *args: Any) -> Any:
        def is_batched(x: Any) -> bool:
            return type(x) is BatchedArray and x.batch is batch

        def dims(x: Any) -> Any:
            return (
                [dims(y) for y in x]
                if type(x) in (list, tuple) and any(map(is_batched, x))
                else 0
                if is_batched(x)
                else None
            )

        def values(x: Any) -> Any:
            return [values(y) for y in x] if type(x) in (list, tuple) else x.values if is_batched(x) else x

        inside = [values(x) for x in args]
        face = Face(signature.arrays, inside)
        tensors = [kind.startswith("Tensor") for kind in signature.kinds]
        shown = [face.show(x) if is_one else x for x, is_one in zip(inside, tensors, strict=True)]
        called = f"the vmap of {name}"
        found = by_name(vmap, signature, (VmapInfo(batch.size, "error"), tuple(map(dims, args))), shown)
        results, _ = results_and_dims(called, found)
        wanted = signature.outputs
        if wanted is not None and len(results) != wanted:
            raise TypeError(f"{called} returned {len(results)} results, but the operator has {wanted}.")
        given = [
            samples_first(called, x, dim, batch) if dim is not None else _for_each(x, batch.size) for x, dim in results
        ]
        raws = [face.take(x, called) for x in given]
        return raws[0] if wanted == 1 else tuple(raws)

    return rule


def _for_each(x: Any, size: int) -> Any:
    """Return what is the same for all samples, once for each."""
    x = x if isinstance(x, Tensor) else np.asarray(x)
    return (
        x.expand(size, *x.shape)
        if isinstance(x, Tensor) and type(x) not in ARRAYS
        else np.broadcast_to(x, (size, *x.shape))
    )
