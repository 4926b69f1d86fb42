"""pullback: PyTorch's autograd for NumPy arrays.

>>> import pullback as pb
>>> x = pb.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])

`func.grad` differentiates code written for NumPy and SciPy as it stands, after one call of `adopt()`.

The package itself has the operators (`pb.sin`, `pb.cat`, ...), most of which are methods of Tensor too. Beside them it
has:

    autograd    backward and grad, custom Functions, gradcheck, forward mode
    func        derivatives of plain functions, ndarray in and out: grad, vjp, jvp, jacobian, hessian, vmap, ...
    custom_vjp  a derivative that you write for a function of ndarrays; custom_jvp is the same for forward mode
    nn          nn.functional: activations, losses, layers as functions
    linalg      norms, solves, decompositions
    fft         discrete Fourier transforms
    special     special functions
    signal      signal.windows: the window functions of signal processing
    masked      reductions and scans of the elements that a mask selects
    optim       PyTorch's optimizers and learning-rate schedules, in place and as functions of trees
    optimize    SciPy's optimisers with exact derivatives: minimize, least_squares, root, curve_fit
    distributed sums over data on other processes, threads and machines, and collectives of ranks, differentiable
    random      the default random generator: seeding it, saving its state
    scipy       SciPy's packages with functions that take Tensors
    ops         ops.load: your own operators, declared in YAML
    library     custom_op: your own operators, declared by a decorator
    utils       utils.checkpoint: less memory for more computation; utils.pytree: trees of arrays
    viz         pictures of the graph
    compile     runs a function as a program that was recorded at its first calls; see also compiler
    check       reports on the derivatives of a function; see also why_no_grad and watch_cuts
    testing     OpInfo, check_operator, make_tensor, assert_close
    extend      everything that other packages may build on, in one place
"""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

import numpy as np

from pullback.core.collector import collector_paused as _collector_paused

with _collector_paused():  # which would take a fifth of the time of this import
    from pullback.arrays.numpy.freed_memory import keep_freed_memory
    from pullback.core import printing
    from pullback.core import slots as _slots
    from pullback.core.array_face import Array, Scalar
    from pullback.core.devices import device
    from pullback.core.dtypes import (
        can_cast,
        finfo,
        get_default_dtype,
        iinfo,
        promote_types,
        result_type,
        set_default_dtype,
    )
    from pullback.core.factory import asarray, from_numpy, is_inference, is_tensor, numel, tensor
    from pullback.core.inspection import is_nonzero, is_same_size, is_signed
    from pullback.core.late import calling as _calling
    from pullback.core.modes import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from pullback.core.tensor import Tensor
    from pullback.explain.missing_names import announce as _announce_missing
    from pullback.explain.missing_names import missing_name as _missing_name
    from pullback.interop import attach as _attach_numpy
    from pullback.ops.late import late_function as _late_function
    from pullback.ops.methods import attach as _attach_methods
    from pullback.ops.shapes import broadcast_shapes
    from pullback.ops.tables import PUBLIC
    from pullback.ops.tables import PUBLIC as _HOMES

    _attach_methods()
    _attach_numpy()

    from pullback import autograd, ops  # they need Tensor's methods
    from pullback.autograd.anomaly.detection import is_anomaly_check_nan_enabled, is_anomaly_enabled

if _typing.TYPE_CHECKING:
    from pullback.autograd.cut_log import watch_cuts, why_no_grad
    from pullback.checkup import check
    from pullback.compiler import compile
    from pullback.compiler.graphs import compiled_autograd
    from pullback.core.progress import show_progress
    from pullback.exchange import for_jax, for_torch, jax_function, torch_function
    from pullback.func.batching import vmap
    from pullback.func.rules.custom import custom_jvp, custom_vjp
    from pullback.interop import from_dlpack
    from pullback.interop.adopt.switch import adopt, release
    from pullback.random import default_generator, get_rng_state, manual_seed, set_rng_state

__version__ = "0.2.0"

as_tensor = asarray

