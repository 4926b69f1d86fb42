"""Grad mode in threads, pools, asyncio tasks and generators: where it reaches, and that it always comes back."""

import asyncio
import contextvars
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import pullback as pb

inherits = pytest.mark.skipif(
    bool(getattr(sys.flags, "thread_inherit_context", False)),
    reason="this Python was started so that threads inherit their maker's context (issue 3)",
)


def records():
    return (pb.ones(1, requires_grad=True) * 2).requires_grad


@pytest.fixture(autouse=True)
def modes_come_back():
    assert records()
    yield
    assert records()
    assert not pb.is_inference_mode_enabled()


@inherits
@pytest.mark.parametrize("mode", [pb.no_grad, pb.inference_mode])
def test_a_new_thread_records_whatever_its_maker_does(mode):
    seen = []
    with mode():
        thread = threading.Thread(target=lambda: seen.append(records()))
        thread.start()
        thread.join()
    assert seen == [True]


@inherits
def test_threads_of_a_pool_record():
    with ThreadPoolExecutor(1) as pool:
        with pb.no_grad():
            assert pool.submit(records).result() is True
            assert list(pool.map(lambda _: records(), range(3))) == [True] * 3


@inherits
def test_what_a_job_leaves_switched_stays_in_its_thread():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pb.set_grad_enabled, False).result()
        assert records()
        assert pool.submit(records).result() is False  # as with any state of a thread


@inherits
def test_run_in_executor_records_and_to_thread_takes_the_mode_along():
    async def main():
        with pb.no_grad():
            loop = asyncio.get_running_loop()
            # to_thread runs its function in a copy of the caller's context, and the mode is part of that.
            return await loop.run_in_executor(None, records), await asyncio.to_thread(records)

    assert asyncio.run(main()) == (True, False)


def test_a_copied_context_takes_the_mode_along():
    with pb.no_grad():
        context = contextvars.copy_context()
    assert context.run(records) is False
    assert records()
    context.run(pb.set_grad_enabled, True)
    assert context.run(records) is True


def test_a_task_starts_in_the_mode_of_its_maker_and_keeps_its_own():
    async def child(log):
        log.append(records())
        await asyncio.sleep(0)
        with pb.enable_grad():
            await asyncio.sleep(0)
            log.append(records())
        pb.set_grad_enabled(True)  # for the rest of this task
        await asyncio.sleep(0)
        log.append(records())

    async def main():
        logs = [[], []]
        with pb.no_grad():
            tasks = [asyncio.create_task(child(log)) for log in logs]
        for _ in range(10):
            assert records()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert logs == [[False, True, True]] * 2

    asyncio.run(main())


@pytest.mark.parametrize("order", ["first in, first out", "last in, first out"])
def test_one_object_may_serve_tasks_that_run_by_turns(order):
    """Each task returns to its own mode, not to that of the one which entered last."""
    shared = pb.no_grad()
    events = {}

    async def task(outer, wait, done):
        with pb.set_grad_enabled(outer):
            with shared:
                done.set()
                await wait.wait()
                assert not records()
            assert records() is outer

    async def main():
        for name in ("a in", "b in", "a may go", "b may go"):
            events[name] = asyncio.Event()
        a = asyncio.create_task(task(True, events["a may go"], events["a in"]))
        await events["a in"].wait()
        b = asyncio.create_task(task(False, events["b may go"], events["b in"]))
        await events["b in"].wait()
        first, second = ("a", "b") if order.startswith("first") else ("b", "a")
        events[f"{first} may go"].set()
        await (a if first == "a" else b)
        events[f"{second} may go"].set()
        await asyncio.gather(a, b)

    asyncio.run(main())


def test_a_cancelled_task_leaves_its_block():
    async def main():
        left = []

        async def child():
            try:
                with pb.no_grad():
                    await asyncio.sleep(60)
            finally:
                left.append(records())

        task = asyncio.create_task(child())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(child(), 0.01)
        assert left == [True, True]

    asyncio.run(main())


