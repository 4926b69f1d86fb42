"""NumPy kernels that take complex numbers apart and put them together."""

import numpy as np

from pullback.arrays.numpy.dtypes import is_complex


def conj(self):
    """The conjugate, in memory of its own (np.conjugate makes int8 of booleans)."""
    return np.conjugate(self) if is_complex(self) else self.copy()


def real(self):
    """The real part: a view."""
    return self.real


def imag(self):
    """The imaginary part: a view."""
    if self.dtype.kind != "c":
        raise ValueError(
            f"a tensor of dtype {self.dtype} has no imaginary part to view; use zeros_like(tensor) for zeros."
        )
    return self.imag


def angle(self):
    """The argument of a complex number in (-pi, pi]; 0 or pi for a real one."""
    return np.arctan2(self.imag, self.real) if is_complex(self) else np.arctan2(0, self)


def complex(real, imag):
    """real + 1j * imag, without arithmetic: infinities and nans stay in their part."""
    out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), complex_type(real, imag))
    out.real, out.imag = real, imag
    return out


def polar(abs, angle):
    """abs * exp(1j * angle)."""
    complex_type(abs, angle)
    return complex(abs * np.cos(angle), abs * np.sin(angle))


def complex_type(first, second):
    """The complex dtype for two parts of one floating dtype."""
    dtypes = [np.asarray(x).dtype for x in (first, second)]
    if dtypes[0].kind != "f" or dtypes[0] != dtypes[1]:
        raise ValueError(f"both parts must have one real floating dtype, but they are {dtypes[0]} and {dtypes[1]}.")
    return np.result_type(dtypes[0], np.complex64)
