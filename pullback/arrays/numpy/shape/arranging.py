"""Kernels that change shape: views where NumPy's strides allow, copies where PyTorch promises a new array."""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dims import at_dim, same_memory_view
from pullback.arrays.numpy.shape.strides import arranged
from pullback.core.dims import wrap_dim, wrap_dims

# -- the same elements under another shape -----------------------------------------------------------------


def alias(self):
    """A new array on the memory of self."""
    return same_memory_view(self)


def reshape(self, shape):
    """self under another shape: a view where the strides allow, else a copy."""
    out = self.reshape(shape)
    if out.shape != shape:  # as where -1 stands in it
        _refuse_negative(shape)
    return out


@loops("arguments")
def _refuse_negative(shape):
    """Raise for a size below -1, which NumPy takes for -1."""
    for size in shape if isinstance(shape, (tuple, list)) else (shape,):
        if size < -1:
            raise ValueError(f"invalid shape dimension {size}: a size is -1, for what is left over, or not negative")


def view(self, size):
    """self under another shape, on the same memory; refused where that is impossible."""
    out = reshape(self, size)
    # A copy cannot overlap the original, and the bounds check costs less than asking for strides beforehand.
    if not self.flags.c_contiguous and out.size and not np.may_share_memory(out, self):
        raise RuntimeError(
            f"view: size {tuple(size)} does not fit the shape {self.shape} and strides {self.strides} of the input "
            "without a copy (a dimension spans two of its memory blocks); use reshape(...) instead"
        )
    return out


def squeeze(self, dim=None):
    """self without its dimensions of size 1: all of them, or those among dim."""
    if dim is None:
        return self.reshape([n for n in self.shape if n != 1])
    if self.ndim == 0:
        wrap_dims(dim, 0, "squeeze")
        return same_memory_view(self)
    if type(dim) is int:
        dim = wrap_dim(dim, self.ndim, "squeeze")
        return self.squeeze(dim if self.shape[dim] == 1 else ())
    gone = [d for d in wrap_dims(dim, self.ndim, "squeeze") if self.shape[d] == 1]
    return self.squeeze(tuple(gone))


def unsqueeze(self, dim):
    """self with a new dimension of size 1 at dim."""
    return self[at_dim(None, wrap_dim(dim, self.ndim + 1, "unsqueeze"))]


def is_contiguous(self):
    """True if the elements lie in memory in C order without gaps."""
    return bool(self.flags.c_contiguous)


# -- the same dimensions in another order --------------------------------------------------------------------


def permute(self, dims):
    """self with its dimensions in the order dims."""
    return self.transpose((dims,) if isinstance(dims, (int, np.integer)) else dims)


def transpose(self, dim0, dim1):
    """self with two dimensions exchanged."""
    if self.ndim == 0:
        wrap_dim(dim0, 0, "transpose"), wrap_dim(dim1, 0, "transpose")
        return same_memory_view(self)
    return self.swapaxes(dim0, dim1)


def t(self):
    """The transpose of a matrix; a vector or a scalar stays as it is."""
    if self.ndim > 2:
        raise RuntimeError(f"t: expected at most 2 dimensions, got {self.ndim}; use transpose(dim0, dim1) or mT")
    return self.T


def numpy_T(self):
    """self with all dimensions in reverse order."""
    return self.T


@loops("arguments")
def movedim(self, source, destination):
    """self with the dimensions source moved to the places destination, the others in order."""
    ndim = self.ndim
    source, destination = wrap_dims(source, ndim, "movedim"), wrap_dims(destination, ndim, "movedim")
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: source has {len(source)} dimensions and destination {len(destination)}")
    if ndim == 0:
        return same_memory_view(self)
    order = [d for d in range(ndim) if d not in source]
    for to, come in sorted(zip(destination, source, strict=True)):
        order.insert(to, come)
    return self.transpose(order)


# -- views by stride -------------------------------------------------------------------------------------------


def expand(self, size, implicit=False):
    """self repeated along dimensions of size 1 and along new leading ones, by strides of 0; -1 keeps a size.

    The result is read-only where one element of memory stands at several places.
    """
    missing = len(size) - self.ndim
    if -1 in size:
        if missing < 0 or -1 in tuple(size)[:missing]:
            raise RuntimeError(f"expand: size {tuple(size)} has -1 in a dimension that an input of {self.shape} lacks")
        size = [self.shape[i - missing] if n == -1 else n for i, n in enumerate(size)]
    if tuple(size) == self.shape:
        return same_memory_view(self)
    try:
        return repeated(self, tuple(size))
    except ValueError:
        raise RuntimeError(
            f"expand: an input of shape {self.shape} does not expand to {tuple(size)}; sizes must be equal from the "
            "right, or 1 in the input"
        ) from None