def test_backwards_in_tasks_and_their_threads():
    x = pb.zeros(3, requires_grad=True)

    async def main():
        with pb.no_grad():  # backward needs no recording
            y = [None] * 4
            for i in range(4):
                with pb.enable_grad():
                    y[i] = (x * (i + 1)).sum()
            await asyncio.gather(*(asyncio.to_thread(loss.backward) for loss in y))

    asyncio.run(main())
    assert x.grad.tolist() == [10, 10, 10]


def test_an_undecorated_generator_hands_its_mode_to_whoever_runs_it():
    """As in PyTorch, and as every context manager: the `with` block is entered until the generator goes on."""

    def generator():
        with pb.no_grad():
            yield records()

    g = generator()
    assert next(g) is False
    assert not records()
    with pytest.raises(StopIteration):
        next(g)
    assert records()


def test_blocks_of_generators_may_end_in_any_order():
    def generator(mode):
        with mode:
            yield

    one, two = generator(pb.no_grad()), generator(pb.enable_grad())
    next(one)
    next(two)
    assert records()
    one.close()  # back to what was before `one`
    assert records()
    two.close()  # and to what was before `two`: inside `one`
    assert not records()
    pb.set_grad_enabled(True)


def test_one_object_entered_again_inside_itself_and_by_generators_between():
    mode = pb.no_grad()

    def generator():
        with mode:
            yield

    with mode:
        g = generator()
        next(g)
        with pb.enable_grad():
            with mode:
                assert not records()
            assert records()
            g.close()
            assert not records()
        assert not records()
    assert records()


@pytest.mark.parametrize("how", ["close", "drop", "throw"])
def test_a_decorated_generator_that_ends_early_leaves_the_mode_alone(how):
    inside = []

    @pb.no_grad()
    def generator():
        try:
            yield 1
            yield 2
        finally:
            inside.append(records())

    g = generator()
    assert next(g) == 1
    assert records()
    if how == "close":
        g.close()
    elif how == "throw":
        with pytest.raises(KeyError):
            g.throw(KeyError())
    else:
        del g
        gc.collect()
    assert inside == [False]
    assert records()


def test_a_generator_ended_by_another_thread_leaves_both_modes_alone():
    def generator():
        with pb.no_grad():
            yield

    seen = []

    def elsewhere():
        g = generator()
        next(g)
        seen.append(g)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    seen.pop().close()  # the block was entered in the other thread: there is nothing to leave here
    assert records()


def test_an_asynchronous_generator_finished_by_another_task():
    async def generator():
        with pb.no_grad():
            yield records()
            yield records()

    async def main():
        g = generator()
        assert await anext(g) is False
        pb.set_grad_enabled(True)
        await asyncio.create_task(g.aclose())
        assert records()

    asyncio.run(main())


def test_an_exception_in_a_block_leaves_every_mode_before_it():
    with pytest.raises(ZeroDivisionError):
        with pb.inference_mode(), pb.enable_grad(), pb.set_grad_enabled(False), pb.no_grad():
            1 / 0
    with pb.no_grad():
        with pytest.raises(KeyboardInterrupt):
            with pb.enable_grad():
                raise KeyboardInterrupt
        assert not records()


def test_an_exception_in_a_transform_leaves_the_level_before_it():
    def f(x):
        with pb.no_grad():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pb.func.grad(pb.func.grad(f))(2.0)
    assert pb.func.grad(lambda x: x * x)(3.0).item() == 6


def test_each_thread_has_levels_of_its_own():
    x = pb.tensor(2.0)
    results = []

    def work():
        results.append(pb.func.grad(pb.func.grad(lambda x: x**4))(x).item())

    def outer(x):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return x * x

    assert pb.func.grad(outer)(x).item() == 4
    assert results == [48.0] * 4
