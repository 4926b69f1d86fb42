"""Array types: one description a type, and nobody who asks what an array is in another way."""

import ast
import functools
import re
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad
from pullback.core.array_type import (
    ARRAY_TYPES,
    NUMPY,
    REGISTERED,
    ArrayType,
    array_type,
    memory_of,
    parts_of,
    read,
    register_array_type,
    type_of,
)
from pullback.core.errors import ReadError, UnsupportedError
from pullback.core.tensor import NestedTensor, Tensor, wrap
from pullback.dispatch.mixed import Arithmetic, MixedTable
from tests.arrays.refusing import Refusing, shown

PACKAGE = Path(pb.__file__).parent
# What only an array of some kind has: who asks whether it is there asks what kind of array this is.
TELLING = {
    "assign", "around", "base", "carries_derivative", "components", "copy", "detached", "flags", "lasting",
    "lift_constant", "primal", "strides", "tangent", "tangents", "values",
}  # fmt: skip
# Where ndarrays are told by their type: how often, and why.
FOR_SPEED = "said here for ndarrays, which all fast paths do; the others are asked by array_type"
OF_USERS = "what a user may give"
COUNTED = {
    "autograd/memory_budget.py": (3, "ndarrays alone go to disk, by the memory that they own"),
    "distributed/derivatives.py": (1, OF_USERS),
    "distributed/partitions.py": (3, OF_USERS),
    "distributed/terms.py": (2, OF_USERS),
    "func/loops/rounds.py": (3, "machine code takes ndarrays"),
    "autograd/engine/accumulate.py": (5, FOR_SPEED),
    "autograd/api.py": (3, FOR_SPEED),
    "autograd/basic_nodes.py": (1, OF_USERS),
    "autograd/rows/batched_grads.py": (1, OF_USERS),
    "autograd/rows/batched_pass.py": (2, "among ndarrays alone batched arrays are bare"),
    "autograd/engine/execution.py": (1, FOR_SPEED),
    "autograd/engine/fast_loop.py": (2, FOR_SPEED),
    "autograd/forward_ad.py": (1, OF_USERS),
    "autograd/function/node.py": (3, OF_USERS),
    "autograd/function/arrays.py": (6, OF_USERS),
    "autograd/function/jvp.py": (2, "duals of ndarrays share memory, which is looked at"),
    "autograd/function/reads.py": (8, OF_USERS),
    "autograd/engine/node_hooks.py": (1, FOR_SPEED),
    "autograd/engine/roots.py": (4, OF_USERS),
    "autograd/engine/plain_loop.py": (1, FOR_SPEED),
    "autograd/engine/structural_zeros.py": (2, FOR_SPEED),
    "dispatch/call_errors.py": (1, OF_USERS),
    "dispatch/element_writes.py": (2, FOR_SPEED),
    "dispatch/nested_calls.py": (1, FOR_SPEED),
    "dispatch/outer_levels.py": (3, "an ndarray inside may be wrapped once more, and nothing else"),
    "dispatch/pipeline.py": (2, FOR_SPEED),
    "dispatch/steps.py": (3, FOR_SPEED),
    "dispatch/targets.py": (2, FOR_SPEED),
    "array_api/functions.py": (1, OF_USERS),
    "compiler/agreement.py": (1, OF_USERS),
    "compiler/backward.py": (1, "a plan runs on ndarrays alone"),
    "compiler/compiled.py": (1, OF_USERS),
    "compiler/drawing.py": (2, "what is drawn for by an ndarray is not recorded"),
    "compiler/entry.py": (2, OF_USERS),
    "compiler/graph_walks.py": (1, "a program runs on ndarrays alone"),
    "compiler/graphs.py": (3, "a program runs on ndarrays alone"),
    "compiler/native/entry.py": (2, "machine code runs on ndarrays alone"),
    "compiler/node.py": (3, OF_USERS),
    "compiler/native/nodes.py": (1, "NumPy is asked what a view is"),
    "compiler/native/rules/windows.py": (1, "NumPy is asked what a view is"),
    "compiler/numbers.py": (2, OF_USERS),
    "compiler/program.py": (3, OF_USERS),
    "compiler/reach/objects.py": (3, OF_USERS),
    "compiler/signature.py": (7, OF_USERS),
    "compiler/to_c/recording.py": (3, OF_USERS),
    "compiler/tracing.py": (4, OF_USERS),
    "exchange/of_jax.py": (2, OF_USERS),
    "exchange/of_torch.py": (1, OF_USERS),
    "func/implicit/trajectories.py": (1, OF_USERS),
    "func/forward.py": (2, FOR_SPEED),
    "func/boundary.py": (12, OF_USERS),
    "func/loops/states.py": (2, OF_USERS),
    "func/gradient.py": (1, FOR_SPEED),
    "func/implicit/linear_maps.py": (1, OF_USERS),
    "func/held_arrays.py": (1, OF_USERS),
    "func/jacobians.py": (2, "a number in, a number out"),
    "func/linearization.py": (3, OF_USERS),
    "func/matrix_function.py": (1, OF_USERS),
    "func/reverse.py": (1, OF_USERS),
    "func/rules/calls.py": (6, OF_USERS),
    "func/rules/nodes.py": (9, OF_USERS),
    "autograd/function/vmap.py": (1, OF_USERS),
    "graph/likeness.py": (1, "the contents of arrays tell what functions do"),
    "graph/captured.py": (5, OF_USERS),
    "graph/held_copies.py": (1, OF_USERS),
    "graph/held_objects.py": (3, OF_USERS),
    "graph/held_records.py": (4, OF_USERS),
    "graph/read_later.py": (1, OF_USERS),
    "graph/journal.py": (4, FOR_SPEED),
    "graph/node.py": (1, "an index that is compared"),
    "graph/kept_values.py": (2, "a result that is plain holds nothing of another call"),
    "graph/saved.py": (3, FOR_SPEED),
    "graph/strides.py": (1, "what the memory of an ndarray is a part of"),
    "graph/snapshot.py": (3, FOR_SPEED),
    "graph/view.py": (2, FOR_SPEED),
    "interop/adapters/shape.py": (1, OF_USERS),
    "interop/adopt/creation.py": (3, "what NumPy has just made, or was given"),
    "interop/adopt/dispatchers.py": (1, "arrays of objects, which may hold tensors"),
    "interop/adopt/scipy/calls.py": (1, FOR_SPEED),
    "interop/array/functions.py": (1, FOR_SPEED),
    "interop/array/indexing.py": (2, FOR_SPEED),
    "interop/array/leaving.py": (1, OF_USERS),
    "interop/array/operators.py": (2, FOR_SPEED),
    "interop/conversion.py": (1, OF_USERS),
    "interop/functions.py": (1, OF_USERS),
    "interop/numpy_errors.py": (1, OF_USERS),
    "interop/operands.py": (4, OF_USERS),
    "interop/rebinding.py": (1, OF_USERS),
    "interop/results.py": (1, OF_USERS),
    "interop/ufuncs.py": (2, OF_USERS),
    "library/annotations.py": (1, OF_USERS),
    "library/checking.py": (3, OF_USERS),
    "library/custom_op.py": (2, OF_USERS),
    "library/kernel.py": (1, OF_USERS),
    "ops/declarations.py": (3, "what a third party's kernel on ndarrays gives"),
    "ops/formulas/plain_values.py": (1, "what is at hand may be looked at"),
    "ops/methods.py": (1, FOR_SPEED),
    "ops/reinterpreting.py": (1, "bytes of memory"),
    "ops/subscripts.py": (1, FOR_SPEED),
    "optim/optimizer.py": (6, "steps write into the memory of parameters"),
    "optim/rules.py": (1, FOR_SPEED),
    "optimize/bounds.py": (1, OF_USERS),
    "optimize/curve.py": (1, OF_USERS),
    "optimize/parameters.py": (2, OF_USERS),
    "scipy/rules/integrate/initial_values.py": (2, OF_USERS),
    "scipy/rules/sparse/sparse_array.py": (1, OF_USERS),
    "viz/held.py": (1, "what owns the memory of an ndarray"),
}


