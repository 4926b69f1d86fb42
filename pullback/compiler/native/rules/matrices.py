"""Linear systems, inverses, determinants and Cholesky factors of small matrices, by loops.

NumPy's LAPACK is faster from some ten rows on. So these are for programs that have no NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.functions import FUNCTIONS
from pullback.compiler.native.lowering import BOOL, FLOATS, WHOLE, Lowering, lowers
from pullback.compiler.native.nodes import Index, Window
from pullback.core.types import Shape


def _fits(lowering: Lowering, step: Step, *arrays: Any) -> bool:
    dtype = step.results[0].dtype
    ok = dtype in FLOATS and all(type(x) is Value and x.dtype == dtype and len(x.shape) > 1 for x in arrays)
    return ok and not lowering.calls


def _turned(x: Window, rows: bool, columns: bool) -> Window:
    """The last two dimensions, or one of them, from their ends."""
    for d, turn in ((-2, rows), (-1, columns)):
        if turn:
            strides = list(x.strides)
            offset = x.offset + strides[d] * (x.shape[d] - 1)
            strides[d] = -strides[d]
            x = x._replace(strides=tuple(strides), offset=offset)
    return x


class _Factors:
    """L and U of square matrices with rows in another order: U on and above the diagonal, L below."""

    def __init__(self, lowering: Lowering, a: Window) -> None:
        self.lowering, (*batch, n, _) = lowering, a.shape
        self.batch, self.n, self.dtype = tuple(batch), n, a.node.dtype
        self._all = lowering.alone("lower and upper factor", (n,), ((n, n), (n + 2, n)), self.batch, [a])
        self.both = self._rows(0, n)
        self.sign = self._rows(n + 1, 1).only([*range(len(batch))])
        *lead, down, right = self.both.strides
        self.diagonal = self.both._replace(shape=(*batch, n), strides=(*lead, down + right))

    def _rows(self, begin: int, count: int) -> Window:
        x = self._all
        shape = (*self.batch, count, self.n)
        return x._replace(shape=shape, offset=x.offset + begin * x.strides[-2])

    def each(self, name: str, rule: Any, *given: Any, dtype: Any = None) -> Window:
        """Element by element."""
        shape = np.broadcast_shapes(*(x.shape for x in given if type(x) is Window))
        return self.lowering.map(name, rule, given, shape=shape, dtype=dtype or self.dtype)

    def refuse_singular(self) -> None:
        """End the run where there is no inverse."""
        self.lowering.check(self.each("eq", lambda c, t, x, y: x.eq(y), self.diagonal, 0.0, dtype=BOOL))

    def solve(self, b: Window) -> Window:
        """X with A X = B: the rows of B in the order of the factors, then two substitutions."""
        k, batch = b.shape[-1], self.batch
        b = b.spread((*batch, self.n, k))
        order = self._rows(self.n, 1).only([*range(len(batch)), len(batch) + 1])
        order = self.each("whole", simple.whole, order, dtype=WHOLE)
        places = order._replace(shape=b.shape, strides=(*order.strides, 0))
        *lead, down, right = b.strides
        base = b._replace(strides=(*lead, 0, right))
        rows = self.lowering.gather(base, places, Index(down if self.n > 1 else 0, self.n))
        below = substituted(self.lowering, "unit substitution", self.both, rows)
        upper, turned = _turned(self.both, True, True), _turned(below, True, False)
        return _turned(substituted(self.lowering, "substitution", upper, turned), True, False)

    def identity(self) -> Window:
        """The matrix that changes nothing."""
        return self.lowering.constant(np.eye(self.n, dtype=self.dtype)).spread((*self.batch, self.n, self.n))

    def product(self, x: Window) -> Window:
        """The product of the last dimension."""
        return self.lowering.reduce("mul", x, [len(x.shape) - 1])

    def det(self) -> Window:
        """The determinants."""
        return self.each("mul", simple.mul, self.product(self.diagonal), self.sign)

    def info(self) -> Window:
        """1 where there is no inverse, else 0."""
        size = self.each("abs", lambda c, t, x: c.unary("abs", x), self.diagonal)
        least = self.lowering.reduce("min", size, [len(size.shape) - 1])
        rule = lambda c, t, x: c.sel(c.toint(x * 0.0).eq(0) & x.eq(0.0), c.number(1, t), 0)  # noqa: E731
        return self.each("is zero", rule, least, dtype=WHOLE)


def substituted(lowering: Lowering, name: str, a: Window, b: Window) -> Window:
    """X with A X = B for lower triangular A."""
    *batch, n, k = b.shape
    return lowering.alone(name, (n, k), ((n, n), (n, k), (n, k)), tuple(batch), [a, b])


@lowers("linalg_solve_matrices")
def _solve(lowering: Lowering, step: Step) -> bool:
    a, b, check = (*step.args, False)[:3]
    if not _fits(lowering, step, a, b):
        return False
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if batch != a.shape[:-2]:
        return False
    factors = _Factors(lowering, lowering.window(a))
    if check:
        factors.refuse_singular()
    return lowering.gives(step, factors.solve(lowering.window(b)), factors.info())


@lowers("linalg_inv_ex")
def _inverse(lowering: Lowering, step: Step) -> bool:
    a, check = (*step.args, False)[:2]
    if not _fits(lowering, step, a):
        return False
    factors = _Factors(lowering, lowering.window(a))
    if check:
        factors.refuse_singular()
    return lowering.gives(step, factors.solve(factors.identity()), factors.info())


@lowers("linalg_det")
def _det(lowering: Lowering, step: Step) -> bool:
    if not _fits(lowering, step, step.args[0]):
        return False
    return lowering.gives(step, _Factors(lowering, lowering.window(step.args[0])).det())


@lowers("linalg_slogdet")
def _slogdet(lowering: Lowering, step: Step) -> bool:
    if not _fits(lowering, step, step.args[0]):
        return False
    factors = _Factors(lowering, lowering.window(step.args[0]))
    rule = lambda c, t, x: c.sel(x < 0.0, c.number(-1.0, t), c.sel(x.eq(0.0), 0.0, c.number(1.0, t)))  # noqa: E731
    signs = factors.each("sign", rule, factors.diagonal)
    sign = factors.each("mul", simple.mul, factors.product(signs), factors.sign)
    logs = factors.each("log of abs", lambda c, t, x: FUNCTIONS["log"](c, c.unary("abs", x)), factors.diagonal)
    return lowering.gives(step, sign, lowering.reduce("add", logs, [len(logs.shape) - 1]))


@lowers("adjugate")
def _adjugate(lowering: Lowering, step: Step) -> bool:
    """det(A) A^-1; there is one of singular matrices too, for which NumPy's kernel decomposes them."""
    if not _fits(lowering, step, step.args[0]):
        return False
    factors = _Factors(lowering, lowering.window(step.args[0]))
    factors.refuse_singular()
    det = factors.det()
    det = det._replace(shape=(*det.shape, 1, 1), strides=(*det.strides, 0, 0))
    found = factors.each("mul", simple.mul, factors.solve(factors.identity()), det)
    return lowering.gives(step, found)


