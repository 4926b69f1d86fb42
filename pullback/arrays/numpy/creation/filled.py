"""NumPy kernels that make arrays. The default floating dtype is float64, that of integers int64."""

import math

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.core.array_face import program_run

DEFAULT = np.dtype(np.float64)


def whatever(size, dtype):
    """Memory as it is found; zeros in a recording, which is compared with another one."""
    return (np.empty if program_run.get() is None else np.zeros)(size, dtype)


def zeros(size, dtype=None):
    """Zeros of a shape."""
    return np.zeros(size, DEFAULT if dtype is None else dtype)


def ones(size, dtype=None):
    """Ones of a shape."""
    return np.ones(size, DEFAULT if dtype is None else dtype)


def full(size, fill_value, dtype=None):
    """A shape filled with a number, whose kind gives the dtype."""
    return np.full(size, fill_value, dtype)


def empty(size, dtype=None):
    """A shape of whatever the memory holds."""
    return whatever(size, DEFAULT if dtype is None else dtype)


# np.zeros(x.shape) takes a fifth of the time of np.zeros_like(x), which many backward formulas call.


def zeros_like(self, dtype=None):
    """Zeros of the shape and dtype of self."""
    return np.zeros(self.shape, self.dtype if dtype is None else dtype)


def ones_like(self, dtype=None):
    """Ones of the shape and dtype of self."""
    return np.ones(self.shape, self.dtype if dtype is None else dtype)


def full_like(self, fill_value, dtype=None):
    """The shape and dtype of self, filled with a number."""
    return np.full(self.shape, fill_value, self.dtype if dtype is None else dtype)


def empty_like(self, dtype=None):
    """The shape and dtype of self, of whatever the memory holds."""
    return whatever(self.shape, self.dtype if dtype is None else dtype)


def new_zeros(self, size, dtype=None):
    """Zeros of a shape, of the dtype of self."""
    return np.zeros(size, self.dtype if dtype is None else dtype)


def new_ones(self, size, dtype=None):
    """Ones of a shape, of the dtype of self."""
    return np.ones(size, self.dtype if dtype is None else dtype)


def new_full(self, size, fill_value, dtype=None):
    """A shape filled with a number, of the dtype of self."""
    return np.full(size, fill_value, self.dtype if dtype is None else dtype)


def new_empty(self, size, dtype=None):
    """A shape of whatever the memory holds, of the dtype of self."""
    return whatever(size, self.dtype if dtype is None else dtype)


def scalar_tensor(s, dtype=None):
    """A number as an array without dimensions."""
    if dtype is None:
        dtype = np.complex128 if isinstance(s, complex) else DEFAULT
    return np.array(s, dtype)


# Ranges


def arange(end, dtype=None):
    """0, 1, 2, ... below end."""
    return arange_start(0, end, 1, dtype)


def arange_start(start, end, step=1, dtype=None):
    """start, start + step, ... before end."""
    limits = (start, end, step)
    whole = all(isinstance(x, (int, np.integer)) for x in limits)
    if not whole and not all(math.isfinite(x) for x in limits):
        raise ValueError(f"start, end and step must be finite, but they are {start}, {end}, {step}.")
    if step == 0:
        raise ValueError("step must not be 0.")
    if (end - start) * step < 0:
        raise ValueError(f"step {step} does not lead from start {start} to end {end}.")
    if dtype is None:
        dtype = np.dtype(np.int64) if whole else DEFAULT
    if not whole and np.dtype(dtype).kind in "iu":
        start, end, step = map(int, limits)
        whole = True
        if step == 0:
            raise ValueError(f"a step of {limits[2]} is 0 in dtype {dtype}.")
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    # start + i * step: np.arange accumulates an error in step.
    wide = np.result_type(dtype, np.int64) if np.dtype(dtype).kind in "iu" else np.result_type(dtype, np.float64)
    return (start + np.arange(count, dtype=wide) * step).astype(dtype, copy=False)


def linspace(start, end, steps, dtype=None):
    """`steps` numbers from start to end, both included, equally far apart."""
    start, end = end_points(start, end, steps, dtype)
    if dtype is None:
        dtype = np.result_type(start, end, DEFAULT)
    # np.linspace rounds down to integers; here they are rounded towards zero, as any conversion does.
    return np.linspace(start, end, steps).astype(dtype, copy=False)


def logspace(start, end, steps, base=10.0, dtype=None):
    """base ** x for x in linspace(start, end, steps)."""
    exponents = linspace(*end_points(start, end, steps, dtype), steps)
    if dtype is None:
        dtype = exponents.dtype
    return np.power(np.asarray(base, np.result_type(base, DEFAULT)), exponents).astype(dtype, copy=False)


@loops("arguments")
def end_points(start, end, steps, dtype):
    """start and end as Python numbers, checked; in an integer dtype they are integers."""
    for name, x in (("start", start), ("end", end)):
        if np.ndim(x):
            raise ValueError(f"{name} must be a number or have no dimensions, but its shape is {np.shape(x)}.")
    if not isinstance(steps, (int, np.integer)):
        raise TypeError(f"steps must be an int, but it is {steps!r}.")
    if steps < 0:
        raise ValueError(f"steps must not be negative, but it is {steps}.")
    if dtype is not None and np.dtype(dtype).kind in "iu":
        return int(start), int(end)
    return np.asarray(start).item(), np.asarray(end).item()


# Matrices


def eye(n, m=None, dtype=None):
    """Ones on the main diagonal of n rows and m (default n) columns, zeros elsewhere."""
    if n < 0 or (m is not None and m < 0):
        raise ValueError(f"n and m must not be negative, but they are {n} and {m}.")
    return np.eye(n, m, dtype=DEFAULT if dtype is None else dtype)


def tril_indices(row, col, offset=0, dtype=None):
    """Rows and columns, as a 2 x N array, of the elements on and below a diagonal."""
    return np.stack(np.tril_indices(row, offset, col)).astype(np.int64 if dtype is None else dtype, copy=False)


def triu_indices(row, col, offset=0, dtype=None):
    """Rows and columns, as a 2 x N array, of the elements on and above a diagonal."""
    return np.stack(np.triu_indices(row, offset, col)).astype(np.int64 if dtype is None else dtype, copy=False)