def probes(tree):
    """(names that hasattr and getattr with a default ask for, how often something is compared with ndarray)."""
    asked, counted = set(), 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            with_default = node.func.id == "getattr" and len(node.args) == 3
            if (node.func.id == "hasattr" or with_default) and isinstance(node.args[1], ast.Constant):
                asked.add(node.args[1].value)
            if node.func.id in ("isinstance", "issubclass"):
                counted += "ndarray" in ast.unparse(node.args[1])
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            counted += ast.unparse(node.comparators[0]) in ("ndarray", "np.ndarray")
    return asked, counted


_ABOVE = ("testing/", "demo/", "checkup/", "lab/")  # which users' plain values come to


@functools.cache
def modules():
    """(name, tree) of each module that meets arrays of every type."""
    names = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    apart = ("core/", "explain/", "arrays/", "ops/generated/", "codegen/", *_ABOVE)
    return [(name, ast.parse(path.read_text("utf-8"))) for name, path in names.items() if not name.startswith(apart)]


def test_nobody_asks_by_attributes_what_an_array_is():
    found = {name: asked for name, tree in modules() if (asked := probes(tree)[0] & TELLING)}
    assert not found, "ask array_type(x)"


def test_nobody_takes_an_array_for_an_ndarray():
    """An Array answers as an ndarray to isinstance, a Scalar as a number: Tensors are to be asked for first."""
    deceived = {"ndarray", "np.ndarray", "np.generic", "float", "complex", "np.floating", "np.number", "Number"}
    found = []
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
                asked = {ast.unparse(kind) for kind in kinds}
                if asked & deceived and "Tensor" not in asked:
                    found.append(f"{name}:{node.lineno}")
    assert not found, "ask issubclass(type(x), ...)"


