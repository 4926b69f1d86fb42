"""Runs code of the loop IR with NumPy, statement by statement: what renderers and functions are compared with.

A value is an array of its lanes, an address a number. Whether a machine contracts a product and a sum into one rounding
is up to it, so there are three ways to run: "never", "fma" (where the code says so) and "always" (wherever it can be).
"""

import ctypes

import numpy as np

from pullback.compiler.native.code import Branch, Loop, Return, Set, Store, Value, Variable

CONTRACTION = ("never", "fma", "always")


class _Returned(Exception):
    def __init__(self, value):
        self.value = value


def dtype_of(type_):
    """NumPy's type of one lane in memory."""
    return np.dtype(
        np.bool_ if type_.kind == "m" else f"i{type_.bits // 8}" if type_.kind in "ip" else f"f{type_.bits // 8}"
    )


class Interpreter:
    """Runs functions.

    Parameters
    ----------
    functions : sequence of Code
        Those that may be called by their names.
    contraction : str
        "never", "fma" or "always".
    """

    def __init__(self, functions=(), contraction="fma"):
        self.functions = {code.name: code for code in functions}
        self.contraction = contraction
        self.rooms = []

    def run(self, code, *args):
        """What the function gives, as an array of lanes; None if it gives nothing."""
        assert len(args) == len(code.params), (code.name, len(args))
        values = {
            param: np.broadcast_to(np.asarray(x, dtype_of(param.type)), (param.type.lanes,))
            for param, x in zip(code.params, args, strict=True)
        }
        try:
            with np.errstate(all="ignore"):
                self._block(code.body, values, {})
        except _Returned as returned:
            return returned.value
        return None

    def _block(self, body, values, variables):
        for statement in body:
            match statement:
                case Value():
                    values[statement] = self._value(statement, values, variables)
                case Variable():
                    variables[statement] = values[statement.first]
                case Set():
                    variables[statement.variable] = values[statement.value]
                case Store():
                    count = None if statement.count is None else int(values[statement.count][0])
                    stride = None if statement.stride is None else int(values[statement.stride][0])
                    _store(values[statement.value], int(values[statement.address][0]), count, stride)
                case Loop():
                    begin, end, step = (int(values[x][0]) for x in (statement.begin, statement.end, statement.step))
                    for place in range(begin, end, step):
                        values[statement.place] = np.array([place])
                        self._block(statement.body, values, variables)
                case Branch():
                    taken = statement.body if values[statement.condition][0] else statement.otherwise
                    self._block(taken, values, variables)
                case Return():
                    raise _Returned(None if statement.value is None else values[statement.value])

    def _value(self, value, values, variables):  # noqa: C901 - a table of instructions
        op, type_, attr, args = value.op, value.type, value.attr, [values[x] for x in value.args]
        if op in ("add", "sub") and self.contraction == "always":
            for k in (0, 1):
                if value.args[k].op == "mul":
                    x, y = (values[z] for z in value.args[k].args)
                    other = args[1 - k]
                    return fused(-x if op == "sub" and k == 1 else x, y, -other if op == "sub" and k == 0 else other)
        if op in _SIMPLE:
            return _SIMPLE[op](*args)
        match op:
            case "const":
                return np.full(type_.lanes, attr, dtype_of(type_))
            case "fma":
                return args[0] * args[1] + args[2] if self.contraction == "never" else fused(*args)
            case "bits" | "float":
                return args[0].view(dtype_of(type_))
            case "tofloat" | "toint" | "cast":
                return args[0] if type_.kind == "m" else args[0].astype(dtype_of(type_))
            case "splat":
                return np.repeat(args[0], type_.lanes)
            case "lane":
                return args[0][attr : attr + 1]
            case "lanes":
                return np.arange(type_.lanes, dtype=dtype_of(type_))
            case "across":
                reduce = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[attr]
                return reduce.reduce(args[0], keepdims=True, dtype=args[0].dtype)
            case "load":
                counted, strided, fill = attr
                rest = [int(x[0]) for x in args[1:]]
                return _load(
                    type_, int(args[0][0]), rest.pop(0) if counted else None, rest.pop() if strided else None, fill
                )
            case "get":
                return variables[attr]
            case "room":
                self.rooms.append(room := np.zeros(attr + 64, np.int8))
                return np.array([-(-room.ctypes.data // 64) * 64])
            case "call":
                return self.run(self.functions[attr], *args)
        raise NotImplementedError(op)


def _store(lanes, address, count, stride):
    size = lanes.dtype.itemsize
    lanes = lanes[:count]
    if stride is None or stride == size:
        ctypes.memmove(address, lanes.tobytes(), lanes.size * size)
        return
    for k, x in enumerate(lanes):
        ctypes.memmove(address + k * stride, x.tobytes(), size)


def _load(type_, address, count, stride, fill):
    dtype = dtype_of(type_)
    lanes = np.full(type_.lanes, fill, dtype)
    count = type_.lanes if count is None else max(0, min(count, type_.lanes))
    if stride is None or stride == dtype.itemsize:
        lanes[:count] = np.frombuffer(ctypes.string_at(address, count * dtype.itemsize), dtype)
        return lanes
    for k in range(count):
        lanes[k] = np.frombuffer(ctypes.string_at(address + k * stride, dtype.itemsize), dtype)[0]
    return lanes


def fused(x, y, z):
    """x * y + z, rounded once; of float64 to a hundredth of a rounding, and of the largest numbers twice."""
    if x.dtype == np.float32:
        return (x.astype(np.float64) * y + z).astype(np.float32)
    product = x * y
    plain = product + z
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    lost = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    first, third = product.astype(np.longdouble), z.astype(np.longdouble)
    total = first + third
    part = total - first
    exact = (total + ((first - (total - part)) + (third - part) + lost)).astype(np.float64)
    rough = (x.astype(np.longdouble) * y + third).astype(np.float64)  # of what is too large for that
    return np.where((exact == 0) & (plain == 0), plain, np.where(np.isfinite(exact), exact, rough))


def _halves(x):
    """x in two parts whose products are exact (Veltkamp)."""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def _divided(x, y):
    quotient = np.abs(x) // np.abs(y)
    return np.where((x < 0) == (y < 0), quotient, -quotient)


_SIMPLE = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "abs": np.abs,
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "trunc": np.trunc,
    "iadd": np.add, "isub": np.subtract, "imul": np.multiply, "ineg": np.negative,
    "iand": np.bitwise_and, "ior": np.bitwise_or, "ixor": np.bitwise_xor,
    "shl": np.left_shift, "sra": np.right_shift,
    "srl": lambda x, by: (x.view(f"u{x.itemsize}") >> by.view(f"u{x.itemsize}")).view(x.dtype),
    "idiv": _divided, "irem": lambda x, y: x - _divided(x, y) * y,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "ilt": np.less, "ile": np.less_equal, "ieq": np.equal, "ine": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not,
    "sel": np.where, "any": lambda mask: np.array([mask.any()]), "all": lambda mask: np.array([mask.all()]),
    "shift": np.add, "toaddress": lambda x: x, "tobits": lambda x: x,
}  # fmt: skip
