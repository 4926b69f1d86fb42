"""Random graphs: operators of all areas over arrays of many shapes, dtypes and orders in memory.

    python -m tests.compiler.native.graphs 1000 7

compares a thousand of them, from seed 7, in machine code and by NumPy's kernels, and prints those that differ.
"""

import math
import random
import sys
import warnings
from contextlib import contextmanager

import numpy as np

import pullback as pb
from pullback.arrays.traced.graph import LeftError
from pullback.compiler import plan
from pullback.compiler.native import toolchain
from pullback.compiler.native.parts import NativePart
from pullback.compiler.program import _plan as program_of
from pullback.core.tensor import wrap
from tests.compiler.recorded import Recorder

F = pb.nn.functional
SIZES = [1, 1, 2, 3, 5, 8, 9, 16, 17, 33, 70, 130]
MOST = 20_000  # elements
ORDERS = ["C"] * 4 + ["F", "steps", "reversed", "rotated", "spread", "odd"]
STRANGE = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-310, 1e-40, 1e30, -1.0]
REFUSED = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)


class RandomGraph:
    """Tensors, of which each is computed from some before it, while a recorder looks on.

    Parameters
    ----------
    seed : int
        Two graphs of one seed are the same.

    Attributes
    ----------
    lines : list of str
        What has been done.
    program : Program
        What computes the results from the arrays.
    inputs : list of ndarray
        With which it was traced.
    """

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.recorder, self.lines, self.inputs = Recorder(), [], []
        self.dtype = self.rng.choice(["float32", "float64"])
        self.pool, self.leaves = [], []
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
        self.shape = self._shape(rank)
        for _ in range(self.rng.randint(1, 3)):
            self._keep(self.given(self.shape), "input")
        for _ in range(self.rng.randint(1, 9)):
            self._statement()
        given = {id(x) for x in self.leaves}
        made = [x for x in self.pool if id(x) not in given] or self.pool
        results = self.rng.sample(made, min(len(made), self.rng.randint(1, 3)))
        if self.leaves and self.rng.random() < 0.5:
            results += self._gradients(results)
        self.program = self.recorder.program(results)

    # -- arrays --------------------------------------------------------------------------------------------------------
    def _shape(self, rank):
        shape = [self.rng.choice(SIZES) for _ in range(rank)]
        while math.prod(shape) > MOST:
            shape[shape.index(max(shape))] = self.rng.choice(SIZES[:8])
        return tuple(shape)

    def given(self, shape, dtype=None):
        """A further input, as a Tensor."""
        dtype = dtype or (self.dtype if self.rng.random() < 0.95 else "float64")
        x = ordered(self.rng, self.numbers.standard_normal(shape).astype(dtype))
        self.inputs.append(x)
        t = wrap(self.recorder.array(x))
        if self.rng.random() < 0.5:
            t = t.requires_grad_()
            self.leaves.append(t)
        return t

    def indices(self, shape, below):
        """Whole numbers as an input; some count from the end."""
        low = -below if self.rng.random() < 0.3 else 0
        x = ordered(self.rng, self.numbers.integers(low, below, shape))
        self.inputs.append(x)
        return wrap(self.recorder.array(x))

    def _keep(self, x, line):
        if x.dtype in (np.float32, np.float64) and x.numel() and x.numel() <= 4 * MOST:
            self.pool.append(x)
            self.lines.append(f"{len(self.pool) - 1}: {line} -> {tuple(x.shape)}")

    def beside(self, x):
        """A Tensor whose shape broadcasts with that of x."""
        fit = [y for y in self.pool if _broadcast(x.shape, y.shape)]
        if fit and self.rng.random() < 0.7:
            return self.rng.choice(fit)
        shape = [1 if self.rng.random() < 0.3 else n for n in x.shape]
        return self.given(tuple(shape[self.rng.randint(0, len(shape)) if self.rng.random() < 0.3 else 0 :]))

    def axes(self, x):
        """Some of the dimensions of x."""
        return [d for d in range(x.ndim) if self.rng.random() < 0.5]

    def dim(self, x):
        """One of the dimensions of x, from the end in half of the cases."""
        return self.rng.randrange(-x.ndim, x.ndim) if x.ndim else 0

    def part(self, x):
        """A basic index of x."""
        found = []
        for n in x.shape:
            kind = self.rng.random()
            if kind < 0.2:
                found.append(self.rng.randrange(n))
            elif kind < 0.6:
                begin = self.rng.randrange(n)
                found.append(slice(begin, self.rng.randint(begin + 1, n), self.rng.choice([1, 1, 2, 3])))
            else:
                found.append(slice(None))
        return tuple(found)

    # -- statements ----------------------------------------------------------------------------------------------------
    def _statement(self):
        x, name = self.rng.choice(self.pool[-4:]), self.rng.choice(_SINGLE if self.rng.random() < 0.3 else _AREAS)
        how = self.rng.choice(["", "", "", "", "", "vmap", "grad"])
        do = STATEMENTS[name]
        state = self.rng.getstate()
        try:
            if how == "vmap" and x.ndim and x.shape[0] > 1:
                y = pb.vmap(lambda row: self._inside(do, row, state))(x)
            elif how == "grad":
                y = pb.func.grad(lambda t: (self._inside(do, t, state) * 0.5).sum())(x)
            else:
                how, y = "", do(self, x)
        except (*REFUSED, ZeroDivisionError) as error:
            if "known" not in str(error) and "--loud" in sys.argv:
                print(name, how, tuple(x.shape), type(error).__name__, str(error)[:200])
            return
        for z in y if isinstance(y, (tuple, list)) else [y]:
            self._keep(z, f"{how} {name} of {tuple(x.shape)}")

    def _inside(self, do, x, state):
        """One statement within a transform, on x alone or with the pool."""
        y = do(self, x)
        return y[0] if isinstance(y, (tuple, list)) else y

    def _gradients(self, results):
        outs = [y for y in results if y.requires_grad]
        if not outs:
            return []
        cotangents = [self.given(tuple(y.shape), np.dtype(y.dtype).name).detach().reshape(y.shape) for y in outs]
        found = pb.autograd.grad(outs, self.leaves, cotangents, allow_unused=True)
        return [g for g in found if g is not None]

    # -- other numbers -------------------------------------------------------------------------------------------------
    @property
    def tolerance(self):
        """Of numbers in single precision, if there are any."""
        values = [*self.program.plan.inputs, *(x for step in self.program.plan.steps for x in step.results)]
        return 1e-4 if any(x.dtype == np.float32 for x in values) else 1e-9

    def elsewhere(self, strange):
        """Other numbers for the inputs, in the same form; `strange`: with NaN, infinities, zeros and subnormals."""
        found = []
        for x in self.inputs:
            y = same_form(x)
            if x.dtype.kind == "i":
                y[...] = x[tuple(slice(None, None, -1) for _ in x.shape)]
            else:
                z = self.numbers.standard_normal(x.shape).astype(x.dtype)
                if strange and self.rng.random() < 0.7:
                    z = np.asarray(z)
                    for _ in range(self.rng.randint(1, 4)):
                        with np.errstate(all="ignore"):
                            z[tuple(self.rng.randrange(n) for n in x.shape)] = self.rng.choice(STRANGE)
                y[...] = z
            found.append(y)
        return found


