"""numpy.polynomial: NumPy's own Python, in which a coefficient that happens to be 0 keeps its gradient.

NumPy leaves out last coefficients that are 0: of what it is given, of what it finds on the way, and of the result. So
would their gradients be. Here nothing is left out on the way, and a result that NumPy would shorten is refused.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar

from pullback.core.errors import UnsupportedError
from pullback.core.tensor import Tensor
from pullback.interop.adopt.rules import POLYNOMIALS, RULES
from pullback.interop.adopt.scipy.ways import genuine, on_arrays, runs_as_it_stands
from pullback.interop.operands import frozen, is_hidden, needs_grad

_TRIM = "np.polynomial.polyutils.trimseq"
_inner: ContextVar[bool] = ContextVar("_inner", default=False)  # True in what one of the functions calls


def _in_full(seq: object) -> object:
    return seq if isinstance(seq, Tensor) and needs_grad(seq) else genuine(_TRIM)(seq)


def _checked(name: str, *args: object, **kwargs: object) -> object:
    """Run a function whose results NumPy shortens."""
    inner = _inner.get()
    token = _inner.set(True)
    try:
        results = on_arrays(name)(*args, **kwargs)
    finally:
        _inner.reset(token)
    if inner:
        return results
    for c in results if isinstance(results, tuple) else (results,):
        if needs_grad(c) and len(c) > 1 and not is_hidden(c) and frozen(c, name)[-1] == 0:
            raise UnsupportedError(
                f"{name} leaves out last coefficients of the result that are 0, so their gradients, which are not 0, "
                "would be lost. Write it with np.convolve, np.concatenate and + on the coefficients, which keep zeros."
            )
    return results


runs_as_it_stands(*POLYNOMIALS)
RULES[_TRIM] = _in_full
RULES.update(
    {
        name: functools.partial(_checked, name)
        for name in POLYNOMIALS
        if name.endswith(("add", "div", "fromroots", "mul", "pow", "sub"))
    }
)
