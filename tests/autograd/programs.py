"""Random programs of views, in-place and ordinary operators, run twice: as written, and without writing anywhere.

A program is a list of steps, each a tuple of small numbers. `Memory` runs it as a user would, on tensors. `Values` runs
it on tensors that are never written into: the memory that several tensors share is one vector of cells, each tensor
knows the cells that it shows, and a write makes a new vector. What pullback refuses is left out of both.

Who sees a write depends on the graph. Tensors that were views of one another while recording, a *family*, see its
derivative. Others over the same cells (made by `detach()`, or when the write was made under `no_grad()`) see the new
numbers alone: their vector gets the difference added, as a constant.
"""

import contextlib

import numpy as np

import pullback as pb
from pullback.core.errors import SavedTensorModifiedError

REFUSED = (RuntimeError, ValueError, IndexError)  # what a step may raise


def cells_of(value):
    """A tensor as a vector of real cells, two to a complex number."""
    return (pb.view_as_real(value.contiguous()) if value.is_complex() else value).reshape(-1)


def indices_of(places):
    """The cells, in order, of places: numbers, complex ones naming the cells of both parts."""
    places = np.ascontiguousarray(places)
    return (places.view(np.float64) if places.dtype.kind == "c" else places).astype(np.intp).reshape(-1)


def places_like(array):
    """Cells counted from 0 in the order of elements, in the memory layout of `array`, on which its views depend."""
    places = np.empty_like(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64)
    count = np.arange(array.size, dtype=float).reshape(array.shape)
    places[...] = count if array.dtype.kind != "c" else 2 * count + 1j * (2 * count + 1)
    return places


# -- what a step may do: each takes tensors, and serves both ways of running -------------------------------------

VIEWS = [
    lambda t, k: t[k % 2 :],
    lambda t, k: t[..., :: 1 + k % 2],
    lambda t, k: t[::-1],
    lambda t, k: t[k % 2],
    lambda t, k: t[None, ..., k % 2],
    lambda t, k: t[..., None],
    lambda t, k: t.T,
    lambda t, k: t.reshape(-1),
    lambda t, k: t.view(-1),
    lambda t, k: t.reshape(2, -1),
    lambda t, k: t.flatten(),
    lambda t, k: t.transpose(0, -1),
    lambda t, k: t.permute(tuple(reversed(range(t.ndim)))),
    lambda t, k: t.movedim(0, -1),
    lambda t, k: t.narrow(k % max(t.ndim, 1), 0, 1),
    lambda t, k: t.select(-1, k % 2),
    lambda t, k: t.diagonal(k % 2),
    lambda t, k: t.squeeze(),
    lambda t, k: t.unsqueeze(k % 2),
    lambda t, k: t.unfold(-1, 2, 1 + k % 2),
    lambda t, k: t[:1].expand(2, *t.shape[1:]),
    lambda t, k: t.unbind(0)[k % 2],
    lambda t, k: t.split(1)[k % 2],
    lambda t, k: t.chunk(2, -1)[0],
    lambda t, k: t.real if t.is_complex() else t[k % 2 :],
    lambda t, k: t.imag if t.is_complex() else t[..., k % 2 :],
    lambda t, k: pb.view_as_real(t) if t.is_complex() else pb.view_as_complex(t),
    lambda t, k: pb.view_as_complex(t.reshape(-1, 2)),
    lambda t, k: t.as_strided(t.shape[::-1], t.stride()[::-1]),
]

CHANGES = {  # in-place operators: the new value of t, of its shape; o is another tensor, of its shape or a scalar
    "add_": lambda t, o: t + o,
    "sub_": lambda t, o: t - 0.5 * o,
    "mul_": lambda t, o: t * o,
    "div_": lambda t, o: t / (2 + o * o),
    "copy_": lambda t, o: o,
    "sin_": lambda t, o: t.sin(),
    "tanh_": lambda t, o: t.tanh(),
    "neg_": lambda t, o: -t,
    "pow_": lambda t, o: t**2,
    "zero_": lambda t, o: t * 0,
    "add number": lambda t, o: t + 0.75,
    "mul number": lambda t, o: t * 1.5,
    "fill number": lambda t, o: t * 0 + 0.25,
    "fill tensor": lambda t, o: t * 0 + o.sum(),
    "clamp_": lambda t, o: t.clamp(-0.6, 0.6),
    "addcmul_": lambda t, o: t + 0.5 * o * t,
    "lerp_": lambda t, o: t + 0.3 * (o - t),
    "sigmoid_": lambda t, o: t.sigmoid(),
    "masked": lambda t, o: pb.where(pb.from_numpy(parity(t)), o, t),
    "by itself": lambda t, o: t * t,
}


