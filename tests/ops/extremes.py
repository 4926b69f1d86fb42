"""Calls at the edge: operators given inf, nan and huge whole numbers, each under a limit of time and memory.

The samples of the OpInfo records are changed in one place at a time, functions of NumPy are called by their signatures.
`run` makes the calls in processes of their own, because what hangs in C answers no signal but the last one. As a script
it prints each call that took too long or ended its process: `extremes.py --seconds 10 --every 20` makes each 20th call.
"""

import argparse
import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import multiprocessing
import resource
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pullback
from pullback.autograd.api import grad
from pullback.autograd.forward_ad import dual_level, make_dual
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor
from pullback.interop.registry import FUNCTIONS, load_adapters, numpy_object
from pullback.ops.tables import OPERATORS
from pullback.testing.opinfo.calls import flat_tensors, function_of, seeded, to_tensors
from pullback.testing.opinfo.core import Input, OpInfo, Plain, Sample
from tests.opinfo.records import OPINFOS

MEMORY = 1 << 30  # bytes beyond what the process has when it starts
HUGE = (2**31, 2**40, 2**62, 2**63, 10**30, -(2**31), -(2**63))
ANY = object()  # the value of a parameter of unknown kind
WILD = (math.inf, -math.inf, math.nan, 1e300)


@dataclasses.dataclass(frozen=True)
class Call:
    """One call: what it is in words, the function, its arguments, whether to differentiate it, what comes before."""

    what: str
    function: Callable[..., Any]
    args: tuple
    kwargs: dict
    differentiable: bool = True
    before: Callable[[], None] = lambda: None


def calls_of(info: OpInfo) -> Iterator[Call]:
    """Every sample of a record with one number changed: an element of an array, a number, one in a list, a default."""
    function = info.call or function_of(info)
    seed = functools.partial(seeded, info)
    for nr, sample in enumerate(info.samples_for(info.dtypes[0])):
        tree = (sample.args, sample.kwargs)
        given = f"{info.full_name}: sample {nr}, {sample!r}"
        for path, leaf in _leaves(tree):
            for what, value in _wilder(leaf):
                args, kwargs = _put(tree, path, value)
                yield Call(f"{given}, at {path}: {what}", function, args, kwargs, info.order >= 1, seed)
        for name, default in _left_out(info, function, sample).items():
            for what, value in _wilder(default):
                args, kwargs = _put(tree, (), None)
                kwargs = {**kwargs, name: value}
                yield Call(f"{given}, {name}: {what}", function, args, kwargs, info.order >= 1, seed)


def _left_out(info: OpInfo, function: Callable[..., Any], sample: Sample) -> dict[str, Any]:
    """Parameters that a sample does not give, with a value of their kind."""
    found: dict[str, Any] = {}
    for form in [*(o.function for o in OPERATORS.get(info.name.replace(".", "_"), ())), function]:
        for parameter in _parameters(form)[len(sample.args) :]:
            if parameter.name not in sample.kwargs:
                default = parameter.default
                found[parameter.name] = ANY if default is None or default is parameter.empty else default
    return found


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


MATRIX, VECTOR = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]]).view(Input), np.array([1.0, 2, 3]).view(Input)
USUAL = (MATRIX, VECTOR, 2, np.array([0, 2, 1]), [MATRIX, MATRIX], (0, 1), 1.0, MATRIX > 2)


def calls_by_signature(function: Callable[..., Any], signature: Callable[..., Any]) -> Iterator[Call]:
    """Calls of a function of NumPy with usual arguments, one of them changed, or with one more."""
    parameters = _parameters(signature)
    required = [p for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    works = filter(functools.partial(_works, function), itertools.product(USUAL, repeat=len(required)))
    for args in itertools.islice(works, 4):
        given = f"np.{function.__name__}({', '.join(str(np.shape(a)) for a in args)})"
        for path, leaf in _leaves(args):
            for what, value in _wilder(leaf):
                yield Call(f"{given} at {path}: {what}", function, _put(args, path, value), {})
        for parameter in parameters[len(args) :]:
            default = parameter.default
            for what, value in _wilder(ANY if default is None or isinstance(default, (int, float)) else default):
                if not isinstance(default, bool):
                    yield Call(f"{given}, {parameter.name}: {what}", function, args, {parameter.name: value})


def _works(function: Callable[..., Any], args: tuple) -> bool:
    if not any(isinstance(leaf, Input) for _, leaf in _leaves(args)):
        return False  # without a Tensor it is NumPy's own
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*to_tensors(args))
        except Exception:  # noqa: BLE001 - whatever NumPy says of arguments that do not fit
            return False
    return True


