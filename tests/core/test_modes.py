"""Grad modes as context managers and decorators: nested, under exceptions, per thread, per asyncio task, per level."""

import asyncio
import threading

import pytest

import pullback as pb


def leaf():
    return pb.tensor([1.0, 2.0], requires_grad=True)


def recording():
    return pb.is_grad_enabled()


# -- blocks ----------------------------------------------------------------------------------------------------


def test_no_grad_records_nothing():
    x = leaf()
    assert recording()
    with pb.no_grad():
        assert not recording()
        y = x * 2
    assert recording()
    assert not y.requires_grad
    assert y.is_leaf
    assert (x * 2).requires_grad


def test_what_is_created_under_no_grad_may_require_grad():
    with pb.no_grad():
        w = pb.ones(2, requires_grad=True)
    assert w.requires_grad
    assert (w * 2).requires_grad


def test_enable_grad_records_within_no_grad():
    x = leaf()
    with pb.no_grad():
        with pb.enable_grad():
            y = x * 2
        z = x * 2
    assert y.requires_grad
    assert not z.requires_grad


def test_inference_mode_overrules_whoever_switches_recording_on():
    x = leaf()
    with pb.inference_mode():
        with pb.enable_grad():
            y = x * 2
        with pb.set_grad_enabled(True):
            z = x * 2
        pb.set_grad_enabled(True)
        assert not recording()
        with pb.inference_mode(False):
            w = x * 2
            assert recording()
    assert not y.requires_grad
    assert not z.requires_grad
    assert y.is_inference()
    assert w.requires_grad
    assert not w.is_inference()
    assert recording()


@pytest.mark.parametrize("mode", [True, False])
def test_set_grad_enabled_as_block_and_as_call(mode):
    with pb.no_grad():
        with pb.set_grad_enabled(mode):
            assert recording() is mode
        assert not recording()
        pb.set_grad_enabled(True)
        assert recording()
        pb.set_grad_enabled(False)
        assert not recording()
    assert recording()


def test_set_grad_enabled_takes_a_bool():
    with pytest.raises(TypeError, match="bool, got int"):
        pb.set_grad_enabled(1)
    assert recording()


def test_modes_come_back_after_an_exception():
    with pytest.raises(KeyError), pb.no_grad(), pb.enable_grad(), pb.no_grad():
        raise KeyError
    assert recording()


def test_one_object_can_be_entered_again_and_again():
    block = pb.no_grad()
    for _ in range(2):
        with block:
            with block:
                assert not recording()
            assert not recording()
        assert recording()


def test_one_object_may_serve_several_threads_at_once():
    block, inside, leave = pb.no_grad(), threading.Barrier(2), threading.Event()
    seen = {}

    def first():
        with block:
            inside.wait()
            leave.wait(5)
        seen["first"] = recording()

    def second():
        with pb.no_grad():
            inside.wait()
            with block:
                leave.set()
                worker.join(5)
            seen["within"] = recording()
        seen["second"] = recording()

    worker = threading.Thread(target=first)
    other = threading.Thread(target=second)
    worker.start()
    other.start()
    worker.join(5)
    other.join(5)
    assert seen == {"first": True, "within": False, "second": True}


def test_backward_works_under_no_grad():
    x = leaf()
    y = (x * x).sum()
    with pb.no_grad():
        y.backward()
    assert x.grad.tolist() == [2, 4]


# -- decorators ------------------------------------------------------------------------------------------------


OFF = pytest.mark.parametrize(  # made by a lambda: set_grad_enabled acts at once where it is called
    "make",
    [
        lambda: pb.no_grad(),
        lambda: pb.no_grad,
        lambda: pb.set_grad_enabled(False),
        lambda: pb.inference_mode(),
        lambda: pb.inference_mode,
    ],
)


@OFF
def test_decorated_functions_run_under_the_mode(make):
    @make()
    def function(a, *, b=1):
        """Its doc."""
        assert not recording()
        return a + b

    assert recording()
    assert function(1, b=2) == 3
    assert recording()
    assert (function.__name__, function.__doc__) == ("function", "Its doc.")


def test_decorating_does_not_switch_anything():
    pb.set_grad_enabled(False)(lambda: None)
    assert recording()


def test_decorated_functions_recurse_and_raise():
    @pb.no_grad()
    def countdown(n):
        assert not recording()
        if n == 0:
            raise KeyError
        countdown(n - 1)

    with pytest.raises(KeyError):
        countdown(5)
    assert recording()


def test_methods_can_be_decorated():
    class Model:
        @pb.no_grad()
        def predict(self, x):
            return x * 2

    assert not Model().predict(leaf()).requires_grad


