"""Helpers of the slopes of scipy.special's functions."""

import math

from pullback.graph.slopes import weighed

__all__ = [
    "bessel_excess", "beta_density_derivative_slope", "binomial_count_slope", "box_cox_1p_slope", "box_cox_slope",
    "elliptic_e_slope", "elliptic_f_slope", "expn_slope", "f_density", "f_lower_slope", "f_slope",
    "gegenbauer_argument_slope", "hyp0f1_argument_slope", "hyp1f1_argument_slope", "hyp2f1_argument_slope",
    "hyperu_lower_order", "imaginary", "jacobi_argument_slope", "log_quotient", "ncf_slope", "ncfdtr_argument_slope",
    "pseudo_huber_slope", "rgamma_slope", "solved", "struve_quotient", "struve_step", "t_density_slope",
    "tukey_density", "tukey_slope", "turned", "weighed_slopes", "within_ends", "wright_bessel_argument_slope",
    "zeta_argument_slope",
]  # fmt: skip


def weighed_slopes(grads, *slopes, ops):
    """The sum of the outputs' slopes, weighed by their cotangents; an output without one has no say."""
    return weighed(grads, slopes, ops)


def beta_density_derivative_slope(a, b, x, m, n, *, ops):
    """The derivative in x of a derivative of the density of the beta distribution in a (m times) and b (n times).

    That of the density is b p(a - 1, b + 1) - a p(a + 1, b - 1) + (a - b) p(a, b): by Leibniz' rule in each factor.
    """

    def p(i, j, m, n):
        return ops.scipy_special.beta_density_derivative(a + i, b + j, x, m, n) if min(m, n) >= 0 else 0.0

    rising = b * p(-1, 1, m, n) + n * p(-1, 1, m, n - 1)
    falling = a * p(1, -1, m, n) + m * p(1, -1, m - 1, n)
    return rising - falling + (a - b) * p(0, 0, m, n) + m * p(0, 0, m - 1, n) - n * p(0, 0, m, n - 1)


def t_density_slope(df, t, n, *, ops):
    """The derivative in t of the n-th derivative in df of Student's density f; f_t = -f (df + 1) t / (df + t**2)."""
    total = 0.0
    for k in range(n + 1):
        # the k-th derivative of (df + 1) / (df + t**2) = 1 + (1 - t**2) / (df + t**2)
        sign = (-1) ** k * math.factorial(k)
        factor = sign * (1 - t * t) / (df + t * t) ** (k + 1) if k else (df + 1) / (df + t * t)
        total = total - math.comb(n, k) * factor * ops.scipy_special.t_density_derivative(df, t, n - k)
    return t * total


def rgamma_slope(z, *, ops):
    """The derivative of 1 / Gamma; left of 1/2 by reflection, sin(pi z) Gamma(1 - z) / pi, which holds at the poles."""
    special = ops.scipy_special
    left = ops.lt(ops.real(z), 0.5)
    right = ops.where(left, 1.0, z)
    plain = -special.rgamma(right) * special.polygamma_of(right, 0)
    mirrored = 1 - ops.where(left, z, 0.0)
    whole = ops.round(ops.real(mirrored))
    sign = 1 - 2 * ops.abs(ops.remainder(whole, 2))
    angle = math.pi * (mirrored - whole)
    # sin(pi z) = sin(pi (1 - z)), and the slope of that in z is -pi cos(pi (1 - z))
    slope = -ops.cos(angle) - ops.sin(angle) / math.pi * special.polygamma_of(mirrored, 0)
    return ops.where(left, sign * special.gamma(mirrored) * slope, plain)


def binom_slope(n, k, result, place, *, ops):
    """The slope of binom in n (place 0) or k (place 1); where binom is 0, at poles of digamma, by that of 1 / Gamma."""
    special = ops.scipy_special
    zero = ops.eq(result, 0)
    if place == 0:
        plain = special.digamma_difference(ops.where(zero, 1.0, n - k + 1), ops.where(zero, 1.0, k), 0)
    else:
        plain = special.digamma_difference(ops.where(zero, 1.0, k + 1), ops.where(zero, 1.0, n - 2 * k), 0)
    n, k = ops.where(zero, n, 1.0), ops.where(zero, k, 1.0)
    limit = special.rgamma(k + 1) * rgamma_slope(n - k + 1, ops=ops)
    if place == 1:
        limit = special.rgamma(n - k + 1) * rgamma_slope(k + 1, ops=ops) - limit
    return ops.where(zero, special.gamma(n + 1) * limit, result * plain)


