"""checkpointed_loop: it takes the fewest steps that there can be, in the memory of its slots; its derivatives right."""

import functools
import itertools
import mmap
import re
import tempfile
import tracemalloc
from math import comb

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.checkpoint.frame import CheckpointError
from pullback.core.errors import GradientError
from pullback.func import checkpoint, checkpointed_loop, grad, jvp
from pullback.func.loops import run as loops
from pullback.func.loops.schedule import advances, on_disk, reversal, slots_for_two

pytestmark = pytest.mark.filterwarnings("error")


@functools.cache
def fewest(count, slots):
    """Steps to reverse `count` steps with `slots` states, by dynamic programming over where the next state is kept."""
    if count == 1:
        return 0
    if slots == 1:
        return count * (count - 1) // 2
    return min(m + fewest(count - m, slots - 1) + fewest(m, slots) for m in range(1, count))


@pytest.mark.parametrize("slots", range(1, 9))
def test_the_schedule_takes_as_many_steps_as_the_formula_and_no_way_takes_fewer(slots):
    for count in range(1, 90):
        held, at, reversed_, taken = {0: 0}, 0, count, 0
        for what, k, to in reversal(count, slots):
            if what == "read":
                assert held[to] == k
                at = k
            elif what == "advance":
                assert (at, to > k) == (k, True)
                at, taken = to, taken + to - k
            elif what == "keep":
                assert (at, to in held) == (k, False)
                held[to] = k
                assert len(held) <= slots
            elif what == "drop":
                assert held.pop(to) == k
            else:
                assert (at, to) == (k, reversed_)
                reversed_ -= 1
        assert reversed_ == 0
        assert list(held) == [0]
        assert taken == advances(count, slots) == fewest(count, slots)


def test_griewank_and_walthers_numbers():
    assert [advances(comb(s + r, s), s) for s, r in ((3, 3), (5, 2), (10, 4))] == [
        r * comb(s + r, s) - comb(s + r, s + 1) for s, r in ((3, 3), (5, 2), (10, 4))
    ]
    assert advances(1000, 1000) == 999  # every state is kept
    assert advances(10, 1) == 45
    for count in (1, 2, 3, 10, 100, 12345):
        slots = slots_for_two(count)
        assert advances(count, slots) <= 2 * count
        assert slots == 1 or comb(slots + 1, 2) < count  # one fewer would not do
        assert slots <= np.sqrt(2 * count) + 1


@pytest.mark.parametrize(("count", "slots", "disk_slots"), [(40, 4, 2), (100, 10, 9), (5, 9, 3)])
def test_the_slots_on_disk_are_those_least_used(count, slots, disk_slots):
    uses = [0] * slots
    for what, _, slot in reversal(count, slots):
        uses[slot if what in ("keep", "read") else 0] += what in ("keep", "read")
    chosen = on_disk(count, slots, disk_slots)
    assert len(chosen) == disk_slots
    assert 0 not in chosen
    assert max(uses[i] for i in chosen) <= min([uses[i] for i in range(1, slots) if i not in chosen], default=np.inf)


def pendulum(x, k, p):
    return {
        "q": x["q"] + 0.1 * x["v"],
        "v": x["v"] - 0.1 * p["g"] * np.sin(x["q"]) + 0.01 * k * p["push"],
        "steps": x["steps"] + 1,
        "name": x["name"],
    }


def start(q):
    return {"q": q, "v": 0.0 * q, "steps": 0, "name": "pendulum"}


def plain_loop(step, x, count, *args):
    for k in range(count):
        x = step(x, k, *args)
    return x


CASES = [(1, 1, 0), (2, 1, 0), (7, 2, 1), (30, 3, 2), (50, None, 0), (20, 50, 0)]


@pytest.mark.parametrize(("count", "slots", "disk_slots"), CASES)
def test_derivatives_are_those_of_the_plain_loop(count, slots, disk_slots):
    def end(loop):
        def value(q, g, push):
            x = loop(pendulum, start(q), count, {"g": g, "push": push, "note": None})
            assert (x["steps"], x["name"]) == (count, "pendulum")
            return np.sum(x["q"] ** 2 + x["v"])

        return value

    f = end(lambda *args: checkpointed_loop(*args, slots=slots, disk_slots=disk_slots))
    g = end(plain_loop)
    point, tangents = (np.array([1.0, 0.3]), 9.81, 0.5), (np.array([0.2, -1.0]), 0.3, 2.0)
    assert f(*point) == g(*point)
    assert jvp(f, point, tangents)[1] == pytest.approx(jvp(g, point, tangents)[1], rel=1e-13)
    for i in range(3):
        np.testing.assert_allclose(grad(f, argnums=i)(*point), grad(g, argnums=i)(*point), rtol=1e-12)

    def second(f):
        return lambda *p: sum(np.sum(x**2) for x in grad(f, argnums=(0, 1, 2))(*p))

    for a, b in ((second(f), second(g)), *(tuple(lambda *p, h=h: jvp(h, p, tangents)[1] for h in (f, g)),)):
        assert jvp(a, point, tangents)[1] == pytest.approx(jvp(b, point, tangents)[1], rel=1e-11)
        for i in range(3):
            np.testing.assert_allclose(grad(a, argnums=i)(*point), grad(b, argnums=i)(*point), rtol=1e-11)


