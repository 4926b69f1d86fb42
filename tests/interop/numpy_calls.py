"""Calls of every NumPy function that has a rule: what tests try, and what tools/numpy_functions.py makes a table of.

Each call is a function of x, a 3 x 4 matrix of distinct numbers, or what is like it.
"""

import numpy as np

m = np.array([[0.3, -0.7, 1.1, 2.3], [1.9, 0.2, -1.3, 0.8], [-0.4, 1.6, 0.9, -2.1]])
mask = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
index = np.array([[2, 0], [1, 1]])
few = np.array([1.0, 2.5, -0.5])


def holed(x):
    """nan where mask is False."""
    return np.where(mask, x, np.nan)


METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


def into(x, write, *args, **kwargs):
    """What is there after a function has written into an array like x."""
    target = x * 1.0
    write(target, *args, **kwargs)
    return target


def doubled_edge(vector, width, axis, kwargs):
    """How np.pad may be told to pad: this writes twice the edge."""
    vector[: width[0]] = 2 * vector[width[0]]
    vector[-width[1] :] = 2 * vector[-width[1] - 1]


def leaves(result):
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


# name -> functions of x, a 3 x 4 matrix of distinct numbers; each is called with an ndarray and with a Tensor.
SMOOTH = {
    "angle": [lambda x: np.angle(x + 2j), lambda x: np.angle(x * (1 + x[0] * 1j), deg=True)],
    "append": [lambda x: np.append(x, 1.0), lambda x: np.append(x, x[:1], axis=0)],
    "apply_along_axis": [
        lambda x: np.apply_along_axis(np.sum, 0, x),
        lambda x: np.apply_along_axis(lambda r: np.stack([r, 2 * r]), 0, x),
        lambda x: np.apply_along_axis(lambda r: r[:2], 1, x),
    ],
    "array_split": [lambda x: np.array_split(x, 3, axis=1), lambda x: np.array_split(x, [1, 2])],
    "astype": [lambda x: np.astype(x, np.complex128).real],
    "atleast_1d": [lambda x: np.atleast_1d(x[0, 0]), lambda x: np.atleast_1d(x[0, 0], x)],
    "atleast_2d": [lambda x: np.atleast_2d(x[0])],
    "atleast_3d": [lambda x: np.atleast_3d(x)],
    "average": [
        lambda x: np.average([x[0], x[1]], axis=0, weights=x[2, :2]),
        lambda x: np.average(x),
        lambda x: np.average(x, axis=0, weights=few),
        lambda x: np.average(x, 1, keepdims=True),
        lambda x: np.average(m, weights=x * x, returned=True),
        lambda x: np.average(x, axis=(1, 0), weights=m.T * m.T),
    ],
    "bincount": [lambda x: np.bincount(np.array([0, 3, 0, 1]), x[0], minlength=6)],
    "histogram": [
        lambda x: np.histogram(x, 3),
        lambda x: np.histogram(m, 3, weights=x),
        lambda x: np.histogram(x, [-1.0, 0.0, 1.0], weights=x, density=True),
        lambda x: np.histogram(x, 4, density=True),
    ],
    "histogram2d": [
        lambda x: np.histogram2d(x[0], x[1], 2),
        lambda x: np.histogram2d(m[0], m[1], [few[[2, 0, 1]], 2], weights=x[2], density=True),
    ],
    "histogram_bin_edges": [lambda x: np.histogram_bin_edges(x, 3)],
    "histogramdd": [
        lambda x: np.histogramdd(x.T, 2, density=True),
        lambda x: np.histogramdd([m[0], m[1]], [2, 3], [(-1, 2), (-1, 1.5)], weights=x[0]),
    ],
    "block": [
        lambda x: np.block([[x[:, :1], 1 + x], [np.ones((1, 5))]]),
        lambda x: np.block([[x, x], [x, m]]), lambda x: np.block([x[0], 1.0])],
    "broadcast_arrays": [lambda x: np.broadcast_arrays(x, few[:, None], x[0])],
    "broadcast_to": [lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: np.broadcast_to(x[0, 0], 3)],
    "choose": [
        lambda x: np.choose(np.array([5, -1, 1, 0]), [x, x[0] * 2], mode="wrap"),
        lambda x: np.choose(np.array([5, -1, 1, 0]), x[:2], mode="clip"),
        lambda x: np.choose(np.array([0, 1, 1, 0]), [x, x[0] * 2])],
    "clip": [
        lambda x: np.clip(x, 0.1, 1.0, where=mask, out=x * 2),
        lambda x: np.clip(x, 0, 1, dtype="f8"),
        lambda x: np.clip(x, x[0, 0], x[1, 0]),
        lambda x: np.clip(x, -0.5, 1),
        lambda x: np.clip(x, None, few[:, None]),
        lambda x: np.clip(x, min=0.1),
        lambda x: np.clip(x, a_min=0.1, a_max=None),
        lambda x: np.clip(m, x - 0.5, x + 0.1),
    ],
    "column_stack": [lambda x: np.column_stack([x[:, 0], x, few])],
    "compress": [lambda x: np.compress([True, False, True], x, axis=0), lambda x: np.compress([True, False, True], x)],
    "concatenate": [
        lambda x: np.concatenate([x, m]),
        lambda x: np.concatenate((x, m), axis=-1),
        lambda x: np.concatenate([x, few], axis=None),
        lambda x: np.concatenate(x),
        lambda x: np.concatenate([[1.0, x[0, 0]], x[1]]),
    ],
    "convolve": [
        lambda x: np.convolve([x[0, 0], 2.0], x[1]),
        lambda x: np.convolve(x[0], few),
        lambda x: np.convolve(few, x[0], "same"),
        lambda x: np.convolve(x[0], few, "same"),
        lambda x: np.convolve(few, x[0], "valid"),
        lambda x: np.convolve(x[0], x[1], "same"),
    ],
    "copy": [
        lambda x: np.copy(x, order="F"),
        np.copy],
    "corrcoef": [
        lambda x: np.corrcoef(x, rowvar=False),
        np.corrcoef, lambda x: np.corrcoef(x[0], x[1] * m[0])],
    "correlate": [
        lambda x: np.correlate(x[0], few),
        lambda x: np.correlate(few, x[0], "same"),
        lambda x: np.correlate(x[0], few, "same"),
        lambda x: np.correlate(few, x[0], "full"),
        lambda x: np.correlate(x[0] * 1j, x[0] + 2j, "full").imag,
    ],
    "cov": [
        lambda x: np.cov(x, fweights=[1, 2, 3, 4]),
        lambda x: np.cov(x, aweights=x[0] ** 2, ddof=1),
        lambda x: np.cov(m, aweights=x[0] ** 2, fweights=[1, 2, 1, 2], bias=True),
        np.cov,
        lambda x: np.cov(x, rowvar=False, bias=True),
        lambda x: np.cov(x[0], x[1], ddof=0),
        lambda x: np.cov(x[0]),
    ],
    "cross": [lambda x: np.cross(x.T, few), lambda x: np.cross(x, m, axis=0), lambda x: np.cross(x[:, 0], x[:, 1])],
    "cumprod": [np.cumprod, lambda x: np.cumprod(x, axis=1)],
    "cumsum": [np.cumsum, lambda x: np.cumsum(x, 0), lambda x: np.cumsum(x, -1, dtype=np.float64)],
    "cumulative_prod": [lambda x: np.cumulative_prod(x, axis=1, include_initial=True)],
    "cumulative_sum": [lambda x: np.cumulative_sum(x[0]), lambda x: np.cumulative_sum(x, axis=0, include_initial=True)],
    "delete": [lambda x: np.delete(x, 1, axis=0), lambda x: np.delete(x, [0, 5]), lambda x: np.delete(x, np.s_[1:], 1)],
    "diag": [np.diag, lambda x: np.diag(x[0], 1)],
    "diagflat": [lambda x: np.diagflat(x, 1)],
    "diagonal": [np.diagonal, lambda x: np.diagonal(x, 1, 1, 0)],
    "diff": [np.diff, lambda x: np.diff(x, 2, axis=0), lambda x: np.diff(x, prepend=0.0, append=x[:, :1])],
    "dot": [
        lambda x: np.dot([x[0, 0], 2.0], x[:2]),
        lambda x: np.dot([[x[0, 0], x[0, 1]], [1.0, 2.0]], x[:2]),
        lambda x: np.dot(x, few[:2].sum()),
        lambda x: np.dot(x, x[0]),
        lambda x: np.dot(x, x.T),
        lambda x: np.dot(np.ones((2, 3, 4)), x.T),
        lambda x: np.dot(np.ones((2, 2, 4)), x[0]),
        lambda x: np.dot(2.0, x),
    ],
    "dsplit": [lambda x: np.dsplit(x[None], 2)],
    "dstack": [lambda x: np.dstack([x, m]), lambda x: np.dstack([x[0], m[0]])],
    "ediff1d": [np.ediff1d, lambda x: np.ediff1d(x[0], to_begin=[x[1, 0], 1.0], to_end=-2.0)],
    "einsum": [
        lambda x: np.einsum("ij,ij->i", [x[0], x[1]], x[:2]),
        lambda x: np.einsum("ij,kj->ik", x, m),
        lambda x: np.einsum("ij", x.T),
        lambda x: np.einsum("ij,ij", x, x, optimize=True),
        lambda x: np.einsum(x, [0, 1], x, [2, 1], [0, 2]),
        lambda x: np.einsum("...j,j->...", x, x[0]),
    ],
    "expand_dims": [lambda x: np.expand_dims(x, 1), lambda x: np.expand_dims(x, (0, -1))],
    "extract": [lambda x: np.extract(mask, x)],
    "fft.fftfreq": [lambda x: np.fft.fftfreq(4, x[0, 0])],
    "fft.rfftfreq": [lambda x: np.fft.rfftfreq(5, x[0, 0])],
    "fft.fftshift": [np.fft.fftshift, lambda x: np.fft.fftshift(x, 1)],
    "fft.ifftshift": [np.fft.ifftshift, lambda x: np.fft.ifftshift(x, (0,))],
    "flip": [np.flip, lambda x: np.flip(x, 1), lambda x: np.flip(x, (0, 1))],
    "fliplr": [np.fliplr],
    "flipud": [np.flipud],
    "fromfunction": [lambda x: np.fromfunction(lambda i, j: i * x + j, (3, 4))],
    "full_like": [lambda x: np.full_like(x, x[0]), lambda x: np.full_like(x, x[0, 0], shape=(2,))],
    "gradient": [
        lambda x: np.gradient(x[0]),
        lambda x: np.gradient(x, 0.5, axis=0, edge_order=2),
        lambda x: np.gradient(x, few * few, np.array([0.0, 1.0, 1.5, 4.0])),
        lambda x: np.gradient(m[0], np.cumsum(x[0] ** 2), edge_order=2),
        lambda x: np.gradient(x, 2.0, 3.0),
    ],
    "hsplit": [lambda x: np.hsplit(x, 2)],
    "hstack": [lambda x: np.hstack([x, m]), lambda x: np.hstack([x[0, 0], x[0]])],
    "i0": [np.i0],
    "imag": [lambda x: np.imag(x * 2j)],
    "inner": [lambda x: np.inner(x, m), lambda x: np.inner(x[0], x[1]), lambda x: np.inner(x, 2.0)],
    "interp": [
        lambda x: np.interp(x, [2.0, 0.5, 1.0], [1.0, 3.0, -1.0], period=2.5),
        lambda x: np.interp(m + 0.05, x[0], x[1], period=x[2, 2] * 7),
        lambda x: np.interp(x, [-2.0, 0.0, 2.0], [1.0, 3.0, -1.0]),
        lambda x: np.interp([-9.0, 0.1, 0.5, 9.0], np.cumsum(x[0] ** 2), x[1]),
        lambda x: np.interp(x, [-1.0, 1.0], x[0, :2], left=7.0, right=x[0, 0]),
    ],
    "kron": [lambda x: np.kron(x, few)],
    "linalg.cholesky": [lambda x: np.linalg.cholesky(x @ x.T), lambda x: np.linalg.cholesky(x @ x.T, upper=True),
                        lambda x: np.linalg.cholesky(x[:, :3] + 9 * np.eye(3)),
                        lambda x: np.linalg.cholesky(x[:, :3] + 9 * np.eye(3), upper=True)],
    "linalg.cond": [
        lambda x: np.linalg.cond(x[:, :3], np.inf),
        lambda x: np.linalg.cond(x[:, :3], "fro"),
        lambda x: np.linalg.cond(x, -2),
        lambda x: np.linalg.cond(x), lambda x: np.linalg.cond(x[:, :3], 1)],
    "linalg.cross": [lambda x: np.linalg.cross(x, m, axis=0)],
    "linalg.det": [lambda x: np.linalg.det(x[:, :3])],
    "linalg.diagonal": [lambda x: np.linalg.diagonal(x[None], offset=1)],
    "linalg.eig": [lambda x: np.linalg.eig(x @ x.T)[0], lambda x: np.linalg.eig(x @ x.T).eigenvectors ** 2],
    "linalg.eigh": [lambda x: np.linalg.eigh(x @ x.T).eigenvalues, lambda x: np.linalg.eigh(x @ x.T, "U")[1] ** 2,
                    lambda x: np.linalg.eigh(x[:, :3])[1] ** 2, lambda x: np.linalg.eigh(x[:, :3], UPLO="u")[0]],
    "linalg.eigvals": [lambda x: np.linalg.eigvals(x @ x.T),
                       lambda x: np.abs(np.linalg.eigvals(x[:2, :2] - 9 * np.eye(2)[::-1] * [1, -1]))],
    "linalg.eigvalsh": [lambda x: np.linalg.eigvalsh(x @ x.T), lambda x: np.linalg.eigvalsh(x[:, :3], "U"),
                        lambda x: np.linalg.eigvalsh(x[:, :3])],
    "linalg.inv": [lambda x: np.linalg.inv(x[:, :3])],
    "linalg.lstsq": [
        lambda x: np.linalg.lstsq(x.T, m[0])[:2],
        lambda x: np.linalg.lstsq(x, m[:, :2])[0],
        lambda x: np.linalg.lstsq(x.T, m[0], 2.0)[0],
    ],
    "linalg.matmul": [lambda x: np.linalg.matmul(x, m.T)],
    "linalg.matrix_norm": [np.linalg.matrix_norm, lambda x: np.linalg.matrix_norm(x[None], ord="nuc", keepdims=True)],
    "linalg.matrix_power": [lambda x: np.linalg.matrix_power(x[:, :3], -2),
                            lambda x: np.linalg.matrix_power(x[:, :3], 5),
                            lambda x: np.linalg.matrix_power(x[:, 1:], 1)],
    "linalg.multi_dot": [lambda x: np.linalg.multi_dot([x, m.T, x])],
    "linalg.norm": [
        lambda x: np.linalg.norm(x, -1),
        lambda x: np.linalg.norm(x, 2),
        lambda x: np.linalg.norm(x, -2),
        lambda x: np.linalg.norm(x, np.inf),
        lambda x: np.linalg.norm(x[0], -np.inf),
        lambda x: np.linalg.norm(x[0], 0) * x,
        np.linalg.norm, lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.norm(x, 1, keepdims=True),
                    lambda x: np.linalg.norm(x[None], "nuc", axis=(1, 2)), lambda x: np.linalg.norm(x[0], 3)],
    "linalg.outer": [lambda x: np.linalg.outer(x[0], few)],
    "linalg.pinv": [np.linalg.pinv, lambda x: np.linalg.pinv(x @ x.T, rtol=None, hermitian=True),
                    lambda x: np.linalg.pinv(x[:, :3], hermitian=True)],
    "linalg.qr": [
        lambda x: np.linalg.qr(x, mode="complete")[1],
        lambda x: np.linalg.qr(x[:, :3], mode="complete"),
        lambda x: np.linalg.qr(x), lambda x: np.linalg.qr(x.T, mode="r")],
    "linalg.slogdet": [lambda x: np.linalg.slogdet(x[:, :3]).logabsdet],
    "linalg.solve": [
        lambda x: np.linalg.solve([[x[0, 0], 1.0], [2.0, x[0, 1]]], x[0, :2]),
        lambda x: np.linalg.solve(x[:, :3], few), lambda x: np.linalg.solve(m[:, :3], x[None])],
    "linalg.svd": [
        lambda x: np.linalg.svd(x @ x.T - 2, hermitian=True)[1],
        lambda x: np.linalg.svd(x[:, :3], hermitian=True, compute_uv=False),
        lambda x: np.linalg.svd(x[:, :3], hermitian=True)[1],
        lambda x: np.linalg.svd(x @ x.T - 2, hermitian=True, compute_uv=False),
        lambda x: np.linalg.svd(x @ x.T - 2, hermitian=True).Vh ** 2,
        lambda x: np.linalg.svd(x, compute_uv=False),
                   lambda x: np.linalg.svd(x, full_matrices=False).U ** 2],
    "linalg.svdvals": [lambda x: np.linalg.svdvals(x)],
    "linalg.tensorinv": [lambda x: np.linalg.tensorinv(np.reshape(x[:, :3], (3, 3, 1)), ind=1)],
    "linalg.tensorsolve": [lambda x: np.linalg.tensorsolve(x[:, :3], few)],
    "linalg.tensordot": [lambda x: np.linalg.tensordot(x, m, axes=([0], [0]))],
    "linalg.trace": [lambda x: np.linalg.trace(x[None], offset=-1)],
    "linalg.vector_norm": [np.linalg.vector_norm, lambda x: np.linalg.vector_norm(x, axis=0, ord=1, keepdims=True)],
    "linalg.vecdot": [lambda x: np.linalg.vecdot(x, m, axis=0)],
    "linspace": [
        lambda x: np.linspace([x[0, 0], 1.0], x[0, :2] + 3, 4),
        lambda x: np.linspace(x[0, 0], 3.0, 5),
        lambda x: np.linspace(x[0], x[1], 4, endpoint=False, axis=1),
        lambda x: np.linspace(x[0, 0], x[0, 1], 3, retstep=True),
        lambda x: np.linspace(x[0, 0], x[0, 1], 1),
    ],
    "logspace": [
        lambda x: np.logspace(x[0], 1.0, 3, base=x[1] ** 2, axis=1),
        lambda x: np.logspace(x[0, 0], x[0, 1], 4, base=2.0)],
    "matrix_transpose": [np.matrix_transpose],
    "max": [np.max, lambda x: np.max(x, axis=0, keepdims=True), lambda x: np.max(x, (0, 1), initial=1.5),
            lambda x: np.max(x, 1, where=mask, initial=-9.0)],
    "mean": [np.mean, lambda x: np.mean(x, (0, 1)), lambda x: np.mean(x, 1, keepdims=True),
             lambda x: np.mean(x, 0, where=mask), lambda x: np.mean(x, axis=())],
    "median": [np.median, lambda x: np.median(x, 0), lambda x: np.median(x, (0, 1), keepdims=True)],
    "meshgrid": [lambda x: np.meshgrid(x[0], few), lambda x: np.meshgrid(x[0], few, indexing="ij", sparse=True)],
    "min": [np.min, lambda x: np.min(x, -1), lambda x: np.min(x, 0, initial=-0.5, where=mask)],
    "moveaxis": [lambda x: np.moveaxis(x[None], 0, -1), lambda x: np.moveaxis(x[None], (0, 1), (2, 0))],
    "nan_to_num": [
        lambda x: np.nan_to_num(holed(x), nan=0.5),
        lambda x: np.abs(np.nan_to_num(holed(x) + 1j * x[::-1], nan=0.5)),
    ],
    "nancumprod": [lambda x: np.nancumprod(holed(x), axis=0)],
    "nancumsum": [lambda x: np.nancumsum(holed(x), axis=1)],
    "nanmax": [lambda x: np.nanmax(holed(x), axis=0), lambda x: np.nanmax(x)],
    "nanmean": [lambda x: np.nanmean(holed(x), axis=1), lambda x: np.nanmean(holed(x))],
    "nanmin": [lambda x: np.nanmin(holed(x), axis=0, keepdims=True)],
    "nanprod": [lambda x: np.nanprod(holed(x), axis=1)],
    "nanstd": [
        lambda x: np.nanstd(holed(x), 0, where=m > -1),
        lambda x: np.nanstd(holed(x), axis=1), lambda x: np.nanstd(holed(x), ddof=1)],
    "nansum": [lambda x: np.nansum(holed(x), axis=0)],
    "nanvar": [
        lambda x: np.nanvar(holed(x), 1, mean=x[:, :1]),
        lambda x: np.nanvar(holed(x), axis=1, keepdims=True)],
    "outer": [lambda x: np.outer(x, few), lambda x: np.outer([1.0, 2.0], x[0])],
    "pad": [
        lambda x: np.pad(x, ((1, 2), (3, 0)), mode="linear_ramp", end_values=((x[0, 0], 1.0), (2.0, 3.0))),
        lambda x: np.pad(x, (2, 1), mode="maximum"),
        lambda x: np.pad(x, 1, mode="mean", stat_length=((1, 2), (3, 2))),
        lambda x: np.pad(x, 2, mode="median"),
        lambda x: np.pad(x, 1, mode="minimum", stat_length=2),
        lambda x: np.pad(x, ((5, 3), (1, 9)), mode="reflect", reflect_type="odd"),
        lambda x: np.pad(x, ((5, 3), (1, 9)), mode="symmetric", reflect_type="odd"),
        lambda x: np.pad(x[:1], 2, mode="reflect", reflect_type="odd"),
        lambda x: np.pad(x, 1, constant_values=x[0, 0]),
        lambda x: np.pad(x, {0: 1, -1: (0, 2)}),
        lambda x: np.pad(x, 2, doubled_edge),
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, ((0, 1), (2, 0)), constant_values=((1, 2), (3, 4))),
        lambda x: np.pad(x, ((2, 1), (0, 1)), mode="reflect"),
        lambda x: np.pad(x, (1, 2), mode="edge"),
        lambda x: np.pad(x, 5, mode="wrap"),
        lambda x: np.pad(x, 2, mode="symmetric"),
    ],
    "partition": [lambda x: np.sort(np.partition(x[0], 2)[:2])],
    "percentile": [
        lambda x: np.percentile(x, 30, axis=1, method="midpoint"),
        lambda x: np.percentile(x, [10, 60], axis=1), lambda x: np.percentile(x, 100)],
    "piecewise": [
        lambda x: np.piecewise(x, [mask], [lambda u: u**2, 3.0]),
        lambda x: np.piecewise(x, [~mask, mask], [lambda u, k: np.sin(u), lambda u, k: u * k], 4.0),
    ],
    "polyval": [
        lambda x: np.poly1d(x[0])(x),
        lambda x: np.polyval(x[0], np.poly1d([1.0, 2.0])).coeffs,
        lambda x: np.polyval(x[0], m), lambda x: np.polyval([2.0, 0.0, 1.0], x)],
    "prod": [np.prod, lambda x: np.prod(x, (0, 1)), lambda x: np.prod(x, 1, keepdims=True, initial=3.0),
             lambda x: np.prod(x, 0, where=mask), lambda x: np.prod(x, axis=())],
    "ptp": [np.ptp, lambda x: np.ptp(x, axis=1, keepdims=True)],
    "quantile": [
        *(lambda x, how=how: np.quantile(x, [0.0, 0.13, 0.5, 0.99, 1.0], axis=1, method=how) for how in METHODS),
        *(lambda x, how=how: np.quantile(x, x[0, 0], method=how) for how in METHODS),
        lambda x: np.quantile(x, x[0, :1], axis=0),
        lambda x: np.quantile(x, [0.2, 0.6], method="inverted_cdf", weights=m * m),
        lambda x: np.quantile(x, 0.2, axis=(1, 0), method="inverted_cdf", weights=m.T * m.T),
        lambda x: np.quantile(x, 0.3),
        lambda x: np.quantile(x, [0.0, 0.25, 0.9, 1.0], axis=0, keepdims=True),
        lambda x: np.quantile(x, [[0.1, 0.2]], axis=(0, 1)),
    ],
    "ravel": [
        lambda x: np.ravel(x, "A"),
        lambda x: np.ravel(x.T, "K"),
        lambda x: np.ravel(x.T, "A"),
        np.ravel, lambda x: np.ravel(x, "F")],
    "real": [np.real, lambda x: np.real(x * (1 + 2j))],
    "repeat": [lambda x: np.repeat(x, 2), lambda x: np.repeat(x, [1, 0, 2], axis=0)],
    "reshape": [
        lambda x: np.reshape(x.T, (2, 6), order="A"),
        lambda x: np.reshape(x, (2, 6), copy=False),
        lambda x: np.reshape(x, (4, -1)),
        lambda x: np.reshape(x, -1, order="F"),
        lambda x: np.reshape(x, (2, 6), order="F"),
        lambda x: np.reshape(x, 12, copy=True),
    ],
    "resize": [lambda x: np.resize(x, (5, 3))],
    "roll": [lambda x: np.roll(x, 2), lambda x: np.roll(x, 1, axis=1), lambda x: np.roll(x, (1, -2), (0, 1)),
             lambda x: np.roll(x, (1, 1), axis=0)],
    "rollaxis": [lambda x: np.rollaxis(x[None], 2), lambda x: np.rollaxis(x[None], 0, 3)],
    "rot90": [np.rot90, lambda x: np.rot90(x, 3, axes=(1, 0))],
    "select": [
        lambda x: np.select([m > 1, mask], [x[0], [1.0, 2.0, 3.0, 4.0]], default=x),
        lambda x: np.select([mask, m > 1], [x, x * 2], default=-1.0)],
    "sinc": [np.sinc],
    "sort": [
        lambda x: np.sort(x + 1j * x[::-1]).imag,
        np.sort, lambda x: np.sort(x, axis=0, kind="stable"), lambda x: np.sort(x, axis=None)],
    "split": [lambda x: np.split(x, 2, axis=1), lambda x: np.split(x, [1, 1])],
    "squeeze": [lambda x: np.squeeze(x[None, :, :1]), lambda x: np.squeeze(x[None, :, :1], axis=0)],
    "stack": [
        lambda x: np.stack([x, m], axis=1), lambda x: np.stack([x[0, 0], 1.0, x[0, 1]])],
    "std": [
        lambda x: np.std(x, where=mask),
        lambda x: np.std(x, axis=1, mean=x[:, :1]),
        np.std, lambda x: np.std(x, axis=0, ddof=1), lambda x: np.std(x, (0, 1), keepdims=True)],
    "sum": [np.sum, lambda x: np.sum(x, axis=(0, 1)), lambda x: np.sum(x, -1, keepdims=True, initial=2.0),
            lambda x: np.sum(x, 0, where=mask), lambda x: np.sum(x, axis=()), lambda x: np.sum(x, dtype=complex).real],
    "swapaxes": [lambda x: np.swapaxes(x, 0, 1)],
    "take": [
        lambda x: np.take(x, [3, 0, -1]),
        lambda x: np.take(x, index, axis=1),
        lambda x: np.take(x, 7, axis=0, mode="wrap"),
        lambda x: np.take(x, [-3, 9], axis=0, mode="clip"),
    ],
    "take_along_axis": [lambda x: np.take_along_axis(x, np.argsort(m, axis=1), axis=1),
                        lambda x: np.take_along_axis(x, np.array([3, 3]), None)],
    "tensordot": [lambda x: np.tensordot(x, m), lambda x: np.tensordot(x, m, (0, 0)),
                  lambda x: np.tensordot(x, m, ([0, 1], [0, 1])), lambda x: np.tensordot(x, few, 0)],
    "tile": [lambda x: np.tile(x, 2), lambda x: np.tile(x, [True, 2]), lambda x: np.tile(x, (2, 1, 2))],
    "trace": [np.trace, lambda x: np.trace(x[None], 1, 1, 2)],
    "transpose": [np.transpose, lambda x: np.transpose(x[None], (1, -1, 0))],
    "trapezoid": [np.trapezoid, lambda x: np.trapezoid(x, dx=0.5, axis=0), lambda x: np.trapezoid(x, few, axis=0),
                  lambda x: np.trapezoid(m, x * x), lambda x: np.trapezoid(m[0], x[0]),
                  lambda x: np.trapezoid(m[0], x * x), lambda x: np.trapezoid(x[0], m * m)],
    "tril": [np.tril, lambda x: np.tril(x, 1), lambda x: np.tril(x[0])],
    "triu": [np.triu, lambda x: np.triu(x, -1), lambda x: np.triu(x[0])],
    "unique": [np.unique, lambda x: np.unique(np.concatenate([x, x[:1]]), axis=0)],
    "unique_values": [lambda x: np.sort(np.unique_values(x))],
    "unstack": [lambda x: np.unstack(x, axis=1)],
    "vander": [lambda x: np.vander(x[0]), lambda x: np.vander(x[0], 3, increasing=True)],
    "var": [
        lambda x: np.var(x, 1, where=mask, ddof=1),
        lambda x: np.var(x, axis=0, mean=x[:1], keepdims=True),
        np.var, lambda x: np.var(x, 1, ddof=1), lambda x: np.var(x, axis=(0, 1), keepdims=True),
            lambda x: np.var(x, correction=1)],
    "vdot": [lambda x: np.vdot(x, m), lambda x: np.vdot(x[0] * 1j, m[0] + 1j).real],
    "vsplit": [lambda x: np.vsplit(x, 3)],
    "row_stack": [lambda x: np.vstack([x, m[0]])],
    "vstack": [lambda x: np.vstack([x, m[0]]), lambda x: np.vstack([x[0], m[0]])],
    "where": [
        lambda x: np.where(mask, x, [x[0, 0], 1.0, 2, 3]),
        lambda x: np.where(mask, x, 0.0), lambda x: np.where(x > 0, x, x[0] ** 2),
              lambda x: np.where([1, 0, 2, 0], x, m)],
    "apply_over_axes": [
        lambda x: np.apply_over_axes(np.sum, x, [0, 1]),
        lambda x: np.apply_over_axes(np.cumsum, x, -1),
    ],
    "copyto": [
        lambda x: into(x, np.copyto, x[0] ** 2),
        lambda x: into(x, np.copyto, x * x, where=mask),
        lambda x: into(x, np.copyto, [1, 2, 3, 4]),
    ],
    "fill_diagonal": [
        lambda x: into(x, np.fill_diagonal, x[0] ** 2),
        lambda x: into(np.concatenate([x.T, x.T])[:, :2], np.fill_diagonal, x[0, 0], wrap=True),
        lambda x: into(x, np.fill_diagonal, 3.0),
    ],
    "geomspace": [
        lambda x: np.geomspace(x[0, 0], 3.0, 5),
        lambda x: np.geomspace(x[0] ** 2, x[1] ** 2, 4, endpoint=False, axis=1),
        lambda x: np.geomspace(-x[0, 0], -x[0, 2], 3),
        lambda x: np.geomspace(x[0, 0], x[0, 2], 1),
    ],
    "insert": [
        lambda x: np.insert(x, 1, x[0, 0]),
        lambda x: np.insert(x, 1, x[0], axis=0),
        lambda x: np.insert(x, [1, 1, 3], x[:, :3], axis=1),
        lambda x: np.insert(m, [0, 2], x[0, :2]),
        lambda x: np.insert(x, -1, x[:, :2].T, axis=1),
        lambda x: np.insert(x, [1], x[:, :2], axis=1),
        lambda x: np.insert(x, slice(1, 3), 2.0, axis=1),
        lambda x: np.insert(x, mask[0], [1.0, x[0, 0], 2.0], axis=1),
    ],
    "intersect1d": [
        lambda x: np.intersect1d(x[0], x),
        lambda x: np.intersect1d(x, x[0], return_indices=True),
    ],
    "nanmedian": [
        lambda x: np.nanmedian(holed(x), axis=1),
        lambda x: np.nanmedian(holed(x), keepdims=True),
        lambda x: np.nanmedian(x, (0, 1)),
    ],
    "nanquantile": [
        lambda x: np.nanquantile(holed(x), [0.2, 0.7], axis=1),
        lambda x: np.nanquantile(holed(x), 0.4, axis=0, method="hazen", keepdims=True),
        lambda x: np.nanquantile(holed(x), 0.4, 1, method="inverted_cdf", weights=m * m),
    ],
    "nanpercentile": [
        lambda x: np.nanpercentile(holed(x), 35),
    ],
    "place": [
        lambda x: into(x, np.place, mask, x[0, :2] ** 2),
    ],
    "poly": [
        lambda x: np.poly(x[0]),
        lambda x: np.poly(x[:, :3] @ x[:, :3].T),
        lambda x: np.poly(x[0] + 1j * x[0, ::-1])[1:].imag,
    ],
    "poly1d": [lambda x: np.poly1d(x[0]).coeffs, lambda x: np.poly1d(x[0]).integ()(2.0)],
    "polyadd": [
        lambda x: np.polyadd(x[0], [1.0, 2.0]),
        lambda x: np.polyadd(3.0, x[0]),
        lambda x: (np.poly1d(x[0]) + np.poly1d([1.0, 2.0])).coeffs,
        lambda x: (2 - np.poly1d(x[0])(x)) * np.polyadd(np.poly1d([1.0]), x[0])(0.5),
    ],
    "polyder": [
        lambda x: np.polyder(x[0]),
        lambda x: np.polyder(x[0], 2),
        lambda x: np.poly1d(x[0]).deriv().coeffs,
    ],
    "polydiv": [
        lambda x: np.polydiv(x[0], x[1, :2]),
        lambda x: np.polydiv(x[0, :2], x[1]),
    ],
    "polyfit": [
        lambda x: np.polyfit(m[0], x[0], 2),
        lambda x: np.polyfit(x[0], x.T, 1, w=x[1] ** 2 + 1),
        lambda x: np.polyfit(x[0], x[1], 1, full=True)[:2],
        lambda x: np.polyfit(x[0], x[1], 1, cov=True),
        lambda x: np.polyfit(x[0], x[1], 1, cov="unscaled")[1],
    ],
    "polyint": [
        lambda x: np.polyint(x[0]),
        lambda x: np.polyint(x[0], 2, k=x[0, 0]),
    ],
    "polymul": [
        lambda x: np.polymul(x[0], x[1, :2]),
        lambda x: np.polymul([0.0, 1.0], x[0]),
        lambda x: (np.poly1d(x[0]) * np.poly1d([1.0, 2.0])).coeffs,
    ],
    "polysub": [
        lambda x: np.polysub(x[0], [1.0, 2.0]),
    ],
    "put": [
        lambda x: into(x, np.put, [1, -1, 1], x[0] ** 2),
        lambda x: into(x, np.put, [1, 99], x[0, 0], mode="clip"),
    ],
    "put_along_axis": [
        lambda x: into(x, np.put_along_axis, np.argsort(m, axis=1)[:, :2], x[:, :2] ** 2, 1),
        lambda x: into(x, np.put_along_axis, np.array([1, 1]), x[0, :2] ** 2, None),
    ],
    "putmask": [
        lambda x: into(x, np.putmask, mask, x[0] ** 2),
    ],
    "real_if_close": [
        np.real_if_close,
        lambda x: np.real_if_close(x + 1e-15j),
        lambda x: np.real_if_close(x + 1j * x).imag,
    ],
    "roots": [
        lambda x: np.roots(x[0]).real,
        lambda x: np.roots(x[0] * np.array([1, 1, 1, 0]) + np.array([0, 0, 1, 0]) * x[1]),
        lambda x: np.roots([x[0, 0], x[0, 1], 3.0]).imag,
    ],
    "setdiff1d": [
        lambda x: np.setdiff1d(x, [9.0]),
        lambda x: np.setdiff1d(x, x[0], assume_unique=True),
    ],
    "setxor1d": [
        lambda x: np.setxor1d(x, [9.0]),
        lambda x: np.setxor1d(x[0], x[1], assume_unique=True),
    ],
    "sort_complex": [
        lambda x: np.sort_complex(x).real,
        lambda x: np.sort_complex(x + 1j * x[::-1]).imag,
    ],
    "trim_zeros": [
        lambda x: np.trim_zeros(np.pad(x[0], 2)),
        lambda x: np.trim_zeros(np.pad(x, 1), "f"),
        lambda x: np.trim_zeros(np.pad(x, 1), "b", axis=1),
    ],
    "union1d": [
        lambda x: np.union1d(x, [9.0]),
    ],
    "unique_all": [
        lambda x: np.unique_all(x).values,
    ],
    "unique_counts": [
        lambda x: np.unique_counts(x).values,
    ],
    "unique_inverse": [
        lambda x: np.unique_inverse(x).values,
    ],
    "unwrap": [
        lambda x: np.unwrap(x * 4),
        lambda x: np.unwrap(x * 4, axis=0, period=x[1, 0]),
        lambda x: np.unwrap(x * 1.07, discont=1.7, period=2),
    ],
    "lib.stride_tricks.sliding_window_view": [
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0) ** 2,
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(1, 1))[::2].mean(axis=-1),
    ],
    "fft.fft": [
        lambda x: np.abs(np.fft.fft(x)) ** 2,
        lambda x: np.fft.fft(x, 3, axis=0, norm="ortho").imag,
        lambda x: np.abs(np.fft.fft(x, out=x * 1j)),
    ],
    "fft.fft2": [
        lambda x: np.fft.fft2(x).real,
        lambda x: np.fft.fft2(x, (2, 5), norm="forward").imag,
    ],
    "fft.fftn": [
        lambda x: np.fft.fftn(x).real,
        lambda x: np.fft.fftn(x, axes=(0,)).imag,
    ],
    "fft.hfft": [
        lambda x: np.fft.hfft(x + 1j * x[0]),
        lambda x: np.fft.hfft(x, 5, 0),
    ],
    "fft.ifft": [
        lambda x: np.fft.ifft(x).imag,
    ],
    "fft.ifft2": [
        lambda x: np.fft.ifft2(x * (1 + 2j)).real,
    ],
    "fft.ifftn": [
        lambda x: np.fft.ifftn(x).imag,
    ],
    "fft.ihfft": [
        lambda x: np.fft.ihfft(x).real,
    ],
    "fft.irfft": [
        lambda x: np.fft.irfft(x * (1 + 2j)),
    ],
    "fft.irfft2": [
        lambda x: np.fft.irfft2(x * (1 + 2j)),
    ],
    "fft.irfftn": [
        lambda x: np.fft.irfftn(x * (1 + 2j), (4, 6), axes=(0, 1)),
    ],
    "fft.rfft": [
        lambda x: np.fft.rfft(x).imag,
    ],
    "fft.rfft2": [
        lambda x: np.fft.rfft2(x).imag,
    ],
    "fft.rfftn": [
        lambda x: np.fft.rfftn(x).real,
    ],
}  # fmt: skip