@OFF
def test_classes_cannot_be_decorated(make):
    class Model:
        pass

    with pytest.raises(TypeError, match=r"Model.*methods"):
        make()(Model)
    assert recording()


def test_a_generator_has_the_mode_while_it_runs_and_not_while_it_waits():
    @pb.no_grad()
    def numbers():
        assert not recording()
        received = yield 1
        assert not recording()
        try:
            yield received
        except KeyError:
            assert not recording()
            yield "caught"
        return "end"

    generator = numbers()
    assert next(generator) == 1
    assert recording()
    assert generator.send(7) == 7
    assert recording()
    assert generator.throw(KeyError) == "caught"
    assert recording()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"
    assert recording()


def test_a_generator_is_closed_under_its_mode():
    seen = []

    @pb.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(recording())

    generator = numbers()
    next(generator)
    generator.close()
    assert seen == [False]
    assert recording()


def test_a_generator_that_raises_leaves_the_mode_alone():
    @pb.no_grad()
    def failing():
        yield 1
        raise KeyError

    generator = failing()
    next(generator)
    with pytest.raises(KeyError):
        next(generator)
    assert recording()


def test_a_coroutine_runs_under_the_mode():
    @pb.no_grad()
    async def work():
        assert not recording()
        await asyncio.sleep(0)
        return recording()

    async def main():
        result = await work()
        return result, recording()

    assert asyncio.run(main()) == (False, True)


def test_an_asynchronous_generator_runs_under_the_mode():
    @pb.no_grad()
    async def numbers():
        assert not recording()
        yield 1
        await asyncio.sleep(0)
        assert not recording()
        yield 2

    async def main():
        return [(n, recording()) async for n in numbers()]

    assert asyncio.run(main()) == [(1, True), (2, True)]


# -- threads, tasks, levels ------------------------------------------------------------------------------------


