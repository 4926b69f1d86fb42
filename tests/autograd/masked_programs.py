"""Random programs of views, writes, masks and hooks, beside the same programs on scalars, which have none of these.

A program is a list of steps, each four small numbers, so that any part of a program is a program too and can be
printed, run again and shrunk. `Run` takes the steps on Tensors and on arrays of `scalars.Scalar`s at once: a view is an
array of places in a list of cells, a write puts new scalars into these cells, a mask hands on what it chose. Then
values, gradients, what hooks saw, and derivatives of the gradients are compared, element by element.

What may differ, and nothing else:

- pullback may refuse: a step that raises is left out of both, a backward that finds a saved tensor changed ends the
  comparison.
- With infinite slopes, pullback may give NaN where the reference has a number if an operator that mixes elements
  without being linear in structure (`MIXING`: matmul, softmax, ...) or a hook that changes gradients lies downstream.
  There the knowledge which zeros are structural ends.
- Second derivatives are compared where the reference is finite. In float32, digits are those of float32.
"""

from __future__ import annotations

import contextlib
import math
import random

import numpy as np

import pullback as pb
from pullback.core.errors import InplaceError, OperatorError, SavedTensorModifiedError, UnsupportedError
from tests.autograd import scalars as s

REFUSED = (InplaceError, OperatorError, UnsupportedError, IndexError)
LARGEST = 12  # elements of a tensor
BOUND = 1e3  # what grows beyond is not followed: the rounding of a program is not its subject
ORDINARY = (1.5, 0.5, -0.75, 2.0, 1.25, -1.5, 0.25, 3.0)
SINGULAR = (0.0, 1.5, -0.75, 0.0, 2.0, -1.0, 0.25, 1.0)  # where sqrt, log and 1/x have infinite slopes, or none


def each(function, *arrays):
    """An object array of the function's results, broadcast."""
    arrays = np.broadcast_arrays(*arrays)
    result = np.empty(arrays[0].shape, dtype=object)
    for index in np.ndindex(result.shape):
        result[index] = function(*(a[index] for a in arrays))
    return result


def along(function, array, dim):
    """An object array of a function of sequences, one for each line along `dim`, which gives a scalar or as many."""
    moved = np.moveaxis(array, dim, -1)
    results = np.empty(moved.shape[:-1], dtype=object)
    for index in np.ndindex(results.shape):
        results[index] = function(list(moved[index]))
    if results.size and isinstance(results.flat[0], list):
        full = np.empty(moved.shape, dtype=object)
        for index in np.ndindex(results.shape):
            for i, item in enumerate(results[index]):
                full[(*index, i)] = item
        return np.moveaxis(full, -1, dim)
    return results


def numbers(array):
    """The values of an array of scalars."""
    return np.array([x.value for x in array.flat], dtype=float).reshape(array.shape)


def _prefixes(operator):
    def run(items):
        results = items[:1]
        for item in items[1:]:
            results.append(operator(results[-1], item))
        return results

    return run


def _softmax(items):
    top = s.constant(max(x.value for x in items))
    powers = [s.exp(s.sub(x, top)) for x in items]
    return [s.div(p, s.total(powers)) for p in powers]


def _logsumexp(items):
    top = s.constant(max(x.value for x in items))
    return s.add(top, s.log(s.total(s.exp(s.sub(x, top)) for x in items)))


def _product(items):
    return _prefixes(s.mul)(items)[-1]


