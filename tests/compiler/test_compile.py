"""`pullback.compile` as a user meets it: decorators, methods, copies, threads, errors, switches, audits."""

import asyncio
import copy
import functools
import gc
import inspect
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import Compiled, CompileWarning, StaleProgramError
from pullback.compiler.audit import FIRST
from pullback.compiler.program import Record

X = np.array([0.5, 1.0, 2.0])


@pytest.fixture(autouse=True)
def not_timed(monkeypatch):
    """Programs of little work are not given up for their time."""
    monkeypatch.setattr(Record, "timed", lambda *_: None)


def warmed(f, *args, calls=6, **kwargs):
    """The compiled function after so many calls, the first six of which record and compare."""
    compiled = f if isinstance(f, Compiled) else pb.compile(f)
    for _ in range(calls):
        compiled(*args, **kwargs)
    return compiled


def programs(compiled):
    every = [program for variants in compiled._by_signature.values() for program in variants.programs]
    return [getattr(program, "program", program) for program in every]  # an audit stands in for one


def swallowed(x):
    """Not what a trace sees."""
    return np.sin(x)


@pb.compile
def at_module_level(x):
    """Sine, twice."""
    return np.sin(x) * 2.0


# -- the decorator -----------------------------------------------------------------------------------------------------
def test_a_compiled_function_gives_what_the_function_gives():
    compiled = warmed(lambda x: np.sin(x) * 2.0, X)
    assert len(programs(compiled)) == 1
    np.testing.assert_array_equal(compiled(X + 1), np.sin(X + 1) * 2.0)


def test_it_looks_like_the_function():
    assert at_module_level.__name__ == "at_module_level"
    assert at_module_level.__doc__ == "Sine, twice."
    assert str(inspect.signature(at_module_level)) == "(x)"
    assert at_module_level.__wrapped__ is at_module_level._function


def test_attributes_of_the_function_are_there_and_do_not_get_in_the_way():
    def f(x):
        return x * 2.0

    f._check, f.note = "mine", "kept"
    compiled = warmed(f, X)
    assert compiled.note == "kept"
    assert len(programs(compiled)) == 1


def test_options_make_a_decorator():
    @pb.compile(check=True)
    def f(x):
        return x * 2.0

    assert isinstance(f, Compiled)
    assert f._check


def test_compiling_twice_is_compiling_once():
    once = pb.compile(swallowed)
    twice = pb.compile(once, check=True)
    assert twice._function is swallowed
    assert twice._check


def generator(x):
    yield x


async def coroutine(x):
    return x


async def asynchronous_generator(x):
    yield x


class Generator:
    def __call__(self, x):
        yield x


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (X, r"expected a function, got an ndarray.*compile\(f\), not compile\(f\(x\)\)"),
        ("sin", "expected a function, got a str"),
        (generator, "generator is a generator function.*call that in the generator"),
        (functools.partial(generator, X), "generator function"),
        (Generator(), "Generator is a generator function"),
        (coroutine, "coroutine is a coroutine function.*call that in the coroutine"),
        (asynchronous_generator, "generator function"),
        (staticmethod(swallowed), "write @staticmethod above @pb.compile"),
        (classmethod(swallowed), "write @classmethod above @pb.compile"),
    ],
    ids=[
        "array",
        "str",
        "generator",
        "partial",
        "object",
        "coroutine",
        "async-generator",
        "staticmethod",
        "classmethod",
    ],
)
def test_what_cannot_be_compiled_is_refused_with_a_remedy(wrong, said):
    with pytest.raises(TypeError, match=said):
        pb.compile(wrong)


def test_options_are_true_or_false():
    with pytest.raises(TypeError, match="check must be True or False, got an int"):
        pb.compile(swallowed, check=1)


