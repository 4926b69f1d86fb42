"""Shape, layout and views: what shares memory and what does not."""

import numpy as np

EXPRESSIONS = """
x.reshape(2, 3)
x.reshape((2, 3))
x.reshape([2, 3])
x.reshape(-1, 2)
x.reshape(3, -1, order="F")
x.reshape(2, 3, order="A")
x.reshape(shape=(3, 2))
x.reshape(4, 2)
x.reshape(6, copy=True)
x.reshape(())
x[:1].reshape(())
np.reshape(x, (2, 3))
np.reshape(x, (2, 3), order="F")
A.reshape(-1)
A.reshape(4, 3)
A.reshape(12, order="F")
A.T.reshape(-1)
F.reshape(-1)
F.reshape(-1, order="F")
F.reshape(-1, order="A")
F.reshape(4, 3)
v.reshape(2, 2)
o.reshape(1)
o.reshape(1, 1)
o.reshape(())
s.reshape(1)
s.reshape(())
s.reshape(-1)
A.ravel()
A.ravel("F")
A.ravel(order="K")
A.T.ravel()
A.T.ravel("K")
F.ravel()
F.ravel("F")
F.ravel("A")
v.ravel()
x.ravel()
o.ravel()
s.ravel()
np.ravel(A)
np.ravel(A.T)
A.flatten()
A.flatten("F")
F.flatten("K")
x.flatten()
o.flatten()
s.flatten()
x.T
A.T
A.mT
T.T
T.mT
o.T
s.T
A.transpose()
A.transpose(1, 0)
A.transpose((1, 0))
A.transpose(None)
T.transpose(2, 0, 1)
T.transpose((0, 2, 1))
T.transpose(-1, 0, 1)
T.transpose()
T.transpose(0, 1)
np.transpose(A)
np.transpose(T, (1, 0, 2))
np.matrix_transpose(T)
np.permute_dims(T, (2, 0, 1))
T.swapaxes(0, 2)
T.swapaxes(-1, -2)
A.swapaxes(0, 1)
np.swapaxes(T, 0, 1)
np.moveaxis(T, 0, 2)
np.moveaxis(T, [0, 1], [2, 0])
np.rollaxis(T, 2)
x.squeeze()
x[None].squeeze()
x[None, :, None].squeeze(0)
x[None, :, None].squeeze(axis=-1)
x[None, :, None].squeeze(axis=(0, 2))
x.squeeze(0)
x[:1].squeeze()
np.squeeze(A[:, :1])
np.squeeze(A[:, :1], axis=1)
np.expand_dims(x, 0)
np.expand_dims(x, (0, 2))
np.expand_dims(A, axis=-1)
np.atleast_1d(s)
np.atleast_1d(x)
np.atleast_2d(x)
np.atleast_3d(A)
np.atleast_1d(o)
np.broadcast_to(x, (2, 6))
np.broadcast_to(s, (3,))
np.broadcast_arrays(A, q)
np.broadcast_arrays(p[:, None], q)[0]
np.broadcast_shapes(A.shape, q.shape)
np.flip(x)
np.flip(A, 1)
np.flip(A)
np.flipud(A)
np.fliplr(A)
np.rot90(A)
np.rot90(A, 2)
np.roll(x, 2)
np.roll(o, 1)
np.roll(s, 1)
np.roll(A, 1, axis=1)
np.roll(A, (1, 2), axis=(0, 1))
np.tile(x, 2)
np.tile(x, (2, 1))
np.tile(A, (1, 2))
x.repeat(2)
x.repeat([1, 0, 2, 1, 0, 3])
x.repeat(2, axis=0)
A.repeat(2)
A.repeat(2, axis=1)
A.repeat([1, 2, 0], 0)
np.repeat(x, 3)
np.repeat(A, 2, axis=0)
np.repeat(s, 3)
s.repeat(3)
o.repeat(2)
np.resize(x, 8)
np.resize(x, (2, 4))
np.pad(x, 1)
np.pad(x, (1, 2), mode="edge")
np.pad(A, ((1, 0), (0, 2)), constant_values=5.0)
np.pad(x, 2, mode="reflect")
np.pad(x, 2, mode="wrap")
np.pad(x, 2, mode="linear_ramp")
np.pad(x, 0)
np.split(x, 3)
np.split(x, [1, 4])
np.array_split(x, 4)
np.hsplit(A, 2)
np.vsplit(A, 3)
np.dsplit(T, 2)
np.unstack(A)
np.triu(A)
np.tril(A, -1)
np.triu(C, 1)
np.trim_zeros(x)
x.view()
x.view(np.ndarray)
x.view(float)
x.view(np.int64)
x.view(np.complex128)
z.view(float)
z.view(np.float64).reshape(-1, 2)
A.view(dtype=np.float64)
x.real
x.imag
z.real
z.imag
s.real
s.imag
c.real
c.imag
o.real
k.real
np.real(x)
np.imag(x)
np.real(z)
np.imag(z)
np.real(s)
x.conj()
x.conjugate()
z.conj()
z.conjugate()
np.conj(z)
c.conjugate()
s.conjugate()
z.T.conj()
A.copy()
A.T.copy()
F.copy()
F.copy(order="K")
F.copy("A")
np.copy(A)
np.copy(F)
x.copy()
s.copy()
o.copy()
A.shape
A.ndim
A.size
A.size / 2
A.itemsize
A.nbytes
A.dtype
A.dtype.kind
A.dtype == float
A.dtype is np.dtype(float)
A.strides
A.T.strides
A[::2, ::-1].strides
F.strides
v.strides
A[:, None].strides
A[0:1].strides
x.strides[0] // x.itemsize
T.transpose(2, 0, 1).strides
A.flags.c_contiguous
A.T.flags.c_contiguous
A.T.flags.f_contiguous
A.T.flags["F_CONTIGUOUS"]
A.flags.writeable
A.flags.owndata
A[0].flags.owndata
A.T.flags.contiguous
np.broadcast_to(x, (2, 6)).flags.writeable
np.isfortran(F)
x.base is None
A[0].base is A
A.T.base is A
A[0][1:].base is A
A.copy().base is None
x.shape[0]
x.shape == (6,)
len(A.shape)
A.shape[::-1]
A.shape + (1,)
[*A.shape, 2]
np.shape(A)
np.ndim(A)
np.size(A)
np.size(A, 1)
o.shape
o.ndim
o.size
s.shape
s.ndim
s.size
s.dtype
s.itemsize
s.nbytes
s.strides
s.base
e.shape
e.size
E.T.shape
k.dtype
(x > 1).dtype
h.dtype
z.dtype
x.astype(int)
x.astype(np.float32)
x.astype("f4")
x.astype(complex)
x.astype(bool)
x.astype(float)
x.astype(float, copy=False)
x.astype(np.int32).dtype
x.astype(int).sum()
x.astype(str)[0]
x.astype(object)
z.astype(float)
h.astype(float)
h.astype(np.float64) * 2
k.astype(float)
k.astype(float) * x[:4]
b.astype(int)
b.astype(float) * x
s.astype(int)
s.astype(np.float32)
o.astype(complex)
F.astype(float, order="C").strides
np.astype(x, np.float32)
x.astype(np.float32, casting="safe")
x.byteswap()
k.byteswap()
x.newbyteorder()
np.shares_memory(x, x[1:])
np.shares_memory(x, x.copy())
np.may_share_memory(A, A.T)
np.shares_memory(A, A.ravel())
np.shares_memory(A, A.flatten())
np.shares_memory(A, A[[0, 1]])
np.asarray(x) is x
np.asanyarray(x) is x
np.asarray(x)
np.asarray(x, dtype=float)
np.asarray(A, order="F").flags.f_contiguous
np.asarray(x, dtype=np.float32)
np.ascontiguousarray(A.T)
np.asfortranarray(A)
np.asarray_chkfinite(x)
np.require(A.T, requirements="C")
np.array(x)
np.array(x, copy=True)
np.array(x, ndmin=2)
np.array(A, order="F").strides
np.array(x, dtype=complex)
np.array(o)
np.array(s)
np.array(s) + 1
np.array(x, copy=None) is x
np.array(x, dtype=int)
x.device
x.to_device("cpu")
x.ctypes.data == x.ctypes.data
x.data.shape
memoryview(x).shape
x.__array_interface__["shape"]
x.__array_interface__["typestr"]
np.lib.array_utils.byte_bounds(x)[1] - np.lib.array_utils.byte_bounds(x)[0]
x.getfield(np.float64)
z.getfield(np.float64, 8)
np.einsum("ij->ji", A)
np.einsum("ii->i", C)
np.ndarray.reshape(x, (2, 3))
np.ndarray.sum(A, axis=0)
np.ndarray.mean(x)
"""


