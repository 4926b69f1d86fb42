"""Random numbers inside of compiled functions: drawn afresh at each run, and those that the function draws itself."""

import numpy as np
import pytest

import pullback as pb

OWN = np.random.default_rng(3)
POINTS = [np.array(x) for x in ([1.0, 2.0], [1.5, 1.0], [0.3, 0.5], [2.0, 2.5], [0.9, 1.1])]


def uniform(x):
    return (x * pb.rand(2)).sum()


def several(x):
    noise = pb.randn(3, 2) + pb.normal(1.0, 2.0, (2,)) + pb.randint(0, 9, (3, 2))
    return (x * noise[pb.randperm(3)]).sum()


def unused(x):
    pb.rand(5)
    return (x * pb.randn(2)).sum()


def dropped(x):
    return (pb.nn.functional.dropout(x * x, 0.5) * pb.rand_like(x) * pb.bernoulli(pb.full((2,), 0.5))).sum()


def of_a_generator(x):
    return (x * pb.rand(2, generator=OWN) * pb.rand(2)).sum()


def in_vmap(x):
    return pb.func.vmap(lambda v: v * pb.rand(()), randomness="different")(x).sum()


def by_a_branch(x):
    noise = pb.rand(2)
    return (x * noise).sum() if x[0] > 1.2 else (x - noise * pb.rand(2)).sum()


@pytest.mark.parametrize("f", [uniform, several, unused, dropped, of_a_generator, in_vmap, by_a_branch])
def test_a_seeded_program_draws_what_the_function_draws(f):
    f = pb.func.value_and_grad(f)
    made = pb.compile(f)
    found, expected = [], []
    for run, results in ((made, found), (f, expected)):
        pb.manual_seed(1)
        OWN.bit_generator.state = np.random.PCG64(7).state
        with pb.adopt():
            results += [run(x) for x in [*POINTS, *POINTS, *POINTS]]
        results.append((pb.rand(1).numpy(), OWN.random()))
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    (variants,) = made._by_signature.values()
    assert variants.programs


def test_a_function_that_seeds_runs_eagerly():
    def f(x):
        pb.manual_seed(0)
        return (x * pb.rand(2)).sum()

    made = pb.compile(pb.func.grad(f))
    with pytest.warns(pb.compiler.CompileWarning, match="seeds the default generator"):
        first = made(POINTS[0])
    np.testing.assert_array_equal(made(POINTS[1]), first)


def test_a_failed_trace_draws_nothing():
    def f(x):
        noise = pb.rand(2)
        pb.func.sparse_hessian(lambda x: (x**4).sum())(x)  # no array
        return (x * noise).sum()

    pb.manual_seed(2)
    expected = f(POINTS[0])
    pb.manual_seed(2)
    with pytest.warns(pb.compiler.CompileWarning):
        assert pb.compile(f)(POINTS[0]) == expected


def test_numbers_of_numpy_are_seen_by_the_second_trace():
    made = pb.compile(pb.func.grad(lambda x: (x * np.random.rand(2)).sum()))  # noqa: NPY002 - what programs do
    with pytest.warns(pb.compiler.CompileWarning, match="no two of"):
        results = [made(POINTS[0]) for _ in range(10)]
    assert len({x.tobytes() for x in results}) == 10
