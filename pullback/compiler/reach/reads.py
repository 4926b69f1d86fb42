"""The things that code can read besides its arguments, by its bytecode: globals, closures' variables, attributes.

What follows a name at once is followed: `config.RATE`, `SETTINGS["rate"]`. Where a value goes from there nobody asks;
any attribute that the code names may be one of it.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from pullback.explain.call_site import is_users_file

_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})
_VARIABLE = frozenset({"LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_OF_ITS_OWN = frozenset({"STORE_NAME", "DELETE_NAME", "IMPORT_NAME"})  # names that are no attributes either
_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"})
_SILENT = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL"})
_CONSTANT = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_COMPARISONS = frozenset({"IS_OP", "COMPARE_OP", "CONTAINS_OP", "CHECK_EXC_MATCH"})
_LOADS = _GLOBAL | _VARIABLE | _ATTRIBUTE | {"LOAD_FAST", "LOAD_FAST_BORROW", "BUILD_TUPLE"}
_CLASSES = frozenset({"isinstance", "issubclass", "type"})
_SETTING = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_REBINDING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"})
_OF_TENSORS = frozenset({"grad", "data", "requires_grad", "shape", "real", "imag", "flat"})  # which traces follow
_MAKING = frozenset(
    {"__init__", "__init_subclass__", "__new__", "__post_init__", "__enter__", "__exit__", "__set_name__"}
)
_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})


class Attribute(str):
    """A step from an object to one of its attributes."""

    __slots__ = ()


class Key(NamedTuple):
    """A step from a dict to one of its items."""

    key: Any


class Read(NamedTuple):
    """One place in the code where something is read, and what it is asked for at once.

    Attributes
    ----------
    root : str
        "global", "variable" (of a closure), or "module" (an import; `name` is the module's, as it is written).
    name : str
    steps : tuple of Attribute or Key
    line : int
    level : int
        Of an import, the number of dots.
    asked : str or None
        Of `getattr` and its kin: the name of the attribute, if it is a constant of the code.
    given : bool
        A class may be called there. It is only compared otherwise, or `type` with what it says of an object.
    """

    root: str
    name: str
    steps: tuple[Attribute | Key, ...]
    line: int
    level: int = 0
    asked: str | None = None
    given: bool = True


class Reads(NamedTuple):
    """All that code reads, with the functions and classes that are made in it.

    Attributes
    ----------
    places : tuple of Read
    names : mapping from str to int
        Attributes of objects that are not followed, and the line where each is first named.
    by_pattern : bool
        A `match` statement may read attributes that are named elsewhere.
    gives_first : bool
        The first argument is not only asked for attributes: a class method may call its class.
    leaves : mapping from str to int
        What it leaves behind, in words, and the line: attributes and outer variables that it sets.
    asks : bool
        It asks for the type or the identity of something, or whether one of two local names is the other.
    """

    places: tuple[Read, ...]
    names: Mapping[str, int]
    by_pattern: bool
    gives_first: bool
    leaves: Mapping[str, int]
    asks: bool


@lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """All that `code` can read."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _SILENT]
    places: dict[Read, None] = {}
    names: dict[str, int] = {}
    leaves: dict[str, int] = {}
    makes = code.co_name in _MAKING
    by_pattern, asks, line, followed = False, False, code.co_firstlineno, 0
    compared: set[int] = set()
    first = code.co_varnames[0] if code.co_varnames else None
    gives_first = first in code.co_cellvars
    for nr, instruction in enumerate(instructions):
        name, before = instruction.opname, instructions[nr - 1]
        line = (instruction.positions and instruction.positions.lineno) or line
        if name in _SETTING and instruction.argval not in _OF_TENSORS and not makes and not _of_context(code, before):
            leaves.setdefault(f"the attribute `{instruction.argval}`", line)
        elif name in _REBINDING and (name.endswith("GLOBAL") or instruction.argval in code.co_freevars):
            leaves.setdefault(f"the variable `{instruction.argval}`", line)
        asks = asks or _asks(instructions, nr)
        if name in _GLOBAL or name in _VARIABLE:
            root = "global" if name in _GLOBAL else "variable"
            steps, followed = _steps(instructions, nr) if name.startswith("LOAD") else ((), nr)
            compared |= {*_compared(instructions, nr)}
            asked = _asked(instructions, nr) if not steps and instruction.argval in _BY_NAME else None
            places[Read(root, instruction.argval, steps, line, 0, asked, nr not in compared)] = None
        elif name == "IMPORT_NAME":
            level, wanted = instructions[nr - 2].argval, instructions[nr - 1].argval
            for part in wanted or (None,):
                places[Read("module", instruction.argval, (Attribute(part),) if part else (), line, level)] = None
        elif name.startswith("LOAD_FAST"):
            given = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            gives_first = gives_first or first in given[:-1] or (first == given[-1] and not _steps(instructions, nr)[0])
        elif name == "MATCH_CLASS":
            by_pattern = True
        elif instruction.opcode not in dis.hasname or name in _OF_ITS_OWN or nr <= followed:
            continue
        elif instruction.argval != "__class__" or not _is_compared(instructions, nr + 1):
            names.setdefault(instruction.argval, line)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = reads_of(inner)
            places |= dict.fromkeys(more.places)
            names = {**more.names, **names}
            by_pattern = by_pattern or more.by_pattern
            leaves = {**more.leaves, **leaves}
            asks = asks or more.asks
    return Reads(tuple(places), names, by_pattern, gives_first, leaves, asks)


def _of_context(code: CodeType, before: dis.Instruction) -> bool:
    """True if the context of a user's Function is loaded there, whose attributes are for its backward."""
    named = code.co_name in ("forward", "setup_context") and code.co_varnames[:1] == ("ctx",)
    return named and before.opname.startswith("LOAD_FAST") and before.argval == "ctx"


def _asks(instructions: list[dis.Instruction], nr: int) -> bool:
    """True if that instruction loads `type` or `id`, or asks whether one of two local names is the other."""
    instruction = instructions[nr]
    if instruction.opname in _GLOBAL:
        return instruction.argval in ("type", "id")
    return instruction.opname == "IS_OP" and all(i.opname not in _CONSTANT for i in instructions[max(nr - 2, 0) : nr])


def _steps(instructions: list[dis.Instruction], nr: int) -> tuple[tuple[Attribute | Key, ...], int]:
    """The steps taken at once from what is loaded there, and the number of the instruction that takes the last."""
    found: list[Attribute | Key] = []
    rest = iter(range(nr + 1, len(instructions)))
    for i in rest:
        instruction = instructions[i]
        if instruction.is_jump_target:  # from elsewhere comes something else
            break
        if instruction.opname in _ATTRIBUTE:
            found.append(Attribute(instruction.argval))
            nr = i
            if instruction.opname in ("STORE_ATTR", "DELETE_ATTR"):
                break
        elif instruction.opname in _CONSTANT and _is_item(instructions[i + 1 : i + 2]):
            found.append(Key(instruction.argval))
            nr = next(rest)
        else:
            break
    return tuple(found), nr


def _is_item(after: list[dis.Instruction]) -> bool:
    return bool(after) and after[0].opname == "BINARY_SUBSCR" and not after[0].is_jump_target


def _call(instructions: list[dis.Instruction], nr: int) -> tuple[list[int], int] | None:
    """(where each argument begins, where the call is) of a call of what is loaded there, None if nobody can tell."""
    depth = 0
    depths: list[int] = []  # of the arguments on the stack, before each instruction
    for i in range(nr + 1, len(instructions)):
        instruction = instructions[i]
        if instruction.is_jump_target or instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            return None
        if instruction.opname == "CALL" and depth == instruction.arg:
            begins: list[int] = []
            for j in reversed(range(len(depths))):
                if len(begins) < depth and depths[j] == depth - len(begins) - 1:
                    begins.insert(0, nr + 1 + j)
            return begins, i
        depths.append(depth)
        depth += _effect(instruction)
        if depth < 0:
            return None
    return None


def _effect(instruction: dis.Instruction) -> int:
    """By how much the stack grows; Python 3.11 splits a call in two instructions, of which this sees one."""
    if instruction.opname == "CALL":
        return -1 - (instruction.arg or 0)
    return dis.stack_effect(instruction.opcode, instruction.arg, jump=False)


def _asked(instructions: list[dis.Instruction], nr: int) -> str | None:
    """The name of the attribute that `getattr`, which is loaded there, is asked for; None if the code does not say."""
    begins, end = _call(instructions, nr) or ([], 0)
    if len(begins) < 2 or [*begins, end][2] != begins[1] + 1 or instructions[begins[1]].opname != "LOAD_CONST":
        return None
    found = instructions[begins[1]].argval
    return found if isinstance(found, str) else None


def _compared(instructions: list[dis.Instruction], nr: int) -> Iterator[int]:
    """Where classes are loaded to be compared alone: `type(x) is Model`, `isinstance(x, Model)`, `except Model`."""
    name = instructions[nr].argval
    begins, end = (name in _CLASSES and _call(instructions, nr)) or ([], 0)
    if name == "type" and len(begins) == 1:
        found = _is_compared(instructions, end + 1)
    elif name in _CLASSES and len(begins) == 2:
        if all(i.opname in _LOADS for i in instructions[begins[1] : end]):
            yield from range(begins[1], end)
        return
    else:
        found = _is_compared(instructions, _steps(instructions, nr)[1] + 1)
    if found:
        yield nr


def _is_compared(instructions: list[dis.Instruction], nr: int) -> bool:
    """True if the class on the stack there is compared, at once or with what is loaded first, or asked for its name."""
    names = [i.opname for i in instructions[nr : nr + 4]]
    if names[:1] in (["LOAD_ATTR"], ["LOAD_METHOD"]):
        return True
    if names and names[0] in _LOADS and names[0] not in _ATTRIBUTE:
        del names[0]
        while names and names[0] == "LOAD_ATTR":
            del names[0]
    return bool(names) and names[0] in _COMPARISONS


def modules_named(name: str, level: int, scope: Mapping[str, Any]) -> Iterator[str]:
    """The full names of a module that an `import` in this scope names, and of those around it, innermost first."""
    if level:
        package = str(scope.get("__package__") or "").split(".")
        name = ".".join([*package[: len(package) - level + 1], *([name] if name else [])])
    while name:
        yield name
        name = name.rpartition(".")[0]


def asks_what_arrays_are(function: Any) -> bool:
    """True if the code of a user's function asks for types, or if one of two local names is the other.

    In a trace an array is of another class, and no argument is another one.
    """
    code = getattr(function, "__code__", None)
    return code is not None and is_users_file(code.co_filename) and reads_of(code).asks