def parity(t):
    """A mask of every other element."""
    return (np.arange(t.numel()) % 2 == 0).reshape(t.shape)


def change(name, t, o):
    """The same, in place."""
    if name == "add number":
        t += 0.75
    elif name == "mul number":
        t *= 1.5
    elif name == "fill number":
        t.fill_(0.25)
    elif name == "fill tensor":
        t.fill_(o.sum())
    elif name == "masked":
        t[pb.from_numpy(parity(t))] = o if o.ndim == 0 else o[pb.from_numpy(parity(t))]
    elif name == "by itself":
        t.mul_(t)
    elif name == "sub_":
        t.sub_(o, alpha=0.5)
    elif name == "div_":
        t.div_(2 + o * o)
    elif name == "pow_":
        t.pow_(2)
    elif name == "clamp_":
        t.clamp_(-0.6, 0.6)
    elif name == "addcmul_":
        t.addcmul_(o.expand(t.shape), t, value=0.5)
    elif name == "lerp_":
        t.lerp_(o.expand(t.shape), 0.3)
    elif name in ("add_", "mul_", "copy_"):
        getattr(t, name)(o)
    else:
        getattr(t, name)()


PUTS = [  # indices of t[index] = value
    lambda t, k: k % 2,
    lambda t, k: slice(k % 2, None),
    lambda t, k: (..., k % 2),
    lambda t, k: [1, 0] if k % 2 else [0],
    lambda t, k: parity(t),
    lambda t, k: (slice(None), [0]),
]

ORDINARY = [
    lambda t, o: t.sin(),
    lambda t, o: t * o,
    lambda t, o: t + o,
    lambda t, o: t.tanh(),
    lambda t, o: t * 2,
    lambda t, o: t.clone(),
    lambda t, o: t[[0]],
    lambda t, o: t.sum(),
    lambda t, o: t.T.contiguous().clone(),
    lambda t, o: t * t,
]

TURNS = [
    ("t_", lambda t: t.t()),
    ("unsqueeze_", lambda t: t.unsqueeze(0)),
    ("squeeze_", lambda t: t.squeeze()),
    ("transpose_", lambda t: t.transpose(0, -1)),
]


def operand(t, other):
    """`other` as it may stand beside t: as it is where the shapes are the same, summed up elsewhere."""
    if other.is_complex() and not t.is_complex():
        other = other.real
    return other if other.shape == t.shape else other.sum() * 0.25


def leaves():
    """What programs begin with: a matrix, a vector, a scalar and a complex matrix."""
    values = np.linspace(-1, 1, 12).reshape(3, 4), np.array([0.5, -0.7]), np.array(0.7)
    turning = np.exp(1j * np.arange(4.0)).reshape(2, 2)
    return [pb.tensor(v, requires_grad=True) for v in (*values, turning)]


# -- the two ways of running -------------------------------------------------------------------------------------


class Memory:
    """Runs steps on tensors as a user would."""

    def __init__(self):
        self.leaves = leaves()
        x, y, w, z = self.leaves
        self.tensors = [x, y, w, x * 1, y * w, z * 1, pb.zeros(2, 2), pb.ones(3)]

    def read(self, i):
        return self.tensors[i]

    def view(self, i, how):
        self.tensors.append(how(self.tensors[i]))

    def detach(self, i):
        self.tensors.append(self.tensors[i].detach())

    def ordinary(self, i, j, how):
        t = self.tensors[i]
        self.tensors.append(how(t, operand(t, self.tensors[j])))

    def change(self, i, j, name):
        t = self.tensors[i]
        change(name, t, operand(t, self.tensors[j]))

    def put(self, i, j, index):
        t, other = self.tensors[i], self.tensors[j]
        with pb.no_grad():
            part = t[index]
        t[index] = operand(part, other)

    def turn(self, i, name, how):
        args = {"unsqueeze_": (0,), "transpose_": (0, -1)}.get(name, ())
        getattr(self.tensors[i], name)(*args)


class Family:
    """Tensors over the same cells that see each other's derivatives: a vector with a value for every cell."""

    def __init__(self, cells, siblings):
        self.cells = cells
        self.siblings = siblings  # all families over these cells
        self.base = None
        self.writes = self.recorded = 0  # all writes into these cells, and those that this family's graph knows of
        siblings.append(self)

    def write(self, places, value):
        """New values for some cells, known to the graph of this family if they were computed while recording."""
        where = pb.from_numpy(indices_of(places))
        new = pb.index_put(self.cells, (where,), cells_of(value))
        numbers = new.detach()
        recorded = new if pb.is_grad_enabled() else None
        for family in self.siblings:
            with pb.enable_grad():
                if family is self and recorded is not None:
                    family.cells = recorded
                    family.recorded += 1
                else:
                    family.cells = family.cells + (numbers - family.cells.detach())
            family.writes += 1


