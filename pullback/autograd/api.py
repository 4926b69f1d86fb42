"""backward() and grad(): PyTorch's entry points to the engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, overload

from pullback.autograd.engine import accumulate, execution
from pullback.autograd.engine.roots import Cotangents, Tensors, roots_of, tensors_of
from pullback.autograd.engine.run import Box, Output, Roots
from pullback.autograd.gradient_edge import GradientEdge
from pullback.autograd.rows import batched_grads
from pullback.core import modes, slots
from pullback.core.arguments import a_flag
from pullback.core.array_face import faced_as, wrap_as
from pullback.core.array_type import TENSOR, array_type, leaving_gradient, memory_of
from pullback.core.cuts import WATCHED, frames_to_user, note_derivative
from pullback.core.errors import GradientError
from pullback.core.overrides import ask, taking_part
from pullback.core.tensor import Tensor, ndarray, set_requires_grad
from pullback.core.types import Gradient
from pullback.graph.node import Edge, Node, edge_to


def backward(
    tensors: Tensors,
    grad_tensors: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Cotangents = None,
    inputs: Tensors | Mapping[Any, Tensor | GradientEdge] | None = None,
    *,
    per_sample: bool = False,
) -> None:
    """Accumulate the gradients of `tensors` in the `.grad` of the leaves.

    Parameters
    ----------
    tensors : Tensor, GradientEdge or sequence of these
    grad_tensors : Tensor, None or sequence of these, optional
        The cotangent of each tensor; may be left out for a real tensor of one element (1 is used).
    retain_graph : bool, optional
        Keep the saved tensors for another backward. Default: the value of `create_graph`.
    create_graph : bool, default False
        Record the backward itself, so that it can be differentiated again. A warning says that `.grad` then holds a
        graph that leads to its leaf, and to prefer `autograd.grad`.
    grad_variables : optional
        The old name of `grad_tensors`, with a FutureWarning.
    inputs : Tensor, GradientEdge, or sequence or dict of these, optional
        Accumulate into these alone: leaves, the edges of leaves, or computed tensors, which get a `.grad` for once. At
        the edge of a computed tensor there is none to accumulate into: its hooks run, and that is all.
    per_sample : bool, default False
        Leave the gradient of each sample's loss in `.grad_sample` of the leaves, and `.grad` as it is. `tensors` hold
        the losses of the samples, of shape (samples,), or their sum. See the notes.

    Returns
    -------
    None

    Raises
    ------
    RuntimeError
        A tensor does not require grad, a cotangent is missing or does not fit, or the graph was released. With
        `per_sample`: a loss is neither a vector nor the sum of one, a `.grad_sample` is there already, or
        `create_graph` is asked for.

    Notes
    -----
    With `per_sample`, `p.grad_sample` has the shape (samples, *p.shape), and p.grad_sample[b] is the gradient of loss b
    by p: row b of the Jacobian of the losses, whatever they have in common. Their sum over b is what `backward()` of
    the sum of the losses adds to `p.grad`. A loss with more dimensions, (samples, ...), needs `grad_tensors` of
    its shape: that of sample b is then sum(grad_tensors[b] * tensors[b]).

    Where the operators take samples apart, this is one backward: up to the parameters cotangents are as large as
    ever, and a parameter's gradient is computed for each sample before it is summed. Where one mixes samples (a mean or
    a variance over the batch, say), or is not known not to, a warning names it, and there is one row of the Jacobian
    after another, some at a time: right too, but as slow as a backward for each sample. So it is where hooks or custom
    Functions see gradients, one at a time, as with `is_grads_batched` of `grad`.

    Examples
    --------
    >>> w = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> x, y = pb.tensor([[1.0, 0.0], [1.0, 1.0]]), pb.tensor([0.0, 1.0])
    >>> ((x @ w - y) ** 2).backward(per_sample=True)
    >>> w.grad_sample
    tensor([[2., 0.],
            [4., 4.]])
    """
    if retain_graph is not None and retain_graph is not False and retain_graph is not True:
        retain_graph = a_flag("backward", "retain_graph", retain_graph)  # type: ignore[unreachable]
    if create_graph is not False and create_graph is not True:
        create_graph = a_flag("backward", "create_graph", create_graph)  # type: ignore[unreachable]
    if grad_variables is not None:
        grad_tensors = _by_old_name(grad_tensors, grad_variables)
    inputs = _values(inputs)
    try:
        tensors, inputs = tensors_of(tensors, "tensors"), None if inputs is None else tensors_of(inputs, "inputs")
    except TypeError:
        if not taking_part((tensors, inputs)):
            raise
        flags = {"retain_graph": retain_graph, "create_graph": create_graph, "per_sample": per_sample}
        ask(backward, (tensors,), {"grad_tensors": grad_tensors, "inputs": inputs, **flags}, (tensors, inputs))
        return
    differentiated = modes.current().differentiated
    if differentiated and any(t._level and t._level in differentiated for t in tensors):
        raise GradientError(
            "backward() called inside a function that func.grad, or another transform, is differentiating: .grad would "
            "get values that the transform does not track. Take the inner gradient with pullback.func.grad or "
            "autograd.grad, which return it."
        )
    if per_sample is not False and per_sample is not True:
        per_sample = a_flag("backward", "per_sample", per_sample)  # type: ignore[unreachable]
    if per_sample:
        slots.per_sample_backward(tensors, grad_tensors, bool(retain_graph), create_graph, inputs)
        return
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak: x.grad holds the graph, which leads to x, and the memory of both "
            "is freed only when Python's garbage collector next looks for cycles. Take the gradient by "
            "pullback.autograd.grad(..., create_graph=True), or let go of it by x.grad = None.",
            stacklevel=frames_to_user(),
        )
    run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def run_backward(
    tensors: Tensors,
    grad_tensors: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: tuple[Tensor, ...] | None = None,
) -> None:
    """`backward` without its checks for transforms: the engine's internal entry, usable inside transforms too."""
    tensors = tensors_of(tensors, "tensors")
    roots, level = roots_of(tensors, grad_tensors, "grad_tensors", create_graph)
    if any(isinstance(g, Tensor) and g._level > level for _, g in roots):
        raise GradientError(
            "backward() would put gradients that a transform is differentiating into .grad, where they outlive it; use "
            "pullback.autograd.grad, which returns them."
        )
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        execution.execute(roots, level=level, keep_graph=keep, create_graph=create_graph)
        return
    edges = _edges_towards(inputs, "backward")
    towards: dict[Node, dict[int, Tensor]] = {edge.node(): {} for edge in edges}
    for tensor, edge in zip(inputs, edges, strict=True):
        if tensor.grad_fn is not None and not tensor.retains_grad:  # keeps its grad as if it were retained, this once
            towards[edge.node()][edge.output_nr] = tensor
    execution.execute(roots, level=level, keep_graph=keep, create_graph=create_graph, towards=towards)


