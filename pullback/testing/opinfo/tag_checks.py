"""Checks of what the tags of an operator promise: on its kernel, and on the nodes that it records."""

from __future__ import annotations

import contextlib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from pullback.arrays.masks import marks
from pullback.arrays.numpy.random.draws import manual_seed
from pullback.core import modes
from pullback.core.annotations import DTypeLike
from pullback.core.array_type import NUMPY
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.operator import OPERATORS, Operator, parameters_of
from pullback.graph.saved import unpack_raw
from pullback.testing.close import assert_close
from pullback.testing.opinfo.calls import REFUSALS, flat_tensors, function_of, require, sampling, seeded, to_tensors
from pullback.testing.opinfo.core import OpInfo

__all__ = ["CHECKS", "check_node", "check_tags", "kernel_arguments", "kernel_calls", "nodes_of"]

MANY = 24  # elements of a cotangent whose slopes are looked at one by one
FEW_SAMPLES = 6  # of a record, whose nodes are looked at
STEP = 2.0**-12  # by which arguments are moved, where jumps are not meant
Args = Sequence[Any]


class _Noting(Observer):
    watches_kernels = True

    def __init__(self) -> None:
        self.calls: dict[str, list[list[Any]]] = defaultdict(list)

    def run_kernel(self, name: str, raws: Any, run: Callable[[], Any]) -> Any:
        """Note the arguments, unless they are refused."""
        args = list(raws)
        result = run()
        self.calls[name].append(args)
        return result


def kernel_calls(infos: Iterable[OpInfo], dtypes: Sequence[DTypeLike] | None = None) -> dict[str, list[list[Any]]]:
    """The raw arguments of every kernel call behind the samples of these records, by operator; default: all dtypes."""

    def run_all() -> None:
        for info in infos:
            for dtype in info.dtypes if dtypes is None else dtypes:
                for sample in info.samples_for(dtype):
                    seeded(info)
                    args, kwargs = to_tensors((sample.args, sample.kwargs))
                    with contextlib.suppress(*REFUSALS):  # a sample that is to be refused
                        function_of(info)(*args, **kwargs)

    return kernel_arguments(run_all)


def kernel_arguments(program: Callable[[], Any]) -> dict[str, list[list[Any]]]:
    """The raw arguments of every kernel call of a program, by operator."""
    noting = _Noting()
    before = modes.set_modes(modes.current().with_observer(noting))
    try:
        with np.errstate(all="ignore"):
            program()
    finally:
        modes.restore(before)
    return noting.calls


def check_tags(info: OpInfo, dtype: DTypeLike | None = None) -> None:
    """The operators behind a record, and their nodes, keep what their tags promise: in one dtype, or in all."""
    dtypes = info.dtypes if dtype is None else (np.dtype(dtype),)
    for name, calls in kernel_calls([info], dtypes).items():
        op = OPERATORS[name]
        promised = {*op.tags, *(["along"] if op.along is not None else [])}
        for check in (*ALWAYS, *(check for promise, check in CHECKS.items() if promise in promised)):
            for args in calls:
                with sampling(info, f"a call of {name}"):
                    check(op, args)
    rng = np.random.default_rng(0)
    for kind in [d for d in info.grad_dtypes or () if d in dtypes]:
        for sample in info.samples_for(kind)[:FEW_SAMPLES]:
            with sampling(info, sample, kind):
                try:
                    nodes = nodes_of(info, sample)
                except REFUSALS:
                    continue
                for node in nodes:
                    check_node(node, rng)


