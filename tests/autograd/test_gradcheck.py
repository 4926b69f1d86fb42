"""gradcheck and gradgradcheck: what passes, what is refused, and that the inputs come back untouched."""

import re

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError
from pullback.testing import make_tensor

MODES = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def inputs(*shapes, dtype=np.float64, **how):
    return tuple(make_tensor(s, dtype=dtype, requires_grad=True, generator=k, **how) for k, s in enumerate(shapes))


def function(forward, backward):
    """A custom Function that saves its inputs; `backward(inputs, grads)` gives the gradients."""

    class Custom(pb.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return forward(*xs)

        @staticmethod
        def backward(ctx, *grads):
            return backward(ctx.saved_tensors, grads)

    return Custom.apply


RIGHT = {
    "elementwise": (pb.sin, inputs((2, 3))),
    "broadcast": (lambda a, b: a * b + b, inputs((2, 3), (3,))),
    "several_outputs": (lambda a: (a.sin(), a.exp()), inputs((3,))),
    "one_output_without_gradient": (lambda a: (a.sin(), a.cos().detach(), a > 0), inputs((3,))),
    "unused_input": (lambda a, b: a * a, inputs((2,), (3,))),
    "number_among_inputs": (lambda a, k, b: a * k * b, (inputs((3,))[0], 2.5, inputs((3,))[0])),
    "zero_dimensional": (lambda a: a * a, inputs(())),
    "empty": (lambda a: a * a, inputs((0, 2))),
    "complex": (lambda a, b: a @ b, inputs((2, 3), (3, 2), dtype=np.complex128)),
    "complex_to_real": (pb.abs, inputs((3,), dtype=np.complex128)),
    "real_to_complex": (lambda a: a * (1 + 2j), inputs((3,))),
    "not_holomorphic": (lambda a: a * a.conj() + a.conj(), inputs((3,), dtype=np.complex128)),
    "strided_input": (lambda a: a * a, inputs((2, 3), noncontiguous=True)),
    "same_input_twice": (lambda a, b: a * b, inputs((3,)) * 2),
}


@MODES
@pytest.mark.parametrize("name", RIGHT)
def test_right_gradients_pass(name, fast_mode):
    func, xs = RIGHT[name]
    assert pb.autograd.gradcheck(func, xs, fast_mode=fast_mode)


@MODES
@pytest.mark.parametrize("name", sorted(RIGHT.keys() - {"same_input_twice"}))
def test_right_second_gradients_pass(name, fast_mode):
    func, xs = RIGHT[name]
    assert pb.autograd.gradgradcheck(func, xs, fast_mode=fast_mode, gen_non_contig_grad_outputs=fast_mode)


@MODES
def test_inputs_are_as_before_even_when_the_function_raises(fast_mode):
    (x,) = inputs((3,))
    before, version, calls = x.detach().numpy().copy(), x._version, []

    def breaks_later(x):
        calls.append(1)
        if len(calls) > 3:
            raise ZeroDivisionError
        return x * x

    with pytest.raises(ZeroDivisionError):
        pb.autograd.gradcheck(breaks_later, x, fast_mode=fast_mode)
    assert (x.detach().numpy() == before).all()
    assert x._version == version


def test_function_may_ignore_its_arguments_and_read_the_same_tensors():
    w, b = inputs((2, 2), (2,))
    assert pb.autograd.gradcheck(lambda *_: (w * b).sin(), (w, b))


def test_inputs_that_are_not_leaves_are_checked():
    (x,) = inputs((3,))
    assert pb.autograd.gradcheck(pb.sin, x * 2)


@MODES
def test_a_wrong_gradient_raises_or_gives_false(fast_mode):
    wrong = function(pb.sin, lambda xs, gs: gs[0] * 2 * xs[0].cos())
    (x,) = inputs((2, 2))
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0") as caught:
        pb.autograd.gradcheck(wrong, x, fast_mode=fast_mode)
    assert (caught.value.input_index, caught.value.output_index) == (0, 0)
    assert caught.value.numerical.shape == caught.value.analytical.shape == (4, 4)
    assert pb.autograd.gradcheck(wrong, x, fast_mode=fast_mode, raise_exception=False) is False


def test_error_names_the_input_and_output_that_differ():
    wrong = function(lambda a, b: (a * b, a + b), lambda xs, gs: (gs[0] * xs[1] + gs[1], gs[0] * xs[0] + gs[1] * 0))
    with pytest.raises(GradcheckError, match="output 1 with respect to input 1") as caught:
        pb.autograd.gradcheck(wrong, inputs((2,), (2,)))
    assert (caught.value.input_index, caught.value.output_index) == (1, 1)


def test_table_shows_the_worst_entries_with_their_indices():
    off_at_one_place = function(lambda x: x * 2, lambda xs, gs: gs[0] * pb.tensor([[2.0, 2.0], [2.0, 5.0]]))
    with pytest.raises(GradcheckError) as caught:
        pb.autograd.gradcheck(off_at_one_place, inputs((2, 2)))
    header, row = str(caught.value).splitlines()[2:4]
    assert header.split() == ["input", "output", "analytical", "numerical", "absolute", "relative"]
    assert row.split() == ["0[1,1]", "0[1,1]", "5", "2", "3", "1.5"]


@MODES
def test_a_wrong_second_gradient_is_found_where_the_first_is_right(fast_mode):
    cubed = function(lambda x: x * x * x, lambda xs, gs: gs[0] * 3 * xs[0] * xs[0].detach())
    cubed.__self__.double_backward = "exact"  # which is not so
    (x,) = inputs((3,))
    assert pb.autograd.gradcheck(cubed, x)
    with pytest.raises(
        GradcheckError, match=r"output 0 \(gradient of input 0\) with respect to input 0 \(argument 0\)"
    ):
        pb.autograd.gradgradcheck(cubed, x, fast_mode=fast_mode)


def test_given_grad_outputs_are_used():
    (x,) = inputs((3,))
    assert pb.autograd.gradgradcheck(lambda x: x * x, x, pb.tensor([1.0, 0.5, 2.0], requires_grad=True))
    with pytest.raises(ValueError, match="2 grad_outputs for 1"):
        pb.autograd.gradgradcheck(lambda x: x * x, x, inputs((3,), (3,)))


def test_function_that_does_not_depend_on_its_input_passes():
    constant = pb.ones(3)
    assert pb.autograd.gradcheck(lambda x: constant, inputs((3,)))


class TestRefusals:
    def test_no_input_requires_grad(self):
        with pytest.raises(ValueError, match=r"at least one input.*requires_grad=True"):
            pb.autograd.gradcheck(pb.sin, pb.ones(3))

    def test_expanded_input(self):
        x = pb.from_numpy(np.broadcast_to(np.ones(1), (3,)).copy()[:1]).expand(3)
        x = x.detach().requires_grad_()
        with pytest.raises(RuntimeError, match=r"share memory.*\n?.*clone"):
            pb.autograd.gradcheck(pb.sin, x)

    def test_overlapping_windows(self):
        windows = np.lib.stride_tricks.as_strided(np.zeros(4), (3, 2), (8, 8))
        with pytest.raises(RuntimeError, match="share memory"):
            pb.autograd.gradcheck(pb.sin, pb.from_numpy(windows).requires_grad_())

    def test_strided_input_whose_windows_do_not_overlap_is_accepted(self):
        interleaved = np.lib.stride_tricks.as_strided(np.ones(8), (2, 2), (8, 24))
        assert pb.autograd.gradcheck(pb.sin, pb.from_numpy(interleaved).requires_grad_())

    def test_two_inputs_over_one_memory(self):
        memory = np.ones(4)
        x, y = (pb.from_numpy(memory[k : k + 3]).requires_grad_() for k in (0, 1))
        with pytest.raises(RuntimeError, match="inputs 0 and 1 share memory"):
            pb.autograd.gradcheck(lambda x, y: x * y, (x, y))

    def test_read_only_input(self):
        memory = np.ones(3)
        memory.flags.writeable = False
        with pytest.raises(RuntimeError, match="read-only"):
            pb.autograd.gradcheck(pb.sin, pb.from_numpy(memory).requires_grad_())

    def test_function_that_returns_no_tensor(self):
        with pytest.raises(TypeError, match="must return a Tensor"):
            pb.autograd.gradcheck(lambda x: x.sum().item(), inputs((3,)))

    def test_step_lost_in_rounding(self):
        with pytest.raises(ValueError, match="lost in rounding"):
            pb.autograd.gradcheck(pb.sin, pb.tensor([1e16], requires_grad=True))

    def test_options_that_need_what_is_not_there(self):
        with pytest.raises(NotImplementedError, match="masked"):
            pb.autograd.gradcheck(pb.sin, inputs((3,)), masked=True)

    @pytest.mark.parametrize("option", ["check_batched_grad", "check_batched_forward_grad"])
    def test_batches_of_a_mode_that_is_not_checked(self, option):
        needed = {
            "check_backward_ad": option != "check_batched_grad",
            "check_forward_ad": option == "check_batched_grad",
        }
        with pytest.raises(ValueError, match=f"Setting {option}=True requires .* to be True"):
            pb.autograd.gradcheck(pb.sin, inputs((3,)), **{option: True}, **needed)

    def test_nothing_to_check(self):
        with pytest.raises(ValueError, match="check_backward_ad"):
            pb.autograd.gradcheck(pb.sin, inputs((3,)), check_backward_ad=False)


class TestRulesOfEveryBackward:
    def test_zero_cotangent_gives_zero(self):
        offset = function(lambda x: x * 2, lambda xs, gs: gs[0] * 2 + 1e-7)
        with pytest.raises(GradcheckError, match="backward not multiplied by grad_output") as caught:
            pb.autograd.gradcheck(offset, inputs((3,)))
        assert caught.value.diagnosis.kind == "zero_cotangent"

    def two_outputs(self, backward):
        class Custom(pb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, g, h):
                return backward(g, h)

        return Custom.apply

    def test_undefined_gradients_that_raise_are_found(self):
        careless = self.two_outputs(lambda g, h: g * 2 if h is None else h * 3 if g is None else g * 2 + h * 3)
        with (
            pytest.warns(UserWarning, match="New undefined gradient support checking feature is enabled by default"),
            pytest.raises(GradcheckError, match="Undefined gradient") as caught,
        ):
            pb.autograd.gradcheck(careless, inputs((3,)))
        assert caught.value.diagnosis.kind == "undefined_gradient"
        assert isinstance(caught.value.__cause__, TypeError)

    def test_undefined_gradients_that_do_not_act_as_zeros_are_found(self):
        def backward(g, h):
            if g is None and h is None:
                return pb.ones(3)
            return (0 if g is None else g * 2) + (0 if h is None else h * 3)

        with pytest.raises(GradcheckError, match="Undefined gradient") as caught:
            pb.autograd.gradcheck(self.two_outputs(backward), inputs((3,)))
        assert caught.value.diagnosis.kind == "undefined_gradient"

    def test_undefined_gradients_treated_as_zeros_pass(self):
        def backward(g, h):
            parts = [p for p in (None if g is None else g * 2, None if h is None else h * 3) if p is not None]
            return sum(parts[1:], parts[0]) if parts else None

        assert pb.autograd.gradcheck(self.two_outputs(backward), inputs((3,)))

    def test_check_undefined_grad_can_be_left_out(self):
        careless = self.two_outputs(lambda g, h: (0 if g is None else g * 2) + (0 if h is None else h * 3))
        assert pb.autograd.gradcheck(careless, inputs((3,)), check_undefined_grad=False)


def test_single_precision_is_warned_about():
    (x,) = inputs((2,), dtype=np.float32)
    with pytest.warns(UserWarning, match="float32.*double precision"):
        assert pb.autograd.gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2, rtol=1e-2)


