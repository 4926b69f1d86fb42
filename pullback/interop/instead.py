"""Says what to write in place of functions that have no rule for Tensors: a table of texts, for error messages.

Names are those that `explain.call_site` finds. An expression holds for arguments of the names that the function's
documentation has (tests/interop/test_suggest.py evaluates them).
"""

from __future__ import annotations

EXPRESSIONS = {
    "np.bartlett": "pullback.signal.windows.bartlett(M)",
    "np.kaiser": "np.i0(beta * np.sqrt(1 - np.linspace(-1, 1, M) ** 2)) / np.i0(beta)",
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
    "math.isclose": "abs(a - b) <= np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)",
    "cmath.isclose": "abs(a - b) <= np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)",
    "math.lgamma": "scipy.special.gammaln(x)",
    "math.prod": "np.prod(np.stack(x))",
    "statistics.correlation": "np.corrcoef(np.stack(x), np.stack(y))[0, 1]",
    "statistics.covariance": "np.cov(np.stack(x), np.stack(y))[0, 1]",
    "statistics.geometric_mean": "np.exp(np.mean(np.log(np.stack(data))))",
    "statistics.harmonic_mean": "1 / np.mean(1 / np.stack(data))",
    "statistics.linear_regression": "np.polyfit(np.stack(x), np.stack(y), 1)",
    "statistics.fmean": "np.mean(np.stack(data))",
    "statistics.mean": "np.mean(np.stack(data))",
    "statistics.median": "np.median(np.stack(data))",
    "statistics.pstdev": "np.std(np.stack(data))",
    "statistics.pvariance": "np.var(np.stack(data))",
    "statistics.stdev": "np.std(np.stack(data), ddof=1)",
    "statistics.variance": "np.var(np.stack(data), ddof=1)",
    "math.sumprod": "np.sum(np.multiply(p, q))",
}  # fmt: skip

_INTO = "into a Tensor: a = np.array(a, like=x), then"

ADVICE = {
    "float": "t itself, which NumPy takes as a number, or t.item() of an Array, a number that keeps its gradient; "
    "t.detach().item() is the bare number, without its gradient",
    "int": "int(t.detach().item()) for the bare number",
    "complex": "t itself, which NumPy takes as a number; t.detach().item() is the bare number, without its gradient",
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
    "np.random.choice": "t[np.random.choice(len(t), size=size, replace=replace, p=p)]",
    "np.random.gamma": "scale * np.random.standard_gamma(shape, size), whose shape stays a plain number",
    "np.random.multivariate_normal": "mean + np.random.standard_normal(len(mean)) @ np.linalg.cholesky(cov).T",
    "np.random.permutation": "t[np.random.permutation(len(t))]",
    "np.random.shuffle": "t = t[np.random.permutation(len(t))]",
    "np.typename": "np.typename(x.dtype.char): it takes a character",
    "np.vectorize": "the function for whole arrays, or np.stack of its values in a loop",
    "operator.setitem": f"{_INTO} a[i] = x",
    "scipy.linalg.hessenberg": "np.linalg.eig, svd or qr: a matrix does not determine the basis of its Hessenberg form",
    "scipy.linalg.matrix_balance": "np.linalg.solve(T, A @ T) with T = "
    "scipy.linalg.matrix_balance(A.detach().numpy())[1], whose powers of two are constants",
    "scipy.signal.residuez": "p = np.roots(a) and r = -p * np.polyval(b[::-1], 1 / p) / "
    "np.polyval(np.polyder(a[::-1]), 1 / p), for simple poles and b shorter than a",
    "scipy.signal.residue": "p = np.roots(a) and r = np.polyval(b, p) / np.polyval(np.polyder(a), p), for simple poles",
    "statistics.NormalDist": "scipy.stats.norm(mu, sigma) after pullback.adopt(), or pullback.scipy.stats.norm",
    "math.hypot": "np.hypot(x, y), or np.linalg.norm(np.stack([...])) of more numbers",
    "math.log": "np.log(x), or np.log(x) / np.log(base)",
    "cmath.log": "np.log(z + 0j), or np.log(z + 0j) / np.log(base + 0j)",
    "math.gamma": "np.exp(scipy.special.gammaln(x)), which is gamma(x) for x > 0",
}

# Methods of plain arrays, which are in C, and see that an argument is a Tensor only when they have lost its gradient.
METHODS = {
    "__setitem__": f"{_INTO} a[i] = x",
    "choose": "np.choose(a, choices) for a.choose(choices)",
    "dot": "a @ x, or np.dot(a, x), for a.dot(x)",
    "fill": "a = np.full_like(a, x, like=x) for a.fill(x)",
    "put": f"{_INTO} np.put(a, i, x)",
    "searchsorted": "np.searchsorted(a, x) for a.searchsorted(x)",
}

WRITES = frozenset({"ndarray.__setitem__", "ndarray.fill", "ndarray.put", "operator.setitem"})

_POLYNOMIALS = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")

# For all that is in a module, or of a class, and not above.
HOMES = {
    **dict.fromkeys(
        ("np.polynomial", *(f"np.polynomial.{kind}" for kind in _POLYNOMIALS)),
        "A polynomial object holds plain numbers. Keep the array c of its coefficients (p.convert().coef of a plain "
        "p). After pullback.adopt(), functions take it: np.polynomial.polynomial.polyval(x, c), polyfit, polymul, "
        "polyder, polyint, and those of the other bases (chebval, legval).",
    ),
    "np.ma": "Masked arrays are plain. Write np.where(mask, 0.0, x), and count the rest by the plain mask.",
    "np.rec": "Records are plain. Keep an array for each field.",
    "scipy.optimize": (
        "A solver works on plain numbers: give it a function of plain arrays (its gradient is "
        "pullback.func.grad(f)). To differentiate the solution, make a function of the call by "
        "pullback.func.custom_root or custom_minimum, which take the condition that the solution satisfies."
    ),
    "scipy.integrate": (
        "pullback.scipy.integrate has the same functions for tensors, which may come in args or in the closure of the "
        "function (not in a global variable). Or write a sum with NumPy's functions (np.trapezoid has a rule), or give "
        "the call a derivative of its own by pullback.custom_vjp."
    ),
    "scipy.interpolate": (
        "A spline is linear in its values: CubicSpline(x, np.eye(len(x)))(at) @ y, with plain x and at, is "
        "CubicSpline(x, y)(at). In all other cases give the call a derivative by pullback.custom_vjp: spline(at, 1) is "
        "the slope."
    ),
    "scipy.sparse": (
        "SciPy's sparse matrices hold plain numbers. Call pullback.adopt() at the top of the program, and make the "
        "matrix of tensors, all at once (not by A[i, j] = t): scipy.sparse.coo_array((values, (rows, cols)), shape). "
        "Or make it by pullback.scipy.sparse, or write A.toarray() @ x."
    ),
}

# Modules whose functions have the same meaning as those of these names elsewhere, in the order of preference; and the
# names for which that is not so.
SAME = {
    "np": ("pullback", "pullback.special", "pullback.signal.windows"),
    "np.linalg": ("pullback.linalg",),
    "math": ("np",),
    "cmath": ("np",),
    "scipy.special": ("pullback", "pullback.special"),
}
NOT_THE_SAME = {"scipy.special.bernoulli", "math.remainder", "np.tril_indices", "np.triu_indices"}