def binomial_count_slope(k, n, p, *, ops):
    """The slope of the binomial distribution's function in k, as a function of any k."""
    part = ops.scipy_special.betainc_derivative
    return part(n - k, k + 1, 1 - p, 0, 1) - part(n - k, k + 1, 1 - p, 1, 0)


def density_times(scale, b, point, *, ops):
    """scale * gamma_density(b, scale * point); by the density of b + 1 where `scale` is 0 or infinite."""
    ended = (ops.eq(scale, 0) | ops.eq(scale, math.inf)) & ops.ne(point, 0)
    inner = ops.where(ended, 1.0, scale)
    at_end = b / ops.where(ended, point, 1.0) * ops.gamma_density(b + 1, ops.where(ended, scale * point, 1.0))
    return ops.where(ended, at_end, inner * ops.gamma_density(b, inner * point))


def _f_point(dfn, dfd, x, ops):
    """The argument w of betainc, and 1 - w over dfd: w = dfn x / (dfd + dfn x)."""
    end = ops.eq(x, math.inf)
    x = ops.where(end, 1.0, x)
    over = 1 / (dfd + dfn * x)
    return ops.where(end, 1.0, dfn * x * over), ops.where(end, 0.0, over)


def _f_beta_density(dfn, dfd, w, over, ops, i, j):
    """w^i (1 - w)^j times the density of the beta distribution at w, by the density of i and j more, i + j = 2.

    It is that of 1 - w, which keeps its digits, where w is near 1.
    """
    a, b = dfn / 2, dfd / 2
    first, second = (a, b) if i == j else (b, b + 1)
    upper = ops.gt(w, 0.5)
    density = ops.beta_density(
        ops.where(upper, b + j, a + i), ops.where(upper, a + i, b + j), ops.where(upper, dfd * over, w)
    )
    return first / (a + b) * (second / (a + b + 1)) * density


def f_density(dfn, dfd, x, *, ops):
    """The density of the F distribution."""
    w, over = _f_point(dfn, dfd, x, ops)
    return _f_beta_density(dfn, dfd, w, over, ops, 0, 2) * (dfn / dfd)


def _f_beta_slope(dfn, dfd, w, over, lower, ops):
    """The slope of betainc(dfn / 2, dfd / 2, w) in the first parameter or the second, from 1 - w where w is near 1."""
    upper, slope = ops.gt(w, 0.5), ops.scipy_special.betainc_derivative
    below = slope(dfn / 2, dfd / 2, ops.where(upper, 0.5, w), 1 - lower, lower)
    above = -slope(dfd / 2, dfn / 2, ops.where(upper, dfd * over, 0.5), lower, 1 - lower)
    return ops.where(upper, above, below)


def f_slope(dfn, dfd, x, *, ops):
    """The slope of the F distribution's function in the degrees of freedom above."""
    w, over = _f_point(dfn, dfd, x, ops)
    moved = _f_beta_density(dfn, dfd, w, over, ops, 1, 1) / dfn
    return 0.5 * _f_beta_slope(dfn, dfd, w, over, 0, ops) + moved


def f_lower_slope(dfn, dfd, x, *, ops):
    """The slope of the F distribution's function in the degrees of freedom below."""
    w, over = _f_point(dfn, dfd, x, ops)
    moved = _f_beta_density(dfn, dfd, w, over, ops, 1, 1) / dfd
    return 0.5 * _f_beta_slope(dfn, dfd, w, over, 1, ops) - moved