def test_nondeterminism_within_nondet_tol_passes():
    rng = np.random.default_rng(0)
    noisy = function(lambda x: x * 2, lambda xs, gs: gs[0] * 2 * (1 + 1e-9 * rng.random()))
    with pytest.raises(GradcheckError, match="not reentrant"):
        pb.autograd.gradcheck(noisy, inputs((3,)))
    assert pb.autograd.gradcheck(noisy, inputs((3,)), nondet_tol=1e-7)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("check_forward_ad", [False, True])
@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda x: pb.cat([x, x]) if bool((x >= 1).all()) else x, r"output 0 is .*\(4,\) at the inputs, and .*\(2,\)"),
        (lambda x: pb.cat([x, x])[:1] if bool((x >= 1).all()) else x.sum(0, True), None),
        (lambda x: x[x >= 1], r"output 0 is .*\(2,\) at the inputs, and"),
        (lambda x: (x, x) if bool((x >= 1).all()) else (x,), r"returns 2 outputs at the inputs, and 1"),
        (lambda x: x if bool((x >= 1).all()) else x + 0j, r"float64 .* at the inputs, and complex128"),
        (lambda x: x if bool((x >= 1).all()) else x.to(pb.float32), r"float64 .* at the inputs, and float32"),
    ],
)
def test_outputs_that_change_their_layout_with_the_values_are_told_of(f, match, check_forward_ad, fast_mode):
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(GradcheckError) as caught:
        pb.autograd.gradcheck(f, (x,), check_forward_ad=check_forward_ad, fast_mode=fast_mode)
    if match is not None:
        assert re.search(match, str(caught.value))
        assert caught.value.diagnosis.kind == "changing_outputs"
    assert x.tolist() == [1, 1]