def test_callable_objects_and_partials_compile():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

    scale = Scale(3.0)
    compiled = warmed(scale, X)
    np.testing.assert_array_equal(compiled(X), X * 3.0)
    scale.by = 4.0
    np.testing.assert_array_equal(compiled(X), X * 4.0)
    partial = warmed(functools.partial(np.multiply, 2.0), X)
    np.testing.assert_array_equal(partial(X), X * 2.0)


def test_its_repr_says_how_it_does():
    compiled = pb.compile(swallowed)
    assert repr(compiled) == "<compiled function swallowed: not called yet>"
    assert repr(warmed(compiled, X)) == "<compiled function swallowed: 1 program>"
    warmed(compiled, X[:2])
    assert repr(compiled) == "<compiled function swallowed: 2 programs>"


# -- methods -----------------------------------------------------------------------------------------------------------
class Model:
    def __init__(self, weight):
        self.weight = weight

    @pb.compile
    def step(self, x):
        return np.sin(x) * self.weight

    @staticmethod
    @pb.compile
    def double(x):
        return x * 2.0


class Child(Model):
    @pb.compile
    def step(self, x):
        return super().step(x) + self.weight


def test_a_method_binds_and_each_instance_is_watched():
    one, two = Model(2.0), Model(3.0)
    for _ in range(6):
        np.testing.assert_allclose(one.step(X), np.sin(X) * 2.0)
        np.testing.assert_allclose(two.step(X), np.sin(X) * 3.0)
    assert one.step is one.step
    assert len(programs(one.step)) == len(programs(two.step)) == 1
    one.weight = 5.0
    np.testing.assert_allclose(one.step(X), np.sin(X) * 5.0)
    np.testing.assert_allclose(two.step(X), np.sin(X) * 3.0)
    assert isinstance(Model.step, Compiled)
    np.testing.assert_array_equal(warmed(Model.double, X)(X), X * 2.0)


def test_an_instance_dies_with_its_programs():
    model = warmed(Model(2.0).step, X)._function.__self__
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_copy_of_an_instance_has_programs_of_its_own():
    one = Model(2.0)
    warmed(one.step, X)
    for two in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        two.weight = 7.0
        np.testing.assert_allclose(two.step(X), np.sin(X) * 7.0)
        assert two.step is not one.step
    np.testing.assert_allclose(one.step(X), np.sin(X) * 2.0)


def test_a_compiled_method_may_call_that_of_the_base():
    child = Child(2.0)
    for _ in range(8):
        np.testing.assert_allclose(child.step(X), np.sin(X) * 2.0 + 2.0)
    assert len(programs(child.step)) == 1


def test_an_instance_without_a_dict_runs_eagerly_and_says_so():
    class Slim:
        __slots__ = ("weight",)

        @pb.compile
        def step(self, x):
            return x * self.weight

    slim = Slim()
    slim.weight = 2.0
    with pytest.warns(CompileWarning, match="an argument of type Slim"):
        np.testing.assert_array_equal(slim.step(X), X * 2.0)


def test_a_function_that_is_an_attribute_of_an_object_is_no_method():
    class Holder:
        transform = pb.compile(Model(2.0).step._function)

    np.testing.assert_allclose(Holder().transform(X), np.sin(X) * 2.0)


RATE = 2.0


class Point(NamedTuple):
    x: np.ndarray

    def scaled(self):
        return self.x * RATE


def test_methods_of_the_classes_of_arguments_are_watched(monkeypatch):
    compiled = warmed(lambda point: point.scaled(), Point(X))
    assert len(programs(compiled)) == 1
    monkeypatch.setitem(globals(), "RATE", 3.0)
    np.testing.assert_array_equal(compiled(Point(X)), X * 3.0)


# -- copies ------------------------------------------------------------------------------------------------------------
def test_it_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.deepcopy(at_module_level) is at_module_level


def test_a_copy_of_another_is_compiled_anew():
    compiled = warmed(swallowed, X)
    for again in (pickle.loads(pickle.dumps(compiled)), copy.copy(compiled)):
        assert isinstance(again, Compiled)
        assert again._function is swallowed
        assert not programs(again)
        np.testing.assert_array_equal(again(X), np.sin(X))


