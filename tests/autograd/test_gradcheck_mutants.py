"""Declared operators with one mistake in a formula: gradcheck names the rule that is wrong, and how."""

import functools
import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError
from pullback.testing import make_tensor

# name -> (signature, kernel, the formulas as they should be, shapes of the inputs)
RIGHT = {
    "sine": ("(Tensor self)", "sin", {"self": "grad * conj(cos(self))", "result": "self_t * cos(self_p)"}, [(3,)]),
    "times": (
        "(Tensor self, Tensor other)",
        "multiply",
        {"self": "grad * conj(other)", "other": "grad * conj(self)", "result": "self_t * other_p + self_p * other_t"},
        [(3,), (3,)],
    ),
    "over": (
        "(Tensor self, Tensor other)",
        "divide",
        {
            "self": "grad / conj(other)",
            "other": "-grad * conj(result / other)",
            "result": "self_t / other_p - result / other_p * other_t",
        },
        [(3,), (3,)],
    ),
    "product": (
        "(Tensor self, Tensor other)",
        "matmul",
        {
            "self": "matmul(grad, conj(other).mT())",
            "other": "matmul(conj(self).mT(), grad)",
            "result": "matmul(self_t, other_p) + matmul(self_p, other_t)",
        },
        [(3, 3), (3, 3)],
    ),
    "sums": (
        "(Tensor self)",
        "cumsum",
        {"self": "flip(cumsum(flip(grad, [0]), 0), [0])", "result": "auto_linear"},
        [(4,)],
    ),
    "square": ("(Tensor self)", "square", {"self": "2 * grad * conj(self)", "result": "auto_element_wise"}, [(3,)]),
    "size": ("(Tensor self)", "abs", {"self": "grad * sgn(self)", "result": "self_t * sgn(self_p)"}, [(3,)]),
}

MUTANTS = [  # operator, the formula that is changed, the mistake, side, kind, whether complex
    ("sine", "self", "-grad * conj(cos(self))", "backward", "sign"),
    ("sine", "result", "-self_t * cos(self_p)", "forward", "sign"),
    ("sine", "self", "2 * grad * conj(cos(self))", "backward", "constant_factor"),
    ("sine", "result", "self_t * cos(self_p) / 3", "forward", "constant_factor"),
    ("sine", "self", "cos(self) * exp(0 * grad)", "backward", "zero_cotangent"),
    ("sine", "self", "square(grad) * cos(self)", "backward", "nonlinear_cotangent"),
    ("sine", "result", "auto_linear", "forward", "nonlinear_tangent"),
    ("sine", "result", "square(self_t) * cos(self_p)", "forward", "nonlinear_tangent"),
    ("sine", "self", "grad * cos(self) * self", "backward", "missing_factor"),
    ("square", "self", "grad * self", "both", "constant_factor"),
    ("square", "self", "-2 * grad * self", "both", "sign"),
    ("square", "self", "2 * grad", "both", "missing_factor"),
    ("square", "self", "2 * self * exp(0 * grad)", "both", "zero_cotangent"),
    ("square", "result", "auto_linear", "forward", "nonlinear_tangent"),
    ("size", "result", "auto_linear", "forward", "nonlinear_tangent"),
    ("times", "self", "-grad * other", "backward", "sign"),
    ("times", "other", "-grad * self", "backward", "sign"),
    ("times", "other", "grad * other", "backward", "swapped_factors"),
    ("times", "self", "other * exp(0 * grad)", "backward", "zero_cotangent"),
    ("times", "result", "self_t * other_p - self_p * other_t", "forward", "sign"),
    ("times", "result", "self_t * other_p + 0 * other_t", "forward", "missing_gradient"),
    ("times", "result", "self_t * self_p + other_t * other_p", "forward", "swapped_inputs"),
    ("times", "result", "self_t * other_p + other_p * other_t", "forward", "swapped_factors"),
    ("times", "result", "self_t * other_p + 0 * other_t + self_p * exp(0 * self_t)", "forward", "zero_tangent"),
    ("times", "result", "maximum(self_t * other_p, self_p * other_t)", "forward", "nonlinear_tangent"),
    ("times", "result", "auto_linear", "forward", "nonlinear_tangent"),
    ("over", "self", "grad * conj(other)", "backward", "missing_factor"),
    ("over", "other", "grad * conj(result / other)", "backward", "sign"),
    ("over", "other", "-grad * conj(other / result)", "backward", "swapped_factors"),
    ("over", "result", "self_t / other_p + result / other_p * other_t", "forward", "sign"),
    ("product", "self", "matmul(conj(other).mT(), grad)", "backward", "swapped_factors"),
    ("product", "other", "matmul(grad, conj(self).mT())", "backward", "swapped_factors"),
    ("product", "self", "matmul(grad, other)", "backward", "transposed"),
    ("product", "result", "matmul(self_t, other_p.mT()) + matmul(self_p, other_t)", "forward", "transposed"),
    ("product", "result", "matmul(self_t, other_p) + matmul(other_t, self_p)", "forward", "swapped_factors"),
    ("product", "result", "auto_linear", "forward", "nonlinear_tangent"),
    ("sums", "self", "cumsum(grad, 0)", "backward", "transposed"),
    ("sums", "result", "auto_element_wise", "forward", "transposed"),
    ("sums", "self", "-flip(cumsum(flip(grad, [0]), 0), [0])", "backward", "sign"),
]
OF_COMPLEX = [
    ("sine", "self", "grad * cos(self)", "backward", "missing_conjugate", "the derivative is not conjugated"),
    (
        "sine",
        "self",
        "conj(grad) * conj(cos(self))",
        "backward",
        "missing_conjugate",
        "incoming gradient is conjugated",
    ),
    ("sine", "result", "self_t * conj(cos(self_p))", "forward", "missing_conjugate", "the derivative is conjugated"),
    ("sine", "result", "conj(self_t) * cos(self_p)", "forward", "missing_conjugate", "incoming tangent is conjugated"),
    ("sine", "result", "conj(self_t * cos(self_p))", "forward", "missing_conjugate", "tangent is the conjugate of the"),
    ("times", "other", "grad * self", "backward", "missing_conjugate", "the derivative is not conjugated"),
    ("times", "result", "self_t * other_p - self_p * other_t", "forward", "sign", "minus the right one"),
    ("square", "self", "2 * grad * self", "backward", "missing_conjugate", "the derivative is not conjugated"),
]
_numbers = itertools.count()