# name -> (on Tensors, on scalars, which arguments it is for)
anywhere, positive, nonzero = (lambda a: True), (lambda a: (a > 0.05).all()), (lambda a: (abs(a) > 0.05).all())
UNARY = {
    "sin": (pb.sin, s.sin, anywhere),
    "tanh": (pb.tanh, s.tanh, anywhere),
    "exp": (pb.exp, s.exp, lambda a: (a < 5).all()),
    "square": (pb.square, s.square, anywhere),
    "neg": (pb.neg, s.neg, anywhere),
    "cube": (lambda t: t**3, s.power(3.0), anywhere),
    "sqrt": (pb.sqrt, s.sqrt, positive),
    "log": (pb.log, s.log, positive),
    "reciprocal": (pb.reciprocal, s.reciprocal, nonzero),
    "power": (lambda t: t**1.5, s.power(1.5), positive),
    "root": (lambda t: t**0.5, s.power(0.5), positive),
    "scale": (lambda t: t * 0.5, lambda a: s.mul(a, s.HALF), anywhere),
}
BINARY = {
    "add": (pb.add, s.add, anywhere),
    "sub": (pb.sub, s.sub, anywhere),
    "mul": (pb.mul, s.mul, anywhere),
    "div": (pb.div, s.div, nonzero),
}
STRUCTURAL = {  # linear, and so that a cotangent of one element concerns known others
    "sum": (lambda t, d: t.sum(d), lambda a, d: along(s.total, a, d)),
    "mean": (
        lambda t, d: t.mean(d),
        lambda a, d: along(lambda x: s.mul(s.total(x), s.constant(1 / len(x))), a, d),
    ),
    "flip": (lambda t, d: t.flip(d), lambda a, d: np.flip(a, d)),
    "roll": (lambda t, d: t.roll(1, d), lambda a, d: np.roll(a, 1, d)),
    "stack": (lambda t, d: pb.stack([t, t], d), lambda a, d: np.stack([a, a], d)),
    "cat": (lambda t, d: pb.cat([t, t.flip(d)], d), lambda a, d: np.concatenate([a, np.flip(a, d)], d)),
    "repeat": (lambda t, d: t.repeat_interleave(2, d), lambda a, d: np.repeat(a, 2, d)),
}
MIXING = {
    "cumsum": (lambda t, d: t.cumsum(d), lambda a, d: along(_prefixes(s.add), a, d)),
    "prod": (lambda t, d: t.prod(d), lambda a, d: along(_product, a, d)),
    "softmax": (lambda t, d: t.softmax(d), lambda a, d: along(_softmax, a, d)),
    "logsumexp": (lambda t, d: t.logsumexp(d), lambda a, d: along(_logsumexp, a, d)),
    "inner": (
        lambda t, d: t.reshape(-1) @ t.reshape(-1),
        lambda a, d: along(lambda x: s.total(s.square(i) for i in x), a.reshape(1, -1), 1).reshape(()),
    ),
}
VIEWS = (  # on Tensors and on arrays alike
    lambda t, d: t[:1] if t.ndim else t[None],
    lambda t, d: t[..., 1:] if t.ndim else t[None],
    lambda t, d: t[..., ::2] if t.ndim else t[None],
    lambda t, d: t[-1] if t.ndim else t[None],
    lambda t, d: t[None],
    lambda t, d: t.T if t.ndim == 2 else t[...],
    lambda t, d: t.reshape(-1),
    lambda t, d: t.diagonal() if t.ndim == 2 else t[...],
    lambda t, d: (pb if isinstance(t, pb.Tensor) else np).broadcast_to(t, (2, *t.shape)),
    lambda t, d: t.reshape(t.shape[::-1]),
)


def pattern(shape, k):
    """A mask of that shape, told by a number."""
    return np.asarray((np.arange(math.prod(shape)).reshape(shape) * (k % 3 + 1) + k) % 3 == 0)


class Tangled(Exception):
    """A step that has no meaning here, such as a reduction of nothing."""


