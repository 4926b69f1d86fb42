"""`adopt()`: code written for NumPy, `math` and SciPy is differentiated as it stands.

switch.py       adopt() and release(): who sees what, and for how long
reached.py      which modules are adopted
views.py        modules as they see them
stand_ins.py    which functions have a dispatcher, and which
dispatchers.py  what all dispatchers have in common; lists of tensors
creation.py     np.zeros, np.array and their kin
ufuncs.py       np.sin and all other ufuncs, of lists of tensors
mathematics.py  math and cmath
rules.py        what is made to work, and the table of SciPy's rules, which are in pullback/scipy
state.py        whether it is in force: errors ask
scipy/          SciPy's functions: as adopted modules see them, and the ways in which they take our tensors
polynomials.py  numpy.polynomial, which leaves out zeros
patches.py      methods that are replaced in place: np.r_, np.vectorize
backends.py     einops and opt_einsum, which are told of our tensors
"""
