"""What nodes save: looking at it, hooks for one saved tensor, and writing into what was saved."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_hooks


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


@pytest.fixture
def no_garbage_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Square(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y, None)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, _, _ = ctx.saved_tensors
        return 2 * x * grad


# -- _saved_ and _raw_saved_ -------------------------------------------------------------------------------------


def test_saved_tensors_are_shown_with_their_place_in_the_graph():
    x = leaf()
    y = x * 2
    z = y * x
    assert z.grad_fn._saved_other is x
    assert z.grad_fn._saved_self.grad_fn is y.grad_fn
    e = x.exp()
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn
    assert e.grad_fn._saved_result.tolist() == e.tolist()
    assert (x * 2).grad_fn._saved_other == 2
    assert Square.apply(x).grad_fn.saved_tensors[0] is x


def test_nothing_is_shown_under_other_names():
    node = leaf().exp().grad_fn
    for name in ("_saved_input", "_raw_saved_input", "_saved_", "saved"):
        with pytest.raises(AttributeError, match=f"'ExpBackward0' object has no attribute {name!r}"):
            getattr(node, name)


def test_looking_is_checked_like_a_backward():
    x = leaf()
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"MulBackward0 saved .* but add_ has modified it since"):
        z.grad_fn._saved_self
    z = x * x
    z.sum().backward()
    with pytest.raises(RuntimeError, match=r"a second time .*MulBackward0 has already released"):
        z.grad_fn._saved_self


@pytest.mark.usefixtures("no_garbage_collector")
def test_looking_makes_no_cycle():
    x = leaf()
    y = x.exp()
    node = y.grad_fn
    node._saved_result
    node._raw_saved_result
    gone = weakref.ref(node)
    del y, node
    assert gone() is None


def test_hooks_for_one_saved_tensor():
    x = leaf()
    y = x * x
    seen = []
    y.grad_fn._raw_saved_self.register_hooks(lambda t: seen.append(t is x) or t, lambda t: t * 3)
    assert seen == [True]
    assert y.grad_fn._saved_self.tolist() == [3.0, 6.0, 9.0]
    assert y.grad_fn._saved_other.tolist() == [1.0, 2.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 8.0, 12.0]


def test_hooks_for_one_saved_output_let_it_be_written_into():
    x = leaf()
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t.clone(), lambda t: t)
    expected = y.tolist()
    y.mul_(2)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array(expected))


def test_hooks_for_what_a_custom_function_saved():
    x = leaf()
    y = Square.apply(x)
    saved, result, nothing = y.grad_fn._raw_saved_tensors
    saved.register_hooks(lambda t: t, lambda t: t * 10)
    result.register_hooks(lambda t: t, lambda t: t)
    assert y.grad_fn.saved_tensors[1].grad_fn is y.grad_fn
    with pytest.raises(RuntimeError, match="saved 'tensors' as None; hooks can be set for a saved tensor alone"):
        nothing.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 40.0, 60.0]


def test_hooks_for_one_saved_tensor_are_refused_where_there_is_none_or_a_pair_already():
    x = leaf()
    pair = (lambda t: t, lambda t: t)
    y = x * 2
    with pytest.raises(RuntimeError, match="saved 'other' as 2; hooks can be set for a saved tensor alone"):
        y.grad_fn._raw_saved_other.register_hooks(*pair)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(*pair)
    with pytest.raises(RuntimeError, match="'self' has hooks already"):
        y.grad_fn._raw_saved_self.register_hooks(*pair)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_other.register_hooks(lambda t: t, 3)
    with pytest.raises(RuntimeError, match="pack hook is modifying its input"):
        y.grad_fn._raw_saved_other.register_hooks(lambda t: t.detach().add_(1), lambda t: t)
    with saved_tensors_hooks(*pair):
        z = x * x
    with pytest.raises(RuntimeError, match="'self' has hooks already"):
        z.grad_fn._raw_saved_self.register_hooks(*pair)
    z.sum().backward()
    with pytest.raises(RuntimeError, match=r"second time .*MulBackward0"):
        z.grad_fn._raw_saved_self.register_hooks(*pair)


# -- allow_mutation_on_saved_tensors -----------------------------------------------------------------------------


def mutate_once(x):
    y = x.clone()
    out = (y**2).sum()
    y.sin_()
    return out


def mutate_several_times(x):
    y = x.clone()
    total = (y * y).sum()
    for _ in range(3):
        y.mul_(x)
        total = total + (y * y * y).sum()
        y.add_(1.0)
    return total


def mutate_through_a_view(x):
    y = x.clone()
    out = (y**2).sum()
    y[1:].mul_(3.0)
    return out + y.sum()


def mutate_the_base_of_a_saved_view(x):
    y = x.clone()
    out = (y[:2] * y[1:]).sum()
    y.exp_()
    return out + y.sum()


def set_items(x):
    y = x.clone()
    out = y.exp() * y
    y[0] = x[1] * x[2]
    out = out + y * y
    y[[1, 2]] = 0.0
    return out.sum()


def mutate_a_saved_output(x):
    y = x.exp()
    z = y.tanh()
    y.mul_(2)
    z.zero_()
    return y.sum() + z.sum()


def save_the_same_version_twice(x):
    y = x.clone()
    out = (y * y + y.sin()).sum()
    y.fill_(0.0)
    return out


def write_to_out(x):
    y = pb.zeros(3)
    out = (x * y.add_(2.0)).sum()
    with pb.no_grad():
        pb.add(y, 5.0, out=y)
    return out


MUTATING = [
    mutate_once, mutate_several_times, mutate_through_a_view, mutate_the_base_of_a_saved_view, set_items,
    mutate_a_saved_output, save_the_same_version_twice, write_to_out,
]  # fmt: skip


@pytest.mark.parametrize("program", MUTATING, ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_values_when_saved(program):
    from pullback.autograd.gradcheck import gradcheck

    x = leaf(0.5, 0.7, 0.9)
    with allow_mutation_on_saved_tensors():
        assert gradcheck(program, (x,))
        (g,) = pb.autograd.grad(program(x), x, create_graph=True)
        if g.requires_grad:
            pb.autograd.grad(g.sum(), x)
    if program is not mutate_a_saved_output:
        with pytest.raises(RuntimeError, match="has modified it since"):
            program(x).backward()


def test_mutation_under_transforms():
    def f(x):
        y = x.clone()
        out = pb.sum(y**3)
        y.mul_(0.0)
        return out

    a = np.array([1.0, 2.0])
    with allow_mutation_on_saved_tensors():
        np.testing.assert_allclose(pb.func.grad(f)(a), 3 * a**2)
        np.testing.assert_allclose(pb.func.grad(lambda x: pb.sum(pb.func.grad(f)(x)))(a), 6 * a)


def test_only_what_is_written_into_is_copied():
    x = leaf()
    with allow_mutation_on_saved_tensors():
        y, z = x.clone(), x.clone()
        out = (y * y + z * z).sum()
        node_y, node_z = (edge[0] for edge in out.grad_fn.next_functions[0][0].next_functions)
        assert node_y._saved_self._array is y._array
        y.add_(1)
        assert node_y._saved_self._array is not y._array
        assert node_y._saved_self._array is node_y._saved_other._array  # one copy for both
        assert node_z._saved_self._array is z._array
        out.backward()


def test_backward_outside_and_nesting_are_refused():
    x = leaf()
    context = allow_mutation_on_saved_tensors()
    with context:
        y = (x.clone() ** 2).sum()
        with (
            pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"),
            allow_mutation_on_saved_tensors(),
        ):
            pass
    with pytest.raises(RuntimeError, match=r"outside of the allow_mutation_on_saved_tensors.*move the backward inside"):
        y.backward()
    with context, pytest.raises(RuntimeError, match="in which the graph was recorded"):  # a new one
        y.backward()


def test_as_a_decorator_it_is_a_context_for_each_call():
    @allow_mutation_on_saved_tensors()
    def step(x):
        y = x.clone()
        out = (y * y).sum()
        y.zero_()
        (g,) = pb.autograd.grad(out, x)
        return g.tolist()

    assert [step(leaf()), step(leaf())] == [[2.0, 4.0, 6.0]] * 2


@pytest.mark.usefixtures("no_garbage_collector")
def test_the_context_remembers_nothing_that_is_gone():
    x = leaf()
    context = allow_mutation_on_saved_tensors()
    with context:
        for _ in range(10):
            y = x.clone()
            out = (y * y).sum()
            y.zero_()
            (y * y.sin()).sum().backward()
            out.backward()
        assert (len(context._by_counter), len(context._handles)) == (0, 0)
        saved = weakref.ref((held := x.clone())._array)
        out = (held * held).sum()
        del held
        assert saved() is not None
    assert saved() is None
    gone = weakref.ref(context)
    del context, out, y
    assert gone() is None


def test_the_error_of_a_modified_tensor_says_how_to_find_the_lines():
    x = pb.tensor([3.0, 1.0], requires_grad=True)

    def loss():
        y = x * 1
        z = y * y
        y[0] = 0
        return z.sum()

    with pytest.raises(RuntimeError, match=r"pullback\.autograd\.detect_anomaly\(\) shows the lines"):
        loss().backward()
    with pb.autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"It was saved by\n") as caught:
        loss().backward()
    assert "detect_anomaly()" not in str(caught.value)


# -- indexes -----------------------------------------------------------------------------------------------------
ROWS = np.array([1, 1])
FORMS = {
    "list": lambda x: x[[1, 1]],
    "array and slice": lambda x: x[1:, ROWS],
    "mask": lambda x: x[x.numpy(force=True) > 2],
    "Tensor": lambda x: x[pb.tensor(ROWS)],
    "write": lambda x: written(x + 0, [0, 2], x[0]),
    "write into a view": lambda x: written(x + 0, [0, 2], 5.0, shown=lambda y: y[1:].T),
    "index_put": lambda x: x.index_put((pb.tensor(ROWS),), x[:2]),
}


def written(y, index, value, shown=lambda y: y):
    shown(y)[index] = value
    return y


def grid():
    return pb.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_second_backward_through_an_index_of_arrays_is_an_error(form):
    x = grid()
    y = form(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert (x.grad == 2 * first).all()
    with pytest.raises(pb.extend.BackwardTwiceError, match=r"(Index|Setitem|IndexPut)Backward0"):
        y.backward()
    with pytest.raises(pb.extend.BackwardTwiceError):
        pb.autograd.grad(y, x, create_graph=True)


@pytest.mark.parametrize("index", [1, np.int64(1), slice(1, None), (slice(None), 1), (..., None, 0), (1, 2)], ids=repr)
def test_backward_through_an_index_of_numbers_and_slices_may_run_again(index):
    x = grid()
    for y in (x[index], written(x + 0, index, 5.0)):
        x.grad = None
        y.sum().backward()
        first = x.grad.clone()
        y.sum().backward()
        assert (x.grad == 2 * first).all()


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_frees_the_memory_of_an_index(create_graph, no_garbage_collector):
    x = pb.ones(1000, requires_grad=True)
    read, wrote = x.exp()[np.arange(1000)], written(x + 0, np.arange(500), x[:500].exp())
    kept = [weakref.ref(y.grad_fn._saved_index) for y in (read, wrote)]
    loss = (read * wrote).sum()
    if create_graph:
        (grad,) = pb.autograd.grad(loss, x, create_graph=True)
        loss = loss + grad.sum()
        assert all(index() is not None for index in kept)
    loss.backward()
    assert [index() for index in kept] == [None, None]
    with pytest.raises(pb.extend.BackwardTwiceError):
        read.grad_fn._saved_index
    assert isinstance(x[1:].grad_fn._saved_index, slice)
    assert pb.autograd.graph.show_saved(x[1:].grad_fn, "index") == slice(1, None)


def test_index_that_a_mask_reads_after_the_release_is_remembered():
    x = pb.tensor([0.0, 4.0, 9.0], requires_grad=True)
    y = x.sqrt()[np.array([1, 2])].sum()  # at 0 the slope is infinite, and nothing touches it
    y.backward()
    assert x.grad.tolist() == pytest.approx([0.0, 0.25, 1 / 6])