class WrittenGraph(RandomGraph):
    """What a function computes of these arrays."""

    def __init__(self, function, *arrays):
        self.rng, self.numbers = random.Random(0), np.random.default_rng(0)
        self.recorder, self.inputs = Recorder(), [np.asarray(x) for x in arrays]
        self.lines = [function.__name__]
        with np.errstate(all="ignore"), compiled_by(None):
            result = function(*(wrap(self.recorder.array(x)) for x in self.inputs))
            self.program = self.recorder.program(list(result) if isinstance(result, (tuple, list)) else [result])


def _broadcast(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def ordered(rng, x):
    """The same numbers, in memory in some order, with gaps, or backwards."""
    how = rng.choice(ORDERS)
    if how == "F":
        return np.asfortranarray(x)
    if how == "steps" and x.ndim:
        d, by = rng.randrange(x.ndim), rng.choice([2, 3])
        return np.repeat(x, by, d)[(*[slice(None)] * d, slice(None, None, by))]
    if how == "reversed" and x.ndim:
        d = rng.randrange(x.ndim)
        return np.flip(np.flip(x, d).copy(), d)
    if how == "rotated" and x.ndim > 2:
        return np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0)
    if how == "spread" and x.ndim:
        d = rng.randrange(x.ndim)
        return np.broadcast_to(x[(*[slice(None)] * d, slice(0, 1))].copy(), x.shape)
    if how == "odd":  # aligned to its own size alone
        memory = np.empty(x.size + 1, x.dtype)
        found = memory[1:].reshape(x.shape)
        found[...] = x
        return found
    return np.ascontiguousarray(x) if x.ndim else x


def same_form(x):
    """Memory in the form of x."""
    low, high = np.lib.array_utils.byte_bounds(x)
    return np.ndarray(
        x.shape, x.dtype, np.zeros(high - low, np.uint8), x.__array_interface__["data"][0] - low, x.strides
    )


