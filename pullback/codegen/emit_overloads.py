"""Overloads of one operator -> one function with one signature, which chooses the overload by the arguments given.

The parameters are those of all overloads; two at the same place that differ in name share it, under the first one's
name, and the others go by keyword. An overload is meant when what it requires is given and nothing that it does not
have; where overloads take different types at a place, the type decides. What fits none in this strict reading, numbers
for tensors say, is left to the general choice (`core.arguments.overloaded`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pullback.codegen.emit_signature import SignatureEmitter
from pullback.codegen.model import NativeFunction
from pullback.codegen.naming import parameter
from pullback.codegen.signature import REQUIRED, Arg

_TESTS = {"Tensor": "is_array", "bool": "is_bool", "int": "is_int", "Tensor[]": "is_list", "str": "is_text"}
_MANY = 4
_SPELLINGS = {"dim": "axis", "keepdim": "keepdims"}


class OverloadsEmitter:
    """Writes the choice among the overloads of one operator."""

    def __init__(self, overloads: Sequence[NativeFunction]) -> None:
        self.overloads = overloads
        self.args = [list(native.schema.args) for native in overloads]
        self.positional = [[arg for arg in args if not arg.kwarg_only] for args in self.args]
        self.width = max(map(len, self.positional))
        self.has_out = ["out" in native.variants for native in overloads]

    @property
    def is_possible(self) -> bool:
        """True if there is one: few overloads, no name at two places, no list given item by item, no creation."""
        if len(self.overloads) > _MANY:  # each is told from all the others
            return False
        creation = any(native.area in ("creation", "random") for native in self.overloads)
        variadic = any(SignatureEmitter(native, False).varargs is not None for native in self.overloads)
        written = any(native.is_mutating for native in self.overloads)
        places: dict[str, set[int]] = {}
        for args in self.args:
            for place, arg in enumerate(args):
                places.setdefault(arg.name, set()).add(-1 if arg.kwarg_only else place)
        return not (creation or variadic or written) and all(len(found) == 1 for found in places.values())

    def emit(self) -> str:
        """A function of the overloads' functions, and of the general choice, that gives the merged one."""
        shared = [self._shared_name(i) for i in range(self.width)]
        others = [name for name in self._names() if name not in shared]
        least = min(sum(arg.default is REQUIRED for arg in args) for args in self.positional)
        # What goes by several names may be given by any of them.
        contested = (
            i for i in range(self.width) if len({args[i].name for args in self.positional if len(args) > i}) > 1
        )
        least = min(least, next(contested, least))
        parameters = [name if i < least else f"{name}=UNSET" for i, name in enumerate(shared)]
        spelled = [other for name, other in _SPELLINGS.items() if name in self._names()]
        keywords = [f"{name}=UNSET" for name in (*others, *spelled)] + (["out=None"] if any(self.has_out) else [])
        parameters += ["*", *keywords] if keywords else []
        forms = [f"form{k}" for k in range(len(self.overloads))]
        name = self.overloads[0].name
        lines = [f"def choose_{name}({', '.join([*forms, 'otherwise'])}):"]
        lines.append(f"    def {name}({', '.join(parameters)}):")
        for spelling, other in _SPELLINGS.items():
            if spelling in self._names():
                value = f'renamed("{name}", "{spelling}", {spelling}, UNSET, "{other}", {other})'
                lines += [f"        if {other} is not UNSET:", f"            {spelling} = {value}"]
        for k in range(len(self.overloads)):
            conditions = self._conditions(k, shared, least)
            call = f"return form{k}({', '.join(self._values(k, shared))})"
            lines += [f"        if {' and '.join(conditions) or True}:", f"            {call}"]
        optional = [*shared[least:], *others, *(["out"] if any(self.has_out) else [])]
        entries = ", ".join(f'"{n}": {n}' for n in optional)
        rest = ", ".join([*shared[:least], f"**given({{{entries}}})"])
        lines += [f"        return otherwise({rest})", "", f"    return {name}"]
        return "\n".join(lines)

    def _names(self) -> list[str]:
        """Every parameter's name, once."""
        return list(dict.fromkeys(parameter(arg.name) for args in self.args for arg in args))

    def _shared_name(self, place: int) -> str:
        return next(parameter(args[place].name) for args in self.positional if len(args) > place)

    def _place(self, k: int, arg: Arg, shared: list[str]) -> str:
        """The merged parameter that holds an argument of overload `k`."""
        if arg in self.positional[k]:
            name = shared[self.positional[k].index(arg)]
            return name if name == parameter(arg.name) else f"{name}|{parameter(arg.name)}"
        return parameter(arg.name)

    def _conditions(self, k: int, shared: list[str], least: int) -> list[str]:
        """When overload `k` is meant."""
        found, used = [], set()
        for arg in self.args[k]:
            place, _, by_name = self._place(k, arg, shared).partition("|")
            used |= {place, by_name}
            value = f"({place} if {by_name} is UNSET else {by_name})" if by_name else place
            if by_name:
                found.append(f"({place} is UNSET or {by_name} is UNSET)")
            certain = place in shared[:least] and not by_name
            if arg.default is REQUIRED and not certain:
                found.append(f"{value} is not UNSET")
            if test := self._test(k, arg):
                given = "" if arg.default is REQUIRED else f"{value} is UNSET or "
                missing = f"{value} is None or " if arg.type.optional else ""
                found.append(f"({given}{missing}{test}({value}))" if given or missing else f"{test}({value})")
        foreign = [name for name in self._names() if name not in used]
        found += [f"{name} is UNSET" for name in foreign]
        if any(self.has_out) and not self.has_out[k]:
            found.append("out is None")
        return found

    def _test(self, k: int, arg: Arg) -> str:
        """The test of the type at a place where another overload takes another type; "" for none."""
        if arg not in self.positional[k]:
            return ""
        place = self.positional[k].index(arg)
        kinds = {_kind(args[place]) for j, args in enumerate(self.positional) if j != k and len(args) > place}
        if kinds <= {_kind(arg)}:
            return ""
        kind = _kind(arg)
        return _TESTS.get(kind, "is_no_array" if "Tensor" in kinds else "is_no_bool")

    def _values(self, k: int, shared: list[str]) -> list[str]:
        values = []
        for arg in self.args[k]:
            place, _, by_name = self._place(k, arg, shared).partition("|")
            value = f"{place} if {by_name} is UNSET else {by_name}" if by_name else place
            if arg.default is not REQUIRED:
                value = f"{arg.default!r} if {place} is UNSET else {value}"
            values.append(f"{parameter(arg.name)}={value}" if arg.kwarg_only else value)
        return [*values, *(["out=out"] if self.has_out[k] else [])]


def _kind(arg: Arg) -> str:
    return f"{arg.type.base}[]" if arg.type.is_list else arg.type.base