def _leaves(tree: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
        for nr, value in enumerate(tree):
            yield from _leaves(value, (*path, nr))
    else:
        yield path, tree


def _put(tree: Any, path: tuple, value: Any) -> Any:
    """A copy of the tree with `value` at that path; arrays are copies."""
    if not path and not isinstance(tree, (dict, list, tuple)):
        return value
    if isinstance(tree, dict):
        return {k: _put(v, path[1:], value) if path[:1] == (k,) else _put(v, (), v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
        parts = [_put(v, path[1:], value) if path[:1] == (nr,) else _put(v, (), v) for nr, v in enumerate(tree)]
        return type(tree)(parts)
    return tree.copy() if isinstance(tree, np.ndarray) else tree


def _wilder(leaf: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(leaf, Plain):
        for what, array in _wilder(leaf.array):
            yield what, Plain(array)
    elif isinstance(leaf, np.ndarray):
        values = WILD if leaf.dtype.kind in "fc" else HUGE if leaf.dtype.kind in "iu" else ()
        for value in values:
            with contextlib.suppress(OverflowError, ValueError):
                one = leaf.copy()
                if one.size:
                    one.flat[one.size // 2] = value
                    yield f"{value} in one place", one
        for value in values[:1] + values[2:3]:
            with contextlib.suppress(OverflowError, ValueError):
                yield f"{value} everywhere", np.full_like(leaf, value)
    elif leaf is ANY:
        for value in (*HUGE, *WILD, (2**31,), (2**31, 2**31), (0, 2**31)):
            yield f"{value}", value
    elif isinstance(leaf, bool):
        return
    elif isinstance(leaf, int):
        for value in HUGE:
            yield f"{value} for {leaf}", value
    elif isinstance(leaf, float):
        for value in WILD:
            yield f"{value} for {leaf}", value


def make(call: Call) -> None:
    """The call, its backward and its forward derivative; errors are as good as results."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        call.before()
        with contextlib.suppress(Exception):
            args, kwargs = to_tensors((call.args, call.kwargs), requires_grad=call.differentiable)
            results = flat_tensors(call.function(*args, **kwargs))
            inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
            roots = [r for r in results if r.requires_grad]
            if roots and inputs:
                grad(roots, inputs, [from_numpy(np.ones(r.shape, r.dtype)) for r in roots], allow_unused=True)
        call.before()
        with contextlib.suppress(Exception), dual_level():
            if call.differentiable:
                args, kwargs = _dual(to_tensors((call.args, call.kwargs)))
                call.function(*args, **kwargs)


def _dual(tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return make_dual(tree, from_numpy(np.ones(tree.shape, tree.dtype))) if tree.dtype.kind in "fc" else tree
    if isinstance(tree, dict):
        return {k: _dual(v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
        return type(tree)(_dual(v) for v in tree)
    return tree


def run(calls: Iterable[Any], make: Callable[[Any], Any], limit: float) -> list[str]:
    """Make every call, in forked processes that are killed at the limit; what hung or died, in words."""
    calls, bad, begin = list(calls), [], 0
    context = multiprocessing.get_context("fork")
    while begin < len(calls):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_make_all, args=(calls, begin, make, there))
        child.start()
        there.close()
        done = begin - 1
        try:
            while done < len(calls) - 1 and here.poll(limit):
                done = here.recv()
        except EOFError:
            child.join()
            bad.append(f"{calls[done + 1]}: died ({child.exitcode})")
        else:
            if done < len(calls) - 1:
                bad.append(f"{calls[done + 1]}: over {limit} s")
        child.kill()
        child.join()
        begin = done + 2
    return bad


def _make_all(calls: list, begin: int, make: Callable, pipe: Any) -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    for nr in range(begin, len(calls)):
        make(calls[nr])
        pipe.send(nr)
    pipe.close()


def all_calls() -> Iterator[Call]:
    """Every call of a public operator, then of NumPy's functions."""
    for info in OPINFOS:
        if info.name not in OPERATORS or _is_public(info.name):
            yield from calls_of(info)
    load_adapters()
    for name, rule in FUNCTIONS.items():
        yield from calls_by_signature(numpy_object(name) if isinstance(name, str) else name, rule)


def _is_public(name: str) -> bool:
    return hasattr(pullback, name) or hasattr(Tensor, name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0, help="for one call, its backward and forward derivative")
    parser.add_argument("--every", type=int, default=1, help="make only each n-th call")
    options = parser.parse_args()
    for line in run(itertools.islice(all_calls(), 0, None, options.every), make, options.seconds):
        print(line)


if __name__ == "__main__":
    main()
