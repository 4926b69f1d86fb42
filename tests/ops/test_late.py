"""Areas of operators are loaded when first used: whatever a program does first, and from whichever thread."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import pullback as pb
from pullback.core.array_face import Array, Scalar
from pullback.core.array_type import NUMPY, TENSOR
from pullback.core.late import LateAttribute, LateDict, ready, stand_in
from pullback.core.tensor import Tensor
from pullback.interop import array
from pullback.ops import late, tables
from tests.test_layers import imports, modules

ROOT = Path(__file__).parents[2]
HOMES = ("ops.generated", "arrays.numpy")  # with folders for areas


def fresh(code):
    """What a program prints that is run by a fresh Python."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import numpy as np\nimport pullback as pb\n{code}"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# What a program does first -> what it prints. Each begins where nothing is loaded.
FIRST = {
    "print(pb.sin(pb.tensor(0.0)).item())": "0.0",
    "print((pb.tensor([1.0, 2.0]) * 2).tolist())": "[2.0, 4.0]",
    "print((2 - pb.tensor([1.0, 2.0])).tolist())": "[1.0, 0.0]",
    "x = pb.tensor([1.0, 2.0]); x += 1; print(x.tolist())": "[2.0, 3.0]",
    "x = pb.tensor([1.0, 2.0]); x[0] = 5; print(x[0].item(), x[1:].tolist())": "5.0 [2.0]",
    "print((pb.tensor([[1.0]]) @ pb.tensor([[2.0]])).item())": "2.0",
    "print(pb.tensor([1.0]) == None, (pb.tensor([1.0]) == 1).item())": "False True",
    "print(list(pb.tensor([1.0, 2.0]))[1].item())": "2.0",
    "print(pb.tensor([1.0, 2.0]).view(2, 1).shape, pb.tensor([[1.0, 2.0]]).T.shape)": "(2, 1) (2, 1)",
    "print(np.add.reduce(pb.tensor([1.0, 2.0])).item())": "3.0",
    "print(np.concatenate([pb.tensor([1.0]), pb.tensor([2.0])]).tolist())": "[1.0, 2.0]",
    "print(np.asarray(pb.tensor([1.0, 2.0])).tolist(), float(pb.tensor(1.0)))": "[1.0, 2.0] 1.0",
    "print(pb.tensor([1.0, 3.0]).var(ddof=0).item(), pb.tensor([1.0, 3.0]).var().item())": "1.0 2.0",
    "print(pb.from_dlpack(np.arange(2.0)).tolist())": "[0.0, 1.0]",
    "print(pb.func.grad(lambda x: pb.sin(x))(np.float64(0.0)))": "1.0",
    "print(pb.func.grad(lambda x: (x * x).sum())(np.arange(2.0)))": "[0. 2.]",
    "print(pb.func.grad(lambda x: x.sum() + x.shape[0] + x.dtype.itemsize)(np.arange(2.0)))": "[1. 1.]",
    "print(pb.func.grad(lambda x: float.__add__(1.0, 1.0) * x[0])(np.arange(2.0)))": "[2. 0.]",
    "def f(x):\n    y = np.zeros_like(x)\n    y[0] = x[1]\n    return y.sum()\n"
    "print(pb.func.grad(f)(np.ones(2)))": "[0. 1.]",
    "def f(x):\n    x.shape = (2, 1)\n    return (x * x).sum()\nprint(pb.func.grad(f)(np.ones(2)))": "[2. 2.]",
    "print(pb.func.jvp(lambda x: np.exp(x), (np.float64(0.0),), (np.float64(1.0),))[1])": "1.0",
    "print(pb.func.grad(pb.func.grad(lambda x: x**3))(1.0))": "6.0",
    "x = pb.ones(2, requires_grad=True); (x * x).sum().backward(); print(x.grad.tolist())": "[2.0, 2.0]",
    "x = pb.ones(1, requires_grad=True); pb.nn.functional.relu(x).sum().backward(); print(x.grad)": "tensor([1.])",
    "print(pb.nn.functional.tanh(pb.tensor(0.0)).item(), pb.tanh(pb.tensor(0.0)).item())": "0.0 0.0",
    "print(pb.linalg.solve(pb.eye(2), pb.ones(2)).tolist())": "[1.0, 1.0]",
    "from pullback import matmul, linalg, special\nprint(special.erf(pb.tensor(0.0)).item())": "0.0",
    "import inspect\nprint(inspect.signature(pb.sum), inspect.signature(pb.Tensor.exp))": (
        "(input, dim=None, keepdim=False, *, dtype=None) (input, *, out=None)"
    ),
    "print(pb.Array.std.__doc__, pb.Tensor.sum.__doc__.splitlines()[0])": (
        "As `numpy.ndarray.std`, recorded. Sum over `dim` (default all)."
    ),
    "from pullback.dispatch.operator import BY_KERNEL, OPERATORS\n"
    "print('sin' in BY_KERNEL, 'add.alpha' in OPERATORS, 'nothing' in OPERATORS, list(BY_KERNEL['sum']))": (
        "True True False ['sum']"
    ),
    "from pullback.extend import tags_of as t\nprint('pointwise' in t('cos'), 'combines' in t('sum'))": "True True",
    "import pickle, copy\nx = pb.ones(1)\nprint(copy.deepcopy(x), pickle.loads(pickle.dumps(pb.sin)) is pb.sin)": (
        "tensor([1.]) True"
    ),
    "with pb.autograd.forward_ad.dual_level():\n"
    "    d = pb.autograd.forward_ad.make_dual(pb.tensor(0.0), pb.tensor(1.0))\n"
    "    print(pb.autograd.forward_ad.unpack_dual(pb.sin(d)).tangent.item())": "1.0",
    "class F(pb.autograd.Function):\n"
    "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * x\n"
    "    def backward(ctx, grad):\n        return 2 * grad * ctx.saved_tensors[0]\n"
    "x = pb.ones(1, requires_grad=True); F.apply(x).backward(); print(x.grad)": "tensor([2.])",
    "x = pb.ones(1, requires_grad=True); y = x.exp(); print(y.grad_fn._saved_result.item() == y.item())": "True",
    "x = pb.ones(1, requires_grad=True); y = x * 3; print(y.grad_fn(pb.ones(1))[0].item())": "3.0",
    "x = pb.ones(1, requires_grad=True)\n"
    "with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2):\n    y = x * x\n"
    "y.backward(); print(x.grad.item())": "4.0",
    "from pullback.utils.checkpoint import create_selective_checkpoint_contexts as c\nc(['add.alpha'])\nprint(1)": "1",
}


