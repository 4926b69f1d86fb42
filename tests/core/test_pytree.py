"""Trees of arrays: what is a container, what a leaf, and users' classes in everything that takes trees."""

import collections
import dataclasses
import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.pytree import _REGISTERED
from pullback.func import grad, jvp, value_and_grad
from pullback.utils.checkpoint import checkpoint
from pullback.utils.pytree import register_pytree_node, tree_flatten, tree_leaves, tree_map, tree_unflatten

X = np.array([3.0, 1.0, 2.0])


@dataclasses.dataclass
class Line:
    slope: object
    offset: object
    unit: str = "m"


class SubLine(Line):
    pass


@pytest.fixture
def registered():
    """Registers classes for one test."""
    mine = []

    def register(cls, flatten_fn, unflatten_fn):
        register_pytree_node(cls, flatten_fn, unflatten_fn)
        mine.append(cls)

    yield register
    for cls in mine:
        del _REGISTERED[cls]


@pytest.fixture
def lines(registered):
    registered(Line, lambda x: ((x.slope, x.offset), x.unit), lambda children, unit: Line(*children, unit))


def at(line, x=X):
    return ((line.slope * x + line.offset) ** 2).sum()


Point = collections.namedtuple("Point", ["x", "y"])


class Powered(Point):
    def __new__(cls, x, y, power=2):
        made = super().__new__(cls, x, y)
        made.power = power
        return made


class Doubled(Point):
    __slots__ = ()

    def __new__(cls, x, y):
        return super().__new__(cls, 2 * x, 2 * y)


class TestTrees:
    def test_leaves_and_back_in_the_same_classes(self):
        tree = {"b": [1.0, (2.0, None)], "a": Point(3.0, collections.OrderedDict(z=4.0, y=5.0)), "e": ()}
        leaves, spec = tree_flatten(tree)
        assert leaves == [3.0, 4.0, 5.0, 1.0, 2.0]  # keys sorted, an OrderedDict in its own order
        assert spec.num_leaves == 5
        again = tree_unflatten(leaves, spec)
        assert again == tree
        assert list(again) == ["b", "a", "e"]  # the order of the dict itself stays
        assert type(again["a"]) is Point

    def test_keys_that_cannot_be_sorted_keep_their_order(self):
        assert tree_leaves({"b": 1, 2: 3, "a": 4}) == [1, 3, 4]

    def test_dicts_are_equal_in_any_order_and_ordered_ones_are_not(self):
        assert tree_map(lambda x, y: x - y, {"a": 3, "b": 5}, {"b": 1, "a": 2}) == {"a": 1, "b": 4}
        one, other = collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)
        with pytest.raises(ValueError, match="tree_map: the trees are built differently"):
            tree_map(lambda x, y: x, one, other)

    @pytest.mark.parametrize("other", [[1, 2], (1, 2, 3), (1, [2]), (1, None), 5, None])
    def test_another_structure_is_refused(self, other):
        with pytest.raises(ValueError, match="built differently"):
            tree_map(lambda x, y: x, (1, 2), other)

    def test_a_named_tuple_of_ones_own_keeps_what_it_holds_beside_its_items(self):
        tree = Powered(X, 2 * X, 3)
        assert tree_map(lambda x: x, tree).power == 3
        found = grad(lambda tree: (tree.x**tree.power).sum() + tree.y.sum())(tree)
        assert np.array_equal(found.x, 3 * X**2)
        assert (type(found), found.power) == (Powered, 3)
        assert np.isclose(jvp(lambda tree: (tree.x**tree.power).sum(), (tree,), (tree,))[1], (3 * X**3).sum())
        x = pb.tensor(X, requires_grad=True)
        checkpoint(lambda tree: (tree.x**tree.power).sum(), Powered(x, x, 3)).backward()
        assert np.array_equal(x.grad.numpy(), 3 * X**2)

    def test_a_named_tuple_is_not_made_again_by_its_class(self):
        """Which may take other arguments, or change them."""
        assert tuple(tree_map(lambda x: x, Doubled(1.0, 2.0))) == (2.0, 4.0)

    def test_the_structure_of_a_tuple_keeps_no_leaf_alive(self):
        array = np.ones(3)
        seen = weakref.ref(array)
        spec = tree_flatten(Powered(array, None))[1]
        del array
        gc.collect()
        assert seen() is None
        assert tree_unflatten([1.0], spec).power == 2

    def test_none_has_no_leaves(self):
        assert tree_flatten(None)[0] == []
        assert tree_map(str, [None, 1]) == [None, "1"]

    def test_is_leaf(self):
        assert tree_leaves([(1, 2), [3]], is_leaf=lambda x: type(x) is tuple) == [(1, 2), 3]

    def test_shared_leaves_are_leaves_each(self):
        assert tree_leaves([X, {"a": X}])[1] is X
        first, second = grad(lambda pair: (pair[0] * pair[1]).sum() + pair[0].sum())([X, X])
        assert np.array_equal(first, X + 1)
        assert np.array_equal(second, X)

    def test_wrong_number_of_leaves(self):
        _, spec = tree_flatten([1, 2])
        for leaves in ([1], [1, 2, 3]):
            with pytest.raises(ValueError, match=f"has 2 leaves, but {len(leaves)} were given"):
                tree_unflatten(leaves, spec)
        with pytest.raises(TypeError, match="leaves come first"):
            tree_unflatten(spec, [1, 2])

    def test_a_spec_shows_the_tree(self):
        assert repr(tree_flatten({"w": [1, 2], "b": None})[1]) == "TreeSpec({'w': [*['w'][0], *['w'][1]], 'b': None})"

    def test_a_container_that_changes_while_its_leaves_are_mapped(self):
        tree = {"a": 1, "b": 2}
        assert tree_map(lambda x: tree.pop("b", 0) + x, tree) == {"a": 3, "b": 2}
        items = [1, 2]
        assert tree_map(lambda x: items.append(x), items) == [None, None]
        assert items == [1, 2, 1, 2]


