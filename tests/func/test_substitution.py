"""func.functional_call and func.stop_gradient."""

import collections
import dataclasses
import functools
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.func import functional_call, grad, hessian, jvp, stop_gradient, vmap


class Layer:
    def __init__(self, rows, columns):
        self.weight, self.bias = np.full((rows, columns), 0.5), np.zeros(rows)

    def __call__(self, x):
        return np.tanh(self.weight @ x + self.bias)


class Network:
    def __init__(self):
        self.layers = [Layer(3, 2), Layer(1, 3)]
        self.scale = {"out": np.array(2.0)}
        self.pair = (np.ones(1), np.ones(1))
        self.calls = 0

    def __call__(self, x, *, shift=0.0):
        self.calls += 1
        for layer in self.layers:
            x = layer(x)
        return (self.scale["out"] * x + shift + self.pair[0]).sum()

    def loss(self, x, y):
        return (self(x) - y) ** 2


X = np.array([0.3, -0.2])


def test_parameters_are_found_by_path_and_the_object_stays_as_it_is():
    network = Network()
    before = network(X)
    parameters = {"layers.0.weight": np.zeros((3, 2)), "scale.out": np.array(1.0), "pair.0": np.zeros(1)}
    assert functional_call(network, parameters, X) == 0.0
    assert functional_call(network, parameters, (X,), {"shift": 3.0}) == 3.0
    assert network.calls == 1
    assert network(X) == before
    assert network.layers[0].weight.tolist() == [[0.5, 0.5]] * 3


def test_gradients_by_name():
    network = Network()
    parameters = {"layers.1.weight": network.layers[1].weight, "scale.out": network.scale["out"]}

    def value(p):
        return functional_call(network, p, X)

    gradient = grad(value)(parameters)
    assert gradient.keys() == parameters.keys()
    for name, x in parameters.items():
        step = np.zeros_like(x)
        step[(0,) * x.ndim] = 1e-6
        slope = (value({**parameters, name: x + step}) - value({**parameters, name: x - step})) / 2e-6
        np.testing.assert_allclose(gradient[name][(0,) * x.ndim], slope, rtol=1e-7)


def test_a_bound_method():
    network = Network()
    assert functional_call(network.loss, {"scale.out": 0.0}, (X, 3.0)) == 4.0
    slope = grad(lambda s: functional_call(network.loss, {"scale.out": s}, (X, 3.0)))(2.0)
    inside = network(X)
    np.testing.assert_allclose(slope, 2 * (inside - 3) * (inside - 1) / 2)


def test_several_dicts_and_per_sample_gradients():
    network = Network()
    weights, buffers = {"layers.0.weight": network.layers[0].weight}, {"pair.0": np.zeros(1)}

    def loss(weights, x, y):
        return (functional_call(network, (weights, buffers), x) - y) ** 2

    xs, ys = np.stack([X, 2 * X, -X]), np.array([1.0, 2.0, 3.0])
    found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, xs, ys)["layers.0.weight"]
    np.testing.assert_allclose(
        found, [grad(loss)(weights, x, y)["layers.0.weight"] for x, y in zip(xs, ys, strict=True)]
    )


CALLS = {
    "no such attribute": (
        {"layers.0.wait": 1.0},
        AttributeError,
        r"no Network\.layers\.0\.wait; there are \['weight', 'bias'\]",
    ),
    "no such key": ({"scale.in": 1.0}, AttributeError, r"no Network\.scale\.in; there are \['out'\]"),
    "no such position": ({"layers.2.weight": 1.0}, AttributeError, r"no Network\.layers\.2"),
    "a part of what is given": (
        {"scale": {}, "scale.out": 1.0},
        ValueError,
        r"Network\.scale is given, and so is a part",
    ),
    "no dict": (
        [np.ones(1)],
        TypeError,
        "must be a dict of names to arrays, or a sequence of such dicts, got a ndarray|an ndarray",
    ),
    "twice": ([{"calls": 1}, {"calls": 2}], ValueError, "several dicts give 'calls'"),
}


@pytest.mark.parametrize(("parameters", "error", "said"), CALLS.values(), ids=CALLS)
def test_wrong_parameters(parameters, error, said):
    network = Network()
    with pytest.raises(error, match=rf"func\.functional_call: .*({said})"):
        functional_call(network, parameters, X)
    assert network.calls == 0


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match=r"func\.functional_call: the first argument must be a callable object"):
        functional_call(3, {}, X)


