"""What to write in place of functions that have no rule for Tensors: a table of texts, for error messages.

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
    "scipy.special.beta": "np.exp(scipy.special.gammaln(a) + scipy.special.gammaln(b) - scipy.special.gammaln(a + b))",
    "scipy.special.betaincc": "1 - scipy.special.betainc(a, b, x)",
    "scipy.special.betaln": "scipy.special.gammaln(a) + scipy.special.gammaln(b) - scipy.special.gammaln(a + b)",
    "scipy.special.binom":
        "np.exp(scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1))",
    "scipy.special.boxcox": "np.expm1(lmbda * np.log(x)) / lmbda",
    "scipy.special.boxcox1p": "np.expm1(lmbda * np.log1p(x)) / lmbda",
    "scipy.special.chdtr": "scipy.special.gammainc(v / 2, x / 2)",
    "scipy.special.chdtrc": "scipy.special.gammaincc(v / 2, x / 2)",
    "scipy.special.comb":
        "np.exp(scipy.special.gammaln(N + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(N - k + 1))",
    "scipy.special.cosdg": "np.cos(np.radians(x))",
    "scipy.special.cosm1": "-2 * np.sin(x / 2) ** 2",
    "scipy.special.exp10": "10.0 ** x",
    "scipy.special.exprel": "np.expm1(x) / x",
    "scipy.special.fdtr": "scipy.special.betainc(dfn / 2, dfd / 2, dfn * x / (dfd + dfn * x))",
    "scipy.special.gdtr": "scipy.special.gammainc(b, a * x)",
    "scipy.special.huber": "np.where(np.abs(r) <= delta, r ** 2 / 2, delta * (np.abs(r) - delta / 2))",
    "scipy.special.inv_boxcox": "np.exp(np.log1p(lmbda * y) / lmbda)",
    "scipy.special.ive": "scipy.special.iv(v, z) * np.exp(-np.abs(z))",
    "scipy.special.jve": "scipy.special.jv(v, z)",
    "scipy.special.kl_div": "scipy.special.xlogy(x, x / y) - x + y",
    "scipy.special.kve": "scipy.special.kv(v, z) * np.exp(z)",
    "scipy.special.pdtr": "scipy.special.gammaincc(k + 1, m)",
    "scipy.special.poch": "np.exp(scipy.special.gammaln(z + m) - scipy.special.gammaln(z))",
    "scipy.special.powm1": "np.expm1(y * np.log(x))",
    "scipy.special.pseudo_huber": "delta ** 2 * (np.sqrt(1 + (r / delta) ** 2) - 1)",
    "scipy.special.rel_entr": "scipy.special.xlogy(x, x / y)",
    "scipy.special.sindg": "np.sin(np.radians(x))",
    "scipy.special.softplus": "np.logaddexp(0, x)",
    "scipy.special.tandg": "np.tan(np.radians(x))",
    "scipy.special.yve": "scipy.special.yv(v, z)",
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
    "float": "t.item() for the bare number; in a model keep the Tensor",
    "int": "int(t.item()) for the bare number",
    "complex": "t.item() for the bare number; in a model keep the Tensor",
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
    "np.matrix": "t, with @ for the product",
    "np.nditer": "the function for whole arrays, or a loop over t",
    "np.require": "t, which has what an operator requires",
    "np.random.choice": "t[np.random.randint(len(t), size=size)]",
    "np.random.gamma": "scale * np.random.standard_gamma(shape, size), whose shape stays a plain number",
    "np.random.multivariate_normal": "mean + np.random.standard_normal(len(mean)) @ np.linalg.cholesky(cov).T",
    "np.random.permutation": "t[np.random.permutation(len(t))]",
    "np.random.shuffle": "t = t[np.random.permutation(len(t))]",
    "np.vectorize": "the function for whole arrays, or np.stack of its values in a loop",
    "math.gamma": "np.exp(scipy.special.gammaln(x)), which is gamma(x) for x > 0",
    "scipy.special.gamma": "np.exp(scipy.special.gammaln(x)), which is gamma(x) for x > 0",
    "scipy.special.loggamma": "scipy.special.gammaln(x), for real x > 0",
    "scipy.special.rgamma": "np.exp(-scipy.special.gammaln(x)), for x > 0",
    "scipy.special.factorial": "np.exp(scipy.special.gammaln(n + 1))",
    "scipy.integrate.quad": "x, w = np.polynomial.legendre.leggauss(50) and np.sum(w * f(x)), from -1 to 1",
    "scipy.linalg.cho_factor": "L = np.linalg.cholesky(A)",
    "scipy.linalg.cho_solve": "pullback.cholesky_solve(b, L), where b is a matrix",
    "scipy.linalg.sqrtm": "w, v = np.linalg.eigh(A); (v * np.sqrt(w)) @ v.T, where A is symmetric positive definite",
    "scipy.linalg.logm": "w, v = np.linalg.eigh(A); (v * np.log(w)) @ v.T, where A is symmetric positive definite",
    "scipy.interpolate.interp1d": "np.interp(x, xp, fp), which is piecewise linear",
    "scipy.signal.convolve": "np.convolve for vectors, pullback.nn.functional.conv2d for images",
    "scipy.signal.convolve2d": "pullback.nn.functional.conv2d(image[None, None], kernel[::-1, ::-1][None, None])",
    "scipy.signal.correlate": "np.correlate for vectors, pullback.nn.functional.conv2d for images",
    "scipy.signal.correlate2d": "pullback.nn.functional.conv2d(image[None, None], kernel[None, None])",
    "scipy.signal.fftconvolve": "np.convolve for vectors, np.fft.rfft and np.fft.irfft for long ones",
    "scipy.stats.pearsonr": "np.corrcoef(x, y)[0, 1]",
}

# For all that is in a module and not above.
HOMES = {
    "scipy.optimize": (
        "A solver works on plain numbers: give it a function of plain arrays (its gradient is "
        "pullback.func.grad(f)), and to differentiate the solution give the call a vjp by pullback.custom_vjp "
        "that solves the equation which the solution fulfils."
    ),
    "scipy.integrate": (
        "Write the sum or the steps with NumPy's functions (np.trapezoid has a rule), or give the call a "
        "derivative of its own by pullback.custom_vjp."
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
