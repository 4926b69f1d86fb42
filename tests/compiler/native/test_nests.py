"""Steps in machine code give what NumPy's kernels give, and touch no memory but their own."""

import ctypes
import os
import warnings
from math import prod

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.native.code import Module
from pullback.compiler.native.lowering import Lowering
from pullback.compiler.native.parts import NativePart
from tests.compiler.native import graphs

F = pb.nn.functional
SIZES = [64, 32, 16, 0]  # bytes of a vector; 0 for scalars


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check(seed, tool, size):
    graph = graphs.made(seed)
    with graphs.vectors_of(tool, size):
        how = graphs.difference(graph, tool)
    assert not how, f"{how}\n{graphs.described(graph, seed)}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(6))
def test_a_random_graph(tool, seed, size):
    check(100 * size + seed, tool, size)


@pytest.mark.skipif("PULLBACK_LONG" not in os.environ, reason="takes ten minutes: PULLBACK_LONG=1")
@pytest.mark.parametrize("part", range(20))
def test_many_more_random_graphs(tool, part):
    for seed in range(10_000 + 200 * part, 10_200 + 200 * part):
        check(seed, tool, SIZES[seed % 4])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(5))
def test_kernels_of_equal_form_have_equal_text(tool, seed, size):
    with graphs.vectors_of(tool, size):
        plan = graphs.natively(graphs.made(50_000 + 100 * size + seed).program, tool)
        texts = {}
        for part in plan.parts if plan is not None else ():
            if isinstance(part, NativePart):
                for kernel in part.program.kernels:
                    text = tool.render(Module([kernel.write()]))
                    assert texts.setdefault((id(part), kernel.form), text) == text


# -- what was wrong once -----------------------------------------------------------------------------------------------
X, INDEX = np.random.default_rng(0).standard_normal((130, 17)), np.arange(3)


def read_by_memory(x):
    return (
        x.T[1:].as_strided((2, 2), (1, 2), 1) * 3,
        x.sum(0, keepdim=True).mul(x.T.contiguous().T).as_strided((5,), (2,), 1),
    )


def selected_along_a_short_dimension(x, i):
    return pb.index_select(x[:, :3], 1, i), pb.gather(x[:2], 1, i.expand(2, 3))


def added_in_one_place(x, i):
    def taken(x):
        return (pb.index_select(x, 1, (i * 0 + 1)[:1].expand(17)) * x).sum() + pb.index_select(x[:, :1], 1, i * 0).sum()

    return pb.func.grad(taken)(x), pb.func.grad(lambda x: (pb.gather(x, 1, i[:1].expand(130, 17)) * x).sum())(x)


def indices_that_are_computed(x, i):
    weights, before = pb.tensor([1.0, 2.0, 3.0]), x[0].exp()
    return before, pb.func.grad(lambda x: (x[pb.where(i < 1, i + 17, i) - 1] * weights).sum())(x[0])


def compared_in_double_precision(x):
    """0.1 in single precision is larger than 0.1."""
    x = (x[0, :2] * 0 + 0.1).float()
    return x > pb.tensor(0.1), x > np.float64(0.1), x > 0.1, pb.where(x > np.float64(0.1), x, -x), x.eq(np.float64(0.1))


def summed_over_all(x):
    return pb.mean(x.exp(), (), True) * 2, pb.sum(x * 1, [], True) * 2, pb.amax(x * 1, ())


def losses_of_large_scores(x):
    target = pb.arange(len(x)) % 17
    return [F.cross_entropy(x + by, target) for by in (0.0, 1e6, np.inf)] + [F.cross_entropy(x * np.inf, target)]


def slopes_beside_infinities(x):
    y = pb.stack([x[0], x[1] * np.inf, x[2] - np.inf, pb.where(x[3] > 0, np.inf, x[3])])
    return pb.func.grad(lambda y: pb.logsumexp(y, 1).nan_to_num(0, 0, 0).sum())(y)


def truth_values_beside_whole_numbers(x, i):
    mask = x[0, :3] > 0
    mixed = [pb.where(mask, mask, i), pb.where(mask, i, mask), pb.where(i > 0, mask, True), pb.where(mask, True, mask)]
    sums = [i + mask, mask * 3, i - 5 * mask, (i < mask) | (mask >= i) & i.eq(True)]
    return [y * x[1, :3] for y in mixed + sums]


def a_number_turned_round(x):
    return (x.sum() * 2).flip(0) + 1, x[0, 0].flip([0, -1]) * 3


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (read_by_memory, [X[:3, :4].copy()]), (selected_along_a_short_dimension, [X, INDEX]),
        (added_in_one_place, [X, INDEX]), (indices_that_are_computed, [X, INDEX]), (summed_over_all, [X]),
        (compared_in_double_precision, [X]),
        (losses_of_large_scores, [X]), (slopes_beside_infinities, [X]),
        (truth_values_beside_whole_numbers, [X, INDEX]), (a_number_turned_round, [X]),
    ],
)  # fmt: skip
def test_what_was_wrong_once(tool, function, arrays, size):
    graph = graphs.WrittenGraph(function, *arrays)
    with graphs.vectors_of(tool, size):
        assert not graphs.difference(graph, tool, delicate=False)


