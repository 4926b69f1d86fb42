"""Entries of native_functions.yaml -> NativeFunction, each checked by itself and then against the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pullback.codegen.errors import Where, suggest
from pullback.codegen.linear_in import WITH_A_MEANING
from pullback.codegen.model import ARRAY_TAGS, TAGS, VARIANTS, NativeFunction
from pullback.codegen.naming import public_name
from pullback.codegen.schema import Schema, is_dotted_name, parse_schema
from pullback.codegen.yaml_source import Entry

_KEYS = ("func", "variants", "kernel", "composite", "alias", "numpy", "tags", "along", "doc", "python_module")


def read_natives(entries: Iterable[tuple[str, Entry]]) -> list[NativeFunction]:
    """Read the entries, each with its area, and refuse a name that another entry has."""
    natives: list[NativeFunction] = []
    taken: dict[str, NativeFunction] = {}
    for area, entry in entries:
        native = _native(area, entry)
        other = taken.setdefault(native.schema.unique_name, native)
        if other is not native:
            raise entry.where().error(
                f"{native.schema.full_name!r} is declared twice (first at {other.file}:{other.line}: `{other.schema}`)",
                f"Remove one of the two, or give this one an overload name: {native.name}.other(...)",
            )
        natives.append(native)
    _check_public_names(natives)
    return natives


def _native(area: str, entry: Entry) -> NativeFunction:
    """Reads one entry of native_functions.yaml."""
    schema = parse_schema(entry.title, entry.where("func"))
    entry.only(_KEYS)
    kernel, composite = _name(entry, "kernel"), _name(entry, "composite")
    if kernel is not None and composite is not None:
        raise entry.where("composite").error(
            "has both a kernel and a composite",
            "Keep `kernel` for a primitive, `composite` for a function of other operators",
        )
    native = NativeFunction(
        schema=schema,
        area=area,
        variants=_variants(entry, schema),
        kernel=kernel,
        composite=composite if kernel is not None else composite or schema.unique_name,
        aliases=tuple(_identifier(entry, "alias", word, dotted=True) for word in entry.words("alias")),
        numpy=tuple(_identifier(entry, "numpy", word, dotted=True) for word in entry.words("numpy")),
        tags=frozenset(_known(entry, "tags", TAGS)),
        along=_along(entry, schema),
        doc=entry.text("doc") or "",
        python_module=_name(entry, "python_module", dotted=True),
        file=entry.file,
        line=entry.fields.line,
    )
    _check_view(native, entry)
    _check_internal(native, entry)
    _check_array_tags(native, entry)
    _check_pointwise(native, entry)
    return native


def _known(entry: Entry, key: str, known: Sequence[str]) -> tuple[str, ...]:
    """The words under `key`, all of which must be known."""
    words = entry.words(key)
    for word in words:
        if word not in known:
            raise entry.where(key).error(f"unknown word {word!r} in {key!r}", suggest(word, known))
    return words


def _name(entry: Entry, key: str, dotted: bool = False) -> str | None:
    """The identifier under `key`, if the key is there."""
    text = entry.text(key)
    return None if text is None else _identifier(entry, key, text, dotted)


def _identifier(entry: Entry, key: str, text: str, dotted: bool = False) -> str:
    """`text`, refused when it is no identifier (or no dotted one), or has no letter: `_` and `__` mean something."""
    if not is_dotted_name(text) or ("." in text and not dotted) or not text.strip("._"):
        shape = "a dotted name such as nn.functional" if dotted else "one Python name"
        raise entry.where(key).error(f"{key!r} has {text!r}, which is not {shape}", f"Write {shape}")
    return text


def _variants(entry: Entry, schema: Schema) -> frozenset[str]:
    """The variants, each possible for this schema."""
    variants = frozenset(_known(entry, "variants", VARIANTS) or ("function",))
    where = entry.where("variants")
    receiver = schema.arg("self") or (schema.args[0] if schema.args else None)
    if variants & {"method", "inplace"} and (receiver is None or not receiver.type.is_tensor or receiver.type.optional):
        raise where.error(
            "has a method or inplace variant, but neither an argument `Tensor self` nor a Tensor as first argument",
            "Name the Tensor that has the method `self`, or remove the variant",
        )
    one_tensor = len(schema.returns) == 1 and schema.returns[0].type.is_tensor
    if "inplace" in variants and not one_tensor:
        raise where.error(
            "has an inplace variant, but does not return one Tensor", "Remove `inplace` from the variants"
        )
    of_tensors = bool(schema.returns) and all(returned.type.base == "Tensor" for returned in schema.returns)
    if "out" in variants and not of_tensors:
        raise where.error("has an out variant, but does not return Tensors", "Remove `out` from the variants")
    if "out" in variants and schema.arg("out") is not None:
        raise where.error("has an out variant, but also an argument named `out`", "Remove the argument: `out` adds it")
    return variants


def _along(entry: Entry, schema: Schema) -> str | None:
    """The argument under `along`, which must be one that names dimensions."""
    name = _name(entry, "along")
    if name is None:
        return None
    known = [arg.name for arg in schema.args if arg.type.base == "int"]
    if name not in known:
        raise entry.where("along").error(
            f"`along` names {name!r}, which is not an argument of integers", suggest(name, known)
        )
    return name


def _check_view(native: NativeFunction, entry: Entry) -> None:
    """A view has no out variant, and says by its schema that it is one."""
    if native.is_view and "out" in native.variants:
        raise entry.where("variants").error(
            "has the variant out, but returns a view of an argument", "Remove that variant: a view has memory already"
        )
    if "view" in native.tags and not native.is_view:
        raise entry.where("tags").error(
            "is tagged view, but its schema returns no alias", "Write `Tensor(a) self` and `-> Tensor(a)` in the schema"
        )


def _check_internal(native: NativeFunction, entry: Entry) -> None:
    """An internal operator has no public face."""
    if native.is_internal and ("method" in native.variants or native.aliases or native.numpy):
        raise entry.where("tags").error(
            "is tagged internal, but has a method, an alias or a NumPy function", "Remove them, or the tag"
        )


def _check_array_tags(native: NativeFunction, entry: Entry) -> None:
    """Refuse for a composite what array types ask of kernels alone."""
    key = "along" if native.along is not None else "tags"
    if native.is_composite and (native.along is not None or native.tags & set(ARRAY_TAGS)):
        raise entry.where(key).error(
            f"tells array types by `{key}` how to run it, but is composite",
            "Tell it of the operators that it calls, and remove it here",
        )


def _check_pointwise(native: NativeFunction, entry: Entry) -> None:
    """Refuse the tag where it is not known which elements stand beside each other: of lists."""
    for arg in native.schema.args:
        if "pointwise" in native.tags and arg.type.is_tensor_list:
            raise entry.where("tags").error(
                f"is tagged pointwise, but takes {arg.name!r}, which is {arg.type}",
                "Remove the tag, which is for Tensor arguments; a composite of pointwise operators runs under vmap",
            )


def _check_public_names(natives: Sequence[NativeFunction]) -> None:
    """Refuse an alias that is another operator's name, or another's alias; a dotted one is in that other home."""
    owners = {}
    for native in natives:
        home = native.python_module or ""
        owners[home, public_name(native.name, home)] = native.name
    for native in natives:
        for alias in native.aliases:
            home, _, short = alias.rpartition(".")
            owner = owners.setdefault((home or native.python_module or "", short), native.name)
            if owner != native.name:
                raise Where(native.file, native.line, native.schema.text).error(
                    f"the alias {alias!r} is taken by the operator {owner!r}", "Remove or rename the alias"
                )


def check_names_with_a_meaning(natives: Sequence[NativeFunction], helpers: Mapping[str, str], where: Where) -> None:
    """Refuse a third party's operator, or helper, with a name by which formulas are understood."""
    for name in WITH_A_MEANING:
        mine = next((native for native in natives if name in native.names), None)
        if mine is not None or name in helpers:
            place = where if mine is None else Where(mine.file, mine.line, mine.schema.text)
            what = f"the helper {name!r} in {helpers[name]}" if mine is None else f"the operator {name!r}"
            raise place.error(f"{what} has a name that formulas are understood by", "Rename it")


def check_helper_names(natives: Sequence[NativeFunction], helpers: Mapping[str, str]) -> None:
    """Refuse an operator with the name of a helper: a formula could mean either."""
    for native in natives:
        if native.name in helpers:
            raise Where(native.file, native.line, native.schema.text).error(
                f"the operator {native.name!r} has the name of a helper function in {helpers[native.name]}",
                f"Rename the helper, {native.name}_backward say",
            )
