"""The contents of nodes, as their classes write them down: the slots, and the methods that fill and empty them.

A class of nodes says `__slots__ = Saves("self:1 other:0")`, with a word for each argument of the operator, in their
order, then `->` and a word for each output. The words are:

- `self`: a tensor, in the slots `saved_self` and `version_self`; `tensors*`: a list of tensors; `index!`: a tensor that
  gets no gradient, of which a copy is kept if it is an ndarray.
- `self:1`: a tensor, kept if a gradient flows along the node's edge 1; `self:0|1`: along either; `self:0&1`: both.
  Edges of a list have its name: `self:tensors*`. With `/form` the shape and dtype are kept otherwise.
- `self.shape`: the shape of a tensor alone, in the slot `self_shape`; `tensors*.shape`: that of each.
- `keepdim=`: an argument that nobody can change, in the slot `arg_keepdim`; `dim=copy`: a copy of one; `index=index`:
  the same for an index, which goes with the saved tensors if it holds arrays.
- `_`: nothing; `self.shape+self:1`: both.

The methods are compiled when a node of the class is first recorded: a program records few of the many operators, and
what is written out for one of them takes a tenth of the time of a loop over its slots.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.core.array_face import Array
from pullback.core.array_type import attribute
from pullback.core.tensor import Tensor
from pullback.graph.node import MultiNode, Node
from pullback.graph.saved import Form, Released, let_go, save_list, save_other, version_when_saved, watch_output
from pullback.graph.snapshot import FIXED, snapshot

# What the compiled methods call.
_NAMES = {
    "Array": Array, "FIXED": FIXED, "Form": Form, "Released": Released, "Tensor": Tensor, "attribute": attribute,
    "let_go": let_go, "save_list": save_list, "save_other": save_other, "snapshot": snapshot,
    "version_when_saved": version_when_saved, "watch_output": watch_output,
}  # fmt: skip

# The statements that keep a tensor or number {x} as {name}: the usual cases first, because every product passes here.
_TENSOR = """\
if type({x}) is Tensor or type({x}) is Array:
    node.saved_{name}, counter = {x}, {x}._counter
    node.version_{name} = counter and counter.save()
elif type({x}) is float:
    node.saved_{name}, node.version_{name} = {x}, None
elif isinstance({x}, Tensor):
    node.saved_{name}, node.version_{name} = {x}, version_when_saved({x})
else:
    node.saved_{name}, node.version_{name} = save_other({x})"""


class _Kept:
    """One thing that is kept, as its word says."""

    def __init__(self, word: str) -> None:
        word, form, otherwise = word.partition("/form")
        word, _, self.edges = word.partition(":")  # along which a gradient must flow; "" for always
        word, sign, kind = word.partition("=")
        self.kind = sign + kind  # "=", "=copy" or "=index" for what is no tensor
        word, _, self.attribute = word.partition(".")  # of the tensor, where that is enough
        self.name = word.rstrip("*!")
        self.is_list, self.fixed = "*" in word, "!" in word
        # Whether the shape and dtype are kept where no gradient flows along `edges`, if one flows along `otherwise`.
        self.form, self.otherwise = bool(form), otherwise.removeprefix(":")

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of its slots."""
        if self.attribute:
            return (f"{self.name}_{self.attribute}",)
        return (f"arg_{self.name}",) if self.kind else (f"saved_{self.name}", f"version_{self.name}")

    def given(self, x: str) -> list[str]:
        """The statements that keep an argument."""
        name, how = self.name, self.attribute
        if self.kind == "=":
            return [f"node.arg_{name} = {x}"]
        if self.kind:
            return [f"node.arg_{name} = {x} if {x} is None or type({x}) in FIXED else snapshot({x})"]
        if how and self.is_list:
            return [f"node.{name}_{how} = tuple([attribute(one, '{how}') for one in {x}])"]
        if how:
            usual = f"{x}._array.{how} if type({x}) is Tensor or type({x}) is Array or isinstance({x}, Tensor) else "
            return [f"node.{name}_{how} = {usual * (how in ('shape', 'dtype'))}attribute({x}, '{how}')"]
        if self.is_list or self.fixed:
            save = f"save_list({x})" if self.is_list else f"save_other({x}, True)"
            return [f"node.saved_{name}, node.version_{name} = {save}"]
        return _TENSOR.format(x=x, name=name).splitlines()

    def computed(self, out: str) -> list[str]:
        """The statements that keep an output."""
        name, how = self.name, self.attribute
        if how and self.is_list:
            return [f"node.{name}_{how} = tuple([one.{how} for one in out])"]
        if how:
            return [f"node.{name}_{how} = {out}.{how}"]
        return [f"node.saved_{name}, node.version_{name} = {out}._array, watch_output({out})"]

    def let_go(self) -> list[str]:
        """The statements that let go of it."""
        if self.kind or self.attribute:
            return [f"self.arg_{self.name} = let_go(self.arg_{self.name})"] * (self.kind == "=index")
        # The version first: apply() in another thread reads it last, and never takes None for what was saved.
        gone = "(Released,), (None,)" if self.is_list else "Released, None"
        return [f"self.version_{self.name}, self.saved_{self.name} = {gone}"]