# -- what is done ------------------------------------------------------------------------------------------------------
UNARY = {
    "tanh": pb.tanh,
    "sin": pb.sin,
    "cos": pb.cos,
    "sigmoid": pb.sigmoid,
    "relu": pb.relu,
    "abs": pb.abs,
    "neg": pb.neg,
    "exp": lambda x: pb.exp(-x.abs()),
    "sqrt": lambda x: pb.sqrt(x.abs() + 0.25),
    "log1p": lambda x: pb.log1p(x.abs()),
    "erf": pb.erf,
    "square": pb.square,
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "clamp": lambda x: x.clamp(-0.5, 0.75),
    "times": lambda x: 2.5 * x,
    "less": lambda x: 1 - x,
    "cube": lambda x: x**3,
    "to_double": lambda x: x.double(),
    "to_float": lambda x: x.float(),
    "clone": lambda x: x.clone(),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "reciprocal": lambda x: 1 / (1 + x * x),
    "trunc": lambda x: pb.trunc(x * 3),
    "of_mask": lambda x: (x > 0.1).to(x.dtype),
    "masks": lambda x: pb.where((x > 0) & ~(x > 0.5) | (x < -0.5), x, 0.25),
    "sign": pb.sign,
    "isnan": lambda x: pb.where(pb.isnan(x), 1.0, x),
    "mask_of_mask": lambda x: ((x > 0) == (x < 1)).to(x.dtype) * x,
}
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (1 + y * y),
    "maximum": pb.maximum,
    "minimum": pb.minimum,
    "where": lambda x, y: pb.where(x > y, x, y * 2),
    "atan2": pb.atan2,
    "hypot": pb.hypot,
    "logaddexp": pb.logaddexp,
    "lerp": lambda x, y: pb.lerp(x, y * 1, 0.3),
    "masked": lambda x, y: x.masked_fill(y > 0, 0.5),
    "compare": lambda x, y: (x < y).to(x.dtype),
    "addcmul": lambda x, y: pb.addcmul(x, y, y, value=0.5),
}
REDUCTIONS = {
    "sum": pb.sum,
    "mean": pb.mean,
    "amax": pb.amax,
    "amin": pb.amin,
    "logsumexp": pb.logsumexp,
    "var": pb.var,
    "norm": lambda x, d, keepdim: pb.linalg.vector_norm(x, 2, d, keepdim),
    "std": lambda x, d, keepdim: pb.std(x, d, correction=0, keepdim=keepdim),
    "largest norm": lambda x, d, keepdim: pb.linalg.vector_norm(x, math.inf, d, keepdim),
}


def _reduced(name):
    def do(graph, x):
        axes = graph.axes(x)
        if not axes and graph.rng.random() < 0.7:
            axes = list(range(x.ndim))
        if not axes and name == "logsumexp":
            return x
        return REDUCTIONS[name](x, axes, keepdim=graph.rng.random() < 0.5)

    return do


def _minus_reduced(graph, x):
    """What softmax and its like are made of."""
    axes = graph.axes(x) or list(range(x.ndim))
    y = x - pb.amax(x, axes, keepdim=True) if graph.rng.random() < 0.5 else x - pb.mean(x, axes, keepdim=True)
    y = pb.exp(-y.abs()) if graph.rng.random() < 0.5 else y * x
    return y / (0.5 + y.abs().sum(axes, keepdim=True)) if graph.rng.random() < 0.7 else y


def _layer_norm(graph, x):
    dims = graph.rng.randint(1, x.ndim) if x.ndim else 1
    shape = tuple(x.shape[x.ndim - dims :])
    given = [graph.given(shape, np.dtype(x.dtype).name) if graph.rng.random() < 0.6 else None for _ in range(2)]
    return F.layer_norm(x, shape, *given)


def _matmul(graph, x):
    rng, dtype = graph.rng, np.dtype(x.dtype).name
    if not x.ndim:
        return x * x
    k, n = x.shape[-1], rng.choice([1, 2, 3, 5, 8, 9, 17, 33, 40])
    how = rng.choice(["right", "left", "vector", "linear", "self", "bmm", "transposed"])
    if how == "right":
        lead = tuple(x.shape[:-2]) if rng.random() < 0.3 and x.ndim > 2 else ()
        return x @ graph.given((*lead, k, n), dtype)
    if how == "left" and x.ndim > 1:
        return graph.given((n, x.shape[-2]), dtype) @ x
    if how == "vector":
        return x @ graph.given((k,), dtype)
    if how == "linear":
        return F.linear(x, graph.given((n, k), dtype), graph.given((n,), dtype) if rng.random() < 0.5 else None)
    if how == "self" and x.ndim > 1 and x.shape[-2] <= 40:
        return x @ x.mT
    if how == "bmm" and x.ndim == 3:
        return pb.bmm(x, graph.given((x.shape[0], k, n), dtype))
    if how == "transposed" and x.ndim > 1:
        return x.mT @ graph.given((x.shape[-2], n), dtype)
    return x @ graph.given((k, n), dtype)


