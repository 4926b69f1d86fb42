"""Functions of NumPy: mathematics, reductions, sorting, joining, linear algebra, transforms, tables, polynomials."""

import numpy as np
import scipy.linalg
import scipy.special

EXPRESSIONS = """
np.sin(x)
np.exp(-x)
np.log(x)
np.log1p(x)
np.expm1(t)
np.sqrt(x)
np.cbrt(y)
np.square(y)
np.reciprocal(x)
np.power(x, 3)
np.power(x, y)
np.float_power(x, 2)
np.tanh(y)
np.sinh(y)
np.arcsin(p / 2)
np.arctan2(y, x)
np.arctan2(s, t)
np.hypot(x, y)
np.logaddexp(x, y)
np.logaddexp2(x, y)
np.exp2(x)
np.log2(x)
np.log10(s)
np.sin(s)
np.exp(1j * x)
np.exp(1j * s)
np.exp(c)
np.sqrt(z)
np.angle(z)
np.angle(c)
np.abs(z)
np.absolute(y)
np.fabs(y)
np.sign(y)
np.sign(s)
np.heaviside(y, 0.5)
np.floor(x)
np.ceil(s)
np.trunc(y)
np.rint(x)
np.round(x, 1)
np.round(s)
np.around(x)
np.fix(y)
np.modf(x)
np.frexp(x)
np.ldexp(x, 2)
np.fmod(y, 0.47)
np.remainder(y, 0.47)
np.mod(x, 0.5)
np.floor_divide(x, 0.5)
np.divmod(x, 0.5)
np.copysign(x, y)
np.nextafter(x, 5.0)
np.spacing(x)
np.signbit(y)
np.sinc(x)
np.i0(x)
np.deg2rad(x)
np.degrees(s)
np.unwrap(x * 3)
np.maximum(x, 1)
np.maximum(x, y)
np.maximum(s, 0)
np.minimum(x, [1, 2, 1, 2, 1, 2])
np.fmax(x, y)
np.clip(x, 0.5, 2)
np.clip(x, None, 2)
np.clip(x, y, 2)
np.clip(s, 0, 1)
np.nan_to_num(x)
np.nan_to_num(x / (x > 1), nan=0.0, posinf=9.0)
np.isnan(x)
np.isfinite(s)
np.isinf(x / 0)
np.isclose(x, 0.7)
np.allclose(x, x)
np.array_equal(x, x.copy())
np.array_equiv(x, x)
np.isreal(x)
np.iscomplexobj(z)
np.isrealobj(x)
np.real_if_close(z.real + 0j)
np.sum(x)
np.sum(A, axis=0)
np.sum(A, axis=1, keepdims=True)
np.sum(A, axis=(0, 1))
np.sum(x, where=x > 1)
np.sum(x, initial=10.0)
np.sum(A, 0)
np.sum([x[0], x[1]])
np.sum([x, y], axis=0)
np.sum(h)
np.sum(h, dtype=np.float64)
np.sum(k)
np.sum(x > 1)
np.sum(s)
np.sum(o)
np.sum(e)
np.sum(E, axis=0)
np.prod(x)
np.prod(A, axis=1)
np.mean(x)
np.mean(A, axis=0)
np.mean(A, axis=(0, 1), keepdims=True)
np.mean(k)
np.mean(b)
np.mean(h)
np.mean([s, t])
np.average(x)
np.average(x, weights=y**2)
np.average(A, axis=0, weights=p**2)
np.std(x)
np.std(x, ddof=1)
np.std(A, axis=0)
np.std(z)
np.var(x)
np.var(A, axis=1, ddof=1)
np.var(A, axis=1, keepdims=True)
np.median(x)
np.median(A, axis=0)
np.percentile(x, 30)
np.percentile(x, [25, 50, 75])
np.quantile(A, 0.3, axis=1)
np.quantile(x, [0.1, 0.9], method="nearest")
np.ptp(x)
np.max(x)
np.max(A, axis=1)
np.max(A, axis=0, keepdims=True)
np.min(A)
np.amax(x)
np.amin(A, axis=0)
np.max(x, initial=5.0)
np.max(x, where=x < 3, initial=-np.inf)
np.nanmax(x)
np.nansum(x)
np.nanmean(A, axis=0)
np.nanstd(x)
np.argmax(x)
np.argmax(A, axis=1)
np.argmin(A)
np.nanargmax(x)
np.argsort(x)
np.argsort(A, axis=0)
np.argpartition(x, 2)
np.sort(x)
np.sort(A)
np.sort(A, axis=0)
np.sort(A, axis=None)
np.sort(x)[::-1]
np.partition(x, 2)
np.lexsort((y, x))
np.searchsorted(np.sort(x), 1.5)
np.searchsorted(np.sort(x), y)
np.searchsorted([0.5, 1.5, 2.5], x)
np.digitize(x, [0.5, 1.5, 2.5])
np.unique(x)
np.unique(k)
np.unique(x, return_index=True)
np.unique(x, return_counts=True)
np.union1d(x, y)
np.intersect1d(x, y)
np.isin(x, [0.7, 1.1])
np.any(x > 3)
np.all(A > -2, axis=0)
np.count_nonzero(x > 1)
np.count_nonzero(A > 0, axis=0)
np.nonzero(x > 1)
np.flatnonzero(y > 0)
np.cumsum(x)
np.cumsum(A)
np.cumsum(A, axis=0)
np.cumprod(x)
np.nancumsum(x)
np.cumulative_sum(x)
np.cumulative_sum(x, include_initial=True)
np.diff(x)
np.diff(A, axis=0)
np.diff(x, n=2)
np.diff(x, prepend=0.0)
np.ediff1d(x)
np.gradient(x)
np.gradient(x, 0.5)
np.gradient(A)
np.gradient(A, axis=0)
np.gradient(x, np.array([0.0, 1.0, 2.5, 3.0, 4.0, 6.0]))
np.trapezoid(x)
np.trapezoid(y, dx=0.5)
np.trapezoid(y, x=np.sort(x))
np.convolve(x, [0.25, 0.5, 0.25])
np.convolve(x, p, mode="same")
np.convolve(x, p, "valid")
np.correlate(x, p)
np.correlate(x, y, "full")
np.interp(1.0, np.arange(6), x)
np.interp(x, [0, 2, 4], [1.0, 5.0, 2.0])
np.interp([0.5, 1.5], np.arange(6.0), x)
np.interp(s, np.arange(6.0), x)
np.interp(x, np.sort(y), p[[0, 1, 2, 0, 1, 2]])
np.histogram(x)
np.histogram(x, bins=3)
np.histogram(x, bins=[0.0, 1.0, 2.0, 4.0])[0]
np.histogram(x, bins=3, weights=y)
np.histogram(x, bins=3, density=True)
np.histogram_bin_edges(x, bins=3)
np.histogram2d(x, y, bins=2)
np.bincount(k)
np.bincount(k, weights=x[:4])
np.bincount(k, minlength=6)
np.cov(A)
np.cov(x, y)
np.corrcoef(A)
np.concatenate([x, y])
np.concatenate((x, [1.0, 2.0]))
np.concatenate([A, A], axis=1)
np.concatenate([x, y, x], axis=None)
np.concatenate([x[:1], np.zeros(2), y[-1:]])
np.stack([x, y])
np.stack([x, y], axis=1)
np.stack((x[0], x[1]))
np.vstack([x, y])
np.vstack((A, q))
np.hstack([x, y])
np.hstack([A, A])
np.hstack([s, x])
np.hstack((0.0, x, 1.0))
np.dstack([A, A])
np.column_stack([x, y])
np.column_stack((p, A))
np.block([[C, p[:, None]], [p, 1.0]])
np.append(x, 1.0)
np.append(x, y)
np.append(A, [q], axis=0)
np.insert(x, 1, 5.0)
np.insert(x, [1, 3], [5.0, 6.0])
np.insert(A, 1, q, axis=0)
np.delete(x, 1)
np.delete(x, [0, 2])
np.delete(A, 1, axis=1)
np.r_[x, y]
np.r_[0.0, x, 1.0]
np.r_[x[0], x[1:]]
np.r_["0,2", x, y]
np.c_[x, y]
np.c_[np.ones(6), x]
np.array([x[0], x[1]])
np.array([x[0], 1.0])
np.array([[s, t], [t, s]])
np.array([x, y])
np.array([x, y]).T
np.array([x.sum(), y.mean()])
np.array([A[0], A[1]])
np.array([value**2 for value in x])
np.array([[s, 0], [0, 1]])
np.array((s, t))
np.array([s], dtype=np.float32)
np.array([c, 1j])
np.array([s, c])
np.array([1, x[0], k[0]])
np.array([])
np.asarray([s, t])
np.fromiter((value for value in x), float)
np.fromfunction(lambda j, n: s * j + n, (2, 3))
np.zeros_like(x)
np.ones_like(A)
np.empty_like(x).shape
np.full_like(x, 3.0)
np.full_like(x, s)
np.full(3, s)
np.full((2, 2), x[0])
np.zeros_like(x, dtype=int)
np.zeros_like(k)
np.zeros_like(A, shape=(2,))
np.zeros(3) + s
np.ones(6) * x
np.eye(3) * s
np.identity(3) @ A
np.linspace(0, s, 5)
np.linspace(s, 2.0, 3)
np.linspace(x[0], x[1], 4)
np.linspace(0, 1, 5) * s
np.arange(0, s, 0.5)
np.arange(3) * s
np.arange(s)
np.logspace(0, s, 3)
np.geomspace(1.0, s, 3)
np.tri(3) * C
np.vander(p, 3)
np.indices((2, 3)) * s
np.dot(x, y)
np.dot(A, q)
np.dot(A, B)
np.dot(s, x)
np.dot(x, [1, 2, 3, 4, 5, 6])
np.dot([1, 2, 3], A)
np.arange(6.0).dot(x)
np.vdot(x, y)
np.vdot(z, z)
np.inner(x, y)
np.inner(A, q)
np.outer(x, y)
np.outer([1, 2], x)
np.cross(p, A[:, 0])
np.cross(p, [1.0, 0.0, 0.0])
np.kron(p, q)
np.kron(C, np.eye(2))
np.matmul(A, B)
np.matvec(A, q)
np.vecdot(x, y)
np.tensordot(A, B, axes=1)
np.tensordot(T, A, axes=([2], [1]))
np.einsum("i,i->", x, y)
np.einsum("i,i", x, y)
np.einsum("ij,j->i", A, q)
np.einsum("ij,jk->ik", A, B)
np.einsum("ijk,ik->ij", T, T[:, 0])
np.einsum("ii", C)
np.einsum("...j,j->...", T, q)
np.einsum("i,j,ij->j", p, q, A, optimize=True)
np.einsum(A, [0, 1], q, [1], [0])
np.trace(C)
np.trace(A, offset=1)
np.linalg.norm(x)
np.linalg.norm(A)
np.linalg.norm(A, axis=1)
np.linalg.norm(x, 1)
np.linalg.norm(x, np.inf)
np.linalg.norm(A, "fro")
np.linalg.norm(C, 2)
np.linalg.norm(z)
np.linalg.vector_norm(A, axis=0)
np.linalg.det(C)
np.linalg.slogdet(C)
np.linalg.slogdet(C)[1]
np.linalg.slogdet(C).logabsdet
np.linalg.inv(C)
np.linalg.inv(C) @ p
np.linalg.pinv(A)
np.linalg.solve(C, p)
np.linalg.solve(C, np.eye(3))
np.linalg.solve(C, [1.0, 2.0, 3.0])
np.linalg.lstsq(B, q, rcond=None)[0]
np.linalg.lstsq(B, q, rcond=None)[1]
np.linalg.cholesky(C @ C.T)
np.linalg.eigh(C + C.T)[0]
np.linalg.eigvalsh(C + C.T)
np.linalg.eigvals(C @ C.T)
np.linalg.eig(C)[0]
np.linalg.svd(A)[1]
np.linalg.svd(A, compute_uv=False)
np.linalg.qr(B)[1]
np.linalg.qr(B, mode="r")
np.linalg.matrix_power(C, 3)
np.linalg.matrix_rank(C)
np.linalg.cond(C)
np.linalg.multi_dot([A, B, C])
np.linalg.inv(A)
np.linalg.inv(C * 0)
np.linalg.solve(C, q)
np.linalg.cholesky(-C @ C.T)
np.linalg.tensorsolve(C, p)
np.linalg.trace(C)
np.linalg.matrix_transpose(A)
np.linalg.outer(p, q)
np.fft.fft(x)
np.fft.ifft(z)
np.fft.rfft(x)
np.fft.irfft(z)
np.fft.irfft(np.fft.rfft(x) * 2, n=6)
np.fft.fft(x, 8)
np.fft.fft(A, axis=0)
np.fft.fft2(A)
np.fft.ifft2(A)
np.fft.rfft2(A)
np.fft.fftn(T)
np.fft.rfftn(T)
np.fft.fftshift(x)
np.fft.ifftshift(x)
np.fft.hfft(z)
abs(np.fft.fft(x)) ** 2
np.fft.fft(x).real
np.fft.fftfreq(6, d=s)
np.polyval([1.0, -2.0, 3.0], x)
np.polyval(p, 2.0)
np.polyval(p, x)
np.polyfit(np.arange(6), x, 2)
np.polyder(p)
np.polyint(p)
np.polymul(p, [1.0, 2.0])
np.polyadd(p, [1.0, 2.0])
np.roots(p)
np.poly(p)
np.poly1d(p)(2.0)
np.polynomial.polynomial.polyval(0.5, p)
np.polynomial.polynomial.polyval(x, p)
np.polynomial.Polynomial(p)(0.5)
np.polynomial.chebyshev.chebval(0.5, p)
np.polynomial.legendre.legval(x, [1.0, 0.5, 0.25])
np.vectorize(lambda u: u * 2)(x)
np.vectorize(lambda u: u if u > 1 else 0.0)(x)
np.vectorize(lambda u, w: u * w)(x, 2.0)
np.vectorize(np.dot, signature="(n),(n)->()")(A, q)
np.apply_along_axis(lambda row: row.sum(), 1, A)
np.apply_along_axis(np.cumsum, 0, A)
np.apply_over_axes(np.sum, T, [0, 2])
np.piecewise(x, [x < 1, x >= 1], [0.0, lambda u: u**2])
np.piecewise(x, [x < 1], [lambda u: u, lambda u: u**2])
np.frompyfunc(lambda u: u * 2, 1, 1)(x)
np.iterable(x)
np.ma.masked_array(x, mask=x > 1)
np.ma.masked_greater(x, 1).sum()
np.matrix(A)
np.asmatrix(A)
np.array_str(x)
np.array2string(x, precision=2)
np.array_repr(k)
np.format_float_positional(s, 3)
np.format_float_scientific(s, 2)
np.result_type(x, np.float32)
np.can_cast(x.dtype, int)
np.common_type(x)
np.promote_types(x.dtype, h.dtype)
np.min_scalar_type(x)
np.issubdtype(x.dtype, np.floating)
np.finfo(x.dtype).eps
np.iinfo(k.dtype).max
np.float64(x[0])
np.float64(s) * 2
np.float64(x)
np.float32(s)
np.float32(x)
np.complex128(s)
np.complex128(z)
np.int64(x)
np.int64(s)
np.bool_(s)
np.double(s)
np.random.default_rng(0).normal(s, 1.0)
np.random.default_rng(0).normal(0.0, 1.0, 3) * s
np.random.default_rng(0).normal(size=x.shape) + x
np.random.default_rng(0).choice(x)
np.random.default_rng(0).permutation(x)
np.random.default_rng(0).shuffle(x)
np.random.default_rng(0).choice(4, p=np.array([0.1, 0.2, 0.3, 0.4]))
np.random.default_rng(0).uniform() < s
np.random.RandomState(0).randn(6) * x
np.random.RandomState(0).normal(x)
np.random.RandomState(0).choice(4, p=x[:4] / x[:4].sum())
np.save(__import__("io").BytesIO(), x)
np.savetxt(__import__("io").StringIO(), A)
np.add.reduce(x)
np.add.reduce(A)
np.add.reduce(A, axis=1)
np.add.reduce(A, axis=(0, 1))
np.add.reduce(A, axis=None, keepdims=True)
np.add.reduce(x, initial=1.0, where=x > 1)
np.multiply.reduce(x)
np.maximum.reduce(x)
np.maximum.reduce([x, y, x * y])
np.minimum.reduce(A, axis=1)
np.logaddexp.reduce(x)
np.logical_and.reduce(x > 0)
np.add.accumulate(x)
np.multiply.accumulate(x)
np.maximum.accumulate(x)
np.minimum.accumulate(A, axis=1)
np.add.reduceat(x, [0, 2, 4])
np.add.reduceat(A, [0, 2], axis=1)
np.multiply.outer(p, q)
np.subtract.outer(x, x)
np.add.outer(p, [1.0, 2.0])
np.maximum.outer(p, q)
np.add(x, y, where=x > 1, out=np.zeros(6))
np.divide(x, y, out=np.zeros_like(x), where=y != 0)
np.divide(1.0, y, where=y > 0, out=np.ones_like(y))
np.add(x, y, dtype=np.float32)
np.add(x, 1, casting="unsafe")
np.sin(x, order="F")
np.add(h, h, dtype=float)
np.sin(k)
np.sqrt(k)
np.sqrt(i)
np.exp(b)
np.sqrt(-x)
np.log(x * 0)
np.sqrt(A, out=None)
np.add(x)
np.sin(x, x, x)
np.sum(A, axis=5)
np.sum(x, axis=1)
np.mean(x, keepdims=True)
np.concatenate([x, A])
np.concatenate([])
np.stack([x, p])
np.dot(x, p)
np.reshape(x, (4, 2))
np.einsum("ij,j->i", A, p)
scipy.special.expit(y)
scipy.special.erf(y)
scipy.special.gammaln(x)
scipy.special.logsumexp(x)
scipy.special.logsumexp(A, axis=1)
scipy.special.softmax(x)
scipy.special.xlogy(x, x)
scipy.linalg.expm(C)
scipy.linalg.solve(C, p)
scipy.linalg.cho_solve(scipy.linalg.cho_factor(C @ C.T), p)
scipy.linalg.block_diag(C, C)
scipy.linalg.toeplitz(p)
scipy.linalg.norm(x)
scipy.linalg.det(C)
scipy.linalg.inv(C)
"""