def test_a_mode_belongs_to_its_thread():
    seen = []
    with pb.no_grad():
        thread = threading.Thread(target=lambda: seen.append(recording()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_mode_belongs_to_its_asyncio_task():
    async def off(started, finish):
        with pb.no_grad():
            started.set()
            await finish.wait()
            assert not recording()

    async def on(started, finish):
        await started.wait()
        seen = recording()
        finish.set()
        return seen

    async def main():
        started, finish = asyncio.Event(), asyncio.Event()
        _, seen = await asyncio.gather(off(started, finish), on(started, finish))
        return seen

    assert asyncio.run(main()) is True


def test_no_grad_inside_a_transform_turns_off_that_level_alone():
    def f(x):
        with pb.no_grad():
            constant = x * x
        return constant * x

    assert pb.func.grad(f)(3.0) == 9.0  # d(c x) with c = 9
    outer = pb.tensor(3.0, requires_grad=True)
    gradient = pb.func.grad(f)(outer)  # x**2 as a function of the outer x
    gradient.backward()
    assert outer.grad.item() == 6.0


def test_a_transform_records_although_the_outside_does_not():
    with pb.no_grad():
        assert pb.func.grad(lambda x: x * x)(3.0) == 6.0
    with pb.inference_mode():
        assert pb.func.grad(lambda x: x * x)(3.0) == 6.0


# -- inference mode --------------------------------------------------------------------------------------------


def test_inference_mode_records_nothing_and_marks_its_results():
    x = leaf()
    assert not pb.is_inference_mode_enabled()
    with pb.inference_mode():
        assert pb.is_inference_mode_enabled()
        assert not recording()
        y = x * 2
        made = pb.ones(2)
        part = y[0:1]
    assert not pb.is_inference_mode_enabled()
    assert y.is_inference()
    assert made.is_inference()
    assert part.is_inference()
    assert not y.requires_grad
    assert not x.is_inference()
    assert not (x * 2).is_inference()


def test_inference_mode_can_be_left_for_a_block():
    x = leaf()
    with pb.inference_mode():
        with pb.inference_mode(False):
            y = x * 2
        assert pb.is_inference_mode_enabled()
    assert y.requires_grad
    assert not y.is_inference()
    with pb.inference_mode(mode=False):
        assert (x * 2).requires_grad


def test_an_inference_tensor_cannot_enter_a_graph_later():
    with pb.inference_mode():
        y = leaf() * 2
    with pytest.raises(RuntimeError, match=r"inference tensor.*clone\(\)"):
        y.requires_grad_()
    with pytest.raises(RuntimeError, match=r"inference tensor.*clone"):
        y.add_(1)
    assert y.tolist() == [2, 4]
    copied = y.clone()
    assert not copied.is_inference()
    copied.requires_grad_()
    (copied * 3).sum().backward()
    assert copied.grad.tolist() == [3, 3]


def test_inference_tensors_may_be_written_into_within_inference_mode():
    with pb.inference_mode():
        y = leaf() * 2
        y.add_(1)
        z = pb.ones(2)
        z[0] = 5
    assert y.tolist() == [3, 5]
    assert z.tolist() == [5, 1]


class Saves(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x, c):
        ctx.save_for_backward(c)
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None


@pytest.mark.parametrize(
    "call",
    [
        lambda x, c: x * c,
        lambda x, c: x @ c,
        lambda x, c: c.exp() * (x / c),
        lambda x, c: x * c[:],
        lambda x, c: pb.nn.functional.linear(x, c),
        lambda x, c: Saves.apply(x, c),
        lambda x, c: x.clone().mul_(c),
        lambda x, c: pb.autograd.grad(x * x, x, c, create_graph=True),
    ],
)
def test_an_inference_tensor_cannot_be_saved_by_a_node(call):
    with pb.inference_mode():
        c = pb.full((2,), 3.0)
    x = leaf()
    with pytest.raises(RuntimeError, match=r"Inference tensors cannot be saved for backward.*clone\(\)"):
        call(x, c)
    assert call(x, c.clone()) is not None


def test_a_refused_inference_tensor_leaves_the_target_as_it_was():
    y = leaf() * 1
    with pb.inference_mode():
        c = pb.full((2,), 3.0)
    for write in (y.mul_, y.div_):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
            write(c)
        assert (y.tolist(), y._version, y.grad_fn.name()) == ([1, 2], 0, "MulBackward0")


def test_an_inference_tensor_may_be_a_constant_where_no_node_saves_it():
    with pb.inference_mode():
        c = pb.full((2,), 3.0)
    x = leaf()
    y = (x + c).clone()
    y[0] = c[0]
    (y + pb.where(c > 0, x, c)).sum().backward(pb.tensor(1.0))
    assert x.grad.tolist() == [1, 2]


def test_transforms_take_inference_tensors():
    with pb.inference_mode():
        c = pb.tensor([3.0, 4.0])
    plain = c.clone()
    for transform in (pb.func.grad, pb.func.jacfwd, pb.func.hessian):
        for f in (lambda t: (t * t * t).sum(), lambda t: (t * c).exp().sum()):
            assert transform(f)(c).tolist() == transform(f)(plain).tolist()
            assert not transform(f)(c).is_inference()
    assert pb.vmap(lambda t: t * c)(pb.ones(3, 2)).tolist() == [[3, 4]] * 3


def test_a_transform_notices_a_write_into_an_inference_tensor():
    with pb.inference_mode():
        c = pb.tensor([3.0, 4.0])

        def f(t):
            y = (t * c).sum()
            c.add_(1)
            return y

        with pb.inference_mode(False), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            pb.func.grad(f)(pb.ones(2))
    assert c.tolist() == [3, 4]
    pull = pb.func.vjp(lambda t: (t * c).sum(), pb.ones(2))[1]
    with pb.inference_mode():
        c.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pull(pb.tensor(1.0))


def test_an_inference_tensor_has_no_version():
    x = leaf()
    with pb.inference_mode():
        c = pb.ones(2)
        for made in (c, c[0], c.detach(), x * 2, pb.asarray([1.0])):
            with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
                made._version
        assert x[0]._version == 0
    assert c.clone()._version == 0


def test_a_view_of_an_inference_tensor_is_no_view():
    with pb.inference_mode():
        c = pb.ones(2, 3)
        inside = c[0]
        inside.add_(1)
    for view in (inside, c[1], c.T, c.detach(), *c.unbind()):
        assert view._base is None
    assert c.tolist() == [[2] * 3, [1] * 3]


def test_out_of_the_mode_nothing_is_written_into_an_inference_tensor_by_out():
    with pb.inference_mode():
        c = pb.ones(2)
    for call in (pb.add, pb.maximum, pb.linalg.solve):
        a = pb.ones(2) if call is not pb.linalg.solve else pb.eye(2)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            call(a, pb.ones(2), out=c)
    assert c.tolist() == [1, 1]


def test_a_view_of_a_normal_tensor_made_in_inference_mode_is_a_leaf_of_its_own():
    x = leaf()
    y = x * 2
    with pb.inference_mode():
        v = y.view(-1)
        part = v[:1]
        assert (part._base is y, part.requires_grad, part.is_leaf, part.is_inference()) == (True, True, True, False)
        part.mul_(3)
        assert not y.detach().requires_grad
    assert y._version == v._version == 1
    with pytest.raises(RuntimeError, match="A view was created in inference mode and its base or another view"):
        v.grad_fn
    with pb.inference_mode():
        v = x.view(-1)
    (v * v).sum().backward()
    assert v.grad.tolist() == [2, 4]
    assert x.grad is None