# -- errors, interrupts, recursion -------------------------------------------------------------------------------------
def test_an_error_of_the_function_comes_out_as_it_is():
    def f(x):
        if x.sum() > 100:
            raise ValueError("too much")
        return x * 2.0

    compiled = warmed(f, X)
    with pytest.raises(ValueError, match=r"^too much$") as caught:
        compiled(X * 100)
    assert caught.value.__context__ is None
    np.testing.assert_array_equal(compiled(X), X * 2.0)
    assert programs(compiled)


@pytest.mark.parametrize("call", [0, 1])
def test_an_interrupt_while_recording_leaves_all_as_it_was(call):
    weight = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    armed = []

    def f(x):
        y = x * weight
        if armed:
            raise KeyboardInterrupt
        return y

    compiled = pb.compile(f)
    for _ in range(call):
        compiled(X)
    array = weight._array
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        compiled(X)
    assert weight._array is array
    assert weight.grad is None
    assert not compiled._running
    armed.clear()
    np.testing.assert_allclose(compiled(X).detach().numpy(), X * [1.0, 2.0, 3.0])


def test_a_function_may_call_itself():
    @pb.compile
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    for _ in range(6):
        np.testing.assert_array_equal(power(X, 4), X * X * X * X)
    (program,) = programs(power)
    assert sum(step.name == "mul" for step in program.plan.steps) == 3


def test_a_function_may_call_another_compiled_one_and_compile_one():
    inner = pb.compile(lambda x: np.sin(x))

    def f(x):
        return inner(x) + pb.compile(np.cos)(x) * 2.0

    compiled = warmed(f, X)
    assert [step.name for step in programs(compiled)[0].plan.steps] == ["sin", "cos", "mul", "add"]
    np.testing.assert_allclose(compiled(X + 1), np.sin(X + 1) + np.cos(X + 1) * 2.0)


FACTOR = 2.0


def test_what_an_inner_compiled_function_reads_is_watched(monkeypatch):
    inner = pb.compile(lambda x: x * FACTOR)
    compiled = warmed(lambda x: inner(x) + 1.0, X)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    np.testing.assert_allclose(compiled(X), X * 3.0 + 1.0)


# -- threads -----------------------------------------------------------------------------------------------------------
def in_threads(count, run):
    """Run it in so many threads at once; raises what one of them has raised."""
    start, errors = threading.Barrier(count), []

    def body(nr):
        start.wait()
        try:
            run(nr)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=body, args=(nr,)) for nr in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_may_call_and_record_one_function_at_once():
    weight = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    array = weight._array
    captures, bare = pb.compile(lambda x: (weight * x).sin()), pb.compile(lambda x: np.sin(x) * 2.0)

    def run(nr):
        x = X[: 1 + nr % 3]
        for _ in range(20):
            y = captures(X + nr)
            np.testing.assert_allclose(y.detach().numpy(), np.sin((X + nr) * [1.0, 2.0, 3.0]))
            (slope,) = pb.autograd.grad(y.sum(), weight)
            np.testing.assert_allclose(slope.numpy(), np.cos((X + nr) * [1.0, 2.0, 3.0]) * (X + nr))
            np.testing.assert_allclose(bare(x), np.sin(x) * 2.0)

    in_threads(6, run)
    assert weight._array is array
    assert programs(captures)
    assert programs(bare)


def test_a_thread_is_not_taken_for_the_one_that_records():
    found = []

    def f(x):
        found.append(type(x))
        return x * 2.0

    compiled = pb.compile(f, pure=True)
    compiled._running.add(0)  # no thread has this number
    thread = threading.Thread(target=lambda: compiled(X))
    thread.start()
    thread.join()
    assert found != [np.ndarray], "it was recorded, so the function got an array that records"


