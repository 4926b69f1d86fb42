"""Random functions compute the same in C and by LLVM, bit by bit."""

import ctypes
import random
import shutil

import numpy as np
import pytest

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Module, Type
from pullback.compiler.native.toolchain import CCompiler, Llvm
from tests.compiler.native.calls import called

SLOT = 128  # bytes of an operand, and of a result
FLOATS = ("add", "sub", "mul", "div")
UNARY = ("abs", "sqrt", "floor", "ceil", "rint", "trunc")


class Writer:
    """A function of memory that computes at random."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        bits = self.random.choice((32, 64))
        self.type = Type("f", bits, self.random.choice((1, *(8 * size // bits for size in (16, 32, 64)))))
        self.code = Code(f"f{seed}", [("of", ADDRESS), ("to", ADDRESS), ("count", INDEX)])
        self.of, self.to, self.count = self.code.params
        self.variables, self.stored = [], 0
        self.pools = {kind: [self._load(kind)] for kind in "fim"}
        self.scalars = [self.count, self.code.index(3)]
        self.block(self.random.randint(10, 40), 0)
        self.keep()
        self.code.give()

    def _load(self, kind):
        type_ = self.type.to(kind)
        at = self.code.shift(self.of, self.random.randrange(16) * SLOT)
        count = self.random.choice((None, self.count, self.code.index(self.random.randint(-1, 17))))
        stride = self.random.choice((None, self.code.index(type_.bytes * self.random.choice((1, 1, 2)))))
        fill = {"f": 1.5, "i": -3, "m": True}[kind] if self.random.random() < 0.5 else 0
        return self.code.load(type_, at, count, stride, fill)

    def pick(self, kind):
        return self.random.choice(self.pools[kind][-6:])

    def block(self, steps, depth):
        sizes = {kind: len(pool) for kind, pool in self.pools.items()}
        variables = len(self.variables)
        for _ in range(steps):
            self.step(depth)
        self.keep()
        for kind, size in sizes.items():  # what a block has computed is known in it alone
            del self.pools[kind][size:]
        del self.variables[variables:]

    def step(self, depth):
        straight = [self.floats, self.wholes, self.masks, self.selections, self.loads, self.reductions, self.change]
        steps = [*straight, *straight, self.loop, self.branch, self.variable]
        step = self.random.choice(steps if depth < 3 else straight)
        step(depth) if step in (self.loop, self.branch) else step()

    def floats(self):
        c, a, b, i = self.code, self.pick("f"), self.pick("f"), self.pick("i")
        two, one = self.random.choice(FLOATS), self.random.choice(UNARY)
        made = (c.fma(a, b, self.pick("f")), -a, a * 0.1, c.float(i), c.tofloat(i), c.unary(one, a))
        self.pools["f"].append(self.random.choice((c.arithmetic(two, a, b), *made)))

    def wholes(self):
        c, a, i, j = self.code, self.pick("f"), self.pick("i"), self.pick("i")
        number = c.sel(a.ne(a), 1.0, a)  # a NaN has one sign in C and the other by LLVM
        shifted = (c.shifted("shl", i, 5), c.shifted("sra", i, 9), c.shifted("srl", i, 3))
        made = (i + j, i - j, i * j, i & j, i | j, i ^ j, ~i, -i, c.bits(number), *shifted)
        self.pools["i"].append(self.random.choice(made))

    def masks(self):
        a, b, i, j, p, q = (self.pick(kind) for kind in "ffiimm")
        made = (a < b, a <= b, a.eq(b), a.ne(b), i < j, i <= j, i.eq(j), i.ne(j), p & q, p | q, p ^ q, ~p)
        self.pools["m"].append(self.random.choice(made))

    def selections(self):
        kind = self.random.choice("fim")
        self.pools[kind].append(self.code.sel(self.pick("m"), self.pick(kind), self.pick(kind)))

    def loads(self):
        kind = self.random.choice("fim")
        self.pools[kind].append(self._load(kind))

    def reductions(self):
        c = self.code
        kind = self.random.choice("fim")
        x = self.pick(kind)
        if kind == "m":
            found = self.random.choice((c.any, c.all))(x)
        else:
            found = c.across(self.random.choice(("add", "mul", "max", "min")), x)
        self.pools[kind].append(c.splat(found, self.type.lanes))

    def loop(self, depth):
        c = self.code
        begin, end, by = (self.random.choice(x) for x in ((0, -4), self.scalars, (1, 2)))
        with c.loop(begin, end, by) as place:
            self.pools["i"].append(c.splat(c.cast(place, self.type.bits), self.type.lanes))
            self.block(self.random.randint(1, 6), depth + 1)
            self.pools["i"].pop()

    def branch(self, depth):
        c = self.code
        with c.when(c.any(self.pick("m"))) as branch:
            self.block(self.random.randint(1, 6), depth + 1)
        if self.random.random() < 0.5:
            with c.otherwise(branch):
                self.block(self.random.randint(1, 6), depth + 1)

    def variable(self):
        self.variables.append(self.code.variable(self.pick(self.random.choice("fim"))))

    def change(self):
        """A variable gets another value, or is read, or memory is written."""
        c = self.code
        if self.variables and self.random.random() < 0.7:
            variable = self.random.choice(self.variables)
            kind = variable.type.kind
            self.pools[kind].append(c.get(variable))
            c.set(variable, self.pick(kind))
        else:
            room = c.room(4 * SLOT)
            x = self.pick(self.random.choice("fim"))
            stride = c.index(2 * x.type.bytes)
            c.store(x, room, None, stride)
            self.pools[x.type.kind].append(c.load(x.type, room, None, stride))

    def keep(self):
        """Write a value of each kind."""
        for kind in "fim":
            x = self.pick(kind)
            at = self.code.shift(self.to, self.stored * 2 * SLOT)
            count = self.random.choice((None, self.count))
            self.code.store(x, at, count, self.random.choice((None, self.code.index(2 * x.type.bytes))))
            self.stored += 1


def _same(x, y):
    """The same bits, but for the sign of NaN: in each width, since memory has both."""
    if np.array_equal(x, y):
        return True
    for dtype, whole in (("f4", "i4"), ("f8", "i8")):
        a, b = x.view(dtype), y.view(dtype)
        if np.all((a.view(whole) == b.view(whole)) | (np.isnan(a) & np.isnan(b))):
            return True
    return False


def _differences(seeds):
    writers = [Writer(seed) for seed in seeds]
    module = Module([writer.code for writer in writers])
    command = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if command is None:
        pytest.skip("there is no C compiler")
    libraries = [tool.build(module, None) for tool in (CCompiler([command]), Llvm())]
    found = []
    for writer in writers:
        rng = np.random.default_rng(writer.random.randrange(1 << 30))
        of = rng.integers(0, 2, 17 * SLOT * 4, dtype=np.int8)  # masks
        numbers = of.view(f"f{writer.type.bits // 8}")
        numbers[: 8 * SLOT // numbers.itemsize * 4] = rng.standard_normal(8 * SLOT // numbers.itemsize * 4) * 3
        results = []
        for library in libraries:
            to = np.full((writer.stored + 4) * 2 * SLOT, 7, np.int8)
            called(library, writer.code.name, "vppq")(of.ctypes.data, to.ctypes.data, ctypes.c_int64(3))
            results.append(to)
        if not _same(*results):
            found.append(writer.code.name)
    return found


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_functions_are_the_same_in_c_and_by_llvm(start):
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    assert not _differences(range(start, start + 20))