def test_types_are_compared_where_it_is_said_and_why():
    found = {name: count for name, tree in modules() if (count := probes(tree)[1])}
    new = {name: count for name, count in found.items() if count > COUNTED.get(name, (0, ""))[0]}
    assert not new, "ask array_type(x), or say here why the type is compared"
    assert found == {name: count for name, (count, _) in COUNTED.items()}, "fewer by now: lower the number here"


def test_every_class_of_tensors_is_known():
    for kind in (Tensor, *Tensor.__subclasses__(), NestedTensor):
        assert kind in ARRAY_TYPES


def test_what_is_no_array_has_no_type():
    with pytest.raises(TypeError, match=r"list is not a type of array.*register_array_type"):
        array_type([1.0])


@pytest.mark.parametrize("kind", [np.ndarray, Tensor, int, "Bare"])
def test_what_is_known_already_cannot_be_registered(kind):
    before = dict(ARRAY_TYPES)
    with pytest.raises(TypeError, match="is not a class of arrays of your own"):
        register_array_type(kind, array_type(Refusing(0.0)))
    with pytest.raises(TypeError, match="an instance of ArrayType must describe it, got a NoneType"):
        register_array_type(Bare, None)
    assert before == ARRAY_TYPES


def test_of_several_types_the_highest_computes():
    refusing, tensor = Refusing(np.ones(2)), pb.ones(2)
    assert type_of([np.ones(2), 1.0, "text", None]) is array_type(np.ones(2))
    assert type_of([np.ones(2), refusing]) is array_type(refusing)
    assert type_of([refusing, tensor]) is array_type(tensor)
    with pb.autograd.forward_ad.dual_level():
        dual = pb.autograd.forward_ad.make_dual(tensor, tensor)._array
        assert type_of([tensor, dual, refusing]) is array_type(dual)
        assert [type(part) for part in parts_of(wrap(dual))] == [np.ndarray, np.ndarray]
        assert memory_of(wrap(dual)) is tensor._array


def test_a_mere_value_has_no_numbers_no_memory_and_is_replaced():
    x, kind = Refusing(np.ones(2)), ArrayType(array_type(Refusing(0.0)).table)
    y = Refusing(np.zeros(2))
    assert kind.numbers(x) is None
    assert kind.memory(x) is None
    assert kind.assign("add_", x, y) is y
    with pytest.raises(ReadError, match=r"the test looks at the numbers of a Refusing \(shape \(2,\)\)"):
        kind.read(x, "the test")
    t = wrap(x)
    for ask in (t.stride, t.data_ptr, t.storage_offset):
        with pytest.raises(UnsupportedError, match="no place in memory"):
            ask()
    assert t.is_contiguous()


def test_an_array_of_another_type_beside_a_tensor_is_a_constant():
    x = wrap(Refusing(np.array([1.0, 2.0]))).requires_grad_()
    (x * Refusing(np.array([3.0, 4.0]))).sum().backward()
    assert x.grad._array.shape == (2,)
    with pytest.raises(ReadError):
        read(x.grad, "the test")


def test_transforms_take_arrays_of_any_type():
    x = Refusing(np.array([1.0, 2.0]))
    assert type(pb.func.grad(lambda t: (t * t).sum())(x)) is Refusing
    assert type(pb.func.grad(lambda t: (pb.func.grad(lambda s: (s * s * s).sum())(t)).sum())(x)) is Refusing
    value, tangent = pb.func.jvp(lambda t: t * t, (x,), (x,))
    assert (type(value), type(tangent)) == (Refusing, Refusing)
    assert type(pb.asarray(x)._array) is type(pb.tensor(x, requires_grad=True)._array) is Refusing


