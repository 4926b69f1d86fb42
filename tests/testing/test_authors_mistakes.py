"""`check_operator` finds the mistakes of an author of operators that no single call shows."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError
from pullback.ops import extension
from pullback.testing import OpInfo, Sample, check_operator

KERNELS = """
import numpy as np

from numpy import sqrt

def product(a, b): return a @ b

def minmax(x): return x.min(-1), x.max(-1)

def listed(x): return x.tolist()
def nothing(x): return None
def whole(x): return x.astype(int)
def three(x): return x, x, x
def one(x): return x

def single(grad, a, b, *, ops): return grad
def triple(grad, a, b, *, ops): return grad, grad, None

def writing(x):
    x *= 2
    return x.copy()

def double(x): return 2 * x

def into_saved(grad, x, *, ops):
    x *= 1.0 + 1e-3
    return 2 * grad

def into_grad(grad, x, *, ops):
    grad *= 2
    return grad

def right(grad, a, b, mask, *, ops):
    return (
        ops.matmul(grad, ops.mH(b)) if mask[0] else None,
        ops.matmul(ops.mH(a), grad) if mask[1] else None,
    )

def swapped(grad, a, b, mask, *, ops):
    return right(grad, a, b, (mask[1], mask[0]), ops=ops)

def doubled(grad, a, b, mask, *, ops):
    scale = 1.0 if mask[0] and mask[1] else 2.0
    return right(scale * grad, a, b, mask, ops=ops)