def cumsum(x):
    return np.cumsum(x, 0)


def loaded(name, **changed):
    """The operator, loaded from a declaration in which these formulas are others."""
    signature, kernel, formulas, _ = RIGHT[name]
    namespace = f"mutants_{next(_numbers)}"
    schema = f"{name}_{next(_numbers)}{signature} -> Tensor"
    lines = [f"namespace: {namespace}", f"kernels: {__name__ if kernel == 'cumsum' else 'numpy'}", "native_functions:"]
    lines += [f"  - func: {schema}", f"    kernel: {kernel}", "derivatives:", f"  - name: {schema}"]
    lines += [f"    {key}: {formula!r}" for key, formula in (formulas | changed).items()]
    module = pb.ops.load("\n".join(lines))
    return getattr(module, schema.partition("(")[0])


def inputs(name, dtype):
    return tuple(
        make_tensor(shape, dtype=dtype, low=0.4, high=1.4, requires_grad=True, generator=i)
        for i, shape in enumerate(RIGHT[name][3])
    )


check = functools.partial(pb.autograd.gradcheck, check_forward_ad=True)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name, dtype):
    if name == "size" and dtype is np.complex128:
        return  # of complex numbers the kernel gives real ones
    assert check(loaded(name), inputs(name, dtype))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("name", "key", "formula", "side", "kind"), MUTANTS)
def test_a_mistake_is_named_with_its_side(name, key, formula, side, kind, fast):
    with pytest.raises(GradcheckError) as caught:
        check(loaded(name, **{key: formula}), inputs(name, np.float64), fast_mode=fast)
    error = caught.value
    assert (error.side, error.diagnosis and error.diagnosis.kind) == (side, kind), str(error)
    told = f"{error.diagnosis.text} {error.diagnosis.advice}"
    if side == "forward":
        assert "gradient" not in told.replace("incoming gradient", "")
        assert "the backward." not in told
        assert "mistake is in the forward rule alone" in str(error) or "jvp is not linear" in str(error)
    elif side == "backward":
        assert "result:" not in told
        assert "mistake is in the backward alone" in str(error) or "backward is not linear" in str(error)
    else:
        assert "mistake is in what both come from" in str(error)


@pytest.mark.parametrize(("name", "key", "formula", "side", "kind", "text"), OF_COMPLEX)
def test_mistakes_with_complex_numbers(name, key, formula, side, kind, text):
    with pytest.raises(GradcheckError) as caught:
        check(loaded(name, **{key: formula}), inputs(name, np.complex128))
    assert caught.value.diagnosis.kind == kind
    assert text in caught.value.diagnosis.text
    assert caught.value.side in (side, "both")  # with auto_element_wise the same formula serves both


@pytest.mark.parametrize(("name", "key", "formula", "side", "kind"), [m for m in MUTANTS if m[3] != "forward"])
def test_the_backward_alone_is_diagnosed_too(name, key, formula, side, kind):
    with pytest.raises(GradcheckError) as caught:
        pb.autograd.gradcheck(loaded(name, **{key: formula}), inputs(name, np.float64))
    assert (caught.value.side, caught.value.diagnosis.kind) == ("backward", kind)
