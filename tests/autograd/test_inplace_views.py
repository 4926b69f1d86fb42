"""In-place operators that make a tensor another view of its memory: squeeze_, t_, as_strided_; zero_ and fill_ too."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb

pytestmark = pytest.mark.usefixtures("both_paths")

X = np.arange(6.0).reshape(2, 3)
CHANGES = {
    "t_": (lambda y: y.t_(), (3, 2)),
    "transpose_": (lambda y: y.transpose_(0, 1), (3, 2)),
    "swapaxes_": (lambda y: y.swapaxes_(0, 1), (3, 2)),
    "swapdims_": (lambda y: y.swapdims_(0, 1), (3, 2)),
    "unsqueeze_": (lambda y: y.unsqueeze_(1), (2, 1, 3)),
    "squeeze_": (lambda y: y.unsqueeze_(1).squeeze_(), (2, 3)),
    "squeeze_ of a dim": (lambda y: y.unsqueeze_(0).squeeze_(0), (2, 3)),
    "as_strided_": (lambda y: y.as_strided_((2, 2), (3, 1), 1), (2, 2)),
}


def leaf():
    return pb.tensor(X, requires_grad=True)


def weights(t):
    return pb.from_numpy(np.arange(1.0, t.numel() + 1).reshape(t.shape))


@pytest.mark.parametrize(("change", "shape"), CHANGES.values(), ids=CHANGES)
def test_the_tensor_itself_changes_and_its_memory_does_not(change, shape):
    x = pb.tensor(X)
    memory, version = x.numpy(), x._version
    assert change(x) is x
    assert x.shape == shape
    assert np.shares_memory(x.numpy(), memory)
    assert x._version > version


@pytest.mark.parametrize(("change", "shape"), CHANGES.values(), ids=CHANGES)
def test_gradients_find_their_way(change, shape):
    x = leaf()
    y = x * 2
    change(y)
    (y * y * weights(y)).sum().backward()
    z = pb.tensor(X, requires_grad=True)
    out = change((z * 2).clone())
    (expected,) = pb.autograd.grad((out * out * weights(out)).sum(), z)
    assert np.allclose(x.grad.numpy(), expected.numpy())
    assert x.grad.shape == X.shape


def test_nodes_are_those_of_the_operators():
    y = leaf() * 2
    assert y.unsqueeze_(0).grad_fn.name() == "UnsqueezeBackward0"
    assert y.transpose_(0, 1).grad_fn.name() == "TransposeBackward0"


def test_a_view_changes_alone():
    x = leaf()
    base = x * 2
    view = base[:, :2]
    view.t_()
    assert (base.shape, view.shape) == ((2, 3), (2, 2))
    (view * weights(view)).sum().backward()
    assert x.grad.tolist() == [[2, 6, 0], [4, 8, 0]]


def test_a_changed_view_still_writes_into_its_base(both_paths):
    x = leaf()
    base = x * 2
    view = base[:, :2]
    view.t_().mul_(weights(view))
    assert view.grad_fn.name() == {"geometry": "AsStridedBackward0", "replay": "TBackward0"}[both_paths]
    base.sum().backward()
    assert x.grad.tolist() == [[2, 6, 2], [4, 8, 2]]


def test_views_follow_a_base_that_changes():
    x = leaf()
    base = x * 2
    view = base[0]
    base.t_()
    view.mul_(3)
    (base * pb.from_numpy(np.arange(6.0).reshape(3, 2))).sum().backward()
    assert x.grad.tolist() == [[0, 12, 24], [2, 6, 10]]  # as PyTorch's


def test_a_view_of_a_base_that_does_not_require_grad_yet():
    base, w = pb.zeros(2, 2), pb.tensor(3.0, requires_grad=True)
    view = base[0]
    view.unsqueeze_(0)
    base.mul_(0).add_(w)
    assert view.requires_grad
    view.sum().backward()
    assert w.grad.item() == 2


def test_what_saved_it_notices():
    for other in (lambda y: y.sin(), lambda y: y * y, lambda y: y[0].sin()):
        y = leaf() * 1
        z = other(y)
        y.unsqueeze_(0)
        with pytest.raises(RuntimeError, match="unsqueeze_ has modified it"):
            z.sum().backward()
    y = leaf().exp()
    y.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="ExpBackward0 saved 'result'"):
        y.sum().backward()


def test_a_retained_gradient_has_the_new_shape():
    y = leaf() * 2
    y.retain_grad()
    y.t_()
    (y * weights(y)).sum().backward()
    assert np.array_equal(y.grad.numpy(), weights(y).numpy())


def test_a_leaf_that_requires_grad_is_refused():
    x = leaf()
    for change in (lambda: x.t_(), lambda: x[0].unsqueeze_(0)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            change()
    assert x.shape == (2, 3)


def test_a_leaf_may_change_under_no_grad_while_nothing_has_its_old_shape():
    x = leaf()
    with pb.no_grad():
        x.t_()
    (x * weights(x)).sum().backward()
    assert np.array_equal(x.grad.numpy(), weights(x).numpy())
    with pb.no_grad(), pytest.raises(RuntimeError, match=r"\.grad has the old shape"):
        x.t_()
    x.grad = None
    y = x * 2
    with pb.no_grad(), pytest.raises(RuntimeError, match="graph recorded before leads to it"):
        x.t_()
    del y
    with pb.no_grad():
        assert x.t_().shape == (2, 3)


@pytest.mark.parametrize("mode", [pb.no_grad, pb.inference_mode])
def test_the_new_shape_of_a_result_is_recorded_in_every_mode(mode):
    x = leaf()
    y = x * 2
    with mode():
        assert y.t_().grad_fn.name() == "TBackward0"
        assert y.unsqueeze_(0).shape == (1, 3, 2)
        assert not y.is_inference()
    (y[0] * weights(x).T).sum().backward()
    assert np.array_equal(x.grad.numpy(), 2 * weights(x).numpy())


def test_bad_arguments_change_nothing():
    y = leaf() * 2
    with pytest.raises(IndexError):
        y.unsqueeze_(5)
    with pytest.raises(RuntimeError):
        y.unsqueeze(0).t_()
    with pytest.raises(RuntimeError):
        y.as_strided_((9,), (1,))
    assert (y.shape, y._version, y.grad_fn.name()) == ((2, 3), 0, "MulBackward0")


def test_inside_functions_being_differentiated():
    def f(x):
        y = x * x
        return np.sum(y.t_() * np.arange(6.0).reshape(3, 2))

    assert np.allclose(pb.func.grad(f)(X), 2 * X * np.arange(6.0).reshape(3, 2).T)
    second = pb.func.grad(lambda x: np.sum(pb.func.grad(f)(x) ** 2))(X)
    assert np.allclose(second, 8 * X * np.arange(6.0).reshape(3, 2).T ** 2)


def test_zero_and_fill():
    x, w = leaf(), pb.tensor(3.0, requires_grad=True)
    y = x * 2
    assert y.fill_(w) is y
    (y * weights(y)).sum().backward()
    assert x.grad.tolist() == [[0] * 3] * 2
    assert w.grad.item() == 21
    x.grad.zero_()
    z = x * 2
    z.zero_().add_(x)
    z.sum().backward()
    assert x.grad.tolist() == [[1] * 3] * 2
    assert pb.zeros(2, dtype=pb.int64).fill_(2.5).tolist() == [2, 2]
    assert pb.zeros(2, dtype=pb.bool).fill_(2).tolist() == [True, True]
    x.grad.fill(7)  # NumPy's name
    assert x.grad.tolist() == [[7] * 3] * 2


def test_zero_and_fill_on_views_and_leaves():
    x = leaf()
    with pb.no_grad():
        x[0].zero_()
        x[1].fill_(4)
    assert x.tolist() == [[0, 0, 0], [4, 4, 4]]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.zero_()
    y = x * 2
    y[0].fill_(5)
    y.sum().backward()
    assert x.grad.tolist() == [[0] * 3, [2] * 3]


def test_no_integer_tensor_comes_to_require_grad():
    w = pb.tensor(2.5, requires_grad=True)
    target = pb.zeros(3, dtype=pb.int64)
    writes = (
        lambda: target.copy_(w),
        lambda: target.fill_(w),
        lambda: target.masked_fill_(pb.tensor([True, False, True]), w),
        lambda: target[1:].copy_(w),
    )
    for write in writes:
        write()
        assert target.tolist()[2] == 2
        assert not target.requires_grad
        assert target.grad_fn is None
        target.zero_()


# -- a base that was taken out of the graph in place -----------------------------------------------------------------


@pytest.mark.parametrize("leave", [lambda x: x.detach_(), lambda x: x.requires_grad_(False)])
def test_a_recorded_view_of_a_leaf_that_left_the_graph_is_not_written_into(leave):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    view = x[:1]
    leave(x)
    with pytest.raises(RuntimeError, match=r"mul_: a view of a leaf.*before detach_\(\) or requires_grad_\(False\)"):
        view.mul_(2)
    assert x.tolist() == [1, 2]
    with pb.no_grad():
        view.mul_(2)
    assert x.tolist() == [2, 2]


def test_a_view_is_a_constant_once_its_detached_base_was_written_into():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    view = y[:]
    y.detach_()
    assert view.requires_grad  # its values are still those that were recorded
    y[0] = 5.0
    loss = (view * view).sum() + x.sum()
    loss.backward()
    assert x.grad.tolist() == [1, 1]
    assert not view.requires_grad
    assert view.grad_fn is None


def test_one_of_several_views_of_a_detached_base_raises_once_that_was_written_into():
    y = pb.tensor([1.0, 2.0], requires_grad=True) * 3
    a, _ = y.unbind()
    y.detach_()
    y.zero_()
    with pytest.raises(RuntimeError, match=r"Output 0 of unbind is a view .* returns multiple views"):
        a * 2


def test_a_leaf_that_became_another_tensor_has_no_grad_to_add_to():
    x, w = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor(1.0, requires_grad=True)
    y = x + w
    x.detach_()
    x.mul_(y.sum())
    with pytest.raises(RuntimeError, match=r"moved into the graph interior.*it comes from MulBackward0 now"):
        x.sum().backward()
    assert w.grad is None


def test_a_saved_tensor_that_was_detached_cannot_be_differentiated_again():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = (y * x).sum()
    y.detach_()
    (first,) = pb.autograd.grad(z, x, retain_graph=True)
    assert first.tolist() == [3.0, 12.0]
    with pytest.raises(
        RuntimeError, match=r"MulBackward0 saved 'self'.*detach_\(\) has taken out of its graph.*detach\(\)"
    ):
        pb.autograd.grad(z, x, create_graph=True)
    (again,) = pb.autograd.grad((y * x).sum(), x, create_graph=True)  # recorded after it: y is a constant there
    assert again.tolist() == [1.0, 4.0]


# -- views that are behind their base when it leaves -------------------------------------------------------------


def _leave_by_data(y):
    y.data = pb.tensor([0.0, 0.0])


LEAVING = [lambda y: y.detach_(), lambda y: y.detach_().requires_grad_(), _leave_by_data]


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("more", [False, True], ids=["one view", "two views"])
def test_a_view_that_was_written_into_keeps_its_gradient_when_its_base_leaves(leave, more):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    v, w = y[:], y[:1]
    v.mul_(3)
    if more:
        w.mul_(2)
    leave(y)
    assert v.grad_fn is not None
    (v.sum() + x.sum()).backward()
    assert x.grad.tolist() == ([7, 4] if more else [4, 4])


@pytest.mark.parametrize("leave", LEAVING)
def test_a_view_that_is_behind_a_base_that_left_raises(leave):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    v = y[:]
    y.mul_(3)
    leave(y)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"cannot be traced back to its base.*detach_\(\).*Use y\.detach\(\)"):
            v + x
    assert v.detach().tolist() == [3, 6]
    assert y[:].tolist() == y.tolist()  # what is made now is well


def test_a_view_of_what_came_to_require_grad_keeps_its_gradient_when_its_base_leaves():
    x, y = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([1.0, 1.0])
    v = y[:]
    v.mul_(x)
    y.detach_()
    (v * v).sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_a_view_that_was_written_into_keeps_its_gradient_when_it_gets_other_memory():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    v = y[:]
    v.mul_(3)
    v.data = pb.tensor([0.0, 0.0])
    v.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_base_that_leaves_keeps_nothing_of_its_graph_alive():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y[:1].mul_(3)
    node = weakref.ref(y.grad_fn)
    y.detach_()
    gc.collect()
    assert node() is None


# -- hooks of a tensor that leaves -------------------------------------------------------------------------------


def test_hooks_stay_with_a_tensor_that_becomes_a_leaf():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    first, second = y.register_hook(lambda grad: grad * 3), y.register_hook(lambda grad: grad + 1)
    before = y * 5
    y.detach_()
    y.requires_grad_()
    y.register_hook(lambda grad: grad * 100)
    y.sum().backward()
    assert y.grad.tolist() == [400, 400]
    before.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [32, 32]  # of the function that it had, which the third hook is no part of
    first.remove()
    y.grad = x.grad = None
    y.sum().backward()
    before.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([200, 200], [12, 12])
    second.remove()
    y.grad = None
    y.sum().backward()
    assert y.grad.tolist() == [100, 100]


@pytest.mark.parametrize(
    "change", [lambda v: v.t_(), lambda v: v.unsqueeze_(0), lambda v: v.as_strided_((2, 1), (1, 1), 1)]
)
def test_a_view_that_changed_its_shape_under_no_grad_has_the_gradient_of_what_it_shows(change):
    x = pb.arange(6.0).reshape(2, 3).requires_grad_()
    base = x * 1
    view = base.view_as(base)
    with pb.no_grad():
        change(view)
    weights = pb.arange(float(view.numel())).reshape(view.shape)
    expected = pb.zeros(2, 3)
    change(expected[:]).add_(weights)
    assert (pb.autograd.grad((view * weights).sum(), x, retain_graph=True)[0] == expected).all()
    view.mul_(2)
    (base.sum()).backward()
    touched = pb.ones(2, 3)
    change(touched[:]).mul_(2)
    assert (x.grad == touched).all()


def test_a_view_of_several_is_refused_as_one_before_its_base_is_looked_at():
    x = pb.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
        x.unbind(0)[0].add_(1)