"""


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """A function (signature, formulas, kernel, more, tangents) -> the operator that this declares."""
    name = f"mistaken_{tmp_path.name.strip('_').lower()}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)

    def load(signature, formulas, kernel=None, more=()):
        operator = signature.partition("(")[0]
        lines = [f"namespace: {name}", f"kernels: {name}", f"helpers: {name}", "native_functions:"]
        lines += [f"- func: {signature}", f"  kernel: {kernel or operator}", *(f"  {line}" for line in more)]
        lines += ["derivatives:", f"- name: {signature}", *(f"  {line}" for line in formulas)]
        return getattr(pb.ops.load("\n".join([*lines, ""])), operator)

    yield load
    if name in extension._entered:
        extension._entered.pop(name).withdraw()


def square_matrices(make):
    yield Sample(make((3, 3)), make((3, 3)))


class TestFlags:
    """A formula for several inputs gives the same gradients whichever of them require grad."""

    def info(self, declared, helper):
        call = declared(
            "product(Tensor a, Tensor b) -> Tensor",
            [f"a, b: {helper}(grad, a, b, grad_input_mask)", "result: product(a_t, b_p) + product(a_p, b_t)"],
        )
        return OpInfo("product", np.matmul, square_matrices, call=call, complex=True)

    def test_a_right_helper_passes(self, declared):
        check_operator(self.info(declared, "right"))

    @pytest.mark.parametrize("helper", ["swapped", "doubled"])
    def test_a_helper_that_misreads_the_flags_is_found(self, declared, helper):
        with pytest.raises(AssertionError) as caught:
            check_operator(self.info(declared, helper))
        said = str(caught.value)
        assert "the gradient of input 0 is another when of the 2 inputs only input 0 requires grad" in said
        assert "grad_input_mask" in said


class TestComplex:
    """A record that names no dtypes is tried with complex numbers, where the operator takes them."""

    def info(self, declared, formula, **fields):
        call = declared(
            "root(Tensor self) -> Tensor",
            [f"self: {formula}", "result: auto_element_wise"],
            kernel="sqrt",
            more=["tags: pointwise, floating"],
        )
        return OpInfo("root", np.sqrt, lambda make: [Sample(make((3,), low=0.5, high=2.0))], call=call, **fields)

    def test_a_missing_conj_is_found(self, declared):
        with pytest.raises(GradcheckError) as caught:
            check_operator(self.info(declared, "grad / (2 * result)"))
        assert "may lack conj(...)" in "".join(caught.value.__notes__)

    def test_conj_passes_and_so_does_what_is_said_to_be_real(self, declared):
        check_operator(self.info(declared, "grad / conj(2 * result)"))
        check_operator(self.info(declared, "grad / (2 * result)", complex=False))
        check_operator(self.info(declared, "grad / (2 * result)", dtypes=[np.float64]))

    def test_what_is_real_only_in_its_formula_is_not_tried(self, declared):
        check_operator(self.info(declared, "grad / (2 * maximum(result, 0.1))"))


class TestOutputs:
    """An output that moves has a gradient."""

    def info(self, declared, formula, more=()):
        call = declared("minmax(Tensor x) -> (Tensor lo, Tensor hi)", [f"x: {formula}", *more])
        samples = lambda make: [Sample(make((3, 4), distinct=True))]  # noqa: E731
        return OpInfo("minmax", lambda x: (x.min(-1), x.max(-1)), samples, call=call, complex=False)

    LO, HI = (f"unsqueeze(grad_{end}, -1) * eq(x, unsqueeze({end}, -1))" for end in ("lo", "hi"))

    def test_a_gradient_that_is_lost_is_found(self, declared):
        with pytest.raises(AssertionError, match="no formula uses grad_hi, so the output 'hi' has no gradient, but it"):
            check_operator(self.info(declared, self.LO))

    def test_a_formula_of_both_passes(self, declared):
        with pytest.warns(UserWarning, match="forward mode is not checked"):
            check_operator(self.info(declared, f"{self.LO} + {self.HI}"))


class TestResults:
    """A kernel that does not return what is declared is named."""

    @pytest.mark.parametrize(
        ("kernel", "said"),
        [
            ("listed", "returned a list where an array is declared"),
            ("three", "returned a tuple where an array is declared"),
            ("nothing", "returned None where an array is declared"),
            ("whole", r"returned whole numbers \(int64\) for floating-point arguments"),
        ],
    )
    def test_one_result(self, declared, kernel, said):
        call = declared("f(Tensor self) -> Tensor", ["self: 1 * grad"], kernel=kernel)
        with pytest.raises(TypeError, match=rf"mistaken_\w+\.f.*its kernel mistaken_\w+\.{kernel} {said}"):
            call(pb.ones(3, requires_grad=True))

    @pytest.mark.parametrize(("kernel", "found"), [("three", "3 results"), ("one", "an array|a numpy.ndarray")])
    def test_several_results(self, declared, kernel, found):
        call = declared("f(Tensor self) -> (Tensor a, Tensor b)", ["self: grad_a + grad_b"], kernel=kernel)
        with pytest.raises(TypeError, match=rf"kernel mistaken_\w+\.{kernel} returned .* where 2 arrays are declared"):
            call(pb.ones(3))

    def test_a_kernel_of_another_arity_is_refused_when_it_is_loaded(self, declared):
        with pytest.raises(
            pb.extend.DeclarationError, match=r":5, entry.*one\(x\) does not take the 2 declared"
        ) as caught:
            declared("f(Tensor self, int n) -> Tensor", ["self: 1 * grad"], kernel="one")
        assert "(self, n)" in str(caught.value)


@pytest.mark.parametrize("helper", ["single", "triple"])
def test_a_helper_that_gives_another_number_of_gradients_is_told_what_is_due(declared, helper):
    call = declared("product(Tensor a, Tensor b) -> Tensor", [f"a, b: {helper}(grad, a, b)"])
    a, b = pb.ones(3, 3, requires_grad=True), pb.ones(3, 3, requires_grad=True)
    with pytest.raises((ValueError, TypeError)) as caught:
        call(a, b).sum().backward()
    assert "must give a tuple of gradients, one for each of them" in "".join(caught.value.__notes__)


class TestWrites:
    """A kernel, or a helper, that writes into what it is given is named."""

    @pytest.mark.parametrize(
        ("kernel", "formula", "said"),
        [
            ("writing", "2 * grad", r"the kernel of mistaken_\w+\.f writes into its argument 'self'"),
            (
                "double",
                "into_saved(grad, self)",
                "the formula of FBackward0, or its helper, writes into what was saved",
            ),
            ("double", "into_grad(grad, self)", "the formula of FBackward0, or its helper, writes into the cotangent"),
        ],
    )
    def test_the_write_is_named(self, declared, kernel, formula, said):
        call = declared("f(Tensor self) -> Tensor", [f"self: {formula}"], kernel=kernel)
        with pytest.raises(AssertionError, match=said):
            check_operator(OpInfo("f", lambda x: 2 * x, lambda make: [Sample(make((3,)))], call=call))
