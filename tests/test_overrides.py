"""Classes that take part in functions of Tensors, and modes that see the calls."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import pullback as pb
from pullback.overrides import (
    PullbackFunctionMode,
    get_overridable_functions,
    handle_pullback_function,
    has_pullback_function,
    is_tensor_like,
    resolve_name,
)


def answering(name, bases=(), answer=True):
    """A class that notes who is asked for what, and answers with its name, or leaves the answer to others."""

    def method(cls, func, types, args=(), kwargs=None):
        cls.log.append((cls.__name__, func, tuple(t.__name__ for t in types), args, kwargs))
        return cls.__name__ if answer else NotImplemented

    return type(name, bases or (object,), {"__pullback_function__": classmethod(method), "log": []})


A = answering("A")
B = answering("B")
OfA = answering("OfA", (A,))
Silent = answering("Silent", answer=False)
SilentOfB = answering("SilentOfB", (B,), answer=False)
a, b, of_a, silent, silent_of_b = A(), B(), OfA(), Silent(), SilentOfB()
T = pb.ones(3)

# Each as torch.overrides has it: who answers, and who is asked in which order.
ORDER = [
    (lambda: pb.sin(a), "A", ["A"]),
    (lambda: pb.add(T, a), "A", ["A"]),
    (lambda: pb.add(a, b), "A", ["A", "B"]),
    (lambda: pb.add(b, a), "B", ["B", "A"]),
    (lambda: pb.add(a, of_a), "OfA", ["OfA", "A"]),
    (lambda: pb.where(silent, a, b), "A", ["Silent", "A", "B"]),
    (lambda: pb.where(a, b, of_a), "OfA", ["OfA", "A", "B"]),
    (lambda: pb.add(b, silent_of_b), "B", ["SilentOfB", "B"]),
    (lambda: pb.stack([T, b, a]), "B", ["B", "A"]),
    (lambda: pb.cat([silent, of_a]), "OfA", ["Silent", "OfA"]),
    (lambda: T + a, "A", ["A"]),
    (lambda: T @ of_a, "OfA", ["OfA"]),
    (lambda: T.add_(a), "A", ["A"]),
    (lambda: pb.sin(T, out=a), "A", ["A"]),
    (lambda: pb.max(a, 0), "A", ["A"]),
    (lambda: pb.std(a), "A", ["A"]),
    (lambda: pb.einsum("i,i->", a, T), "A", ["A"]),
    (lambda: pb.zeros_like(a), "A", ["A"]),
    (lambda: pb.nn.functional.mse_loss(T, a), "A", ["A"]),
    (lambda: pb.linalg.solve(a, T), "A", ["A"]),
    (lambda: pb.scatter(T, 0, pb.tensor([0]), a), "A", ["A"]),
    (lambda: T.clone().scatter_(0, pb.tensor([0]), of_a), "OfA", ["OfA"]),
    (lambda: pb.scatter(a, 0, b, 1.0), "A", ["A", "B"]),
    (lambda: T[a], "A", ["A"]),
    (lambda: T[silent, a], "A", ["Silent", "A"]),
    (lambda: T[[0, a]], "A", ["A"]),
    (lambda: pb.numel(a), "A", ["A"]),
    (lambda: pb.numel(input=a), "A", ["A"]),
    (lambda: pb.is_nonzero(a), "A", ["A"]),
    (lambda: pb.is_same_size(a, of_a), "OfA", ["OfA", "A"]),
    (lambda: T.type_as(a), "A", ["A"]),
    (lambda: pb.autograd.grad(a, T), "A", ["A"]),
    (lambda: pb.autograd.grad([silent], (T, a)), "A", ["Silent", "A"]),
    (lambda: pb.autograd.grad(T, {"x": a}), "A", ["A"]),
]


@pytest.mark.parametrize(("call", "who", "order"), ORDER)
def test_a_subclass_is_asked_before_its_superclass_and_left_before_right(call, who, order):
    for kind in (A, B, OfA, Silent, SilentOfB):
        kind.log.clear()
    assert call() == who
    answered = {"A": A, "B": B, "OfA": OfA}[who]
    assert list(answered.log[-1][2]) == order


def test_if_all_refuse_the_call_is_an_error_that_names_them():
    with pytest.raises(TypeError, match=r"'pullback\.add' on types that implement .*: Silent, SilentOfB returned"):
        pb.add(silent, silent_of_b)
    with pytest.raises(TypeError, match=r"argument 'input' must be a Tensor.*got object"):
        pb.sin(object())


@pytest.mark.parametrize(
    ("call", "func", "args", "kwargs"),
    [
        (lambda: a.__class__ and pb.sin(a), lambda: pb.sin, (a,), {}),
        (lambda: pb.sum(a), lambda: pb.sum, (a,), {}),
        (lambda: pb.sum(a, 1, True, dtype="float32"), lambda: pb.sum, (a, 1, True), {"dtype": np.dtype("float32")}),
        (lambda: pb.sum(a, axis=1), lambda: pb.sum, (a, 1), {}),
        (lambda: pb.stack([a, T], dim=1), lambda: pb.stack, ([a, T], 1), {}),
        (lambda: pb.add(T, a, alpha=2), lambda: pb.add, (T, a), {"alpha": 2}),
        (lambda: pb.std(a, dim=0), lambda: pb.std, (a,), {"dim": 0}),
        (lambda: pb.nn.functional.mse_loss(a, T), lambda: pb.nn.functional.mse_loss, (a, T), {}),
        (lambda: pb.zeros_like(a, requires_grad=True), lambda: pb.zeros_like, (a,), {"requires_grad": True}),
        (lambda: T.mul_(a), lambda: pb.Tensor.mul_, (T, a), {}),
        (lambda: pb.einsum("i,i", a, T), lambda: pb.einsum, ("i,i", a, T), {}),
        (lambda: pb.sin(T, out=a), lambda: pb.sin, (T,), {"out": a}),
        (lambda: T[a, 0], lambda: pb.Tensor.__getitem__, (T, (a, 0)), {}),
        (lambda: T.__setitem__(a, 2.0), lambda: pb.Tensor.__setitem__, (T, a, 2.0), {}),
        (lambda: T.__setitem__([a, 0], 2.0), lambda: pb.Tensor.__setitem__, (T, [a, 0], 2.0), {}),
        (lambda: T.__setitem__(0, a), lambda: pb.Tensor.__setitem__, (T, 0, a), {}),
        (lambda: pb.numel(a), lambda: pb.numel, (a,), {}),
        (lambda: pb.autograd.backward([T], inputs=a), lambda: pb.autograd.backward, ([T],),
         {"grad_tensors": None, "inputs": a, "retain_graph": None, "create_graph": False, "per_sample": False}),
    ],
)  # fmt: skip
def test_a_class_is_given_the_public_function_and_what_it_was_called_with(call, func, args, kwargs):
    A.log.clear()
    call()
    _, called, _, given, named = A.log[-1]
    assert called is func()
    assert repr(given) == repr(args)
    assert named == kwargs


class Quantity:
    """With the shape and some methods of a Tensor, which no composite may use unasked."""

    shape, ndim, dtype = (2,), 1, np.dtype(float)

    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        raise AssertionError("the method comes first")

    def reshape(self, *shape):
        raise AssertionError("nobody was asked")

    @classmethod
    def __pullback_function__(cls, func, types, args=(), kwargs=None):
        return cls(func(*[x.value if isinstance(x, cls) else x for x in args], **(kwargs or {})))


def test_composites_ask_before_they_compute():
    x = Quantity(pb.tensor([[1.0, 2.0]]))
    assert pb.flatten(x).value.tolist() == [1.0, 2.0]
    assert (pb.ones(2) + x).value.tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize("make", [np.asarray, pb.tensor])
def test_transforms_differentiate_through_a_class(make):
    f = lambda x: pb.sum(pb.mul(Quantity(x), pb.sin(Quantity(x)))).value  # noqa: E731
    x = make([0.3, 0.7])
    expected = np.sin([0.3, 0.7]) + np.array([0.3, 0.7]) * np.cos([0.3, 0.7])
    np.testing.assert_allclose(pb.func.grad(f)(x), expected)
    np.testing.assert_allclose(pb.func.jvp(f, (x,), (make([1.0, 0.0]),))[1], expected[0])
    rows = make([[0.3, 0.7], [0.7, 0.3]])
    np.testing.assert_allclose(pb.vmap(pb.func.grad(f))(rows), [expected, expected[::-1]])
    np.testing.assert_allclose(
        pb.func.hessian(f)(x), np.diag(2 * np.cos([0.3, 0.7]) - np.array([0.3, 0.7]) * np.sin([0.3, 0.7]))
    )


def test_python_operators_of_arrays_ask_too():
    seen = []

    def f(x):
        seen.extend([x + a, x @ a, x < a, x == a, x**a])
        x += np.ones(2)
        seen.append(x.__imul__(a))
        return x.sum()

    pb.func.grad(f)(np.ones(2))
    assert seen == ["A"] * 6


def test_an_index_of_an_array_asks_too():
    seen = []

    def f(x):
        x[a] = 1.0
        assert A.log[-1][1] is pb.Tensor.__setitem__
        seen.extend([x[a], x[0, a], pb.Tensor.__getitem__(x, slice(0, 2)).shape])
        assert A.log[-1][1] is pb.Tensor.__getitem__
        return x.sum()

    assert pb.func.grad(f)(np.ones(2)).tolist() == [1.0, 1.0]
    assert seen == ["A", "A", (2,)]


def test_a_number_as_an_index_is_asked_before_it_is_used():
    class Index(A):
        def __index__(self):
            raise AssertionError("nobody was asked")

    assert T[Index()] == T[[Index()]] == T[0, Index()] == "Index"
    assert pb.ones(2).__setitem__(Index(), 1.0) is None


def test_a_hook_is_no_operand():
    class Hook(A):
        def __call__(self, grad):
            return 2 * grad

    x = pb.ones(2, requires_grad=True)
    x.register_hook(Hook())
    x.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_functions_that_are_no_operators_are_named_as_they_are_called():
    names = {
        pb.Tensor.__getitem__: "Tensor.__getitem__", pb.Tensor.__setitem__: "Tensor.__setitem__",
        pb.numel: "numel", pb.autograd.grad: "autograd.grad", pb.Tensor.type_as: "Tensor.type_as",
    }  # fmt: skip
    assert [resolve_name(f) for f in names] == [f"pullback.{name}" for name in names.values()]
    for call, name in (
        (lambda: T[silent], "Tensor.__getitem__"),
        (lambda: pb.autograd.grad(silent, T), "autograd.grad"),
    ):
        with pytest.raises(TypeError, match=f"no implementation found for 'pullback.{name}'"):
            call()


class Noting(PullbackFunctionMode):
    def __init__(self, name="", log=None, answer=True):
        self.name, self.log, self.answer = name, [] if log is None else log, answer

    def __pullback_function__(self, func, types, args=(), kwargs=None):
        self.log.append(self.name + (resolve_name(func) or func.__name__).removeprefix("pullback."))
        return func(*args, **(kwargs or {})) if self.answer else NotImplemented


def test_a_mode_sees_every_call_once_and_nothing_of_what_it_is_made_of():
    x = pb.ones(2, requires_grad=True)
    with Noting() as mode:
        y = pb.nn.functional.mse_loss(x * 2, pb.zeros(2)).sin().sum()
        x.detach().add_(1)
        pb.stack([x, x])[0]
        y.backward()
    pb.sin(x)
    assert mode.log == [
        "mul", "zeros", "nn.functional.mse_loss", "sin", "sum", "add_", "stack", "Tensor.__getitem__",
    ]  # fmt: skip


def test_a_mode_sees_writes_and_draws_as_they_are_called():
    x = pb.zeros(3)
    with Noting() as mode:
        x[0] = 1
        x.normal_()
        x += 1
        pb.softmax(x, 0, out=x)
        x.to(pb.float32)
        pb.func.jvp(pb.exp, (x,), (x,))
    assert mode.log == ["Tensor.__setitem__", "Tensor.normal_", "add_", "softmax", "Tensor.to", "exp"]


def test_modes_nest_and_come_before_operands():
    log = []
    with Noting("outer ", log), Noting("inner ", log):
        assert pb.add(T, a) == "A"
        pb.sin(T)
    assert log == ["inner add", "outer add", "inner sin", "outer sin"]
    with Noting(answer=False):
        assert pb.add(T, a) == "A"
        with pytest.raises(TypeError, match=r"'pullback\.sin' .*: mode Noting returned NotImplemented"):
            pb.sin(T)


def test_a_mode_that_replaces_a_function_changes_no_derivative_of_others():
    class Cosine(PullbackFunctionMode):
        def __pullback_function__(self, func, types, args=(), kwargs=None):
            return (pb.cos if func is pb.sin else pb.zeros_like if func is pb.cos else func)(*args, **(kwargs or {}))

    x = pb.tensor(0.3, requires_grad=True)
    with Cosine():
        (slope,) = pb.autograd.grad(pb.sin(x), x, create_graph=True)
        (curvature,) = pb.autograd.grad(slope, x)
        assert pb.func.grad(lambda x: pb.sin(x))(0.3) == -np.sin(0.3)
        assert pb.func.jvp(lambda x: pb.sin(x), (0.3,), (1.0,))[1] == -np.sin(0.3)
    assert (slope.item(), curvature.item()) == (-np.sin(0.3), -np.cos(0.3))


def test_a_mode_holds_in_its_thread_and_ends_with_an_error():
    mode, seen = Noting(), []

    def elsewhere():
        seen.append(pb.sin(T))

    with mode:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    with pytest.raises(TypeError), mode:
        pb.sin(object())
    pb.sin(T)
    assert len(seen) == 1
    assert mode.log == ["sin"]


def test_a_mode_without_its_method_says_what_to_write():
    with (
        pytest.raises(NotImplementedError, match=r"write __pullback_function__\(self, func, types"),
        PullbackFunctionMode(),
    ):
        pb.sin(T)


def test_none_switches_a_class_off():
    class Off(A):
        __pullback_function__ = None

    assert not is_tensor_like(Off())
    with pytest.raises(TypeError, match="got Off"):
        pb.sin(Off())


def test_functions_of_users_are_opened():
    def double(x):
        if has_pullback_function((x,)):
            return handle_pullback_function(double, (x,), x)
        return 2 * x

    assert double(a) == "A"
    assert A.log[-1][1] is double
    assert double(2) == 4
    with Noting(answer=False), pytest.raises(TypeError, match="no implementation found for"):
        double(T)


def test_every_operator_may_be_overridden_and_has_a_name():
    functions = get_overridable_functions()
    assert {pb.sin, pb.stack, pb.softmax} <= set(functions[pb])
    assert pb.linalg.inv in functions[pb.linalg]
    assert pb.Tensor.add_ in functions[pb.Tensor] or pb.Tensor.add_ in functions[pb]
    assert all(resolve_name(f).startswith("pullback.") for found in functions.values() for f in found)


def test_methods_of_numpys_form_ask_too():
    assert T.dot(a) == pb.dot(T, a) == "A"
    assert pb.func.grad(lambda x: 0.0 * x.sum() + (x.dot(a) == "A"))(np.ones(2)).tolist() == [0.0, 0.0]
    assert A.log[-1][1] is pb.dot
    with pytest.raises(ValueError, match=r"compress\b.*1-d array"):
        T.compress(a)
