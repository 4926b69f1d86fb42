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
            with pytest.warns(UserWarning, match="forward mode is not checked"):
                check_operator(self.info(declared, self.LO))

    def test_a_formula_of_both_passes(self, declared):
        with pytest.warns(UserWarning, match="forward mode is not checked"):
            check_operator(self.info(declared, f"{self.LO} + {self.HI}"))
