"""Random numbers inside of compiled functions: drawn afresh at each run, and those that the function draws itself."""

import numpy as np
import pytest

import pullback as pb

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


def in_vmap(x):
    return pb.func.vmap(lambda v: v * pb.rand(()), randomness="different")(x).sum()


def by_a_branch(x):
    noise = pb.rand(2)
    return (x * noise).sum() if x[0] > 1.2 else (x - noise * pb.rand(2)).sum()


@pytest.mark.parametrize("f", [uniform, several, unused, dropped, in_vmap, by_a_branch])
def test_a_seeded_program_draws_what_the_function_draws(f):
    f = pb.func.value_and_grad(f)
    made = pb.compile(f)
    found, expected = [], []
    for run, results in ((made, found), (f, expected)):
        pb.manual_seed(1)
        with pb.adopt():
            results += [run(x) for x in [*POINTS, *POINTS, *POINTS]]
        results.append((pb.rand(1).numpy(), pb.rand(1).numpy()))
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
    with pytest.warns(pb.compiler.CompileWarning, match="changes the state"):
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


def test_draws_keep_their_order_where_large_work_runs_block_by_block():
    def f(x):
        first = (x * 2).exp() * pb.rand_like(x)  # after a group of steps, which the other draw does not need
        return (first * pb.rand(4).sum()).sum()

    made, results = pb.compile(f), []
    for run in (made, f):
        pb.manual_seed(3)
        results.append([run(pb.full((100_000,), 0.1 * i)).item() for i in range(5)])
    np.testing.assert_allclose(*results, rtol=1e-9)
    (variants,) = made._by_signature.values()
    assert variants.programs


def test_a_rule_that_draws_draws_at_each_run():
    @pb.custom_vjp
    def noisy(x):
        return x * pb.rand(2).numpy()

    noisy.defvjp(lambda cotangent, y, x: cotangent * y / x)

    def f(x):
        noisy(x)  # for nobody, and all the same it draws
        return noisy(x).sum() if x[0] > 1.2 else (2 * noisy(x)).sum()

    f = pb.func.value_and_grad(f)
    made, results = pb.compile(f), []
    for run in (made, f):
        pb.manual_seed(3)
        results.append([run(x) for x in [*POINTS, *POINTS]])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a[1], b[1], rtol=1e-12)
    (variants,) = made._by_signature.values()
    assert len(variants.programs) == 2
