"""Calls of an operator under test: samples to tensors and ndarrays, results to ndarrays, layouts of memory."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np

from pullback.arrays.numpy.random.draws import manual_seed
from pullback.autograd.api import grad
from pullback.core import slots
from pullback.core.annotations import DTypeLike
from pullback.core.array_type import TENSOR
from pullback.core.factory import from_numpy
from pullback.core.pytree import tree_leaves, tree_map
from pullback.core.tensor import Tensor, ndarray
from pullback.ops.late import load_all
from pullback.ops.tables import OPERATORS
from pullback.testing.close import assert_close, default_tolerance
from pullback.testing.opinfo.core import Input, OpInfo, Plain, Sample, map_arrays

__all__ = [
    "LAYOUTS",
    "REFUSALS",
    "accepted",
    "check_subsets",
    "flat_tensors",
    "function_of",
    "headed",
    "inplace_method",
    "must_refuse",
    "reference_result",
    "relayout",
    "replaced",
    "require",
    "result_and_grads",
    "sampling",
    "seeded",
    "takes_out",
    "to_arrays",
    "to_reference",
    "to_tensors",
    "tolerance_of",
    "twins",
]

load_all()  # the operators are taken from the tables, where late ones would not be
REFUSALS = (TypeError, ValueError, RuntimeError, IndexError)  # what a user may expect for bad input


class Tolerance(TypedDict):
    """The two numbers of a comparison, as `assert_close` takes them."""

    rtol: float
    atol: float


def function_of(info: OpInfo) -> Callable[..., Any]:
    """Return what a user calls: the public function of that name, or else the Tensor method; results are `observe`d."""
    function = info.call or _public(info.name)
    observe = info.observe
    if observe is None:
        return function
    return lambda *args, **kwargs: observe(function(*args, **kwargs))


def _public(name: str) -> Callable[..., Any]:
    """pullback.<name>, or Tensor.<name>, or an internal operator."""
    *modules, leaf = name.split(".")
    # The public face is in a layer above this one, so it is asked for by name.
    said = f"OpInfo {name!r}: neither pullback.{name} nor Tensor.{leaf} exists, nor such an operator. "
    said += "For an operator of your own give call= too: OpInfo(name, reference, samples, call=mine.name)."
    try:
        module = slots.public_module(".".join(modules))
    except ModuleNotFoundError:
        raise AttributeError(said) from None
    for home in (module, Tensor, TENSOR):
        found: Callable[..., Any] | None = getattr(home, leaf, None)
        if callable(found):  # Tensor.mT is a property
            return found
    raise AttributeError(said)


def inplace_method(info: OpInfo) -> Callable[..., Any] | None:
    """The method `name_` of Tensor (or in-place form of an internal operator), when the operator has one."""
    found = getattr(Tensor, info.name.split(".")[-1] + "_", None)
    if found is None and info.name in OPERATORS:
        found = OPERATORS[info.name][0].inplace
    wanted = info.inplace if info.inplace is not None else found is not None and info.call is None
    if wanted and found is None:
        raise AttributeError(f"OpInfo {info.full_name!r} says inplace=True, but Tensor has no such method.")
    return found if wanted else None


def takes_out(info: OpInfo) -> bool:
    """True if the operator takes out=."""
    if info.out is not None:
        return info.out
    if info.call is not None:
        return False
    parameters = inspect.signature(_public(info.name)).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        return any(p.name == "out" for p in parameters)
    forms = [overload.function for overload in OPERATORS.get(info.name, ())]  # behind one function for all overloads
    return any("out" in inspect.signature(form).parameters for form in forms)


@contextlib.contextmanager
def sampling(info: OpInfo, sample: Any, dtype: DTypeLike = "") -> Iterator[None]:
    """Any error inside says for which operator, dtype and sample; NumPy's floating-point warnings are off."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        error.add_note(f"while checking {info.full_name}: {sample!r} {dtype}")
        raise


def seeded(info: OpInfo) -> None:
    """Fix the random state before a call of a random operator."""
    if info.random:
        manual_seed(0)


