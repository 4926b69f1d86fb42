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


def test_an_inference_tensor_may_be_a_constant_of_a_graph():
    with pb.inference_mode():
        c = pb.full((2,), 3.0)
    x = leaf()
    (x * c).sum().backward()
    assert x.grad.tolist() == [3, 3]