def box_cox_slope(x, lmbda, *, ops):
    """The slope of (x**lmbda - 1) / lmbda in lmbda: log(x)**2 times the integral of t exp(t lmbda log(x))."""
    zero = ops.eq(x, 0)
    log = ops.log(ops.where(zero, 1.0, x))
    at_zero = ops.where(ops.gt(lmbda, 0), 1 / ops.where(ops.gt(lmbda, 0), lmbda, 1.0) ** 2, math.inf)
    return ops.where(zero, at_zero, log * log * ops.scipy_special.exp_moment(lmbda * log, 1))


def box_cox_1p_slope(x, lmbda, *, ops):
    """The same of boxcox1p."""
    zero = ops.eq(x, -1)
    log = ops.log1p(ops.where(zero, 0.0, x))
    at_zero = ops.where(ops.gt(lmbda, 0), 1 / ops.where(ops.gt(lmbda, 0), lmbda, 1.0) ** 2, math.inf)
    return ops.where(zero, at_zero, log * log * ops.scipy_special.exp_moment(lmbda * log, 1))


def pseudo_huber_slope(delta, r, *, ops):
    """The slope in delta: r**4 / (h (h + delta)**2), h = hypot(delta, r), in which nothing cancels."""
    h = ops.hypot(delta, r)
    h = ops.where(ops.eq(h, 0), math.inf, h)
    return r / h * (r / (h + delta)) ** 2 * r


def log_quotient(x, y, *, ops):
    """log(x / y), exact near x = y."""
    near = ops.lt(ops.abs(x - y), 0.5 * y)
    close = ops.log1p(ops.where(near, (x - y) / ops.where(near, y, 1.0), 0.0))
    return ops.where(near, close, ops.log(ops.where(near, 1.0, x)) - ops.log(ops.where(near, 1.0, y)))


def tukey_density(x, lmbda, p, *, ops):
    """1 over the slope of the quantile function (p**lmbda - (1 - p)**lmbda) / lmbda; 0 outside of the support."""
    inside = ops.logical_and(ops.gt(p, 0), ops.lt(p, 1))
    p = ops.where(inside, p, 0.5)
    return ops.where(inside, 1 / (p ** (lmbda - 1) + (1 - p) ** (lmbda - 1)), 0.0)


def tukey_slope(x, lmbda, p, *, ops):
    """The slope of Tukey's distribution function in lmbda."""
    inside = ops.logical_and(ops.gt(p, 0), ops.lt(p, 1))
    q = ops.where(inside, p, 0.5)
    moved = box_cox_slope(q, lmbda, ops=ops) - box_cox_slope(1 - q, lmbda, ops=ops)
    return ops.where(inside, -moved * tukey_density(x, lmbda, p, ops=ops), 0.0)


def struve_step(v, x, *, ops):
    """(x / 2)**v / (sqrt(pi) Gamma(v + 3/2)), by which the recurrence of Struve's functions is not homogeneous."""
    return (0.5 * x) ** v * ops.scipy_special.rgamma(v + 1.5) / math.sqrt(math.pi)


def expn_slope(n, x, *, ops):
    """-E_{n-1}(x), where E_0(x) = exp(-x) / x and E_{-1}(x) = (1 + 1 / x) exp(-x) / x."""
    n = n - n % 1  # of which SciPy takes the whole part
    first = ops.eq(n, 0)
    below = ops.scipy_special.expn(ops.where(first, 0, n - 1), x)
    return ops.where(first, -(1 + 1 / x) * ops.exp(-x) / x, -below)


def _reduced(phi, m, *, ops):
    """(k, sin, cos squared) of phi - pi k, within [-pi / 2, pi / 2], with the dimensions of m too."""
    phi = phi + ops.zeros_like(m)
    k = ops.round(phi / math.pi)
    r = phi - math.pi * k
    return k, ops.sin(r), ops.square(ops.cos(r))


def elliptic_f_slope(phi, m, *, ops):
    """The slope of the incomplete elliptic integral F(phi, m) in m, by Carlson's integrals."""
    special = ops.scipy_special
    k, sine, square = _reduced(phi, m, ops=ops)
    one, zero = ops.ones_like(sine * m), ops.zeros_like(sine * m)
    part = sine**3 / 6 * special.elliprd(square + zero, one, 1 - m * sine * sine)
    whole = (special.ellipk(m) - special.elliprd(zero, 1 - m + zero, one) / 3) / (1 - m)
    return part + ops.where(ops.eq(k, 0), 0.0, k * ops.where(ops.eq(k, 0), 1.0, whole))