def require(condition: bool, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds (an `assert` would vanish under -O)."""
    if not condition:
        raise AssertionError(message)


def headed(words: str) -> Callable[[str], str]:
    """A function that makes a message from a report of `assert_close`: the words, then the report."""
    return lambda report: f"{words}: {report}"


def to_tensors(tree: Any, requires_grad: bool = False) -> Any:
    """Every ndarray as a Tensor over the same memory; with `requires_grad`, inputs require grad where they can."""

    def convert(x: ndarray | Plain) -> ndarray | Tensor:
        if isinstance(x, Plain):
            return x.array
        tensor = from_numpy(x.view(np.ndarray))
        return tensor.requires_grad_() if requires_grad and isinstance(x, Input) and x.dtype.kind in "fc" else tensor

    return map_arrays(convert, tree)


def to_reference(tree: Any) -> Any:
    """Every Input and Plain as a bare ndarray."""
    return map_arrays(lambda x: x.array if isinstance(x, Plain) else x.view(np.ndarray), tree)


def to_arrays(result: Any) -> Any:
    """A result with ndarrays in place of tensors."""
    if isinstance(result, Tensor):
        return result.numpy(force=True)
    if isinstance(result, (list, tuple)):
        return tuple(to_arrays(r) for r in result)
    return result


def flat_tensors(result: Any) -> list[Tensor]:
    """The tensors in a result or in arguments, in order."""
    return [x for x in tree_leaves(result) if isinstance(x, Tensor)]


def replaced(tree: Any, old: list[Tensor], new: Sequence[Any]) -> Any:
    """`tree` with each of the tensors `old` replaced by its counterpart in `new`."""
    return tree_map(lambda x: next((n for o, n in zip(old, new, strict=True) if o is x), x), tree)


def _every_second(array: ndarray) -> ndarray:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _backwards(array: ndarray) -> ndarray:
    return np.flip(np.ascontiguousarray(np.flip(array)))


def _misplaced(array: ndarray) -> ndarray:
    memory = np.zeros(array.size + 1, array.dtype)
    memory[1:] = array.ravel()
    return memory[1:].reshape(array.shape)


LAYOUTS: dict[str, Callable[[ndarray], ndarray]] = {
    "every_second": _every_second,
    "fortran": np.asfortranarray,
    "backwards": _backwards,
    "offset": _misplaced,
}


def relayout(sample: Sample, how: Callable[[ndarray], ndarray]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a sample with the same numbers in another layout; 0-d arrays stay."""

    def convert(x: ndarray | Plain) -> ndarray | Plain:
        if isinstance(x, Plain) or x.ndim == 0:
            return x
        moved = how(x.view(np.ndarray))
        return moved.view(Input) if isinstance(x, Input) else moved

    args, kwargs = map_arrays(convert, (sample.args, sample.kwargs))
    return args, kwargs


def twins(info: OpInfo, dtype: DTypeLike) -> list[tuple[Sample, Sample]]:
    """Each sample twice, in memory of its own."""
    return list(zip(info.samples_for(dtype), info.samples_for(dtype), strict=True))


def tolerance_of(info: OpInfo, dtype: DTypeLike) -> Tolerance:
    """rtol and atol of a comparison in that dtype."""
    rtol, atol = info.numbers or default_tolerance(dtype if np.dtype(dtype).kind in "fc" else np.float64)
    return {"rtol": rtol, "atol": atol}


def result_and_grads(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], differentiable: bool
) -> tuple[Any, ...]:
    """The result, and the gradients of a random functional of it, as ndarrays."""
    args, kwargs = to_tensors((args, kwargs), requires_grad=differentiable)
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
    results = function(*args, **kwargs)
    rng = np.random.default_rng(0)
    # Drawn for every result, so that they do not depend on which of them require grad.
    drawn = [(r, from_numpy(rng.standard_normal(r.shape).astype(r.dtype))) for r in flat_tensors(results)]
    pairs = [(r, cotangent) for r, cotangent in drawn if r.requires_grad]
    grads: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        roots, of_roots = zip(*pairs, strict=True)
        grads = grad(roots, inputs, of_roots, allow_unused=True)
    zeros = (np.zeros(x.shape, x.dtype) for x in inputs)
    return to_arrays(results), *(zero if g is None else to_arrays(g) for g, zero in zip(grads, zeros, strict=True))


def check_subsets(function: Callable[..., Any], arrays: Sequence[ndarray]) -> None:
    """The gradient of each of the arrays is the same, whichever others require grad: none, or all but one."""
    count = len(arrays)
    if count < 2:
        return
    every = tuple(range(count))
    alone, but_one = [(i,) for i in every], [(*every[:i], *every[i + 1 :]) for i in every]

    def gradients(chosen: tuple[int, ...]) -> tuple[Any, ...]:
        given = [x.copy().view(Input if i in chosen else np.ndarray) for i, x in enumerate(arrays)]
        return result_and_grads(function, tuple(given), {}, True)[1:]

    expected = gradients(every)
    for chosen in dict.fromkeys([*alone, *but_one]):
        for i, got in zip(chosen, gradients(chosen), strict=True):
            who = " and ".join(f"input {j}" for j in chosen) + (" requires" if len(chosen) == 1 else " require")
            words = (
                f"the gradient of input {i} is another when of the {count} inputs only {who} grad than when all do. "
                "Look at what the formula, or its helper, does with grad_input_mask (or ctx.needs_input_grad), "
                "and with what it saves for some inputs only"
            )
            assert_close(got, expected[i], rtol=1e-6, atol=1e-9, equal_nan=True, msg=headed(words))


def must_refuse(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> None:
    """Raise unless the call raises one of the errors that a user may expect."""
    with contextlib.suppress(*REFUSALS):
        result = function(*args, **kwargs)
        raise AssertionError(f"accepted and gave {result!r}, but {why}")


def reference_result(info: OpInfo, sample: Sample) -> tuple[Any, str | None]:
    """The reference's result, or in words why it refuses."""
    if info.reference is None:
        return None, None
    args, kwargs = to_reference((sample.args, sample.kwargs))
    try:
        return to_arrays(info.reference(*args, **kwargs)), None
    except (TypeError, ValueError, IndexError) as error:
        return None, f"the reference refuses it: {error}"


def accepted(info: OpInfo, dtype: DTypeLike) -> list[Sample]:
    """The samples that the reference does not refuse."""
    with np.errstate(all="ignore"):
        return [s for s, twin in twins(info, dtype) if reference_result(info, twin)[1] is None]