class TestRegisteredClasses:
    def test_gradients_come_back_in_the_class(self, lines):
        line = Line(2.0, np.array(1.0), "cm")
        value, found = value_and_grad(at)(line)
        assert type(found) is Line
        assert found.unit == "cm"
        residual = 2.0 * X + 1
        assert np.isclose(value, (residual**2).sum())
        assert np.allclose([found.slope, found.offset], [(2 * residual * X).sum(), (2 * residual).sum()])

    def test_forward_mode_takes_and_returns_them(self, lines):
        value, tangent = jvp(lambda line: Line(line.slope * 3, line.offset**2), (Line(2.0, 5.0),), (Line(1.0, 10.0),))
        assert (value.slope, value.offset, tangent.slope, tangent.offset) == (6.0, 25.0, 3.0, 100.0)

    def test_other_contexts_are_other_structures(self, lines):
        with pytest.raises(RuntimeError, match="different structures"):
            jvp(at, (Line(1.0, 2.0, "m"),), (Line(1.0, 2.0, "cm"),))

    def test_checkpoint_recomputes_with_them(self, lines):
        line = Line(pb.tensor(2.0, requires_grad=True), pb.tensor(1.0, requires_grad=True))
        seen = []

        def function(tree):
            seen.append(type(tree["line"]))
            return at(tree["line"], pb.tensor(X))

        checkpoint(function, {"line": line}, use_reentrant=False).backward()
        assert seen == [Line, Line]
        assert np.isclose(line.slope.grad.item(), (2 * (2 * X + 1) * X).sum())

    def test_a_change_in_place_of_what_a_registered_class_holds_is_noticed_by_checkpoint(self, lines):
        line = Line(pb.tensor(2.0, requires_grad=True).clone(), pb.tensor(1.0))
        out = checkpoint(lambda x: at(x, pb.tensor(X)), line, use_reentrant=False)
        line.slope.mul_(2)
        with pytest.raises(RuntimeError, match="modified"):
            out.backward()

    def test_a_subclass_is_no_instance(self, lines):
        assert isinstance(tree_leaves(SubLine(1.0, 2.0))[0], SubLine)
        with pytest.raises(TypeError, match="register_pytree_node"):
            grad(at)(SubLine(1.0, 2.0))

    def test_a_registered_dict_goes_by_its_own_functions(self, registered):
        class Frozen(dict):
            pass

        registered(Frozen, lambda x: ([x["w"]], x["n"]), lambda children, n: Frozen(w=children[0], n=n))
        assert tree_leaves(Frozen(w=1.0, n=7)) == [1.0]
        assert grad(lambda x: x["w"] * x["n"])(Frozen(w=2.0, n=7)) == Frozen(w=7.0, n=7)

    def test_twice(self, lines):
        with pytest.raises(ValueError, match="Line is registered already"):
            register_pytree_node(Line, lambda x: ((), None), lambda children, _: None)
        assert tree_leaves(Line(1, 2)) == [1, 2]  # by the first

    @pytest.mark.parametrize("cls", [dict, list, tuple, collections.OrderedDict])
    def test_pythons_containers_are_taken(self, cls):
        with pytest.raises(ValueError, match=f"{cls.__name__} is registered already"):
            register_pytree_node(cls, lambda x: ((), None), lambda children, _: None)

    @pytest.mark.parametrize("cls", [pb.Tensor, np.ndarray, float, bool, str, type(None), np.float64])
    def test_leaves_stay_leaves(self, cls):
        with pytest.raises(TypeError, match="is a leaf"):
            register_pytree_node(cls, lambda x: ((), None), lambda children, _: None)

    def test_what_is_no_class_or_function(self):
        with pytest.raises(TypeError, match="cls must be a class"):
            register_pytree_node("Line", len, len)
        with pytest.raises(TypeError, match="unflatten_fn must be callable"):
            register_pytree_node(SubLine, len, None)
        assert SubLine not in _REGISTERED


