"""backward() and grad(): PyTorch's entry points to the engine."""

import numpy as np

from pullback.autograd import accumulate, engine
from pullback.core.dispatch import TENSOR
from pullback.core.errors import GradientError
from pullback.core.node import Node, port
from pullback.core.tensor import Tensor, ndarray, wrap


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate the gradients of `tensors` in the `.grad` of the leaves.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
    grad_tensors : Tensor, None or sequence of these, optional
        The cotangent of each tensor; may be left out for a real tensor of one element (1 is used).
    retain_graph : bool, optional
        Keep the saved tensors for another backward. Default: the value of `create_graph`.
    create_graph : bool, default False
        Record the backward itself, so that it can be differentiated again.
    inputs : Tensor or sequence of Tensor, optional
        Accumulate into these alone (leaves, or tensors that retain their grad).

    Raises
    ------
    RuntimeError
        A tensor does not require grad, a cotangent is missing or does not fit, or the graph was released.
    """
    tensors = _tuple_of_tensors(tensors, "tensors")
    roots, level = _roots(tensors, grad_tensors, "grad_tensors", create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        engine.execute(roots, level=level, keep_graph=keep, create_graph=create_graph)
        return
    inputs = _tuple_of_tensors(inputs, "inputs")
    if not inputs:
        raise GradientError("inputs argument to backward() cannot be empty.")
    raws = _collect(roots, level, inputs, keep, create_graph)
    run = engine.Run(level, [], keep, create_graph, None)
    for i, tensor in enumerate(inputs):
        box, raws[i] = [raws[i]], None
        if box[0] is not None:
            accumulate.add_to(run, tensor, box)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of `outputs` with respect to `inputs`, returned and not accumulated.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
    grad_outputs : Tensor, None or sequence of these, optional
        The cotangent of each output; may be left out for a real output of one element.
    retain_graph, create_graph : bool
        As for `backward`.
    allow_unused : bool, default False
        Give None for an input that the outputs do not depend on, instead of an error.
    materialize_grads : bool, default False
        Give zeros instead of None for such inputs.

    Returns
    -------
    tuple of Tensor
        One for each input, of its shape and dtype: conj(J)^T applied to the cotangent.

    Raises
    ------
    RuntimeError
        An output does not require grad, an input is unused or requires none, a cotangent does not fit.
    """
    if is_grads_batched:
        raise NotImplementedError(
            "grad(is_grads_batched=True) needs vmap, which this version lacks; loop over the batch of cotangents."
        )
    outputs = _tuple_of_tensors(outputs, "outputs")
    inputs = _tuple_of_tensors(inputs, "inputs")
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True gives zeros for unused inputs; leave allow_unused out.")
    roots, level = _roots(outputs, grad_outputs, "grad_outputs", create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    raws = _collect(roots, level, inputs, keep, create_graph)
    results = []
    for i, tensor in enumerate(inputs):
        box, raws[i] = [raws[i]], None
        results.append(_finished(box, tensor, i, level, create_graph, allow_unused, materialize_grads))
    return tuple(results)


def collect_raw(outputs, grads, inputs, level):
    """What `grad` returns, as raw arrays, for transforms: no checks but those of the engine; None where unused."""
    roots = [(port(out), g) for out, g in zip(outputs, grads, strict=True)]
    return _collect(roots, level, inputs, False, False)


def _collect(roots, level, inputs, keep, create_graph):
    captures, places = {}, []
    for i, tensor in enumerate(inputs):
        if not tensor._requires_grad:
            raise GradientError(
                f"One of the differentiated Tensors does not require grad (inputs[{i}]). Call requires_grad_() on it "
                "before computing the outputs."
            )
        edge = port(tensor)
        places.append(edge)  # holds AccumulateGrad nodes while the engine runs
        captures.setdefault((edge.node(), edge.output_nr), i)
    captured = engine.execute(roots, level=level, keep_graph=keep, create_graph=create_graph, captures=captures)
    keys = [captures[edge.node(), edge.output_nr] for edge in places]
    return [captured.get(key) for key in keys]


def _finished(box, tensor, i, level, create_graph, allow_unused, materialize):
    """One gradient as a Tensor that shares memory with nobody."""
    if box[0] is None:
        if materialize:
            return TENSOR.zeros_like(tensor)
        if not allow_unused:
            raise GradientError(
                f"One of the differentiated Tensors appears to not have been used in the graph (inputs[{i}], shape "
                f"{tensor.shape}). Set allow_unused=True if this is the desired behavior."
            )
        return None
    if create_graph:
        return box[0]
    return wrap(accumulate.owned(box), level)


def _tuple_of_tensors(value, name):
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, (list, tuple)):
        value = tuple(value)
        for i, x in enumerate(value):
            if not isinstance(x, Tensor):
                raise TypeError(f"{name}[{i}] must be a Tensor, got {type(x).__name__}.")
        return value
    raise TypeError(f"{name} must be a Tensor or a sequence of Tensors, got {type(value).__name__}.")


