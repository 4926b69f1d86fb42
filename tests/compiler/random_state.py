"""Programs at random that read state in many ways, and changes of that state at random.

    python -m tests.compiler.random_state 0 10000

tells how many changes of a result were seen (all of them), and how many changes were seen that changed no result.
"""

from __future__ import annotations

import random
import sys
import types
from typing import Any

PRELUDE = """
import dataclasses, functools, types
def safe(run):
    try:
        return run()
    except Exception:
        return "none"
def plain(x, depth=0):
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *[plain(y) for y in x]]
    if isinstance(x, dict):
        return [(k, plain(y)) for k, y in x.items()]
    if isinstance(x, (int, float, str)) or x is None:
        return type(x).__name__ + repr(x)
    return type(x).__name__
"""
NAMES, FIELDS = ("g0", "g1", "g2", "g3"), ("a", "b", "c")


class Writer:
    """Writes one program; `random` decides."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *among: Any) -> Any:
        return self.random.choice(among)

    def value(self, depth: int = 0) -> str:
        """An expression that makes some state."""
        kind = self.pick("leaf", "leaf", "list", "dict", "tuple", "C0", "C1", "S") if depth < 3 else "leaf"
        if kind == "leaf":
            return self.pick("0", "1", "True", "1.0", "-0.0", "0.0", "float('nan')", "'a'", "'b'", "None", "2.5", "7")
        parts = [self.value(depth + 1) for _ in range(self.random.randrange(3))]
        if kind == "list":
            return f"[{', '.join(parts)}]"
        if kind == "tuple":
            return f"({' '.join(part + ',' for part in parts)})"
        pairs = zip(self.random.sample(FIELDS, len(parts)), parts, strict=True)
        if kind == "dict":
            return "{" + ", ".join(f"{key!r}: {part}" for key, part in pairs) + "}"
        return f"{kind}({', '.join(f'{key}={part}' for key, part in pairs)})"

    def steps(self, x: str, count: int) -> str:
        """An expression that takes steps from `x` into what it holds."""
        for _ in range(count):
            name = self.pick(*FIELDS)
            key = repr(name)
            x = self.pick(
                f"{x}.{name}",
                f"{x}.{name}",
                f"{x}[{key}]",
                f"{x}[0]",
                f"getattr({x}, {key}, 5)",
                f"{x}.get({key})",
            )
        return x

    def read(self, x: str | None = None, calls: int = 3) -> str:
        """An expression that reads some state, and gives it as numbers and words."""
        root = x or self.pick(*NAMES)
        found = self.steps(root, self.random.randrange(3))
        callee = self.pick(*[f"h{i}" for i in range(calls)]) if calls else "plain"
        deep = [  # none of which inner functions do, so that a program ends
            f"{callee}({found})",
            f"{found}.m()",
            f"{found}.p",
            f"len({found})",
            f"C1({self.pick(*FIELDS)}={found}).m()",
            f"cell()({found})",
            f"table[{self.pick(*FIELDS)!r}]({found})",
        ]
        found = self.pick(
            *(deep if calls else ()),
            found,
            found,
            f"hasattr({found}, {self.pick(*FIELDS)!r})",
            f"[y for y in {found}]",
            f"(lambda v: {self.steps('v', 1)})({found})",
            f"{found} + 1",
            f"C0.{self.pick(*FIELDS)}",
            f"type({found}).{self.pick(*FIELDS)}",
            f"isinstance({found}, C1)",
            f"sum(y for y in {found})",
            f"cfg.{self.pick(*FIELDS)}",
            f"cfg.{self.pick(*FIELDS)}.{self.pick(*FIELDS)}",
            f"(lambda c: c.{self.pick(*FIELDS)})(cfg)",
            f"data.{self.pick(*FIELDS)}",
            "data == other",
            f"[*{found}]",
            f"{found} == {self.pick(*NAMES)}",
            f"functools.partial(h0, {found})",
            f"bound({found})",
            f"{found}.made()",
            "hook.rate",
            "(getattr(hook, 'rate', 3), hook.other)",
            f"box.{self.pick(*FIELDS)}",
            f"[y for y in {self.pick(*NAMES)} if y in {found}]",
            f"{found}.__dict__",
            f"abs({found})",
            f"map(lambda v: v, {found}).__next__()",
            "S.__slots__",
        )
        return f"plain(safe(lambda: {found}))"

    def program(self) -> str:
        """Classes, functions, globals, and `f`."""
        several = lambda *x, **k: "[" + ", ".join(self.read(*x, **k) for _ in range(self.random.randrange(1, 3))) + "]"  # noqa: E731
        lines = [
            PRELUDE,
            "class C0:",
            *[f"    {name} = {self.value(3)}" for name in self.random.sample(FIELDS, 2)],
            "    def __init__(self, **parts): self.__dict__.update(parts)",
            f"    def m(self): return {several('self', 0)}",
            "    @property",
            f"    def p(self): return {several('self', 0)}",
            f"    def __len__(self): return {self.pick('2', 'len(g1)')}",
            f"    def __getitem__(self, key): return {self.pick('3', 'g2', 'self.a')} if key in 'abc' else None",
            "    @classmethod",
            f"    def made(cls): return {self.pick('cls.a', 'cls(a=3).a', 'cls().b')}",
            "class C1(C0):",
            *self.pick([f"    def m(self): return [super().m(), {self.read('self', 0)}]"], ["    pass"]),
            f"    b = {self.value(3)}",
            "class S:",
            "    __slots__ = ('a', 'b', 'c')",
            "    def __init__(self, **parts):",
            "        for name in parts: object.__setattr__(self, name, parts[name])",
        ]
        for i in range(3):
            reads = f"{self.read('v', i)}, {self.read('w', i)}, {self.read(None, i)}, plain(u)"
            lines += [f"def h{i}(v, w={self.value(2)}, *, u={self.value(2)}): return [{reads}]"]
        lines += [
            "def make():",
            f"    z = {self.value(1)}",
            "    def put(new):",
            "        nonlocal z",
            "        z = new",
            f"    def inner(v): return [{self.read('z', 0)}, {self.read('v', 0)}]",
            "    return inner, put",
            "inner, put = make()",
            "cfg = types.ModuleType('cfg')",
            *[f"cfg.{name} = {self.value(1)}" for name in self.random.sample(FIELDS, 2)],
            "@dataclasses.dataclass",
            "class Data:",
            *[f"    {name}: object = None" for name in FIELDS],
            f"data = Data({self.value(2)}, {self.value(2)})",
            f"other = Data({self.value(2)})",
            "class D:",
            f"    def __get__(self, x, kind): return {self.pick('g0', 'self.a', 'x.a')}",
            f"    a = {self.value(3)}",
            f"class Box(dict): {self.pick('a', 'b')} = D()",
            "box = Box()",
            "def hook(): pass",
            f"hook.rate = {self.value(3)}",
            "def cell(): return inner",
            "bound = C0(a=1).m and C0(a=2).made",
            "table = {'a': inner, 'b': inner, 'c': inner}",
            *[f"{name} = {self.value()}" for name in NAMES],
            f"def f(): return {several()} + {several()} + {several()} + {several()} + {several()}",
        ]
        return "\n".join(lines)

    def change(self, scope: dict[str, Any]) -> str:
        """A statement that changes something."""
        x = self.pick(*NAMES)
        for _ in range(self.random.randrange(3)):
            x = self.pick(*self.deeper(x, scope)) or x
        value, name = self.value(self.pick(1, 3)), self.pick(*FIELDS)
        return self.pick(
            f"{x}.{name} = {value}",
            f"{x}[{name!r}] = {value}",
            f"{x}[0] = {value}",
            f"{x}.append({value})",
            f"del {x}.{name}",
            f"del {x}[{name!r}]",
            f"{x}.clear()",
            f"{self.pick(*NAMES)} = {value}",
            f"{self.pick('C0', 'C1')}.{name} = {value}",
            f"del {self.pick('C0', 'C1')}.{name}",
            f"{self.pick('C0', 'C1')}.m = lambda self: {self.read('self', 0)}",
            f"{self.pick('C0', 'C1')}.{name} = property(lambda self: {value})",
            f"C0.__len__ = lambda self: {self.pick('1', '3')}",
            f"h{self.random.randrange(3)} = lambda v: {value}",
            f"h{self.random.randrange(3)}.__defaults__ = ({value},)",
            f"h{self.random.randrange(3)}.__kwdefaults__['u'] = {value}",
            f"h{self.random.randrange(3)}.__code__ = (lambda v, w, *, u: {value}).__code__",
            f"put({value})",
            f"table[{name!r}] = lambda v: {value}",
            f"{x}.__class__ = {self.pick('C0', 'C1')}",
            "len = lambda v: 9",
            f"cfg.{name} = {value}",
            f"del cfg.{name}",
            f"data.{name} = {value}",
            f"other.{name} = {value}",
            f"Data.__eq__ = lambda self, other: {value}",
            f"D.a = {value}",
            "del D.__get__",
            "D.__set__ = None",
            f"box.{name} = {value}",
            f"hook.rate = {value}",
            f"hook.other = {value}",
            f"C0.__getitem__ = lambda self, key: {value} if key in 'abc' else None",
            f"C1.made = classmethod(lambda cls: {value})",
            "C1.__init__ = lambda self, **parts: None",
            "C1.__eq__ = lambda self, other: True",
            "C0.__iter__ = lambda self: iter([1])",
            f"{x}.__dict__ = dict({name}=3)",
            f"{x}.extend([{value}])",
            f"{x}.insert(0, {value})",
            f"{x}.update({name}={value})",
            "abs = lambda v: 9",
            "C1.__bases__ = (type('B', (), {'b': 3}), C0)",
            f"h0.{name} = 3",
            f"C1.__getattr__ = lambda self, n: {value}",
        )

    def deeper(self, x: str, scope: dict[str, Any]) -> list[str]:
        try:
            found = eval(x, scope)
        except Exception:  # noqa: BLE001 - a change has hidden it
            return [""]
        if isinstance(found, dict):
            return [f"{x}[{key!r}]" for key in found] or [""]
        if isinstance(found, (list, tuple)):
            return [f"{x}[{i}]" for i in range(len(found))] or [""]
        names = [
            *getattr(found, "__dict__", ()),
            *(n for n in FIELDS if type(found).__name__ == "S" and hasattr(found, n)),
        ]
        return [f"{x}.{name}" for name in names] or [""]


def tried(seed: int, changes: int = 8) -> tuple[list[str], str]:
    """(what came of each change: "seen", "same", "alarm" or "STALE"; the program with its changes)."""
    from pullback.compiler.reach.reached import reach_of

    writer = Writer(seed)
    source = writer.program()
    module = sys.modules["random_state_of_a_test"] = types.ModuleType("random_state_of_a_test")
    module.__file__ = "random_state_of_a_test.py"
    scope = vars(module)
    exec(compile(source, "random_state_of_a_test.py", "exec"), scope)
    found, outcomes = reach_of(scope["f"]), []
    before = scope["f"]()
    assert not found.watches.stale(), f"{source}\n{found.watches.changed()}"  # it changes nothing by itself
    for _ in range(changes):
        change = writer.change(scope)
        try:
            exec(change, scope)
        except Exception:  # noqa: BLE001 - it does not fit what is there
            continue
        source += f"\n# {change}"
        stale, now = found.watches.stale(), scope["f"]()
        outcomes.append(("seen" if now != before else "alarm") if stale else ("STALE" if now != before else "same"))
        if stale:
            found = reach_of(scope["f"])
        if found.refused:
            outcomes.append(found.refused[0].what)
            break
        before = now
    return outcomes, source


if __name__ == "__main__":
    from collections import Counter

    counts: Counter[str] = Counter()
    for seed in range(*map(int, sys.argv[1:])):
        outcomes, text = tried(seed)
        counts.update(outcomes)
        if "STALE" in outcomes:
            print(seed, outcomes, text)
    print(dict(counts))
