"""saved_tensors_hooks and its kin: what is packed, when and how it comes back, and what is refused."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def same(tensor):
    return tensor


def to_array(tensor):
    return tensor.detach().numpy().copy()


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, None, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, nothing, _ = ctx.saved_tensors
        assert nothing is None
        return 3 * x * x * grad


PROGRAMS = {
    "inputs": lambda x: x * x.sin(),
    "outputs": lambda x: x.exp().tanh().sqrt(),
    "several outputs": lambda x: pb.sort(x * x)[0] * pb.cummax(x * 2, 0)[0],
    "lists": lambda x: pb.cat([x, pb.stack([x, x * x]).sum(0)]) * pb.einsum("i,j,k->i", x, x, x).sum(),
    "views": lambda x: x[1:] * x.reshape(3, 1)[:2, 0] * x[1:].sin(),
    "in place": lambda x: (x * 1).mul_(x).exp_(),
    "in place on a view": lambda x: write_into_a_view(x),
    "custom": lambda x: Cube.apply(Cube.apply(x)),
    "constants": lambda x: (x * np.array([1.0, 2.0, 3.0]) * 2.0) ** pb.tensor([2.0, 3.0, 4.0]),
}


def write_into_a_view(x):
    y = x * x
    y[1:] *= x[:2]
    y[0].mul_(x[2])
    return y * y


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_of_every_order_go_through_what_was_packed(program):
    x = leaf(0.5, 0.25, 0.75)

    def derivatives():
        results, value = [], program(x).sum()
        for order in range(3):
            (value,) = pb.autograd.grad(value, x, create_graph=order < 2)
            results.append(value.detach().numpy())
            value = value.sum()
        return results

    expected = derivatives()
    with saved_tensors_hooks(to_array, pb.from_numpy):
        inside = derivatives()
    np.testing.assert_allclose(inside, expected, rtol=1e-14)
    with saved_tensors_hooks(to_array, pb.from_numpy):
        value = program(x).sum()
    (first,) = pb.autograd.grad(value, x, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), expected[0], rtol=1e-14)
    np.testing.assert_allclose(pb.autograd.grad(first.sum(), x)[0].numpy(), expected[1], rtol=1e-14)


def test_hooks_see_an_input_itself_an_output_detached_and_an_array_as_a_tensor():
    x, seen = leaf(), []
    with saved_tensors_hooks(lambda t: seen.append(t) or t, same):
        y = x * 2
        z = y * x
        z.exp()
        x * np.ones(3)
    assert {id(t) for t in seen[:2]} == {id(x), id(y)}
    output, array = seen[2], seen[3]
    assert output.grad_fn is None
    assert not output.requires_grad
    assert isinstance(array, pb.Tensor)
    assert array.tolist() == [1.0, 1.0, 1.0]
    assert len(seen) == 4  # numbers are no tensors


def test_a_tensor_saved_twice_is_packed_twice_and_what_no_gradient_needs_not_at_all():
    x, packed = leaf(), []
    with saved_tensors_hooks(lambda t: packed.append(t) or t, same):
        x * x
        assert len(packed) == 2
        x + x
        x.detach() * x.detach()
        with pb.no_grad():
            x * x
    assert len(packed) == 2


def test_a_hook_runs_without_recording_and_unpacks_with_it_only_for_a_second_derivative():
    x, modes = leaf(), []
    with saved_tensors_hooks(
        lambda t: modes.append(("pack", pb.is_grad_enabled())) or t,
        lambda t: modes.append(("unpack", pb.is_grad_enabled())) or t,
    ):
        y = x.exp().sum()
    y.backward(retain_graph=True)
    pb.autograd.grad(y, x, create_graph=True)
    assert modes == [("pack", False), ("unpack", False), ("unpack", True)]


def test_operators_inside_hooks_are_not_packed_themselves():
    x, w, calls = leaf(), leaf(), []

    def pack(tensor):
        calls.append(tensor)
        return tensor + (w * w).detach() - (w * w).detach()

    with saved_tensors_hooks(pack, same):
        x * x
    assert len(calls) == 2


def test_the_unpack_hook_runs_each_time_the_tensor_is_asked_for():
    x, count = leaf(), []
    with saved_tensors_hooks(same, lambda t: count.append(1) or t):
        y = x.sin().sum()
    sine = y.grad_fn.next_functions[0][0]
    for asked in (1, 2):
        y.backward(retain_graph=True)
        assert len(count) == asked
    assert sine._saved_self.tolist() == x.tolist()
    assert len(count) == 3


def test_what_is_unpacked_stands_in_the_place_of_the_original():
    # As in PyTorch: values from the hook, history of the original.
    x = leaf(2.0)
    with saved_tensors_hooks(same, lambda t: (t * 3).detach()):
        y = x * x
    (first,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [12.0]
    assert pb.autograd.grad(first.sum(), x)[0].tolist() == [2.0]
    saved = y.grad_fn._saved_self
    assert saved.is_leaf is False or saved.grad_fn.name() == "AccumulateGrad"
    assert saved.requires_grad


def test_an_output_without_gradient_comes_back_without_one():
    x, kept = leaf(3.0, 1.0, 2.0), []
    with saved_tensors_hooks(lambda t: kept.append(t.clone()), lambda nothing: kept[0]):
        values, _ = pb.sort(x)
    indices = values.grad_fn._saved_indices
    assert indices.tolist() == [1, 2, 0]
    assert indices.grad_fn is None
    values[0].backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_of_nested_contexts_the_innermost_is_in_force():
    x, seen = leaf(), []
    with saved_tensors_hooks(lambda t: seen.append("outer") or t, same):
        with saved_tensors_hooks(lambda t: seen.append("inner") or t, same):
            x.sin()
        x.sin()
        with pb.enable_grad(), saved_tensors_hooks(lambda t: seen.append("second") or t, same):
            x.sin()
    x.sin()
    assert seen == ["inner", "outer", "second"]


def test_hooks_belong_to_their_thread():
    x, seen = leaf(), []
    with saved_tensors_hooks(lambda t: seen.append(1) or t, same):
        thread = threading.Thread(target=lambda: x.sin())
        thread.start()
        thread.join()
    assert seen == []


def test_hooks_of_a_backward_pack_what_the_backward_records():
    x, seen = leaf(2.0), []
    y = (x * x * x).sum()
    with saved_tensors_hooks(lambda t: seen.append(1) or t, same):
        pb.autograd.grad(y, x, retain_graph=True)
        assert seen == []
        (first,) = pb.autograd.grad(y, x, create_graph=True)
    assert seen
    assert pb.autograd.grad(first.sum(), x)[0].tolist() == [12.0]


def test_as_a_decorator():
    x, seen = leaf(), []
    f = saved_tensors_hooks(lambda t: seen.append(1) or t, same)(lambda: x.sin())
    f()
    f()
    x.sin()
    assert len(seen) == 2


def test_under_transforms_every_level_is_packed():
    packed = []

    def pack(t):
        packed.append(t)
        return t.detach() * 1

    a = np.array([0.3, 0.7])
    with saved_tensors_hooks(pack, same):
        first = pb.func.grad(lambda x: pb.sum(x.exp() * x))(a)
        second = pb.func.grad(lambda x: pb.sum(pb.func.grad(lambda y: pb.sum(y.exp() * y))(x)))(a)
    np.testing.assert_allclose(first, np.exp(a) * (1 + a))
    np.testing.assert_allclose(second, np.exp(a) * (2 + a))
    assert packed


# -- mistakes ----------------------------------------------------------------------------------------------------


def test_hooks_must_be_callable():
    with pytest.raises(TypeError, match="pack_hook must be callable, got int"):
        saved_tensors_hooks(1, same)
    with pytest.raises(TypeError, match="unpack_hook must be callable, got NoneType"):
        saved_tensors_hooks(same, None)


@pytest.mark.parametrize("write", [lambda t: t.mul_(2), lambda t: t.detach().add_(1), lambda t: t.zero_()])
@pytest.mark.parametrize("program", [lambda x: x.exp(), lambda x: x * x, lambda x: x.clone().sin()])
def test_a_pack_hook_must_not_write_into_its_input(program, write):
    x = leaf()
    with (
        saved_tensors_hooks(write, same),
        pytest.raises(RuntimeError, match=r"pack hook is modifying its input in place.*clone\(\)"),
    ):
        program(x)


def test_an_unpack_hook_must_return_a_tensor():
    x = leaf()
    with saved_tensors_hooks(to_array, same):
        y = x.sin().sum()
    with pytest.raises(TypeError, match=r"unpack hook gave SinBackward0 an ndarray.*from_numpy"):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("unpack", "found"),
    [
        (lambda t: t[:2], r"shape \(2,\) and dtype float64"),
        (lambda t: t.to(pb.float32), r"shape \(3,\) and dtype float32"),
    ],
)
def test_an_unpack_hook_must_give_back_shape_and_dtype(unpack, found):
    x = leaf()
    with saved_tensors_hooks(same, unpack):
        y = x.sin().sum()
    with pytest.raises(RuntimeError, match=rf"unpack hook gave SinBackward0 a Tensor of {found}.*packed with shape"):
        y.backward()
    with pytest.raises(RuntimeError, match="unpack hook gave SinBackward0"):
        pb.autograd.grad(y, x, create_graph=True)


def test_hooks_that_raise_leave_everything_usable():
    x = leaf()

    def failing(_):
        raise ZeroDivisionError("from the hook")

    with saved_tensors_hooks(failing, same), pytest.raises(ZeroDivisionError, match="from the hook"):
        x.sin()
    assert pb.is_grad_enabled()
    with saved_tensors_hooks(same, failing):
        y = x.sin().sum()
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert x.grad is None
    assert pb.is_grad_enabled()
    x.sin().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(x.tolist()))


def test_memory_that_hooks_keep_is_still_checked_and_a_copy_is_what_was_packed():
    x = leaf()
    for pack, unpack in ((same, same), (lambda t: t.detach(), same)):
        with saved_tensors_hooks(pack, unpack):
            y = x * 1
            z = (y * y).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match=r"MulBackward0 saved .*at version 0, but add_ has modified it"):
            z.backward()
    with saved_tensors_hooks(lambda t: t.clone(), same):
        y = x * 1
        z = (y * y).sum()
    y.add_(1)
    z.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("transform", ["grad", "jacobian", "vjp"])
def test_memory_that_hooks_keep_is_checked_in_a_derivative_of_the_gradient_too(transform):
    w, p = (pb.tensor(x, requires_grad=True) for x in ([2.0, 3.0], [1.0, 1.0]))
    c = w * 1.0

    def f(p):
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            return (p * c * c).sum()

    if transform == "grad":
        (found,) = pb.autograd.grad(f(p), p, create_graph=True)
    elif transform == "jacobian":
        found = pb.autograd.functional.jacobian(f, p, create_graph=True)
    else:
        found = pb.autograd.functional.vjp(f, p, create_graph=True)[1]
    assert pb.autograd.grad(found.sum(), w, retain_graph=True)[0].tolist() == [4.0, 6.0]
    c.mul_(10.0)
    with pytest.raises(RuntimeError, match="mul_ has modified it"):
        pb.autograd.grad(found.sum(), w)


def test_a_second_backward_says_that_what_was_packed_is_gone():
    x = leaf()
    with saved_tensors_hooks(to_array, pb.from_numpy):
        y = (x * Cube.apply(x)).sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()
    with pytest.raises(RuntimeError, match=r"second time .*MulBackward0 has already released"):
        y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        node._saved_self


# -- memory ------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_garbage_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collector")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_original_lives_only_as_long_as_the_user_wants_it(program):
    x = leaf(0.5, 0.25, 0.75)
    originals = []

    def pack(tensor):
        if tensor is not x:  # a leaf is kept by its AccumulateGrad
            originals.append(weakref.ref(tensor._array))
        return to_array(tensor)

    with saved_tensors_hooks(pack, pb.from_numpy):
        y = program(x).sum()
    constants = ("constants",)
    if program is not PROGRAMS[constants[0]]:
        assert originals
    assert [r() for r in originals if r() is not None] == []
    y.backward()


@pytest.mark.usefixtures("no_garbage_collector")
@pytest.mark.parametrize("ends", ["drop", "backward", "retain", "create_graph"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_reference_counting_frees_hooks_graph_and_packed_things(program, ends):
    x = leaf(0.5, 0.25, 0.75)

    class Box:
        def __init__(self, tensor):
            self.tensor = tensor  # an output kept as it is makes no cycle either

    boxes = []

    def pack(tensor):
        box = Box(tensor)
        boxes.append(weakref.ref(box))
        return box

    hooks = saved_tensors_hooks(pack, lambda box: box.tensor)
    with hooks:
        y = program(x).sum()
    gone = [weakref.ref(hooks), weakref.ref(y.grad_fn)]
    if ends == "backward":
        y.backward()
    elif ends == "retain":
        y.backward(retain_graph=True)
    elif ends == "create_graph":
        (g,) = pb.autograd.grad(y, x, create_graph=True)
        del g
    del hooks, y
    assert [r() for r in (*gone, *boxes) if r() is not None] == []


# -- save_on_cpu and disable_saved_tensors_hooks -----------------------------------------------------------------


def test_save_on_cpu_computes_the_same():
    x = leaf()
    with save_on_cpu():
        y = (x * x).exp().sum()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() * np.exp(np.square(x.tolist())))


def test_save_on_cpu_still_notices_writing():
    # What is on the CPU already is kept without a copy.
    x = leaf()
    with save_on_cpu():
        y = x * 1
        z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="add_ has modified it"):
        z.backward()


def test_save_on_cpu_refuses_what_numpy_cannot():
    with pytest.raises(RuntimeError, match=r"cannot be pinned; leave pin_memory=False"):
        save_on_cpu(pin_memory=True)
    with pytest.raises(RuntimeError, match=r"'cuda' is not available"):
        save_on_cpu(device_type="cuda")


def test_disabled_hooks_raise_the_message_on_entering():
    x = leaf()
    with disable_saved_tensors_hooks("not in here"):
        x.sin()
        with pytest.raises(RuntimeError, match="not in here"):
            saved_tensors_hooks(same, same).__enter__()
        with disable_saved_tensors_hooks("nor here"), pytest.raises(RuntimeError, match="here"), save_on_cpu():
            pass
    with save_on_cpu():
        pass


def test_disabling_where_hooks_are_in_force_raises():
    with save_on_cpu(), pytest.raises(RuntimeError, match="too late"), disable_saved_tensors_hooks("too late"):
        pass


PAIRS = [
    (lambda t: t.detach(), lambda t: t),
    (lambda t: t.detach().clone(), lambda t: t),
    (lambda t: t.detach().numpy().copy(), pb.from_numpy),
    (lambda t: t.clone(), lambda t: t),
]


@pytest.mark.parametrize("around_all", [True, False])
@pytest.mark.parametrize("transforms", ["gg", "gj", "jg", "ggg", "gjg", "jgg"])
@pytest.mark.parametrize(("pack", "unpack"), PAIRS)
def test_hooks_that_detach_lose_nothing_of_the_transforms_around(pack, unpack, transforms, around_all):
    def f(x):
        return (x.exp() * x.sin() * x / x.sqrt()).sum()

    def packed(function):
        def call(x):
            with saved_tensors_hooks(pack, unpack):
                return function(x)

        return call

    def nested(function):
        for kind in reversed(transforms):
            function = DERIVATIVES[kind](function)
        return function

    x = pb.tensor([0.5, 2.0])
    result = packed(nested(f))(x) if around_all else nested(packed(f))(x)
    assert np.allclose(np.asarray(result), np.asarray(nested(f)(x)))


DERIVATIVES = {
    "g": lambda f: lambda x: (pb.func.grad(f)(x) * x).sum(),
    "j": lambda f: lambda x: pb.func.jvp(f, (x,), (pb.ones_like(x),))[1],
}


@pytest.mark.parametrize("detaches", [True, False])
def test_hooks_meet_a_function_that_saves_one_of_several_results(detaches):
    class Both(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.sin(), x.exp()
            ctx.save_for_backward(out[1], x)
            return out

        @staticmethod
        def backward(ctx, a, b):
            exp, x = ctx.saved_tensors
            return a * x.cos() + b * exp

    x = pb.tensor([0.5, 2.0], requires_grad=True)
    with saved_tensors_hooks(lambda t: t.detach() if detaches else t, lambda t: t):
        (once,) = pb.autograd.grad(sum(Both.apply(x)).sum(), x, create_graph=True)
    (twice,) = pb.autograd.grad(once.sum(), x)
    assert np.allclose(twice.detach(), np.exp([0.5, 2.0]) - np.sin([0.5, 2.0]))


@pytest.mark.parametrize(("pack", "unpack"), PAIRS)
def test_tangents_come_back_from_hooks_that_detach(pack, unpack):
    x, v = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([1.0, 0.0])
    with forward_ad.dual_level():
        outer = forward_ad.make_dual(x, v)
        with saved_tensors_hooks(pack, unpack):
            (gradient,) = pb.autograd.grad((outer**3).sum(), x)
        assert forward_ad.unpack_dual(gradient).tangent.tolist() == [6, 0]
        with forward_ad.dual_level():
            inner = forward_ad.make_dual(outer, v)
            with saved_tensors_hooks(pack, unpack):
                (gradient,) = pb.autograd.grad((inner**3).sum(), x)
            second = forward_ad.unpack_dual(gradient).tangent
        assert second.detach().tolist() == [6, 0]
        assert forward_ad.unpack_dual(second).tangent.tolist() == [6, 0]