def _roots(tensors, grads, name, create_graph):
    """Pairs of edge and cotangent, checked, and the level at which they are."""
    if not tensors:
        raise GradientError("there is nothing to differentiate: the sequence of outputs is empty.")
    if grads is None:
        grads = (None,) * len(tensors)
    elif isinstance(grads, (Tensor, ndarray, np.generic, int, float, complex)):
        grads = (grads,)
    if len(grads) != len(tensors):
        raise GradientError(f"got {len(tensors)} tensors and {len(grads)} gradients in {name}.")
    level = max(t._level for t in tensors)
    roots = []
    for i, (tensor, given) in enumerate(zip(tensors, grads, strict=True)):
        edge = port(tensor)
        if edge is None or tensor._level != level:
            if given is None or len(tensors) == 1 or not any(t._requires_grad for t in tensors):
                raise GradientError(
                    f"element {i} of tensors does not require grad and does not have a grad_fn: nothing in it depends "
                    "on a tensor with requires_grad=True (or it was computed under no_grad)."
                )
            continue
        cotangent = _cotangent(tensor, given, i, name)
        if create_graph:
            cotangent = cotangent if cotangent._level == level else wrap(cotangent, level)
        else:
            cotangent = cotangent._data if cotangent._level == level else cotangent
        roots.append((edge, cotangent))
    return roots, level


def _cotangent(tensor, given, i, name):
    """The checked cotangent of one output as a Tensor of its dtype."""
    if given is None:
        if tensor.numel() != 1:
            raise GradientError(
                f"grad can be implicitly created only for scalar outputs, and output {i} has shape {tensor.shape}. "
                f"Reduce it first (for example .sum()), or pass its cotangent in {name}."
            )
        if tensor.is_complex():
            raise GradientError(
                f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}. Take the real "
                f"part or the absolute value first, or pass a cotangent in {name}."
            )
        return TENSOR.ones_like(tensor)
    if not isinstance(given, Tensor):
        if not isinstance(given, (ndarray, np.generic, int, float, complex)):
            raise TypeError(f"{name}[{i}] must be a Tensor, an ndarray or None, got {type(given).__name__}.")
        given = wrap(np.array(given), 0)
    if given.shape != tensor.shape:
        raise GradientError(
            f"Mismatch in shape: {name}[{i}] has a shape of {given.shape} and output[{i}] has a shape of {tensor.shape}."
        )
    if given.dtype != tensor.dtype:
        if given.dtype.kind == "c" and tensor.dtype.kind != "c":
            raise GradientError(
                f"For real outputs expected a real cotangent, but {name}[{i}] has dtype {given.dtype} and output[{i}] "
                f"{tensor.dtype}."
            )
        given = TENSOR.to(given, tensor.dtype)
    return given


def tensor_backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate the gradients of this tensor in the leaves; see `pullback.autograd.backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs)




__all__ = ["Node", "backward", "collect_raw", "grad", "tensor_backward"]