@pytest.mark.parametrize(("count", "slots"), [*itertools.product([1, 2, 5, 17, 60], [1, 2, 3, 5, 12])])
def test_as_many_steps_run_as_the_bound_says(count, slots):
    plain, recorded = [], []

    def step(x, k, a):
        (recorded if isinstance(x, pb.Tensor) else plain).append(k)
        return x + a * np.sin(x)

    value = grad(lambda a: checkpointed_loop(step, 1.0, count, a, slots=slots))(0.1)
    assert value == pytest.approx(grad(lambda a: plain_loop(lambda x, k, a: x + a * np.sin(x), 1.0, count, a))(0.1))
    assert recorded == [*range(count)][::-1]
    assert len(plain) == advances(count, min(slots, count)) + 1  # the last step, for the value


def test_a_tangent_of_the_gradient_goes_by_the_schedule_and_a_gradient_of_it_keeps_all(monkeypatch):
    kept = []
    real = loops.States.keep
    monkeypatch.setattr(
        loops.States, "keep", lambda states, slot, *more: (kept.append(slot), real(states, slot, *more))
    )

    def gradient(loop, **options):
        return grad(lambda a: loop(lambda x, k, a: x + a * np.sin(x), 1.0, 17, a, **options))

    f, g = gradient(checkpointed_loop, slots=3), gradient(plain_loop)
    assert jvp(f, (0.1,), (1.0,))[1] == pytest.approx(jvp(g, (0.1,), (1.0,))[1], rel=1e-12)
    assert max(kept) == 2
    assert grad(f)(0.1) == pytest.approx(grad(g)(0.1), rel=1e-12)
    assert max(kept) == 16


def test_memory_is_that_of_the_slots():
    n, count, slots = 20_000, 200, 5
    x0 = np.linspace(0, 1, n)

    def peak(loop):
        tracemalloc.start()
        gradient = grad(lambda a: np.sum(loop(lambda x, k, a: x + 0.01 * a * np.sin(x), x0, count, a)))(0.5)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return gradient, most / x0.nbytes

    (expected, every), (found, few) = peak(plain_loop), peak(functools.partial(checkpointed_loop, slots=slots))
    assert found == pytest.approx(expected, rel=1e-12)
    assert every > count
    # x0, the last states, what one recorded step keeps, and what its program does when both are compared
    assert few < slots + 35
    _, fewer = peak(functools.partial(checkpointed_loop, slots=slots, disk_slots=slots - 1))
    assert fewer < few - (slots - 2)


@pytest.mark.parametrize("size", [1, 50_000])
def test_states_on_disk_are_in_the_directory_that_was_named_and_leave_no_file(size, tmp_path, monkeypatch):
    seen = []
    real = loops.States.keep

    def keep(states, slot, *args):
        real(states, slot, *args)
        seen.append(states.scratch.in_use)
        assert not list(tmp_path.iterdir())  # the file has no name, so that a process that is killed leaves none

    folders, made = [], tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **how: (folders.append(how["dir"]), made(**how))[1])
    monkeypatch.setattr(loops.States, "keep", keep)
    x = pb.tensor(np.linspace(1.0, 2.0, size), requires_grad=True)
    y = checkpointed_loop(lambda x, k: np.sin(x) + k, x, 40, slots=4, disk_slots=2, directory=tmp_path)
    y.sum().backward()
    assert set(folders) == {tmp_path}
    assert 2 * 8 * size <= max(seen) < 5 * (8 * size + mmap.ALLOCATIONGRANULARITY)
    np.testing.assert_allclose(x.grad.numpy(), grad(lambda x: plain_loop(lambda x, k: np.sin(x) + k, x, 40).sum())(
        np.linspace(1.0, 2.0, size)), rtol=1e-12)  # fmt: skip


def test_a_graph_that_is_kept_goes_backward_again():
    x = pb.tensor(1.0, requires_grad=True)
    y = checkpointed_loop(lambda x, k: x + 0.1 * np.sin(x), x, 30, slots=3)
    first, second = (pb.autograd.grad(y, x, retain_graph=True)[0] for _ in range(2))
    assert first.item() == second.item() == pytest.approx(
        grad(lambda x: plain_loop(lambda x, k: x + 0.1 * np.sin(x), x, 30))(1.0).item(), rel=1e-13
    )  # fmt: skip


def test_a_workspace_of_the_step_is_not_kept():
    space = np.zeros(2)

    def step(x, k, a):
        if isinstance(x, pb.Tensor) or isinstance(a, pb.Tensor):
            return x + a * np.sin(x)
        y = x + a * np.sin(x)
        space[:] = y
        return space

    x0 = np.array([1.0, 2.0])
    found = grad(lambda a: checkpointed_loop(step, x0, 20, a, slots=3).sum())(0.1)
    expected = grad(lambda a: plain_loop(lambda x, k, a: x + a * np.sin(x), x0, 20, a).sum())(0.1)
    assert found == pytest.approx(expected, rel=1e-12)


