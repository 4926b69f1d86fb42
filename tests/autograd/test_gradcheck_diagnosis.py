"""Each usual mistake, made on purpose, is recognised; and the same code without it passes."""

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError
from pullback.autograd.gradcheck import error as error_module
from pullback.autograd.gradcheck.error import Diagnosis
from pullback.testing import make_tensor


def inputs(*shapes, dtype=np.float64, **how):
    return tuple(make_tensor(s, dtype=dtype, requires_grad=True, generator=k, **how) for k, s in enumerate(shapes))


def function(forward, backward):
    """A custom Function that saves its inputs; `backward(inputs, *grads)` gives the gradients."""

    class Custom(pb.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return forward(*xs)

        @staticmethod
        def backward(ctx, *grads):
            return backward(*ctx.saved_tensors, *grads)

    return Custom.apply


def diagnosis(func, xs, **options):
    """The error of gradcheck, the same in kind in both modes."""
    found = []
    for fast_mode in (False, True):
        with pytest.raises(GradcheckError) as caught:
            pb.autograd.gradcheck(func, xs, fast_mode=fast_mode, **options)
        found.append(caught.value)
    slow, fast = found
    assert slow.diagnosis.kind == fast.diagnosis.kind
    assert slow.diagnosis.text in str(slow)
    return slow


A = make_tensor((3, 3), generator=7)
B = make_tensor((2, 3), generator=8)


def sin_times(factor):
    return function(pb.sin, lambda x, g: g * x.cos() * factor)


class TestConstantFactor:
    @pytest.mark.parametrize(
        ("factor", "name"),
        [(2, "2"), (0.5, "1/2"), (math.pi, "pi"), (-math.pi, "-pi"), (1 / math.pi, "1/pi"), (math.sqrt(2), "sqrt(2)"),
         (180 / math.pi, "180/pi"), (1.2345, "1.2345"), (-3, "-3")],
    )  # fmt: skip
    def test_named(self, factor, name):
        error = diagnosis(sin_times(factor), inputs((2, 3)))
        assert error.diagnosis.kind == "constant_factor"
        assert f"the gradient is {name} times the right one" in error.diagnosis.text

    def test_mean_for_sum_is_one_over_the_number_of_elements(self):
        error = diagnosis(function(pb.sum, lambda x, g: (g / 11).expand(x.shape)), inputs((11,)))
        assert "1/11 times" in error.diagnosis.text
        assert "number of elements of the input" in error.diagnosis.text

    def test_mean_over_a_broadcast_dimension(self):
        wrong = function(lambda a, b: a * b, lambda a, b, g: (g * b, (g * a).mean(0)))
        error = diagnosis(wrong, inputs((4, 3), (3,)))
        assert error.input_index == 1
        assert "1/4 times" in error.diagnosis.text
        assert "how often the input is repeated" in error.diagnosis.text

    def test_on_some_entries_only(self):
        twice_on_diagonal = function(lambda x: x * x, lambda x, g: 2 * g * x * (1 + pb.from_numpy(np.eye(3))))
        error = diagnosis(twice_on_diagonal, inputs((3, 3)))
        assert error.diagnosis.kind == "constant_factor"
        assert "3 entries are 2 times" in error.diagnosis.text

    def test_one_ratio_of_no_particular_value_is_no_factor(self):
        with pytest.raises(GradcheckError) as caught:
            pb.autograd.gradcheck(sin_times(1.2345), inputs((1,)))
        assert caught.value.diagnosis is None


def test_sign():
    error = diagnosis(function(pb.cos, lambda x, g: g * x.sin()), inputs((3,)))
    assert error.diagnosis.kind == "sign"


class TestTransposed:
    def test_jacobian(self):
        assert diagnosis(function(lambda x: A @ x, lambda x, g: A @ g), inputs((3,))).diagnosis.kind == "transposed"

    def test_gradient_reshaped_where_it_should_be_transposed(self):
        wrong = function(lambda x: x * B, lambda x, g: (g * B).mT.reshape(2, 3))
        assert diagnosis(wrong, inputs((2, 3))).diagnosis.kind == "transposed"

    def test_incoming_gradient_reshaped_where_it_should_be_transposed(self):
        wrong = function(lambda x: x.mT * B.mT, lambda x, g: g.reshape(2, 3) * B)
        assert diagnosis(wrong, inputs((2, 3))).diagnosis.kind in {"transposed", "factor_on_some"}


class TestMissingConjugate:
    def test_of_the_derivative(self):
        wrong = function(pb.sin, lambda x, g: g * x.cos())
        assert diagnosis(wrong, inputs((3,), dtype=np.complex128)).diagnosis.kind == "missing_conjugate"

    def test_on_the_incoming_gradient_instead(self):
        wrong = function(pb.sin, lambda x, g: g.conj() * x.cos().conj())
        assert diagnosis(wrong, inputs((3,), dtype=np.complex128)).diagnosis.kind == "missing_conjugate"

    def test_of_a_real_output(self):
        wrong = function(lambda x: (x * x).real, lambda x, g: 2 * g * x)
        assert diagnosis(wrong, inputs((3,), dtype=np.complex128)).diagnosis.kind == "missing_conjugate"

    def test_right_conjugate_passes(self):
        right = function(pb.sin, lambda x, g: g * x.cos().conj())
        assert pb.autograd.gradcheck(right, inputs((3,), dtype=np.complex128))


def test_missing_sum_over_a_broadcast_dimension():
    wrong = function(lambda a, b: a * b, lambda a, b, g: (g * b, (g * a)[0]))
    error = diagnosis(wrong, inputs((4, 3), (3,)))
    assert error.diagnosis.kind == "missing_sum"
    assert error.input_index == 1


class TestWrongOrder:
    def test_of_inputs(self):
        wrong = function(lambda a, b: a * b * b, lambda a, b, g: (2 * g * a * b, g * b * b))
        error = diagnosis(wrong, inputs((3,), (3,)))
        assert error.diagnosis.kind == "swapped_inputs"
        assert "input 0 gets what belongs to input 1" in error.diagnosis.text

    def test_of_three_inputs_in_a_cycle(self):
        wrong = function(
            lambda a, b, c: a * b * b + c.sin(), lambda a, b, c, g: (2 * g * a * b, g * c.cos(), g * b * b)
        )
        assert diagnosis(wrong, inputs((3,), (3,), (3,))).diagnosis.kind == "swapped_inputs"

    def test_of_outputs(self):
        wrong = function(lambda a: (a.sin(), a.exp()), lambda a, g, h: g * a.exp() + h * a.cos())
        assert diagnosis(wrong, inputs((3,))).diagnosis.kind == "swapped_outputs"


class TestMissingGradient:
    def test_none(self):
        error = diagnosis(lambda x: x.sin().detach() * 1.0 + pb.zeros(3), inputs((3,)))
        assert error.diagnosis.kind == "missing_gradient"
        assert "no gradient at all" in error.diagnosis.text

    def test_zeros(self):
        error = diagnosis(lambda x: x.sin().detach() + 0 * x, inputs((3,)))
        assert error.diagnosis.kind == "missing_gradient"
        assert "zero everywhere" in error.diagnosis.text

    def test_of_one_input_of_two(self):
        error = diagnosis(function(lambda a, b: a * b, lambda a, b, g: (g * b, None)), inputs((3,), (3,)))
        assert error.diagnosis.kind == "missing_gradient"
        assert error.input_index == 1


def test_dropped_entries_of_an_index_that_comes_twice():
    def backward(x, g):
        filled = np.zeros(3)
        filled[[0, 0, 2]] = g.detach().numpy()  # the second overwrites the first
        return pb.from_numpy(filled)

    error = diagnosis(function(lambda x: x[[0, 0, 2]], backward), inputs((3,)))
    assert error.diagnosis.kind == "dropped_entries"


class TestIntegers:
    def test_truncated_gradient(self):
        wrong = function(lambda x: 3.7 * x * x, lambda x, g: pb.from_numpy(np.trunc((7.4 * g * x).detach().numpy())))
        x = pb.tensor([1.0, 2.0, -1.5], requires_grad=True)
        assert diagnosis(wrong, x).diagnosis.kind == "integer_truncation"

    def test_piecewise_constant_function(self):
        assert diagnosis(function(pb.floor, lambda x, g: g), inputs((3,))).diagnosis.kind == "piecewise_constant"


class TestKinks:
    def test_subgradient_at_a_kink(self):
        error = diagnosis(pb.relu, pb.tensor([-1.0, 0.0, 2.0], requires_grad=True))
        assert error.diagnosis.kind == "kink"
        assert "lies between" in error.diagnosis.text

    def test_no_subgradient_at_a_kink(self):
        wrong = function(pb.abs, lambda x, g: g * pb.where(x == 0, 7.0, x.sign()))
        error = diagnosis(wrong, pb.tensor([-1.0, 0.0], requires_grad=True))
        assert error.diagnosis.kind == "kink"
        assert "does not lie between" in error.diagnosis.text

    def test_wrong_elsewhere_too_is_no_kink(self):
        wrong = function(pb.abs, lambda x, g: 2 * g * x.sign())
        error = diagnosis(wrong, pb.tensor([-1.0, 0.0, 3.0], requires_grad=True))
        assert error.diagnosis.kind == "constant_factor"

    def test_factor_of_what_is_pointwise_is_no_mean_or_sum(self):
        error = diagnosis(sin_times(2), *inputs((2,)))
        assert error.diagnosis.kind == "constant_factor"
        assert "mean" not in error.diagnosis.text + error.diagnosis.advice

    def test_jump(self):
        step = function(lambda x: pb.where(x > 0, x + 1, x), lambda x, g: g)
        assert diagnosis(step, pb.tensor([0.0, 1.0], requires_grad=True)).diagnosis.kind == "discontinuity"


class TestLowPrecision:
    def test_right_gradient_in_float32(self):
        (x,) = inputs((3,), dtype=np.float32)
        with pytest.warns(UserWarning, match="float32"):
            error = diagnosis(pb.sin, x)
        assert error.diagnosis.kind == "low_precision"

    def test_wrong_gradient_in_float32_is_still_diagnosed(self):
        (x,) = inputs((3,), dtype=np.float32)
        with pytest.warns(UserWarning, match="float32"):
            error = diagnosis(sin_times(2), x)
        assert error.diagnosis.kind == "constant_factor"


class TestNondeterminism:
    def test_of_the_forward(self):
        rng = np.random.default_rng(0)
        error = diagnosis(lambda x: x * float(rng.random()), inputs((3,)))
        assert error.diagnosis.kind == "nondeterminism"
        assert "two calls" in error.diagnosis.text

    def test_of_the_backward(self):
        rng = np.random.default_rng(0)
        error = diagnosis(function(pb.sin, lambda x, g: g * x.cos() * float(rng.random())), inputs((3,)))
        assert error.diagnosis.kind == "nondeterminism"


def test_nan_in_the_gradient():
    wrong = function(lambda x: x * x, lambda x, g: 2 * g * x * pb.tensor([1.0, math.nan, 1.0]))
    assert diagnosis(wrong, inputs((3,))).diagnosis.kind == "not_finite"


def test_inputs_outside_the_domain():
    with np.errstate(invalid="ignore"):
        error = diagnosis(pb.log, pb.tensor([1.0, -1.0], requires_grad=True))
    assert error.diagnosis.kind == "not_finite"
    assert "at these inputs" in error.diagnosis.text


def test_unreliable_differences():
    (x,) = inputs((2,))
    error = diagnosis(lambda x: (x * 1e6).sin() * 1e-3, x)
    assert error.diagnosis.kind == "unreliable_differences"


def test_a_wrong_formula_without_a_pattern_is_not_given_one():
    wrong = function(pb.sin, lambda x, g: g * x.exp())
    with pytest.raises(GradcheckError, match="None of the usual mistakes") as caught:
        pb.autograd.gradcheck(wrong, inputs((4,)))
    assert caught.value.diagnosis is None


def test_each_input_gets_its_own_diagnosis():
    wrong = function(lambda a, b: a * b, lambda a, b, g: (2 * g * b, -g * a))
    message = str(diagnosis(wrong, inputs((3,), (3,))))
    assert "Diagnosis for input 0: the gradient is 2 times" in message
    assert "Diagnosis for input 1: the gradient is minus" in message


def test_an_error_of_the_differences_is_not_called_a_factor():
    x = pb.tensor([3.0, 1.0, 2.0], requires_grad=True)
    with pytest.raises(GradcheckError) as caught:
        pb.autograd.gradcheck(lambda x: np.sin(1e5 * x), x)
    assert caught.value.diagnosis.kind == "unreliable_differences"


def test_a_product_by_elements_where_matrices_are_multiplied():
    error = diagnosis(function(lambda x: x @ A, lambda x, g: g * A), inputs((3, 3)))
    assert error.diagnosis.kind == "element_by_element"


class TestOneNumberForEach:
    """Functions element by element: what the gradient is beside the right one."""

    @pytest.mark.parametrize(
        ("forward", "backward", "kind", "words"),
        [
            (pb.sin, lambda x, g: g * x.sin().cos(), "saved_wrong", "the output where it means those of input 0"),
            (pb.tanh, lambda x, g: g * (1 - x * x), "saved_wrong", "input 0 where it means those of the output"),
            (pb.sin, lambda x, g: g * x.sin(), "not_derived", "the values of the output"),
            (pb.sin, lambda x, g: g, "not_derived", "as if the function were the identity"),
            (pb.sin, lambda x, g: g / x.cos(), "inverted", "divided by the derivative"),
            (lambda x: (1 + x * x).log(), lambda x, g: g / (1 + x * x), "missing_factor", "1/2 times 1 / input 0"),
            (lambda x: x + x.sin(), lambda x, g: g * x.cos(), "missing_term", "the right one minus 1"),
            (
                lambda x: x * (-x).exp(),
                lambda x, g: g * (1 + x) * (-x).exp(),
                "missing_term",
                "plus 2 times the output",
            ),
        ],
    )
    def test_named(self, forward, backward, kind, words):
        error = diagnosis(function(forward, backward), inputs((4,), low=0.4, high=1.4))
        assert error.diagnosis.kind == kind
        assert words in error.diagnosis.text

    def test_where_an_input_goes_into_a_part_of_the_output(self):
        wrong = function(lambda a, b: pb.cat([a[:1], a[1:] * b]), lambda a, b, g: (pb.cat([g[:1], g[1:] * b]), g[1:]))
        error = diagnosis(wrong, inputs((4,), (3,), low=0.4, high=1.4))
        assert (error.input_index, error.diagnosis.kind) == (1, "not_derived")

    def test_the_input_is_as_before_where_another_point_is_outside_the_domain(self):
        def log_of_positive(x):
            if (x <= 0).any():
                raise ValueError("outside")
            return x.log()

        (x,) = inputs((4,), low=0.4, high=0.9)
        before = x.detach().numpy().copy()
        with pytest.raises(GradcheckError) as caught:
            pb.autograd.gradcheck(function(log_of_positive, lambda x, g: g * (x + 3) ** 0.3), (x,))
        assert caught.value.diagnosis is None
        np.testing.assert_array_equal(x.detach().numpy(), before)


def test_the_guide_describes_every_kind_of_diagnosis():
    folder = Path(error_module.__file__).parent
    made = set()
    for call in (c for file in folder.glob("*.py") for c in ast.walk(ast.parse(file.read_text(encoding="utf-8")))):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Diagnosis":
            kind = call.args[0]
            branches = (kind.body, kind.orelse) if isinstance(kind, ast.IfExp) else (kind,)
            made |= {b.value for b in branches if isinstance(b, ast.Constant)}
    said = set(re.findall(r"\b[a-z_]+\b", Diagnosis.__doc__.partition("is one of ")[2]))
    guide = (Path(pb.__file__).parent.parent / "docs/guide/gradcheck.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", guide.partition("## Every diagnosis")[2], re.MULTILINE)
    described = set(re.findall(r"[a-z_]+", " ".join(rows)))
    assert len(made) > 25
    assert made <= said
    assert described == said


@pytest.mark.parametrize(
    ("backward", "said"),
    [
        (lambda x, p, q: p * 3 * x**2, ["for output 1, the gradient is zero everywhere"]),
        (
            lambda x, p, q: p * x**2 + q * x**3,
            ["for output 0, the gradient is 1/3 times", "for output 1, the gradient is 1/4 times"],
        ),
        (lambda x, p, q: -p * 3 * x**2 - q * 4 * x**3, ["Diagnosis for input 0: the gradient is minus"]),
    ],
)
def test_an_output_is_named_where_others_are_right_or_wrong_otherwise(backward, said):
    found = str(diagnosis(function(lambda x: (x**3, x**4), backward), inputs(3)))
    assert found.count("Diagnosis for") == len(said)
    for text in said:
        assert text in found