class Shown:
    """One tensor: the cells of a family that it shows."""

    def __init__(self, family, places, seen=True):
        self.family, self.places = family, places
        self.seen = seen  # whether it takes part in the graph; a view made under no_grad does not
        self.value, self.at = None, -1
        self.node, self.recorded = None, -1  # of a base: its value when its function was made, for its gradient

    def read(self):
        """Its value now. The same tensor until something is written, so that gradients can be asked for."""
        if self.at != self.family.writes:
            if self.family.base is not self:
                self.family.base.read()
            with pb.enable_grad():
                value = self.family.cells[pb.from_numpy(indices_of(self.places))]
                if self.places.dtype.kind == "c":
                    value = pb.view_as_complex(value.reshape(-1, 2))
                self.value = value.reshape(self.places.shape)
                if self.family.base is self:  # the views of a base, and what is written into them, come after it
                    where = pb.from_numpy(indices_of(self.places))
                    self.family.cells = pb.index_put(self.family.cells, (where,), cells_of(self.value))
            if self.family.base is not self or self.recorded != self.family.recorded:
                self.node, self.recorded = self.value, self.family.recorded
            self.at = self.family.writes
        return self.value if self.seen else self.value.detach()


def fresh(value, places=None):
    """A tensor with cells of its own."""
    family = Family(cells_of(value), [])
    family.base = Shown(family, places_like(value.detach().numpy()) if places is None else places)
    return family.base


class Values:
    """Runs the same steps without writing. `like` is the machine that has just run the step, asked for layouts."""

    def __init__(self, like):
        self.like = like
        self.leaves = leaves()
        x, y, w, z = self.leaves
        made = [x, y, w, x * 1, y * w, z * 1, pb.zeros(2, 2), pb.ones(3)]
        self.tensors = [fresh(value) for value in made]

    def read(self, i):
        return self.tensors[i].read()

    def _add(self, value):
        self.tensors.append(fresh(value, places_like(self.like.tensors[-1].detach().numpy())))

    def view(self, i, how):
        t = self.tensors[i]
        if self.like.tensors[-1] is self.like.tensors[i]:  # flatten() of what is flat: no view, whatever is recorded
            self.tensors.append(t)
            return
        value = how(t.read().contiguous())  # a value has no memory to be viewed: any layout will do that takes `how`
        places = how(pb.from_numpy(t.places)).numpy()
        if not np.may_share_memory(places, t.places) and places.size:
            self._add(value)
            return
        made = Shown(t.family, places, t.seen and pb.is_grad_enabled())
        if made.seen:
            made.value = made.node = value
            made.at = t.at
        self.tensors.append(made)

    def detach(self, i):
        t = self.tensors[i]
        family = Family(t.family.cells.detach(), t.family.siblings)
        family.base = Shown(family, t.places)
        self.tensors.append(family.base)

    def ordinary(self, i, j, how):
        t = self.read(i)
        self._add(how(t, operand(t, self.read(j))))

    def change(self, i, j, name):
        t = self.read(i)
        new = CHANGES[name](t, operand(t, self.read(j)))
        target = self.tensors[i]
        target.family.write(target.places, new + t.detach() * 0)  # of the shape and dtype of t

    def put(self, i, j, index):
        target = self.tensors[i]
        places = target.places[index]
        part = self.read(i)[index]
        target.family.write(places, operand(part, self.read(j)) + part.detach() * 0)

    def turn(self, i, name, how):
        t = self.tensors[i]
        with pb.enable_grad():  # a tensor that is turned under no_grad keeps its derivative
            value = how(t.read())
        t.places = how(pb.from_numpy(t.places)).numpy()
        t.family.writes += 1
        if t.family.base is t:
            t.family.recorded += 1
        else:
            t.value = t.node = value
            t.at = t.family.writes


KINDS = ("view",) * 7 + ("change",) * 6 + ("put", "put", "ordinary", "ordinary", "detach", "turn", "retain")


def overlaps(places):
    """Whether two elements share a cell."""
    cells = indices_of(places)
    return len(np.unique(cells)) < len(cells)


