"""Kernels of the area special: special functions."""

from pullback.arrays.numpy.special.bessels import (
    airy_ai, airy_ai_prime, bessel_j0, bessel_j1, bessel_y0, bessel_y1, i0, i0e, i0e_derivative, i1, i1_derivative,
    i1e, i1e_derivative, iv, jv, k0, k0e, k0e_derivative, k1, k1e, kv, spherical_bessel_j0, spherical_jn, yv,
)
from pullback.arrays.numpy.special.betas import beta_density, betainc, betaincinv
from pullback.arrays.numpy.special.error_functions import (
    entr, erfcinv, erfcx, erfinv, inverse_mills, log_ndtr, ndtr, ndtri, scaled_repeated_erfc, xlog1py,
)
from pullback.arrays.numpy.special.gammas import (
    digamma, digamma_derivative, gamma_density, gammainccinv, gammaincinv, igamma, igammac, lgamma, polygamma, zeta,
)
from pullback.arrays.numpy.special.polynomials import (
    associated_laguerre, chebyshev_t, chebyshev_u, gegenbauer, hermite_h, hermite_he, laguerre_l, legendre_p,
)
