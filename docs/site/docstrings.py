"""reStructuredText of docstrings in the numpydoc style, whose prose is plain English and not reStructuredText.

Signs that mean something there (`*`, `|`, a final `_`) are escaped in prose, and single backticks are code.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

from numpydoc.docscrape import NumpyDocString

_LISTS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")


def summary(value: Any) -> str:
    """The first sentence or line of an object's docstring."""
    text = inspect.getdoc(value) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    if (in_place := re.match(r"`(\w+)` in place", first)) is not None:
        return f"`{in_place[1]}` in place."
    return re.split(r"(?<=[.:;]) (?=[A-Z])", first)[0]


def takes_arguments(value: Any) -> bool:
    """True if a call of it has arguments."""
    try:
        return bool(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return False


def escaped(text: str) -> str:
    """One paragraph of prose."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", text)
    return "".join(_code(part) if part.startswith("`") else _plain(part) for part in parts)


def _code(part: str) -> str:
    inside = part.strip("`")
    if inside != inside.strip() or "\\" in inside:
        return f":literal:`{inside.strip()}`"
    return f"``{inside}``"


def _plain(part: str) -> str:
    """Prose without code; a page that it names is a link with the page's title."""
    words = re.split(r"\b(docs/[\w/]+)\.md", part)
    return "".join(f":doc:`../{word}`" if i % 2 else _without_signs(word) for i, word in enumerate(words))


def _without_signs(part: str) -> str:
    part = part.replace("\\", r"\\")
    part = re.sub(r"([*|`])", r"\\\1", part)
    part = re.sub(r"\[(\d+)\]_", r"[\1]", part)  # the number of a reference
    return re.sub(r"_(?!\w)", r"\\_", part)


def rst_of(doc: str) -> str:
    """A whole docstring."""
    if not doc.strip():
        return ""
    parsed = NumpyDocString(_protected(doc))
    blocks = [_prose(parsed["Summary"]), _prose(parsed["Extended Summary"])]
    lists = [(section, parsed[section]) for section in _LISTS if parsed[section]]
    blocks += [f":{section}:\n\n{_indented(_definitions(entries))}" for section, entries in lists]
    for section in ("Warnings", "Notes", "References", "Examples"):
        lines = parsed[section]
        if lines:
            text = "\n".join(lines) if section == "Examples" else _prose(lines)
            blocks.append(f".. rubric:: {section}\n\n{_examples(text) if section == 'Examples' else text}")
    if parsed["See Also"]:
        names = ", ".join([f"``{name}``" for group, _ in parsed["See Also"] for name, _ in group])
        blocks.append(f"See also {names}.")
    return "\n\n".join(block for block in blocks if block.strip()) + "\n"


def _protected(doc: str) -> str:
    # numpydoc takes a first line with a call in it for the function's signature.
    return "\n" + doc if re.match(r"[\w., ]+=?\s*[\w.]*\(.*\)\s*$", doc.partition("\n")[0]) else doc


def _indented(text: str, by: int = 3) -> str:
    return "\n".join(" " * by + line if line else "" for line in text.splitlines())


def _definitions(entries: Any) -> str:
    """Names, types and what is said of them."""
    lines = []
    for name, kind, text in entries:
        if name.endswith("."):  # a sentence in place of a list: "Made by `profile`, of the fields below."
            lines += [escaped(name), ""]
            continue
        first = f"**{_plain(name)}**" if name else ""
        if kind:
            first = f"{first} : {escaped(kind)}" if first else f"*{_plain(kind)}*"
        lines.append(first)
        lines += [_indented(_prose(text) or "\\ "), ""]
    return "\n".join(lines)


def _prose(lines: list[str]) -> str:
    """Paragraphs, lists, columns, literal blocks behind `::`, and examples, each by its own rule."""
    out: list[str] = []
    for block in _blocks(lines):
        if block[0].startswith(">>>"):
            out.append(_examples("\n".join(block)))
        elif rows := _columns(block):
            out.append(table([(escaped(name), escaped(said)) for name, said in rows]))
        elif out and out[-1].endswith("::") and block[0].startswith(" "):
            out.append("\n".join(block))
        elif block[0].startswith(" "):  # formulas, commands, or a tree drawn with spaces
            out.append(".. code-block:: text\n\n" + _indented("\n".join(block)))
        elif block[0].startswith(("- ", ".. [")):
            out.append(_items(block))
        else:
            out.append(escaped("\n".join(block)))
    return "\n\n".join(out)


def _columns(block: list[str]) -> list[tuple[str, str]]:
    """The rows of a block in two columns, a name and what is said of it; none where the block is anything else.

    Both columns begin at the same place in every line. A line with an empty first column goes on with the one above.
    """
    lines = textwrap.dedent("\n".join(block)).splitlines()
    starts = {found.end() for line in lines if (found := re.match(r"\S+(?: \S+)* {2,}(?=\S)", line))}
    if len(starts) != 1:
        return []
    (start,) = starts
    rows: list[tuple[str, str]] = []
    for line in lines:
        name, said = line[:start].rstrip(), line[start:]
        if not said or said.startswith(" ") or not line[:start].endswith("  "):
            return []
        if name:
            rows.append((name, said))
        elif not rows:
            return []
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {said}")
    return rows if len(rows) > 1 else []


def table(rows: list[tuple[str, str]]) -> str:
    """Rows of a name and what is said of it, as reStructuredText."""
    lines = [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
    for first, second in rows:
        lines += [f"   * - {first}", f"     - {second}"]
    return "\n".join(lines) + "\n"


def _blocks(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            if (
                found[-1]
                and line.startswith(("- ", ".. ["))
                and not found[-1][0].startswith(("- ", ".. [", " ", ">>>"))
            ):
                found.append([])  # a list right behind its introduction
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    merged: list[list[str]] = []
    for block in found:
        if block and merged and block[0].startswith(" ") and merged[-1][0].startswith(" "):
            merged[-1] += ["", *block]  # one literal block with gaps in it
        elif block:
            merged.append(block)
    return merged


def _items(block: list[str]) -> str:
    """A list, an item a line or more, or references."""
    items: list[str] = []
    for line in block:
        if line.startswith(("- ", ".. [")) or not items:
            items.append(line)
        else:
            items[-1] += " " + line.strip()
    made = []
    for item in items:
        start = "- " if item.startswith("- ") else "| "
        made.append(start + escaped(item.removeprefix("- ").removeprefix(".. ")))
    return "\n".join(made)


def _examples(text: str) -> str:
    return ".. code-block:: pycon\n\n" + _indented(text)
