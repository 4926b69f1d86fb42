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
    foreign.py     errors of other libraries about our tensors
    adopt/         adopt(): code for NumPy is differentiated as it stands
"""

from __future__ import annotations

from pullback.core import slots
from pullback.core.tensor import Tensor
from pullback.interop import array
from pullback.interop.conversion import METHODS, from_dlpack
from pullback.interop.foreign import explain_foreign
from pullback.interop.functions import array_function
from pullback.interop.methods import attach
from pullback.interop.ufuncs import array_ufunc

Tensor.__array_ufunc__ = array_ufunc  # type: ignore[method-assign]
Tensor.__array_function__ = array_function  # type: ignore[method-assign]
Tensor.__array_priority__ = 1000.0  # for libraries that still ask: NumPy's own arrays give way by __array_ufunc__
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
attach()
array.attach()
slots.explain_foreign = explain_foreign

__all__ = ["from_dlpack"]
