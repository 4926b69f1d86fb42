"""Random operators: distributions, seeding, and independence of threads."""

import math
import threading

import numpy as np
import pytest
import scipy.stats

import pullback as pb

N = 20_000


@pytest.fixture(autouse=True)
def _seeded():
    pb.manual_seed(1234)


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda: pb.rand(N), scipy.stats.uniform()),
        (lambda: pb.rand(N, dtype=np.float32), scipy.stats.uniform()),
        (lambda: pb.randn(N), scipy.stats.norm()),
        (lambda: pb.randn(N, dtype=np.complex128).real, scipy.stats.norm(0, 0.5**0.5)),
        (lambda: pb.normal(pb.full((N,), 2.0), 3.0), scipy.stats.norm(2, 3)),
        (lambda: pb.normal(2.0, 3.0, (N,)), scipy.stats.norm(2, 3)),
        (lambda: pb.empty(N).uniform_(-1, 3), scipy.stats.uniform(-1, 4)),
        (lambda: pb.empty(N).normal_(2, 3), scipy.stats.norm(2, 3)),
        (lambda: pb.empty(N).log_normal_(0.5, 0.3), scipy.stats.lognorm(0.3, 0, np.exp(0.5))),
        (lambda: pb.empty(N).exponential_(2.0), scipy.stats.expon(0, 0.5)),
        (lambda: pb.empty(N).cauchy_(1.0, 2.0), scipy.stats.cauchy(1, 2)),
    ],
)
def test_continuous_draws_follow_their_distribution(draw, distribution):
    values = np.asarray(draw().numpy(), np.float64)
    assert scipy.stats.kstest(values, distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("draw", "probabilities"),
    [
        (lambda: pb.randint(3, (N,)), {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}),
        (lambda: pb.randint(-1, 1, (N,)), {-1: 0.5, 0: 0.5}),
        (lambda: pb.bernoulli(pb.full((N,), 0.3)), {0: 0.7, 1: 0.3}),
        (lambda: pb.empty(N).bernoulli_(0.3), {0: 0.7, 1: 0.3}),
        (lambda: pb.poisson(pb.full((N,), 0.5)), {k: 0.5**k * np.exp(-0.5) / math.factorial(k) for k in range(4)}),
        (lambda: pb.binomial(pb.full((N,), 2.0), 0.3), {0: 0.49, 1: 0.42, 2: 0.09}),
        (lambda: pb.empty(N).geometric_(0.9), {1: 0.9, 2: 0.09}),
        (lambda: pb.multinomial(pb.tensor([1.0, 0.0, 3.0]), N, replacement=True), {0: 0.25, 1: 0, 2: 0.75}),
        (lambda: pb.multinomial(pb.tensor([[1.0, 0.0, 3.0]] * N), 1).reshape(-1), {0: 0.25, 1: 0, 2: 0.75}),
    ],
)
def test_discrete_draws_have_their_frequencies(draw, probabilities):
    values = draw().numpy()
    for value, p in probabilities.items():
        assert abs(np.mean(values == value) - p) <= 5 * (p * (1 - p) / N) ** 0.5, value


def test_multinomial_without_replacement_repeats_nothing_and_leaves_out_weight_zero():
    chosen = pb.multinomial(pb.tensor([[0.0, 1.0, 2.0, 3.0]] * 100), 3).numpy()
    assert (np.sort(chosen, -1) == [1, 2, 3]).all()


def test_randperm_is_a_permutation():
    assert (np.sort(pb.randperm(50).numpy()) == np.arange(50)).all()


def test_a_seed_repeats_the_numbers_and_a_state_resumes_them():
    first = pb.rand(3).numpy()
    state = pb.get_rng_state()
    second = pb.rand(3).numpy()
    pb.set_rng_state(state)
    assert (pb.rand(3).numpy() == second).all()
    pb.manual_seed(1234)
    assert (pb.rand(3).numpy() == first).all()
    assert (first != second).all()


def test_a_generator_of_ones_own_leaves_the_default_alone():
    pb.manual_seed(1)
    expected = pb.rand(3).numpy()
    pb.manual_seed(1)
    own = np.random.default_rng(7)
    pb.rand(3, generator=own)
    pb.bernoulli(pb.full((3,), 0.5), generator=own)
    assert (pb.rand(3).numpy() == expected).all()


def test_threads_share_the_default_generator_without_repeating_numbers():
    drawn = []
    threads = [threading.Thread(target=lambda: drawn.append(pb.rand(1000).numpy())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.unique(np.concatenate(drawn)).size == 8000


def test_a_random_fill_cuts_the_gradient():
    x = pb.ones(3, requires_grad=True)
    y = x * 2
    y.uniform_()
    y.sum().backward()
    assert (x.grad.numpy() == 0).all()


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int8", 0, 1000), ("uint8", -5, 10), ("float16", 0, 10**6), ("int64", 0, 2**64)]
)
def test_random_fills_refuse_bounds_that_the_dtype_does_not_hold(dtype, low, high):
    with pytest.raises(ValueError, match=f"out of bounds for {dtype}"):
        pb.zeros(3, dtype=dtype).random_(low, high)
    if dtype != "int64":
        with pytest.raises(ValueError, match=f"out of bounds for {dtype}"):
            pb.randint(low, high, (3,), dtype=dtype)


def test_uniform_fills_refuse_a_range_wider_than_the_dtype():
    with pytest.raises(ValueError, match="out of bounds for float32"):
        pb.zeros(3, dtype="float32").uniform_(-3e38, 3e38)


def test_random_from_a_number_without_an_end_begins_there():
    assert pb.zeros(100, dtype="int8").random_(120, None).min() >= 120
    assert pb.zeros(100, dtype="int8").random_(5).max() < 5
    assert pb.zeros(100, dtype="float16").random_(2040, None).min() >= 2040