@pytest.mark.parametrize("size", [64, 16])
def test_long_sums_down_short_rows_are_as_exact_as_numpys(tool, size):
    x = (np.random.default_rng(0).random((100_000, 3)) + 0.5).astype(np.float32)
    graph = graphs.WrittenGraph(lambda x: [x.sum(0), (x * x).mean(0)], x)
    with graphs.vectors_of(tool, size):
        found = graphs.natively(graph.program, tool).call(x)
    exact = x.sum(0, dtype=np.float64), (x.astype(np.float64) ** 2).mean(0)
    for a, b in zip(found, exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=5e-7)


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (lambda x, i: F.cross_entropy(x, i) * 1, [0, -1, 2]),
        (lambda x, i: F.cross_entropy(x, i, ignore_index=-1) * 1, [0, -2, -1]),
        (lambda x, i: pb.func.grad(lambda x: F.cross_entropy(x, i))(x), [-17, 1, 2]),
        (lambda x, i: pb.index_select(x, 1, i) * 2, [0, 17, 1]), (lambda x, i: F.embedding(i, x) * 2, [0, -1, 2]),
        (lambda x, i: pb.gather(x, 1, i.unsqueeze(1)) * 2, [0, -18, 1]),
        (lambda x, i: (F.embedding(i, x), x * 2)[1], [0, -1, 2]), (lambda x, i: F.embedding(i, x).sum(), [0, 3, 2]),
        (lambda x, i: pb.func.grad(lambda x: F.embedding(i, x).sum())(x), [0, 3, 2]),
        (lambda x, i: F.nll_loss(x, i) * 1, [0, -1, 2]),
        (lambda x, i: x[:, i] * 2, [1, 2, 40]), (lambda x, i: x[i, i] * 2, [1, 2, 3]),
    ],
)  # fmt: skip
def test_wrong_indices_are_refused_as_in_eager_mode(tool, monkeypatch, function, wrong):
    monkeypatch.setenv("PULLBACK_COMPILER", tool.name)
    x, compiled = pb.tensor(X[:3]), pb.compile(function)
    for _ in range(6):
        np.testing.assert_allclose(compiled(x, pb.tensor(INDEX)), function(x, pb.tensor(INDEX)), rtol=1e-13)
    for run in (function, compiled):
        with pytest.raises(IndexError):
            run(x, pb.tensor(wrong))
    assert any(
        isinstance(part, NativePart)
        for variants in compiled._by_signature.values()
        for made in variants.programs
        for part in made.plan.parts
    )


# -- memory ------------------------------------------------------------------------------------------------------------
class Guarded:
    """Memory between two pages that nobody may touch."""

    def __init__(self):
        mmap = pytest.importorskip("mmap")
        self.libc, self.page, self.maps = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE, []
        self.mmap = mmap.mmap

    def room(self, size, at_end):
        """The address of so many bytes, which end where a guarded page begins, or begin where one ends."""
        pages = 2 + -(-max(size, 1) // self.page)
        made = self.mmap(-1, pages * self.page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(made))
        last = start + (pages - 1) * self.page
        for page in (start, last):
            if self.libc.mprotect(ctypes.c_void_p(page), self.page, 0):
                pytest.skip("pages cannot be guarded")
        self.maps.append((made, start, pages))
        return last - size if at_end else start + self.page

    def free(self):
        for _, start, pages in self.maps:
            self.libc.mprotect(ctypes.c_void_p(start), pages * self.page, 3)


def run_guarded(part, arrays, tool, at_end):
    """The results of a part whose arrays, workspace and results each lie beside a guarded page."""
    program, guarded = part.program, Guarded()
    library = tool.build(program.module, None)

    def placed(x):
        low, high = np.lib.array_utils.byte_bounds(x)
        address = guarded.room(high - low, at_end)
        ctypes.memmove(address, low, high - low)
        return address + x.__array_interface__["data"][0] - low

    try:
        bases = [guarded.room(-(-program.workspace // 64) * 64, at_end)]
        bases += [placed(x) for x in arrays]
        bases += [placed(x) for x in program.constants]
        outs = [
            np.lib.stride_tricks.as_strided(
                np.empty(prod(x.shape), x.dtype), x.shape, [s * x.dtype.itemsize for s in Lowering.layout(x)]
            )
            for x in part.results
        ]
        places = [guarded.room(x.nbytes, at_end) for x in outs]
        table = np.array([*bases, *places], np.int64)
        for name, data in zip(program.names, program.data, strict=True):
            row = np.array(data, np.int64)
            kernel = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(library.address(name))
            assert kernel(table.ctypes.data, row.ctypes.data) == 0
        for x, place in zip(outs, places, strict=True):
            ctypes.memmove(x.__array_interface__["data"][0], place, x.nbytes)
        return outs
    finally:
        guarded.free()


def first_part(seed, tool):
    """(the graph, the first native part of which all that is given are arguments); (None, None) if there is none."""
    graph = graphs.made(seed)
    plan = graphs.natively(graph.program, tool)
    part = next((x for x in plan.parts if isinstance(x, NativePart)), None) if plan else None
    places = {x.number: nr for nr, x in enumerate(plan.inputs)} if plan else {}
    if part is None or not all(x.number in places for x in part.given):
        return None, None
    return part, [graph.inputs[places[x.number]] for x in part.given]


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(0, 20, 5))
def test_memory_around_arrays_is_not_touched(tool, seed, size, at_end):
    for nr in range(seed, seed + 5):
        with graphs.vectors_of(tool, size):
            part, arrays = first_part(nr, tool)
            if part is None:
                continue
            found = run_guarded(part, arrays, tool, at_end)
            for a, b in zip(found, part.by_numpy(*arrays), strict=True):
                assert graphs.near(a, np.asarray(b), 1e-4), (nr, part.steps)
