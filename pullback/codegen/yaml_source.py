"""Reads YAML into strings, lists and maps that know their lines; no other Python object is ever made.

Only the safe loader's scanner, parser and composer run: scalars stay the text that was written (an argument may be
called `on`, a formula may read `0`), and a tag, an alias or a second document is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import yaml

from pullback.codegen.errors import Where, nearest, suggest

MAX_DEPTH = 12  # a declaration needs five; the composer recurses, so depth is bounded before Python's own limit
_QUOTE = (
    "Indent with spaces, and put a text into quotes when it contains ': ' or ' #', or begins with "
    "one of [ ] { } & * ! | > % @ ` or with '- '"
)
_TAGS = frozenset(
    f"tag:yaml.org,2002:{tag}"
    for tag in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge", "seq", "map")
)
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class YamlText:
    """A scalar, as written ("" for null)."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class YamlList:
    """A sequence."""

    items: tuple[Value, ...]
    line: int


@dataclass(frozen=True, slots=True)
class YamlMap:
    """A mapping; `lines` has the line of each key."""

    items: dict[str, Value]
    lines: dict[str, int]
    line: int


Value: TypeAlias = YamlText | YamlList | YamlMap
_KINDS = {YamlText: "a text", YamlList: "a list", YamlMap: "a mapping"}


def kind(value: Value) -> str:
    """The kind of `value` (a text, a list, a mapping), for an error message."""
    return "nothing" if isinstance(value, YamlText) and not value.text else _KINDS[type(value)]


@dataclass(frozen=True, slots=True)
class Document:
    """One file's content."""

    file: str
    root: Value

    def where(self, line: int = 0, entry: str = "") -> Where:
        """A place in this file."""
        return Where(self.file, line, entry)


@dataclass(frozen=True, slots=True)
class Entry:
    """One declaration: a mapping whose `title` (its schema's text) names it in errors."""

    file: str
    title: str
    fields: YamlMap

    def where(self, key: str | None = None) -> Where:
        """The place of the entry, or of one of its keys."""
        line = self.fields.line if key is None else self.fields.lines.get(key, self.fields.line)
        return Where(self.file, line, self.title)

    def __contains__(self, key: str) -> bool:
        return key in self.fields.items

    def only(self, known: Iterable[str]) -> None:
        """Refuse a key that is not known."""
        allowed = list(known)
        for key in self.fields.items:
            if key not in allowed:
                raise self.where(key).error(f"unknown key {key!r}", suggest(key, allowed))

    def text(self, key: str) -> str | None:
        """The text under `key`, or None where the key is absent."""
        value = self.fields.items.get(key)
        if value is None:
            return None
        if isinstance(value, YamlText) and value.text:
            return value.text
        raise self.where(key).error(
            f"{key!r} is {kind(value)}, where a string is expected",
            f"Write `{key}: text` (in quotes if it begins with '[', '{{' or '- '), or remove the key",
        )

    def words(self, key: str) -> tuple[str, ...]:
        """The words under `key`: a comma list, or a YAML list; () where the key is absent."""
        value = self.fields.items.get(key)
        if not isinstance(value, YamlList):
            text = self.text(key)
            words = [] if text is None else [word.strip() for word in text.split(",")]
        else:
            words = [item.text if isinstance(item, YamlText) else "" for item in value.items]
        seen: set[str] = set()
        for word in words:
            if not word:
                raise self.where(key).error(f"{key!r} has an empty item", f"Write `{key}: one, two`")
            if word in seen:
                raise self.where(key).error(f"{key!r} names {word!r} twice", "Remove one of the two")
            seen.add(word)
        return tuple(words)

    def flags(self, key: str) -> tuple[bool, ...] | None:
        """The True/False list under `key`, or None where the key is absent."""
        value = self.fields.items.get(key)
        if value is None:
            return None
        texts = [item.text if isinstance(item, YamlText) else "" for item in getattr(value, "items", ())]
        if not isinstance(value, YamlList) or any(text.lower() not in ("true", "false") for text in texts):
            raise self.where(key).error(
                f"{key!r} is not a list of True and False",
                f"Write it with one flag an output, as `{key}: [True, False]`",
            )
        return tuple(text.lower() == "true" for text in texts)


