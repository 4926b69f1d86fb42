"""Slots: functions of upper layers that the core must call, which those layers register here.

Each layer fills its own when it is imported, and `pullback` itself those of the public face; until then each raises.
What is seldom called is entered as `late.calling(module, name)`: the module is imported by the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any, NoReturn


def _unfilled(*_: object) -> NoReturn:
    raise RuntimeError("pullback is not fully imported: use `import pullback`, not one of its inner modules alone.")


# (view) -> Node, OutputEdge or None: the function of a view whose base may have changed
refresh_view: Callable[..., Any] = _unfilled
# (node, grads) -> tuple of Tensors: run one node by hand
call_node: Callable[..., tuple[Any, ...]] = _unfilled
# (node, name) -> what the node saved under that name, as a user sees it
show_saved: Callable[..., Any] = _unfilled
# (node, name) -> what the node saved under that name, not unpacked, for hooks of its own
raw_saved: Callable[..., Any] = _unfilled
# (tensor): a computed tensor is about to lose its function or its memory; its views must keep theirs
part_from_views: Callable[..., None] = _unfilled
# (base, view): let the base find the view
remember_view: Callable[..., None] = _unfilled
# (name, function, args, kwargs, error, signature) -> the error of a call that failed, in terms of the call
explained_call: Callable[..., Exception] = _unfilled
# () -> the user's call that led here through another library: its name, library, file and line
call_site: Callable[[], Any] = _unfilled
# (error): tells, with an error that came out of a formula, which formula it was
formula_failed: Callable[[Exception], None] = _unfilled
# () -> (the tangent functions, the inputs that they ignore), both by operator: see dispatch.tangent_rules
tangents: Callable[[], Any] = _unfilled
# (operator, class) -> what runs it in the common case on Arrays or Scalars, or None: see ops.array_calls
array_call: Callable[..., Any] = _unfilled
# (function of NumPy or SciPy, rule) -> a block in which calls of the function on our tensors run the rule
replaced: Callable[..., Any] = _unfilled
# (error) -> error: that of another library about one of our tensors in our words, any other as it is
explain_foreign: Callable[[Exception], Exception] = _unfilled
# () -> a context manager in which `adopt()` is in force, or None where it is already
adopt_meanwhile: Callable[..., Any] = _unfilled
# () -> the names of NumPy's functions that take Tensors, "np.linalg.inv"
numpy_supported: Callable[[], Collection[str]] = _unfilled
# (): enter the rules of NumPy's functions into their registry
load_numpy_rules: Callable[[], None] = _unfilled
# (name of a function of SciPy): enter the rules of its area, if it has one
load_scipy_rules: Callable[[str], None] = _unfilled
# (name below `pullback`, "" for pullback itself) -> the public module, which is imported if need be
public_module: Callable[[str], ModuleType] = _unfilled
# (outputs, inputs) -> the graph between them, for backwards on batches: see autograd.rows.batched_pass
batched_graph: Callable[..., Any] = _unfilled
# (graph, gradients, batches, create_graph) -> the gradients for every row of the batches
batched_backward: Callable[..., Any] = _unfilled
# (tensors, grad_tensors, retain_graph, create_graph, inputs): accumulate gradients sample by sample
per_sample_backward: Callable[..., None] = _unfilled
# (boxes, arrows) -> a drawing that can be shown and saved: see viz.drawing.of_boxes
drawing: Callable[..., Any] = _unfilled
# (function of arrays, whether what it reads may change, its programs) -> it as a program: see compiler.callbacks
callback: Callable[..., Any] = _unfilled
# (value) -> the function or module of another library for which `adopt()` has put it, or the value itself
genuine: Callable[[Any], Any] = _unfilled
