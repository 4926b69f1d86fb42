"""Says what to write in place of functions that have no rule for Tensors: a table of texts, for error messages.

Names are those that `core.call_site` finds. An expression holds for arguments of the names that the function's
documentation has (tests/interop/test_suggest.py evaluates them).
"""

from __future__ import annotations

EXPRESSIONS = {
    "np.bartlett": "pullback.signal.windows.bartlett(M)",
    "np.random.exponential": "scale * np.random.standard_exponential(size)",
    "np.random.gumbel": "loc + scale * np.random.gumbel(size=size)",
    "np.random.laplace": "loc + scale * np.random.laplace(size=size)",
    "np.random.logistic": "loc + scale * np.random.logistic(size=size)",
    "np.random.lognormal": "np.exp(mean + sigma * np.random.standard_normal(size))",
    "np.random.normal": "loc + scale * np.random.standard_normal(size)",
    "np.random.pareto": "np.expm1(np.random.standard_exponential(size) / a)",
    "np.random.power": "(-np.expm1(-np.random.standard_exponential(size))) ** (1 / a)",
    "np.random.rayleigh": "scale * np.sqrt(2 * np.random.standard_exponential(size))",
    "np.random.uniform": "low + (high - low) * np.random.random(size)",
    "np.random.weibull": "np.random.standard_exponential(size) ** (1 / a)",
    "math.comb":
        "np.exp(scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1))",
    "math.dist": "np.sqrt(np.sum(np.subtract(p, q) ** 2))",
    "math.erf": "scipy.special.erf(x)",
    "math.erfc": "scipy.special.erfc(x)",
    "math.fsum": "np.sum(np.stack(x))",
    "math.lgamma": "scipy.special.gammaln(x)",
    "math.prod": "np.prod(np.stack(x))",
    "math.sumprod": "np.sum(np.multiply(p, q))",
    "scipy.special.comb":
        "np.exp(scipy.special.gammaln(N + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(N - k + 1))",
    "scipy.special.softplus": "np.logaddexp(0, x)",
    "scipy.linalg.circulant": "c[(np.arange(len(c))[:, None] - np.arange(len(c))) % len(c)]",
    "scipy.linalg.expm": "pullback.linalg.matrix_exp(A)",
    "scipy.linalg.pinvh": "np.linalg.pinv(a, hermitian=True)",
    "scipy.linalg.toeplitz": "c[np.abs(np.arange(len(c))[:, None] - np.arange(len(c)))]",
    "scipy.spatial.distance.chebyshev": "np.max(np.abs(u - v))",
    "scipy.spatial.distance.cityblock": "np.sum(np.abs(u - v))",
    "scipy.spatial.distance.cosine": "1 - np.sum(u * v) / np.sqrt(np.sum(u ** 2) * np.sum(v ** 2))",
    "scipy.spatial.distance.euclidean": "np.linalg.norm(u - v)",
    "scipy.spatial.distance.sqeuclidean": "np.sum((u - v) ** 2)",
    "scipy.stats.expon.logpdf": "-x",
    "scipy.stats.expon.pdf": "np.exp(-x)",
    "scipy.stats.gmean": "np.exp(np.mean(np.log(a)))",
    "scipy.stats.hmean": "1 / np.mean(1 / a)",
    "scipy.stats.norm.cdf": "scipy.special.ndtr((x - loc) / scale)",
    "scipy.stats.norm.logcdf": "scipy.special.log_ndtr((x - loc) / scale)",
    "scipy.stats.norm.logpdf": "-((x - loc) / scale) ** 2 / 2 - np.log(scale * np.sqrt(2 * np.pi))",
    "scipy.stats.norm.pdf": "np.exp(-((x - loc) / scale) ** 2 / 2) / (scale * np.sqrt(2 * np.pi))",
    "scipy.stats.norm.ppf": "loc + scale * scipy.special.ndtri(q)",
    "scipy.stats.norm.sf": "scipy.special.ndtr((loc - x) / scale)",
    "scipy.stats.poisson.logpmf": "scipy.special.xlogy(k, mu) - mu - scipy.special.gammaln(k + 1)",
    "scipy.stats.sem": "np.std(a, ddof=1) / np.sqrt(len(a))",
    "scipy.stats.zscore": "(a - np.mean(a)) / np.std(a)",
}  # fmt: skip

