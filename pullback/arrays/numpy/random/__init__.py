"""Kernels of the area random: draws, and the default generator."""

from pullback.arrays.numpy.random.draws import (
    bernoulli, bernoulli_, bernoulli_p, cauchy_, exponential_, geometric_, log_normal_, multinomial, normal,
    normal_, normal_size, poisson, rand, rand_like, randint, randint_like, randint_like_low, randint_low, randn,
    randn_like, random_, random_to, randperm, uniform_,
)