def test_an_argument_that_changed_since_is_found():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    a = pb.tensor(0.1)
    y = checkpointed_loop(lambda x, k, a: x * a, x, 5, a)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_no_steps_give_the_start():
    assert checkpointed_loop(pendulum, 1.0, 0) == 1.0
    assert grad(lambda x: checkpointed_loop(pendulum, x, 0) ** 2)(3.0) == 6.0


def test_what_the_step_captures_has_its_gradient():
    for transform in (lambda f: grad(f)(2.0), lambda f: jvp(f, (2.0,), (1.0,))[1]):
        assert transform(lambda a: checkpointed_loop(lambda x, k: x * a if k % 2 else x, 1.0, 5)) == 4.0


@pytest.mark.parametrize("order", [1, 2])
def test_a_step_that_does_something_else_when_it_runs_again_is_found(order):
    rng = np.random.default_rng(0)
    f = lambda a: checkpointed_loop(lambda x, k, a: x + a * rng.standard_normal(2), np.ones(2), 10, a, slots=3).sum()  # noqa: E731
    for _ in range(order):
        f = grad(f)
    with pytest.raises(CheckpointError, match="step 9 gave another result when it ran again"):
        f(0.5)


def test_a_state_that_changes_its_form_is_refused():
    for step, x0, what in (
        (lambda x, k: (x, x), 1.0, "takes TreeSpec(*) and returns TreeSpec((*[0], *[1]))"),
        (lambda x, k: np.append(x, 1.0), np.ones(2), "shapes [(2,)], numbers [0] of which"),
        (lambda x, k: x + 0.5, 1, "numbers [] of which are floating point"),
        (lambda x, k: x > 0, 1.0, "step 0 must return a carry of the same shapes"),
    ):
        with pytest.raises(GradientError, match=re.escape(what)):
            checkpointed_loop(step, x0, 3)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="step must be callable"):
        checkpointed_loop(1.0, 1.0, 3)
    with pytest.raises(TypeError, match="count must be an int"):
        checkpointed_loop(pendulum, 1.0, 3.0)
    with pytest.raises(ValueError, match="must not be negative"):
        checkpointed_loop(pendulum, 1.0, -1)
    for slots, disk_slots in ((0, 0), (3, 3), (3, -1)):
        with pytest.raises(ValueError, match="slots must be at least 1"):
            checkpointed_loop(pendulum, 1.0, 3, slots=slots, disk_slots=disk_slots)


# -- func.checkpoint --------------------------------------------------------------------------------------------------
def test_a_checkpointed_function_runs_again_in_backward_and_nests():
    calls = []

    @checkpoint
    def layer(x, *, scale):
        calls.append(1)
        return np.tanh(scale["s"] * x) * x

    def plain(x, s):
        return np.tanh(s * x) * x

    f = lambda x, s: np.sum(layer(layer(x, scale={"s": s}), scale={"s": s}) ** 2)  # noqa: E731
    g = lambda x, s: np.sum(plain(plain(x, s), s) ** 2)  # noqa: E731
    x = np.array([0.5, -1.0])
    np.testing.assert_allclose(grad(f, argnums=1)(x, 0.7), grad(g, argnums=1)(x, 0.7), rtol=1e-13)
    assert len(calls) == 4
    np.testing.assert_allclose(
        grad(lambda x: np.sum(grad(f)(x, 0.7) ** 2))(x), grad(lambda x: np.sum(grad(g)(x, 0.7) ** 2))(x), rtol=1e-12
    )
    found, expected = (jvp(lambda x, h=h: grad(h)(x, 0.7), (x,), (x,))[1] for h in (f, g))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(TypeError, match="must be callable"):
        checkpoint(1.0)


def test_vmap_of_the_gradient_is_that_of_each_sample():
    rates = np.array([0.5, 0.6, 0.6])
    loss = lambda rate: checkpointed_loop(lambda x, k, rate: x + 0.1 * rate * x, 1.0, 30, rate)  # noqa: E731
    found = pb.func.vmap(grad(loss))(rates)
    np.testing.assert_array_equal(found, [grad(loss)(rate) for rate in rates])
    np.testing.assert_array_equal(pb.func.vmap(grad(grad(loss)))(rates), [grad(grad(loss))(rate) for rate in rates])


def test_a_step_reads_the_variable_of_a_loop_as_it_was_at_the_call():
    def total(rate):
        y = 0.0
        for i in range(1, 4):
            y = y + checkpointed_loop(lambda x, k, rate: x + 0.1 * i * rate * x, 1.0, 5, rate)  # noqa: B023
        return y

    assert grad(total)(1.0) == pytest.approx(sum(0.5 * i * (1 + 0.1 * i) ** 4 for i in (1, 2, 3)))