ADVICE = {
    "float": "t itself, which NumPy takes for a number; t.detach().item() is the bare number, without its gradient",
    "int": "int(t.detach().item()) for the bare number",
    "complex": "t itself, which NumPy takes for a number; t.detach().item() is the bare number, without its gradient",
    "np.array": "np.array([...], like=t), which makes a Tensor, or np.stack",
    "np.asarray": "np.asarray([...], like=t), which makes a Tensor, or np.stack",
    "np.asanyarray": "np.asanyarray([...], like=t), which makes a Tensor, or np.stack",
    "np.ascontiguousarray": "t.contiguous()",
    "np.c_": "np.column_stack([...])",
    "np.float32": "t.astype(np.float32)",
    "np.float64": "t.astype(np.float64)",
    "np.fromiter": "np.stack([...]) of the Tensors",
    "np.full": "t * np.ones(shape), or np.broadcast_to(t, shape)",
    "np.full_like": "np.full_like(a Tensor, t)",
    "np.r_": "np.concatenate([...])",
    "np.arange": "start + step * np.arange(n), with n a plain int",
    "np.asarray_chkfinite": "t, after a look at np.isfinite(t).all()",
    "np.asfortranarray": "np.copy(t, order='F')",
    "np.asmatrix": "t, with @ for the product",
    "np.bmat": "np.block",
    "np.lib.stride_tricks.as_strided": (
        "np.lib.stride_tricks.sliding_window_view(t, n), or pullback.as_strided(t, size, stride), whose strides count "
        "elements, not bytes"
    ),
    "np.matrix": "t, with @ for the product",
    "np.ndenumerate": "a loop over np.ndindex(t.shape), with t[index]",
    "np.nditer": "the function for whole arrays, or a loop over t",
    "np.require": "t itself, or np.copy(t, order=...) for another order of its memory",
    "np.random.choice": "t[np.random.randint(len(t), size=size)]",
    "np.random.gamma": "scale * np.random.standard_gamma(shape, size), whose shape stays a plain number",
    "np.random.multivariate_normal": "mean + np.random.standard_normal(len(mean)) @ np.linalg.cholesky(cov).T",
    "np.random.permutation": "t[np.random.permutation(len(t))]",
    "np.random.shuffle": "t = t[np.random.permutation(len(t))]",
    "np.vectorize": "the function for whole arrays, or np.stack of its values in a loop",
    "math.gamma": "np.exp(scipy.special.gammaln(x)), which is gamma(x) for x > 0",
    "scipy.special.factorial": "np.exp(scipy.special.gammaln(n + 1))",
    "scipy.linalg.cho_factor": "L = np.linalg.cholesky(A)",
    "scipy.linalg.cho_solve": "pullback.cholesky_solve(b, L), where b is a matrix",
    "scipy.linalg.sqrtm": "w, v = np.linalg.eigh(A); (v * np.sqrt(w)) @ v.T, where A is symmetric positive definite",
    "scipy.linalg.logm": "w, v = np.linalg.eigh(A); (v * np.log(w)) @ v.T, where A is symmetric positive definite",
    "np.polynomial.Polynomial": "np.polyval(coef[::-1], x) for Polynomial(coef)(x)",
    "scipy.interpolate.interp1d": "np.interp(x, xp, fp), which is piecewise linear",
    "scipy.signal.convolve": "np.convolve for vectors, pullback.nn.functional.conv2d for images",
    "scipy.signal.convolve2d": "pullback.nn.functional.conv2d(image[None, None], kernel[::-1, ::-1][None, None])",
    "scipy.signal.correlate": "np.correlate for vectors, pullback.nn.functional.conv2d for images",
    "scipy.signal.correlate2d": "pullback.nn.functional.conv2d(image[None, None], kernel[None, None])",
    "scipy.signal.fftconvolve": "np.convolve for vectors, np.fft.rfft and np.fft.irfft for long ones",
    "scipy.stats.pearsonr": "np.corrcoef(x, y)[0, 1]",
}

# Methods of plain arrays, which are in C, and see that an argument is a Tensor only when they have lost its gradient.
METHODS = {
    "choose": "np.choose(a, choices) for a.choose(choices)",
    "dot": "a @ x, or np.dot(a, x), for a.dot(x)",
    "fill": "a = np.full_like(a, x, like=x) for a.fill(x)",
    "put": "into a Tensor: a = np.array(a, like=x), then a.put(i, x)",
    "searchsorted": "np.searchsorted(a, x) for a.searchsorted(x)",
}

# For all that is in a module and not above.
HOMES = {
    "np.ma": "Masked arrays are plain. Write np.where(mask, 0.0, x), and count the rest by the plain mask.",
    "np.rec": "Records are plain. Keep an array for each field.",
    "scipy.optimize": (
        "A solver works on plain numbers: give it a function of plain arrays (its gradient is "
        "pullback.func.grad(f)), and to differentiate the solution make a function of the call by "
        "pullback.func.custom_root or custom_minimum, which are given the condition that the solution fulfils."
    ),
    "scipy.integrate": (
        "pullback.scipy.integrate has the same functions for tensors, which may come in args or in the closure of the "
        "function (no global variable). Write a sum with NumPy's functions (np.trapezoid has a rule), or give the call "
        "a derivative of its own by pullback.custom_vjp."
    ),
    "scipy.interpolate": (
        "A spline is linear in its values: CubicSpline(x, np.eye(len(x)))(at) @ y, with plain x and at, is "
        "CubicSpline(x, y)(at). For all else give the call a derivative by pullback.custom_vjp: spline(at, 1) is the "
        "slope."
    ),
    "scipy.sparse": (
        "SciPy's sparse matrices are plain unless they are made of tensors, at once (not by A[i, j] = t), after "
        "pullback.adopt() at the top of the program: scipy.sparse.coo_array((values, (rows, cols)), shape); or make "
        "them by pullback.scipy.sparse, or write A.toarray() @ x."
    ),
    "scipy.ndimage": "Filters are convolutions: pullback.nn.functional.conv1d, conv2d and conv3d have rules.",
}

# Modules whose functions have the same meaning as those of these names elsewhere, in the order of preference; and the
# names for which that is not so.
SAME = {
    "np": ("pullback", "pullback.special", "pullback.signal.windows"),
    "np.linalg": ("pullback.linalg",),
    "math": ("np",),
    "cmath": ("np",),
    "scipy.special": ("pullback", "pullback.special"),
    "scipy.linalg": ("np.linalg", "pullback.linalg", "pullback"),
    "scipy.integrate": ("np", "pullback"),
    "scipy.fft": ("np.fft", "pullback.fft"),
    "scipy.spatial.distance": ("pullback",),
}
NOT_THE_SAME = {"scipy.linalg.polar", "scipy.special.bernoulli", "scipy.spatial.distance.norm", "math.remainder"}
