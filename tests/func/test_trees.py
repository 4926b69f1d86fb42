"""Arguments that are trees of containers of all kinds: gradients come back in the same."""

import collections

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp

X = np.array([3.0, 1.0, 2.0])


class Parameters(dict):
    def __init__(self, w, *, scale):
        super().__init__(w=w)
        self.scale = scale


class Layers(list):
    def __init__(self, first, second):
        super().__init__([first, second])


class Pair(tuple):
    __slots__ = ()

    def __new__(cls, first, second):
        return super().__new__(cls, (first, second))


TREES = {
    "defaultdict": collections.defaultdict(list, w=X),
    "Counter": collections.Counter(w=2.0),
    "OrderedDict": collections.OrderedDict(w=X),
    "dict of one's own": Parameters(X, scale=3),
    "list of one's own": Layers(X, 2 * X),
    "tuple of one's own": Pair(X, 2 * X),
}


def square(tree):
    return sum((np.sum(x**2) for x in (tree.values() if isinstance(tree, dict) else tree)), start=np.float64(0))


@pytest.mark.parametrize("name", TREES)
def test_a_gradient_is_in_a_container_of_the_same_class(name):
    tree = TREES[name]
    found = grad(square)(tree)
    assert type(found) is type(tree)
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        assert np.array_equal(found[key], 2 * tree[key])
    assert getattr(found, "scale", None) == getattr(tree, "scale", None)
    assert getattr(found, "default_factory", None) is getattr(tree, "default_factory", None)
    value, tangent = jvp(square, (tree,), (found,))
    assert np.isclose(4 * value, tangent)


@pytest.mark.parametrize("kind", [list, dict])
def test_a_container_of_itself_is_refused(kind):
    tree = [X] if kind is list else {0: X}
    tree.append((tree,)) if kind is list else tree.update(self=(tree,))
    for call in (lambda: grad(square)(tree), lambda: jvp(square, (tree,), (tree,))):
        with pytest.raises(TypeError, match=f"a {kind.__name__} contains itself"):
            call()
    assert np.array_equal(grad(lambda xs: np.sum(xs[0] + xs[1]))([X, X])[0], np.ones(3))  # twice the same is none


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: pb.func.jvp(f, (np.ones(2),), (np.ones(2),)),
        lambda f: pb.func.linearize(f, np.ones(2)),
        lambda f: pb.func.jet(f, (np.ones(2),), ([np.ones(2)],)),
        lambda f: pb.func.vjp(f, np.ones(2)),
        lambda f: pb.func.jacfwd(f)(np.ones(2)),
        lambda f: pb.func.jacrev(f)(np.ones(2)),
    ],
    ids=["jvp", "linearize", "jet", "vjp", "jacfwd", "jacrev"],
)
def test_what_is_no_array_is_named_by_its_place(transform):
    with pytest.raises(TypeError, match=r"^func\.\w+: .*the function returned a str at \['b'\]\[1\]; return arrays"):
        transform(lambda x: {"a": x, "b": (x, "text")})
