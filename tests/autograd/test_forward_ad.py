"""Dual tensors: make_dual, unpack_dual, levels, what crosses them, and forward mode mixed with backward."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.testing import assert_close

X, V, W = np.array([0.3, 1.2, -0.7]), np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.5, 1.5])


def jvp(function, *pairs):
    """The tangent of function at pairs of primal and tangent, as an ndarray."""
    with dual_level():
        tangent = unpack_dual(function(*(make_dual(pb.tensor(x), pb.tensor(v)) for x, v in pairs))).tangent
        return tangent.numpy()


# -- making and taking apart ------------------------------------------------------------------------------------------
def test_unpack_gives_back_what_was_packed():
    x, v = pb.tensor(X), pb.tensor(V)
    with dual_level():
        unpacked = unpack_dual(make_dual(x, v))
        assert unpacked._fields == ("primal", "tangent")
        assert_close(unpacked.primal, x)
        assert_close(unpacked.tangent, v)
        assert np.shares_memory(unpacked.primal.numpy(), x.numpy())
        assert np.shares_memory(unpacked.tangent.numpy(), v.numpy())


def test_a_tensor_without_tangent_is_its_own_primal():
    x = pb.tensor(X)
    with dual_level():
        primal, tangent = unpack_dual(x)
        assert primal is x
        assert tangent is None
        assert unpack_dual(make_dual(x, pb.tensor(V)) > 0).tangent is None
    assert unpack_dual(x) == (x, None)
    assert unpack_dual(1.0) == (1.0, None)


def test_a_dual_tensor_looks_like_its_primal():
    with dual_level():
        d = make_dual(pb.tensor(X.reshape(1, 3)), pb.tensor(V.reshape(1, 3)))
        assert d.shape == (1, 3)
        assert d.dtype == np.float64
        assert d.ndim == 2
        assert d.numel() == 3
        assert len(d) == 1
        assert d.stride() == (3, 1)
        assert d.is_contiguous()
        assert "tangent=" in repr(d)
        assert d[0, 0].item() == 0.3
        assert d.tolist() == [X.tolist()]


def test_operators_methods_and_numpy_functions():
    want = np.cos(X) * V * X + np.sin(X) * V
    assert_close(jvp(lambda x: x.sin() * x, (X, V)), want)
    assert_close(jvp(lambda x: pb.sin(x) * x, (X, V)), want)
    assert_close(jvp(lambda x: np.sin(x) * x, (X, V)), want)
    assert_close(jvp(lambda x: np.sqrt(np.sum(x * x)) * np.ones(3), (X, V)), np.full(3, X @ V / np.linalg.norm(X)))


def test_two_dual_arguments_and_constants():
    assert_close(jvp(lambda x, w: 2 * x * w + W, (X, V), (W, V)), 2 * (V * W + X * V))


def test_complex_numbers():
    z, t = X + 1j * W, V - 1j * X
    assert_close(jvp(lambda z: z * z.conj(), (z, t)), t * z.conj() + z * t.conj())
    assert_close(jvp(lambda z: z.abs(), (z, t)), (z.conj() * t).real / np.abs(z))
    assert_close(jvp(lambda x: pb.complex(x, x * x), (X, V)), V + 2j * X * V)


def test_shapes_without_elements_and_without_dimensions():
    assert jvp(lambda x: x.sin(), (np.zeros((0, 3)), np.ones((0, 3)))).shape == (0, 3)
    assert_close(jvp(lambda x: x * x, (np.array(3.0), np.array(1.0))), np.array(6.0))
    assert_close(jvp(lambda x: x + np.zeros((2, 1)), (X, V)), np.stack([V, V]))


def test_a_tangent_has_the_dtype_of_its_primal():
    x = np.float32([0.5, 2.0])
    tangent = jvp(lambda x: x * 2.0 + np.float32(1), (x, x))
    assert tangent.dtype == np.float32
    with dual_level():
        assert unpack_dual(make_dual(pb.tensor(x), pb.tensor(x)).double()).tangent.dtype == np.float64
        assert unpack_dual(make_dual(pb.tensor(x), pb.tensor(x)).long()).tangent is None


def test_outputs_without_derivative_have_no_tangent():
    with dual_level():
        values, indices = make_dual(pb.tensor(X), pb.tensor(V)).sort()
        assert_close(unpack_dual(values).tangent, V[np.argsort(X)])
        assert unpack_dual(indices).tangent is None


def test_nothing_of_forward_mode_is_loaded_before_it_is_used():
    code = (
        "import sys, pullback as pb\n"
        "x = pb.ones(2, requires_grad=True); (x * x).sum().backward()\n"
        "assert not [m for m in sys.modules if 'arrays.dual' in m or 'tangents' in m or 'forward_ad' in m]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- errors ------------------------------------------------------------------------------------------------------------
def test_make_dual_needs_a_level():
    with pytest.raises(RuntimeError, match=r"no level exists, make sure to enter_dual_level\(\) first"):
        make_dual(pb.tensor(X), pb.tensor(V))


@pytest.mark.parametrize(
    ("primal", "tangent", "error", "message"),
    [
        (pb.tensor([1]), pb.tensor([1]), ValueError, "Expected primal to be floating point or complex, but got: int64"),
        (pb.tensor([1.0]), pb.tensor([1]), ValueError, "Expected tangent to be floating point or complex"),
        (pb.ones(2), pb.ones(3), RuntimeError, r"Tensor is of size \(2,\) while the given forward gradient is of size"),
        (pb.ones(2), pb.ones(2).float(), RuntimeError, r"dtype float32, the primal float64; convert it with \.to"),
        (1.0, pb.tensor(1.0), TypeError, r"primal must be a Tensor, got float; use pullback\.tensor"),
        (pb.tensor(1.0), np.ones(()), TypeError, r"tangent must be a Tensor, got ndarray; use pullback\.tensor"),
    ],
)
def test_make_dual_refuses_what_does_not_fit(primal, tangent, error, message):
    with dual_level(), pytest.raises(error, match=message):
        make_dual(primal, tangent)


def test_make_dual_refuses_a_second_tangent_of_one_level():
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V))
        with pytest.raises(
            RuntimeError, match=r"already has a forward gradient at the same level.*unpack_dual it first"
        ):
            make_dual(d, pb.tensor(V))
        with pytest.raises(RuntimeError, match=r"the tangent is itself a dual Tensor.*unpack_dual first"):
            make_dual(pb.tensor(V), d)


def test_levels_are_left_as_they_were_entered():
    with pytest.raises(RuntimeError, match="exit_dual_level: no dual level was entered"):
        forward_ad.exit_dual_level()
    assert forward_ad.enter_dual_level() == 0
    assert forward_ad.enter_dual_level() == 1
    with pytest.raises(RuntimeError, match="level 0 is not the innermost one, which is 1"):
        forward_ad.exit_dual_level(level=0)
    forward_ad.exit_dual_level(level=1)
    forward_ad.exit_dual_level()
    with dual_level(), pytest.raises(RuntimeError, match="there is no dual level 3: 1 are entered"):
        unpack_dual(pb.tensor(X), level=3)


def test_a_level_ends_when_its_block_raises():
    with pytest.raises(KeyError), dual_level():
        raise KeyError
    with pytest.raises(RuntimeError, match="no level exists"):
        make_dual(pb.tensor(X), pb.tensor(V))


def test_numpy_does_not_take_a_tensor_with_a_tangent():
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V))
        with pytest.raises(RuntimeError, match=r"has a tangent.*unpack_dual.*detach\(\)\.numpy\(\)"):
            d.numpy()
        assert_close(d.numpy(force=True), X)
    assert_close(d.numpy(), X)  # the level is closed: nothing is lost


def test_out_arguments_are_refused():
    with (
        dual_level(),
        pytest.raises(RuntimeError, match=r"add\(\): functions with out=.*forward-mode.*Omit out="),
    ):
        pb.add(make_dual(pb.tensor(X), pb.tensor(V)), 1, out=pb.empty(3))


UNDERIVED = """
namespace: underived
kernels: scipy.special
native_functions:
  - func: erfcx(Tensor self) -> Tensor
    kernel: erfcx
