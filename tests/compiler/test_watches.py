"""Watches compare exactly where their quick test finds something else, and go on quickly where that is as good."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as pb
from pullback.compiler.reach.places import ArrayForm, Contents, Entries, Item, Items, Keys, TensorForm
from pullback.compiler.reach.reached import reach_of
from pullback.compiler.reach.values import differs
from pullback.compiler.reach.watches import Watches


def function():
    return 1


EQUAL = [
    (1, 1),
    (10**20, 10**20),
    (0.5, 0.5),
    (math.nan, float("nan")),
    (complex(0, math.nan), complex(0, math.nan)),
    ("a", "a"),
    (b"a", b"a"),
    ((1, (2.5, "a")), (1, (2.5, "a"))),
    (frozenset([1]), frozenset([1])),
    (range(3), range(3)),
    (slice(0, 2), slice(0, 2)),
    (np.float64("nan"), np.float64("nan")),
    (np.float32(2), np.float32(2)),
    (np.dtype("f4"), np.dtype("f4")),
    (np.dtype([("a", int)]), np.dtype([("a", int)])),
    (EQUALS := [1], EQUALS),
]
DIFFERENT = [
    (1, 2),
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    (complex(0.0, 0.0), complex(0.0, -0.0)),
    (math.nan, 1.0),
    (1.0, np.float64(1)),
    (np.float64(1), np.float32(1)),
    (np.float64(0.0), np.float64(-0.0)),
    ("a", b"a"),
    ((1, 2), (1, True)),
    ((1,), (1, 1)),
    ([1], [1]),
    (None, 0),
    (function, lambda: 1),
    (slice(0, 2), slice(0, 2, 1)),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_one_value_is_as_good_as_an_equal_one(a, b):
    assert not differs(a, b)
    assert not differs(b, a)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_one_value_is_not_another(a, b):
    assert differs(a, b)
    assert differs(b, a)


def of(*watches):
    made = Watches()
    for watch in watches:
        made.add(watch)
    return made


def test_no_watch_is_never_stale():
    made = Watches()
    assert not made.stale()
    assert made.changed() is None
    assert len(made) == 0


@pytest.mark.parametrize("count", [3, 50])
def test_names_of_an_object_count_as_far_as_code_reads_them(count):
    scope = {f"a{i}": i for i in range(count)}
    made = of(Keys(scope, "x", {"a1", "b1"}.__contains__))
    scope["c"] = 1
    assert not made.stale()
    del scope["a0"]
    assert not made.stale()
    scope["b1"] = 1
    assert made.stale()
    assert made.changed() == "x has `b1` now, and had not"
    del scope["b1"], scope["a1"]
    assert made.changed() == "x had `a1`, and has not now"


@pytest.mark.parametrize("count", [3, 50])
def test_list_goes_on_with_equal_items(count):
    items = [float(i) for i in range(count)]
    made = of(Items(items, "x", list.__iter__))
    items[:] = [float(str(x)) for x in items]
    assert not made.stale()
    items[1] = 7.0
    assert made.stale()
    assert made.changed() == "item 1 of x is 7.0 now, and was 1.0"
    items[1] = 1.0
    assert not made.stale()
    items.pop()
    assert made.changed() == f"x has {count - 1} items now, and had {count}"


@pytest.mark.parametrize("count", [3, 50])
def test_dict_goes_on_with_equal_items(count):
    items = {str(i): float(i) for i in range(count)}
    made = of(Entries(items, "x"))
    items["1"] = float("1.0")
    assert not made.stale()
    items["1"] = 7.0
    assert made.stale()
    assert made.changed() == "the item '1' of x is 7.0 now, and was 1.0"
    items["1"] = 1.0
    assert not made.stale()
    items["1"] = items.pop("1")
    assert made.stale()
    assert made.changed() == "x has other keys now"


def test_item_that_comes_and_goes():
    scope = {}
    made = of(Item(scope, "a", "x", reach_of(lambda: missing).watches.all[-1].was))  # noqa: F821 - it is missing
    assert not made.stale()
    scope["a"] = 1
    assert made.stale()
    assert made.changed() == "x is 1 now, and was not there"
    del scope["a"]
    assert not made.stale()


def test_tensor_by_all_but_its_numbers():
    x = pb.ones(3)
    made = of(TensorForm(x, "x"))
    x += 1
    x.data = pb.zeros(3)
    assert not made.stale()
    x.requires_grad_()
    assert made.changed() == "requires_grad of x is True now, and was False"
    x.requires_grad_(False)
    x.data = pb.zeros(4)
    assert made.changed() == "shape of x is (4,) now, and was (3,)"
    x.data = pb.zeros(3, dtype=np.float32)
    assert made.stale()
    assert made.changed() == "dtype of x is float32 now, and was float64"


@pytest.mark.parametrize("size", [1, 4096, 4097, 70001])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i1", "U3", "M8[s]"])
def test_contents_by_their_bits(size, dtype):
    x = np.zeros(size, "i8").astype(dtype)
    if x.dtype.kind in "fc":
        x[...] = np.nan
    made = of(Contents(x, "x"))
    assert not made.stale()
    x[...] = x.copy()
    assert not made.stale()
    for place in (0, -1):
        before = x[place]
        x[place] = np.ones((), "i8").astype(dtype)
        assert made.stale()
        assert made.changed() == "x has been written into"
        x[place] = before
        assert not made.stale()


def test_zeros_of_two_signs_and_strides():
    x = np.zeros((4, 3))[::2, ::-1]
    made = of(Contents(x, "x"))
    x[1, 1] = -0.0
    assert made.stale()


def test_contents_since_they_were_asked_for():
    made, x = Watches(), np.zeros(3)
    made.add(ArrayForm(x, "x"))
    made.add_contents(x, "x")
    x[0] = 1
    made.arrays(contents=True)
    assert not made.stale()
    made.arrays(contents=False)
    x[0] = 2
    assert not made.stale()
    made.arrays(contents=True)
    assert not made.stale()
    x[0] = 3
    made.arrays(contents=True)
    assert made.stale()
    assert made.changed() == "x has been written into"


def test_quick_test_says_what_it_compares():
    made = of(Items([1.0], "the global `a` of model.py", list.__iter__))
    assert "!= 1 or list_0[0] is not float_1 and differs(list_0[0], float_1)" in made.source
    assert "# the global `a` of model.py" in made.source


def test_names_of_places_do_not_end_the_line():
    made = of(Items([1.0], "the attribute `a\nb\0` of x", list.__iter__))
    assert not made.stale()


# -- state at random ---------------------------------------------------------------------------------------------------
class Node:
    """An object with attributes."""


class Slotted:
    __slots__ = ("a", "b")


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(width=32),
    st.text("ab", max_size=2),
    st.just(np.float64(2.5)),
)


def holder(kind):
    def make(parts):
        if kind is list:
            return list(parts)
        if kind is dict:
            return dict(zip("abcd", parts, strict=False))
        if kind is tuple:
            return tuple(parts)
        made = kind()
        for name, part in zip("ab", parts, strict=False):
            setattr(made, name, part)
        return made

    return make


TREES = st.recursive(
    LEAVES,
    lambda trees: st.one_of(
        *[
            st.lists(trees, max_size=4).map(holder(kind))
            for kind in (list, dict, tuple, Node, Slotted, types.SimpleNamespace)
        ]
    ),
    max_leaves=12,
)


def places(x, seen):
    """Every place in a tree of state: its holder, its key, its value."""
    if id(x) in seen:
        return
    seen.add(id(x))
    if isinstance(x, (dict, list)):
        pairs = [(x, key, part) for key, part in (x.items() if isinstance(x, dict) else enumerate(x))]
    elif isinstance(x, tuple):
        pairs = []
        for part in x:
            yield from places(part, seen)
    elif isinstance(x, (Node, types.SimpleNamespace)):
        pairs = [(vars(x), key, part) for key, part in vars(x).items()]
    elif isinstance(x, Slotted):
        pairs = [(x, name, getattr(x, name)) for name in ("a", "b") if hasattr(x, name)]
    else:
        return
    for found in pairs:
        yield found
        yield from places(found[2], seen)


def put(where, key, value):
    if isinstance(where, Slotted):
        setattr(where, key, value)
    else:
        where[key] = value


def is_same(a, b):
    """As the user sees it: equal in type and bits."""
    return type(a) is type(b) and (a is b or (isinstance(a, float | int | str) and repr(a) == repr(b)))


def reading(state):
    def f(x):
        return x, state, x.a, x.b

    return f


@settings(max_examples=300, deadline=None)
@given(TREES, st.data())
def test_each_change_of_a_leaf_is_seen_and_nothing_else(state, data):
    found = reach_of(reading(state))
    assert not found.refused
    watches = found.watches
    assert not watches.stale()
    all_places = [*places(state, set())]
    if not all_places:
        return
    where, key, before = data.draw(st.sampled_from(all_places))
    now = data.draw(LEAVES)
    put(where, key, now)
    assert watches.stale() is not is_same(before, now)
    assert (watches.changed() is None) is is_same(before, now)
    put(where, key, before)
    assert not watches.stale()
    if isinstance(where, list):
        where.append(now)
    elif isinstance(where, dict) and key in where:
        del where[key]
    else:
        delattr(where, key)
    assert watches.stale()
