"""pullback.ops.load: when operators enter the tables, and what a person sees of the generated code."""

import pickle
import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

import pullback as pb
from pullback.codegen.errors import DeclarationError
from pullback.core.array_type import NUMPY, TENSOR
from pullback.ops import extension
from pullback.ops.extension import NameTakenError

FILE = """
namespace: loading
kernels: loading_kernels
composites: loading_composites
helpers: loading_helpers
native_functions:
  - func: cubed(Tensor self) -> Tensor
    variants: function, method, inplace
    kernel: cubed
    alias: third_power
    numpy: spacing
  - func: ends(Tensor self) -> (Tensor low, Tensor high)
    kernel: ends
  - func: sixth(Tensor self) -> Tensor
    composite: sixth
  - func: power.int(Tensor self, int exponent) -> Tensor
    composite: int_power
    tags: no_numbers
  - func: power.name(Tensor self, str exponent) -> Tensor
    composite: named_power
derivatives:
  - name: cubed(Tensor self) -> Tensor
    self: grad * threefold(self)
    result: auto_element_wise
"""
MODULES = {
    "loading_kernels": """
        import numpy as np
        def cubed(x): return x**3
        def cubed_(x): return np.power(x, 3, out=x)
        def ends(x): return x.min(), x.max()
    """,
    "loading_composites": """
        def sixth(x, *, ops): return ops.loading.cubed(x) ** 2
        def int_power(x, exponent, *, ops): return x**exponent
        def named_power(x, exponent, *, ops): return x ** {"two": 2}[exponent]
    """,
    "loading_helpers": """
        def threefold(x, *, ops):
            if x.size > 3:
                raise ArithmeticError("more than three")
            return 3 * x**2
    """,
}


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    """The modules that the file names; afterwards, no operators of it are left."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    if (entered := extension._entered.pop("loading", None)) is not None:
        entered.withdraw()
    assert not hasattr(pb.Tensor, "cubed")


def leaf(*values):
    return pb.tensor(values, dtype=pb.float64, requires_grad=True)


def test_importing_pullback_brings_neither_the_generator_nor_yaml():
    program = (
        "import sys, pullback; print(sorted(n for n in sys.modules if n.startswith(('pullback.codegen', 'yaml'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="lode"):
        _ = pb.ops.lode


def test_functions_methods_aliases_overloads_and_rules_for_numpy():
    ops = pb.ops.load(FILE)
    x = leaf(1.0, 2.0)
    for result in (
        ops.cubed(x),
        ops.third_power(x),
        x.cubed(),
        x.third_power(),
        x.clone().cubed_(),
        ops.cubed_(x.clone()),
    ):
        np.testing.assert_array_equal(result.detach().numpy(), [1.0, 8.0])
        assert result.grad_fn.name() == "CubedBackward0"
    assert ops.sixth(x).grad_fn.name() == "PowBackward0"
    assert ops.power(x, 2).tolist() == ops.power(x, "two").tolist() == [1.0, 4.0]
    with pytest.raises(TypeError, match=r"power\(\): arguments 'input' must be Tensors"):
        ops.power(2.0, 2)
    assert dir(ops) == ["cubed", "cubed_", "ends", "power", "sixth", "third_power", "third_power_"]
    assert TENSOR.loading.sixth(x).requires_grad
    np.testing.assert_array_equal(NUMPY.loading.sixth(np.array([2.0])), [64.0])
    assert not hasattr(pb, "cubed")


def test_a_traceback_shows_the_generated_line():
    ops = pb.ops.load(FILE)
    with pytest.raises(ArithmeticError) as raised:
        ops.cubed(leaf(1, 2, 3, 4)).sum().backward()
    shown = "".join(traceback.format_exception(raised.value))
    assert 'File "<operators loading of <text>>"' in shown
    assert "return grad * threefold(self_, ops=ops)" in shown


def test_functions_can_be_pickled():
    ops = pb.ops.load(FILE)
    assert pickle.loads(pickle.dumps(ops.cubed)) is ops.cubed


def test_loading_again_replaces(tmp_path):
    path = tmp_path / "their.yaml"
    path.write_text(FILE.replace("grad * threefold(self)", "grad"))
    wrong, x = pb.ops.load(path), leaf(2.0)
    before = wrong.cubed(x)
    path.write_text(
        FILE.replace("inplace", "function, method").replace("function, method, function, method", "function, method")
    )
    right = pb.ops.load(path)
    right.cubed(x).backward()
    assert x.grad.item() == 12.0
    assert not hasattr(pb.Tensor, "cubed_")
    before.backward()
    assert x.grad.item() == 13.0, "a graph that was recorded keeps its nodes"


def test_another_file_may_not_take_the_namespace(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(FILE)
    second.write_text(FILE)
    ops = pb.ops.load(first)
    with pytest.raises(
        NameTakenError, match=r"second\.yaml: the namespace 'loading' is taken by the operators of first\.yaml"
    ):
        pb.ops.load(second)
    assert pb.Tensor.cubed is ops.cubed


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("namespace: loading", "namespace: kernels", "the namespace 'kernels' is taken by pullback"),
        ("alias: third_power", "alias: requires_grad_", r"the method 'Tensor\.requires_grad_' is taken"),
        ("numpy: spacing", "numpy: sin", r"the rule for 'numpy\.sin' is taken"),
    ],
)
def test_names_that_are_taken_change_nothing(old, new, match):
    kernels = dict(NUMPY.kernels), dict(TENSOR.kernels)
    with pytest.raises(NameTakenError, match=match):
        pb.ops.load(FILE.replace(old, new))
    assert (dict(NUMPY.kernels), dict(TENSOR.kernels)) == kernels
    assert not hasattr(TENSOR, "loading")


@pytest.mark.parametrize(
    ("old", "new", "line", "match"),
    [
        ("loading_kernels", "loading_kernelz", 7, "there is no module 'loading_kernelz'"),
        ("kernel: cubed", "kernel: qubed", 7, "'loading_kernels' has no function 'qubed'"),
        ("composite: sixth", "composite: seventh", 14, "'loading_composites' has no function 'seventh'"),
    ],
)
def test_what_a_module_does_not_have(old, new, line, match):
    with pytest.raises(DeclarationError, match=match) as raised:
        pb.ops.load(FILE.replace(old, new))
    assert raised.value.line == line


def test_a_module_that_cannot_be_imported_says_why_itself(tmp_path):
    (tmp_path / "loading_kernels.py").write_text("import absent_package\n")
    with pytest.raises(ModuleNotFoundError, match="absent_package"):
        pb.ops.load(FILE)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.yaml"):
        pb.ops.load(tmp_path / "absent.yaml")


@pytest.mark.parametrize("body", ["x", "x[:]", "np.asarray(x)", "x.T.T", "np.real(x)"])
def test_a_kernel_that_returns_its_argument_gives_memory_of_its_own(tmp_path, monkeypatch, body):
    (tmp_path / "returning_kernels.py").write_text(f"import numpy as np\ndef itself(x): return {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "returning_kernels", raising=False)
    derivative = "derivatives:\n  - name: itself(Tensor self) -> Tensor\n    self: grad\n    result: self_t\n"
    itself = pb.ops.load(
        "namespace: returning\nkernels: returning_kernels\nnative_functions:\n  - func: itself(Tensor self) -> Tensor\n"
        f"    kernel: itself\n{derivative}"
    ).itself
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    w, y = z * z, itself(z)
    y.mul_(10)
    assert z.tolist() == [1, 2]
    w.sum().backward()
    assert x.grad.tolist() == [2, 4]
    extension._entered.pop("returning").withdraw()