def elliptic_e_slope(phi, m, *, ops):
    """The slope of the incomplete elliptic integral E(phi, m) in m."""
    special = ops.scipy_special
    k, sine, square = _reduced(phi, m, ops=ops)
    one, zero = ops.ones_like(sine * m), ops.zeros_like(sine * m)
    part = sine**3 / 6 * special.elliprd(square + zero, 1 - m * sine * sine, one)
    whole = special.elliprd(zero, 1 - m + zero, one) / 3
    return -part - ops.where(ops.eq(k, 0), 0.0, k * ops.where(ops.eq(k, 0), 1.0, whole))


def hyperu_lower_order(a, b, x, m, n, *, ops):
    """The derivative of hyperu one order lower in a; 0 where there is none."""
    return ops.scipy_special.hyperu_derivative(a, b, x, m - 1, n) if m else 0.0


def _over_power(n, value):
    """The n-th derivative of 1 / value."""
    return (-1) ** n * math.factorial(n) / value ** (n + 1)


def hyp0f1_argument_slope(v, z, n, *, ops):
    """The n-th derivative in v of hyp0f1(v + 1, z) / v, by Leibniz' rule."""
    f = ops.scipy_special.hyp0f1_derivative
    return sum(math.comb(n, k) * _over_power(n - k, v) * f(v + 1, z, k) for k in range(n + 1))


def hyp1f1_argument_slope(a, b, x, m, n, *, ops):
    """The same of a / b hyp1f1(a + 1, b + 1, x), m times in a and n in b."""

    def f(m, k):
        return ops.scipy_special.hyp1f1_derivative(a + 1, b + 1, x, m, k)

    def both(k):
        return a * f(m, k) + m * f(m - 1, k) if m else a * f(0, k)

    return sum(math.comb(n, k) * _over_power(n - k, b) * both(k) for k in range(n + 1))


def hyp2f1_argument_slope(a, b, c, x, m, n, k, *, ops):
    """The same of a b / c hyp2f1(a + 1, b + 1, c + 1, x)."""

    def f(m, n, q):
        return ops.scipy_special.hyp2f1_derivative(a + 1, b + 1, c + 1, x, m, n, q)

    def by_b(m, q):
        return b * f(m, n, q) + n * f(m, n - 1, q) if n else b * f(m, 0, q)

    def by_both(q):
        return a * by_b(m, q) + m * by_b(m - 1, q) if m else a * by_b(0, q)

    return sum(math.comb(k, q) * _over_power(k - q, c) * by_both(q) for q in range(k + 1))


def zeta_argument_slope(s, q, n, *, ops):
    """The n-th derivative in s of -s zeta(s + 1, q)."""
    zeta = ops.scipy_special.zeta_derivative
    return -s * zeta(s + 1, q, n) - n * zeta(s + 1, q, n - 1) if n else -s * zeta(s + 1, q, 0)


def gegenbauer_argument_slope(n, alpha, x, i, *, ops):
    """The i-th derivative in alpha of 2 alpha C_{n-1}(alpha + 1, x)."""
    first, below = ops.eq(n, 0), ops.where(ops.eq(n, 0), 0, n - 1)

    def f(i):
        return ops.scipy_special.gegenbauer_derivative(below, alpha + 1, x, i)

    return ops.where(first, 0.0, 2 * (alpha * f(i) + i * f(i - 1) if i else alpha * f(0)))


def jacobi_argument_slope(n, alpha, beta, x, i, j, *, ops):
    """The derivative of (n + alpha + beta + 1) / 2 P_{n-1}(alpha + 1, beta + 1, x), i times in alpha and j in beta."""
    first, below = ops.eq(n, 0), ops.where(ops.eq(n, 0), 0, n - 1)

    def f(i, j):
        return ops.scipy_special.jacobi_derivative(below, alpha + 1, beta + 1, x, i, j) if min(i, j) >= 0 else 0.0

    return ops.where(first, 0.0, 0.5 * ((n + alpha + beta + 1) * f(i, j) + i * f(i - 1, j) + j * f(i, j - 1)))