@loops("arguments")
def repeated(x, shape):
    """np.broadcast_to(x, shape), read-only as well, in a quarter of its time for contiguous arrays."""
    if type(x) is not np.ndarray or not x.flags.c_contiguous:
        return np.broadcast_to(x, shape)
    missing = len(shape) - x.ndim
    strides = [0] * missing
    for have, want, stride in zip(x.shape, shape[missing:], x.strides, strict=True):
        if have not in (want, 1):
            raise ValueError(f"cannot broadcast {x.shape} to {shape}")
        strides.append(stride if have == want else 0)
    out = np.ndarray(shape, x.dtype, x, 0, strides)
    out.flags.writeable = False
    return out


def unfold(self, dimension, size, step):
    """Windows of `size` elements along a dimension, `step` apart, as a new last dimension of a view."""
    dim = wrap_dim(dimension, self.ndim, "unfold")
    length = self.shape[dim] if self.ndim else 1
    if not 0 <= size <= length:
        raise RuntimeError(f"unfold: size must be between 0 and {length}, the size of dimension {dim}; got {size}")
    if step < 1:
        raise RuntimeError(f"unfold: step must be positive, got {step}")
    if self.ndim == 0:
        return self[None][:size]
    count = (length - size) // step + 1
    out_shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size)
    stride = self.strides[dim]
    strides = (*self.strides[:dim], stride * step, *self.strides[dim + 1 :], stride)
    return arranged(self, out_shape, strides)


@loops("window")
def unfold_backward(grad, shape, dim, size, step):
    """Zeros of the given shape, and every window of grad added where unfold took it from."""
    if not len(shape):
        return grad.sum()
    out = np.zeros(shape, grad.dtype)
    dim = wrap_dim(dim, len(shape), "unfold")
    count = grad.shape[dim]
    for k in range(size):  # one strided addition for each place in the window: no index arrays
        out[at_dim(slice(k, k + (count - 1) * step + 1, step), dim)] += grad[..., k]
    return out


def view_as_real(self):
    """A complex array as a real one with a last dimension of 2: real and imaginary part."""
    if self.dtype.kind != "c":
        raise RuntimeError(f"view_as_real: expected a complex input, got {self.dtype}")
    part = np.asarray(self).real  # a gradient may be a number of NumPy's, which has no memory to share
    return arranged(part, (*part.shape, 2), (*part.strides, part.itemsize))


def view_as_complex(self):
    """A real array whose last dimension has size 2 as a complex one, on the same memory."""
    if self.dtype.kind != "f" or self.ndim == 0 or self.shape[-1] != 2:
        raise RuntimeError(
            f"view_as_complex: expected a floating input with a last dimension of 2, got {self.shape}, {self.dtype}"
        )
    size = self.itemsize
    if self.size and (self.strides[-1] != size or any(s % (2 * size) for s in self.strides[:-1])):
        raise RuntimeError("view_as_complex: real and imaginary parts must be neighbours in memory; use contiguous()")
    return self.view(np.result_type(self.dtype, np.complex64))[..., 0]


# -- copies ----------------------------------------------------------------------------------------------------


def flip(self, dims):
    """self with the order along dims reversed, as a copy."""
    return np.flip(self, wrap_dims(dims, self.ndim, "flip") if self.ndim else ()).copy()


def roll(self, shifts, dims=()):
    """Elements shifted along dims (or through the flattened array), those pushed out coming back in front."""
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not shifts:
        raise RuntimeError("roll: shifts must name at least one shift")
    if not dims and len(shifts) == 1:
        return np.roll(self, shifts[0])
    if len(dims) != len(shifts):
        raise RuntimeError(f"roll: shifts and dims must pair up, got {shifts} and {dims}")
    return np.roll(self, shifts, dims)


def rot90(self, k=1, dims=(0, 1)):
    """self rotated k times by 90 degrees in the plane of dims, from the first towards the second."""
    if len(dims) != 2 or self.ndim < 2:
        raise RuntimeError(f"rot90: expected two dims of an input with at least two, got dims {tuple(dims)}")
    wrap_dims(dims, self.ndim, "rot90")
    return np.rot90(self, k, tuple(dims)).copy()


def repeat(self, repeats):
    """self laid out repeats[i] times along dimension i; more repeats than dimensions make new leading ones."""
    if len(repeats) < self.ndim or any(n < 0 for n in repeats):
        raise RuntimeError(
            f"repeat: expected at least {self.ndim} repeats for an input of shape {self.shape}, none negative; "
            f"got {tuple(repeats)}"
        )
    return np.tile(self, tuple(repeats))


def tril(self, diagonal=0):
    """The lower triangles of matrices, zeros elsewhere."""
    check_matrices(self, "tril")
    return np.tril(self, diagonal)


def triu(self, diagonal=0):
    """The upper triangles of matrices, zeros elsewhere."""
    check_matrices(self, "triu")
    return np.triu(self, diagonal)


def check_matrices(self, name):
    """Refuses an input that has no matrices in it."""
    if self.ndim < 2:
        raise RuntimeError(f"{name}: expected an input with at least 2 dimensions, got shape {self.shape}")