"""


def test_an_operator_without_rule_is_named():
    erfcx = pb.ops.load(UNDERIVED).erfcx
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V))
        with pytest.raises(
            NotImplementedError, match=r"forward-mode derivative for 'underived.erfcx' is not implemented.*`result:`"
        ):
            erfcx(d)
        y = d * 1
    erfcx(y)  # outside of the level there is nothing to derive


def test_an_operator_loaded_again_has_its_new_rule():
    for factor in (2, 3):
        derivatives = f"derivatives:\n  - name: erfcx(Tensor self) -> Tensor\n    self: {factor} * grad\n"
        erfcx = pb.ops.load(UNDERIVED + derivatives + "    result: auto_element_wise\n").erfcx
        with dual_level():
            assert_close(unpack_dual(erfcx(make_dual(pb.tensor(X), pb.tensor(V)))).tangent, factor * V)


def test_an_argument_that_nobody_has_derived_is_named():
    scores, target, weight = pb.tensor(np.ones((2, 3))), pb.tensor([0, 1]), pb.ones(3)
    with dual_level():
        dual = make_dual(weight, pb.ones(3))
        with pytest.raises(NotImplementedError, match="derivative for 'nll_loss' with respect to 'weight' is not impl"):
            pb.nn.functional.nll_loss(scores, target, weight=dual)
        tangent = unpack_dual(pb.nn.functional.nll_loss(make_dual(scores, scores), target, weight=weight)).tangent
        assert tangent.item() == -1.0


# -- levels ------------------------------------------------------------------------------------------------------------
def test_tangents_are_gone_when_the_level_is_left():
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V))
        y = d * 2
    assert unpack_dual(y) == (y, None)
    with dual_level():
        assert unpack_dual(y).tangent is None
        assert unpack_dual(y * 3).tangent is None
        assert type(y * 3) is pb.Tensor
        assert_close(unpack_dual(make_dual(y, pb.tensor(V)) * d).tangent, V * X)


def test_running_values_do_not_grow_from_level_to_level():
    mean = pb.zeros(3)
    for _ in range(3):
        with dual_level():
            mean.mul_(0.5).add_(make_dual(pb.tensor(X), pb.tensor(V)))
            assert_close(unpack_dual(mean).tangent, V)
    mean.mul_(1)
    assert type(mean) is pb.Tensor
    assert_close(mean, X * 1.75)


def test_second_derivatives_by_nesting():
    with dual_level():
        outer = make_dual(pb.tensor(X), pb.tensor(V))
        with dual_level():
            inner = make_dual(outer, pb.tensor(W))
            first = unpack_dual(inner**3).tangent
            assert_close(unpack_dual(unpack_dual(inner**3, level=0).tangent, level=1).tangent, 6 * X * V * W)
        assert_close(unpack_dual(first).tangent, 6 * X * V * W)


def test_perturbations_are_not_confused():
    """d/dx (x * d/dy (x + y)) is 1, not 2."""
    one = pb.tensor(1.0)
    with dual_level():
        x = make_dual(pb.tensor(3.0), one)
        with dual_level():
            inner = unpack_dual(x + make_dual(pb.tensor(1.0), one)).tangent
        assert unpack_dual(x * inner).tangent.item() == 1.0


def test_levels_belong_to_a_thread():
    errors = []

    def other():
        try:
            make_dual(pb.tensor(X), pb.tensor(V))
        except RuntimeError as error:
            errors.append(error)

    with dual_level():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(errors) == 1


def test_detach_and_data_leave_the_tangent_behind():
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V))
        for plain in (d.detach(), d.data):
            assert type(plain) is pb.Tensor
            assert unpack_dual(plain).tangent is None
            assert np.shares_memory(plain.numpy(), d.numpy(force=True))
        assert_close(unpack_dual(d * d.detach()).tangent, V * X)


def test_duals_are_freed_by_reference_counting():
    gc.collect()
    gc.disable()
    try:
        x = pb.tensor(X, requires_grad=True)
        with dual_level():
            d = make_dual(x, pb.tensor(V))
            y = (d.sin() * d).sum()
            references = [weakref.ref(d), weakref.ref(d._array), weakref.ref(y.grad_fn)]
            tangent = unpack_dual(y).tangent
        tangent.backward()
        del d, y, tangent
        assert [r() for r in references] == [None, None, None]
    finally:
        gc.enable()


# -- mixed with backward -----------------------------------------------------------------------------------------------
HESSIAN_VECTOR = 6 * X * V * W  # of sum(x**3 w) along v


def loss(x, w):
    return (x**3 * w).sum()


def test_forward_over_reverse():
    x, w = pb.tensor(X, requires_grad=True), pb.tensor(W, requires_grad=True)
    with dual_level():
        gx, gw = pb.autograd.grad(loss(make_dual(x, pb.tensor(V)), w), (x, w))
        assert_close(unpack_dual(gx).primal, 3 * X**2 * W)
        assert_close(unpack_dual(gx).tangent, HESSIAN_VECTOR)
        assert_close(unpack_dual(gw).tangent, 3 * X**2 * V)


def test_forward_over_reverse_with_a_dual_leaf():
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V)).requires_grad_()
        loss(d, pb.tensor(W)).backward()
        loss(d, pb.tensor(W)).backward()
        assert_close(unpack_dual(d.grad).tangent, 2 * HESSIAN_VECTOR)


def test_forward_over_reverse_into_grad():
    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        loss(make_dual(x, pb.tensor(V)), pb.tensor(W)).backward()
        assert_close(unpack_dual(x.grad).tangent, HESSIAN_VECTOR)


@pytest.mark.parametrize("inside", [True, False])
def test_reverse_over_forward(inside):
    x, v, w = (pb.tensor(a, requires_grad=True) for a in (X, V, W))
    with dual_level():
        tangent = unpack_dual(loss(make_dual(x, v), w)).tangent
        if inside:
            tangent.backward()
    if not inside:
        tangent.backward()
    assert_close(x.grad, HESSIAN_VECTOR)
    assert_close(v.grad, 3 * X**2 * W)
    assert_close(w.grad, 3 * X**2 * V)


def test_reverse_over_forward_of_primal_and_tangent_together():
    x, w = pb.tensor(X, requires_grad=True), pb.tensor(W, requires_grad=True)
    with dual_level():
        primal, tangent = unpack_dual(loss(make_dual(x, pb.tensor(V)), w))
    gx, gw = pb.autograd.grad(2 * primal + tangent, (x, w))
    assert_close(gx, 6 * X**2 * W + HESSIAN_VECTOR)
    assert_close(gw, 2 * X**3 + 3 * X**2 * V)


def test_a_value_used_after_its_level_counts_as_its_primal():
    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        y = make_dual(x, pb.tensor(V)) ** 3
        tangent = unpack_dual(y).tangent
    (g,) = pb.autograd.grad((y * tangent).sum(), x, retain_graph=True)
    assert_close(g, 3 * X**2 * 3 * X**2 * V + X**3 * 6 * X * V)
    y.sum().backward(retain_graph=True)
    assert_close(x.grad, 3 * X**2)
    (g,) = pb.autograd.grad(y, x, pb.ones(3))
    assert_close(g, 3 * X**2)


@pytest.mark.parametrize("inside", [True, False])
def test_gradients_of_tangents_can_be_differentiated(inside):
    x, w = pb.tensor(X, requires_grad=True), pb.tensor(W, requires_grad=True)
    with dual_level():
        tangent = unpack_dual(loss(make_dual(x, pb.tensor(V)), w)).tangent
        if inside:
            (g,) = pb.autograd.grad(tangent, x, create_graph=True)
    if not inside:
        (g,) = pb.autograd.grad(tangent, x, create_graph=True)
    gx, gw = pb.autograd.grad(g.sum(), (x, w))
    assert_close(gx, 6 * V * W)
    assert_close(gw, 6 * X * V)


def test_the_gradient_of_a_tangent_to_a_dual_tensor_is_that_to_its_primal():
    x = pb.tensor(X, requires_grad=True)
    seen = []
    with dual_level():
        d = make_dual(x, pb.tensor(V))
        y = d * 1
        y.retain_grad()
        tangent = unpack_dual(loss(y, pb.tensor(W))).tangent
        (g,) = pb.autograd.grad(tangent, d, retain_graph=True)
        tangent.backward()
        seen += [y.grad / 2, g, x.grad]  # y retains its gradient in both
    for s in seen:
        assert_close(s, HESSIAN_VECTOR)


def test_a_constant_that_requires_grad_gets_a_plain_gradient():
    w = pb.tensor(W, requires_grad=True)
    with dual_level():
        tangent = unpack_dual((make_dual(pb.tensor(X), pb.tensor(V)) * w).sum()).tangent
        (g,) = pb.autograd.grad(tangent, w)
    assert type(g) is pb.Tensor
    assert_close(g, V)


def test_one_backward_from_duals_and_from_what_they_gave_is_refused():
    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        y = loss(make_dual(x, pb.tensor(V)), pb.tensor(W))
        tangent = unpack_dual(y).tangent
        with pytest.raises(RuntimeError, match=r"starts both from a dual tensor.*each of them alone, or take"):
            pb.autograd.backward([y, tangent])
        assert x.grad is None


def test_a_dual_loss_of_a_tangent_is_refused():
    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        d = make_dual(x, pb.tensor(V))
        tangent = unpack_dual(d**2).tangent
        with pytest.raises(RuntimeError, match=r"starts both from a dual tensor"):
            (tangent * d).sum().backward()


def test_unpacking_is_linear_under_a_second_level():
    """Forward over reverse over forward, each at its own level: the third derivative along three directions."""
    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        outer = make_dual(x, pb.tensor(V))
        with dual_level():
            tangent = unpack_dual(outer**4, level=1).tangent
            assert tangent is None
            tangent = unpack_dual(make_dual(outer, pb.tensor(W)) ** 4).tangent
        (g,) = pb.autograd.grad(tangent.sum(), x)
        assert_close(unpack_dual(g).primal, 12 * X**2 * W)
        assert_close(unpack_dual(g).tangent, 24 * X * W * V)


def test_forward_mode_under_no_grad_records_nothing():
    x = pb.tensor(X, requires_grad=True)
    with pb.no_grad(), dual_level():
        y = make_dual(x, pb.tensor(V)) * x
        assert not y.requires_grad
        assert_close(unpack_dual(y).tangent, V * X)


def test_hooks_see_gradients_on_their_way():
    x = pb.tensor(X, requires_grad=True)
    seen = []
    with dual_level():
        y = make_dual(x, pb.tensor(V)) * 1
        y.register_hook(lambda g: seen.append(g) or 2 * g)
        pb.autograd.grad(unpack_dual(y * y).tangent.sum(), x, retain_graph=True)
        unpack_dual((y * y).sum()).tangent.backward()
    assert len(seen) == 2
    assert_close(x.grad, 2 * 2 * V)


def test_operators_of_third_parties():
    party = pb.ops.load(
        """
        namespace: forward_example
        kernels: scipy.special
        native_functions:
          - func: log_wright_omega(Tensor self) -> Tensor
            kernel: wrightomega
          - func: without(Tensor self) -> Tensor
            kernel: expit
        derivatives:
          - name: log_wright_omega(Tensor self) -> Tensor
            self: grad * conj(result / (1 + result))
            result: auto_element_wise
        """
    )
    with dual_level():
        d = make_dual(pb.tensor(1.0), pb.tensor(3.0))
        assert unpack_dual(party.log_wright_omega(d)).tangent.item() == pytest.approx(1.5)
        with pytest.raises(NotImplementedError, match=r"forward-mode derivative for 'forward_example\.without' is not"):
            party.without(d)


def test_copying_numbers_out_of_a_dual_tensor_is_refused():
    with dual_level():
        d = make_dual(pb.tensor(X), pb.tensor(V))
        with pytest.raises(RuntimeError, match=r"pullback\.tensor\(t\) copies numbers.*t\.clone\(\)"):
            pb.tensor(d)
    assert_close(pb.tensor(d), X)


def test_an_optimisers_step_carries_tangents():
    """The parameter after a step of descent, as a function of the rate."""
    p = pb.tensor(X, requires_grad=True)
    with dual_level():
        rate = make_dual(pb.tensor(0.1), pb.tensor(1.0))
        (p * p).sum().backward()
        with pb.no_grad():
            p.sub_(rate * p.grad)
        assert_close(unpack_dual(p).tangent, -2 * X)
    p.grad = None
    (p * p).sum().backward()
    assert type(p.grad) is pb.Tensor
    assert_close(p.grad, 2 * 0.8 * X)


def test_thousands_of_levels_do_not_grow():
    x = pb.tensor(X, requires_grad=True)

    def step():
        with dual_level():
            tangent = unpack_dual(loss(make_dual(x, pb.tensor(V)), pb.tensor(W))).tangent
        tangent.backward()
        x.grad = None

    for _ in range(20):
        step()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(2000):
            step()
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()


def test_unpack_gives_the_very_tangent_that_make_dual_used():
    primal, tangent = pb.ones((3, 3)), pb.tensor([[1.0, 2.0, 3.0]] * 3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(primal, tangent)
        assert forward_ad.unpack_dual(dual).tangent is tangent
        other_order = tangent.T.contiguous().T
        assert forward_ad.unpack_dual(forward_ad.make_dual(primal, other_order)).tangent is not other_order
        product = forward_ad.unpack_dual(dual * dual).tangent
    assert pb.equal(product, 2 * tangent)
    assert forward_ad.unpack_dual(dual).tangent is None


# -- out=, and forward mode switched off -------------------------------------------------------------------------------
def test_out_takes_no_tangents():
    with forward_ad.dual_level():
        dual, plain = forward_ad.make_dual(pb.ones(2), pb.ones(2)), pb.ones(2)
        for call in (lambda: pb.add(plain, plain, out=dual), lambda: pb.add(dual, plain, out=plain)):
            with pytest.raises(RuntimeError, match="because it is an out= function"):
                call()
        with pytest.raises(RuntimeError, match="because it is an out= function"):
            pb.linalg.matrix_power(pb.eye(2), 2, out=forward_ad.make_dual(pb.eye(2), pb.eye(2)))
        assert plain.tolist() == dual.tolist() == [1, 1]


def test_forward_mode_can_be_switched_off_for_a_block():
    off = forward_ad._set_fwd_grad_enabled

    def f(x):
        with off(False):
            shift = x**2
        return x**2 - shift

    x, one = pb.tensor(3.0), pb.tensor(1.0)
    assert pb.func.jvp(f, (x,), (one,))[1].item() == 6
    assert pb.func.jvp(lambda x: pb.func.jvp(f, (x,), (one,))[1], (x,), (one,))[1].item() == 2
    assert pb.func.grad(f)(x).item() == 0  # it is no no_grad()
    with off(False):
        assert pb.func.jvp(pb.sin, (x,), (one,))[1].item() == np.cos(3.0)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, one)
            assert forward_ad.unpack_dual(dual * dual).tangent is None
            with off(True):
                assert forward_ad.unpack_dual(dual * dual).tangent.item() == 6
            with pytest.raises(RuntimeError, match="forward mode is off"):
                dual.mul_(2)
            assert forward_ad.unpack_dual(pb.ones(()).mul_(dual)).tangent is None


def test_the_tangent_of_a_part_of_a_larger_memory_lies_in_one_of_that_size():
    primal, tangent = pb.arange(6.0)[1:5].detach(), pb.ones(4)
    with dual_level():
        dual = make_dual(primal, tangent)
        found = unpack_dual(dual).tangent
        found.mul_(2)
        assert tangent.tolist() == [1, 1, 1, 1]
        assert unpack_dual(dual.as_strided((6,), (1,), 0)).tangent.tolist() == [0, 2, 2, 2, 2, 0]
        whole = make_dual(pb.ones(4), tangent)
        assert unpack_dual(whole).tangent is tangent
    w = pb.ones(4, requires_grad=True)
    with dual_level():
        unpack_dual(make_dual(primal, w) * 3).tangent.sum().backward()
    assert w.grad.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_tangent_of_a_view_is_a_view_of_the_tensor_that_was_given(requires_grad):
    x, t = pb.ones(4, requires_grad=requires_grad), pb.tensor([1.0, 2.0, 3.0, 4.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        for view in (dual[1:], dual.view(2, 2), dual.view(2, 2)[1]):
            assert forward_ad.unpack_dual(view).tangent._base is t
        assert forward_ad.unpack_dual(dual.clone()).tangent._base is None
        version = t._version
        with pb.no_grad():
            forward_ad.unpack_dual(dual[1:]).tangent.mul_(2)
        assert t.tolist() == [1, 4, 6, 8]
        assert t._version > version


def test_a_gradient_goes_through_the_tangent_of_a_view():
    x, t = pb.ones(3, requires_grad=True), pb.ones(3, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        tangent = forward_ad.unpack_dual(dual[1:]).tangent
        (tangent * tangent).sum().backward()
    assert t.grad.tolist() == [0, 2, 2]


class Doubling(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)


@pytest.mark.parametrize(
    "write",
    [
        lambda d: d.mul_(2),
        lambda d: d.zero_(),
        lambda d: d[1:].mul_(2),
        lambda d: d.__setitem__(0, 5.0),
        Doubling.apply,
    ],
    ids=["operator", "zero_", "view", "element", "Function"],
)
def test_a_write_into_a_dual_is_one_into_the_tangent_that_was_given(write):
    w = pb.ones(3, requires_grad=True)
    t = w * 2
    total = (t * t).sum()  # which saves t
    with dual_level(), pb.no_grad():
        write(make_dual(pb.zeros(3), t))
    assert t._version == 1
    with pytest.raises(RuntimeError, match="its dual Tensor has modified it since"):
        total.backward()


# -- as_strided beyond what a tensor has -----------------------------------------------------------------------

NUMBERS, TANGENT = pb.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), pb.tensor([10.0, 20.0, 30.0, 40.0, 50.0])


def beyond(x):
    return x[:4].as_strided((5,), (1,), 0)


def pushed(f, primal, tangent):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(primal, tangent))).tangent


@pytest.mark.parametrize("push", [pushed, lambda f, x, v: pb.func.jvp(f, (x,), (v,))[1]], ids=["make_dual", "jvp"])
def test_a_strided_view_of_a_part_has_the_tangents_of_what_lies_around_it(push):
    assert push(beyond, NUMBERS, TANGENT).tolist() == TANGENT.tolist()
    assert push(lambda x: x[1:3].as_strided((3,), (1,), 2), NUMBERS, TANGENT).tolist() == [30, 40, 50]
    # nothing moves around a primal that is a part, whatever lies around its tangent
    around = pb.arange(7.0)
    for tangent in (around[:4], around[:4].clone()):
        assert push(lambda x: x.as_strided((5,), (1,), 0), NUMBERS[:4], tangent).tolist() == [0, 1, 2, 3, 0]


def test_a_write_into_such_a_view_reaches_the_tangent_of_the_base():
    def doubled(x):
        beyond(x).mul_(2)
        return x

    assert pushed(doubled, NUMBERS.clone(), TANGENT.clone()).tolist() == [20, 40, 60, 80, 100]


def test_the_tangents_of_a_batch_have_nothing_around_them():
    assert pb.func.jacfwd(beyond)(NUMBERS).tolist() == np.eye(5).tolist()  # where the numbers are beside each other
    said = "can access memory outside of `tensor`"
    with pytest.raises(RuntimeError, match=said):
        pb.func.vmap(lambda v: pushed(lambda x: x.as_strided((5,), (1,), 0), NUMBERS[:4], v))(pb.ones(3, 4))


# -- writes into what a node keeps -----------------------------------------------------------------------------------
def written_later(compute, write):
    """The gradients by each leaf that requires grad, after a write into one of the tensors given to `compute`."""
    leaves = [pb.tensor(x, requires_grad=True) for x in ([0.7, 1.1, 0.4], [0.9, 0.5, 1.3], [0.6, 1.2, 0.8])]
    tensors = [x * 1.0 for x in leaves]
    result = compute(*tensors)
    write(*tensors)
    return pb.autograd.grad(result.sum(), leaves)


def both_parts(function):
    def compute(x, v, c):
        with dual_level():
            primal, tangent = unpack_dual(function(make_dual(x, v), c))
        return primal + tangent

    return compute


DUAL_PROGRAMS = {
    "sin": lambda d, c: pb.sin(d) * c * c,
    "exp": lambda d, c: pb.exp(d * c) * d,
    "a slice": lambda d, c: d[1:] * c[:-1] * d[:-1] * c[1:],
    "matmul": lambda d, c: pb.outer(d, c) @ (d * c),
}


@pytest.mark.parametrize("transform", [None, pb.func.grad], ids=["eager", "in grad"])
@pytest.mark.parametrize("program", DUAL_PROGRAMS)
@pytest.mark.parametrize("which", ["primal", "tangent", "captured"])
def test_a_write_into_what_was_made_dual_or_captured_is_noticed(which, program, transform):
    compute = both_parts(DUAL_PROGRAMS[program])
    if transform is not None:
        inner = compute

        def compute(x, v, c):
            return transform(lambda x: inner(x, v, c).sum())(x)

    number = ["primal", "tangent", "captured"].index(which)
    written_later(compute, lambda *tensors: None)
    for write in (lambda t: t.mul_(3.0), lambda t: t[1:].add_(1.0), lambda t: t.detach().zero_()):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            written_later(compute, lambda *tensors, write=write: write(tensors[number]))


def test_a_write_into_a_plain_primal_is_noticed_where_only_the_tangent_requires_grad():
    x, v, c = pb.tensor([0.7, 1.1]), pb.tensor([0.9, 0.5], requires_grad=True), pb.tensor([0.6, 1.2])

    def tangent(x):
        with dual_level():
            d = make_dual(x, v)
            return unpack_dual(pb.softmax(d * d * c, 0) * c).tangent.sum()

    gradient = pb.func.grad(tangent)(x)
    x.mul_(3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradient.sum().backward()


def test_a_write_into_an_unpacked_tangent_is_noticed_by_what_kept_the_dual():
    x = pb.tensor([0.3, 0.5], requires_grad=True)
    with dual_level():
        y = make_dual(x * 1.0, pb.ones(2)).exp()
        z = unpack_dual(y * y).tangent
        unpack_dual(y).tangent.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_direction_may_be_written_again_once_nothing_needs_it():
    x, v, columns = pb.tensor([0.3, 0.5], requires_grad=True), pb.zeros(2), []
    square = x * x  # keeps x, not the direction
    for k in range(2):
        v.zero_()
        v[k] = 1.0
        with dual_level():
            columns.append(unpack_dual(make_dual(x.detach(), v).sin()).tangent)
    assert pb.stack(columns).numpy() == pytest.approx(np.diag(np.cos([0.3, 0.5])))
    square.sum().backward()
    assert x.grad.tolist() == [0.6, 1.0]


# -- gradients of what meets duals of several levels -------------------------------------------------------------------
NESTED_PROGRAMS = {
    "plain": lambda r, c, dual: r * c * r,
    "plain, joined": lambda r, c, dual: pb.cat([r, c]).prod() * r,
    "of the inner level": lambda r, c, dual: r * dual(c) * r,
    "of the inner level, joined": lambda r, c, dual: pb.cat([r, dual(c)]).prod() * r,
    "of the inner level, chosen": lambda r, c, dual: pb.where(r > 0.3, r * r * r, dual(c) * r),
    "of the inner level, one of three": lambda r, c, dual: pb.addcmul(r, dual(c), r * r),
}


@pytest.mark.parametrize("program", NESTED_PROGRAMS)
def test_the_gradient_of_a_tensor_that_is_dual_at_fewer_levels_than_what_it_meets(program):
    a, v = pb.tensor([0.5, 0.25]), pb.ones(2)

    def loss(c):
        with dual_level():
            outer = make_dual(a, v)
            with dual_level():
                inner = make_dual(outer, v)
                inner = unpack_dual(NESTED_PROGRAMS[program](inner, c, lambda c: make_dual(c, v))).tangent
            return unpack_dual(inner).tangent.sum() + (c**2).sum()  # where a plain gradient is added

    pb.autograd.gradcheck(loss, (pb.tensor([2.0, 3.0], requires_grad=True),))


@pytest.mark.parametrize("program", [lambda a, c: a * c * a * c, lambda a, c: pb.sin(a * c) * c])
def test_levels_inside_of_grad_may_nest_around_a_captured_tensor(program):
    c, v = pb.tensor([2.0, 3.0], requires_grad=True), pb.ones(2)

    def nested(a):
        with dual_level():
            outer = make_dual(a, v)
            with dual_level():
                value = unpack_dual(program(make_dual(outer, v), c)).primal.sum()
            return unpack_dual(value).tangent

    def pushed(a):
        return pb.func.jvp(lambda a: program(a, c).sum(), (a,), (v,))[1]

    found, right = (pb.autograd.grad(pb.func.grad(f)(pb.tensor([0.5, 0.25])).sum(), c)[0] for f in (nested, pushed))
    assert found.numpy() == pytest.approx(right.numpy(), rel=1e-12)


# -- a dual that is taken apart again -------------------------------------------------------------------------------
def packed(hook=None):
    """Both leaves, and the parts of the dual number made of them."""
    leaves = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
    d = make_dual(leaves[0] * 2, leaves[1] * 2)
    if hook is not None:
        d.register_hook(hook)
    return leaves, unpack_dual(d)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_loss_of_one_part_has_no_gradient_of_the_other(create_graph):
    for part in (0, 1):
        with dual_level():
            leaves, parts = packed()
            grads = pb.autograd.grad(parts[part].sum(), leaves, allow_unused=True, create_graph=create_graph)
        assert grads[1 - part] is None
        assert grads[part].tolist() == [2.0, 2.0]


def test_a_loss_of_both_parts_or_of_a_product_has_both_gradients():
    with dual_level():
        leaves, (primal, tangent) = packed()
        both = pb.autograd.grad((primal + 3 * tangent).sum(), leaves)
        assert [g.tolist() for g in both] == [[2.0, 2.0], [6.0, 6.0]]
        d = make_dual(*leaves)
        square = unpack_dual(d * d)  # of the tangent 2 x t
        assert [g.tolist() for g in pb.autograd.grad(square.tangent.sum(), leaves)] == [[6.0, 8.0], [2.0, 4.0]]


def test_hooks_of_the_dual_see_the_cotangent():
    seen = []
    with dual_level():
        leaves, (primal, _) = packed(lambda grad: seen.append(grad.shape))
        assert pb.autograd.grad(primal.sum(), leaves, allow_unused=True)[1] is None
    assert seen == [(2,)]


@pytest.mark.parametrize("hook", [lambda grad: grad + 1, lambda grad: grad.add_(1), lambda grad: grad[:].add_(1)[:]])
def test_what_a_hook_puts_into_the_primal_of_a_cotangent_is_a_gradient_of_the_tangent(hook):
    with dual_level():
        leaves, (primal, _) = packed(hook)
        grads = pb.autograd.grad(primal.sum(), leaves)
    assert [g.tolist() for g in grads] == [[2.0, 2.0], [2.0, 2.0]]