class Run:
    """Takes the steps of a program on Tensors and on scalars."""

    def __init__(self, steps, singular=False):
        self.singular, self.digits = singular, 1e-7
        values = SINGULAR if singular else ORDINARY
        shapes = ((2, 3), (3,), (2, 2), ())
        self.leaves, self.scalar_leaves = [], []
        self.tensors = []  # of the program
        self.cells, self.shown = [], []  # lists of scalars; by tensor: (its list, the places that it shows)
        self.tainted, self.sources = [], []  # by tensor: leaves whose zeros may have lost their meaning; all its leaves
        self.watches = []  # (what a hook noted on Tensors, what the scalars noted)
        self.names = []
        for n, shape in enumerate(shapes):
            data = np.array([values[(n + i) % len(values)] for i in range(math.prod(shape))]).reshape(shape)
            self.leaves.append(pb.tensor(data, requires_grad=True))
            self.scalar_leaves.append(each(lambda x: s.leaf(x), data))
            self._push(self.leaves[-1] * 1, self.scalar_leaves[-1], (), f"x{n} * 1", sources=frozenset([n]))
        for step in steps:
            with contextlib.suppress(Tangled, *REFUSED):
                self._take(*step)

    # -- the state ---------------------------------------------------------------------------------------------------
    def _push(self, tensor, array, of, name, mixing=False, sources=None):
        """A new tensor with cells of its own."""
        array = np.asarray(array, dtype=object)
        places = np.arange(array.size).reshape(array.shape)
        self.cells.append(list(array.flat))
        self._enter(tensor, len(self.cells) - 1, places, of, name, mixing, sources)

    def _enter(self, tensor, store, places, of, name, mixing=False, sources=None):
        self.tensors.append(tensor)
        self.shown.append((store, places))
        self.sources.append(frozenset().union(*(self.sources[i] for i in of)) if sources is None else sources)
        self.tainted.append(self.sources[-1] if mixing else frozenset().union(*(self.tainted[i] for i in of)))
        self.names.append(f"t{len(self.tensors) - 1} = {name}")

    def _read(self, i):
        store, places = self.shown[i]
        cells = self.cells[store]
        result = np.empty(places.shape, dtype=object)
        for index in np.ndindex(places.shape):
            result[index] = cells[places[index]]
        return result

    def _write(self, i, array, index=(), of=()):
        """New scalars in the cells of tensor i; what shares them depends on what was written."""
        store, places = self.shown[i]
        places = places[index] if index != () else places
        for place, item in zip(places.flat, np.broadcast_to(array, places.shape).flat, strict=True):
            self.cells[store][place] = item
        for j, (other, _) in enumerate(self.shown):
            if other == store:
                self.sources[j] |= frozenset().union(*(self.sources[k] for k in of))
                self.tainted[j] |= frozenset().union(*(self.tainted[k] for k in of))

    # -- steps -------------------------------------------------------------------------------------------------------
    def _take(self, kind, i, j, k):
        i, j = i % len(self.tensors), j % len(self.tensors)
        t, a = self.tensors[i], self._read(i)
        values = numbers(a)
        if t.numel() > LARGEST or np.abs(values[np.isfinite(values)]).max(initial=0) > BOUND:
            raise Tangled
        KINDS[kind % len(KINDS)](self, i, j, k, t, a, values)

    def _fits(self, suitable, values):
        if not self.singular and not suitable(values):
            raise Tangled

    def view(self, i, j, k, t, a, values):
        how = VIEWS[k % len(VIEWS)]
        store, places = self.shown[i]
        made = how(t, 0)
        name = f"view{k % len(VIEWS)}(t{i})"
        if made.numel() and np.may_share_memory(made.detach().numpy(), t.detach().numpy()):
            self._enter(made, store, how(places, 0), (i,), name)
        else:
            self._push(made, how(a, 0), (i,), name)

    def unary(self, i, j, k, t, a, values):
        name, (function, scalar, suitable) = list(UNARY.items())[k % len(UNARY)]
        self._fits(suitable, values)
        if name in ("root", "power") and (values == -np.inf).any():
            raise Tangled  # NumPy's own roots of -inf are nan or inf, as the memory lies
        self._push(function(t), each(scalar, a), (i,), f"{name}(t{i})")

    def binary(self, i, j, k, t, a, values):
        name, (function, scalar, suitable) = list(BINARY.items())[k % len(BINARY)]
        b = self._read(j)
        try:
            np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            raise Tangled from None
        self._fits(suitable, numbers(b))
        self._push(function(t, self.tensors[j]), each(scalar, a, b), (i, j), f"{name}(t{i}, t{j})")

    def structural(self, i, j, k, t, a, values):
        name, (function, scalar) = list(STRUCTURAL.items())[k % len(STRUCTURAL)]
        self._along(name, function, scalar, i, j, t, a)

    def mixing(self, i, j, k, t, a, values):
        name, (function, scalar) = list(MIXING.items())[k % len(MIXING)]
        if not np.isfinite(values).all():
            raise Tangled  # conventions of softmax and its kin at infinity are tested elsewhere
        self._along(name, function, scalar, i, j, t, a, mixing=True)

    def _along(self, name, function, scalar, i, j, t, a, mixing=False):
        if not a.ndim or not a.size:
            raise Tangled
        d = j % a.ndim
        self._push(function(t, d), scalar(a, d), (i,), f"{name}(t{i}, {d})", mixing)

    def where(self, i, j, k, t, a, values):
        b = self._read(j)
        try:
            shape = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            raise Tangled from None
        mask = pattern(shape, k)
        chosen = each(lambda m, x, y: x if m else y, mask, a, b)
        self._push(pb.where(mask, t, self.tensors[j]), chosen, (i, j), f"where(pattern({k}), t{i}, t{j})")

    def rescue(self, i, j, k, t, a, values):
        """What one writes around missing values."""
        good = np.isfinite(values)
        if k % 2:
            made = pb.where(pb.isfinite(t), t, 0.25)
        else:
            made = t.masked_fill(~good, 0.25)
        chosen = each(lambda m, x: x if m else s.constant(0.25), good, a)
        self._push(made, chosen, (i,), f"rescue{k % 2}(t{i})")

    def choose(self, i, j, k, t, a, values):
        """Operators that choose by their own values."""
        if np.isnan(values).any():
            raise Tangled
        way, zero = k % 6, s.constant(0.0)
        if way in (0, 1, 2) and self._near(values, 0.0):
            raise Tangled
        if way == 0:
            made, chosen, name = pb.nn.functional.relu(t), each(lambda x: x if x.value > 0 else zero, a), "relu"
        elif way == 1:
            slope = s.constant(0.125)
            made = pb.nn.functional.leaky_relu(t, 0.125)
            chosen, name = each(lambda x: x if x.value > 0 else s.mul(x, slope), a), "leaky_relu"
        elif way == 2:
            made = pb.where(t > 0, t, 0.0)
            chosen, name = each(lambda x: x if x.value > 0 else zero, a), "where(t > 0, t, 0)"
        elif way == 3:
            if self._near(values, -0.6) or self._near(values, 1.1):
                raise Tangled
            limits = s.constant(-0.6), s.constant(1.1)
            made, name = pb.clamp(t, -0.6, 1.1), "clamp"
            chosen = each(lambda x: limits[0] if x.value < -0.6 else limits[1] if x.value > 1.1 else x, a)
        else:
            b = self._read(j)
            other = numbers(b)
            if b.shape != a.shape or np.isnan(other).any() or (np.abs(values - other) < 1e-3).any() or i == j:
                raise Tangled
            if (values == other).any():
                raise Tangled
            u, largest = self.tensors[j], way == 4
            made = pb.maximum(t, u) if largest else pb.minimum(t, u)
            chosen = each(lambda x, y: x if (x.value > y.value) == largest else y, a, b)
            self._push(made, chosen, (i, j), f"{'maximum' if largest else 'minimum'}(t{i}, t{j})")
            return
        self._push(made, chosen, (i,), f"{name}(t{i})")

    def _near(self, values, kink):
        """Whether rounding might decide, or a convention: at the kink itself relu and where have the slope 0."""
        distance = np.abs(values - kink)
        return bool(((distance < 1e-3) & ((distance > 0) | (kink != 0))).any())

    def index(self, i, j, k, t, a, values):
        if not a.ndim or not a.size:
            raise Tangled
        mask, rows = pattern(a.shape, k), [(k + 1) % len(a), k % len(a), k % len(a)]
        way = k % 4
        if way == 0:
            made, taken, name = t[mask], a[mask], f"t{i}[pattern({k})]"
        elif way == 1:
            made, taken, name = t[rows], a[rows], f"t{i}[{rows}]"
        elif way == 2:
            made, taken, name = t[pb.tensor(rows)], a[rows], f"t{i}[tensor({rows})]"
        else:
            made, taken, name = pb.index_select(t, 0, pb.tensor(rows)), a[rows], f"index_select(t{i}, 0, {rows})"
        self._push(made, taken, (i,), name)

    def several(self, i, j, k, t, a, values):
        """Operators with several outputs."""
        if not a.ndim or not a.size:
            raise Tangled
        d, way = j % a.ndim, k % 3
        if way == 0:
            for n, part in enumerate(t.unbind(d)):
                self._push(part * 1, np.moveaxis(a, d, 0)[n], (i,), f"unbind(t{i}, {d})[{n}] * 1")
            return
        if np.isnan(values).any() or any(
            len(np.unique(np.round(line, 3))) < len(line) for line in self._lines(values, d)
        ):
            raise Tangled
        order = np.argsort(values, d, kind="stable")
        ordered = np.take_along_axis(a, order, d)
        if way == 1:
            self._push(t.sort(d)[0], ordered, (i,), f"sort(t{i}, {d})[0]")
        else:
            self._push(t.max(d)[0], np.moveaxis(ordered, d, 0)[-1], (i,), f"max(t{i}, {d})[0]")

    @staticmethod
    def _lines(values, d):
        return np.moveaxis(values, d, -1).reshape(-1, values.shape[d])

    def write(self, i, j, k, t, a, values):
        _, places = self.shown[i]
        if len(np.unique(places)) < places.size or not places.size:
            raise Tangled
        b = self._read(j)
        way = k % 8
        mask = pattern(a.shape, j)
        if way in (0, 1, 2):
            if np.broadcast_shapes(a.shape, (1,) * a.ndim) != a.shape or not self._goes_into(b.shape, a.shape):
                raise Tangled
            u = self.tensors[j]
            if way == 0:
                t += u
                self._write(i, each(s.add, a, b), of=(i, j))
            elif way == 1:
                t *= u
                self._write(i, each(s.mul, a, b), of=(i, j))
            else:
                t.copy_(u)
                self._write(i, np.broadcast_to(b, a.shape), of=(j,))
            name = f"t{i} {('+=', '*=', 'copy_')[way]} t{j}"
        elif way == 3:
            t.masked_fill_(pb.from_numpy(mask), 0.5)
            self._write(i, each(lambda m, x: s.constant(0.5) if m else x, mask, a), of=(i,))
            name = f"t{i}.masked_fill_(pattern({j}), 0.5)"
        elif way == 4:
            t[mask] = 0.75
            self._write(i, each(lambda m, x: s.constant(0.75) if m else x, mask, a), of=(i,))
            name = f"t{i}[pattern({j})] = 0.75"
        elif way == 5:
            if b.shape != a.shape:
                raise Tangled
            t[mask] = self.tensors[j][mask] * 2
            self._write(i, each(lambda m, x, y: s.mul(y, s.TWO) if m else x, mask, a, b), of=(i, j))
            name = f"t{i}[pattern({j})] = t{j}[pattern({j})] * 2"
        elif way == 6:
            if np.isnan(values).any() or self._near(values, 0.0):
                raise Tangled
            t.relu_()
            self._write(i, each(lambda x: x if x.value > 0 else s.constant(0.0), a), of=(i,))
            name = f"t{i}.relu_()"
        else:
            if not a.ndim or b.ndim:
                raise Tangled
            rows = [k % len(a), (k + 1) % len(a), k % len(a)]
            t.index_put_((pb.tensor(rows),), self.tensors[j], accumulate=True)
            new = a.copy()
            for row in rows:
                new[row] = each(s.add, new[row], b) if a.ndim > 1 else s.add(new[row], b[()])
            self._write(i, new, of=(i, j))
            name = f"t{i}.index_put_({rows}, t{j}, accumulate=True)"
        self.names.append(name)

    @staticmethod
    def _goes_into(shape, target):
        try:
            return np.broadcast_shapes(shape, target) == target
        except ValueError:
            return False

    def hook(self, i, j, k, t, a, values):
        """A copy whose hook looks at the gradient, or changes it."""
        if not t.requires_grad:
            raise Tangled
        factor, seen, notes = (1.0, 0.5, 2.0)[k % 3], [], []
        made = t * 1
        items = s.watched(list(a.flat), factor, notes)
        made.register_hook(lambda g: seen.append(g.detach().numpy().copy()) or (None if factor == 1 else g * factor))
        followed = [item.pull is not None for item in items]  # a tensor has a gradient for its constants too
        self.watches.append((seen, notes[-1], followed, self.sources[i]))
        array = np.empty(a.shape, dtype=object)
        array.flat = items or None
        self._push(made, array, (i,), f"t{i} * 1, hooked by {factor}", mixing=factor != 1)

    def cast(self, i, j, k, t, a, values):
        dtype = (np.float32, np.float64)[k % 2]
        if t.dtype == dtype:
            raise Tangled  # the tensor itself
        self.digits = max(self.digits, 2e-3 if k % 2 == 0 else 0)
        self._push(t.to(dtype), a, (i,), f"t{i}.to({np.dtype(dtype)})")

    def detach(self, i, j, k, t, a, values):
        constants = each(lambda x: s.constant(x.value), a)
        self._push(t.detach().clone(), constants, (), f"t{i}.detach().clone()")

    # -- the comparison ----------------------------------------------------------------------------------------------
    def outputs(self):
        """The tensors that are differentiated, with their cotangents, zeros among them, by number."""
        last = range(max(0, len(self.tensors) - 4), len(self.tensors))
        for i in last:
            shape = tuple(self.tensors[i].shape)
            weights = np.cos(i + np.arange(math.prod(shape), dtype=float)).reshape(shape)
            yield i, np.where(pattern(shape, i), 0.0, weights)

    def compare(self, second=True):
        """Assert that everything agrees; whether there was a backward to compare."""
        for i, t in enumerate(self.tensors):
            self._close(t.detach().numpy(), numbers(self._read(i)), f"t{i}")
        chosen = [(i, w) for i, w in self.outputs() if self.tensors[i].requires_grad]
        if not chosen:
            return False
        outputs = [self.tensors[i] for i, _ in chosen]
        cotangents = [pb.from_numpy(w.astype(t.dtype)) for t, (_, w) in zip(outputs, chosen, strict=True)]
        try:
            grads = pb.autograd.grad(
                outputs, self.leaves, cotangents, create_graph=second, allow_unused=True, materialize_grads=True
            )
        except SavedTensorModifiedError:
            return False
        found = s.backward(
            (item, s.constant(weight))
            for i, weights in chosen
            for item, weight in zip(self._read(i).flat, weights.flat, strict=True)
            if weight
        )
        allowed = frozenset().union(*(self.tainted[i] for i, _ in chosen))
        wanted = []
        for n, (g, items) in enumerate(zip(grads, self.scalar_leaves, strict=True)):
            expected = each(lambda x: found.get(x, s.constant(0.0)), items)
            wanted.append(expected)
            self._close(g.detach().numpy(), numbers(expected), f"gradient of x{n}", n in allowed)
        for seen, notes, followed, sources in self.watches:
            if seen:
                expected = np.array([notes[p].value if p in notes else 0.0 for p in range(len(followed))])
                self._close(
                    seen[0].reshape(-1)[followed], expected[followed], "what a hook saw", bool(allowed & sources)
                )
        if second:
            self._compare_second(grads, wanted, allowed)
        return True

    def _compare_second(self, grads, wanted, allowed):
        """The derivatives of the squares of the finite gradients."""
        total, roots = [], []
        for g, expected in zip(grads, wanted, strict=True):
            finite = np.isfinite(numbers(expected)) & np.isfinite(g.detach().numpy())
            finite &= np.abs(numbers(expected)) < BOUND
            if g.requires_grad and finite.any():
                total.append((g[finite] ** 2).sum())
            roots += [(s.square(x), s.ONE) for x in expected[finite] if x.pull]
        if not total:
            return
        try:
            got = pb.autograd.grad(sum(total[1:], total[0]), self.leaves, allow_unused=True, materialize_grads=True)
        except SavedTensorModifiedError:
            return
        found = s.backward(roots)
        for n, (g, items) in enumerate(zip(got, self.scalar_leaves, strict=True)):
            expected = numbers(each(lambda x: found.get(x, s.constant(0.0)), items))
            finite = np.isfinite(expected)
            self._close(g.numpy()[finite], expected[finite], f"second derivative by x{n}", n in allowed)

    def _close(self, got, expected, what, nan_allowed=False):
        got = np.asarray(got, dtype=float)
        assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
        with np.errstate(all="ignore"):
            large = ~(np.abs(expected) < BOUND * 1e3) & np.isfinite(expected)
            good = np.isclose(got, expected, rtol=self.digits, atol=self.digits, equal_nan=True) | large
            if self.digits > 1e-5:  # float32: what overflows or is ill conditioned there proves nothing
                good |= ~np.isfinite(got) & (np.abs(expected) > BOUND)
        if nan_allowed and self.singular:
            good |= np.isnan(got)
        assert good.all(), f"{what} is\n{got}\nand should be\n{expected}"