def test_tasks_may_share_a_function():
    compiled = pb.compile(lambda x: np.sin(x) * 2.0)

    async def work(nr):
        for _ in range(6):
            np.testing.assert_allclose(compiled(X + nr), np.sin(X + nr) * 2.0)
            await asyncio.sleep(0)

    async def every():
        await asyncio.gather(*map(work, range(4)))

    asyncio.run(every())
    assert programs(compiled)


# -- switches ----------------------------------------------------------------------------------------------------------
def test_compile_is_switched_off_from_outside(monkeypatch):
    monkeypatch.setenv("PULLBACK_COMPILE", "0")
    compiled = warmed(swallowed, X)
    assert not programs(compiled)
    assert "PULLBACK_COMPILE=0" in repr(compiled)
    monkeypatch.setenv("PULLBACK_COMPILE", "1")
    assert programs(warmed(swallowed, X))


@pytest.mark.parametrize("value", ["none", ""])
def test_native_code_is_switched_off_from_outside(monkeypatch, value):
    monkeypatch.setenv("PULLBACK_COMPILER", value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert programs(warmed(swallowed, X))


# -- check=True --------------------------------------------------------------------------------------------------------
def spoiled(compiled, by=1.0):
    """Let the programs of a compiled function give something else."""
    for program in programs(compiled):
        right = program.plan.call
        program.plan.call = lambda *arrays, right=right: tuple(np.asarray(x) + by for x in right(*arrays))


def test_check_compares_at_every_call():
    compiled = warmed(pb.compile(swallowed, check=True), X, calls=30)
    assert programs(compiled)
    spoiled(compiled)
    with pytest.raises(StaleProgramError, match=r"swallowed\(float64 \(3,\)\): the program gave \[1\.4.*\] for \[0\.4"):
        compiled(X)
    np.testing.assert_array_equal(compiled(X), np.sin(X))


def test_check_compares_what_is_written_too():
    def f(x):
        x *= 2.0
        return x.sum()

    compiled = pb.compile(f, check=True)
    for _ in range(8):
        x = X.copy()
        assert compiled(x) == 7.0
        np.testing.assert_array_equal(x, X * 2.0)
    spoiled(compiled)
    with pytest.raises(StaleProgramError, match="the program gave"):
        compiled(X.copy())


def test_without_check_a_wrong_program_is_given_up_at_the_first_calls():
    compiled = warmed(swallowed, X, calls=2)
    spoiled(compiled)
    with pytest.warns(CompileWarning, match="its program gave"):
        compiled(X)
    np.testing.assert_array_equal(compiled(X), np.sin(X))


def test_a_sum_that_cancels_is_no_difference():
    numbers = np.linspace(-1.0, 1.0, 100_000)
    compiled = warmed(lambda x: np.sum(np.sin(x) * np.exp(-x * x)), numbers)
    assert programs(compiled)
    assert abs(compiled(numbers)) < 1e-10


@pytest.mark.parametrize("size", [5, 5000])
def test_arrays_that_follow_each_other_in_one_place_are_not_taken_for_one(size):
    def written(x):
        buffer, total = np.empty(size), 0.0
        for factor in (1.0, 2.0, 3.0):
            buffer[:] = factor
            total = total + np.sum(x * buffer)
        return total

    def made(x):
        total = 0.0
        for factor in (1.0, 2.0, 3.0):
            total = total + np.sum(x * np.full(size, factor))
        return total

    for f in (written, made):
        compiled = warmed(f, np.ones(size))
        assert programs(compiled)
        assert compiled(np.full(size, 2.0)) == 12.0 * size


@pytest.mark.parametrize("grad", [False, True])
def test_a_tensor_given_twice_is_another_call_than_two_tensors(grad):
    def f(x, y):
        return (x.sin() + y).sin()

    one, other = pb.ones(2, requires_grad=grad), pb.zeros(2, requires_grad=grad)
    compiled = warmed(f, one, one)
    for given in ((one, other), (other, other), (other, one)):
        np.testing.assert_allclose(warmed(compiled, *given)(*given).detach(), f(*given).detach())


def test_a_captured_tensor_may_be_an_argument_too():
    weight = pb.ones(2)
    compiled = warmed(lambda x: x.sin() + weight, weight)
    np.testing.assert_allclose(compiled(pb.zeros(2)), [1.0, 1.0])


def test_an_array_given_twice_is_written_into_once():
    def f(x, y):
        x *= 2.0
        return x + y

    compiled = pb.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        for _ in range(8):
            x = np.ones(2)
            np.testing.assert_array_equal(compiled(x, x), [4.0, 4.0])
            np.testing.assert_array_equal(x, [2.0, 2.0])


# -- random numbers ----------------------------------------------------------------------------------------------------
def test_draws_move_on_as_the_function_moves_them():
    def f(x):
        return pb.nn.functional.dropout(x, 0.5)

    compiled, x = pb.compile(f), pb.ones(20)
    pb.manual_seed(0)
    expected = [f(x).numpy() for _ in range(40)]
    pb.manual_seed(0)
    found = [compiled(x).numpy() for _ in range(40)]
    assert programs(compiled)
    np.testing.assert_array_equal(found, expected)


# -- the audit ---------------------------------------------------------------------------------------------------------
HIDDEN = threading.local()  # no watch looks into it: a user's promise lets it through
HIDDEN.factor = 2.0


def hidden(x):
    return x * HIDDEN.factor


def test_an_audit_finds_what_no_watch_saw(monkeypatch):
    compiled = warmed(pb.compile(hidden, pure=True), X, calls=10)
    monkeypatch.setattr(HIDDEN, "factor", 3.0)
    with pytest.raises(
        StaleProgramError, match=r"hidden\(float64 \(3,\)\): at call 16 .*mul was given 2\.0, then 3\.0.*"
    ):
        warmed(compiled, X, calls=10)
    np.testing.assert_array_equal(compiled(X), X * 3.0)
    assert "an audit found a difference" in str(compiled.explain())


def test_audits_come_rarely_and_change_nothing():
    compiled = warmed(swallowed, X, calls=FIRST + 1)
    (program,) = programs(compiled)
    assert program.audits == []
    compiled(X)
    (program,) = programs(compiled)
    assert program.audits == [FIRST]
    assert program.look >= FIRST * FIRST - 1
    assert program.look * program.seconds >= 50 * compiled._by_signature.popitem()[1].trace_seconds


def test_an_audit_writes_once():
    def f(x):
        x += 1.0
        return x * 2.0

    compiled, x = pb.compile(f), np.zeros(3)
    for nr in range(1, 40):
        np.testing.assert_array_equal(compiled(x), np.full(3, 2.0 * nr))
        np.testing.assert_array_equal(x, np.full(3, float(nr)))
    assert programs(compiled)[0].audits == [FIRST]


def test_an_audit_trains_once():
    def trained(compiled):
        weight = pb.tensor([1.0, -1.0], requires_grad=True)

        def step(x):
            weight.grad = None
            loss = ((weight * x).sum() - 1.0) ** 2
            loss.backward()
            with pb.no_grad():
                weight.sub_(weight.grad, alpha=0.1)
            return loss.detach()

        run = pb.compile(step) if compiled else step
        losses = [float(run(pb.tensor([0.3, 0.2]))) for _ in range(40)]
        if compiled:
            assert programs(run)[0].audits == [FIRST]
            assert "step(Tensor float64 (2,)), reads 2 Tensors" in str(run.explain())
        return losses, weight.detach().numpy()

    (losses, weight), (expected, weight_expected) = trained(True), trained(False)
    np.testing.assert_allclose(losses, expected)
    np.testing.assert_allclose(weight, weight_expected)


def test_programs_of_tensors_that_require_grad_are_audited():
    compiled = pb.compile(lambda x: (x.sin() * 2.0).sum())
    for _ in range(FIRST + 6):
        x = pb.tensor(X, requires_grad=True)
        compiled(x).backward()
        np.testing.assert_allclose(x.grad.numpy(), np.cos(X) * 2.0)
    (program,) = programs(compiled)
    assert program.audits == [FIRST]


# -- what runs eagerly -------------------------------------------------------------------------------------------------
def test_outcomes_without_end_run_eagerly():
    def f(x):
        return x * int(x[0])

    compiled = pb.compile(f)
    said = "more than 8 outcomes.*int.*test_compile.py:.*Instead, choose with np.where"
    with pytest.warns(CompileWarning, match=said):  # noqa: PT031 - at one of these calls
        for nr in sorted([*range(20)] * 3):
            np.testing.assert_array_equal(compiled(X + nr), (X + nr) * int(nr + 0.5))


def test_a_number_that_is_never_the_same_runs_eagerly():
    compiled = pb.compile(lambda x: x * float(x[0]))
    said = r"no two of 9 runs did the same: float\(\) found 0\.57, then 0\.58 .*Instead, choose with np.where"
    with pytest.warns(CompileWarning, match=said):  # noqa: PT031 - at one of these calls
        for nr in range(12):
            compiled(X + nr / 100)


def test_a_warning_names_the_line_and_the_remedy_and_comes_once():
    rng = np.random.default_rng(0)

    def f(x):
        return x + rng.normal()

    compiled = pb.compile(f)
    with pytest.warns(
        CompileWarning, match=r"compile\(f\) runs eagerly: .*test_compile.py:\d+, `return x \+ rng.*Instead"
    ) as caught:
        warmed(compiled, X)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_the_compiler_is_imported_when_it_is_first_used():
    code = "import sys, pullback; print('pullback.compiler' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "args",
    [
        (np.ones(4), np.ones(4)), (np.ones(3), np.ones(3, np.float32)), (np.ones((3, 1)), np.ones(3)),
        (np.ones(6)[::2], np.ones(3)), (np.ones(3), 2.0), (np.ones(3),),
    ],
)  # fmt: skip
def test_after_a_call_by_the_quick_way_another_kind_of_call_finds_its_own_program(args):
    compiled = pb.compile(lambda x, y=0.5: x * 2.0 + y)
    x, y = np.arange(3.0), np.ones(3)
    for _ in range(6):
        compiled(x, y)
    assert compiled._entry is not None
    for _ in range(2):
        np.testing.assert_array_equal(compiled(*args), args[0] * 2.0 + (args[1] if len(args) > 1 else 0.5))
        np.testing.assert_array_equal(compiled(x, x), x * 3.0)
        np.testing.assert_array_equal(compiled(x, y), x * 2.0 + y)