def into_a_view(x):
    y = x * 2
    y[1:].mul_(x[1:])
    return (y * y).sum()


def into_a_row(x):
    y = x * 2
    v = y[0, ...]
    v.exp_()
    return (y * v).sum()


def into_the_base_of_a_view(x):
    y = x * 2
    v = y[1:]
    y.mul_(x)
    return (v * v).sum() + y.sum()


def a_constant_into_a_view(x):
    y = x * x
    v = y[1:]
    v.mul_(3)
    y[0, ...].zero_()
    return (y * x).sum() + v.sum()


def by_index(x):
    y = x * x
    y[0] = x[1] * 3
    y[1:].copy_(x[:2] * 2)
    return (y * y).sum()


def into_two_views(x):
    y = x * x
    v, w = y[:2], y[1:].flip(0)
    v.add_(x[1:])
    y[1:].mul_(x[1:])
    return (v * v).sum() + (w * y[1:]).sum()


VALUE, DIRECTION = np.array([1.0, 2.0, 0.5]), np.array([1.0, -3.0, 10.0])


def tangent_of(f, x, v):
    return pb.func.jvp(f, (x,), (v,))[1]


def by_make_dual(f, x, v):
    with pb.autograd.forward_ad.dual_level():
        dual = pb.autograd.forward_ad.make_dual(pb.asarray(x), pb.asarray(v))
        return pb.autograd.forward_ad.unpack_dual(f(dual)).tangent


FORWARD = {
    "jvp": tangent_of,
    "grad of jvp": lambda f, x, v: pb.func.grad(lambda x: tangent_of(f, x, v))(x),
    "jvp of jvp": lambda f, x, v: tangent_of(lambda x: tangent_of(f, x, v), x, v),
    "jvp of grad": lambda f, x, v: tangent_of(pb.func.grad(f), x, v),
    "make_dual": by_make_dual,
}
PROGRAMS = (into_a_view, into_a_row, into_the_base_of_a_view, a_constant_into_a_view, by_index, into_two_views)


@pytest.mark.parametrize("way", FORWARD)
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "in a Tensor"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_tangents_follow_writes_into_values_that_share_no_memory(program, wrapped, way):
    given = (pb.tensor(VALUE), pb.tensor(DIRECTION)) if wrapped else (VALUE, DIRECTION)
    expected = np.asarray(FORWARD[way](program, *given))
    assert np.abs(expected).max() > 0, "a tangent that is lost must show"
    x, v = Refusing(VALUE), Refusing(DIRECTION)
    found = FORWARD[way](program, pb.tensor(x), pb.tensor(v)) if wrapped else FORWARD[way](program, x, v)
    assert np.allclose(shown(found), expected, rtol=1e-12, atol=0)


def test_a_tensor_around_an_array_of_ones_own_takes_a_tangent_and_gives_it_back():
    fw = pb.autograd.forward_ad
    x, v = (pb.tensor(Refusing(a), requires_grad=True) for a in (VALUE, DIRECTION))
    with fw.dual_level():
        d = fw.make_dual(x, v)
        assert fw.unpack_dual(d).tangent is v
        y = fw.unpack_dual(d.sin() * 3)
        assert np.allclose(shown(y.primal), 3 * np.sin(VALUE))
        assert np.allclose(shown(y.tangent), 3 * np.cos(VALUE) * DIRECTION)
        (y.tangent * y.primal).sum().backward()
    assert np.allclose(shown(x.grad), 9 * np.cos(2 * VALUE) * DIRECTION)
    assert np.allclose(shown(v.grad), 9 * np.cos(VALUE) * np.sin(VALUE))
    with fw.dual_level():  # beside an ndarray
        for p, t in ((pb.tensor(VALUE), v.detach()), (x.detach(), pb.tensor(DIRECTION))):
            y = fw.unpack_dual(fw.make_dual(p, t).sin())
            assert np.allclose(shown(y.tangent), np.cos(VALUE) * DIRECTION)
        view = (z := x.detach() * 1)[1:]
        with pytest.raises(pb.extend.InplaceError, match="around a Refusing, which has views but no strides"):
            z.mul_(fw.make_dual(x.detach(), v.detach()))
        assert view.shape == (2,)


def test_a_tangent_of_zeros_is_of_the_type_of_the_value():
    x = Refusing(VALUE)
    _, tangent = pb.func.jvp(pb.func.grad(lambda t: (t * 2).sum()), (x,), (x,))
    assert np.array_equal(shown(tangent), np.zeros(3))
    assert tangent.dtype == VALUE.dtype


