"""NumPy's own functions on Tensors: `np.sin(t)`, `ndarray * t`, `np.concatenate([t, u])`, recorded like any operator.

What has no rule raises an error that names the function and the nearest ones that have; nothing turns a Tensor that
requires grad into a plain array without saying so.

    ufuncs.py      __array_ufunc__: np.sin(t), np.add.reduce(t), ndarray * t
    functions.py   __array_function__: np.sum(t, axis=0), np.where(m, t, u)
    adapters/      one file an area: NumPy's signatures over pullback's operators
    methods.py     NumPy's forms of methods: t.transpose(), t.var(ddof=1), t.copy()
    conversion.py  leaving for plain numbers and arrays: __array__, __float__, DLPack
    array/         the methods of Array and Scalar: those of ndarrays and NumPy's numbers
    suggest.py     the error for what has no rule
    backends.py    our tensors, told to einops and opt_einsum when these are imported
    foreign.py     errors of other libraries about our tensors
    replaced.py    a user's rule in the place of ours
    adopt/         adopt(): code for NumPy is differentiated as it stands

None of it is imported before a program needs it: until then `LateAttribute`s and `late_method`s stand for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core import slots
from pullback.core.array_face import Array, NestedArray, NestedScalar, Scalar
from pullback.core.late import LateAttribute, calling, from_module, late_method
from pullback.core.tensor import Tensor
from pullback.interop.backends import enter_backends

if TYPE_CHECKING:
    from pullback.interop.conversion import from_dlpack
else:

    def __getattr__(name: str) -> object:
        if name == "from_dlpack":
            return from_module(f"{__name__}.conversion", name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["from_dlpack"]

_OF_TENSOR = {  # method: (module, its name there)
    "__array_ufunc__": ("ufuncs", "array_ufunc"),
    "__array_function__": ("functions", "array_function"),
    "__array__": ("conversion", "plain_array"),
    "__float__": ("conversion", "to_float"),
    "__int__": ("conversion", "to_int"),
    "__complex__": ("conversion", "to_complex"),
    "__array_namespace__": ("conversion", "array_namespace"),
    "__dlpack__": ("conversion", "dlpack"),
    "to_device": ("conversion", "to_device"),
    "__dlpack_device__": ("conversion", "dlpack_device"),
    **{name: ("methods", name) for name in ("compress", "copy", "fill")},
}
# Methods of Tensor which have a form of NumPy's too.
_EXTENDED = ("cumprod", "cumsum", "dot", "repeat", "std", "take", "transpose", "var")
# The attributes of Array and Scalar that are not Tensor's; tests/ops/test_late.py holds the lists against the modules.
_OF_BOTH = (
    "T", "__abs__", "__add__", "__and__", "__array_interface__", "__array_namespace__", "__array_struct__",
    "__bool__", "__bytes__", "__class_getitem__", "__contains__", "__copy__", "__deepcopy__", "__delitem__",
    "__divmod__", "__eq__", "__floordiv__", "__format__", "__ge__", "__getitem__", "__gt__", "__iadd__",
    "__ifloordiv__", "__imatmul__", "__imod__", "__imul__", "__int__", "__invert__", "__ipow__", "__isub__",
    "__itruediv__", "__le__", "__len__", "__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__",
    "__neg__", "__or__", "__pos__", "__pow__", "__radd__", "__rand__", "__rdivmod__", "__reduce__",
    "__reduce_ex__", "__repr__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__rmul__",
    "__ror__", "__rpow__", "__rrshift__", "__rshift__", "__rsub__", "__rtruediv__", "__rxor__", "__setitem__",
    "__str__", "__sub__", "__truediv__", "__xor__", "all", "any", "argmax", "argmin", "argpartition", "argsort",
    "astype", "base", "byteswap", "choose", "clip", "compress", "conj", "conjugate", "copy", "ctypes",
    "cumprod", "cumsum", "data", "diagonal", "dot", "dtype", "dump", "dumps", "fill", "flags", "flat",
    "flatten", "getfield", "imag", "item", "mT", "max", "mean", "min", "nonzero", "partition", "prod", "put",
    "ravel", "real", "repeat", "reshape", "resize", "round", "searchsorted", "setfield", "setflags", "shape",
    "size", "sort", "squeeze", "std", "strides", "sum", "swapaxes", "take", "to_device", "tobytes", "tofile",
    "tolist", "trace", "transpose", "var", "view",
)  # fmt: skip
_OF_ARRAY = ("__iter__",)
_OF_NESTED = (
    "__abs__", "__add__", "__floordiv__", "__matmul__", "__mod__", "__mul__", "__neg__", "__pow__", "__radd__",
    "__rfloordiv__", "__rmatmul__", "__rmod__", "__rmul__", "__rpow__", "__rsub__", "__rtruediv__", "__sub__",
    "__truediv__",
)  # fmt: skip
_OF_SCALAR = (
    "__ceil__", "__floor__", "__hash__", "__index__", "__round__", "__trunc__", "as_integer_ratio", "fromhex", "hex",
    "is_integer",
)  # fmt: skip


def _extended(name: str) -> object:
    return from_module(f"{__name__}.methods", "extended")(name)


def _attribute(kind: type, name: str) -> object:
    return from_module(f"{__name__}.array", "attributes_of")(kind)[name]


def attach() -> None:
    """Give the classes their attributes."""
    for name, (module, function) in _OF_TENSOR.items():
        late = late_method if name.startswith("__array_") else LateAttribute
        late(Tensor, name, from_module, f"{__name__}.{module}", function)
    for name in _EXTENDED:
        LateAttribute(Tensor, name, _extended, name)
    of_kinds = {
        Array: (*_OF_BOTH, *_OF_ARRAY), Scalar: (*_OF_BOTH, *_OF_SCALAR),
        NestedArray: _OF_NESTED, NestedScalar: _OF_NESTED,
    }  # fmt: skip
    for kind, names in of_kinds.items():
        for name in names:
            LateAttribute(kind, name, _attribute, kind, name)
    Array.__hash__ = Scalar.__iter__ = None  # type: ignore[assignment, method-assign]
    Array.__pandas_priority__ = 10_000  # type: ignore[attr-defined]  # above DataFrame's, which then leaves `df * t` to us
    Tensor.__array_priority__ = 1000.0  # for libraries that still ask: NumPy's own arrays give way by __array_ufunc__
    enter_backends()


slots.replaced = calling(f"{__name__}.replaced", "replaced")
slots.explain_foreign = calling(f"{__name__}.foreign", "explain_foreign")
slots.adopt_meanwhile = calling(f"{__name__}.adopt.switch", "adopt_meanwhile")
slots.load_numpy_rules = calling(f"{__name__}.adapters", "load")
slots.numpy_supported = calling(f"{__name__}.suggest", "supported")
slots.genuine = calling(f"{__name__}.adopt.views", "genuine_of")
