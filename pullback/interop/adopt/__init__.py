"""`adopt()`: code written for NumPy, `math` and SciPy is differentiated as it stands.

switch.py       adopt() and release(): who sees what, and for how long
reached.py      which modules are adopted
views.py        modules as they see them
stand_ins.py    which functions have a dispatcher, and which
dispatchers.py  what all dispatchers have in common; lists of tensors
creation.py     np.zeros, np.array and their kin
mathematics.py  math and cmath
scipy_calls.py  SciPy's functions; their rules are registered in interop/adoption.py
scipy_rules.py  the rules
clones.py       NumPy's and SciPy's own Python for our tensors
patches.py      methods that are replaced in place: np.r_, np.vectorize
"""

from __future__ import annotations

from pullback.interop.adopt import scipy_rules as _scipy_rules  # noqa: F401 - which registers them
from pullback.interop.adopt.switch import adopt, release

__all__ = ["adopt", "release"]
