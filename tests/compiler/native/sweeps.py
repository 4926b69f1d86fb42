"""Sweeps of functions of the loop IR over many numbers, by any way to run them, against references of more digits."""

import numpy as np

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Module, Type
from pullback.compiler.native.functions import helpers
from tests.compiler.native.calls import called
from tests.compiler.native.interpreter import Interpreter

DTYPES = {64: np.dtype(np.float64), 32: np.dtype(np.float32)}


def kernel(rule, bits, lanes, count, masks=(), whole=False):
    """Code that applies a rule of (code, *values) to arrays, `lanes` at a time: kernel(to, *of, size).

    `whole`: the size is a multiple of the lanes.
    """
    code = Code("kernel", [("to", ADDRESS), *((f"x{k}", ADDRESS) for k in range(count)), ("size", INDEX)])
    to, *of, size = code.params
    type_ = Type("f", bits, lanes)
    types = [type_.to("m") if k in masks else type_ for k in range(count)]
    with code.loop(0, size, lanes) as i:
        part = None if whole or lanes == 1 else size - i
        found = rule(code, *(code.load(t, x.at(i, t.bytes), part) for t, x in zip(types, of, strict=True)))
        code.store(found, to.at(i, found.type.bytes), part)
    code.give()
    return code


def result_of(code, size, bits):
    """An array for what a kernel gives."""
    mask = next(s.value.type.kind for s in code.body[-2].body if hasattr(s, "address")) == "m"
    return np.empty(size, np.bool_ if mask else DTYPES[bits])


def interpreted(rule, arrays, contraction="fma"):
    """What the rule gives, computed with NumPy."""
    arrays, bits, masks = _prepared(arrays)
    code = kernel(rule, bits, max(arrays[0].size, 1), len(arrays), masks=masks)
    out = result_of(code, arrays[0].size, bits)
    interpreter = Interpreter(helpers([code]), contraction)
    interpreter.run(code, out.ctypes.data, *(x.ctypes.data for x in arrays), out.size)
    return out


def compiled(tool, rule, arrays, lanes):
    """What the rule gives, by machine code."""
    arrays, bits, masks = _prepared(arrays)
    code = kernel(rule, bits, lanes, len(arrays), masks=masks)
    library = tool.build(Module([*helpers([code]), code]), None)
    out = result_of(code, arrays[0].size, bits)
    function = called(library, code.name, "v" + "p" * (1 + len(arrays)) + "q")
    function(out.ctypes.data, *(x.ctypes.data for x in arrays), out.size)
    return out


def _prepared(arrays):
    arrays = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*arrays)]
    bits = next((x.dtype.itemsize * 8 for x in arrays if x.dtype.kind == "f"), 64)
    return arrays, bits, [k for k, x in enumerate(arrays) if x.dtype.kind == "b"]


def errors(found, exact):
    """How far each number is from the exact one, in units of the last place; infinite if one of them alone is NaN.

    `exact` is of more digits. What rounds to infinity must be infinite, and zeros must have their signs.
    """
    dtype = found.dtype
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        distance = np.abs(found.astype(exact.dtype) - exact) / np.spacing(np.abs(rounded)).astype(exact.dtype)
        distance = distance.astype(np.float64)
        same = (found == rounded) & ((found != 0) | (np.signbit(found) == np.signbit(rounded)))
        special = ~np.isfinite(rounded) | ~np.isfinite(found)
        # the largest number and infinity are one unit apart
        edge = special & (np.abs(exact) > np.finfo(dtype).max) & (np.abs(found) == np.finfo(dtype).max)
        bad = np.where(same | (np.isnan(found) & np.isnan(rounded)), 0.0, np.where(edge, 1.0, np.inf))
        wrong_zero = (found == 0) & (rounded == 0) & ~same
    return np.where(special, bad, np.where(wrong_zero, np.inf, distance))


def numbers(bits, size, seed=0):
    """Numbers of every size and sign, by their bits, special ones among them."""
    random = np.random.default_rng(seed)
    dtype = DTYPES[bits]
    whole = np.dtype(f"u{bits // 8}")
    found = random.integers(0, np.iinfo(whole).max, size, dtype=whole).view(dtype)
    first = special(bits)[:size]
    found[: first.size] = first
    return found


SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 3.0, -3.0, 1.5, 1e-3, -1e-3, 20.0, -20.0,
    100.0, -100.0, 1e6, -1e6, 1e7, 1e30, -1e30, 745.0, -745.0, 0.9999999, 1.0000001,
)  # fmt: skip


def special(bits):
    """Numbers at which functions are apt to be wrong."""
    info = np.finfo(DTYPES[bits])
    least = info.smallest_subnormal
    edges = [info.tiny, -info.tiny, least, -least, info.tiny * 0.75, info.max, info.min, info.eps, -info.eps,
             1 - info.eps / 2, 1 + info.eps, np.pi, np.pi / 2, 2.0**24, 2.0**53]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array([*SPECIAL, *edges]).astype(DTYPES[bits])