def _einsum(graph, x):
    rng = graph.rng
    mine = "abcd"[: x.ndim]
    other = [label for label in mine if rng.random() < 0.6] + (["e"] if rng.random() < 0.5 else [])
    rng.shuffle(other)
    sizes = dict(zip(mine, x.shape, strict=True)) | {"e": rng.choice([1, 2, 3, 5, 8])}
    y = graph.given(tuple(sizes[label] for label in other), np.dtype(x.dtype).name)
    out = [label for label in {*mine, *other} if rng.random() < 0.6]
    out.sort()
    rng.shuffle(out)
    if math.prod(sizes[label] for label in {*mine, *other}) > 10 * MOST:
        return x
    return pb.einsum(f"{mine},{''.join(other)}->{''.join(out)}", x, y)


def _permuted(graph, x):
    return x.permute(graph.rng.sample(range(x.ndim), x.ndim))


def _reshaped(graph, x):
    how = graph.rng.choice(["flat", "unsqueeze", "squeeze", "flatten", "unflatten"])
    if how == "flat":
        return x.reshape(-1)
    if how == "unsqueeze":
        return x.unsqueeze(graph.rng.randint(0, x.ndim)) if x.ndim < 4 else x
    if how == "squeeze":
        return x.squeeze()
    if how == "flatten" and x.ndim > 1:
        d = graph.rng.randrange(x.ndim - 1)
        return x.flatten(d, d + 1)
    d = graph.rng.randrange(x.ndim)
    return x.unflatten(d, (2, -1)) if x.shape[d] % 2 == 0 and x.ndim < 4 else x


def _expanded(graph, x):
    if x.ndim > 3:
        return x.sum(0)
    return x.unsqueeze(0).expand(graph.rng.choice([2, 3, 9]), *x.shape)


def _joined(graph, x):
    rng = graph.rng
    like = [y for y in graph.pool if y.shape == x.shape and y.dtype == x.dtype]
    others = [rng.choice(like) if like and rng.random() < 0.6 else x * rng.random() for _ in range(rng.randint(1, 2))]
    arrays = [x, *others]
    rng.shuffle(arrays)
    if (x.ndim < 4 and rng.random() < 0.5) or not x.ndim:
        return pb.stack(arrays, rng.randint(0, x.ndim))
    return pb.cat(arrays, graph.dim(x))


def _padded(graph, x):
    count = graph.rng.randint(1, max(1, x.ndim))
    return F.pad(x, [graph.rng.choice([0, 1, 2, 3, -1]) for _ in range(2 * count)], value=graph.rng.choice([0.0, 1.5]))


def _flipped(graph, x):
    return x.flip(graph.axes(x)) if graph.rng.random() < 0.6 else x.roll(graph.rng.randint(-3, 3), graph.dim(x))


def _selected(graph, x):
    d, n = graph.dim(x), graph.rng.choice([1, 2, 3, 9, 17])
    how = graph.rng.choice(["index_select", "gather", "take_along", "index", "embedding", "two"])
    if how == "index_select":
        return pb.index_select(x, d, graph.indices((n,), x.shape[d]))
    if how in ("gather", "take_along"):
        shape = list(x.shape)
        shape[d] = n
        if how == "gather":
            shape = [m if k == d % x.ndim else graph.rng.randint(1, m) for k, m in enumerate(shape)]
            return pb.gather(x, d, graph.indices(shape, x.shape[d]).abs() % x.shape[d])
        return pb.take_along_dim(x, graph.indices(shape, x.shape[d]), d)
    if how == "embedding" and x.ndim == 2:
        return F.embedding(graph.indices((3, n), x.shape[0]).abs() % x.shape[0], x)
    if how == "two" and x.ndim > 1:
        return x[graph.indices((n,), x.shape[0]), graph.indices((n,), x.shape[1])]
    return x[(*[slice(None)] * (d % x.ndim), graph.indices((2, n) if graph.rng.random() < 0.3 else (n,), x.shape[d]))]


def _added_by_index(graph, x):
    d, n = graph.dim(x), graph.rng.choice([1, 2, 3, 9, 17])
    shape = list(x.shape)
    shape[d] = n
    y = graph.given(tuple(shape), np.dtype(x.dtype).name)
    return pb.index_add(x, d, graph.indices((n,), x.shape[d]).abs() % x.shape[d], y)


