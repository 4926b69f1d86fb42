"""Writes a nest down as a function in the language for loops.

The text knows neither sizes nor addresses: these are numbers that the function reads from its row of data, so nests
that differ in nothing else are one function. It knows for each access whether neighbouring elements lie side by side
along the dimension of the vectors, are one and the same, or lie apart.

    data: the sizes of all dimensions; then of each access the number of its base, its offset, and its strides in bytes
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count as counted
from math import inf, prod
from typing import Any, NamedTuple, TypeAlias

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Type, Value, Variable
from pullback.compiler.native.nodes import CHECK, GATHER, MAP, REDUCE, WRITE, Index, Node, Strides, Window
from pullback.compiler.native.outlined import Outlined, form_of, scalar
from pullback.compiler.native.schedule import ELEMENT, LATE, ROW, Member, Nest

_BLOCK = 64  # vectors that are added up before their sum is added to the total, in double precision
_CHEAP = 3  # operations of a map that are sooner done again than read from memory
_IDENTITY = {"add": 0.0, "mul": 1.0, "max": -inf, "min": inf}
_DEAR = frozenset({"div", "sqrt", "call", "floor"})


class Place(NamedTuple):
    """Where an array lies: the number of a base, and bytes from there."""

    base: int
    offset: int


_Key: TypeAlias = tuple[int, int, Strides, bool]


class Access:
    """Memory that a nest reads or writes, by its loops.

    Attributes
    ----------
    node : Node
        Whose memory it is.
    offset : int
        In elements.
    strides : list of int
        Bytes, one for each dimension of the nest.
    buffer : bool
        It is memory of the nest's own, of one row.
    key
        By which it is found again.
    """

    def __init__(self, key: _Key, node: Node, offset: int, strides: Sequence[int], buffer: bool) -> None:
        self.key, self.node, self.buffer = key, node, buffer
        self.offset = offset * node.dtype.itemsize
        self.strides = [s * node.dtype.itemsize for s in strides]
        self.address: Any = None
        self.by: list[Value] = []  # the strides, as the function reads them


class Kernel:
    """The function of a nest.

    Attributes
    ----------
    accesses : list of Access
    sizes : list of int
    buffers : dict of int to int
        Of each node that is kept for one row: the bytes for it.
    """

    def __init__(self, nest: Nest, stored: set[int], lanes: int, outlined: Outlined) -> None:
        self.nest, self.stored, self.lanes, self._outlined = nest, stored, lanes, outlined
        self.members = nest.members
        self.accesses: list[Access] = []
        self._by_key: dict[Any, Access] = {}
        self.buffers: dict[int, int] = {}
        self._rows: dict[int, Value] = {}
        self._further: dict[int, Value] = {}  # of a gather or a write by an index: bytes, for a whole inner loop
        self._wrong: Variable | None = None  # whether an index was out of range, or a check has not held
        self._totals: dict[int, Variable] = {}
        self._find_accesses()
        self._order()

    @property
    def form(self) -> Hashable:
        """Equal for kernels of equal text, in one program: all that the text is made of."""
        places = {access.key: nr for nr, access in enumerate(self.accesses)}
        accesses = tuple(
            (a.node.dtype, a.buffer, tuple(s if s in (0, a.node.dtype.itemsize) else None for s in a.strides))
            for a in self.accesses
        )
        numbers = {number: nr for nr, number in enumerate(self.members)}

        def read(x: Any) -> Hashable:
            if type(x) is not Window:
                return None
            if (nr := numbers.get(x.node.number)) is not None:
                return "member", nr
            return places[self._find(x.node, x.offset, x.strides).key]

        def attr(node: Node) -> Hashable:
            if node.op == MAP:
                return node.attr.name, node.attr.bits, node.attr.kind, form_of(node.operands)
            if node.op == WRITE:
                return places[self._store_of(node).key], node.attr.adds, node.attr.by
            found: Hashable = node.attr.how if node.op == REDUCE else node.attr
            return found

        members = tuple(
            (
                m.node.op, m.node.dtype, m.level, m.at, m.reads_rows, m.node.number in self.stored,
                m.node.number in self._buffered, attr(m.node), tuple(map(read, m.node.operands[m.node.op == WRITE :])),
            )
            for m in self.members.values()
        )  # fmt: skip
        return self.nest.bits, self.lanes, len(self.sizes), self.outer, self.along, self._is_short, accesses, members

    def write(self) -> Code:
        """The function."""
        self.code = Code("kernel", [("bases", ADDRESS), ("data", ADDRESS)], INDEX)
        self._write()
        return self.code

    # -- accesses ------------------------------------------------------------------------------------------------------
    def _find_accesses(self) -> None:
        self.passes = 1 + max((m.at for m in self.members.values() if not m.reads_rows), default=-1)
        self._buffered = self._kept_for_a_row()
        for member in self.members.values():
            for x in self._read(member.node):
                if x.node.number not in self.members:
                    self._access(x.node, x.offset, x.strides)
            if member.node.op == WRITE:
                self._access(member.node, member.node.attr.offset, member.node.attr.strides)
            elif member.node.op == REDUCE and member.level == LATE:
                self._access(member.node, 0, self._kept(member.node))
            elif member.node.number in self.stored:
                self._access(member.node, 0, member.node.strides)
            if member.node.number in self._buffered:
                k = self.nest.rows or 0
                inner = member.node.shape[k:]
                order = sorted(range(len(inner)), key=lambda d: -member.node.strides[k + d])
                strides, step = [0] * len(self.nest.space), 1
                for d in reversed(order):
                    strides[k + d], step = step, step * inner[d]
                self._access(member.node, 0, strides, buffer=True)
                self.buffers[member.node.number] = step * member.node.dtype.itemsize

    @staticmethod
    def _read(node: Node) -> list[Window]:
        """The windows that it reads by the loops: the target of a write is none."""
        return [x for x in node.operands[node.op == WRITE :] if type(x) is Window]

    @staticmethod
    def _kept(node: Node) -> Sequence[int]:
        """The strides of the result of a reduction by the dimensions over which it runs."""
        strides = iter(node.strides)
        return [0 if d in node.attr.axes else next(strides) for d in range(len(node.operands[0].shape))]

    def _access(self, node: Node, offset: int, strides: Sequence[int], buffer: bool = False) -> None:
        key = self._key(node, offset, strides, buffer)
        if key not in self._by_key:
            self._by_key[key] = made = Access(key, node, offset, key[2], buffer)
            self.accesses.append(made)

    def _key(self, node: Node, offset: int, strides: Sequence[int], buffer: bool = False) -> _Key:
        rest = [0] * (len(self.nest.space) - len(strides))  # what runs over rows runs over no inner dimension
        return node.number, offset, (*strides, *rest), buffer

    def _find(self, node: Node, offset: int, strides: Sequence[int]) -> Access:
        return self._by_key[self._key(node, offset, strides)]

    def _kept_for_a_row(self) -> set[int]:
        """The nodes of an element that a later pass reads, which are neither in memory nor cheap to do again."""
        found = set[int]()
        for member in self.members.values():
            if member.reads_rows:
                continue
            for x in self._read(member.node):
                self._keep(x.node, member.at, found)
        return found

    def _keep(self, node: Node, at: int, found: set[int]) -> None:
        member = self.members.get(node.number)
        if member is None or member.level != ELEMENT or member.at >= at or node.number in self.stored:
            return
        if node.number in found or self._is_cheap(node):
            if self._is_cheap(node):
                for x in self._read(node):
                    self._keep(x.node, at, found)
            return
        found.add(node.number)

    def _is_cheap(self, node: Node) -> bool:
        if node.op != MAP:
            return False
        ops = scalar(node.attr, node.operands).operations
        return len(ops) <= _CHEAP and _DEAR.isdisjoint(ops)

    # -- indices -------------------------------------------------------------------------------------------------------
    @staticmethod
    def _by_index(node: Node) -> bool:
        return node.op == GATHER or (node.op == WRITE and node.attr.by is not None)

    def _index(self, member: Member) -> tuple[Access, Index]:
        """(the access of the index, along what it counts)."""
        node = member.node
        x = node.operands[-1]
        return self._find(x.node, x.offset, x.strides), node.attr if node.op == GATHER else node.attr.by

    def _meets(self, member: Member) -> bool:
        """True if the lanes of a vector go to places of their own, or all to one, where each adds to the others."""
        own = member.node.op == GATHER or self._store_of(member.node).strides[self.along]
        return bool(self._index(member)[0].strides[self.along]) or not own

    def _step(self, member: Member) -> Value:
        """How many bytes further an element is; an index from the end is negative, one out of range is noted."""
        c, (access, at) = self.code, self._index(member)
        found = c.load(INDEX, access.address)
        found = c.sel(found < 0, found + at.length, found)
        inside = (found >= 0) & (found < at.length)
        assert self._wrong is not None
        c.set(self._wrong, c.sel(inside, c.get(self._wrong), c.index(1)))
        by: int = at.stride * member.node.dtype.itemsize
        return c.sel(inside, found, c.index(0)) * by

    def _at_index(self, member: Member, access: Access) -> Value:
        """The address of an element."""
        number = member.node.number
        return self.code.shift(access.address, self._further[number] if number in self._further else self._step(member))

    # -- dimensions ----------------------------------------------------------------------------------------------------
    def _order(self) -> None:
        """Bring the dimensions into the order of their strides, and make one of several wherever all accesses allow."""
        space, k = self.nest.space, self.nest.rows or 0
        outer = self._collapsed(sorted(range(k), key=self._far, reverse=True))
        inner = self._collapsed(sorted(range(k, len(space)), key=self._far, reverse=True))
        self.sizes = [prod(space[d] for d in group) for group in (*outer, *inner)]
        for access in self.accesses:
            access.strides = [access.strides[group[-1]] for group in (*outer, *inner)]
        if not inner:  # numbers alone
            self.sizes.append(1)
            for access in self.accesses:
                access.strides.append(0)
        self.outer = len(outer)
        self.along = len(self.sizes) - 1  # the dimension of the vectors
        if self.outer and prod(self.sizes[self.outer :]) < 2 * self.lanes:
            units = [sum(a.strides[d] == a.node.dtype.itemsize for a in self.accesses) for d in range(self.outer)]
            self.along = max(range(self.outer), key=lambda d: (units[d], self.sizes[d]))
            for access in self.accesses:  # a row's buffer has a vector for each element
                if access.buffer:
                    access.strides = [s * self.lanes for s in access.strides]
            self.buffers = {number: size * self.lanes for number, size in self.buffers.items()}
        if any(self._meets(m) for m in self.members.values() if self._by_index(m.node)):
            self.lanes = 1
        # The text of a loop over elements that fit into one vector is shorter, and need not know how many there are.
        self._is_short = self.outer <= self.along and 1 < self.sizes[self.along] <= self.lanes

    def _far(self, d: int) -> tuple[Any, ...]:
        """How far elements lie apart along a dimension, for most accesses."""
        strides = sorted(abs(a.strides[d]) for a in self.accesses if a.strides[d])
        side_by_side = sum(abs(a.strides[d]) == a.node.dtype.itemsize for a in self.accesses)
        return -side_by_side, strides[len(strides) // 2] if strides else 0, -d

    def _collapsed(self, order: Sequence[int]) -> list[list[int]]:
        groups: list[list[int]] = []
        for d in order:
            n = self.nest.space[d]
            if groups and all(a.strides[groups[-1][-1]] == a.strides[d] * n for a in self.accesses):
                groups[-1].append(d)
            else:
                groups.append([d])
        return groups

    # -- data ----------------------------------------------------------------------------------------------------------
    def data(self, places: dict[Any, Place]) -> list[int]:
        """The row of data: `places` of nodes by number, and of rows' buffers by ("row", number)."""
        words = list(self.sizes)
        for access in self.accesses:
            place = places["row", access.node.number] if access.buffer else places[access.node.number]
            words += [place.base, place.offset + access.offset, *access.strides]
        return words + [member.node.size for member in self._filled()]

    def _filled(self) -> list[Member]:
        """The members that begin with an identity in memory."""
        return [m for m in self.members.values() if m.level == LATE and m.node.op == REDUCE]

    # -- text ----------------------------------------------------------------------------------------------------------
    def _write(self) -> None:
        c = self.code
        bases, data = c.params
        word = counted()

        def read() -> Value:
            return c.load(INDEX, data.at(next(word), 8))

        self._size = [read() for _ in self.sizes]
        for access in self.accesses:
            base, offset = read(), read()
            strides = [read() for _ in self.sizes]
            access.address = c.shift(c.load(ADDRESS, bases.at(base, 8)), offset)
            access.by = strides
        if any(m.node.op == CHECK or self._by_index(m.node) for m in self.members.values()):
            self._wrong = c.variable(c.index(0))
        for member in self._filled():
            self._fill(member, read())
        with ExitStack() as loops:
            for d in range(self.outer):
                if d != self.along:
                    self._enter(loops, d)
            if self.along < self.outer:
                self._rows_by_vectors()
            else:
                self._row()
        c.give(c.index(0) if self._wrong is None else c.get(self._wrong))

    def _enter(self, loops: ExitStack, d: int) -> None:
        """A loop over a dimension."""
        self._move(loops.enter_context(self.code.loop(0, self._size[d])), d)

    def _rows_by_vectors(self) -> None:
        """As many rows at a time as a vector has lanes."""
        c, d, lanes = self.code, self.along, self.lanes
        count = self._size[d]
        main = count & -lanes if lanes > 1 else count
        with c.loop(0, main, lanes) as i:
            self._rows_from(i, None)
        if lanes > 1:
            rest = count - main
            with c.when(c.compare("lt", c.index(0), rest)):
                self._rows_from(main, rest)

    def _rows_from(self, i: Value, count: Value | None) -> None:
        with self._same_addresses(), self._vector(count):
            self._move(i, self.along)
            self._row()

    @contextmanager
    def _same_addresses(self) -> Iterator[None]:
        """Move back what moves meanwhile."""
        before = [access.address for access in self.accesses]
        yield
        for access, address in zip(self.accesses, before, strict=True):
            access.address = address

    @contextmanager
    def _vector(self, count: Value | None) -> Iterator[None]:
        """Values have all lanes meanwhile, of which so many count."""
        self._lanes_now, self._count = self.lanes, count
        yield
        self._lanes_now, self._count = 1, None

    def _move(self, i: Value, d: int) -> None:
        """Let all addresses be those of place i of a dimension."""
        for access in self.accesses:
            if access.strides[d]:
                side = access.strides[d] == access.node.dtype.itemsize
                by = access.strides[d] if side else access.by[d]
                access.address = self.code.shift(access.address, i * by)

    def _fill(self, member: Member, count: Value) -> None:
        c, node = self.code, member.node
        access = self._store_of(node)
        type_ = _typed(node, self.nest.bits, 1)
        with c.loop(0, count) as i:
            c.store(c.number(_IDENTITY[node.attr.how], type_), access.address.at(i, node.dtype.itemsize))

    def _row(self) -> None:
        """All passes over one row."""
        rows = [m for m in self.members.values() if m.reads_rows]
        for at in range(self.passes + 1):
            for member in rows:
                if member.at == at:
                    self._number(member)
            if at < self.passes:
                self._pass(at)

    def _number(self, member: Member) -> None:
        """Something of one row."""
        node = member.node
        if node.op == MAP:
            value = self._rows[node.number] = self._mapped(node, self._of_row)
            if node.number in self.stored:
                self._stored(self._store_of(member.node), value)
            return
        if node.op == REDUCE:
            self._gather(member, self._of_row(node.operands[0]))
        elif node.op == CHECK:
            self._look(self._of_row(node.operands[0]))
        else:
            self._put(member, self._of_row(node.operands[1]))

    def _of_row(self, x: Window) -> Value:
        if x.node.number in self._rows:
            return self._rows[x.node.number]
        return self._loaded(x, self._lanes_now, self._count)

    def _mapped(self, node: Node, read: Any) -> Value:
        bits = node.attr.bits
        args = [read(x) if type(x) is Window else x for x in node.operands]
        lanes = next((x.type.lanes for x in args if isinstance(x, Value)), self._lanes_now)
        kind = node.attr.kind
        args = [self._fit(x, bits, kind) if isinstance(x, Value) else x for x in args]
        found = self._outlined.value(self.code, node, Type(kind, bits, lanes), args)
        if found.type.kind == "f" and node.dtype.kind == "f" and found.type.bits != 8 * node.dtype.itemsize:
            found = self.code.cast(found, 8 * node.dtype.itemsize)
        return found

    def _fit(self, x: Value, bits: int, kind: str) -> Value:
        """An operand as a number of this kind, or a mask of this width."""
        if x.type.kind == "i" and kind == "f":
            x = self.code.tofloat(x)
        return self.code.cast(x, bits) if x.type.bits != bits else x

    # -- passes --------------------------------------------------------------------------------------------------------
    def _pass(self, at: int) -> None:
        c = self.code
        work = [m for m in self.members.values() if not m.reads_rows and m.at == at and self._does(m)]
        ends = [m for m in work if m.node.op == REDUCE and m.level == ROW]
        for member in ends:
            self._totals[member.node.number] = self._begin(member)
        inner = range(self.outer, len(self.sizes))
        around = [d for d in inner if d != self.along]
        with self._same_addresses(), ExitStack() as loops:
            last = around.pop() if self._is_short and around else None
            for d in around:
                self._enter(loops, d)
            if last is not None:
                self._short(at, work, ends, last)
            elif self.along in inner:
                self._vectors(at, work, ends)
            else:
                self._work(at, work, {m.node.number: self._totals[m.node.number] for m in ends}, None, whole=True)
        for member in ends:
            node = member.node
            value = c.cast(c.get(self._totals[node.number]), self.nest.bits)
            self._rows[node.number] = value
            if node.number in self.stored:
                self._stored(self._store_of(member.node), value)

    def _does(self, member: Member) -> bool:
        """True of what a pass must do for its own sake: others are computed where they are read."""
        return member.level != ELEMENT or member.node.number in self.stored or member.node.number in self._buffered

    def _begin(self, member: Member) -> Variable:
        """The total of a reduction: in double precision for a sum."""
        how = member.node.attr.how
        if self.along < self.outer:  # of a few numbers, in each lane
            return self.code.variable(self._identity(member))
        return self.code.variable(self.code.number(_IDENTITY[how], Type("f", self._exact(member))))

    def _short(self, at: int, work: Sequence[Member], ends: Sequence[Member], d: int) -> None:
        """A loop over the dimension around a single vector, or a part of one: what is summed over it stays in one."""
        c = self.code
        sums = [m for m in self._late(work, apart=True) if not self._store_of(m.node).strides[d]]
        totals = [c.variable(c.cast(self._identity(m), self._exact(m))) for m in sums]
        with self._same_addresses(), c.loop(0, self._size[d], _BLOCK if sums else 1) as j:
            kept = {m.node.number: c.variable(self._identity(m)) for m in sums}
            with ExitStack() as loop:
                if sums:
                    end = c.sel(c.compare("lt", self._size[d], j + _BLOCK), self._size[d], j + _BLOCK)
                    j = loop.enter_context(c.loop(j, end))
                self._move(j, d)
                self._vectors(at, work, ends, kept)
            for member, total in zip(sums, totals, strict=True):
                part = c.cast(c.get(kept[member.node.number]), total.type.bits)
                c.set(total, self._combined(member.node.attr.how, c.get(total), part))
        with self._vector(self._size[self.along]):
            for member, total in zip(sums, totals, strict=True):
                self._gather(member, c.cast(c.get(total), self.nest.bits))

    def _late(self, work: Sequence[Member], apart: bool) -> list[Member]:
        """The reductions among these into memory, those whose lanes lie apart there, or all in one place."""
        late = [m for m in work if m.level == LATE and m.node.op == REDUCE]
        return [m for m in late if bool(self._store_of(m.node).strides[self.along]) is apart]

    def _exact(self, member: Member) -> int:
        """The bits of a total: of a sum it is in double precision."""
        return 64 if member.node.attr.how == "add" else self.nest.bits

    def _vectors(
        self, at: int, work: Sequence[Member], ends: Sequence[Member], kept: dict[int, Variable] | None = None
    ) -> None:
        """The innermost loop, by vectors, and what is left of it; `kept`: sums that a vector holds."""
        c, d, lanes = self.code, self.along, self.lanes
        late = self._late(work, apart=False)
        sums = [*ends, *late]
        for member in late:
            self._totals[member.node.number] = self._begin(member)
        for member in self.members.values():
            if member.at == at and self._by_index(member.node) and not self._index(member)[0].strides[d]:
                self._further[member.node.number] = self._step(member)
        count = self._size[d]
        if self._is_short:
            self._some(at, work, sums, c.index(0), count, kept)
        elif lanes > 1:
            main = count & -lanes
            with c.when(c.compare("lt", c.index(0), main)):
                if sums:
                    step = lanes * _BLOCK
                    with c.loop(0, main, step) as j:
                        end = c.sel(c.compare("lt", main, j + step), main, j + step)
                        self._block(at, work, sums, j, end)
                else:
                    self._block(at, work, sums, c.index(0), main)
            rest = count - main
            with c.when(c.compare("lt", c.index(0), rest)):
                self._some(at, work, sums, main, rest)
        else:
            self._block(at, work, sums, c.index(0), count)
        for member in late:
            self._gather(member, c.cast(c.get(self._totals[member.node.number]), self.nest.bits))

    def _block(self, at: int, work: Sequence[Member], sums: Sequence[Member], begin: Value, end: Value) -> None:
        c = self.code
        accumulated = {m.node.number: c.variable(self._identity(m)) for m in sums}
        with c.loop(begin, end, self.lanes) as i:
            self._body(at, work, accumulated, i, None)
        self._end(sums, accumulated)

    def _some(
        self,
        at: int,
        work: Sequence[Member],
        sums: Sequence[Member],
        place: Value,
        count: Value,
        kept: dict[int, Variable] | None = None,
    ) -> None:
        """The elements that are no whole vector."""
        accumulated = {m.node.number: self.code.variable(self._identity(m)) for m in sums}
        self._body(at, work, accumulated | (kept or {}), place, count)
        self._end(sums, accumulated)

    def _identity(self, member: Member) -> Value:
        return self.code.number(_IDENTITY[member.node.attr.how], Type("f", self.nest.bits, self.lanes))

    def _end(self, sums: Sequence[Member], accumulated: dict[int, Variable]) -> None:
        c = self.code
        for member in sums:
            how, total = member.node.attr.how, self._totals[member.node.number]
            value = c.cast(c.across(how, c.get(accumulated[member.node.number])), total.type.bits)
            c.set(total, self._combined(how, c.get(total), value))

    def _combined(self, how: str, a: Value, b: Value) -> Value:
        """NaN if one of them is."""
        if how == "add":
            return a + b
        if how == "mul":
            return a * b
        beats = b > a if how == "max" else b < a
        return self.code.sel(beats | b.ne(b), b, a)

    def _body(
        self, at: int, work: Sequence[Member], accumulated: dict[int, Variable], i: Value, count: Value | None
    ) -> None:
        """One round of the innermost loop, for a vector or a part of one."""
        with self._same_addresses(), self._vector(count):
            self._move(i, self.along)
            self._work(at, work, accumulated, count)

    def _work(
        self,
        at: int,
        work: Sequence[Member],
        accumulated: dict[int, Variable],
        count: Value | None,
        whole: bool = False,
    ) -> None:
        """The members of a pass, for some lanes; `whole`: what is in a lane stays there."""
        c = self.code
        self._memo: dict[int, Value] = {}
        self._at = at
        for member in work:
            node = member.node
            if node.op in (MAP, GATHER):
                value = self._element(node)
                if node.number in self.stored:
                    self._stored(self._store_of(member.node), value)
                if node.number in self._buffered:
                    self._stored(self._store_of(node, buffer=True), value)
            elif node.op == WRITE:
                self._put(member, self._of_element(node.operands[1]))
            elif node.op == CHECK:
                self._look(self._of_element(node.operands[0]))
            else:
                value = self._of_element(node.operands[0])
                if (variable := accumulated.get(node.number)) is None:
                    self._gather(member, value)
                    continue
                if not whole:
                    value = self._masked(member, value, count)
                c.set(variable, self._combined(node.attr.how, c.get(variable), value))

    def _masked(self, member: Member, value: Value, count: Value | None) -> Value:
        """A value with what changes nothing in the lanes that are not there."""
        if count is None or value.type.lanes == 1:
            return value
        return self.code.sel(self._there(value.type.lanes, count), value, self._identity(member))

    def _there(self, lanes: int, count: Value) -> Value:
        """A mask of the first `count` lanes."""
        c = self.code
        numbers = c.lanes(Type("i", self.nest.bits, lanes))
        return c.compare("lt", numbers, c.splat(c.cast(count, self.nest.bits), lanes))

    def _look(self, wrong: Value) -> None:
        """Note whether a truth value is true."""
        c, lanes = self.code, wrong.type.lanes
        if self._count is not None and lanes > 1:
            wrong = wrong & self._there(lanes, self._count)
        assert self._wrong is not None
        c.set(self._wrong, c.sel(c.any(wrong), c.index(1), c.get(self._wrong)))

    _lanes_now = 1
    _count: Value | None = None
    _at = 0

    def _element(self, node: Node) -> Value:
        """The value of a member of this pass, or again of one before."""
        if (found := self._memo.get(node.number)) is None:
            found = self._gathered(node) if node.op == GATHER else self._mapped(node, self._of_element)
            self._memo[node.number] = found
        return found

    def _gathered(self, node: Node) -> Value:
        x = node.operands[0]
        access = self._find(x.node, x.offset, x.strides)
        before = access.address
        access.address = self._at_index(self.members[node.number], access)
        found = self._load(access, x.node, self._lanes_now, self._count)
        access.address = before
        return found

    def _of_element(self, x: Window) -> Value:
        c, member = self.code, self.members.get(x.node.number)
        if member is None:
            return self._loaded(x, self._lanes_now, self._count)
        if member.level == ROW:
            value = self._rows[x.node.number]
            return value if value.type.lanes == self._lanes_now else c.splat(value, self._lanes_now)
        if member.at < self._at and x.node.number in self.stored:
            return self._load(self._store_of(member.node), x.node, self._lanes_now, self._count)
        if member.at < self._at and x.node.number in self._buffered:
            return self._load(self._store_of(x.node, buffer=True), x.node, self._lanes_now, self._count)
        return self._element(x.node)

    def _store_of(self, node: Node, buffer: bool = False) -> Access:
        """Where a member lies, or what is kept of it for one row."""
        return next(a for a in self.accesses if a.node is node and a.buffer is buffer)

    # -- memory --------------------------------------------------------------------------------------------------------
    def _loaded(self, x: Window, lanes: int, count: Value | None) -> Value:
        return self._load(self._find(x.node, x.offset, x.strides), x.node, lanes, count)

    def _load(self, access: Access, node: Node, lanes: int, count: Value | None) -> Value:
        c, stride = self.code, access.strides[self.along]
        if lanes == 1:
            return c.load(_typed(node, self.nest.bits, 1), access.address)
        if not stride and not access.buffer:
            return c.splat(c.load(_typed(node, self.nest.bits, 1), access.address), lanes)
        type_ = _typed(node, self.nest.bits, lanes)
        if access.buffer and self.along < self.outer:
            return c.load(type_, access.address)
        apart = None if stride == node.dtype.itemsize else access.by[self.along]
        return c.load(type_, access.address, count, apart)

    def _stored(self, access: Access, value: Value) -> None:
        stride = access.strides[self.along]
        if access.buffer and self.along < self.outer:
            self.code.store(value, access.address)
            return
        apart = None if stride == access.node.dtype.itemsize or value.type.lanes == 1 else access.by[self.along]
        self.code.store(value, access.address, self._count if value.type.lanes > 1 else None, apart)

    def _put(self, member: Member, value: Value) -> None:
        """A value into the window of a write."""
        access = self._store_of(member.node)
        before = access.address
        if member.node.attr.by is not None:
            access.address = self._at_index(member, access)
        if member.node.attr.adds:
            there = self._load(access, member.node, value.type.lanes, self._count)
            value = there + value
        self._stored(access, value)
        access.address = before

    def _gather(self, member: Member, value: Value) -> None:
        """A value into what a reduction has in memory."""
        access, c = self._store_of(member.node), self.code
        if value.type.lanes > 1 and not access.strides[self.along]:
            value = c.across(member.node.attr.how, self._masked(member, value, self._count))
        there = self._load(access, member.node, value.type.lanes, self._count if value.type.lanes > 1 else None)
        self._stored(access, self._combined(member.node.attr.how, there, value))


def _typed(node: Node, bits: int, lanes: int) -> Type:
    """The type of an element of a node in memory; a mask is as wide as the numbers beside it."""
    if node.dtype.kind == "b":
        return Type("m", bits, lanes)
    return Type("i" if node.dtype.kind == "i" else "f", 8 * node.dtype.itemsize, lanes)
