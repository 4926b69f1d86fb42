"""Errors for names of PyTorch, JAX and autograd that pullback lacks: what to write, for attributes and imports."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from opcode import opmap
from types import ModuleType

from pullback.core import slots
from pullback.core.tensor import Tensor

_BFLOAT = "NumPy has no such dtype; use float32 or float16"
_DEVICE = "there is one device, 'cpu': leave devices out"
_LAYOUT = "the order of memory is that of NumPy's strides: leave formats and layouts out"
_THREADS = "set OMP_NUM_THREADS or use threadpoolctl: NumPy's linear algebra decides"
_COMPILED = "pullback.compile(f) records a function at its first calls and runs it as a program"
_MODULES = "pullback has functions and no modules: make tensors with requires_grad=True, call pullback.nn.functional"
_DATA = "slice arrays: numpy.random.default_rng().permutation(n) gives the order, order[i : i + size] a batch"
_LOOPS = "write Python's for, while and if, or pullback.func.scan, fori_loop, while_loop, cond"
_RANDOM = "draw with NumPy: rng = numpy.random.default_rng(seed), rng.normal(size=n), ..."
_RULES = "give a function its derivative by pullback.custom_vjp or pullback.custom_jvp"
_OPTIMIZERS = (
    "pullback.optim has SGD, Adam, RMSprop, LBFGS and others; write another one as a subclass of "
    "pullback.optim.Optimizer with a method rule"
)
_IMPORT_FROM = opmap["IMPORT_FROM"]

# By the name below `pullback`. What stands below one of these has its answer. A name without a dot is the answer in
# every module that has none of its own.
INSTEAD = {
    "bfloat16": _BFLOAT,
    "complex32": "NumPy has no such dtype; use complex64",
    "cuda": _DEVICE,
    "mps": _DEVICE,
    "xpu": _DEVICE,
    "backends": _DEVICE,
    "accelerator": _DEVICE,
    "set_default_device": _DEVICE,
    "strided": _LAYOUT,
    "layout": _LAYOUT,
    "memory_format": _LAYOUT,
    "sparse": "tensors are dense; scipy.sparse matrices go into a pullback.autograd.Function",
    "sparse_coo_tensor": "tensors are dense; scipy.sparse matrices go into a pullback.autograd.Function",
    "array": "make tensors with pullback.tensor(data), or pullback.from_numpy(x) on the memory of x",
    "special.gamma": "write x.lgamma().exp() for x > 0, whose logarithm does not overflow",
    "dtype": "dtypes are NumPy's: numpy.dtype",
    "Size": "a shape is a tuple; t.numel() counts the elements",
    "Generator": "use numpy.random.Generator, which every random operator takes as generator=",
    "Storage": "tensors are NumPy arrays without storages apart; see t.numpy()",
    "save": "use pickle, or numpy.save of t.detach().numpy()",
    "load": "use pickle, or from_numpy of what numpy.load gives",
    "seed": "call manual_seed(numpy.random.SeedSequence().entropy)",
    "set_printoptions": "numpy.set_printoptions is what counts",
    "set_default_tensor_type": "use set_default_dtype",
    "get_num_threads": _THREADS,
    "set_num_threads": _THREADS,
    "jit": _COMPILED,
    "fx": _COMPILED,
    "export": _COMPILED,
    "onnx": "graphs stay in Python: there is nothing to export",
    "hub": "there are no models to download: pullback has functions only",
    "amp": "there is no automatic choice of dtypes: cast with t.to(dtype)",
    "autocast": "there is no automatic choice of dtypes: cast with t.to(dtype)",
    "multiprocessing": "use Python's multiprocessing: leaf tensors can be pickled",
    "distributions": "write the logarithm of the density with pullback's functions; numpy.random.Generator draws",
    "profiler": "it is pullback.autograd.profiler",
    "nn.Module": _MODULES,
    "nn.Parameter": "a parameter is a tensor: pullback.tensor(data, requires_grad=True)",
    "nn.Sequential": _MODULES,
    "nn.ModuleList": _MODULES,
    "nn.init": "draw with pullback.randn or pullback.rand, scale, and call requires_grad_()",
    "nn.utils": "write it with pullback.no_grad(): grads are plain tensors, in p.grad",
    "nn.parallel": "pullback.distributed has collectives that are differentiated through",
    "utils.data": _DATA,
    "utils.tensorboard": "hand t.item() to the writer of your choice",
    **dict.fromkeys(("Adafactor", "Muon", "SparseAdam"), _OPTIMIZERS),
    "swa_utils": "average trees of parameters with pullback.utils.pytree.tree_map",
    "frombuffer": "write pullback.from_numpy(numpy.frombuffer(buffer, dtype))",
    "fork_rng": "keep the state with get_rng_state() and restore it with set_rng_state(state)",
    "stack_module_state": "stack trees: pullback.utils.pytree.tree_map(lambda *leaves: numpy.stack(leaves), *trees)",
    # Of JAX, HIPS autograd and TensorFlow.
    "grad": "it is pullback.func.grad(function), or pullback.autograd.grad(outputs, inputs) of tensors",
    "checkpoint": "it is pullback.func.checkpoint(f)(x), or pullback.utils.checkpoint.checkpoint(f, x) for Tensors",
    "remat": "it is pullback.func.checkpoint",
    "numpy": "write `import numpy as np`: NumPy's own functions are differentiated",
    "lax": f"{_LOOPS}; stop_gradient, custom_root and custom_linear_solve are in pullback.func",
    **{name: f"it is pullback.func.{name}" for name in ("scan", "while_loop", "fori_loop")},
    **dict.fromkeys(("random.key", "PRNGKey", "random.uniform", "random.permutation", "default_rng"), _RANDOM),
    **dict.fromkeys(("disable_jit", "make_jaxpr", "eval_shape"), _COMPILED),
    **dict.fromkeys(("device_put", "device_get"), _DEVICE),
    **dict.fromkeys(("primitive", "defvjp", "defjvp", "autograd.extend"), _RULES),
    **dict.fromkeys(("custom_gradient", "custom_derivatives"), _RULES),
    **dict.fromkeys(("tree", "tree_util"), "it is pullback.utils.pytree"),
    "flatten_util": "it is pullback.func.ravel_pytree",
    "experimental": "jet and odeint are in pullback.func",
    "initializers": "draw with pullback.randn or pullback.rand, and scale",
    "test_util": "it is pullback.func.check_grads",
    "misc": "flatten is pullback.func.ravel_pytree(tree), and optimizers are in pullback.optim",
    "autograd.scipy": "it is pullback.scipy, or scipy itself after pullback.adopt()",
    "elementwise_grad": "write pullback.func.grad(lambda x: numpy.sum(f(x)))",
    "holomorphic_grad": "write pullback.func.jacrev(f, holomorphic=True)",
    "grad_named": "write pullback.func.grad(f, argnums='name')",
    "grad_and_aux": "write pullback.func.grad(f, has_aux=True)",
    "make_vjp": "write value, vjp = pullback.func.vjp(f, x)",
    "make_jvp": "write pullback.func.jvp(f, (x,), (v,))",
    **dict.fromkeys(("make_hvp", "hessian_vector_product"), "write pullback.func.hvp(f, x, v)"),
    "getval": "write x.detach() of a Tensor or an Array, or pullback.func.stop_gradient(x)",
    "GradientTape": "write pullback.func.grad(f)(x), or call backward() on what was computed from tensors",
    **{name: f"it is pullback.scipy.{name}" for name in ("stats", "integrate", "ndimage", "spatial")},
}


def missing_name(
    module: ModuleType, name: str, homes: Mapping[str, Mapping[str, object]]
) -> AttributeError | ImportError:
    """The error about a missing attribute of a public module; an ImportError in `from module import name`.

    `homes` has the public functions by module ("" for pullback itself, "nn.functional") and name.
    """
    whole = f"{module.__name__}.{name}"
    frame = sys._getframe(2)
    tried = frame.f_code.co_name == "_handle_fromlist"  # `from package import module` tries the attribute first
    instead = "" if tried or name.startswith("__") else hint_for_missing(whole.partition(".")[2], homes)
    if frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM:
        return ImportError(f"cannot import name {name!r} from {module.__name__!r}{instead}", name=module.__name__)
    return AttributeError(f"module {module.__name__!r} has no attribute {name!r}{instead}", name=name, obj=module)


def getter(module: str, homes: Mapping[str, Mapping[str, object]]) -> Callable[[str], object]:
    """The `__getattr__` of a public module that has all its names."""

    def module_getattr(name: str) -> object:
        raise missing_name(sys.modules[module], name, homes)

    return module_getattr


def hint_for_missing(path: str, homes: Mapping[str, Mapping[str, object]]) -> str:
    """Return what to append to an error about a name below pullback ("nn.Linear"); "" where there is nothing to say."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        above = ".".join(parts[:count])
        if above in INSTEAD:
            return f": {INSTEAD[above]}"
    home, _, name = path.rpartition(".")
    if not home and name.endswith("Tensor"):
        return ": make tensors with pullback.tensor(data, dtype=...)"
    if home == "nn" and name[:1].isupper():
        function = _function_of_module(name, homes.get("nn.functional", {}))
        return f": {_MODULES}{f'.{function}' if function else ''}"
    where = _elsewhere(name, homes)
    if where is not None:
        return f": it is pullback.{f'{where}.' if where else ''}{name}"
    if home and name in INSTEAD:
        return f": {INSTEAD[name]}"
    if not homes or name.startswith("_"):
        return ""
    return _of_arrays(home, name) or _near(home, name, homes)


