"""Rare arguments, whose result takes a loop: lane by lane, by a function that the module must contain."""

from __future__ import annotations

from collections.abc import Callable

from pullback.compiler.native.code import Code, Type, Value

DOUBLE = Type("f", 64)


def rarely(c: Code, usual: Value, is_rare: Callable[..., Value], name: str, *args: Value) -> Value:
    """`usual`, but where is_rare(c, *args) holds, what the function of this name gives for these doubles."""
    result = c.variable(usual)
    with c.when(c.any(is_rare(c, *args))):
        lanes, one = usual.type.lanes, usual.type.one
        rooms = [c.room(lanes * one.bytes) for _ in (usual, *args)]
        for value, room in zip((usual, *args), rooms, strict=True):
            c.store(value, room)
        with c.loop(0, lanes) as i:
            to, *of = (room.at(i, one.bytes) for room in rooms)
            numbers = [c.load(one, address) for address in of]
            with c.when(is_rare(c, *numbers)):
                found = c.call(name, DOUBLE, *(c.cast(x, 64) for x in numbers))
                c.store(c.cast(found, one.bits), to)
        c.set(result, c.load(usual.type, rooms[0]))
    return c.get(result)