def test_a_function_that_writes_into_its_input_is_refused_and_the_input_kept():
    def by_data(x):
        x.data.mul_(1.01)
        return x * 2

    def by_numpy(x):
        x.detach().numpy()[...] += 1e-3
        return x * 2

    for f in (by_data, by_numpy):
        x = pb.ones(2, requires_grad=True)
        with pytest.raises(GradcheckError, match="func modifies input 0 in place") as caught:
            pb.autograd.gradcheck(f, (x,))
        assert caught.value.diagnosis.kind == "modified_input"
        assert x.tolist() == [1, 1]


def test_what_cannot_be_checked_is_said():
    x = pb.ones(2, requires_grad=True)
    for f in (lambda x: x.argmax(), lambda x: x > 1):
        with pytest.raises(ValueError, match="nothing to check"):
            pb.autograd.gradcheck(f, (x,))
    with pytest.warns(UserWarning, match="empty tuple, so nothing was checked") as told:
        assert pb.autograd.gradcheck(lambda x: (), (x,))
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match="tuple of Tensors, but it returned tuple"):
        pb.autograd.gradcheck(lambda x: (x, (x,)), (x,))


@pytest.mark.parametrize("detach", [lambda x: pb.tensor([x]), lambda x: pb.tensor(np.asarray(x))])
def test_a_function_that_would_lose_the_gradient_fails_the_check(detach):
    x = pb.tensor(2.0, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"(?s)expected to be zero.*Keep Tensors on the way") as caught:
        pb.autograd.gradcheck(detach, x)
    assert isinstance(caught.value, pb.extend.DetachingError)
    assert caught.value.diagnosis.kind == "missing_gradient"
    assert not pb.autograd.gradcheck(detach, x, raise_exception=False)


