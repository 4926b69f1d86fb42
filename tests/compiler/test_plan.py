"""What a plan leaves out, and what it writes over, changes no number."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import CompileWarning, plan, writer
from tests.compiler.recorded import Recorder, arrays_of

INF, NAN = np.inf, np.nan
NUMBERS = {
    "float": np.array([NAN, -0.0, 0.0, INF, -INF, 2.0]),
    "complex": np.array([complex(INF, 0), complex(NAN, 1), complex(-0.0, -0.0), complex(0, -INF), 1j, 2]),
    "int": np.arange(6) - 3,
    "bool": np.array([True, False] * 3),
}


def programs(x):
    ones = pb.ones_like(x)
    everywhere = pb.ones(6) > 0
    return [
        x * ones, ones * x, x * 1, x / 1, x / ones, x + 0, x - 0, x * 0, x**1, x.clone(), x.reshape(6), x.expand(6),
        x.reshape(2, 3).T.contiguous(), x.to(x.dtype), pb.where(everywhere, x, x * 2), pb.where(everywhere, x * 2, x),
        pb.where(everywhere, x, 0.5), x[:1].expand(6) * ones, x.reshape(2, 3).T.reshape(6), x.reshape(2, 3).T * 1,
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", NUMBERS)
def test_what_is_left_out_is_exact(kind):
    x = NUMBERS[kind]
    if kind == "bool":

        def run(t):
            return [t.clone(), t & True, t | False, t.reshape(2, 3).T.contiguous(), pb.where(pb.ones(6) > 0, t, ~t)]
    else:
        run = programs
    recorder = Recorder()
    made = recorder.program(run(recorder.tensor(pb.tensor(x[::-1].copy()))))
    recorder.spoil()
    for a, b in zip(made.compute([x]), arrays_of(run(pb.tensor(x))), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(a), part(b))
            np.testing.assert_array_equal(np.signbit(part(a)), np.signbit(part(b))) if kind in (
                "float",
                "complex",
            ) else ()


def expanded_and_written(x):
    return pb.select_scatter((x * 2).expand(3, 3), pb.tensor([7.0, 8.0, 9.0]), 0, 0)


def columns_written(x):
    y = pb.stack([x, x * 2]).T
    z = y * 2
    z[0] = 1.0
    return z, z.contiguous().as_strided((3,), (1,), 1)


def read_later(x):
    y = x * 2
    first = y[:2]
    z = y.clone()
    z[0] = -1.0
    y2 = y + 1
    w = y.sin()
    return z, y2 + w, first + 1


def chosen_as_a_whole(x):
    y = x * 2
    some = pb.where(x.sum() > 0, y, 0.0)
    none = pb.where(x.sum() < 0, y, -0.0)
    return some, some + 1, none + 1, y, y + 1


@pytest.mark.parametrize("function", [expanded_and_written, columns_written, read_later, chosen_as_a_whole])
def test_nothing_is_written_over_that_is_read_later(function, monkeypatch):
    monkeypatch.setattr(writer, "_REUSED", 1)
    recorder = Recorder()
    made = recorder.program(function(recorder.tensor(pb.tensor([3.0, 1.0, 2.0]))))
    x = np.array([1.0, 2.0, 3.0])
    for a, b in zip(made.compute([x]), arrays_of(function(pb.tensor(x))), strict=True):
        np.testing.assert_array_equal(a, b)


def test_large_constants_are_told_apart_by_their_numbers():
    def f(x):
        table = pb.zeros(5000)
        before = x * table
        table += 1
        return before, x * table

    recorder = Recorder()
    made = recorder.program(f(recorder.tensor(pb.ones(5000))))
    for a, b in zip(made.compute([np.ones(5000)]), arrays_of(f(pb.ones(5000))), strict=True):
        np.testing.assert_array_equal(a, b)


def lowered(x, w):
    """What the program says in steps of NumPy's, in one line each."""
    left, right = x.chunk(2, 1)
    return [
        pb.sigmoid(x), left * right, *x.split(3, 1), x.mean(), x.mean(0), x.mean((0, 1), True), x.sum(-1), x.sum([0]),
        x.sum((0, 1), True), 1 - x, 2.5 * x, x + 3, 0.1 / x, x < 0.3, x**3, pb.where(x > 0, 0, x),
        pb.where(x > 0, x, w), pb.where(x > 0, x, 0.1), x.T @ w, x.permute(1, 0), x.transpose(-1, 0),
        pb.stack([x, w], -2), pb.stack([x, w]),
        pb.select_scatter(x, w[0], 0, 1), x[1:].mean(),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("shape", [(2, 4), (30, 40)])
def test_a_line_of_numpys_gives_what_the_kernel_gives(shape, dtype):
    rng = np.random.default_rng(3)
    x, w = (np.asarray(100 * rng.standard_normal(shape), dtype) for _ in range(2))
    if dtype.startswith("f"):
        x.flat[:8] = [0.0, -0.0, INF, -INF, NAN, 1e-30, 90.0, -90.0]
        functions = range(len(lowered(pb.tensor(x), pb.tensor(w))))
    else:
        functions = None

    def run(a, b):
        if functions is None:  # of those that take complex or whole numbers
            return [1 - a, 2.5 * a, a + 3, a**3, a.sum(-1), a.sum((0, 1), True), *a.chunk(2, 1), a.T, pb.stack([a, b])]
        return lowered(a, b)

    recorder = Recorder()
    made = recorder.program(run(*(recorder.tensor(pb.tensor(t[::-1].copy())) for t in (x, w))))
    recorder.spoil()
    for a, b in zip(made.compute([x, w]), arrays_of(run(pb.tensor(x), pb.tensor(w))), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=4 * np.finfo(dtype).eps if dtype != "int64" else 0)


def test_numbers_are_arrays_of_the_dtype_that_they_are_taken_for():
    recorder = Recorder()
    made = recorder.program([1 - recorder.tensor(pb.ones(3, dtype=np.float32)) * 2.5])
    numbers = [x for name, x in made.plan.names.items() if name.startswith("x")]
    assert [(type(x), x.dtype.name, x.shape) for x in numbers] == [(np.ndarray, "float32", ())] * 2


def test_a_mistake_in_the_making_of_machine_code_is_said_and_numpy_runs(monkeypatch):
    def broken(*args):
        raise AssertionError("a window without a node")

    monkeypatch.setattr(plan, "chosen", lambda asked_for: object())
    monkeypatch.setattr(plan, "in_parts", broken)
    compiled, x = pb.compile(lambda x: np.sin(x) * 2.0 + np.exp(x)), np.arange(3.0)
    compiled(x)
    with pytest.warns(CompileWarning, match="without machine code: AssertionError: a window without a node"):
        compiled(x)
    for _ in range(4):
        np.testing.assert_allclose(compiled(x), np.sin(x) * 2.0 + np.exp(x), rtol=1e-14)