def _elsewhere(name: str, homes: Mapping[str, Mapping[str, object]]) -> str | None:
    """The public module that has the name."""
    for home, functions in homes.items():
        if name in functions:
            return home
    if not homes or name.startswith("_"):
        return None
    return next((home for home in _HOMES_OF_OTHERS if name in _listed(home)), None)


def _of_arrays(home: str, name: str) -> str:
    """Where SciPy's or NumPy's function of that name is, or the method; "" where there is none."""
    if home in _OF_SCIPY:
        return f": it is pullback.scipy.{home}.{name}" if hasattr(import_module(f"scipy.{home}"), name) else ""
    said = [f"it is a method, t.{name}(...)"] if not home and callable(getattr(Tensor, name, None)) else []
    said += [f"numpy.{name} takes Tensors"] if not home and f"np.{name}" in slots.numpy_supported() else []
    return f": {', and '.join(said)}" if said else ""


_OF_SCIPY = ("linalg", "fft", "special", "signal", "optimize")  # modules that SciPy has too

# Public modules of names that are no operators, in the order in which a name is looked for.
_HOMES_OF_OTHERS = ("", "func", "autograd", "optimize", "utils.pytree")


def _listed(home: str) -> Iterator[str]:
    return (name for name in getattr(slots.public_module(home), "__all__", ()) if isinstance(name, str))


