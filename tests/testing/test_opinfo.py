"""The checks of an OpInfo pass a right operator and find what is wrong with a wrong one."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError
from pullback.ops import extension
from pullback.testing import Limit, OpInfo, Raises, Sample, Skip, check_operator
from pullback.testing.opinfo.checks import (
    check_error,
    check_forward,
    check_gradient,
    check_layouts,
    check_limit,
    check_out,
    check_second,
)
from pullback.testing.opinfo.core import Input, Make, Plain
from pullback.testing.opinfo.samples import T, broadcasting_pairs, cases, matrices, on, reductions, unary

F64 = np.float64


def record(call, reference=np.sin, samples=None, **options):
    return OpInfo("sin", reference, samples or unary(), call=call, **options)


def custom(forward, backward):
    """A custom Function of one input."""

    class Custom(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            return backward(*ctx.saved_tensors, grad)

    return Custom.apply


def test_right_operator_passes_everything():
    check_operator(
        OpInfo(
            "sin", np.sin, unary(), complex=True,
            limits=[Limit(at=(0.0,), value=0.0, grad=(1.0,), second=(0.0,), because="odd")],
            errors=[Raises(TypeError, naming=("sin", "str"), args=("x",))],
        )
    )  # fmt: skip


class TestWhatIsFound:
    def test_wrong_values(self):
        with pytest.raises(AssertionError, match="elements differ") as caught:
            check_forward(record(pb.cos), F64)
        assert "while checking sin" in caught.value.__notes__[0]

    def test_wrong_dtype(self):
        with pytest.raises(AssertionError, match="Dtypes differ"):
            check_forward(record(lambda x: x.sin(), lambda x: np.sin(x).astype(np.float64)), np.float32)

    def test_changed_argument(self):
        def careless(x):
            x.detach().numpy()[...] *= 1.5
            return pb.tensor(np.sin(x.detach().numpy() / 1.5))

        with pytest.raises(AssertionError, match="an argument was changed"):
            check_forward(record(careless), F64)

    def test_accepting_what_the_reference_refuses(self):
        def refuses(x):
            raise ValueError("no")

        with pytest.raises(AssertionError, match="the reference refuses"):
            check_forward(record(pb.sin, refuses), F64)

    def test_wrong_gradient(self):
        with pytest.raises(GradcheckError, match="minus the right one"):
            check_gradient(record(custom(pb.sin, lambda x, g: -g * x.cos())), F64)

    def test_wrong_second_derivative(self):
        detached = record(custom(pb.sin, lambda x, g: g * x.detach().cos()))
        check_gradient(detached, F64)
        with pytest.raises(GradcheckError):
            check_second(detached, F64)

    def test_layout_that_matters(self):
        def by_memory(x):
            flat = np.asarray(x.detach().numpy()).ravel(order="K")
            return pb.tensor(np.sin(flat).reshape(x.shape))

        with pytest.raises(AssertionError, match="layout fortran"):
            check_layouts(record(by_memory, order=0), F64)

    def test_wrong_limit(self):
        info = record(pb.abs, np.abs)
        with pytest.raises(AssertionError, match="gradient"):
            check_limit(info, Limit(at=(0.0,), grad=(1.0,), because="a wrong expectation"))

    def test_limits_of_arrays_by_argument_or_by_number(self):
        info = record(lambda x: x * x, np.square)
        check_limit(info, Limit(at=([1.0, 2.0],), grad=([2.0, 4.0],), second=(2.0,), because="x squared"))
        check_limit(info, Limit(at=([1.0, 2.0],), grad=(2.0, 4.0), because="x squared"))
        check_limit(info, Limit(at=([1.0, 2.0],), grad=(2.0, None), because="x squared"))

    def test_error_without_the_right_words(self):
        refusal = Raises(TypeError, naming=("sin", "giraffe"), args=("x",))
        with pytest.raises(AssertionError, match="giraffe"):
            check_error(record(None), refusal)

    def test_error_that_does_not_come(self):
        with pytest.raises(AssertionError, match="accepted"):
            check_error(record(None), Raises(TypeError, args=(np.ones(2),)))

    def test_out_that_is_not_used(self):
        with pytest.raises(AssertionError, match="out="):
            check_out(record(lambda x, out=None: x.sin(), out=True), F64)

    def test_unknown_name(self):
        with pytest.raises(AttributeError, match="sinn"):
            check_forward(OpInfo("sinn", np.sin, unary()), F64)

    @pytest.mark.parametrize("tangent", ["7 * self_t", "self_t[100]", "zeros_like(result)"])
    def test_a_wrong_tangent(self, tmp_path, monkeypatch, tangent):
        (tmp_path / "wrong_tangent_kernels.py").write_text("from numpy import sin\n")
        monkeypatch.syspath_prepend(tmp_path)
        sine = pb.ops.load(
            "namespace: wrong_tangent\nkernels: wrong_tangent_kernels\nnative_functions:\n"
            "  - func: sine(Tensor self) -> Tensor\n    kernel: sin\n    tags: pointwise\nderivatives:\n"
            f"  - name: sine(Tensor self) -> Tensor\n    self: grad * cos(self)\n    result: {tangent}\n"
        ).sine
        try:
            with pytest.raises((GradcheckError, IndexError)) as caught:
                check_operator(OpInfo("wrong_tangent.sine", np.sin, unary(), call=sine))
            assert "while checking" in "".join(caught.value.__notes__)
        finally:
            extension._entered.pop("wrong_tangent").withdraw()

    def test_nothing_to_check(self):
        with pytest.raises(ValueError, match="gives none"):
            check_operator(OpInfo("sin", np.sin, lambda make: ()))
        with pytest.raises(ValueError, match="order=3"):
            check_operator(OpInfo("sin", np.sin, unary(), order=3))


class TestRecords:
    def test_reference_or_reason(self):
        with pytest.raises(ValueError, match="because"):
            OpInfo("sin", None, unary())

    def test_limit_needs_a_reason(self):
        with pytest.raises(ValueError, match="because"):
            Limit(at=(0.0,))

    def test_complex_adds_dtypes(self):
        info = OpInfo("sin", np.sin, unary(), complex=True)
        assert np.dtype(complex) in info.dtypes
        assert info.grad_dtypes == (np.dtype(float), np.dtype(complex))
        assert OpInfo("sin", np.sin, unary(), order=0).grad_dtypes == ()

    def test_samples_are_the_same_in_every_run(self):
        info = OpInfo("sin", np.sin, unary())
        for a, b in zip(info.samples_for(F64), info.samples_for(F64), strict=True):
            assert (a.args[0] == b.args[0]).all()

    def test_skip_by_dtype(self):
        info = OpInfo("sin", np.sin, unary(), skips=[Skip("forward", "why", dtypes=(np.float32,))])
        assert info.skip("forward", np.float32).because == "why"
        assert info.skip("forward", F64) is None
        assert info.skip("gradient", np.float32) is None


class TestSamples:
    def test_arithmetic_keeps_the_mark_and_array_drops_it(self):
        made = Make(F64)((2, 2))
        assert isinstance(made @ made.T + np.eye(2), Input)
        assert not isinstance(np.array(made), Input)
        assert not isinstance(Make(F64).constant((2,)), Input)

    @pytest.mark.parametrize("maker", [unary(), broadcasting_pairs(), reductions()])
    def test_zero_dimensional_empty_and_strided_inputs_are_there(self, maker):
        arrays = [a for s in maker(Make(F64)) for a in s.args if isinstance(a, np.ndarray)]
        assert any(a.ndim == 0 for a in arrays)
        assert any(a.size == 0 for a in arrays)
        assert any(not a.flags.c_contiguous for a in arrays)

    def test_cases_with_lists_and_further_inputs(self):
        first, second = cases(on([(2, 3), (1, 3)], dim=0), on((2,), T((3,)), "full"))(Make(F64))
        assert [a.shape for a in first.args[0]] == [(2, 3), (1, 3)]
        assert first.kwargs == {"dim": 0}
        assert second.args[1].shape == (3,)
        assert second.args[2] == "full"

    def test_strided_cases_come_after_the_plain_ones(self):
        plain, strided = cases(on((2, 3)), noncontiguous=True)(Make(F64))
        assert plain.args[0].flags.c_contiguous
        assert not strided.args[0].flags.c_contiguous

    def test_matrices_of_a_kind(self):
        for s in matrices(kind="symmetric")(Make(np.complex128)):
            assert np.allclose(s.args[0], s.args[0].conj().swapaxes(-1, -2))
        with pytest.raises(ValueError, match="positive_definite"):
            list(matrices(kind="round")(Make(F64)))

    def test_description_names_shapes_and_layouts(self):
        sample = Sample(np.ones((2, 3)).T, [np.ones(2)], Plain(np.ones(1)), dim=0)
        assert repr(sample) == "sample(float64[3, 2], non-contiguous, [float64[2]], Plain(float64[1]), dim=0)"