def test_contents_are_watched_for_programs_alone():
    data = np.arange(4.0)

    def function(x):
        if len(x) > 2:
            str(x)
        return np.sin(data)[: len(x)] * x

    compiled = pb.compile(function)
    with pytest.warns(CompileWarning, match="a text of numbers"):
        compiled(np.ones(3))
    assert not compiled._reach.watches.reads_contents
    for _ in range(6):
        compiled(np.ones(2))
    assert compiled._reach.watches.reads_contents
    data[0] = 1.0
    np.testing.assert_array_equal(compiled(np.ones(2)), np.sin(data)[:2])


@pytest.mark.parametrize("make", [np.full, lambda n, x: pb.full((n,), x)])
def test_the_quick_way_of_an_array_given_twice_is_not_that_of_two(make):
    gradient = pb.func.grad(lambda x, y: (pb.sin(x * 2.0 + y) * pb.cos(x) - y * x).sum())
    one, other = make(3, 1.0), make(3, 2.0)
    compiled = warmed(gradient, one, one, calls=8)
    np.testing.assert_allclose(compiled(one, other), gradient(one, other))


def test_the_quick_way_takes_tensors():
    compiled = pb.compile(lambda w, x: (w * x).sin().sum())
    w, x = pb.ones(3, requires_grad=True), pb.ones(3)
    for _ in range(6):
        compiled(w, x)
    taken = functools.partial(compiled._entry.leaves_of, frozenset())
    assert [id(leaf) for leaf in taken((w, x), {})] == [id(w), id(x)]
    assert taken((x, x), {}) is None
    assert taken((w, pb.ones(3, requires_grad=True)), {}) is None
    assert taken((w, pb.ones(3, dtype=pb.float32)), {}) is None
    assert taken((w, np.ones(3)), {}) is None
    compiled(w, x).backward()
    np.testing.assert_allclose(w.grad, np.cos(np.ones(3)))
    assert not compiled(x, pb.ones(3)).requires_grad


