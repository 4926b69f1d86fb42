"""`adopt()`: code written for NumPy, `math` and SciPy is differentiated as it stands.

switch.py       adopt() and release(): who sees what, and for how long
reached.py      which modules are adopted
views.py        modules as they see them
stand_ins.py    which functions have a dispatcher, and which
dispatchers.py  what all dispatchers have in common; lists of tensors
creation.py     np.zeros, np.array and their kin
ufuncs.py       np.sin and all other ufuncs, of lists of tensors
mathematics.py  math and cmath
scipy_calls.py  SciPy's functions and classes; their rules are in pullback/scipy, entered in interop/adoption.py
ways.py         what a function of SciPy may do with our tensors besides a rule of its own
polynomials.py  numpy.polynomial, which leaves out zeros
clones.py       NumPy's and SciPy's own Python for our tensors
patches.py      methods that are replaced in place: np.r_, np.vectorize
backends.py     einops and opt_einsum, which are told of our tensors
"""

from __future__ import annotations

from pullback.interop.adopt import polynomials as _polynomials  # noqa: F401 - which enters their rules
from pullback.interop.adopt.switch import adopt, release

__all__ = ["adopt", "release"]