def softmax(x):
    exponentials = np.exp(x - np.max(x))
    return exponentials / exponentials.sum()


def softmax_of_rows(A):
    exponentials = np.exp(A - A.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def log_sum_exp(x):
    largest = x.max()
    return largest + np.log(np.exp(x - largest).sum())


def cosine_similarity(x, y):
    return x.dot(y) / (np.linalg.norm(x) * np.linalg.norm(y))


def standardised(A):
    return (A - A.mean(axis=0)) / A.std(axis=0)


def distances(A):
    return np.sqrt(((A[:, None, :] - A[None, :, :]) ** 2).sum(axis=-1) + 1e-6)


def moving_average(x):
    sums = np.cumsum(np.insert(x, 0, 0))
    return (sums[3:] - sums[:-3]) / 3


def exponential_average(x):
    out = np.zeros_like(x)
    out[0] = x[0]
    for j in range(1, len(x)):
        out[j] = 0.3 * x[j] + 0.7 * out[j - 1]
    return out


def maximum_with_argument(A):
    index = A.argmax(axis=1)
    return A[np.arange(3), index]


def maximum_is_a_value(A):
    largest = A.max(axis=1)
    return largest * 2


def maximum_unpacked(A):
    u, v, w = A.max(axis=1)
    return u * v - w


def huber(y):
    return np.where(np.abs(y) < 1, 0.5 * y**2, np.abs(y) - 0.5).sum()


def safe_log(x):
    return np.where(x > 0, np.log(np.where(x > 0, x, 1)), 0)


def relu_by_mask(y):
    out = y.copy()
    out[out < 0] = 0
    return out


def relu_by_product(y):
    return y * (y > 0)


def one_hot(A):
    hot = np.zeros((3, 4))
    hot[np.arange(3), [1, 0, 3]] = 1
    return (hot * A).sum()


def accuracy(A):
    return (A.argmax(axis=1) == np.array([3, 1, 2])).mean()


def table_lookup(s):
    grid = np.linspace(0, 3, 7)
    values = grid**2
    j = np.searchsorted(grid, s) - 1
    w = (s - grid[j]) / (grid[j + 1] - grid[j])
    return (1 - w) * values[j] + w * values[j + 1]


def table_of_parameters(x):
    grid = np.arange(6.0)
    return np.interp(np.linspace(0, 5, 11), grid, x).sum()


def power_iteration(C):
    v = np.ones(3)
    for _ in range(20):
        v = C @ v
        v /= np.linalg.norm(v)
    return v @ C @ v


def gram_schmidt(C):
    Q = np.zeros((3, 3))
    for j in range(3):
        v = C[:, j].copy()
        for n in range(j):
            v -= (Q[:, n] @ C[:, j]) * Q[:, n]
        Q[:, j] = v / np.linalg.norm(v)
    return Q


def running_maximum(x):
    best = -np.inf
    for value in x:
        if value > best:
            best = value
    return best


def trapezoid_by_hand(x):
    return 0.5 * (x[1:] + x[:-1]).sum() + (x[0] + x[-1]) * 0.0


def central_differences_of_a_function(s):
    return (np.sin(s + 1e-3) - np.sin(s - 1e-3)) / 2e-3


def histogram_by_hand(x):
    counts, edges = np.histogram(x, bins=3)
    return counts * np.diff(edges)


def quantile_normalised(x):
    low, high = np.percentile(x, [25, 75])
    return (x - low) / (high - low)


def errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 1, x / (x - 1), 0.0)


def rotation(s, p):
    c, d = np.cos(s), np.sin(s)
    R = np.array([[c, -d, 0], [d, c, 0], [0, 0, 1]])
    return R @ p


def polynomial_features(x):
    return np.vstack([x**n for n in range(3)]).T


def design_matrix(x):
    X = np.ones((6, 3))
    X[:, 1] = x
    X[:, 2] = x**2
    return np.linalg.solve(X.T @ X, X.T @ np.arange(6.0))
