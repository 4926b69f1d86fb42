"""trace_nans: the first operator that makes NaN or inf is named, with its line and the values that led to it."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback import autograd
from pullback.autograd import forward_ad, trace_nans
from pullback.core.errors import NonFiniteError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:pullback")


@pytest.fixture(autouse=True)
def _quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def leaf(*values):
    return pb.tensor(values, requires_grad=True)


def caught(program, **options):
    with trace_nans(**options), pytest.raises(NonFiniteError) as e:
        program()
    return e.value


def test_forward_names_operator_line_entries_and_inputs():
    x = pb.tensor([[1.0, 0.0], [-2.0, 3.0]])
    error = caught(lambda: x.log())  # the line
    assert str(error).splitlines()[:5] == [
        "log made nan and inf out of finite inputs, in 2 of 4 entries of its result (float64 (2, 2)):",
        "  [0, 1]: -inf  from input = 0.0",
        "  [1, 0]: nan  from input = -2.0",
        "It was called by",
        str(error).splitlines()[4],
    ]
    assert "test_trace_nans.py" in str(error)
    assert str(error).endswith("error = caught(lambda: x.log())  # the line")
    found = error.finding
    assert (found.name, found.backward, found.made, found.count) == ("log", False, "nan and inf", 2)
    assert found.entries[0].index == (0, 1)
    assert found.entries[0].inputs == {"input": 0.0}
    assert isinstance(error, FloatingPointError)


def test_the_first_operator_is_named_not_the_following():
    def program():
        y = leaf(1.0, -1.0).log()
        z = y * 2 + 1
        return z.exp()

    assert caught(program).finding.name == "log"


def test_backward_names_node_forward_line_and_saved_values():
    def program():
        y = leaf(4.0, 0.0).sqrt()  # forward
        y.sum().backward()

    error = caught(program)
    text = str(error)
    of = "1 of 2 entries of the gradient of its input 0 (float64 (2,))"
    head = f"SqrtBackward0 made inf out of a finite gradient, in {of}:"
    assert text.startswith(f"{head}\n  [1]: inf  from grad = 1.0, saved result = 0.0\nIts operator was called by\n")
    assert "y = leaf(4.0, 0.0).sqrt()  # forward" in text
    assert "where() on its input" in text
    assert error.finding.backward


def test_backward_alone_says_that_the_line_is_not_known():
    y = leaf(0.0).sqrt().sum()
    assert "enter trace_nans() before the forward pass" in str(caught(y.backward))


def test_what_where_masks_is_not_reported_in_backward():
    x = leaf(0.0, 4.0)
    with trace_nans():
        pb.where(x > 0, x.sqrt(), 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_inputs_that_are_overwritten_are_shown_as_they_were():
    y = pb.tensor([1.0, -1.0])
    error = caught(y.log_)
    assert error.finding.name == "log_"
    assert error.finding.entries[0].inputs == {"input": -1.0}
    z = pb.tensor([1.0, 0.0])
    assert caught(lambda: z.div_(z)).finding.entries[0].inputs == {"input": 0.0, "other": 0.0}
    w = pb.tensor([1.0, 0.0])
    assert caught(lambda: pb.log(w, out=w)).finding.entries[0].inputs == {"input": 0.0}


def test_matrix_products_show_the_range_of_their_inputs():
    a = pb.tensor([[1e200, 1.0], [2.0, 3.0]])
    text = str(caught(lambda: a @ a))
    assert "matmul made inf out of finite inputs, in 1 of 4 entries" in text
    assert "input: float64 (2, 2), values from 1.0 to 1e+200" in text


def test_infinities_that_are_given_are_nobodys_fault():
    x = leaf(1.0, 2.0)
    with trace_nans():
        masked = x.masked_fill(pb.tensor([True, False]), -float("inf"))
        masked.softmax(-1).sum().backward()
        (pb.tensor([float("nan")]) + 1).exp()


def test_nan_out_of_infinities_is_found():
    x = pb.tensor([float("inf")])
    error = caught(lambda: x - x)
    assert str(error).startswith("sub made nan out of nan-free inputs")
    assert error.finding.entries[0].inputs == {"input": float("inf"), "other": float("inf")}


def test_check_inf_false_looks_for_nan_alone():
    with trace_nans(check_inf=False):
        pb.tensor([0.0]).log()
    assert caught(lambda: pb.tensor([-1.0]).log(), check_inf=False).finding.made == "nan"


def test_collect_goes_on_and_keeps_everything():
    x = leaf(1.0, 0.0)
    with trace_nans("collect") as tracer:
        y = x.log()
        y.exp().sum()
        x.sqrt().sum().backward()
    assert [(f.name, f.backward) for f in tracer.found] == [("log", False), ("SqrtBackward0", True)]
    assert str(tracer.found[0]) == tracer.found[0].text


def test_warn_warns_at_the_users_line():
    with trace_nans("warn") as tracer, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pb.tensor([0.0]).log()
    assert [str(w.message) for w in seen] == [tracer.found[0].text]
    assert seen[0].category is RuntimeWarning
    assert seen[0].filename == __file__


def test_other_modes_are_refused():
    with pytest.raises(ValueError, match=r"mode must be one of 'raise', 'warn', 'collect', got 'shout'"):
        trace_nans("shout")


class NumpyLog(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.from_numpy(np.log(x.detach().numpy()))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / x


class Divides(NumpyLog):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1


def test_custom_functions_are_named_by_their_class():
    error = caught(lambda: NumpyLog.apply(leaf(1.0, 0.0)))
    assert error.finding.name == "NumpyLog"
    assert "argument 0: float64 (2,), values from 0.0 to 1.0" in str(error)


@pytest.mark.parametrize("create_graph", [False, True])
def test_operators_inside_a_custom_backward_are_named(create_graph):
    error = caught(lambda: Divides.apply(leaf(0.0)).sum().backward(create_graph=create_graph))
    assert error.finding.name == "div"
    assert "return grad / x" in error.finding.where
    assert "in the backward of DividesBackward, whose forward was called by" in str(error)


def test_formulas_of_built_in_nodes_may_pass_through_infinities():
    # The slope of abs_ at 0, norms at the origin, ... divide by zero on the way to a finite result.
    x = leaf(0.0, 0.0)
    with trace_nans():
        pb.hypot(x, x).sum().backward(create_graph=True)
        assert np.isfinite(x.grad.detach().numpy()).all()


def test_second_derivatives_name_the_node():
    def program():
        x = leaf(0.0)
        (g,) = autograd.grad((x**1.5).sum(), x, create_graph=True)
        g.sum().backward()

    assert caught(program).finding.name.startswith("PowBackward")


def test_many_entries_and_inputs_stay_readable():
    text = str(caught(lambda: pb.zeros(1000, 1000).log()))
    assert "1,000,000 of 1,000,000 entries" in text
    assert "... and 999,995 more" in text
    assert len(text.splitlines()) < 15
    parts = [pb.tensor([1e308]) for _ in range(40)]
    assert len(str(caught(lambda: pb.stack(parts).sum())).splitlines()) < 20


def test_transforms_are_traced_at_their_own_level():
    error = caught(lambda: pb.func.grad(lambda x: x.sqrt().sum())(np.array([0.0])))
    assert error.finding.name == "SqrtBackward0"


def test_forward_mode_is_traced():
    def program():
        with forward_ad.dual_level():
            forward_ad.make_dual(pb.tensor([0.0]), pb.ones(1)).sqrt()

    assert "1 of 1 entry of the tangent of its result" in str(caught(program))


def test_as_a_decorator_findings_come_together():
    tracer = trace_nans("collect")

    @tracer
    def program(n):
        pb.tensor([0.0]).log()
        if n:
            program(n - 1)

    program(2)
    assert len(tracer.found) == 3


def test_an_error_leaves_the_modes_as_they_were():
    caught(lambda: pb.tensor([0.0]).log())
    assert np.isinf(pb.tensor([0.0]).log().item())
