"""The constants that formulas name: each the double nearest to its definition, and where they stand in the code."""

import math
import re
from pathlib import Path

import mpmath
import pytest

import pullback as pb
from pullback.codegen.errors import DeclarationError
from pullback.codegen.whitelist import CONSTANTS
from pullback.ops import constants

OPS = Path(constants.__file__).parent


@pytest.mark.parametrize("name", sorted(CONSTANTS.keys() - {"inf", "nan"}))
def test_a_constant_is_the_double_nearest_to_its_definition(name):
    with mpmath.workdps(50):
        names = {"pi": +mpmath.pi, "log": mpmath.log, "sqrt": mpmath.sqrt, "exp": mpmath.exp, "mpf": mpmath.mpf}
        definition = re.sub(r"(\d+)", r"mpf(\1)", CONSTANTS[name])
        exact = +mpmath.euler if definition == "Euler's constant" else eval(definition, names)
        given = getattr(constants, name)
        neighbours = [mpmath.mpf(math.nextafter(given, towards)) for towards in (-math.inf, math.inf)]
        assert all(abs(given - exact) < abs(other - exact) for other in neighbours)


def test_the_table_has_every_constant_of_the_module():
    assert CONSTANTS.keys() == {name for name in vars(constants) if not name.startswith("__")}
    assert math.isinf(constants.inf)
    assert math.isnan(constants.nan)


def test_no_digits_stand_where_a_constant_would():
    """Nothing in the formulas and their helpers has so many digits as to be a constant without a name."""
    for path in (OPS / "derivatives.yaml", *(OPS / "formulas").rglob("*.py")):
        assert not re.findall(r"\d\.\d{8,}", path.read_text()), path


DECLARED = """
namespace: constants_{space}
kernels: numpy
{modules}
native_functions:
  - func: moved(Tensor self{further}) -> Tensor
    kernel: add
derivatives:
  - name: moved(Tensor self{further}) -> Tensor
    self: {formula}
    result: auto_element_wise
"""


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_formula_may_name_it(name):
    operators = pb.ops.load(DECLARED.format(space=name, modules="", further=", float n", formula=f"grad * {name}"))
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    operators.moved(x, 0.0).sum().backward()
    assert x.grad.tolist() == pytest.approx([getattr(constants, name)] * 2, rel=0, nan_ok=True)


def test_an_argument_of_that_name_is_meant_instead():
    operators = pb.ops.load(DECLARED.format(space="own", modules="", further=", float e", formula="grad * (e * log_2)"))
    x = pb.tensor(1.0, requires_grad=True)
    operators.moved(x, 3.0).backward()
    assert x.grad.item() == 3.0 * math.log(2)
    assert pb.func.jvp(lambda x: operators.moved(x, 3.0), (x.detach(),), (pb.tensor(1.0),))[1].item() == 3 * math.log(2)


def test_a_constant_is_no_function_and_no_helper(tmp_path, monkeypatch):
    with pytest.raises(DeclarationError, match="calls 'log_2', which is not a function"):
        pb.ops.load(DECLARED.format(space="called", modules="", further="", formula="grad * log_2(self)"))
    (tmp_path / "own_constant_helpers.py").write_text("def tau(x, *, ops):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    modules = "helpers: own_constant_helpers"
    with pytest.raises(DeclarationError, match=r"calls 'tau', which is a constant too .* Rename the helper"):
        pb.ops.load(DECLARED.format(space="called", modules=modules, further="", formula="grad * tau(self)"))


def test_a_misspelt_one_is_named():
    with pytest.raises(DeclarationError, match="Did you mean 'two_over_sqrt_pi'"):
        pb.ops.load(DECLARED.format(space="misspelt", modules="", further="", formula="grad * two_over_sqrtpi"))


def test_an_operator_may_have_the_name_of_a_constant_that_its_file_does_not_use():
    text = DECLARED.format(space="op", modules="", further=", float n", formula="grad * log_2").replace("moved", "tau")
    assert pb.ops.load(text).tau(1.0, 2.0).item() == 3.0
    with pytest.raises(DeclarationError, match="'tau'"):
        pb.ops.load(text.replace("log_2", "tau"))
