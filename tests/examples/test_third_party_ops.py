"""examples/third_party_ops: a third party's operators, loaded at run time and generated ahead of time."""

import importlib
import runpy
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.codegen.errors import DeclarationError
from pullback.codegen.third_party import generate_third_party
from pullback.core.errors import SavedTensorModifiedError
from pullback.graph.node import saved_slots
from pullback.ops import extension
from pullback.ops.generated.tangents import TANGENTS

FOLDER = Path(__file__).parents[2] / "examples" / "third_party_ops"
YAML = FOLDER / "paramagnet" / "paramagnet.yaml"
MU_B_OVER_K_B = 0.6717138  # kelvin per tesla


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """The package is importable; afterwards nothing of it is left in the tables."""
    monkeypatch.syspath_prepend(FOLDER)
    for name in [name for name in sys.modules if name.partition(".")[0] == "paramagnet"]:
        monkeypatch.delitem(sys.modules, name)  # importing it anew enters its operators anew
    yield
    if (entered := extension._entered.pop("paramagnet", None)) is not None:
        entered.withdraw()


@pytest.fixture(params=["loaded", "generated"])
def paramagnet(request, _importable):
    """The operators, by both ways; whichever is last has entered the tables."""
    if request.param == "loaded":
        return pb.ops.load(YAML)
    return importlib.import_module("paramagnet.operators")


def tensor(values, requires_grad=True):
    return pb.tensor(values, dtype=pb.float64, requires_grad=requires_grad)


def exact_langevin(x, order):
    """L and its derivatives by mpmath, to 17 digits."""
    with mpmath.workdps(60):
        if x == 0:
            return float({0: 0, 1: mpmath.mpf(1) / 3, 2: 0, 3: -mpmath.mpf(2) / 15}[order])
        return float(mpmath.diff(lambda t: mpmath.coth(t) - 1 / t, mpmath.mpf(x), order))


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_langevin_is_accurate_from_the_origin_to_infinity(paramagnet, order):
    points = [0.0, 1e-9, -1e-3, 0.1, 1.0, 1.499, 1.501, -3.0, 20.0, 400.0]
    found = paramagnet.langevin(tensor(points), order).detach().numpy()
    np.testing.assert_allclose(found, [exact_langevin(x, order) for x in points], rtol=1e-12, atol=1e-16)
    assert paramagnet.langevin(tensor(np.inf), order).item() == (1.0 if order == 0 else 0.0)


def test_brillouin_of_spin_a_half_is_tanh_and_of_a_large_spin_langevin(paramagnet):
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(paramagnet.brillouin(x, 0.5).numpy(), np.tanh(x), rtol=1e-14)
    np.testing.assert_allclose(paramagnet.brillouin(x, 1e9).numpy(), paramagnet.langevin(x).numpy(), atol=1e-9)


def test_inverse_langevin_inverts(paramagnet):
    y = np.linspace(-0.999, 0.999, 41)
    np.testing.assert_allclose(paramagnet.langevin(paramagnet.inverse_langevin(y)).numpy(), y, rtol=1e-12, atol=1e-15)
    assert paramagnet.arc_langevin is paramagnet.inverse_langevin
    assert np.isnan(paramagnet.inverse_langevin(1.5).item())


def calls(paramagnet):
    """Each operator with inputs; the last broadcasts."""
    field, temperature = tensor([[0.5, 2.0, 0.0]]), tensor([[1.5], [4.0]])
    return {
        "langevin": (paramagnet.langevin, (tensor([0.0, 0.3, -1.6, 5.0]),)),
        "langevin of order 2": (lambda x: paramagnet.langevin(x, 2), (tensor([0.0, 0.3, -1.6, 5.0]),)),
        "inverse_langevin": (paramagnet.inverse_langevin, (tensor([-0.7, 0.0, 0.2, 0.9]),)),
        "brillouin": (paramagnet.brillouin, (tensor([0.0, 1.0, -6.0]), tensor([[0.5], [3.5]]))),
        "magnetization": (paramagnet.magnetization, (field, temperature, tensor(3.5), tensor(2.0))),
    }


@pytest.mark.parametrize("name", ["langevin", "langevin of order 2", "inverse_langevin", "brillouin", "magnetization"])
def test_gradients_and_second_gradients(paramagnet, name):
    function, inputs = calls(paramagnet)[name]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_third_derivative_by_the_chain_of_formulas(paramagnet):
    x = tensor(0.7)
    y = paramagnet.langevin(x)
    for _ in range(3):
        (y,) = pb.autograd.grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(exact_langevin(0.7, 3), rel=1e-12)