def test_registered_and_partial_objects_are_objects_like_others():
    call = functools.partial(np.multiply, 3.0)
    assert functional_call(call, {}, 2.0) == 6.0


# -- stop_gradient -----------------------------------------------------------------------------------------------------
def test_what_is_stopped_is_constant_for_every_transform():
    def f(x):
        return np.sum(stop_gradient(x**2) * x**2)

    x = np.array([2.0, 3.0])
    np.testing.assert_allclose(grad(f)(x), 2 * x**3)
    np.testing.assert_allclose(hessian(f)(x), np.diag(2 * x**2))
    np.testing.assert_allclose(jvp(f, (x,), (x,))[1], np.sum(2 * x**4))


def test_trees_and_what_is_no_tensor_go_through():
    x, text = np.ones(2), "text"
    found = stop_gradient({"a": x, "b": (2.0, [text, None])})
    assert found["a"] is x
    assert found["b"] == (2.0, [text, None])
    t = pb.ones(2, requires_grad=True)
    held = stop_gradient([t])[0]
    assert not held.requires_grad
    assert held.data_ptr() == t.data_ptr()


# -- several ways to one array -----------------------------------------------------------------------------------------
class _Knotted:
    def __init__(self):
        self.w = np.ones(2)
        self.me = self
        self.bound = self.method
        self.partial = functools.partial(self.method)
        self.items = ({"back": [self]},)
        self.weak = weakref.ref(self)

    def method(self, x):
        return (self.w * x).sum()


@pytest.mark.parametrize(
    "way",
    [
        lambda s, x: s.me.method(x),
        lambda s, x: s.bound(x),
        lambda s, x: s.partial(x),
        lambda s, x: s.items[0]["back"][0].method(x),
        lambda s, x: s.weak().method(x),
        lambda s, x: s.me.me.bound.__self__.method(x),
    ],
)
def test_back_references_lead_to_the_new_arrays(way):
    class Used(_Knotted):
        __call__ = way

    used = Used()
    assert pb.func.functional_call(used, {"w": np.array([2.0, 5.0])}, np.ones(2)) == 7
    assert way(used, np.ones(2)) == 2  # the object stays as it is
    g = pb.func.grad(lambda w: pb.func.functional_call(used, {"w": w}, np.array([3.0, 4.0])))(np.zeros(2))
    np.testing.assert_array_equal(g, [3, 4])


class _Part:
    def __init__(self):
        self.w = np.ones(2)


class _Shared:
    def __init__(self):
        self.a = self.b = _Part()
        self.tied = self.a.w
        self.other = _Part()

    def __call__(self, x):
        return (self.a.w * x).sum() + 10 * (self.tied * x).sum() + 100 * (self.b.w * x).sum()


def test_shared_children_and_tied_arrays_are_replaced_together():
    shared = _Shared()
    assert pb.func.functional_call(shared, {"b.w": np.array([2.0, 0.0])}, np.ones(2)) == 222
    assert pb.func.functional_call(shared, {"tied": np.array([2.0, 0.0])}, np.ones(2)) == 222
    with pytest.raises(ValueError, match=r"_Shared\.b\.w is given twice"):
        pb.func.functional_call(shared, {"a.w": np.ones(2), "b.w": np.zeros(2)}, np.ones(2))


def test_what_does_not_lead_to_the_arrays_is_not_copied():
    shared = _Shared()
    shared.__class__ = type("Counting", (_Shared,), {"__call__": lambda self, x: self.other})
    assert pb.func.functional_call(shared, {"b.w": np.zeros(2)}, np.ones(2)) is shared.other


def test_frozen_holders():
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        w: object
        pair: object = None

        def __call__(self, x):
            return (self.w * x).sum() + (self.pair.first.sum() if self.pair else 0.0)

    pair = collections.namedtuple("pair", "first second")
    assert pb.func.functional_call(Frozen(np.ones(2)), {"w": np.zeros(2)}, np.ones(2)) == 0
    frozen = Frozen(np.ones(2), pair(np.ones(2), 3))
    for name in ("pair.first", "pair.0"):
        assert pb.func.functional_call(frozen, {name: np.zeros(2)}, np.ones(2)) == 2


def test_a_function_that_captures_the_object_is_refused():
    part = _Part()
    part.f = lambda x: (part.w * x).sum()
    type(part).__call__ = lambda self, x: self.f(x)
    try:
        with pytest.raises(TypeError, match="captures the object"):
            pb.func.functional_call(part, {"w": np.zeros(2)}, np.ones(2))
    finally:
        del type(part).__call__
