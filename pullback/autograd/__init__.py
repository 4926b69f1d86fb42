"""Automatic differentiation of Tensors, under the names of torch.autograd.

`backward` and `grad` run the graph backward. `Function` is the base class of operations with a backward of your own,
and `gradcheck` compares their derivatives with finite differences. `forward_ad` computes derivatives forward, without a
graph.
"""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from pullback.autograd.anomaly.detection import detect_anomaly, set_detect_anomaly
from pullback.autograd.api import backward, grad
from pullback.autograd.api import tensor_backward as _tensor_backward
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.core import slots as _slots
from pullback.core.late import calling as _calling
from pullback.core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from pullback.core.tensor import Tensor as _Tensor
from pullback.explain.missing_names import missing_name as _missing_name
from pullback.ops.tables import PUBLIC as _HOMES

_tensor_backward.__name__, _tensor_backward.__qualname__ = "backward", "Tensor.backward"  # for Python's own errors
_Tensor.backward = _tensor_backward  # type: ignore[method-assign, assignment]
_slots.call_node = _calling(f"{__name__}.graph", "call_node")
_slots.show_saved = _calling(f"{__name__}.graph", "show_saved")
_slots.raw_saved = _calling(f"{__name__}.raw_saved", "raw_saved")
_slots.batched_graph = _calling(f"{__name__}.rows.batched_pass", "Graph")
_slots.batched_backward = _calling(f"{__name__}.rows.batched_pass", "in_one")
_slots.per_sample_backward = _calling(f"{__name__}.rows.per_sample", "backward")

__all__ = [
    "Function",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "trace_nans",
    "variable",
]

# Imported when first used, which most programs never do: modules, and names with the module that each is in.
_LATER = ("anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph", "profiler", "variable")
_LATER_FROM = {
    "Function": "function", "Variable": "variable", "is_multithreading_enabled": "grad_mode",
    "set_multithreading_enabled": "grad_mode", "trace_nans": "anomaly.nan_tracing",
}  # fmt: skip


if _typing.TYPE_CHECKING:  # without __getattr__, so that a misspelt name is found
    from pullback.autograd import anomaly_mode, forward_ad, function, functional, grad_mode, graph, profiler, variable
    from pullback.autograd.anomaly.nan_tracing import trace_nans
    from pullback.autograd.function import Function
    from pullback.autograd.grad_mode import is_multithreading_enabled, set_multithreading_enabled
    from pullback.autograd.variable import Variable
else:

    def __getattr__(name: str) -> object:
        if name in _LATER:
            return _import_module(f"{__name__}.{name}")
        if name in _LATER_FROM:
            found = globals()[name] = getattr(_import_module(f"{__name__}.{_LATER_FROM[name]}"), name)
            return found
        raise _missing_name(_sys.modules[__name__], name, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
