"""The checks of an OpInfo pass a right operator and find what is wrong with a wrong one."""

import dataclasses
import re
import unittest

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError
from pullback.core.array_type import innermost
from pullback.core.errors import OperatorError
from pullback.ops import extension
from pullback.testing import DecorateInfo, Limit, OpInfo, Raises, Sample, Skip, check_operator
from pullback.testing.opinfo import checks
from pullback.testing.opinfo.checks import (
    check_backward,
    check_error,
    check_forward,
    check_gradient,
    check_layouts,
    check_limit,
    check_out,
    check_second,
    check_tags,
    check_tangent,
    check_vmap,
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
        with pytest.raises(OperatorError, match="differentiate twice"):
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

    @pytest.mark.parametrize("tangent", ["7 * self_t", "self_t[100]", "0 * self_t"])
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


KERNELS = """
import numpy as np
RNG = np.random.default_rng(0)
def running(x): return np.cumsum(x, 0)
def square(x): return x * x
def flat(x): return x * 1.0
def truncated(x): return x.astype(np.int64)
def noisy(x): return x + RNG.standard_normal(x.shape)
def centred(x): return x - x.mean(0)
def centred_rows(x, dim): return x - x.mean()
def halves(x): return x * 0.5, x * 2.0
def mean(x, dim): return x.mean()
"""
# name -> (signature, what else is declared, formula, tangent): each promises what is not so.
BROKEN = {
    "pointwise": (
        "running(Tensor self) -> Tensor",
        "tags: pointwise",
        "flip(cumsum(flip(grad, (0,)), 0), (0,))",
        "auto_linear",
    ),
    "structural": ("square(Tensor self) -> Tensor", "tags: structural", "2 * grad * self", "auto_element_wise"),
    "copying": (
        "halves(Tensor self) -> (Tensor a, Tensor b)",
        "tags: structural, copying",
        "grad_a * 0.5 + grad_b * 2",
        None,
    ),
    "floating": ("truncated(Tensor self) -> Tensor", "tags: floating, nondifferentiable", None, None),
    "nondifferentiable": ("flat(Tensor self) -> Tensor", "tags: nondifferentiable", None, None),
    "random": ("noisy(Tensor self) -> Tensor", "tags: []", "1 * grad", "auto_element_wise"),
    "matrices": ("centred(Tensor self) -> Tensor", "tags: matrices", "grad - mean(grad, 0, True)", "auto_linear"),
    "rows": ("centred(Tensor self) -> Tensor", "tags: rows", "grad - mean(grad, 0, True)", "auto_linear"),
    "vectors": ("centred(Tensor self) -> Tensor", "tags: vectors", "grad - mean(grad, 0, True)", "auto_linear"),
    "along": ("centred_rows(Tensor self, int dim) -> Tensor", "along: dim", "grad - mean(grad)", "auto_linear"),
    "combines": ("mean(Tensor self, int dim) -> Tensor", "tags: combines, reduction", "grad * ones_like(self)", None),
    "creation": ("square(Tensor self) -> Tensor", "tags: creation, nondifferentiable", None, None),
}


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """A function (signature, what else, formula, tangent) -> the operator that this declares."""
    name = f"opinfo_{tmp_path.name.strip('_').lower()}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)

    def load(signature, more="tags: []", formula=None, tangent=None):
        operator = signature.partition("(")[0]
        text = f"namespace: {name}\nkernels: {name}\nnative_functions:\n- func: {signature}\n  kernel: {operator}\n"
        text += f"  {more}\n" if more != "tags: []" else ""
        if formula is not None:
            text += f"derivatives:\n- name: {signature}\n  self: {formula}\n"
            text += f"  result: {tangent}\n" if tangent is not None else ""
        return getattr(pb.ops.load(text), operator)

    yield load
    if name in extension._entered:
        extension._entered.pop(name).withdraw()


def of_shape(shape, *args):
    return lambda make: [Sample(make(shape, low=0.5, high=2.0), *args)]


class TestPromises:
    @pytest.mark.parametrize("tag", BROKEN)
    def test_a_tag_that_is_not_kept_is_found(self, tag, declared):
        call = declared(*BROKEN[tag])
        samples = of_shape((3, 2, 2), *([0] if "int dim" in BROKEN[tag][0] else []))
        info = OpInfo("broken", None, samples, call=call, because="only its tag is looked at", dtypes=(F64,))
        with pytest.raises(AssertionError, match=r"tag|along|records nothing") as caught:
            check_tags(info)
        assert "while checking broken" in caught.value.__notes__[0]

    def test_cumsum_that_says_it_is_pointwise_fails_where_a_record_is_checked(self, declared):
        call = declared(*BROKEN["pointwise"])
        with pytest.raises(AssertionError, match=r"vmap|is tagged pointwise"):
            check_operator(OpInfo("running", np.cumsum, of_shape((3,)), call=call, dtypes=(F64,)))
        with pytest.raises(AssertionError, match=r"vmap\(in_dims"):
            check_vmap(OpInfo("running", np.cumsum, of_shape((3,)), call=call), F64)

    def test_an_operator_that_is_right_under_vmap_passes(self):
        check_vmap(OpInfo("sin", np.sin, unary()), F64)
        check_vmap(OpInfo("sort", None, unary(), call=lambda x: pb.sort(x.ravel()), because="two results"), F64)

    def test_a_gradient_of_less_precision_is_found(self):
        rough = custom(pb.sin, lambda x, g: g * (x.cos().half().float() if x.dtype == np.float32 else x.cos()))
        info = record(rough)
        assert info.backward_dtypes == (np.dtype(np.float32),)
        with pytest.raises(AssertionError, match="units of float32 away"):
            check_backward(info, np.float32)
        check_backward(record(None), np.float32)
        check_backward(record(None), np.float16)

    def test_a_gradient_in_half_precision_that_overflows_is_found(self):
        overflowing = custom(pb.sin, lambda x, g: (g * 60000) * x.cos() / 60000)
        info = record(overflowing, samples=of_shape((30,)), backward_dtypes=(np.float16,))
        with np.errstate(all="ignore"), pytest.raises(AssertionError, match="units of float16 away"):
            check_backward(info, np.float16)

    def test_an_undefined_gradient_that_does_not_count_as_zero_is_found(self):
        class Careless(pb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, a, b):
                return (a if a is not None else b) * 1 if b is None or a is None else a + 2 * b

        info = OpInfo("pair", None, of_shape((2,)), call=Careless.apply, because="two results")
        with pytest.raises((AssertionError, GradcheckError)):
            check_gradient(info, F64)


class TestGradcheckOptions:
    def test_each_check_takes_those_that_it_knows(self):
        options = {"check_batched_grad": True, "check_batched_forward_grad": True, "fast_mode": True, "eps": 1e-6}
        check_operator(OpInfo("sin", np.sin, of_shape((3,)), gradcheck=options, dtypes=(F64,)))

    def test_one_that_does_not_exist_is_refused(self):
        info = record(None, gradcheck={"check_batched": True})
        with pytest.raises(TypeError, match=r"'check_batched'.*gradcheck has no such argument"):
            check_gradient(info, F64)

    def test_an_operator_without_a_tangent_passes_and_it_is_said(self, declared):
        call = declared("square(Tensor self) -> Tensor", "tags: pointwise", "2 * grad * self")
        info = OpInfo("square", np.square, of_shape((3,)), call=call, dtypes=(F64,))
        with pytest.warns(UserWarning, match="square: forward mode is not checked.*Skip\\('tangent'"):
            check_operator(info)
        info.skips = [Skip("tangent", because="not derived")]
        check_operator(info)


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


# The fields of the OpInfo of PyTorch 2.13.
FIELDS_OF_PYTORCH = """
name ref aliases variant_test_name op method_variant inplace_variant operator_variant inplace_operator_variant skips
decorators sample_inputs_func reference_inputs_func error_inputs_func error_inputs_sparse_func
sample_inputs_sparse_coo_func sample_inputs_sparse_csr_func sample_inputs_sparse_csc_func sample_inputs_sparse_bsr_func
sample_inputs_sparse_bsc_func dtypes dtypesIf dtypesIfCUDA dtypesIfROCM dtypesIfMPS dtypesIfHpu dtypesIfXPU
backward_dtypes backward_dtypesIfCUDA backward_dtypesIfROCM backward_dtypesIfMPS backward_dtypesIfHpu supports_out
supports_autograd supports_gradgrad supports_fwgrad_bwgrad supports_inplace_autograd supports_forward_ad
supports_varargs supports_cow_input_no_materialize_forward supports_cow_input_no_materialize_backward
skip_cow_input_backward allow_cow_input_materialize_forward allow_cow_input_materialize_backward gradcheck_wrapper
check_batched_grad check_batched_gradgrad check_batched_forward_grad check_inplace_batched_forward_grad
gradcheck_nondet_tol gradcheck_fast_mode aten_name decomp_aten_name aten_backward_name assert_autodiffed
autodiff_nonfusible_nodes autodiff_fusible_nodes supports_sparse supports_scripting supports_tracing
supports_sparse_csr supports_sparse_csc supports_sparse_bsr supports_sparse_bsc supports_njt promotes_int_to_float
test_conjugated_samples test_neg_view assert_jit_shape_analysis supports_expanded_weight is_factory_function
skip_correctness_check_compile_vs_eager has_nondeterministic_output
""".split()
OUR_FIELDS = {field.name for field in dataclasses.fields(OpInfo)}


def rough(derivative):
    """sin with a backward of ours, of which one thing is wrong."""
    return custom(pb.sin, derivative)


def is_batched(x):
    """True if a user's function is given a batch at once."""
    return "Batched" in type(innermost(x)).__name__


def of_numbers(make):
    return [Sample(make((3,), low=0.5, high=2.0))]


class TestFields:
    @pytest.mark.parametrize("field", FIELDS_OF_PYTORCH)
    def test_a_field_of_pytorch_is_ours_or_an_error_says_what_is(self, field):
        if field in OUR_FIELDS:
            return
        with pytest.raises(
            TypeError, match=rf"OpInfo has no field '{field}', which PyTorch's has\. [A-Z].*\.$"
        ) as caught:
            OpInfo("sin", np.sin, unary(), **{field: None})
        named = re.match(r".* Write (\w+)=", str(caught.value))
        assert named is None or named[1] in {*OUR_FIELDS, "call", "gradcheck"}

    def test_a_field_of_nobody_is_an_error_as_ever(self):
        with pytest.raises(TypeError, match="unexpected keyword argument 'sampels'"):
            OpInfo("sin", np.sin, sampels=unary())

    def test_an_alias_that_computes_something_else_is_found(self):
        check_operator(OpInfo("abs", np.abs, of_numbers, aliases=["absolute"], dtypes=(F64,)))
        with pytest.raises(AssertionError, match="the alias negative"):
            check_operator(OpInfo("abs", np.abs, of_numbers, aliases=["negative"], dtypes=(F64,)))
        with pytest.raises(AttributeError, match="absolut"):
            check_operator(OpInfo("abs", np.abs, of_numbers, aliases=["absolut"], dtypes=(F64,)))

    def test_reference_inputs_are_compared_with_the_reference_and_not_differentiated(self):
        def large(make):
            return [Sample(make((40,), low=2.5, high=3.0))]

        def wrong_from_2(x):
            return pb.where(x > 2.2, x, pb.sin(x))

        info = record(wrong_from_2, samples=of_numbers, dtypes=(F64,))
        check_operator(info)
        with pytest.raises(AssertionError, match="elements differ"):
            check_operator(dataclasses.replace(info, reference_inputs=large))
        counted = []
        info = record(lambda x: counted.append(x.shape) or pb.sin(x), samples=of_numbers, reference_inputs=large)
        check_gradient(info, F64)
        assert (40,) not in counted

    def test_error_inputs_are_drawn_in_every_dtype(self):
        seen = []

        def refusals(make):
            seen.append(make.dtype)
            yield Raises(TypeError, ("sin",), args=(str(make.dtype),))

        check_operator(record(None, samples=of_numbers, dtypes=(np.float64, np.float32), error_inputs=refusals))
        assert seen == [np.float64, np.float32]
        accepted = lambda make: [Raises(TypeError, args=(make((2,)),))]  # noqa: E731
        with pytest.raises(AssertionError, match="accepted, but"):
            check_operator(record(None, samples=of_numbers, dtypes=(F64,), error_inputs=accepted))

    def test_an_operator_without_forward_mode_must_refuse_it(self):
        info = record(rough(lambda x, g: g * x.cos()), samples=of_numbers, dtypes=(F64,), supports_forward_ad=False)
        check_tangent(info, F64)
        with pytest.raises(AssertionError, match="supports_forward_ad=False, but forward mode gives a tangent"):
            check_tangent(record(None, samples=of_numbers, supports_forward_ad=False), F64)

    @pytest.mark.parametrize(("field", "check"), [
        ("check_batched_grad", check_gradient), ("check_batched_gradgrad", check_second),
    ])  # fmt: skip
    def test_a_backward_that_is_wrong_for_a_batch_of_cotangents_is_found(self, field, check):
        def wrong_for_a_batch(g):
            return g * (2.0 if is_batched(g) else 1.0)

        if field == "check_batched_grad":
            call = rough(lambda x, g: wrong_for_a_batch(g) * x.cos())
        else:
            cosine = custom(pb.cos, lambda x, g: -wrong_for_a_batch(g) * x.sin())
            call = rough(lambda x, g: g * cosine(x))
        check(record(call, samples=of_numbers, **{field: False}), F64)
        with pytest.raises(GradcheckError, match=r"check_batched_grad"):
            check(record(call, samples=of_numbers), F64)

    def test_a_tangent_that_is_wrong_for_a_batch_of_tangents_is_found(self):
        class Sine(pb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_forward(x)
                return x.sin()

            @staticmethod
            def jvp(ctx, t):
                return t * ctx.saved_tensors[0].cos() * (2.0 if is_batched(t) else 1.0)

        check_tangent(record(Sine.apply, samples=of_numbers, check_batched_forward_grad=False), F64)
        with pytest.raises(GradcheckError, match=r"check_batched_forward_grad"):
            check_tangent(record(Sine.apply, samples=of_numbers), F64)

    def test_backward_dtypes_are_those_in_which_backward_is_compared(self):
        half = rough(lambda x, g: g * (x.cos().half().float() if x.dtype == np.float32 else x.cos()))
        with pytest.raises(AssertionError, match="units of float32 away"):
            check_operator(record(half, samples=of_numbers, skips=NO_FORWARD_MODE, complex=False))
        check_operator(record(half, samples=of_numbers, skips=NO_FORWARD_MODE, complex=False, backward_dtypes=()))


NO_FORWARD_MODE = (Skip("tangent", "no jvp"), Skip("layouts", "rough"))


class TestSkipsAndDecorators:
    @pytest.fixture
    def ran(self, monkeypatch):
        """The checks that run, as (name, dtype)."""
        found = []
        plan = checks._plan

        def noting(info):
            for name, _, order, dtypes in plan(info):
                yield name, lambda info, dtype, name=name: found.append((name, dtype)), order, dtypes

        monkeypatch.setattr(checks, "_plan", noting)
        return found

    @pytest.mark.parametrize("check", ["forward", "gradient", "tags", "vmap", "aliases", "errors"])
    def test_a_skip_leaves_out_one_check_in_one_dtype(self, check, ran):
        options = {"samples": of_numbers, "dtypes": (np.float64, np.complex128)}
        check_operator(record(None, **options))
        everything, ran[:] = list(ran), []
        check_operator(record(None, **options, skips=[Skip(check, "why", dtypes=[np.complex128])]))
        assert [x for x in everything if x not in ran] == [(check, np.dtype(np.complex128))]

    def test_a_skip_of_what_does_not_exist_is_refused(self):
        with pytest.raises(ValueError, match=r"Skip: there is no check 'gradeint'. Write one of: forward, gradient"):
            Skip("gradeint", "why")
        with pytest.raises(ValueError, match=r"Skip\('gradient'\) needs because="):
            Skip("gradient", "")
        with pytest.raises(TypeError, match=r"skips takes Skips, got <pullback.*Write Skip\('second', because"):
            OpInfo("sin", np.sin, unary(), skips=[DecorateInfo(unittest.expectedFailure)])

    def test_decorators_wrap_one_check_in_one_dtype(self):
        seen = []

        def noting(check):
            def wrapped(info, dtype):
                seen.append((check.__name__, dtype))
                check(info, dtype)

            return wrapped

        decorators = [DecorateInfo(noting, "gradient", dtypes=[np.complex128])]
        check_operator(record(None, samples=of_numbers, complex=True, decorators=decorators))
        assert seen == [("check_gradient", np.dtype(complex))]
        off = [DecorateInfo(noting, "gradient", active_if=False)]
        check_operator(record(None, samples=of_numbers, decorators=off))
        assert len(seen) == 1

    def test_an_expected_failure_must_fail(self):
        wrong = record(rough(lambda x, g: 2 * g * x.cos()), samples=of_numbers, dtypes=(F64,), skips=NO_FORWARD_MODE)
        with pytest.raises(GradcheckError):
            check_operator(wrong)
        expected = [DecorateInfo(unittest.expectedFailure, "gradient")]
        check_operator(dataclasses.replace(wrong, decorators=expected))
        with pytest.raises(AssertionError, match=r"sin: the check 'gradient' in float64 was expected to fail, but pa"):
            check_operator(record(None, samples=of_numbers, dtypes=(F64,), decorators=expected))
        check_operator(dataclasses.replace(wrong, decorators=[DecorateInfo(unittest.skip("why"), "gradient")]))

    def test_a_mark_of_pytest_is_refused(self):
        with pytest.raises(TypeError, match=r"pytest.mark.skip has no effect on a check. Write\s+skips="):
            DecorateInfo(pytest.mark.skip(reason="why"), "gradient")
        with pytest.raises(ValueError, match=r"DecorateInfo: there is no check 'test_grad'"):
            DecorateInfo(unittest.expectedFailure, "test_grad")
