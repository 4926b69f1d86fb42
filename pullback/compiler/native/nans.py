"""The watch on results of a fast form: a step that ends the run where a NaN shows that a mask was missing.

data: the number of the base, and how many elements lie there side by side
"""

from __future__ import annotations

from pullback.compiler.native.code import ADDRESS, INDEX, Code, Type, Value


def watch(type_: Type) -> Code:
    """A kernel that gives 1 if there is a NaN, and else 0."""
    code = Code(f"nan_in_f{type_.bits}", [("bases", ADDRESS), ("data", ADDRESS)], INDEX)
    bases, data = code.params
    start = code.load(ADDRESS, bases.at(code.load(INDEX, data), 8))
    count = code.load(INDEX, code.shift(data, 8))
    size, lanes = type_.bytes, type_.lanes
    seen = code.variable(code.number(0.0, type_))

    def look(x: Value) -> None:
        code.set(seen, code.sel(x.ne(x), x, code.get(seen)))  # NaN is kept, for it is not itself

    main = count & -lanes
    with code.loop(0, main, lanes) as i:
        look(code.load(type_, start.at(i, size)))
    if lanes > 1:
        with code.when(count > main):
            look(code.load(type_, start.at(main, size), count - main))
    found = code.any(code.get(seen).ne(code.get(seen)))
    with code.when(found):
        code.give(code.index(1))
    code.give(code.index(0))
    return code