@functools.cache
def _kept(word: str) -> tuple[_Kept, ...]:
    return tuple([_Kept(text) for text in word.split("+")]) if word != "_" else ()


class Saves(tuple[str, ...]):  # noqa: SLOT001 - it has a field beside its items
    """The slots of a class of nodes, by what they keep; gives the class its `save`, `release` and `saves_self`.

    Parameters
    ----------
    words : str
        What is kept of each argument and output, as the top of this module says.
    *others : str
        Further slots, which these methods leave alone.

    Examples
    --------
    >>> from pullback.graph.saving import Saves
    >>> Saves("self dim=copy _ -> result")
    ('arg_dim', 'saved_result', 'saved_self', 'version_result', 'version_self')
    """

    words: str

    def __new__(cls, words: str, *others: str) -> Saves:
        made = super().__new__(cls, sorted([*_slots(words), *others]) if others else _slots(words))
        made.words = words
        return made

    def __set_name__(self, owner: type[Node], _: str) -> None:
        owner.save, owner.release = _save_first, _release_first  # type: ignore[method-assign, assignment]
        if _keeps_first(self.words):
            owner.saves_self = True


@functools.cache
def _slots(words: str) -> tuple[str, ...]:
    return tuple(sorted([slot for of_one in kept_of(words) for kept in of_one for slot in kept.slots]))


@functools.cache
def _keeps_first(words: str) -> bool:
    """True if the value of the first argument is kept, a tensor's."""
    return any(len(kept.slots) == 2 for kept in kept_of(words)[0])


def kept_of(words: str) -> list[tuple[_Kept, ...]]:
    """The things that are kept of each argument, then of each output."""
    return [_kept(word) for word in words.split() if word != "->"]


def _save_first(node: Any, out: Any, *args: Any) -> None:
    """Keep what `apply` will need of an operator's result (or results) and arguments."""
    _completed(type(node)).save(node, out, *args)


def _release_first(self: Any) -> None:
    """Let go of the saved tensors; a second backward then raises."""
    _completed(type(self)).release(self)


def _completed(cls: type[Node]) -> type[Node]:
    """The class that says what nodes like these keep, once it has its methods."""
    cls = next(base for base in cls.__mro__ if isinstance(base.__dict__.get("__slots__"), Saves))
    saves: Saves = cls.__dict__["__slots__"]
    save, release = _methods(saves.words, issubclass(cls, MultiNode), cls.arity <= 2)
    cls.save, cls.release = save, release or Node.release  # type: ignore[method-assign]
    return cls


@functools.cache
def _methods(words: str, multi: bool, pair: bool) -> tuple[Callable[..., None], Callable[..., None] | None]:
    """The methods `save` and `release` of nodes with several outputs, or with at most two edges."""
    kept, arity = kept_of(words), len(words.partition("->")[0].split())
    args = [f"x{i}" for i in range(arity)]
    outs = [f"out[{i}]" if multi else "out" for i in range(len(kept) - arity)]
    lines: dict[str, list[str]] = {"": []}  # by the question whether they run
    gone = []
    for x, of_one in zip([*args, *outs], kept, strict=True):
        for one in of_one:
            asked = question(one.edges, pair)
            lines.setdefault(asked, []).extend((one.given if x in args else one.computed)(x))
            if one.form:
                asked = f"not ({asked})" + f" and ({question(one.otherwise, pair)})" * bool(one.otherwise)
                lines.setdefault(asked, []).append(f"node.saved_{one.name}, node.version_{one.name} = Form({x}), None")
            gone += one.let_go()
    text = [f"def save({', '.join(['node', 'out', *args])}):", *(f"    {line}" for line in lines.pop("") or ["pass"])]
    for asked, guarded in lines.items():
        text += [f"    if {asked}:", *(f"        {line}" for line in guarded)]
    text += ["def release(self):", *(f"    {line}" for line in gone)] if gone else []
    made: dict[str, Any] = {}
    exec(compile("\n".join(text), f"<save {words}>", "exec"), _NAMES, made)  # noqa: S102 - made of the words of generated classes
    return made["save"], made.get("release")


def question(edges: str, pair: bool) -> str:
    """The text of the question whether a gradient flows along these edges of a node."""
    for sign, meaning in (("|", " or "), ("&", " and "), ("(", "( "), (")", " )")):
        edges = edges.replace(sign, meaning)
    return " ".join([text if text in ("or", "and", "(", ")") else _flows(text, pair) for text in edges.split()])


def _flows(edge: str, pair: bool) -> str:
    if edge.isdigit():
        return f"node._next{edge} is not None" if pair else f"node._nexts[{edge}] is not None"
    return f"any(node._edges_{edge[:-1]})" if edge[-1] == "*" else f"node._edges_{edge} is not None"