class _Loader(yaml.SafeLoader):
    """The safe loader, composing without aliases (whose expansion can be exponential) and to a bounded depth."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose one node of a bounded depth that is not an alias."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(None, None, "an alias ('*name') is not allowed", mark)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, f"nested more than {MAX_DEPTH} deep", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read(path_or_text: str | os.PathLike[str], file: str | None = None) -> Document:
    """Read a file of declarations.

    Parameters
    ----------
    path_or_text : path, or the text itself: a str is a text when it has a line break, otherwise a path
    file : str, optional
        The name that errors give; default the path, or `<text>`.

    Returns
    -------
    Document

    Raises
    ------
    DeclarationError
        The YAML is malformed, has duplicate keys, tags, aliases, or is empty.
    OSError
        The file cannot be read.
    """
    if is_text(path_or_text):
        name, text = file or "<text>", path_or_text
    else:
        name = file or os.fspath(path_or_text)
        try:
            text = Path(path_or_text).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise Where(name).error(f"is not UTF-8 (byte {error.start})", "Save the file as UTF-8") from None
        except FileNotFoundError as error:
            if not Path(path_or_text).is_absolute():
                error.add_note(
                    f"A relative path is looked up in the current folder, {Path.cwd()}. For a file beside your module "
                    f"write pathlib.Path(__file__).with_name({Path(path_or_text).name!r})."
                )
            raise
    node = _compose(text, Where(name))
    if node is None:
        raise Where(name, 1).error("the file is empty", "Write at least one entry, such as `- func: ...`")
    return Document(name, _convert(node, Where(name)))


def is_text(path_or_text: str | os.PathLike[str]) -> TypeGuard[str]:
    """True if this is a text, and no path to one: a str with a line break, or an empty one."""
    return isinstance(path_or_text, str) and ("\n" in path_or_text or not path_or_text)


def _compose(text: str, where: Where) -> yaml.Node | None:
    """The tree of YAML nodes, every failure of the parser turned into a DeclarationError."""
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        problem = f"malformed YAML at column {column}: {error.problem or error.context}"
        raise where.at(line).error(problem, _QUOTE) from None
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, AttributeError) as error:
        # PyYAML 6 lets some of Python's own errors through, such as that of chr() for "\UFFFFFFFF"
        position = getattr(error, "position", 0)  # a character that YAML does not allow, found before any parsing
        line = text.count("\n", 0, position) + 1 if loader is None else loader.line + 1
        problem = f"malformed YAML: {' '.join(str(error).split())}"
        raise where.at(line).error(problem, "Remove the character, or save the file as plain UTF-8 text") from None
    finally:
        if loader is not None:
            loader.dispose()


def _convert(node: yaml.Node, where: Where) -> Value:
    """The node as text, list or map."""
    line = node.start_mark.line + 1
    if node.tag not in _TAGS:
        tag = node.tag.removeprefix("tag:yaml.org,2002:")
        raise where.at(line).error(
            f"YAML tag {tag!r} is not allowed", "Remove the tag: write plain text, lists, mappings"
        )
    if isinstance(node, yaml.ScalarNode):
        return YamlText("" if node.tag == _NULL else node.value.strip(), line)
    if isinstance(node, yaml.SequenceNode):
        return YamlList(tuple(_convert(item, where) for item in node.value), line)
    items: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        key_line = key_node.start_mark.line + 1
        found = _convert(key_node, where)
        key = key_node.value.strip() if isinstance(found, YamlText) else ""  # as written, even `null`
        if not key:
            raise where.at(key_line).error(f"a key is {kind(found)}, where a name is expected", "Write `name: value`")
        if key in items:
            raise where.at(key_line).error(
                f"duplicate key {key!r} (first on line {lines[key]})", "Remove or rename one of the two"
            )
        items[key], lines[key] = _convert(value_node, where), key_line
    return YamlMap(items, lines, line)


def entries(value: Value, document: Document, title_key: str) -> Iterator[Entry]:
    """The entries of a list, each with its title (the text under `title_key`, `func` or `name`)."""
    if isinstance(value, YamlText) and not value.text:
        return  # an area without entries yet
    if not isinstance(value, YamlList):
        raise document.where(value.line).error(
            f"expected a list of entries, found {kind(value)}", f"Write `- {title_key}: ...` for each entry"
        )
    for item in value.items:
        if not isinstance(item, YamlMap):
            raise document.where(item.line).error(
                f"expected an entry, found {kind(item)}", f"Write `- {title_key}: ...`, its other keys below"
            )
        title = item.items.get(title_key)
        if not isinstance(title, YamlText) or not title.text:
            near = nearest(title_key, item.items)
            found = f"found {near!r}; " if near is not None and near != title_key else ""
            raise document.where(item.line).error(
                f"an entry has no {title_key!r} ({found}it has {', '.join(map(repr, item.items))})",
                f"Begin the entry with `- {title_key}: name(Tensor self) -> Tensor`",
            )
        yield Entry(document.file, title.text, item)


def areas(value: Value, document: Document, known: Iterable[str] | None = None) -> Iterator[tuple[str, Entry]]:
    """The (area, entry) pairs of a mapping area -> entries, refusing an area that is not known."""
    if not isinstance(value, YamlMap):
        raise document.where(value.line).error(
            f"expected a mapping from area to entries, found {kind(value)}",
            "Write `pointwise:` and its entries below it",
        )
    allowed = None if known is None else list(known)
    for area, listed in value.items.items():
        if allowed is not None and area not in allowed:
            raise document.where(value.lines[area]).error(f"unknown area {area!r}", suggest(area, allowed))
        for entry in entries(listed, document, "func"):
            yield area, entry