def _classes(graph, x):
    if x.ndim == 1:
        x = x.unsqueeze(0)
    x = x.flatten(0, -2)
    target = graph.indices((x.shape[0],), x.shape[1])
    target = target.abs() % x.shape[1]
    if graph.rng.random() < 0.5:
        target = pb.where(target == 0, -100, target) * 1
    reduction = graph.rng.choice(["mean", "sum", "none"])
    if graph.rng.random() < 0.7:
        return F.cross_entropy(x, target, reduction=reduction)
    return F.nll_loss(F.log_softmax(x, 1), target, reduction=reduction)


def _written(graph, x):
    part, y = graph.part(x), x.clone() if graph.rng.random() < 0.7 else x * 1.5
    z = y[part]
    value = graph.beside(z) if graph.rng.random() < 0.6 else graph.rng.choice([z * 2, 0.75])
    if isinstance(value, pb.Tensor) and not _fits_into(value.shape, z.shape):
        value = 0.5
    how = graph.rng.choice(["=", "+=", "*=", "view", "+= twice"])
    if how == "=":
        y[part] = value
    elif how == "+=":
        y[part] += value
    elif how == "*=":
        y[part] *= value
    elif how == "+= twice":
        y[part] += value
        y[graph.part(x)] += 1.5
    else:
        z.add_(value)
        return [y, z * 2]
    return [y, y.sum()] if graph.rng.random() < 0.3 else y


def _fits_into(shape, into):
    return len(shape) <= len(into) and all(m in (1, n) for m, n in zip(shape[::-1], into[::-1], strict=False))


def _chunks(graph, x):
    d = graph.dim(x)
    parts = (
        x.chunk(graph.rng.choice([2, 3]), d) if graph.rng.random() < 0.5 else x.split(graph.rng.choice([1, 2, 5]), d)
    )
    return [graph.rng.choice(parts), parts[-1] * parts[0].sum()]


_WHOLE = [  # of whole numbers, a mask, a whole number
    lambda i, m, n: pb.where(m, i, n), lambda i, m, n: i * m + n, lambda i, m, n: i - 3 * m, lambda i, m, n: -i,
    lambda i, m, n: pb.where(m, m, i), lambda i, m, n: n - i, lambda i, m, n: i * i, lambda i, m, n: m + i,
]  # fmt: skip
_MASKS = [
    lambda i, m, n: m, lambda i, m, n: i < m, lambda i, m, n: (i >= n) ^ m, lambda i, m, n: ~m | i.eq(n),
    lambda i, m, n: pb.where(m, True, i > 1), lambda i, m, n: pb.where(i.ne(2), m, ~m), lambda i, m, n: (n < i) & m,
]  # fmt: skip


def _whole(graph, x):
    """Whole numbers and truth values beside each other."""
    i, m, n = graph.indices(tuple(x.shape), 5), x > 0.2, graph.rng.choice([-2, 0, 3, 2**40, True])
    for _ in range(graph.rng.randint(1, 4)):
        i, m = graph.rng.choice(_WHOLE)(i, m, n), graph.rng.choice(_MASKS)(i, m, n)
    return [pb.where(m, x, 0.5), (i + m) * x]


def _deeper(graph, x):
    """Several pointwise operators in a row."""
    for _ in range(graph.rng.randint(2, 5)):
        x = graph.rng.choice(list(UNARY.values()))(x)
        if graph.rng.random() < 0.4:
            x = graph.rng.choice(list(BINARY.values()))(x, graph.beside(x))
    return x


def _extreme(graph, x):
    d, keepdim = graph.dim(x), graph.rng.random() < 0.5
    how = graph.rng.choice(["max", "min", "argmax", "all", "prod", "any", "count", "var_mean"])
    if how in ("max", "min"):
        values, places = getattr(x, how)(d, keepdim=keepdim)
        return [values, values * places]
    if how == "argmax":
        return pb.argmax(x, d, keepdim=keepdim) * x.sum()
    if how == "all":
        return x.max() - x.min()
    if how == "prod":
        return pb.prod(x, d, keepdim)
    if how == "any":
        return pb.any(x > 1, d, keepdim).to(x.dtype) - pb.all(x > -1, d, keepdim).to(x.dtype) * 2
    if how == "count":
        return pb.count_nonzero(x > 0, d) * x.sum()
    return list(pb.var_mean(x, d, keepdim=keepdim))