@pytest.mark.parametrize("check", [pb.autograd.gradcheck, pb.autograd.gradgradcheck])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("eps", -1e-6, ValueError),
        ("eps", 0, ValueError),
        ("eps", float("nan"), ValueError),
        ("eps", float("inf"), ValueError),
        ("eps", "a", TypeError),
        ("eps", True, TypeError),
        ("atol", None, TypeError),
        ("rtol", -1.0, ValueError),
        ("nondet_tol", float("nan"), ValueError),
        ("fast_mode", "no", TypeError),
        ("raise_exception", None, TypeError),
    ],
)
def test_an_option_of_a_wrong_value_is_named(check, name, value, error):
    with pytest.raises(error, match=rf"{check.__name__}: {name} must be .*got {re.escape(repr(value))}"):
        check(lambda x: x * x, inputs((2,)), **{name: value})


def test_an_output_that_depends_on_the_input_and_requires_no_grad_is_found():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        pb.autograd.gradcheck(lambda x: x.detach() * 2, inputs((3,)))


def test_a_slope_that_is_nan_by_formula_and_by_differences_is_no_right_slope():
    class Nowhere(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * np.nan

        @staticmethod
        def backward(ctx, grad):
            return grad * np.nan

    (x,) = inputs((3,))
    assert not pb.autograd.gradcheck(Nowhere.apply, x, raise_exception=False, check_forward_ad=False)
    with pytest.raises(GradcheckError):
        pb.autograd.gradcheck(Nowhere.apply, x)
