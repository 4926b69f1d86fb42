"""Names of torch which pullback need not have: a plain stand-in for each.

Only used when pullback itself has no such name.  Nothing here does
differentiation; where a name stands for an object of the engine (such as the
class of an AccumulateGrad node) it is had by asking the engine for one.
"""

import contextlib
import ctypes
import gc
import pickle
import weakref
from pathlib import Path

import numpy as np

import pullback


class WeakTensorRef:
    def __init__(self, tensor):
        self.ref = weakref.ref(tensor)

    def expired(self):
        return self.ref() is None


def accumulate_grad_class():
    leaf = pullback.ones(1, requires_grad=True)
    return type((leaf * 2).grad_fn.next_functions[0][0])


def saved_tensor_class():
    return type(pullback.ones(1, requires_grad=True).exp().grad_fn._raw_saved_result)


def saved_tensors_hooks_enabled():
    try:
        with pullback.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return True
    except RuntimeError:
        return False


def undefined_grad():
    class UndefinedGrad(pullback.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return None

    return lambda: UndefinedGrad.apply


def old_vmap(fn, in_dims=0, out_dims=0):
    return pullback.func.vmap(fn, in_dims, out_dims)


def set_fwd_grad():
    enter = pullback.autograd.forward_ad._set_fwd_grad_enabled
    return lambda mode=True: enter(mode)


def forward_level():
    return len(pullback.autograd.forward_ad.ENTERED.get()) - 1


class LegacyType(type):
    """The type of torch.LongTensor and its kin: a way to make a tensor of a dtype, and to ask isinstance of."""

    def __call__(cls, *args):
        if len(args) == 1 and not isinstance(args[0], int):
            return pullback.tensor(args[0], dtype=cls.dtype)
        return pullback.empty(args, dtype=cls.dtype)

    def __instancecheck__(cls, value):
        return isinstance(value, pullback.Tensor) and value.dtype == cls.dtype


def legacy_types():
    dtypes = {"Double": "float64", "Float": "float32", "Half": "float16", "Long": "int64", "Int": "int32",
              "Short": "int16", "Byte": "uint8", "Bool": "bool"}  # fmt: skip
    return {
        f"torch.{kind}Tensor": LegacyType(f"{kind}Tensor", (), {"dtype": np.dtype(dtype)})
        for kind, dtype in dtypes.items()
    }


class Storage:
    """What an array shares its memory with, as the array that owns it."""

    def __init__(self, tensor):
        self.owner = tensor.detach().numpy()
        while isinstance(self.owner.base, np.ndarray):
            self.owner = self.owner.base

    def __len__(self):
        return self.owner.size

    def data_ptr(self):
        return self.owner.ctypes.data


def storage(tensor):
    return Storage(tensor)


def new(tensor, size):
    return tensor.new_empty(size)


def cast(tensor, dtype=None, _type=pullback.Tensor.type, **kwargs):
    return _type(tensor, getattr(dtype, "dtype", dtype), **kwargs)


def add_legacy_attributes():
    """Methods of torch.Tensor and attributes of torch.dtype that PyTorch keeps for old programs."""
    pullback.Tensor.storage, pullback.Tensor.new, pullback.Tensor.type = storage, new, cast
    # dtypes are NumPy's, whose type takes no attributes by the usual way.
    attributes = gc.get_referents(np.dtype.__dict__)[0]
    attributes["is_floating_point"] = property(lambda dtype: dtype.kind == "f")
    attributes["is_complex"] = property(lambda dtype: dtype.kind == "c")
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.dtype))


def distinct(input, sorted=True, return_inverse=False, return_counts=False, **dim):
    """torch._unique and its kin, which return a tuple in any case."""
    out = pullback.unique(input, sorted, return_inverse, return_counts, **dim)
    return out if isinstance(out, tuple) else (out,)


def save(obj, path):
    Path(path).write_bytes(pickle.dumps(obj))


def load(path):
    return pickle.loads(Path(path).read_bytes())


def false(*args):
    return False


open_profiles = []


def name_profiles_as_torch(profile=pullback.autograd.profiler.profile):
    """PyTorch puts the name of its operators' library before each (aten::mul), and says whether a profile is taken."""
    enter, leave, events = profile.__enter__, profile.__exit__, profile.function_events.fget

    def entered(self):
        open_profiles.append(self)
        return enter(self)

    def left(self, *args):
        open_profiles.remove(self)
        return leave(self, *args)

    def named(self):
        found = events(self)
        for event in found:
            if event.kind == "operator" and "::" not in event.name:
                event.name = f"aten::{event.name}"
        return found

    profile.__enter__, profile.__exit__, profile.function_events = entered, left, property(named)


VALUES = {
    "torch.autograd._profiler_enabled": lambda: bool(open_profiles),
    "torch.manual_seed": np.random.seed,
    "torch.save": save,
    "torch.load": load,
    **legacy_types(),
    "torch._unique": distinct,
    "torch._unique2": distinct,
    "torch._VF.unique_dim": distinct,
    "torch.inf": float("inf"),
    "torch.nan": float("nan"),
    "torch._six.inf": float("inf"),
    "torch._six.nan": float("nan"),
    "torch.cuda.is_available": false,
    "torch.cuda.is_bf16_supported": false,
    "torch.cuda.device_count": lambda: 0,
    "torch.backends.mps.is_available": false,
    "torch.profiler.itt.is_available": false,
    "torch.autograd.kineto_available": false,
    "torch.is_warn_always_enabled": false,
    "torch.set_warn_always": lambda value: None,
    "torch._C.has_mkldnn": False,
    "torch._C.has_lapack": True,
    "torch._C._WeakTensorRef": WeakTensorRef,
    "torch._C._will_engine_execute_node": pullback.autograd.graph.will_engine_execute_node,
    "torch._C._autograd._saved_tensors_hooks_is_enabled": saved_tensors_hooks_enabled,
    "torch._vmap_internals._vmap": old_vmap,
    "torch.utils._mode_utils.no_dispatch": contextlib.nullcontext,
    "torch._utils._element_size": lambda dtype: dtype.itemsize,
}
COMPUTED = {
    "torch._C._functions.AccumulateGrad": accumulate_grad_class,
    "torch._C._functions.UndefinedGrad": undefined_grad,
    "torch._C._autograd.SavedTensor": saved_tensor_class,
    "torch.autograd.forward_ad._current_level": forward_level,
    "torch.autograd._calculate_shape": lambda: pullback.autograd.graph._calculate_shape,
    "functorch._src.eager_transforms.enable_fwd_grad": set_fwd_grad,
}


def fallback(name):
    """(found?, value) of a dotted torch name."""
    if name in VALUES:
        return True, VALUES[name]
    if name in COMPUTED:
        try:
            return True, COMPUTED[name]()
        except Exception:
            return False, None
    if name.startswith("torch.nn."):
        import _pullback_nn

        scope = _pullback_nn.functional if name.startswith("torch.nn.functional.") else _pullback_nn
        last = name.split(".")[-1]
        if last in scope.PROVIDED:
            return True, getattr(scope, last)
    return False, None


add_legacy_attributes()
name_profiles_as_torch()