@overload
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: Tensors,
    inputs: Mapping[Any, Tensor | GradientEdge],
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[Any, Tensor]: ...
def grad(
    outputs: Tensors,
    inputs: Tensors | Mapping[Any, Tensor | GradientEdge],
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, returned and not accumulated.

    Parameters
    ----------
    outputs : Tensor, GradientEdge or sequence of these
    inputs : Tensor, GradientEdge, or sequence or dict of these
    grad_outputs : Tensor, None or sequence of these, optional
        The cotangent of each output; may be left out for a real output of one element.
    retain_graph, create_graph : bool
        As for `backward`.
    only_inputs : bool, default True
        Without effect, as in PyTorch: False gives a FutureWarning.
    allow_unused : bool, default False
        Give None for an input that the outputs do not depend on, instead of an error.
    is_grads_batched : bool, default False
        Take the first dimension of each of `grad_outputs` as a batch, and give the gradients for every row, stacked in
        a first dimension. All rows go through the graph at once, as batched values of `func.vmap`. They go one after
        another where something on the way is written for one gradient: a hook, a custom Function (unless it says
        `generate_vmap_rule = True`: then its backward gets batched values), an operator without a rule for batches;
        and in anomaly mode, or under a profiler.
    materialize_grads : bool, default False
        Give zeros instead of None for such inputs.

    Returns
    -------
    tuple of Tensor
        One for each input, of its shape and dtype: conj(J)^T applied to the cotangent. For a dict of inputs a dict with
        the same keys.

    Raises
    ------
    RuntimeError
        An output does not require grad, an input is unused or requires none, a cotangent does not fit.
    ValueError
        Batches of cotangents differ in size, or `materialize_grads` contradicts `allow_unused`.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> (gradient,) = pb.autograd.grad((x**3).sum(), x)
    >>> gradient
    tensor([ 3., 12.])
    """
    if not (type(create_graph) is type(only_inputs) is type(is_grads_batched) is type(materialize_grads) is bool):
        create_graph = a_flag("grad", "create_graph", create_graph)  # type: ignore[unreachable]
        only_inputs = a_flag("grad", "only_inputs", only_inputs)
        is_grads_batched = a_flag("grad", "is_grads_batched", is_grads_batched)
        materialize_grads = a_flag("grad", "materialize_grads", materialize_grads)
    retain_graph, allow_unused = _maybe("retain_graph", retain_graph), _maybe("allow_unused", allow_unused)
    if not only_inputs:
        warnings.warn(
            "only_inputs=False is ignored: grad() returns gradients and accumulates none. Use autograd.backward to "
            "accumulate those of other tensors.",
            FutureWarning,
            stacklevel=2,
        )
    values = _values(inputs)
    keys = None if values is inputs else tuple(inputs)
    try:
        outputs, inputs = tensors_of(outputs, "outputs"), tensors_of(values, "inputs")
    except TypeError:
        if not taking_part((outputs, values)):
            raise
        flags = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
            "allow_unused": allow_unused, "is_grads_batched": is_grads_batched, "materialize_grads": materialize_grads,
        }  # fmt: skip
        return ask(grad, (outputs, inputs), flags, (outputs, values))
    # What a transform differentiates must not lose its history here: its own gradient would be zeros.
    create_graph = create_graph or is_differentiated(outputs)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False. "
            "materialize_grads=True gives zeros for unused inputs; leave allow_unused out."
        )
    if is_grads_batched:
        batches = batched_grads.checked(outputs, grad_outputs)
        options = retain_graph, create_graph, allow_unused, materialize_grads
        found = gradients_of_rows(outputs, inputs, batches, *options)
    else:
        found = gradients_of(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    return found if keys is None else dict(zip(keys, found, strict=True))


for _function in (backward, grad):
    _function.__module__, _function.__qualname__ = "pullback", f"autograd.{_function.__name__}"  # as a user calls it


def _values(inputs: Any) -> Any:
    """Those of a dict; what is no dict as it is."""
    return tuple(inputs.values()) if not isinstance(inputs, Tensor) and isinstance(inputs, Mapping) else inputs


def is_differentiated(tensors: Sequence[Tensor]) -> bool:
    """True if a transform is at present running the function in which these were computed, and records it."""
    state = modes.current()
    return bool(state.differentiated) and any(
        t._level in state.differentiated and state.records(t._level) for t in tensors
    )


def gradients_of(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients that `grad` returns, recorded if `create_graph`; usable inside transforms too."""
    if WATCHED:
        note_derivative(inputs)
    roots, level = roots_of(outputs, grad_outputs, "grad_outputs", create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    plain = keep and all(array_type(x._array).only_part(x._array) is not None for x in outputs)
    raws = _collect(roots, level, inputs, keep, create_graph, plain)
    results = []
    for i, tensor in enumerate(inputs):
        box, raws[i] = [raws[i]], None
        results.append(_finished(box, tensor, i, level, create_graph, allow_unused, materialize_grads))
    if create_graph:
        results = _apart(results, [*outputs, *inputs, *(g for _, g in roots)], level)
    return tuple(results)


def gradients_of_rows(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    batches: Sequence[Tensor],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize: bool = False,
) -> tuple[Any, ...]:
    """Return what `gradients_of` gives for every row of the cotangents, stacked."""
    keep = create_graph if retain_graph is None else retain_graph
    options = create_graph, allow_unused or materialize

    def gradients(row: list[Tensor], more: bool) -> tuple[Any, ...]:
        return gradients_of(outputs, inputs, row, keep or more, *options)

    found = batched_grads.in_one_pass(outputs, inputs, gradients, batches, keep, create_graph)
    level = max(x._level for x in outputs)
    if found is None:
        found = batched_grads.each(gradients, batches, create_graph, level)
    elif create_graph:
        found = tuple(_apart(list(found), [*outputs, *inputs, *batches], level))
    if not materialize:
        return found
    rows = batches[0].shape[0]
    return tuple(
        batched_grads.zeros(rows, x, create_graph) if g is None else g for g, x in zip(found, inputs, strict=True)
    )


def _collect(
    roots: Roots, level: int, inputs: Sequence[Tensor], keep: bool, create_graph: bool, plain: bool
) -> list[Gradient]:
    captures: dict[Output, int] = {}
    places = _edges_towards(inputs, "grad")
    for i, edge in enumerate(places):
        captures.setdefault((edge.node(), edge.output_nr), i)
    captured = execution.execute(
        roots,
        level=level,
        keep_graph=keep,
        create_graph=create_graph,
        captures=captures,
        numbers=plain,
    )
    keys = [captures[edge.node(), edge.output_nr] for edge in places]
    return [captured.get(key) for key in keys]


def _maybe(name: str, flag: Any) -> bool | None:
    """A flag that may be None."""
    return flag if flag is None or type(flag) is bool else a_flag("grad", name, flag)


def _edges_towards(inputs: Sequence[Tensor], function: str) -> list[Edge]:
    """The edges that lead to `inputs`; they hold AccumulateGrad nodes while the engine runs."""
    if not inputs:
        raise GradientError(f"`inputs` argument to `{function}()` cannot be empty.")
    for i, tensor in enumerate(inputs):
        if not tensor._requires_grad:
            raise GradientError(
                f"One of the differentiated Tensors does not require grad (inputs[{i}]). Call requires_grad_() on it "
                "before computing the outputs."
            )
    return [edge_to(tensor) for tensor in inputs]  # type: ignore[misc]  # none is None: they require grad


def _apart(results: list[Any], others: Sequence[Any], level: int) -> list[Any]:
    """Recorded gradients, cloned where they would share memory with each other or `others`, or repeat an element."""
    taken = [_owner(x) for x in others]
    before = modes.current()
    try:
        modes.set_modes(before.with_recording(True, level))
        for i, g in enumerate(results):
            if g is not None:
                array = memory_of(g)
                if any(_owner(g) is t for t in taken) or (array is not None and not array.flags.writeable):
                    results[i] = g = g.clone()
                taken.append(_owner(g))
    finally:
        modes.restore(before)
    return results


def _owner(x: Any) -> Any:
    """The array that owns the memory of a tensor."""
    array = memory_of(x)
    while type(array) is ndarray and type(array.base) is ndarray:
        array = array.base
    return array


def _finished(
    box: Box,
    tensor: Tensor,
    i: int,
    level: int,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> Tensor | None:
    """One gradient as a Tensor that shares memory with nobody."""
    if box[0] is None:
        if materialize:
            return set_requires_grad(TENSOR.zeros_like(tensor), create_graph)
        if not allow_unused:
            raise GradientError(
                f"One of the differentiated Tensors appears to not have been used in the graph (inputs[{i}], shape "
                f"{tensor.shape}). The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set "
                "allow_unused=True if this is the desired behavior; pullback.why_no_grad(output, input) says more."
            )
        return None
    if create_graph or (isinstance(box[0], Tensor) and box[0]._level > level):  # a cotangent of a higher level
        gradient = leaving_gradient(box[0])
        return faced_as(tensor, gradient) if isinstance(tensor, Tensor) else gradient  # type: ignore[no-any-return]
    return wrap_as(tensor, accumulate.owned(box), level)


def _by_old_name(grad_tensors: Cotangents, grad_variables: Cotangents) -> Cotangents:
    """`grad_tensors`, given by the old name; not by both."""
    warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
    if grad_tensors is not None:
        raise GradientError("`grad_tensors` and `grad_variables` (its old name) were both given; pass `grad_tensors`.")
    return grad_variables


def tensor_backward(
    self: Tensor,
    gradient: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
    *,
    per_sample: bool = False,
) -> None:
    """Accumulate the gradients of this tensor in the leaves; see `pullback.autograd.backward`.

    Parameters
    ----------
    gradient : Tensor, ndarray or number, optional
        The cotangent, of the shape of this tensor; 1 for a real tensor of one element.
    retain_graph, create_graph, inputs, per_sample
        As of `pullback.autograd.backward`.

    Returns
    -------
    None

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).backward(gradient=pb.tensor([1.0, 10.0]))
    >>> x.grad
    tensor([ 2., 40.])
    """
    data = self._array
    plain = (
        gradient is None and inputs is None and create_graph is False and self._extra is None and self._fn is not None
    ) and per_sample is False
    plain = plain and not self._level
    if plain and type(data) is ndarray and data.shape == () and data.dtype.kind == "f":  # a loss: nothing to check
        if retain_graph is not None and retain_graph is not False and retain_graph is not True:
            retain_graph = a_flag("backward", "retain_graph", retain_graph)  # type: ignore[unreachable]
        one = data.dtype.type(1)
        execution.execute([(self._fn, one)], level=self._level, keep_graph=bool(retain_graph))
        return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs, per_sample=per_sample)


__all__ = ["Node", "backward", "grad", "tensor_backward"]