@lowers("linalg_cholesky_ex")
def _cholesky(lowering: Lowering, step: Step) -> bool:
    a, upper, check = step.args + (False, False)[len(step.args) - 1 :]
    if not _fits(lowering, step, a):
        return False
    window = lowering.window(a)
    *batch, n, _ = a.shape
    given = window.swapped() if upper else window
    root = lowering.alone("lower root", (n,), ((n, n), (n, n)), tuple(batch), [given])
    *lead, down, right = root.strides
    diagonal = root._replace(shape=(*batch, n), strides=(*lead, down + right))
    rule = lambda c, t, x: ~(x > 0.0)  # noqa: E731
    wrong = lowering.map("not above 0", rule, [diagonal], shape=diagonal.shape, dtype=BOOL)
    if check:
        lowering.check(wrong)
    numbers = lowering.map("number", simple.number, [wrong], shape=wrong.shape, dtype=np.float64)
    info = lowering.reduce("max", numbers, [len(batch)])
    info = lowering.map("whole", simple.whole, [info], shape=info.shape, dtype=WHOLE)
    return lowering.gives(step, root.swapped() if upper else root, info)


@lowers("linalg_solve_triangular")
def _triangular(lowering: Lowering, step: Step) -> bool:
    """The kernel substitutes down a lower triangle: others are turned round, or exchanged."""
    a, b, upper, left, unit = step.args + (True, False)[len(step.args) - 3 :]
    if not _fits(lowering, step, a, b):
        return False
    x, y = lowering.window(a), lowering.window(b)
    if not left:  # X A = B is A' X' = B'
        x, y, upper = x.swapped(), y.swapped(), not upper
    batch: Shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = x.spread((*batch, *x.shape[-2:])), y.spread((*batch, *y.shape[-2:]))
    x, y = _turned(x, upper, upper), _turned(y, upper, False)
    found = _turned(substituted(lowering, "unit substitution" if unit else "substitution", x, y), upper, False)
    return lowering.gives(step, found if left else found.swapped())
