"""Programs of users that a trace does not follow as they are meant: they give what the function gives, or say so."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import program

pytestmark = pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
G, RATES = np.zeros(2), np.float32([0.1, 0.2])


def ones(*shape):
    return np.ones(shape or 2)


def work(x):
    """Enough for a program to be faster, so that it is not dropped."""
    for _ in range(60):
        np.sin(x)


def positive(m):
    work(m)
    try:
        return np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        return np.zeros_like(m)


def jitter(m):
    work(m)
    for k in range(8):
        try:
            return np.linalg.cholesky(m + 10.0**k * 1e-3 * np.eye(2))
        except np.linalg.LinAlgError:
            continue
    return m


def element(x, k):
    work(x)
    try:
        return x[k] * 2.0
    except IndexError:
        return x[0] * 0.0


def stored(p, g):
    p["w"] = p["w"] - 0.1 * g
    return p["w"]


def appended(items):
    items.append(items[0] * 2)
    return items[-1]


def nested(p):
    p["inner"]["count"] += 1
    return p["x"] * p["inner"]["count"]


def written(x, y):
    x += 1
    return x * y


def read_of_itself(x):
    x[0] = 50.0
    return x * G


def identity(x, y):
    return x * 2 if x is y else x * 3


def kind(x):
    return x * 2 if type(x) is np.ndarray else x * 3


def text(x):
    return len(f"{x}") + x


def flags(x):
    work(x)
    if x.flags.writeable:
        x[0] = 1
    return x * 2


def frozen(x):
    x.flags.writeable = False
    return (x,)


def twice(x):
    return x, x


CALLS = {
    "an error, then none": (positive, [lambda: (-np.eye(2),)] * 6 + [lambda: (np.eye(2),)] * 2),
    "no error, then one": (positive, [lambda: (np.eye(2),)] * 6 + [lambda: (-np.eye(2),)] * 2),
    "jitter that is not needed any more": (jitter, [lambda: (-np.eye(2),)] * 6 + [lambda: (np.eye(2),)] * 2),
    "an index out of bounds": (element, [lambda: (ones(3), np.int64(5))] * 6 + [lambda: (ones(3), np.int64(1))] * 2),
    "an index that goes out": (element, [lambda: (ones(3), np.int64(1))] * 6 + [lambda: (ones(3), np.int64(5))] * 2),
    "an item of a dict": (stored, [lambda: ({"w": ones()}, ones())] * 6),
    "an item of a list": (appended, [lambda: ([ones()],)] * 6),
    "a number in a nested dict": (nested, [lambda: ({"x": ones(), "inner": {"count": 1}},)] * 6),
    "one array twice": (written, [lambda: (ones(), ones())] * 6 + [lambda: twice(ones())] * 2),
    "identity": (identity, [lambda: twice(ones())] * 2 + [lambda: (ones(), ones())] * 5),
    "type": (kind, [lambda: (ones(),)] * 6),
    "text": (text, [lambda: (ones(),)] * 6),
    "flags": (flags, [lambda: frozen(ones()), lambda: (ones(),)] * 4),
}  # fmt: skip


def called(function, args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - of whatever kind
        return type(error)


@pytest.mark.parametrize("name", CALLS)
def test_results_and_arguments_are_those_of_the_function(name):
    function, calls = CALLS[name]
    compiled = pb.compile(function)
    for make in calls:
        given, again = make(), make()
        found, expected = called(compiled, given), called(function, again)
        if isinstance(expected, type):
            assert found is expected
        else:
            np.testing.assert_allclose(found, expected)
            assert type(found) is type(expected)
        assert repr(given) == repr(again)


def test_an_argument_that_the_function_reads_of_itself():
    compiled = pb.compile(read_of_itself)
    for _ in range(6):
        compiled(ones())
    try:
        assert compiled(G).tolist() == [2500.0, 0.0]
    finally:
        G[:] = 0.0


def test_a_class_among_the_arguments_is_watched():
    class Settings:
        k = 3.0

    def scaled(cls, x):
        work(x)
        return x * cls.k

    compiled = pb.compile(scaled)
    for _ in range(6):
        compiled(Settings, ones())
    Settings.k = 4.0
    assert compiled(Settings, ones()).tolist() == [4.0, 4.0]


class Average:
    def __init__(self):
        self.m = np.zeros(3)

    def __call__(self, x):
        self.m = 0.9 * self.m + 0.1 * x
        return self.m.sum()


def test_a_function_that_sets_attributes_runs_eagerly_and_leaves_no_traced_array():
    average, plain = Average(), Average()
    compiled = pb.compile(average)
    for _ in range(6):
        assert compiled(ones(3)) == plain(ones(3))
    assert type(average.m) is np.ndarray


def test_an_outer_variable_that_is_set():
    total = 0.0

    def counted(x):
        nonlocal total
        total = total + x.sum()
        return x * 2

    compiled = pb.compile(counted)
    for _ in range(5):
        compiled(ones())
    assert total == 10.0
    assert type(total) is np.float64


def test_a_hook_inside_runs_at_each_call():
    seen = []

    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g.sum().item()))
        return y.sum()

    compiled = pb.compile(hooked)
    for _ in range(5):
        x = pb.ones(3, requires_grad=True)
        compiled(x).backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert seen == [3.0] * 5


def test_the_first_calls_draw_as_often_as_the_function():
    def dropped(x):
        return pb.nn.functional.dropout(x, 0.5)

    compiled = pb.compile(dropped)
    for seed in range(6):
        results = []
        for function in (compiled, dropped):
            pb.manual_seed(seed)
            results.append((function(pb.ones(8, requires_grad=True)).tolist(), pb.rand(2).tolist()))
        assert results[0] == results[1]


def test_where_a_program_gives_something_else_the_caller_gets_what_the_function_gives():
    state = {"k": 1.0}

    class Odd(dict):
        def __getitem__(self, key):
            return state[key]

    odd = Odd()

    def scaled(x):
        work(x)
        return x * odd["k"]

    compiled = pb.compile(scaled, pure=True)
    compiled(ones())
    compiled(ones())
    state["k"] = 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled(ones()).tolist() == [2.0, 2.0]


# -- results of recordings ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda x: (x > 1) ** 2, [np.arange(3.0)] * 6),  # np.square of truth values, which gives int8
        (lambda x: x * RATES, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]),  # as an array it counts
    ],
)
def test_no_call_has_another_dtype_than_the_function_gives(function, given):
    compiled = pb.compile(function)
    for x in given:
        assert compiled(x).dtype == function(x).dtype


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: 2 ** np.sort(x.astype(int)), np.array([3.0, -1.0])),
        (lambda x: np.sort(x), np.array(2.0)),
        (lambda x: np.nonzero(x > 1), np.array(2.0)),
    ],
)
def test_what_the_function_refuses_is_refused_at_each_call(function, x):
    compiled = pb.compile(function)
    for _ in range(4):
        with pytest.raises(Exception) as expected:
            function(x)
        with pytest.raises(expected.type):
            compiled(x)


@pytest.mark.parametrize("function", [lambda x: x, lambda x: (np.sin(x), x[::-1]), lambda x: x.__iadd__(1)])
def test_results_have_memory_of_their_own_however_long_a_program_takes(function, monkeypatch):
    monkeypatch.setattr(program.Record, "is_slower", True)
    compiled = pb.compile(function)
    for _ in range(6):
        x = np.arange(3.0)
        found = compiled(x)
        assert not any(np.may_share_memory(x, y) for y in (found if type(found) is tuple else [found]))


def table(x):
    made = np.empty((3, 3))
    for k in range(3):
        made[k] = x * k
        made[k, k] = -1.0
    return made


def table_of_tensors(x):
    made = pb.empty(3, 3)
    made[1], made[0] = x, 0.0
    made[2] = x * 2
    made[2, 2] = -1.0
    return made


@pytest.mark.parametrize(("function", "made"), [(table, np.array), (table_of_tensors, pb.tensor)])
def test_memory_as_it_is_found_keeps_no_two_recordings_apart(function, made):
    compiled = pb.compile(function)
    for k in range(4):
        before = [np.random.default_rng(k).random(9) for _ in range(3)]
        x = made([1.0, 2.0 * k, 3.0])
        del before
        np.testing.assert_array_equal(compiled(x), function(x))
    assert "1 program" in repr(compiled)