@pytest.mark.parametrize("code", FIRST)
def test_whatever_is_done_first(code):
    assert fresh(code) == FIRST[code]


def test_what_is_wrong_is_said_at_the_first_call_as_at_the_second():
    code = """
def said(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
for call in (
    lambda: pb.sum(pb.ones(2), dim=3),
    lambda: pb.ones(2).reshape(3),
    lambda: pb.ones(2) @ pb.ones(3),
    lambda: np.cumsum(pb.ones(2), axis=2),
    lambda: pb.ones(2)[3],
    lambda: pb.func.grad(lambda x: x.reshape(3).sum())(np.ones(2)),
):
    first, second = said(call), said(call)
    assert first is not None and first == second, (first, second)
print("alike")
"""
    assert fresh(code) == "alike"


def test_many_threads_may_be_the_first():
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
n, found, errors = 16, [], []
barrier = threading.Barrier(n)
def work(i):
    try:
        barrier.wait()
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        y = (x[i % 2] * x).sum() if i % 4 < 2 else np.sum(x * x.exp()) if i % 4 == 2 else pb.linalg.norm(x)
        y.backward()
        found.append((i % 4, x.grad.numpy().round(6).tolist()))
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
[t.start() for t in threads], [t.join(60) for t in threads]
print(errors, sorted({str(f) for f in found}), len(found))
"""
    assert fresh(code) == (
        "[] ['(0, [4.0, 1.0])', '(1, [2.0, 5.0])', '(2, [5.436564, 22.167168])', '(3, [0.447214, 0.894427])'] 16"
    )


def test_loading_that_was_interrupted_is_done_again():
    code = """
from pullback.ops import late, tables
enter = tables._enter
count = 0
def interrupted(*args):
    global count
    enter(*args)
    count += 1
    if count == 40:
        raise KeyboardInterrupt
tables._enter = interrupted
x = pb.tensor([1.0, 2.0], requires_grad=True)
try:
    pb.linalg
except KeyboardInterrupt:
    print("interrupted")
