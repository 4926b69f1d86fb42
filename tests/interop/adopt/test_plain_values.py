"""Calls of SciPy and NumPy with plain arguments: their values under `adopt()` are the same, bit for bit."""

import functools

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
from scipy import stats
from scipy.spatial import distance

import pullback as pb

PLAIN = [np.asarray]  # adopt() reaches names, not lists


def of(module, args, *names):
    return {name: functools.partial(getattr(module, name), *args) for name in names}


def plain_calls():
    """Some calls of SciPy's functions with plain arguments, in a module that is adopted."""
    rng = np.random.default_rng(3)
    A, b, s = rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=64)
    P, t, pts = A @ A.T, np.linspace(0.0, 1.0, 12), rng.normal(size=(10, 2))
    P.flat[::6] += 1.0
    of_matrices = (
        "expm logm sqrtm inv det eigh eigvalsh svd svdvals qr lu schur cholesky pinv norm null_space orth hessenberg "
        "polar sinm cosm tanm rq eig ldl lu_factor cho_factor signm bandwidth issymmetric eigvals"
    )
    calls = of(scipy.linalg, (P,), *of_matrices.split())
    calls |= of(scipy.linalg, (P, b), "solve", "lstsq")
    calls |= of(scipy.linalg, (b,), "toeplitz", "circulant", "hankel", "companion", "fiedler")
    calls |= of(
        scipy.special, (np.abs(b),), "logsumexp", "softmax", "log_softmax", "gammaln", "erf", "factorial", "expit"
    )
    calls |= of(scipy.fft, (s,), "fft", "ifft", "rfft", "dct", "dst", "fftshift", "hfft")
    calls |= of(scipy.signal, (s,), "detrend", "hilbert", "medfilt", "wiener", "periodogram", "welch", "find_peaks")
    calls |= {
        "signal.convolve": lambda: scipy.signal.convolve(s, b),
        "signal.lfilter": lambda: scipy.signal.lfilter([1, 2], [1, 0.5], s),
        "signal.butter": lambda: scipy.signal.butter(3, 0.2),
        "signal.filtfilt": lambda: scipy.signal.filtfilt([1], [1, 0.5], s),
        "signal.resample": lambda: scipy.signal.resample(s, 40),
        "signal.savgol": lambda: scipy.signal.savgol_filter(s, 7, 2),
        "signal.fftconvolve": lambda: scipy.signal.fftconvolve(s, b),
        "signal.spectrogram": lambda: scipy.signal.spectrogram(s, nperseg=16),
        "signal.firwin": lambda: scipy.signal.firwin(9, 0.3),
        "signal.correlate": lambda: scipy.signal.correlate(s, b),
        "interpolate.CubicSpline": lambda: scipy.interpolate.CubicSpline(t, t**2)(0.3),
        "interpolate.interp1d": lambda: scipy.interpolate.interp1d(t, t**2)(0.3),
        "interpolate.pchip": lambda: scipy.interpolate.PchipInterpolator(t, t**2)(0.3),
        "interpolate.griddata": lambda: scipy.interpolate.griddata(pts, pts[:, 0], [[0.0, 0.1]]),
        "interpolate.splrep": lambda: scipy.interpolate.splev(0.3, scipy.interpolate.splrep(t, t**3)),
        "interpolate.make_interp_spline": lambda: scipy.interpolate.make_interp_spline(t, t**2)(0.7),
        "interpolate.RBF": lambda: scipy.interpolate.RBFInterpolator(pts, pts[:, 0])(pts[:2]),
        "integrate.quad": lambda: scipy.integrate.quad(lambda u: np.exp(-u * u), 0, 1),
        "integrate.solve_ivp": lambda: (
            scipy.integrate.solve_ivp(lambda t, y: np.array([y[1], -y[0]]), (0, 1), [1.0, 0.0]).y
        ),
        "integrate.odeint": lambda: scipy.integrate.odeint(lambda y, t: -y, 1.0, t),
        "integrate.simpson": lambda: scipy.integrate.simpson(t**2, x=t),
        "integrate.trapezoid": lambda: scipy.integrate.trapezoid(t),
        "integrate.cumulative": lambda: scipy.integrate.cumulative_trapezoid(t**2, t),
        "integrate.romb": lambda: scipy.integrate.romb(s[:33]),
        "integrate.fixed_quad": lambda: scipy.integrate.fixed_quad(np.sin, 0, 1),
        "ndimage.gaussian": lambda: scipy.ndimage.gaussian_filter(A, 1.0),
        "ndimage.zoom": lambda: scipy.ndimage.zoom(A, 2),
        "ndimage.rotate": lambda: scipy.ndimage.rotate(A, 30),
        "ndimage.label": lambda: scipy.ndimage.label(A > 0),
        "ndimage.median": lambda: scipy.ndimage.median_filter(A, 3),
        "ndimage.sobel": lambda: scipy.ndimage.sobel(A),
        "ndimage.map": lambda: scipy.ndimage.map_coordinates(A, [[0.5], [1.5]]),
        "optimize.minimize": lambda: scipy.optimize.minimize(lambda p: np.sum((p - b) ** 2), np.zeros(5)).x,
        "optimize.nm": lambda: (
            scipy.optimize.minimize(lambda p: np.sum((p - b) ** 2), np.zeros(5), method="Nelder-Mead").x
        ),
        "optimize.root": lambda: scipy.optimize.root(lambda p: p**3 - b, np.ones(5)).x,
        "optimize.brentq": lambda: scipy.optimize.brentq(lambda u: u**2 - 2, 0, 2),
        "optimize.curve_fit": lambda: scipy.optimize.curve_fit(lambda u, a, c: a * np.exp(-c * u), t, np.exp(-t))[0],
        "optimize.least_squares": lambda: scipy.optimize.least_squares(lambda p: A @ p - b, np.zeros(5)).x,
        "optimize.linprog": lambda: scipy.optimize.linprog([1, 2], A_ub=[[-1, -1]], b_ub=[-1]).x,
        "optimize.nnls": lambda: scipy.optimize.nnls(np.abs(A), np.abs(b)),
        "optimize.rosen": lambda: scipy.optimize.rosen(b),
        "optimize.linear_sum": lambda: scipy.optimize.linear_sum_assignment(A),
        "spatial.pdist": lambda: distance.pdist(pts),
        "spatial.cdist": lambda: distance.cdist(pts, pts, "cosine"),
        "spatial.euclidean": lambda: distance.euclidean(b, b + 1),
        "spatial.hull": lambda: scipy.spatial.ConvexHull(pts).volume,
        "spatial.tree": lambda: scipy.spatial.cKDTree(pts).query(pts, k=2),
        "spatial.delaunay": lambda: scipy.spatial.Delaunay(pts).simplices,
        "sparse.matmul": lambda: scipy.sparse.csr_matrix(A) @ b,
        "sparse.solve": lambda: scipy.sparse.linalg.spsolve(scipy.sparse.csc_matrix(P), b),
        "sparse.splu": lambda: scipy.sparse.linalg.splu(scipy.sparse.dok_array(np.diag(np.abs(b)))).solve(b),
        "sparse.eigsh": lambda: scipy.sparse.linalg.eigsh(np.diag(np.arange(30.0)), k=2, v0=np.ones(30))[0],
        "stats.norm": lambda: stats.norm.logpdf(b, 0.1, 2.0),
        "stats.norm.cdf": lambda: stats.norm(1.0).cdf(b),
        "stats.gamma": lambda: stats.gamma.pdf(np.abs(b), 2.0),
        "stats.fit": lambda: stats.norm.fit(b),
        "stats.rvs": lambda: stats.norm.rvs(size=3, random_state=1),
        "stats.ttest": lambda: stats.ttest_ind(s, b),
        "stats.linregress": lambda: stats.linregress(t, t**2),
        "signal.lti": lambda: scipy.signal.lti([1.0], [1.0, 2.0, 3.0]).step(T=t),
        "signal.StateSpace": lambda: (scipy.signal.StateSpace(A, b[:, None], b[None], 0.0) * 2).C,
        "signal.CZT": lambda: scipy.signal.CZT(64)(s),
        "signal.ShortTimeFFT": lambda: scipy.signal.ShortTimeFFT(np.hanning(8), 4, 1.0).stft(s),
        "signal.ShortTimeFFT.from_window": lambda: scipy.signal.ShortTimeFFT.from_window("hann", 1.0, 8, 4).dual_win,
        "stats.kde": lambda: stats.gaussian_kde(s)(b),
        "stats.zscore": lambda: stats.zscore(s),
        "stats.pearsonr": lambda: stats.pearsonr(t, t**2)[0],
        "stats.spearmanr": lambda: stats.spearmanr(t, np.sin(9 * t))[0],
        "stats.mvn": lambda: stats.multivariate_normal.logpdf(b, cov=P),
        "stats.poisson": lambda: stats.poisson.pmf([1, 2], 1.5),
        "stats.ks": lambda: stats.kstest(s, "norm"),
        "stats.Normal": lambda: stats.Normal(mu=b, sigma=2.0).pdf(0.5),
        "stats.Normal.mean": lambda: (3 * stats.Normal(mu=0.1) + 2.0).mean(),
        "stats.Normal repr": lambda: repr(3 * stats.Normal(mu=0.1) + 2.0),
        "stats.Mixture": lambda: stats.Mixture([stats.Normal(mu=0.1), stats.Normal()]).logcdf(0.5),
        "stats.Mixture of others": lambda: stats.Mixture([stats.make_distribution(stats.cauchy)()]).pdf(0.5),
        "np.r_": lambda: np.r_[b, 1:3, 0.5],
        "np.r_ text": lambda: (A, P, np.asarray(np.r_["A, P"])),
        "np.c_": lambda: np.c_[b, b],
        "np.vectorize": lambda: np.vectorize(lambda u, w: u + w)(b, 2),
        "np.mgrid": lambda: np.mgrid[0:2:3j],
    }
    return calls