class Program:
    """Runs steps both ways and compares."""

    def __init__(self, steps):
        self.memory = Memory()
        self.values = Values(self.memory)
        self.retained = {}  # number of a tensor -> (its value without writing, writes seen by then)
        for step in steps:
            self._step(*step)

    def _step(self, kind, quiet, i, j, k):
        i, j = i % len(self.memory.tensors), j % len(self.memory.tensors)
        kind = KINDS[kind % len(KINDS)]
        if kind == "retain":
            self._retain(i)
            return
        target = self.memory.tensors[i]
        writes = kind in ("change", "put")
        if writes and overlaps(self.values.tensors[i].places) and (quiet or not target.requires_grad):
            return  # which of the values written to one place stays is left open
        call = self._call(kind, i, j, k)
        before = [t._version for t in self.memory.tensors], [t.tolist() for t in self._numbers()]
        with pb.no_grad() if quiet else contextlib.nullcontext():
            try:
                getattr(self.memory, kind)(*call)
            except REFUSED:
                # Refused before anything was done.
                assert before[1] == [t.tolist() for t in self._numbers()]
                assert before[0] == [t._version for t in self.memory.tensors]
                return
            assert not (writes and overlaps(self.values.tensors[i].places)), "written into what overlaps itself"
            getattr(self.values, kind)(*call)

    def _call(self, kind, i, j, k):
        if kind == "view":
            view = VIEWS[k % len(VIEWS)]
            return i, lambda t: view(t, j)
        if kind == "change":
            return i, j, list(CHANGES)[k % len(CHANGES)]
        if kind == "put":
            return i, j, PUTS[k % len(PUTS)](self.memory.tensors[i], j)
        if kind == "ordinary":
            return i, j, ORDINARY[k % len(ORDINARY)]
        return (i,) if kind == "detach" else (i, *TURNS[k % len(TURNS)])

    def _numbers(self):
        return [t.detach() for t in self.memory.tensors]

    def _retain(self, i):
        t, shown = self.memory.tensors[i], self.values.tensors[i]
        try:
            t.retain_grad()
        except REFUSED:
            return
        if t.grad_fn is not None:
            shown.read()
            self.retained[i] = (shown.node, shown.family.writes)

    def _loss(self, machine, readable):
        total = 0.0
        for i in readable:
            t = machine.read(i)
            t = t.real * 0.8 + t.imag * 0.6 if t.is_complex() else t
            weights = np.cos(i + np.arange(t.numel(), dtype=float)).reshape(t.shape)
            total = total + (t * pb.from_numpy(weights)).sum()
        return total

    def compare(self):
        """Assert that numbers and gradients agree; whether there was anything to compare."""
        readable = [i for i in range(len(self.memory.tensors)) if self._readable(i)]
        for i, t in enumerate(self.memory.tensors):
            assert_close(t.detach().numpy(), self.values.read(i).detach().numpy(), f"tensor {i}")
        loss, reference = (self._loss(m, readable) for m in (self.memory, self.values))
        try:
            loss.backward(create_graph=True)
        except SavedTensorModifiedError:
            return False
        kept = {i: v for i, (v, writes) in self.retained.items() if self.values.tensors[i].family.writes == writes}
        wanted = [*self.values.leaves, *kept.values()]
        expected = pb.autograd.grad(reference, wanted, create_graph=True, materialize_grads=True)
        holders = [*self.memory.leaves, *(self.memory.tensors[i] for i in kept)]
        for name, holder, g in zip(["x", "y", "w", "z", *kept], holders, expected, strict=True):
            got = np.zeros(holder.shape) if holder.grad is None else holder.grad.detach().numpy()
            assert_close(got, g.detach().numpy(), f"gradient of {name}")
        self._compare_second(expected[:4])
        return True

    def _compare_second(self, expected):
        """The derivatives of the squares of the gradients."""
        grads = [leaf.grad for leaf in self.memory.leaves if leaf.grad is not None and leaf.grad.requires_grad]
        if not grads:
            return
        try:
            second = pb.autograd.grad(squares(grads), self.memory.leaves, materialize_grads=True)
        except SavedTensorModifiedError:
            return
        reference = pb.autograd.grad(squares(expected), self.values.leaves, materialize_grads=True)
        for name, got, g in zip("xywz", second, reference, strict=True):
            assert_close(got.numpy(), g.numpy(), f"second derivative by {name}")

    def _readable(self, i):
        """Whether a tensor can be used; one that was a view of what was written into since may not be."""
        try:
            self.memory.read(i) * 1
        except REFUSED:
            return False
        return True


def squares(grads):
    """The sum of |g|^2."""
    return sum((g * g.conj()).real.sum() if g.is_complex() else (g * g).sum() for g in grads)


def assert_close(got, expected, what):
    """Equal but for rounding; programs whose numbers leave all bounds prove nothing."""
    if np.abs(expected).max(initial=0) < 1e6:
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-8, err_msg=what)