@pytest.mark.parametrize(
    "call",
    [
        lambda t, c: t * c,
        lambda t, c: c * t,
        pb.maximum,
        lambda t, c: pb.where(t > 0, t, c),
        lambda t, c: pb.lerp(t, c, 0.5),
        lambda t, c: t @ c,
        lambda t, c: pb.cat([t, c]),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_array_of_ones_own_computes_beside_a_tensor_around_an_ndarray(call, requires_grad):
    t = pb.tensor(VALUE, requires_grad=requires_grad)
    found = call(t, Refusing(DIRECTION))
    assert type(found._array) is Refusing
    assert np.allclose(shown(found), call(t, pb.tensor(DIRECTION)).numpy(force=True))
    if requires_grad:
        (expected,) = pb.autograd.grad(call(t, pb.tensor(DIRECTION)).sum(), t)
        assert np.allclose(shown(pb.autograd.grad(found.sum(), t)[0]), expected.numpy())


class Bare(Arithmetic):
    """An array type with two kernels."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype


@pytest.fixture
def bare():
    def kernel(name):
        return lambda *args: Bare(NUMPY.kernels[name](*(x.array if type(x) is Bare else x for x in args)))

    register_array_type(Bare, ArrayType(MixedTable("bare", {name: kernel(name) for name in ("mul", "add")})))
    yield Bare(np.ones(3))
    del ARRAY_TYPES[Bare], REGISTERED[Bare]


@pytest.mark.parametrize(
    ("called", "kernel", "call"),
    [
        (r"sin\(input", "sin", lambda x: pb.tensor(x).sin()),
        (r"sin\(", "sin", lambda x: np.sin(pb.tensor(x))),
        (r"sin_\(", "sin", lambda x: pb.tensor(x).sin_()),
        (r"__getitem__\(", "slice_view", lambda x: pb.tensor(x)[0]),
        (r"sum\(", "sum", lambda x: pb.tensor(x).sum()),
        ("", "sub", lambda x: x - 1),
        (r"func.jvp\(", "cos|sin", lambda x: pb.func.jvp(pb.sin, (x,), (x,))),
    ],
)
def test_a_kernel_that_is_missing_is_named_with_operator_and_type(bare, called, kernel, call):
    text = rf"^{called}.*the array type Bare has no kernel '({kernel})': .* kernels\['\1'\]"
    with pytest.raises(UnsupportedError, match=text):
        call(bare)


def test_the_docs_name_what_an_array_type_has():
    text = (PACKAGE.parent / "docs/design/array_types.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    members = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    described = array_type(Refusing(0.0))
    assert members, "the table is gone"
    assert not [name for name in members if not hasattr(described, name)]
    own = {name for name in vars(ArrayType) if not name.startswith("_")} | {"table", "kernels"}
    assert members == own - {"call"}  # of dual arrays alone


def test_a_constant_is_lifted_where_it_would_stand_beside_an_array(monkeypatch):
    """A cotangent with which a backward starts, and the zeros for undefined ones."""
    lifted = []

    def lift_constant(self, x, constant):
        lifted.append(constant.tolist())
        return Refusing(constant)

    monkeypatch.setattr(type(array_type(Refusing(0.0))), "lift_constant", lift_constant)
    a, b, _ = pb.tensor(Refusing(VALUE), requires_grad=True).unbind()
    (a * b).backward(pb.tensor(2.0))
    assert lifted == [2.0, 0.0]


class InMemory(Bare):
    """An array whose memory views share: it is written into, and cannot hold the derivative of an outer transform."""


class InMemoryType(ArrayType):
    def memory(self, x):
        return x.array

    def assign(self, name, x, value):
        x.array[...] = value.array
        return x


def test_memory_of_ones_own_refuses_the_derivative_of_an_outer_transform():
    class Kernels(dict):
        def __missing__(self, name):
            def kernel(*args):
                return InMemory(NUMPY.kernels[name](*(x.array if type(x) is InMemory else x for x in args)))

            return kernel

    register_array_type(InMemory, InMemoryType(MixedTable("in memory", Kernels())))
    try:
        x, v = InMemory(VALUE), InMemory(DIRECTION)

        def written(t):
            y = t * 2
            y[1:].mul_(t[1:])
            return y.sum()

        assert np.isclose(tangent_of(written, x, v).array, tangent_of(written, VALUE, DIRECTION))
        with pytest.raises(pb.extend.InplaceError, match="out-of-place form"):
            pb.func.grad(lambda t: tangent_of(written, t, v))(x)
    finally:
        del ARRAY_TYPES[InMemory], REGISTERED[InMemory]