def reshape_then_write_to_original(x):
    y = x.reshape(2, 3)
    x[0] = 9.0
    return y


def reshape_in_place_by_attribute(x):
    y = x.copy()
    y.shape = (3, 2)
    return y


def reshape_in_place_impossible(A):
    y = A.T
    y.shape = (12,)


def strides_set(x):
    y = x[:3]
    y.strides = (16,)
    return y


def dtype_set(x):
    y = x.copy()
    y.dtype = np.int64
    return y


def real_and_imaginary_together(z):
    u = z.real
    w = z.imag
    u += w
    return u


def views_through_functions(A):
    left, right = np.hsplit(A, 2)
    left *= right
    return A


def meshgrid_views(p, q):
    X, Y = np.meshgrid(p, q)
    return X**2 + Y


def meshgrid_indexing(p, q):
    X, Y = np.meshgrid(p, q, indexing="ij")
    return X * Y


def meshgrid_sparse(p, q):
    X, Y = np.meshgrid(p, q, sparse=True)
    return np.sqrt(X**2 + Y**2)


def open_grid(p, q):
    u, w = np.ix_(p, q)
    return u + w


def hankel_by_strides(x):
    return np.lib.stride_tricks.as_strided(x, shape=(3, 4), strides=(x.strides[0], x.strides[0])).sum(axis=1)


def blocks(T):
    return T.reshape(2, 3, 2, 2).sum(axis=(0, 2))


def channels_last(T):
    return T.transpose(1, 2, 0).reshape(-1, 2)


def split_and_joined(x):
    return np.concatenate(np.split(x, 3)[::-1])
