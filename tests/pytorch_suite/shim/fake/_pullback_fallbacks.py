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

import numpy as np
import pullback


def give_dtypes_torchs_attributes():
    """dtype.is_floating_point, dtype.is_complex: pullback's dtypes are NumPy's, whose class takes no new attributes."""
    (attributes,) = gc.get_referents(np.dtype.__dict__)
    attributes["is_floating_point"] = property(lambda dtype: dtype.kind == "f")
    attributes["is_complex"] = property(lambda dtype: dtype.kind == "c")
    for kind in (np.dtype, *np.dtype.__subclasses__()):
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


give_dtypes_torchs_attributes()


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
    return len(pullback.autograd.forward_ad._entered.get()) - 1


def legacy_constructor(dtype):
    """torch.LongTensor(data), torch.BoolTensor(2, 3): only a way to make a tensor, no type to ask isinstance of."""
    def make(*args):
        if len(args) == 1 and not isinstance(args[0], int):
            return pullback.tensor(args[0], dtype=dtype)
        return pullback.empty(args, dtype=dtype)
    return make


def unique(input, dim=None, sorted=True, return_inverse=False, return_counts=False):
    """Three internal names of one public function."""
    return pullback.unique(input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, dim=dim)


def save(obj, path):
    with open(path, "wb") as f:
        pickle.dump(obj, f)


def load(path):
    with open(path, "rb") as f:
        return pickle.load(f)


def false(*args):
    return False


VALUES = {
    "torch.manual_seed": np.random.seed,
    "torch.save": save, "torch.load": load,
    "torch.LongTensor": legacy_constructor("int64"), "torch.BoolTensor": legacy_constructor("bool"),
    "torch._unique": unique, "torch._unique2": unique, "torch._VF.unique_dim": unique,
    "torch.inf": float("inf"), "torch.nan": float("nan"),
    "torch._six.inf": float("inf"), "torch._six.nan": float("nan"),
    "torch.cuda.is_available": false, "torch.cuda.is_bf16_supported": false,
    "torch.cuda.device_count": lambda: 0, "torch.backends.mps.is_available": false,
    "torch.profiler.itt.is_available": false, "torch.autograd.kineto_available": false,
    "torch.is_warn_always_enabled": false, "torch.set_warn_always": lambda value: None,
    "torch._C.has_mkldnn": False, "torch._C.has_lapack": True,
    "torch._C._WeakTensorRef": WeakTensorRef,
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