class TestContexts:
    """Two trees are built alike where the contexts of their classes are equal, arrays in these too."""

    class Scaled:
        def __init__(self, x, context):
            self.x, self.context = x, context

    @pytest.fixture(autouse=True)
    def scaled(self, registered):
        registered(
            self.Scaled, lambda s: ((s.x,), s.context), lambda children, context: self.Scaled(*children, context)
        )

    @pytest.mark.parametrize(
        "context",
        [
            lambda a: a,
            lambda a: {"scale": [a, ("m", 2 * a)]},
            lambda a: (pb.tensor(a), None),
        ],
    )
    def test_arrays_in_them(self, context):
        one, same = context(np.array([1.0, np.nan])), context(np.array([1.0, np.nan]))
        value, tangent = jvp(lambda s: s.x.sum(), (self.Scaled(X, one),), (self.Scaled(X, same),))
        assert value == tangent == X.sum()
        for other in (np.array([2.0, np.nan]), np.ones(3), np.ones(2, np.float32)):
            with pytest.raises(RuntimeError, match="different structures"):
                jvp(lambda s: s.x.sum(), (self.Scaled(X, one),), (self.Scaled(X, context(other)),))

    def test_what_cannot_be_compared_is_refused_by_name(self):
        one, other = (dataclasses.make_dataclass("Scale", ["a"])(np.ones(2)) for _ in range(2))
        other.__class__ = type(one)
        with pytest.raises(TypeError, match=r"contexts of two Scaled cannot be compared .*truth value"):
            tree_map(lambda x, y: x, self.Scaled(1.0, one), self.Scaled(2.0, other))


class TestHostileFunctions:
    def test_unflatten_gives_another_type(self, registered):
        registered(SubLine, lambda x: ((x.slope,), None), lambda children, _: Line(*children, 0.0))
        with pytest.raises(TypeError, match=r"the unflatten_fn of SubLine gave .*\bLine; it must make a SubLine"):
            tree_map(str, [SubLine(1.0, 2.0)])
        with pytest.raises(TypeError, match="must make a SubLine again"):
            grad(lambda x: x.slope)(SubLine(1.0, 2.0))

    @pytest.mark.parametrize("given", [None, [1, 2], (1,), (1, 2, 3), (5, None)])
    def test_flatten_gives_no_pair(self, registered, given):
        registered(SubLine, lambda x: given, lambda children, _: SubLine(*children))
        with pytest.raises(TypeError, match=r"flatten_fn of SubLine must give a pair \(children, context\)"):
            tree_leaves(SubLine(1.0, 2.0))

    def test_it_contains_itself(self, lines):
        line = Line(1.0, None)
        line.offset = [line]
        for call in (
            lambda: tree_leaves(line),
            lambda: grad(at)(line),
            lambda: checkpoint(at, line, use_reentrant=False),
        ):
            with pytest.raises(TypeError, match="a Line contains itself"):
                call()

    def test_flatten_changes_the_container_around(self, registered):
        around = {}

        def greedy(x):
            around["more"] = 1
            return (x.slope,), None

        registered(SubLine, greedy, lambda children, _: SubLine(*children, None))
        around["line"] = SubLine(1.0, None)
        assert tree_leaves(around) == [1.0]
        assert set(around) == {"line", "more"}

    def test_children_may_be_an_iterator_that_is_empty_afterwards(self, registered):
        registered(SubLine, lambda x: (iter((x.slope, x.offset)), None), lambda children, _: SubLine(*children))
        assert tree_map(lambda x: x + 1, SubLine(1, 2)) == SubLine(2, 3)

    def test_an_error_in_them_reaches_the_user_and_leaves_no_level_open(self, registered):
        def fails(children, context):
            raise LookupError("mine")

        registered(SubLine, lambda x: ((x.slope,), None), fails)
        for call in (lambda: grad(at)(SubLine(1.0, 2.0)), lambda: jvp(at, (SubLine(1.0, 2.0),), (SubLine(1.0, 2.0),))):
            with pytest.raises(LookupError, match="mine"):
                call()
        assert np.array_equal(grad(np.sum)(X), np.ones(3))