def ncfdtr_argument_slope(dfn, dfd, nc, r, m, n, density, *, ops):
    """The slope in r = w / (1 - w): in w one order up, of which there are two."""
    if density < 2:
        return ops.scipy_special.ncfdtr_part(dfn, dfd, nc, r, m, n, density + 1) / ops.square(1 + r)
    raise NotImplementedError("ncfdtr: the third derivative in f, or through it, is not implemented.")


def ncf_slope(dfn, dfd, nc, f, which, *, ops):
    """The slope of the noncentral F distribution's function in dfn, dfd, nc or f."""
    part = ops.scipy_special.ncfdtr_part
    (w, over), r = _f_point(dfn, dfd, f, ops), dfn * f / dfd
    if which == 2:
        return 0.5 * (part(dfn + 2, dfd, nc, r, 0, 0, 0) - part(dfn, dfd, nc, r, 0, 0, 0))
    density = part(dfn, dfd, nc, r, 0, 0, 1)
    if which == 3:
        return density * (dfn * over) * (dfd * over)
    if which == 0:
        return 0.5 * part(dfn, dfd, nc, r, 1, 0, 0) + density * (f * over) * (dfd * over)
    return 0.5 * part(dfn, dfd, nc, r, 0, 1, 0) - density * w * over


def imaginary(x, *, ops):
    """i x."""
    return 1j * x


def turned(angle, sign, *, ops):
    """exp(sign i angle)."""
    return ops.cos(angle) + sign * 1j * ops.sin(angle)


def wright_bessel_argument_slope(a, b, x, i, j, *, ops):
    """The derivative of wright_bessel(a, a + b, x), i times in a and j in b."""
    f = ops.scipy_special.wright_bessel_derivative
    return sum(math.comb(i, p) * f(a, a + b, x, p, i - p + j) for p in range(i + 1))


def solved(slope, result, found, wanted, *, ops):
    """The slope where a search ended at a solution; 0 where it ran into a bound, which moves with nothing; else nan."""
    near = ops.le(ops.abs(found - wanted), 1e-3 * ops.minimum(wanted, 1 - wanted))
    inside = ops.logical_and(ops.gt(wanted, 0), ops.lt(wanted, 1))
    size = ops.abs(result)
    ended = ops.logical_or(ops.le(size, 1e-100), ops.ge(size, 1e100))
    for bound in (1e4, 1e10):  # where others of SciPy's searches end
        ended = ops.logical_or(ended, ops.eq(size, bound))
    return ops.where(near, slope, ops.where(ops.logical_and(ended, inside), 0.0, math.nan))


def within_ends(p, slope, *, ops):
    """The slope of a quantile in a parameter: that of the probabilities 0 and 1 does not move."""
    return ops.where(ops.logical_or(ops.eq(p, 0), ops.eq(p, 1)), 0.0, slope)


def struve_quotient(x, *, ops):
    """struve(0, x) / x, by its series near 0: 2 / pi times the sum of (-x**2)**k / ((2 k + 1)!!)**2."""
    near = ops.lt(ops.abs(x), 1.0)
    t = ops.where(near, -x * x, 0.0)
    total = 1.0
    for k in range(8, 0, -1):
        total = 1 + t / (2 * k + 1) ** 2 * total
    far = ops.where(near, 1.0, x)
    return ops.where(near, 2 / math.pi * total, ops.scipy_special.struve(0.0, far) / far)


def bessel_excess(x, value, sign, *, ops):
    """sign (f(x) - 1) / x of f = J0 (sign -1) or I0, by the series in (x/2)**2 near 0, where its terms cancel."""
    near = ops.lt(ops.abs(x), 1.0)
    t = ops.where(near, sign * 0.25 * x * x, 0.0)
    total = 0.0
    for k in range(12, 0, -1):
        total = total * t + 1 / math.factorial(k) ** 2
    return ops.where(near, 0.25 * x * total, sign * (value - 1) / ops.where(near, 1.0, x))