KINDS = (
    Run.view, Run.view, Run.unary, Run.unary, Run.unary, Run.binary, Run.binary, Run.structural, Run.mixing,
    Run.where, Run.rescue, Run.choose, Run.choose, Run.index, Run.several, Run.write, Run.write, Run.write, Run.write,
    Run.hook, Run.cast, Run.detach,
)  # fmt: skip


def steps_of(seed):
    """A program of its own for each seed."""
    source = random.Random(seed)
    return [tuple(source.randrange(60) for _ in range(4)) for _ in range(source.randint(3, 14))]


def disagreement(steps, singular=False):
    """What differs when a program runs both ways, "" if nothing does; and whether there was anything to compare."""
    try:
        with np.errstate(all="ignore"):
            return "", Run(steps, singular).compare()
    except AssertionError as error:
        return str(error), True


def shrunk(steps, singular=False):
    """The program without the steps that its disagreement does not need."""
    steps, position = list(steps), 0
    while position < len(steps):
        fewer = steps[:position] + steps[position + 1 :]
        if disagreement(fewer, singular)[0]:
            steps, position = fewer, 0
        else:
            position += 1
    return steps


def told(seed, singular=False):
    """A failing program for people: what it does, what differs, and how to run it again."""
    steps = shrunk(steps_of(seed), singular)
    with np.errstate(all="ignore"):
        program = "\n".join(Run(steps, singular).names)
    return f"seed {seed}: {disagreement(steps, singular)[0]}\n{program}\nRun({steps}, singular={singular}).compare()"