tables._enter = enter
pb.linalg.solve(x[:, None] * pb.eye(2), pb.ones(2)).sum().backward()
print(x.grad.tolist(), all(len(set(map(id, found))) == len(found) for found in tables.OPERATORS.values()))
"""
    assert fresh(code) == "interrupted\n[-1.0, -0.25] True"


def test_no_area_waits_for_another_while_it_is_imported():
    """Else two threads could wait for each other: one for the lock of loading, one for that of a module's import."""
    known = modules()
    reached, ahead = set(), [f"pullback.{home}.{area}" for area in late.AREAS for home in HOMES]
    while ahead:
        module = ahead.pop()
        if module not in reached and module != "pullback.ops":  # which is imported before
            reached.add(module)
            ahead += imports(module, known) if module in known else ()
    assert "pullback.ops.formulas.pointwise.elementary" in reached
    assert "pullback.ops.late" not in reached


def test_what_is_announced_is_what_comes():
    late.load_all()
    for table in (TENSOR, NUMPY):
        for names in (vars(table), table.kernels):
            assert [name for name, function in names.items() if ready(function) is not function] == []
    for names in (tables.NUMPY_RULES, *tables.PUBLIC.values()):
        assert [name for name, function in names.items() if ready(function) is not function] == []
    assert {name for names in late.AREAS.values() for name in names["methods"]} == set(tables.METHODS)
    for home, functions in tables.PUBLIC.items():
        assert set(functions) == {n for names in late.AREAS.values() for n in names["public"].get(home, ())}


@pytest.mark.parametrize("kind", ["operators", "kernels", "methods", "numpy"])
def test_no_two_areas_announce_one_name(kind):
    names = [name for areas in late.AREAS.values() for name in areas[kind]]
    assert len(names) == len(set(names)) > 100


@pytest.mark.parametrize("kind", [Array, Scalar])
def test_attributes_of_arrays_are_all_announced(kind):
    """Without its name there, an attribute would be Tensor's, with another meaning."""
    code = f"""
from pullback.core.array_face import {kind.__name__} as kind
print(*sorted(vars(kind)))
"""
    own = {"__class__", "__doc__", "__firstlineno__", "__module__", "__slots__", "__static_attributes__"}
    own.add("__pandas_priority__")  # a number that pandas asks the class for, set where methods are announced
    assert sorted(set(fresh(code).split()) - own) == sorted(array.attributes_of(kind))


def test_attributes_of_tensors_become_what_they_are():
    for kind in (Tensor, Array, Scalar):
        for name, found in list(vars(kind).items()):
            if isinstance(found, LateAttribute):
                made = found.resolve()
                assert vars(kind)[name] is made
                assert not isinstance(made, LateAttribute)


def test_a_late_attribute_is_made_once_and_stays():
    made = []

    def make(name):
        made.append(name)
        return lambda self: (name, self)

    class Thing:
        pass

    class Special(Thing):
        def value(self):
            return super().value()

    late_attribute = LateAttribute(Thing, "value", make, "v")
    special = Special()
    assert special.value() == ("v", special)  # by super(), which must not come back to this class
    assert not isinstance(vars(Thing)["value"], LateAttribute)
    assert late_attribute.__get__(special)() == ("v", special)  # of a thread that had found it before
    assert made == ["v"]


def test_a_late_property_is_written_by_its_setter():
    class Thing:
        def __init__(self):
            self.written = None

    LateAttribute(Thing, "value", lambda: property(None, lambda self, value: setattr(self, "written", value)))
    LateAttribute(Thing, "plain", lambda: len)
    thing = Thing()
    thing.value = 3
    assert thing.written == 3
    thing.plain = 4  # as any function of a class, it may be hidden in an instance
    assert vars(thing) == {"written": 3, "plain": 4}


def test_a_stand_in_loads_once_and_gives_way():
    functions, loads = {}, []

    def double(x):
        return 2 * x

    def load():
        loads.append(1)
        functions["double"] = double

    stand_in(functions, ["double"], load)
    kept = functions["double"]
    assert isinstance(kept, partial)
    assert kept(4) == functions["double"](4) == 8
    assert loads == [1]
    assert functions["double"] is double is ready(double) is ready(kept)
    assert ready(len) is len


def test_a_late_dict_loads_what_it_is_asked_for():
    found, asked = LateDict(), []

    def load(key):
        asked.append(key)
        if key == "there":
            found["there"] = 1

    found.load = load
    assert list(found) == []
    assert "there" in found
    assert "absent" not in found
    assert found.get("absent", 2) == 2
    assert found["there"] == found.get("there") == 1
    assert asked == ["there", "absent", "absent"]
    with pytest.raises(KeyError, match="absent"):
        found["absent"]


def test_names_are_listed():
    assert "sum" in dir(pb.Tensor)
    assert "sum" in dir(pb)
    assert "Function" in dir(pb.autograd)
