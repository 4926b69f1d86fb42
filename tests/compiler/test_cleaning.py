"""Zeros that meet infinite slopes: a program leaves masks out, and finds out where they are missing."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.program import Program
from pullback.compiler.tracing import trace

AWAY, AT = np.array([0.5, 1.0, 4.0, 2.0]), np.array([0.0, 1.0, 0.0, 2.0])


def chosen(x):
    return np.sum(np.where(x > 0, np.sqrt(x) * np.exp(x), 0.0))


def part(x):
    return np.sum(np.log(x)[1::2] ** 2)


def power(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0) ** 2.0)


def matrix(x):
    return np.sum((np.where(x > 0, np.sqrt(x), 0.0)[:, None] * np.ones((4, 4))) @ np.ones(4))


FUNCTIONS = [chosen, part, power, matrix]
TRANSFORMS = {
    "grad": pb.func.grad,
    "jvp": lambda f: lambda x: pb.func.jvp(f, (x,), (np.array([0.0, 1.0, 0.0, 2.0]),))[1],
    "hvp": lambda f: lambda x: pb.func.hvp(f, x, np.array([0.0, 1.0, 0.0, 1.0])),
    "hessian": pb.func.hessian,
    "batch": lambda f: lambda x: pb.vmap(pb.func.grad(f))(np.stack([x, x + 1.0])),
}


def program_of(function, at):
    return Program(trace([at], 0, lambda given: function(*given), lambda array: False))


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_program_gives_zeros_where_nothing_is_touched(function, transform):
    with np.errstate(all="ignore"):
        derivative = TRANSFORMS[transform](function)
        expected, elsewhere = derivative(AT), derivative(AWAY)
        for at in (AWAY, AT):
            program = program_of(derivative, at)
            for _ in range(3):
                np.testing.assert_allclose(program.run([AWAY], [AWAY]), elsewhere, rtol=1e-12)
                np.testing.assert_allclose(program.run([AT], [AT]), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.clamp(min=2.0).norm(), lambda x: x.sign().var(), lambda x: pb.cdist(x.relu()[None], x.sign()[None])],
)
def test_what_nothing_moves_stands_still_beyond_operators_of_whole_arrays(function):
    compiled = pb.compile(pushed := lambda x: pb.func.jvp(function, (x,), (x * 0.5,)))
    for numbers in 4 * [[1.0, -0.5, -2.0]] + 3 * [[-1.0, np.nan, -2.0]]:
        x = pb.tensor(numbers)
        for found, expected in zip(compiled(x), pushed(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_fast_form_has_no_masks_and_the_careful_form_takes_over():
    program = program_of(pb.func.grad(chosen), AWAY)
    fast = program.plan
    assert program.suspect == [0]
    careful = program_of(pb.func.grad(chosen), AWAY)
    for _ in range(2):
        careful.run([AT], [AT])
    assert careful.plan is careful.careful
    assert len(careful.plan.steps) > len(fast.steps)
    assert careful.suspect == []


def test_a_nan_of_the_function_itself_stays():
    program = program_of(pb.func.grad(chosen), AWAY)
    at = np.array([np.nan, 1.0, 4.0, 2.0])
    np.testing.assert_allclose(program.run([at], [at]), pb.func.grad(chosen)(at))


@pytest.mark.parametrize("compare", [np.isnan, lambda g: g > 0.5, lambda g: np.nan_to_num(g, nan=7.0)])
def test_a_mask_stays_before_what_a_nan_does_not_come_through(compare):
    def function(x):
        return compare(pb.func.grad(chosen)(x)) * 1.0

    with np.errstate(all="ignore"):
        program = program_of(function, AWAY)
        np.testing.assert_array_equal(program.run([AT], [AT]), function(AT))


def test_a_compiled_node_pulls_back_with_care():
    compiled = pb.compile(lambda x: pb.where(x > 0, pb.sqrt(x) * pb.exp(x), 0.0).sum())
    for at in (AWAY, AWAY, AT, AWAY, AT):
        x = pb.tensor(at, requires_grad=True)
        compiled(x).backward()
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(x.grad.numpy(), pb.func.grad(chosen)(at), rtol=1e-12)


def test_masks_that_are_known_beforehand_are_left_out_too():
    program = program_of(pb.func.hessian(lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum()), AWAY)
    assert program.suspect == [0]
    assert "where" not in {step.what for step in program.plan.steps}


def slope(x):
    return pb.func.grad(lambda y: pb.where(y > 0, y.sqrt(), 0.0).sum())(x.detach())


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_masks_matter_in_the_results_of_every_program(requires_grad, draws):
    compiled = pb.compile(function := lambda x: (x * 2, slope(x), pb.rand(2) if draws else 0.0))
    for k in range(6):
        x = pb.tensor([k % 2, 1.0], requires_grad=requires_grad)
        pb.manual_seed(k)
        found = compiled(x)
        pb.manual_seed(k)
        for a, b in zip(found, function(x), strict=True):
            np.testing.assert_array_equal(*(y.detach() if isinstance(y, pb.Tensor) else y for y in (a, b)))
    assert any(x.programs for x in compiled._by_signature.values())


def test_the_masks_of_a_product_with_a_hessian_are_few():
    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    x, v = np.linspace(-1.0, 1.0, 6), np.array([0.0, 1.0, 0.0, 2.0, 0.0, 3.0])
    made = trace([x, v], 0, lambda given: pb.func.hvp(rosenbrock, *given), lambda array: False)
    names = [step.name for step in made.graph.steps]
    assert names.count("isnan") == 0  # a linear rule makes no numbers of nothing: nobody looks for them
    assert len(names) < 100
    np.testing.assert_allclose(made.result, pb.func.hessian(rosenbrock)(x) @ v)