def test_the_quick_way_takes_containers_apart():
    def function(state, *, scale):
        return state["w"] @ state["b"][0] * scale["s"]

    compiled = pb.compile(function)
    w, b, s = np.arange(6.0).reshape(2, 3), np.arange(3.0), np.full(2, 2.0)
    compiled.__dict__["_check"] = True  # stays compiled, though it is hardly faster
    for _ in range(6):
        compiled({"w": w, "b": [b, 3, "a", None]}, scale={"s": s})
    assert compiled._entry
    taken = functools.partial(compiled._entry.leaves_of, frozenset())
    right = ({"w": w, "b": [b, 3, "a", None]},), {"scale": {"s": s}}
    assert [id(x) for x in taken(*right)[:1]] == [id(b)]
    for args in (
        ({"b": [b, 3, "a", None], "w": w},), ({"w": w, "b": [b, 3.0, "a", None]},), ({"w": w, "b": [b, 4, "a", None]},),
        ({"w": w, "b": [b, 3, "a", 0]},), ({"w": w, "b": (b, 3, "a", None)},), ({"w": w, "b": [b, 3, "a"]},),
        ({"w": w, "b": [b[::-1], 3, "a", None]},), ({"w": w, "b": [b, True, "a", None]},), ({"w": w},),
    ):  # fmt: skip
        assert taken(args, right[1]) is None
    assert taken(right[0], {}) is None
    assert taken((right[0][0], 1), right[1]) is None