def _spatial(graph, x):
    """Convolution and pooling of one or two dimensions."""
    rng, dtype = graph.rng, np.dtype(x.dtype).name
    dims = rng.choice([1, 2])
    flat = x.flatten()[: 2 * 3 * 6**dims]
    n = int((flat.numel() // 6) ** (1 / dims))
    if n < 4:
        return x
    x = flat[: 6 * n**dims].reshape(*rng.choice([(2, 3), (1, 6), (3, 2)]), *[n] * dims)
    kernel, stride, dilation = rng.randint(1, 3), rng.randint(1, 3), rng.choice([1, 1, 2])
    if dilation * (kernel - 1) >= n:
        dilation = kernel = 1
    how = rng.choice(["conv", "conv", "transposed", "max", "average", "adaptive"])
    if how == "max":
        values, places = (
            F.max_pool2d(x, kernel, stride, kernel // 2, dilation, return_indices=True)
            if dims == 2
            else (F.max_pool1d(x, kernel, stride, kernel // 2, dilation, return_indices=True))
        )
        return [values, values * places]
    if how == "average":
        return (F.avg_pool1d, F.avg_pool2d)[dims - 1](x, kernel, stride, kernel // 2)
    if how == "adaptive":
        return (F.adaptive_max_pool1d, F.adaptive_max_pool2d)[dims - 1](x, rng.randint(1, n))
    groups = rng.choice([1, x.shape[1]])
    if how == "transposed":
        w = graph.given((x.shape[1], 2, *[kernel] * dims), dtype)
        return (F.conv_transpose1d, F.conv_transpose2d)[dims - 1](x, w, None, stride, kernel // 2, 0, groups, dilation)
    w = graph.given((2 * groups, x.shape[1] // groups, *[kernel] * dims), dtype)
    bias = graph.given((2 * groups,), dtype) if rng.random() < 0.5 else None
    return (F.conv1d, F.conv2d)[dims - 1](x, w, bias, stride, rng.randint(0, 2), dilation, groups)


def _running(graph, x):
    if not x.ndim:
        return x.cumsum(0)
    how, d = graph.rng.choice(["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"]), graph.dim(x)
    if how == "cumprod":
        return pb.cumprod(x * 0.5 + 1, d)
    found = getattr(pb, how)(x, d)
    return [found[0], found[0] * found[1]] if how in ("cummax", "cummin") else found


def _matrices(graph, x):
    """Systems of small matrices, far from singular."""
    n, dtype = graph.rng.choice([1, 2, 3, 5]), np.dtype(x.dtype).name
    flat = x.flatten()
    if flat.numel() < n * n:
        return x
    batch = graph.rng.randint(1, min(3, flat.numel() // (n * n)))
    a = pb.tanh(flat[: batch * n * n].reshape(batch, n, n)) * 0.4
    a = (a + pb.eye(n, dtype=x.dtype) * (n + 1))[0 if graph.rng.random() < 0.3 else slice(None)]
    how = graph.rng.choice(["solve", "inv", "det", "slogdet", "cholesky", "triangular", "swapped"])
    b = graph.given((n, graph.rng.randint(1, 3)), dtype)
    if how == "solve":
        return pb.linalg.solve(a, b)
    if how == "cholesky":
        return pb.linalg.cholesky(a @ a.mT, upper=graph.rng.random() < 0.5)
    if how == "triangular":
        left, upper = graph.rng.random() < 0.5, graph.rng.random() < 0.5
        return pb.linalg.solve_triangular(
            a, b if left else b.mT, upper=upper, left=left, unitriangular=graph.rng.random() < 0.3
        )
    if how == "slogdet":
        return list(pb.linalg.slogdet(a))
    if how == "swapped":
        return pb.linalg.solve(a.flip(-1), b)
    return getattr(pb.linalg, how)(a)


def _parts_and_zeros(graph, x):
    how = graph.rng.choice(["tril", "triu", "diagonal", "diag_embed", "outer", "tile", "roll", "full", "mirrored"])
    if how == "tile":
        return pb.tile(x, [graph.rng.randint(1, 3) for _ in range(x.ndim)])
    if how == "roll":
        return x.roll([graph.rng.randint(-3, 3) for _ in range(x.ndim)], list(range(x.ndim)))
    if how == "full":
        return x * pb.full_like(x, 0.25) + x.new_zeros(x.shape)
    if how == "outer":
        return pb.outer(x.flatten()[:20], x.flatten()[:7])
    if how == "diag_embed":
        return pb.diag_embed(x, graph.rng.randint(-1, 1)) if x.ndim < 3 else x
    if x.ndim < 2:
        return x
    if how == "diagonal":
        return x.diagonal(graph.rng.randint(-1, 0), 0, 1) * 2
    if how == "mirrored":
        n = min(x.shape[-2:])
        return pb.linalg.eigvalsh(x[..., :n, :n]) if n < 6 else x
    return getattr(pb, how)(x, graph.rng.randint(-2, 2))


def _by_numpy(graph, x):
    """Steps without rules, between others."""
    return graph.rng.choice(
        [
            lambda: x.cumsum(graph.dim(x)),
            lambda: x.sort(graph.dim(x))[0],
            lambda: x * x.argmax(),
            lambda: x.std(),
            lambda: x.prod(),
            lambda: pb.tril(x),
            lambda: x.diagonal(),
            lambda: pb.tile(x, (2,) * x.ndim),
            lambda: x.median(),
            lambda: pb.amax((x > 0).sum(-1)) * x,
            lambda: x.max(graph.dim(x))[0],
            lambda: (x > 0).any(graph.dim(x)).to(x.dtype) + 1,
            lambda: pb.arange(x.shape[-1]) * x,
            lambda: pb.complex(x, x * 2).abs(),
            lambda: F.normalize(x, dim=graph.dim(x)),
            lambda: x.repeat_interleave(2, graph.dim(x)),
        ]
    )()


STATEMENTS = {
    **{name: (lambda graph, x, f=f: f(x)) for name, f in UNARY.items()},
    **{name: (lambda graph, x, f=f: f(x, graph.beside(x))) for name, f in BINARY.items()},
}
_SINGLE = list(STATEMENTS)
STATEMENTS |= {
    **{name: _reduced(name) for name in REDUCTIONS},
    "rows": _minus_reduced,
    "deeper": _deeper,
    "deeper too": _deeper,
    "softmax": lambda graph, x: pb.softmax(x, graph.dim(x)),
    "log_softmax": lambda graph, x: pb.log_softmax(x, graph.dim(x)),
    "layer_norm": _layer_norm,
    "matmul": _matmul,
    "matmul too": _matmul,
    "einsum": _einsum,
    "permute": _permuted,
    "reshape": _reshaped,
    "expand": _expanded,
    "join": _joined,
    "pad": _padded,
    "flip": _flipped,
    "part": lambda graph, x: x[graph.part(x)],
    "select": _selected,
    "select too": _selected,
    "index_add": _added_by_index,
    "classes": _classes,
    "write": _written,
    "write too": _written,
    "chunks": _chunks,
    "extreme": _extreme,
    "parts": _parts_and_zeros,
    "running": _running,
    "matrices": _matrices,
    "spatial": _spatial,
    "spatial too": _spatial,
    "numpy": _by_numpy,
    "whole": _whole,
    "whole too": _whole,
}
_AREAS = list(STATEMENTS)[len(_SINGLE) :]


# -- comparison --------------------------------------------------------------------------------------------------------
@contextmanager
def compiled_by(tool):
    """Plans are made by a toolchain, or of NumPy's kernels alone."""
    before, plan.chosen = plan.chosen, lambda asked_for: tool
    try:
        yield
    finally:
        plan.chosen = before


def natively(program, tool):
    """The plan of a program, by a toolchain; None of one without a step that it could do."""
    with compiled_by(tool):
        made, _ = program_of(program.trace, careful=False)
    return made if any(isinstance(part, NativePart) for part in made.parts) else None


_PRODUCTS = {
    "matmul", "mm", "bmm", "mv", "dot", "linear", "einsum_pair",
    "convolution", "convolution_input", "convolution_weight",
}  # fmt: skip


class Fallback(Exception):
    """Machine code has not taken its arrays."""


def _by_numpy_never(part, *arrays):
    raise Fallback(f"{part.steps} of {[(x.shape, x.strides) for x in arrays]}")


def difference(graph, tool, points=3, delicate=True):
    """How machine code differs from NumPy's kernels, in words; "" if it does not.

    `delicate`: not where rounding decides.
    """
    if (made := natively(graph.program, tool)) is None:
        return ""
    expected = graph.program.plan
    products = not _PRODUCTS.isdisjoint(step.what for step in expected.steps if isinstance(step.what, str))
    exact, NativePart.by_numpy = NativePart.by_numpy, _by_numpy_never
    try:
        for nr in range(points):
            arrays = graph.inputs if nr == 0 else graph.elsewhere(strange=nr > 1)
            before = [x.copy() for x in arrays]
            found, want = _called(made, arrays), _called(expected, arrays)
            if (found is None) != (want is None):
                return f"at point {nr}: leaves the program in one way alone: {found} for {want}"
            if want is None:
                continue
            for k, (a, b) in enumerate(zip(found, want, strict=True)):
                a, b = np.asarray(a), np.asarray(b)
                if a.shape != b.shape or a.dtype != b.dtype:
                    return f"result {k}: {a.dtype}{a.shape} for {b.dtype}{b.shape}"
                if nr > 1 and products:  # BLAS takes 0 times NaN for 0, here and there
                    a = np.where(np.isnan(a) & np.isfinite(b), b, a)
                if not near(a, b, graph.tolerance) and not (
                    delicate and _is_delicate(expected, arrays, k, a, b, graph.tolerance)
                ):
                    return f"result {k} at point {nr}: {_worst(a, b, graph.tolerance)}"
            for x, y in zip(arrays, before, strict=True):
                if x.tobytes() != y.tobytes():
                    return "an input was written into"
    finally:
        NativePart.by_numpy = exact
    return ""


def _called(made, arrays):
    try:
        with np.errstate(all="ignore"):
            return made.call(*arrays)
    except LeftError:
        return None


def near(a, b, tolerance):
    """True if two results are the same, to the rounding of numbers of their size."""
    if b.dtype.kind not in "fc":
        return bool((a == b).all())
    with np.errstate(all="ignore"):
        size = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        return np.allclose(a, b, rtol=tolerance, atol=min(tolerance * max(size, 1e-2), 1e300), equal_nan=True)


def _is_delicate(expected, arrays, k, a, b, tolerance):
    """True if rounding decides: numbers a little beside the given ones give as different results."""
    near, rng = np.zeros(b.shape, bool), np.random.default_rng(0)
    apart = ~np.isclose(a, b, rtol=tolerance, atol=0, equal_nan=True)
    scale = np.zeros(b.shape)
    for _ in range(8):
        moved = []
        for x in arrays:
            y = same_form(x)
            y[...] = x
            if x.dtype.kind == "f":
                with np.errstate(all="ignore"):
                    y[...] = x * (1 + 8 * np.finfo(x.dtype).eps * rng.choice([-1, 1], x.shape)).astype(x.dtype)
            moved.append(y)
        other = _called(expected, moved)
        if other is None:
            return True
        with np.errstate(all="ignore"):
            c = np.asarray(other[k])
            near |= (np.isnan(c) != np.isnan(b)) | (np.isinf(c) != np.isinf(b))
            scale = np.fmax(scale, np.abs(c.astype(np.float64) - b))
    with np.errstate(all="ignore"):
        return bool((near | ~apart | (np.abs(a.astype(np.float64) - b) <= 64 * scale)).all())


def _worst(a, b, tolerance):
    wrong = np.argwhere(~np.isclose(a, b, rtol=tolerance, atol=0, equal_nan=True))
    at = tuple(wrong[0])
    return f"{len(wrong)} of {b.size} differ, shape {b.shape}, first at {at}: {a[at]!r} for {b[at]!r}"


def described(graph, seed):
    """What a graph does, for a report."""
    return (
        f"seed {seed}\n  "
        + "\n  ".join(graph.lines)
        + "\n  "
        + "\n  ".join(f"input {x.dtype}{x.shape} {x.strides}" for x in graph.inputs)
    )


@contextmanager
def vectors_of(tool, size):
    """Vectors of so many bytes, or scalars for 0."""
    before, toolchain.vector_bytes, tool.vectors = toolchain.vector_bytes, lambda: size, size > 0
    try:
        yield
    finally:
        toolchain.vector_bytes = before
        del tool.vectors


def made(seed):
    """The random graph of a seed."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), compiled_by(None):
        warnings.simplefilter("ignore")
        return RandomGraph(seed)


def main(count, first, *names):
    """Compare graphs, by toolchains and widths in turn."""
    tools = [toolchain._named(name) for name in names or ("llvmlite",)]
    wrong = 0
    for seed in range(first, first + count):
        try:
            graph = made(seed)
        except Exception as error:
            print(f"seed {seed} cannot be made: {type(error).__name__}: {error}", flush=True)
            if "--loud" in sys.argv:
                raise
            continue
        tool, size = tools[seed % len(tools)], (64, 32, 16, 0)[seed // len(tools) % 4]
        try:
            with vectors_of(tool, size), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                how = difference(graph, tool)
        except Exception as error:
            if "--loud" in sys.argv:
                raise
            how = f"{type(error).__name__}: {str(error)[:600]}"
        if how:
            wrong += 1
            print(f"--- {tool.name}, {size} bytes: {how[:1000]}\n{described(graph, seed)}", flush=True)
    print(f"{wrong} of {count} differ")


if __name__ == "__main__":
    given = [x for x in sys.argv[1:] if not x.startswith("--")]
    main(int(given[0]), int(given[1]), *given[2:])