# -- on kernels --------------------------------------------------------------------------------------------------------
def run(op: Operator, args: Args, seed: int = 0) -> list[Any]:
    """The results of a kernel, as a list."""
    manual_seed(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the call itself has warned
        found = NUMPY.kernels[op.kernel](*args)
    found = found if isinstance(found, (list, tuple)) else [found]
    return [np.asarray(x) if isinstance(x, np.generic) else x for x in found]


def _arrays(op: Operator, args: Args) -> list[int]:
    """The positions of the arguments that are arrays."""
    return [position for position, _ in op.tensors if isinstance(args[position], ndarray)]


def _close(got: Any, expected: Any, words: str) -> None:
    assert_close(got, expected, rtol=1e-5, atol=1e-6, equal_nan=True, msg=lambda report: f"{words}: {report}")


def _replaced(args: Args, new: dict[int, Any]) -> list[Any]:
    return [new.get(position, x) for position, x in enumerate(args)]


def pointwise(op: Operator, args: Args) -> bool:
    """Whatever elements stand beside it, each gives the same element of the result."""
    positions = _arrays(op, args)
    if "random" in op.tags:
        return False  # each element has a number of its own
    shape = np.broadcast_shapes(*(args[position].shape for position in positions))
    results, size = run(op, args), int(np.prod(shape))
    for result in results:
        words = f"{op.name} is tagged pointwise, but its result has the shape {np.shape(result)} for {shape}"
        require(np.shape(result) == shape, words)
    if size < 2:
        return False
    flat = {position: np.broadcast_to(args[position], shape).ravel() for position in positions}
    order = np.random.default_rng(0).permutation(size)
    parts = [run(op, _replaced(args, {p: x[part] for p, x in flat.items()})) for part in np.array_split(order, 2)]
    for first, second, whole in zip(*parts, results, strict=True):
        words = f"{op.name} is tagged pointwise, but an element of its result depends on other elements"
        _close(np.concatenate([first, second]), whole.ravel()[order], words)
    return True


def cut(op: Operator, args: Args, positions: Sequence[int], axis: int, of_result: int | None = None) -> bool:
    """The results for two parts, put together, are those for the whole."""
    n = args[positions[0]].shape[axis]
    before = (slice(None),) * axis
    halves = (slice(n // 2), slice(n // 2, None))
    parts = [run(op, _replaced(args, {p: args[p][*before, part] for p in positions})) for part in halves]
    axis = axis if of_result is None else of_result
    for first, second, whole in zip(*parts, run(op, args), strict=True):
        words = f"{op.name} says by its tags, or `along`, that it may be cut, but slices depend on each other"
        _close(np.concatenate([first, second], axis), whole, words)
    return True


def combines(op: Operator, args: Args) -> bool:
    """The reduction of the reductions of two parts is that of the whole."""
    names, x, how = parameters_of(op), args[0], list(args)
    if x.ndim == 0 or x.shape[0] < 2 or x.size == 0:
        return False
    for name, value in (("dim", (0,)), ("keepdim", False)):
        if name in names:
            how[names.index(name)] = value
    (whole,), (first,), (second,) = (run(op, [part, *how[1:]]) for part in (x, x[:1], x[1:]))
    words = f"{op.name} is tagged combines, but does not combine the results of two parts to that of the whole"
    _close(run(op, [np.stack([first, second]), *how[1:]])[0], whole, words)
    return True


def along(op: Operator, args: Args) -> bool:
    """Any dimension but those that the argument names may be cut."""
    x, dims = args[0], args[parameters_of(op).index(op.along or "")]
    if dims is None or dims in ((), []):
        return False  # all of them
    whole = {d % x.ndim for d in ((dims,) if isinstance(dims, int) else dims)} if x.ndim else {0}
    arrays = [p for p in _arrays(op, args) if args[p].ndim == x.ndim]
    tried = False
    for axis in set(range(x.ndim)) - whole:
        if x.shape[axis] < 2 or any(args[p].shape[axis] != x.shape[axis] for p in arrays):
            continue
        gone = sum(d < axis for d in whole) if run(op, args)[0].ndim < x.ndim else 0
        tried = cut(op, args, arrays, axis, axis - gone)
    return tried


def matrices(op: Operator, args: Args) -> bool:
    """Each matrix of a batch is worked on alone."""
    arrays = _arrays(op, args)
    lead = [args[p].shape[: -1 if args[p].dtype.kind == "i" else -2] for p in arrays]  # whole numbers: pivots
    fits = args[0].ndim > 2 and args[0].shape[0] > 1 and 0 not in args[0].shape
    return fits and all(shape == lead[0] for shape in lead) and cut(op, args, arrays, 0)


def vectors(op: Operator, args: Args) -> bool:
    """Each row is worked on alone, after broadcasting."""
    arrays = _arrays(op, args)
    lead = np.broadcast_shapes(*(args[p].shape[:-1] for p in arrays))
    if any(args[p].ndim == 0 for p in arrays) or not lead or lead[0] < 2 or 0 in lead:
        return False
    whole = {p: np.broadcast_to(args[p], (*lead, args[p].shape[-1])) for p in arrays}
    return cut(op, _replaced(args, whole), arrays, 0)


def rows(op: Operator, args: Args) -> bool:
    """Each row of the first argument is worked on alone."""
    return args[0].ndim > 1 and args[0].shape[0] > 1 and cut(op, args, [0], 0)


def creation(op: Operator, args: Args) -> bool:
    """No number of an argument matters."""
    positions = _arrays(op, args)
    other = _replaced(args, {position: np.full_like(args[position], 3) for position in positions})
    for result, same in zip(run(op, args), run(op, other), strict=True):
        words = f"{op.name} is tagged creation, but looks at the numbers of its argument"
        require((result.shape, result.dtype) == (same.shape, same.dtype), words)
        if "empty" not in op.name:
            require(np.array_equal(result, same, equal_nan=True), words)
    return bool(positions)


def floating(op: Operator, args: Args) -> bool:
    """Results are floating-point numbers."""
    kinds = [result.dtype for result in run(op, args) if isinstance(result, ndarray)]
    words = f"{op.name} is tagged floating, but gives {', '.join(map(str, kinds))}"
    require(any(dtype.kind in "fc" for dtype in kinds), words)
    return True


def copying(op: Operator, args: Args) -> bool:
    """The thing that moves with the arguments is one of their elements."""
    if op.mutates:
        return False
    positions = [p for p in _arrays(op, args) if args[p].dtype.kind in "fc"]
    scaled = _replaced(args, {p: args[p] * args[p].dtype.type(1 + STEP) for p in positions})
    given = np.concatenate([args[p].ravel() for p in positions]) if positions else np.empty(0)
    for before, after in zip(run(op, args), run(op, scaled), strict=True):
        if before.dtype.kind not in "fc" or before.shape != after.shape:
            continue
        moved = before[before != after]
        words = f"{op.name} is tagged copying, but its result has numbers that are no element of an argument"
        require(bool(np.isin(moved[~np.isnan(moved)], given).all()), words)
    return bool(positions)


def structural(op: Operator, args: Args) -> bool:
    """The result is an affine function of the elements: what is added to the arguments is added to the result."""
    positions = [p for p in _arrays(op, args) if args[p].dtype in (np.float64, np.complex128)]
    if not positions or "masking" in op.tags:
        return False
    rng = np.random.default_rng(0)
    first, second = ({p: STEP * rng.standard_normal(args[p].shape) for p in positions} for _ in range(2))
    moves: tuple[dict[int, Any], ...] = ({}, first, second, {p: first[p] + second[p] for p in positions})
    found = [run(op, _replaced(args, {p: args[p] + move[p] for p in move})) for move in moves]
    for neither, one, other, both in zip(*found, strict=True):
        words = f"{op.name} is tagged structural, but does more than to take, place, repeat or add up elements"
        if neither.dtype in (np.float64, np.complex128) and np.isfinite(neither).all():
            _close((one - neither + other - neither) / STEP, (both - neither) / STEP, words)
    return True


def undifferentiated(op: Operator, args: Args) -> bool:
    """An operator that records nothing moves in jumps alone; so does an output that a third party's formulas omit."""
    flags = getattr(op.node, "differentiable_outputs", ()) if "." in op.kernel else ()
    positions = [p for p in _arrays(op, args) if args[p].dtype == np.float64 and args[p].size]
    ours = "." not in op.name and op.name.startswith("_")  # part of a composite, which cuts the graph on purpose
    recorded = op.record is not None and all(flags)
    if recorded or op.mutates or not positions or ours or op.tags & {"creation", "random"}:
        return False
    moved = _replaced(args, {p: args[p] * (1 + STEP) for p in positions})
    for nr, (before, after) in enumerate(zip(run(op, args), run(op, moved), strict=True)):
        if not isinstance(before, ndarray) or before.dtype != np.float64 or before.shape != after.shape:
            continue
        words = f"{op.name} records nothing (nondifferentiable), but its result moves with its arguments"
        if op.record is not None:
            if flags[nr]:
                continue
            name = op.multi._fields[nr]
            words = (
                f"{op.name}: no formula uses grad_{name}, so the output {name!r} has no gradient, but it moves with "
                f"the arguments. Use grad_{name} in the formulas, or write not_implemented for what nobody has derived"
            )
        slopes = np.abs(after - before) / (STEP * np.maximum(np.abs(before), 1e-3))
        require(not before.size or bool(np.mean((slopes > 1e-3) & (slopes < 1e3)) < 0.5), words)
    return True


def unwritten(op: Operator, args: Args) -> bool:
    """A kernel leaves its arguments as they are."""
    if op.mutates:
        return False
    positions = _arrays(op, args)
    given = {p: args[p].copy() for p in positions}
    run(op, _replaced(args, given))
    for p, x in given.items():
        words = f"the kernel of {op.name} writes into its argument {parameters_of(op)[p]!r}. Let it work on a copy"
        require(_same(x, args[p]), words)
    return bool(positions)


def _same(x: ndarray, y: ndarray) -> bool:
    return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def repeatable(op: Operator, args: Args) -> bool:
    """An operator that is not tagged random gives the same again."""
    if "random" in op.tags or "empty" in op.name or op.mutates:
        return False
    for first, again in zip(run(op, args), run(op, args, seed=1), strict=True):
        words = f"{op.name} gives other numbers for the same arguments, but is not tagged random"
        if isinstance(first, ndarray):
            require(np.array_equal(first, again, equal_nan=first.dtype.kind in "fc"), words)
    return True


# Of every operator, whatever its tags.
ALWAYS: Final = (unwritten, undifferentiated, repeatable)
# By tag (and `along`, a key): (operator, raw arguments of its kernel) -> whether these arguments tell anything.
CHECKS: Final = MappingProxyType({
    "pointwise": pointwise, "copying": copying, "floating": floating, "combines": combines, "along": along,
    "matrices": matrices, "vectors": vectors, "rows": rows, "creation": creation, "structural": structural,
})  # fmt: skip


# -- on nodes ----------------------------------------------------------------------------------------------------------
def nodes_of(info: OpInfo, sample: Any) -> Iterator[Any]:
    """Every node behind the results of a sample, inner nodes of writes into views too."""
    seeded(info)
    args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
    results = flat_tensors(function_of(info)(*args, **kwargs))
    found: list[Any] = []
    stack = [r.grad_fn for r in results if isinstance(r, Tensor) and r.grad_fn is not None]
    while stack:
        node = stack.pop()
        if node not in found:
            found.append(node)
            stack += [function for function, _ in node.next_functions if function is not None]
    return iter(found)


def check_node(node: Any, rng: np.random.Generator) -> None:
    """Check what the tags `structural`, `masking` and `pointwise` promise of the backward of one node."""
    with np.errstate(all="ignore"):
        if any(op.node is type(node) and "." in op.kernel for op in OPERATORS.values()):  # a third party's
            _check_unwritten(node)
        if node.structural:
            _check_structural(node, rng)
        elif node.pointwise:
            _check_pointwise(node, rng)


def _check_unwritten(node: Any) -> None:
    """A formula, or its helper, leaves the cotangents and what was saved as they are."""
    cotangents = [np.ones(of.shape, of.dtype) for of in node.input_metadata]
    saved: list[tuple[ndarray, ndarray]] = []

    def unpack(*args: Any) -> Any:
        x = unpack_raw(*args)
        if type(x) is ndarray:
            saved.append((x, x.copy()))
        return x

    node.apply(NUMPY, cotangents if node.outputs != 1 else cotangents[0], unpack)
    for what, pairs in (("the cotangent", [(x, np.ones_like(x)) for x in cotangents]), ("what was saved", saved)):
        words = f"the formula of {node.name()}, or its helper, writes into {what}. Let it work on a copy"
        require(all(_same(x, y) for x, y in pairs), words)


def _pulled(node: Any, masks: Sequence[ndarray]) -> list[ndarray | None]:
    """Where the node's gradients are touched, for masks of what is touched of its outputs."""
    forms = zip(masks, node.input_metadata, strict=True)
    numbers = [marks(mask, of.shape, 1 + 1j if of.dtype.kind == "c" else 1.0) for mask, of in forms]
    grads = node.pull_touched(NUMPY, numbers if node.outputs != 1 else numbers[0], unpack_raw)
    return [None if g is None else np.asarray(g) != 0 for g in grads]


def _places(node: Any, rng: np.random.Generator) -> list[tuple[int, tuple[int, ...]]]:
    """(output, place in it) of some elements that a node's cotangent has; whole numbers have none."""
    shapes = [(nr, of.shape) for nr, of in enumerate(node.input_metadata) if of.dtype.kind in "fc"]
    every = [(nr, place) for nr, shape in shapes for place in np.ndindex(*shape)]
    return [every[i] for i in sorted(rng.permutation(len(every))[:MANY])]


def _masks_at(node: Any, chosen: Iterable[tuple[int, tuple[int, ...]]]) -> list[ndarray]:
    masks = [np.zeros(of.shape, bool) for of in node.input_metadata]
    for nr, place in chosen:
        masks[nr][place] = True
    return masks


def _check_structural(node: Any, rng: np.random.Generator) -> None:
    """Several elements touch what each of them touches; without `masking`, all together touch everything."""
    every = _places(node, rng)
    alone: dict[Any, list[Any]] = {at: list(_pulled(node, _masks_at(node, [at]))) for at in every}
    for _ in range(3):
        chosen = [at for at in every if rng.random() < 0.5]
        if not chosen:
            continue
        for nr, touched in enumerate(_pulled(node, _masks_at(node, chosen))):
            if touched is not None:
                together = np.any([alone[at][nr] for at in chosen], axis=0)
                require(np.array_equal(touched, together), f"{node.name()}: touched parts cancel")
    if not node.masking and not hasattr(node, "fn"):
        for touched in _pulled(node, [np.ones(of.shape, bool) for of in node.input_metadata]):
            words = f"{node.name()} must be tagged masking: it keeps its cotangent away"
            require(touched is None or bool(touched.all()), words)


def _check_pointwise(node: Any, rng: np.random.Generator) -> None:
    """An element of the cotangent reaches its own place alone."""
    for nr, place in _places(node, rng)[:3]:
        cotangents = [np.ones(of.shape, of.dtype) for of in node.input_metadata]
        whole = node.apply(NUMPY, cotangents if node.outputs != 1 else cotangents[0], unpack_raw)
        cotangents[nr][place] = np.nan
        grads = node.apply(NUMPY, cotangents if node.outputs != 1 else cotangents[0], unpack_raw)
        for before, after in zip(whole, grads, strict=True):
            if after is None:
                continue
            require(after.shape == cotangents[nr].shape, f"{node.name()}: a gradient of another shape")
            elsewhere = np.ones(after.shape, bool)
            elsewhere[place] = False
            words = f"{node.name()}: an element of the cotangent reaches other places, in spite of the tag pointwise"
            require(np.array_equal(np.asarray(before)[elsewhere], np.asarray(after)[elsewhere], equal_nan=True), words)