@pytest.mark.usefixtures("paramagnet")
def test_tangents_agree_with_differences():
    ops, eps = pb.core.array_type.NUMPY, 1e-6
    x, spin, dx, dspin = np.array([0.0, 1.2, -4.0]), np.array(2.5), np.array([1.0, -0.5, 2.0]), np.array(0.3)
    brillouin = ops.paramagnet.brillouin
    (tangent,) = TANGENTS["paramagnet.brillouin"](x, dx, spin, dspin, brillouin(x, spin), ops=ops)
    forth, back = (brillouin(x + step * dx, spin + step * dspin) for step in (eps, -eps))
    np.testing.assert_allclose(tangent, (forth - back) / (2 * eps), atol=1e-9)
    (tangent,) = TANGENTS["paramagnet.langevin"](x, dx, 1, ops.paramagnet.langevin(x, 1), ops=ops)
    np.testing.assert_allclose(tangent, dx * ops.paramagnet.langevin(x, 2))


def test_methods_in_place_and_out(paramagnet):
    x = tensor([0.2, 3.0])
    leaf = x.clone()
    expected = paramagnet.langevin(x)
    assert leaf.langevin_() is leaf
    np.testing.assert_array_equal(leaf.detach().numpy(), expected.detach().numpy())
    leaf.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), x.langevin(1).detach().numpy())
    out = pb.zeros(2)
    assert paramagnet.langevin(x.detach(), out=out) is out
    np.testing.assert_array_equal(out.numpy(), expected.detach().numpy())


def test_a_saved_result_that_is_modified_raises_by_name(paramagnet):
    x = tensor([0.2])
    y = paramagnet.inverse_langevin(x)
    y += 1
    with pytest.raises(SavedTensorModifiedError, match=r"InverseLangevinBackward0 saved 'result'.*add_"):
        y.backward()


def test_nodes_save_what_the_formulas_need(paramagnet):
    x, spin = tensor([1.0]), tensor(2.5)
    assert paramagnet.langevin(x).grad_fn.saved_self is x
    assert saved_slots(type(paramagnet.inverse_langevin(x * 0.5).grad_fn)) == ("saved_result",)
    node = paramagnet.brillouin(x, spin).grad_fn
    assert node.name() == "BrillouinBackward0"
    assert [f.name() for f, _ in node.next_functions] == ["AccumulateGrad", "AccumulateGrad"]
    assert paramagnet.magnetization(x, 2.0, spin, 2.0).grad_fn.name() == "MulBackward0"


def test_magnetization_saturates_at_g_times_spin_and_follows_curies_law(paramagnet):
    assert paramagnet.magnetization(1e6, 1.0, 3.5, 2.0).item() == pytest.approx(7.0)
    field = tensor(0.0)
    paramagnet.magnetization(field, 300.0, 3.5, 2.0).backward()
    assert field.grad.item() == pytest.approx(2.0**2 * 3.5 * 4.5 / 3 * MU_B_OVER_K_B / 300.0, rel=1e-6)


def test_levels_above_see_the_operators_too(paramagnet):
    value, gradient = pb.func.value_and_grad(lambda x: paramagnet.langevin(x).sum())(np.array([0.0, 1.0]))
    np.testing.assert_allclose(gradient, [1 / 3, exact_langevin(1.0, 1)])
    assert value == pytest.approx(exact_langevin(1.0, 0))


def test_errors_name_the_operator(paramagnet):
    with pytest.raises(TypeError, match=r"paramagnet\.langevin\(input: complex128.*real numbers"):
        paramagnet.langevin(pb.tensor([1j]))
    with pytest.raises(TypeError, match=r"paramagnet\.brillouin\(\): argument 'spin' must be a Tensor"):
        paramagnet.brillouin(1.0, "big")
    assert dir(paramagnet) == [
        "arc_langevin", "brillouin", "inverse_langevin", "langevin", "langevin_", "magnetization",
    ]  # fmt: skip


def test_the_committed_module_is_what_the_declarations_give():
    assert (FOLDER / "paramagnet" / "operators.py").read_text() == generate_third_party(YAML)


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("grad * langevin(self, order + 1)", "grad * langevine(self)", 33, "unknown function 'langevine'"),
        ("    spin: grad *", "    spni: grad *", 43, "unknown key 'spni'"),
        ("kernel: brillouin", "kernel: brilouin", 22, "'paramagnet.kernels' has no function 'brilouin'"),
        ("paramagnet.formulas", "paramagnet.formulae", 5, "there is no module 'paramagnet.formulae'"),
    ],
)
def test_a_bad_entry_is_refused_with_its_line(tmp_path, old, new, line, problem):
    text = YAML.read_text()
    assert old in text
    bad = tmp_path / "paramagnet.yaml"
    bad.write_text(text.replace(old, new))
    with pytest.raises(DeclarationError, match=problem) as raised:
        pb.ops.load(bad)
    assert raised.value.line == line


def test_the_script_finds_gadolinium(capsys):
    runpy.run_path(str(FOLDER / "fit_spin.py"), run_name="__main__")
    spin, g = (float(line.split()[2]) for line in capsys.readouterr().out.splitlines())
    assert spin == pytest.approx(3.5, abs=0.1)
    assert g == pytest.approx(2.0, abs=0.04)