def parts(result):
    """The arrays and numbers of a result, with their types."""
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in parts(item)]
    return [(type(result), PLAIN[0](result))]


def same(found, expected):
    return len(found) == len(expected) and all(
        kind is type_of_other and one.dtype == other.dtype and (one.tobytes() == other.tobytes() or one.dtype == object)
        for (kind, one), (type_of_other, other) in zip(found, expected, strict=True)
    )


@pytest.mark.filterwarnings("ignore")
def test_plain_values_are_the_same_bit_for_bit():
    before = {name: parts(call()) for name, call in plain_calls().items()}
    assert len(before) > 100
    with pb.adopt():
        during = {name: parts(call()) for name, call in plain_calls().items()}
    assert [name for name in before if not same(during[name], before[name])] == []


@pytest.mark.filterwarnings("ignore")
def test_plain_values_are_the_same_inside_a_transform():
    before = {name: parts(call()) for name, call in plain_calls().items()}
    different = []

    def f(x):
        calls = plain_calls()
        del calls["np.r_ text"]  # an np.matrix, which no Array can be in
        for name, call in calls.items():
            try:
                found = call()
            except Exception as error:  # noqa: BLE001 - shown below
                different.append((name, error))
            else:
                if not same(parts(found), before[name]):
                    different.append(name)
        return x

    with pb.adopt():
        pb.func.grad(f)(1.0)
    assert different == []
