"""Helpers that the formulas of paramagnet.yaml call.

`ops` has the operators for what flows: NumPy's in an ordinary backward, those on Tensors when the backward is itself
differentiated. The package's own are in `ops.paramagnet`.
"""


def brillouin_slope(x, spin, *, ops):
    """d brillouin(x, spin) / dx = a**2 L'(a x) - b**2 L'(b x)."""
    langevin = ops.paramagnet.langevin
    a, b = _ratios(spin)
    return a**2 * langevin(a * x, 1) - b**2 * langevin(b * x, 1)


def brillouin_spin_slope(x, spin, *, ops):
    """d brillouin(x, spin) / d spin, from da = db = -2 b**2 d spin."""
    langevin = ops.paramagnet.langevin
    a, b = _ratios(spin)
    by_a = langevin(a * x) + a * x * langevin(a * x, 1)
    by_b = langevin(b * x) + b * x * langevin(b * x, 1)
    return -2 * b**2 * (by_a - by_b)


def _ratios(spin):
    b = 0.5 / spin
    return 1 + b, b