def _near(home: str, name: str, homes: Mapping[str, Mapping[str, object]]) -> str:
    """': did you mean pullback.linalg.solve?', "" where no name of the module is near."""
    import difflib  # here, because it costs a millisecond that only this error needs

    known = {known.lower(): known for known in (*_listed(home), *homes.get(home, ()))}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return f": did you mean pullback.{f'{home}.' if home else ''}{known[near[0]]}?" if near else ""


def _function_of_module(name: str, functions: Mapping[str, object]) -> str:
    """`CrossEntropyLoss` -> "cross_entropy", `BatchNorm1d` -> "batch_norm"; "" where there is none."""
    known = {function.replace("_", ""): function for function in functions}
    lowered = name.lower()
    for form in (lowered, lowered.removesuffix("loss"), re.sub(r"[123]d$", "", lowered)):
        if form in known:
            return known[form]
    return ""


class _AbsentModules:
    """Stands last on sys.meta_path: `import pullback.jit` says what `pullback.jit` says."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        package, _, below = name.partition(".")
        if package != "pullback" or not below:
            return
        said = hint_for_missing(below, {})
        if said:
            raise ModuleNotFoundError(f"No module named {name!r}{said}", name=name)


def announce() -> None:
    """Let imports of absent modules say what to do."""
    sys.meta_path.append(_AbsentModules)