# Results that do not depend on x, or only in steps: equal to NumPy's, and outside the graph.
CONSTANT = {
    "all": [np.all, lambda x: np.all(x > 0, axis=1, keepdims=True), lambda x: np.all(x > 0, 0, where=mask),
            lambda x: np.all(x, axis=())],
    "allclose": [lambda x: np.allclose(x, m), lambda x: np.allclose(x, x + 1e-10)],
    "angle": [lambda x: np.angle(x), lambda x: np.angle(x, deg=True)],
    "any": [np.any, lambda x: np.any(x > 2, axis=0), lambda x: np.any(x > 2, (0, 1), where=mask)],
    "argmax": [np.argmax, lambda x: np.argmax(x, axis=1, keepdims=True)],
    "argmin": [np.argmin, lambda x: np.argmin(x, 0)],
    "argpartition": [lambda x: np.argpartition(x[0], 2)],
    "argsort": [np.argsort, lambda x: np.argsort(x, 0, kind="stable"), lambda x: np.argsort(x, axis=None)],
    "argwhere": [lambda x: np.argwhere(x > 0)],
    "array2string": [np.array2string],
    "array_equal": [lambda x: np.array_equal(x, m), lambda x: np.array_equal(x, x), lambda x: np.array_equal(x, few)],
    "array_equiv": [lambda x: np.array_equiv(x, x[None])],
    "array_repr": [np.array_repr],
    "array_str": [np.array_str],
    "can_cast": [lambda x: np.can_cast(x[0].dtype, "f4")],
    "common_type": [np.common_type],
    "count_nonzero": [np.count_nonzero, lambda x: np.count_nonzero(x > 0, axis=1, keepdims=True)],
    "diag_indices_from": [lambda x: np.diag_indices_from(x[:, :3])],
    "digitize": [lambda x: np.digitize(x, few[[2, 0, 1]])],
    "einsum_path": [lambda x: np.einsum_path("ij,kj->ik", x, x)[1][:10]],
    "fix": [np.fix],
    "flatnonzero": [lambda x: np.flatnonzero(x > 0)],
    "isclose": [lambda x: np.isclose(x, x[0])],
    "iscomplex": [np.iscomplex],
    "iscomplexobj": [np.iscomplexobj],
    "isin": [lambda x: np.isin(x, m[0])],
    "isneginf": [np.isneginf],
    "isposinf": [np.isposinf],
    "isreal": [np.isreal],
    "isrealobj": [np.isrealobj],
    "ix_": [lambda x: np.ix_(x[0] > 0, [0, 1])],
    "lexsort": [lambda x: np.lexsort((x[0], x[1]))],
    "linalg.matrix_rank": [lambda x: np.linalg.matrix_rank(x), lambda x: np.linalg.matrix_rank(x[None], tol=0.1)],
    "may_share_memory": [lambda x: np.may_share_memory(x, x[0])],
    "min_scalar_type": [lambda x: np.min_scalar_type(x)],
    "nanargmax": [lambda x: np.nanargmax(holed(x), axis=0)],
    "nanargmin": [lambda x: np.nanargmin(holed(x))],
    "isscalar": [np.isscalar],
    "iterable": [np.iterable],
    "ndim": [np.ndim],
    "nonzero": [lambda x: np.nonzero(x > 0)],
    "ones_like": [np.ones_like, lambda x: np.ones_like(x, dtype=int, shape=(2, 2))],
    "result_type": [lambda x: np.result_type(x, np.float32, 1)],
    "round": [np.round, lambda x: np.around(x, 1), lambda x: np.abs(np.round(x + 1j * x[::-1], 1))],
    "searchsorted": [lambda x: np.searchsorted(np.sort(x[0]), x, side="right")],
    "shape": [np.shape],
    "shares_memory": [lambda x: np.shares_memory(x, x.T)],
    "size": [np.size, lambda x: np.size(x, 1)],
    "tril_indices_from": [np.tril_indices_from],
    "triu_indices_from": [lambda x: np.triu_indices_from(x, 1)],
    "zeros_like": [np.zeros_like],
    "packbits": [
        lambda x: np.packbits(x > 0, axis=1),
    ],
    "unpackbits": [
        lambda x: np.unpackbits((x > 0).astype(np.uint8)),
    ],
    "ravel_multi_index": [
        lambda x: np.ravel_multi_index((np.argmax(x, 0), [0, 1, 2, 3]), (3, 4)),
    ],
    "unravel_index": [
        lambda x: np.unravel_index(np.argsort(x[0]), (2, 2)),
    ],
}  # fmt: skip

# Tested by themselves: without values to compare, with files, with `like=`, or of a dtype that the numbers decide.
APART = {
    "lib.scimath.arccos", "lib.scimath.arcsin", "lib.scimath.arctanh", "lib.scimath.log",
    "lib.scimath.log10", "lib.scimath.log2", "lib.scimath.logn", "lib.scimath.power", "lib.scimath.sqrt",
    "arange", "array", "asanyarray", "asarray", "empty", "empty_like", "eye", "full",
    "identity", "ones", "save", "savetxt", "savez", "savez_compressed",
    "tri", "zeros",
}  # fmt: skip
