"""Tasks of enough time each, whatever the engine; what they give is not touched by how they are grouped."""

from concurrent.futures import Future

import pytest

from pullback.workers.engines import engine_of
from pullback.workers.shipping import Shipped
from pullback.workers.spreading import Pace, Spreading


def blocks(pace, count, slots):
    start, found = 0, []
    while start < count:
        stop = pace.block(start, count, slots)
        found.append((start, stop))
        start = stop
    return found


def test_slow_items_are_tasks_of_their_own():
    assert blocks(Pace(0.02), 5, 2) == [(i, i + 1) for i in range(5)]
    assert blocks(Pace(None), 3, 2) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("slots", [1, 2, 8])
@pytest.mark.parametrize("count", [1, 7, 200, 1000])
def test_blocks_are_nodes_of_a_binary_tree(count, slots):
    found = blocks(Pace(1e-6), count, slots)
    assert [a for a, _ in found[1:]] == [b for _, b in found[:-1]]
    for start, stop in found:
        size = 1 << (stop - start - 1).bit_length()
        assert start % size == 0
        assert stop - start == size or stop == count


def test_quick_items_are_put_together_until_a_task_takes_ten_milliseconds():
    sizes = [b - a for a, b in blocks(Pace(0.001), 1000, 2)]
    assert max(sizes) == 16
    assert len(sizes) < 100


def test_every_slot_has_work_to_the_end():
    sizes = [b - a for a, b in blocks(Pace(1e-6), 1024, 4)]
    assert max(sizes) <= 1024 / 8


class Watched:
    """An executor that computes when a result is asked for, and knows how many tasks have waited at once."""

    def __init__(self):
        self.waiting = self.most = 0
        self._max_workers = 3

    def submit(self, function, *args):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        executor = self

        class Late(Future):
            def add_done_callback(self, done):
                executor.waiting -= 1
                self.set_result(function(*args))
                done(self)

        return Late()


def test_twice_as_many_tasks_are_under_way_as_there_are_workers():
    executor = Watched()
    engine = engine_of(executor, "test")
    assert (engine.slots, engine.at_once) == (3, 6)
    found = {}

    def take(start, stop, value):
        found[start] = value

    Spreading("test", engine).over(lambda start, items: list(items), "abcdefgh", "it", take)
    assert "".join(x for a in sorted(found) for x in found[a]) == "abcdefgh"
    assert executor.most <= 6


def test_the_second_call_knows_how_long_items_take():
    tasks = []

    def noting_map(function, blocks):
        blocks = list(blocks)
        tasks.append(len(blocks))
        return map(function, blocks)

    spreading = Spreading("test", engine_of(noting_map, "test"))
    for _ in range(2):
        spreading.over(lambda start, items: None, range(500), "it", lambda *_: None)
    assert tasks[0] == 64
    assert tasks[-1] < 200


def test_what_is_shipped_is_pickled_once_and_kept_by_its_content():
    import pickle

    shipped = Shipped([1, 2], "it")
    first, second = (pickle.loads(pickle.dumps(x)) for x in (shipped, Shipped([1, 2], "it")))
    assert first.get() == [1, 2]
    assert first.get() is second.get()
