"""Every instruction, in C and for LLVM, computes what NumPy does: scalars, and vectors of each width."""

import ctypes

import numpy as np
import pytest

from pullback.compiler.native import matrices, runtime, selftest
from pullback.compiler.native.code import ADDRESS, BOOL, INDEX, Code, Module, Type
from pullback.compiler.native.toolchain import CCompiler, CompilerError
from tests.compiler.native.calls import called

VECTORS = [Type("f", bits, max(1, size * 8 // bits)) for bits in (32, 64) for size in (0, 16, 32, 64)]


@pytest.mark.parametrize("type_", VECTORS, ids=lambda x: f"f{x.bits}x{x.lanes}")
def test_instructions_compute_what_numpy_does(tool, type_):
    library = tool.build(selftest.module(type_), None)
    for seed in range(30):
        assert not selftest.differences(type_, library.address("check"), seed)


def test_a_wrong_instruction_is_found(tool, monkeypatch):
    from pullback.compiler.native import render_c, render_llvm

    monkeypatch.setitem(render_c._VECTORS, "le", "({t})(~({0} > {1}))")
    monkeypatch.setitem(render_llvm._INSTRUCTIONS, "le", "fcmp ule {t0} {0}, {1}")
    type_ = Type("f", 64, 2)
    library = tool.build(selftest.module(type_), None)
    found = [selftest.differences(type_, library.address("check"), seed) for seed in range(10)]
    assert {wrong.split(":")[0] for some in found for wrong in some} == {"le", "ge"}


def test_equal_functions_have_equal_text(tool):
    def text(zero):
        code = Code("twice", [("of", ADDRESS)])
        zero and code.number(7, INDEX)
        value = code.load(Type("f", 64), code.params[0])
        code.store(value * 2.0, code.params[0])
        return tool.render(Module([code]))

    assert text(False) == text(False)


def test_what_nobody_needs_is_not_written(tool):
    code = Code("f", [("of", ADDRESS)])
    code.unary("sqrt", code.load(Type("f", 64), code.params[0]))
    assert "sqrt" not in tool.render(Module([code])).replace("#include", "")


def test_a_function_may_end_within_a_loop(tool):
    code = Code("first", [("count", INDEX), ("wanted", INDEX)], INDEX)
    count, wanted = code.params
    with code.loop(0, count) as place:
        with code.when((place * place).eq(wanted)) as branch:
            code.give(place)
        with code.otherwise(branch), code.when(wanted < place):
            code.give(code.index(-2))
    code.give(code.index(-1))
    first = called(tool.build(Module([code]), None), "first", "qqq")
    assert [first(10, 49), first(5, 49), first(10, 3), first(0, 0)] == [7, -1, -2, -1]


def test_masks_and_addresses_are_arguments_and_results(tool):
    both = Code("both", [("a", BOOL), ("b", BOOL)], BOOL, shared=False)
    both.give(both.params[0] & ~both.params[1])
    code = Code("f", [("at", ADDRESS)], ADDRESS)
    at = code.params[0]
    yes = code.call("both", BOOL, at.ne(code.number(0, ADDRESS)), code.number(False, BOOL))
    code.give(code.sel(yes, code.shift(at, 3), at))
    f = called(tool.build(Module([both, code]), None), "f", "qq")
    assert f(16) == 19
    assert f(0) == 0


def test_whole_numbers_of_every_width_wrap(tool):
    code = Code("f", [("x", INDEX)], INDEX)
    sums = code.index(0)
    for bits in (8, 16, 32):
        x = code.cast(code.params[0], bits)
        sums = sums * 1000 + code.cast(x * x + x, 64)
    code.give(sums)
    f = called(tool.build(Module([code]), None), "f", "qq")

    def wrapped(x, bits):
        x %= 1 << bits
        return x - (1 << bits) if x >> (bits - 1) else x

    for x in (7, 200, 40000, 2**31 - 1, -5):
        sums = 0
        for bits in (8, 16, 32):
            y = wrapped(x, bits)
            sums = sums * 1000 + wrapped(y * y + y, bits)
        assert f(x) == wrapped(sums, 64)


class _Strict(CCompiler):
    def _options(self):
        strict = [
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            "-fsanitize=undefined",
            "-fno-sanitize-recover",
        ]
        return [*(option for option in super()._options() if option != "-w"), *strict]


def test_c_has_no_warnings_and_nothing_undefined(tool):
    if not isinstance(tool, CCompiler):
        pytest.skip("it writes none")
    strict = _Strict([tool.name])
    try:
        strict.build(Module([]), None)
    except CompilerError as error:
        pytest.skip(f"there are no sanitizers: {error}")
    for module in (runtime.module(), Module([matrices.kernel(Type("f", 64, 4))])):
        strict.build(module, None)
    for type_ in (Type("f", 64, 4), Type("f", 32)):
        library = strict.build(selftest.module(type_), None)
        assert not any(selftest.differences(type_, library.address("check"), seed) for seed in range(10))


def test_what_is_set_and_never_read_is_not_written(tool):
    code = Code("f", [("of", ADDRESS)])
    value = code.load(Type("f", 64), code.params[0])
    total = code.variable(value)
    with code.loop(0, 3):
        code.set(total, code.unary("sqrt", value))
    assert "sqrt" not in tool.render(Module([code])).replace("#include", "")


@pytest.mark.parametrize("lanes", [1, 4])
def test_products_and_sums_are_rounded_apart(tool, lanes):
    """The square root of x * x - y * y is a number where x and y are equal; with one rounding it may be NaN."""
    code = Code("f", [("x", ADDRESS), ("y", ADDRESS), ("to", ADDRESS)])
    x, y = (code.load(Type("f", 64, lanes), at) for at in code.params[:2])
    code.store(code.unary("sqrt", x * x - y * y), code.params[2])
    f = called(tool.build(Module([code]), None), "f", "vppp")
    to = np.empty(lanes)
    for numbers in np.random.default_rng(0).standard_normal((50, lanes)):
        f(numbers.ctypes.data, numbers.copy().ctypes.data, to.ctypes.data)
        np.testing.assert_array_equal(to, np.zeros(lanes))


def test_loads_touch_nothing_past_the_count(tool):
    """The last lanes lie in a page that may not be read."""
    mmap = pytest.importorskip("mmap")
    libc = ctypes.CDLL(None)
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    if libc.mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0):
        pytest.skip("the page cannot be protected")
    try:
        for type_ in (Type("f", 64, 8), Type("f", 32, 16), Type("m", 64, 8)):
            code = Code("f", [("of", ADDRESS), ("count", INDEX)])
            of, count = code.params
            value = code.load(type_, of, count, None, 1)
            code.store(value, of, count)
            far = code.load(type_, of, count - 1, code.index(type_.bytes))
            code.store(far, of, count - 1, code.index(type_.bytes))
            f = called(tool.build(Module([code]), None), "f", "vpq")
            for count in range(type_.lanes):
                f(start + mmap.PAGESIZE - count * type_.bytes, count)
    finally:
        libc.mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 3)
