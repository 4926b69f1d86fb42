"""The operators' documentation: text files in `generated/docs`, written by tools/documentation.py, one an area.

A file has a page for each operator, a form feed between two. A page has pieces, a vertical tab between two: its home
and name, the declarations of its overloads, and, of a public one, the signature and the documentation, then the same
for the form in place if there is one. Nothing looks into the texts at import: cutting out hundreds takes a millisecond.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pullback.core.text_signature import TextSignature

_FOLDER = os.path.join(os.path.dirname(__file__), "generated", "docs")  # noqa: PTH118, PTH120 - read at import: fast


def read_pages(area: str) -> dict[str, list[str]]:
    """The pages of an area by home and name, in pieces; none before they are first written."""
    try:
        with open(os.path.join(_FOLDER, f"{area}.txt"), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - as above
            pages = file.read()[:-1].split("\n\f\n")
    except FileNotFoundError:
        return {}
    pieces = [page.split("\n\v\n") for page in pages]
    return {key: rest for key, *rest in pieces}


def describe(forms: Any, overloads: Any, pages: Mapping[str, list[str]]) -> None:
    """Give the functions of an operator their documentation and signatures, and its overloads their declarations."""
    page = pages.get(f"{forms.home}:{forms.name}")
    if page is None:
        return
    for overload, declaration in zip(overloads, page[0].split("\n"), strict=True):
        overload.declare(declaration)
    if len(page) == 1:
        return
    public = next(iter(forms.public.values()))
    for overload in overloads:
        overload.function.__doc__ = page[2]
    public.__doc__, public.__signature__ = page[2], TextSignature.of(page[1])
    if forms.changing:
        for overload in overloads:
            if overload.inplace is not None:
                overload.inplace.__doc__ = page[4]
        changing = next(iter(forms.changing.values()))
        changing.__doc__, changing.__signature__ = page[4], TextSignature.of(page[3])
