"""Errors for names that PyTorch has and pullback lacks: what to write instead, for attributes, imports and modules."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from opcode import opmap
from types import ModuleType

_BFLOAT = "NumPy has no such dtype; use float32 or float16"
_DEVICE = "there is one device, 'cpu': leave devices out"
_LAYOUT = "the order of memory is that of NumPy's strides: leave formats and layouts out"
_THREADS = "set OMP_NUM_THREADS or use threadpoolctl: NumPy's linear algebra decides"
_COMPILED = "there is nothing to compile: functions run as they are written"
_MODULES = "pullback has functions and no modules: make tensors with requires_grad=True, call pullback.nn.functional"
_DATA = "slice arrays: numpy.random.default_rng().permutation(n) gives the order, order[i : i + size] a batch"
_IMPORT_FROM = opmap["IMPORT_FROM"]

# By the name below `pullback`. What stands below one of these has its answer.
INSTEAD = {
    "bfloat16": _BFLOAT,
    "complex32": "NumPy has no such dtype; use complex64",
    "cuda": _DEVICE,
    "mps": _DEVICE,
    "xpu": _DEVICE,
    "backends": _DEVICE,
    "accelerator": _DEVICE,
    "set_default_device": _DEVICE,
    "channels_last": _LAYOUT,
    "channels_last_3d": _LAYOUT,
    "strided": _LAYOUT,
    "layout": _LAYOUT,
    "memory_format": _LAYOUT,
    "sparse": "tensors are dense; scipy.sparse matrices go into a pullback.autograd.Function",
    "sparse_coo_tensor": "tensors are dense; scipy.sparse matrices go into a pullback.autograd.Function",
    "array": "make tensors with pullback.tensor(data), or pullback.from_numpy(x) on the memory of x",
    "special.gamma": "write x.lgamma().exp() for x > 0, of which the logarithm alone is no overflow",
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
    "compile": _COMPILED,
    "compiler": _COMPILED,
    "fx": _COMPILED,
    "export": _COMPILED,
    "onnx": "graphs stay in Python: there is nothing to export",
    "hub": "there are no models to download: pullback has functions only",
    "amp": "there is no automatic choice of dtypes: cast with t.to(dtype)",
    "autocast": "there is no automatic choice of dtypes: cast with t.to(dtype)",
    "distributed": "one process computes; hand gradients between processes as arrays",
    "multiprocessing": "use Python's multiprocessing: leaf tensors can be pickled",
    "distributions": "write the logarithm of the density with pullback's functions; numpy.random.Generator draws",
    "profiler": "it is pullback.autograd.profiler",
    "nn.Module": _MODULES,
    "nn.Parameter": "a parameter is a tensor: pullback.tensor(data, requires_grad=True)",
    "nn.Sequential": _MODULES,
    "nn.ModuleList": _MODULES,
    "nn.init": "draw with pullback.randn or pullback.rand, scale, and call requires_grad_()",
    "nn.utils": "write it with pullback.no_grad(): grads are plain tensors, in p.grad",
    "nn.parallel": "one process computes; hand gradients between processes as arrays",
    "utils.data": _DATA,
    "utils.tensorboard": "hand t.item() to the writer of your choice",
    # What other libraries have at the top.
    "grad": "it is pullback.func.grad(function), or pullback.autograd.grad(outputs, inputs) of tensors",
    "Function": "it is pullback.autograd.Function",
    "gradcheck": "it is pullback.autograd.gradcheck",
    **{
        name: f"it is pullback.func.{name}"
        for name in (
            "value_and_grad",
            "vjp",
            "jvp",
            "jacobian",
            "jacrev",
            "jacfwd",
            "hessian",
            "hvp",
            "linearize",
            "jet",
        )
    },
    **{name: f"it is pullback.optimize.{name}" for name in ("minimize", "least_squares", "curve_fit")},
}


def missing_name(
    module: ModuleType, name: str, homes: Mapping[str, Mapping[str, object]]
) -> AttributeError | ImportError:
    """The error about a missing attribute of a public module; an ImportError in `from module import name`.

    `homes` has the public functions by module ("" for pullback itself, "nn.functional") and name.
    """
    whole = f"{module.__name__}.{name}"
    instead = "" if name.startswith("__") else hint_for_missing(whole.partition(".")[2], homes)
    frame = sys._getframe(2)
    if frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM:
        return ImportError(f"cannot import name {name!r} from {module.__name__!r}{instead}", name=module.__name__)
    return AttributeError(f"module {module.__name__!r} has no attribute {name!r}{instead}", name=name, obj=module)


def getter(module: str, homes: Mapping[str, Mapping[str, object]]) -> Callable[[str], object]:
    """The `__getattr__` of a public module that has all its names."""

    def module_getattr(name: str) -> object:
        raise missing_name(sys.modules[module], name, homes)

    return module_getattr


def hint_for_missing(path: str, homes: Mapping[str, Mapping[str, object]]) -> str:
    """What to append to the error about a name below pullback ("nn.Linear"); "" where there is nothing to say."""
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
    for other, functions in homes.items():
        if name in functions:
            return f": it is pullback.{f'{other}.' if other else ''}{name}"
    return _near(home, name, homes)


def _near(home: str, name: str, homes: Mapping[str, Mapping[str, object]]) -> str:
    """': did you mean pullback.linalg.solve?', "" where no name of the module is near."""
    if not homes or name.startswith("_"):
        return ""
    import difflib  # here, because it costs a millisecond that only this error needs

    module = sys.modules.get(f"pullback.{home}" if home else "pullback")
    known = [*homes.get(home, ()), *(n for n in getattr(module, "__all__", ()) if isinstance(n, str))]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f": did you mean pullback.{f'{home}.' if home else ''}{near[0]}?" if near else ""


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