float64 = double = np.dtype("float64")
float32 = float = np.dtype("float32")
float16 = half = np.dtype("float16")
complex128 = cdouble = np.dtype("complex128")
complex64 = cfloat = np.dtype("complex64")
int64 = long = np.dtype("int64")
int32 = int = np.dtype("int32")
int16 = short = np.dtype("int16")
int8 = np.dtype("int8")
uint64, uint32, uint16, uint8 = np.dtype("uint64"), np.dtype("uint32"), np.dtype("uint16"), np.dtype("uint8")
bool = np.dtype("bool")
preserve_format, contiguous_format = "preserve_format", "contiguous_format"  # orders of memory, for clone and to
channels_last, channels_last_3d = "channels_last", "channels_last_3d"  # and for contiguous
inf, nan, pi, e, newaxis = np.inf, np.nan, np.pi, np.e, None

_OPERATORS = frozenset(PUBLIC[""])  # their code is loaded when they are first asked for

_LATER = (  # imported when first used
    "array_api", "compiler", "distributed", "extend", "fft", "func", "library", "linalg", "masked", "nn", "optim",
    "optimize", "overrides", "random", "scipy", "signal", "special", "testing", "utils", "viz",
)  # fmt: skip

_FUNCTIONS = {  # and so are these functions
    "adopt": "pullback.interop.adopt.switch", "custom_jvp": "pullback.func.rules.custom",
    "custom_vjp": "pullback.func.rules.custom", "from_dlpack": "pullback.interop",
    "release": "pullback.interop.adopt.switch",
    **dict.fromkeys(("default_generator", "get_rng_state", "manual_seed", "set_rng_state"), "pullback.random"),
    "vmap": "pullback.func.batching", "compile": "pullback.compiler",
    "compiled_autograd": "pullback.compiler.graphs",
    "check": "pullback.checkup", "show_progress": "pullback.core.progress",
    **dict.fromkeys(("watch_cuts", "why_no_grad"), "pullback.autograd.cut_log"),
    **dict.fromkeys(("for_jax", "for_torch", "jax_function", "torch_function"), "pullback.exchange"),
}  # fmt: skip

__all__ = [  # noqa: RUF022 - by kind
    "adopt", "release",
    "Array", "Scalar", "Tensor", "as_tensor", "asarray", "broadcast_shapes", "from_dlpack", "from_numpy",
    "is_inference", "is_tensor",
    "is_nonzero", "is_same_size", "is_signed", "numel", "tensor",
    "can_cast", "device", "finfo", "get_default_dtype", "iinfo", "promote_types", "result_type", "set_default_dtype",
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "custom_jvp", "custom_vjp", "for_jax", "for_torch", "jax_function", "torch_function", "vmap",
    "check", "compile", "compiled_autograd", "show_progress", "watch_cuts", "why_no_grad",
    "default_generator", "get_rng_state", "keep_freed_memory", "manual_seed", "set_rng_state",
    "array_api", "autograd", "compiler", "distributed", "extend", "fft", "func", "library", "linalg", "masked", "nn",
    "ops", "optim", "optimize", "overrides", "random", "scipy", "signal", "special", "testing", "utils", "viz",
    "float64", "float32", "float16", "double", "float", "half", "complex128", "complex64", "cdouble", "cfloat",
    "int64", "int32", "int16", "int8", "long", "int", "short", "uint64", "uint32", "uint16", "uint8", "bool",
    "preserve_format", "contiguous_format", "channels_last", "channels_last_3d",
    "inf", "nan", "pi", "e", "newaxis",
]  # fmt: skip
__all__ += list(PUBLIC[""])  # the operators


def _public_module(home):
    return _import_module(f"{__name__}.{home}" if home else __name__)


# What the public face gives to the layers below it. They know the slots alone; nothing is imported before it is used.
_slots.public_module = _public_module
_slots.drawing = _calling("pullback.viz.drawing", "of_boxes")
_slots.callback = _calling("pullback.compiler.callbacks", "callback")
_slots.load_scipy_rules = _calling("pullback.scipy.rules", "load")

_announce_missing()
del PUBLIC, np, printing


def __getattr__(name):
    if name in _LATER:
        return _import_module(f"{__name__}.{name}")
    if name in _FUNCTIONS:
        function = globals()[name] = getattr(_import_module(_FUNCTIONS[name]), name)
        return function
    if name in _OPERATORS:
        function = globals()[name] = _late_function("", name)  # found at once from now on
        return function
    raise _missing_name(_sys.modules[__name__], name, _HOMES)


def __dir__():
    return sorted([*__all__, "__version__"])
