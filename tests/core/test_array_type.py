"""Array types: one description a type, and nobody who asks what an array is in another way."""

import ast
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad
from pullback.core.array_type import ARRAY_TYPES, ArrayType, array_type, memory_of, parts_of, read, type_of
from pullback.core.errors import ReadError, UnsupportedError
from pullback.core.tensor import NestedTensor, Tensor, wrap
from tests.arrays.refusing import Refusing

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
    "autograd/accumulate.py": (6, FOR_SPEED),
    "autograd/api.py": (3, FOR_SPEED),
    "autograd/batched_grads.py": (1, OF_USERS),
    "autograd/engine.py": (2, FOR_SPEED),
    "autograd/function.py": (2, OF_USERS),
    "autograd/function_arrays.py": (3, OF_USERS),
    "autograd/function_jvp.py": (2, "duals of ndarrays share memory, which is looked at"),
    "autograd/node_hooks.py": (1, FOR_SPEED),
    "autograd/roots.py": (3, OF_USERS),
    "autograd/structural_zeros.py": (4, FOR_SPEED),
    "dispatch/call_errors.py": (1, OF_USERS),
    "dispatch/outer_levels.py": (2, "an ndarray inside may be wrapped once more, and nothing else"),
    "dispatch/pipeline.py": (2, FOR_SPEED),
    "dispatch/steps.py": (3, FOR_SPEED),
    "dispatch/targets.py": (1, FOR_SPEED),
    "func/forward.py": (2, OF_USERS),
    "func/gradient.py": (6, FOR_SPEED),
    "func/matrix_function.py": (1, OF_USERS),
    "graph/saved.py": (1, FOR_SPEED),
    "graph/snapshot.py": (1, FOR_SPEED),
    "graph/view.py": (2, FOR_SPEED),
    "interop/adapters/creation.py": (1, OF_USERS),
    "interop/conversion.py": (1, OF_USERS),
    "interop/operands.py": (4, OF_USERS),
    "interop/ufuncs.py": (1, OF_USERS),
    "ops/formulas/plain_values.py": (1, "what is at hand may be looked at"),
    "ops/reinterpreting.py": (1, "bytes of memory"),
}


def probes(tree):
    """(names that hasattr and getattr with a default ask for, how often something is compared with ndarray)."""
    asked, counted = set(), 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            with_default = node.func.id == "getattr" and len(node.args) == 3
            if (node.func.id == "hasattr" or with_default) and isinstance(node.args[1], ast.Constant):
                asked.add(node.args[1].value)
            if node.func.id == "isinstance":
                counted += "ndarray" in ast.unparse(node.args[1])
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            counted += ast.unparse(node.comparators[0]) in ("ndarray", "np.ndarray")
    return asked, counted


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(("core/", "arrays/", "ops/generated/", "codegen/", "testing/", "demo/")):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_nobody_asks_by_attributes_what_an_array_is():
    found = {name: asked for name, tree in modules() if (asked := probes(tree)[0] & TELLING)}
    assert not found, "ask array_type(x)"


def test_types_are_compared_where_it_is_said_and_why():
    found = {name: count for name, tree in modules() if (count := probes(tree)[1])}
    new = {name: count for name, count in found.items() if count > COUNTED.get(name, (0, ""))[0]}
    assert not new, "ask array_type(x), or say here why the type is compared"
    assert found == {name: count for name, (count, _) in COUNTED.items()}, "fewer by now: lower the number here"


def test_every_class_of_tensors_is_known():
    for kind in (Tensor, *Tensor.__subclasses__(), NestedTensor):
        assert kind in ARRAY_TYPES


def test_what_is_no_array_has_no_type():
    with pytest.raises(TypeError, match=r"list is no type of array.*register_array_type"):
        array_type([1.0])


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