def test_after_six_runs_that_differ_it_runs_eagerly():
    numbers = iter(map(float, range(20)))
    compiled = pb.compile(lambda x: np.sin(x) * next(numbers), pure=True)
    x = np.ones(2)
    for n in range(5):  # a recording, and the function itself, whose result it is
        np.testing.assert_array_equal(compiled(x), np.sin(x) * (2 * n + 1))
    with pytest.warns(CompileWarning, match="no two of 6 runs did the same: mul was given 8.0, then 10.0"):
        compiled(x)
    np.testing.assert_array_equal(compiled(x), np.sin(x) * 12.0)


def test_a_call_that_holds_something_else_each_time_is_not_said_to_come_in_its_own_place():
    numbers = iter(map(float, range(20)))

    def f(x):
        factor = next(numbers)
        scaled = pb.custom_vjp(lambda x: factor * x)
        scaled.defvjp(lambda cotangent, y, x: factor * cotangent)
        return np.sum(scaled(x))

    compiled = pb.compile(f, pure=True)
    for _ in range(5):
        compiled(np.ones(2))
    said = "no two of 6 runs did the same: <lambda> ran each time, but not with the same objects"
    with pytest.warns(CompileWarning, match=said):
        compiled(np.ones(2))


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_a_float_beside_what_no_program_takes_is_left_to_eager_mode():
    compiled = pb.compile(lambda x, q, f: f(x) * q)
    for k in range(4):
        np.testing.assert_array_equal(
            compiled(np.ones(2), 0.5 * k, f=functools.partial(np.sin)), np.sin(np.ones(2)) * 0.5 * k
        )
