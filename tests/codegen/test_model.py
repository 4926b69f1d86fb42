"""What the front end finds out about functions and derivatives: what to save, which gradients, views, composites."""

import sys

import pytest

from pullback.codegen.check import load_registry
from pullback.codegen.errors import DeclarationError
from pullback.codegen.formula import Formula
from pullback.codegen.helpers_index import find_helpers
from pullback.codegen.model import NON_DIFFERENTIABLE, NOT_IMPLEMENTED, Derivative, Registry

HELPERS = {"backward": "m", "pick": "m"}


def load(schema: str, derivative: str, natives: str = "") -> Registry:
    indented = "\n".join(f"    {line}" for line in natives.splitlines())
    operators = "".join(f"  - func: {name}(Tensor self) -> Tensor\n    kernel: f\n" for name in ("conj", "zeros_like"))
    lines = "".join(f"  {line.strip()}\n" for line in derivative.splitlines() if line.strip())
    return load_registry(
        f"pointwise:\n{operators}  - func: {schema}\n    kernel: f\n{indented}\n", f"- name: {schema}\n{lines}", HELPERS
    )


def derivative_of(schema: str, derivative: str) -> Derivative:
    (found,) = load(schema, derivative).derivatives.values()
    return found


def test_saves_what_the_formulas_name_in_the_order_of_the_arguments():
    derivative = derivative_of(
        "f(Tensor self, Tensor? weight, int dim, Tensor other) -> Tensor",
        """self: backward(grad, other, dim, self.shape)
           weight: grad * result
           other: backward(grad, self.dtype, other.shape)""",
    )
    assert [(saved.name, saved.kind, set(saved.how)) for saved in derivative.saved.values()] == [
        ("self", "input", {"shape", "dtype"}),
        ("dim", "attribute", {"value"}),
        ("other", "input", {"value"}),  # its shape is read from the value
        ("result", "output", {"value"}),
    ]


def test_a_formula_of_the_gradient_alone_saves_nothing():
    assert not derivative_of("f(Tensor self) -> Tensor", "self: grad.conj() * grad.size").saved


def test_the_shapes_of_a_list_of_tensors_are_saved_without_the_tensors():
    derivative = derivative_of(
        "f(Tensor[] tensors, int dim=0) -> Tensor", "tensors: backward(grad, tensors.shape, dim)"
    )
    assert derivative.saved["tensors"].how == {"shape"}


def test_one_formula_may_serve_several_inputs():
    derivative = derivative_of(
        "f(Tensor self, Tensor other, Tensor index) -> Tensor",
        """self, other: backward(grad, self, other, grad_input_mask)
           index: non_differentiable""",
    )
    both, index = derivative.formulas
    assert both.inputs == ("self", "other")
    assert (index.formula, index.inputs) == (NON_DIFFERENTIABLE, ("index",))
    assert derivative.formula_for("other") is both
    with pytest.raises(KeyError):
        derivative.formula_for("dim")


@pytest.mark.parametrize(
    ("formula", "positions"),
    [
        ("grad", {0}), ("grads[1]", {1}), ("grads[0] + grads[1]", {0, 1}), ("grad_c", {1}), ("grad_a + grad_c", {0, 1}),
        ("backward(grads)", {0, 1}), ("grads[dim]", {0, 1}), ("backward(grads, grads[0])", {0, 1}),
    ],
)  # fmt: skip
def test_gradients_are_counted_among_the_differentiable_outputs(formula, positions):
    tangents = (f"{name}: {'self_t' if nr in positions else f'zeros_like({name})'}" for nr, name in enumerate("ac"))
    derivative = derivative_of(
        "f(Tensor self, int dim) -> (Tensor a, Tensor b, Tensor c)",
        "\n".join(["output_differentiability: [True, False, True]", f"self: {formula}", *tangents]),
    )
    assert derivative.formulas[0].grads == positions
    assert derivative.differentiable_outputs == (0, 2)
    assert derivative.grad_names == {"grad": 0, "grad_a": 0, "grad_c": 1}


@pytest.mark.parametrize(
    ("formula", "outputs"),
    [
        ("grad", (0,)), ("grads[0]", (0,)), ("grad_b", (1,)), ("grad_a + grad_c", (0, 2)),
        ("backward(grads)", (0, 1, 2)), ("grads[0] + grads[1]", (0, 1)), ("not_implemented", (0, 1, 2)),
    ],
)  # fmt: skip
def test_without_flags_the_outputs_are_differentiable_whose_gradients_the_formulas_use(formula, outputs):
    derivative = derivative_of("f(Tensor self) -> (Tensor a, Tensor b, Tensor c)", f"self: {formula}")
    assert derivative.differentiable_outputs == outputs
    assert derivative.grad_names == {"grad": 0} | {f"grad_{'abc'[o]}": nr for nr, o in enumerate(outputs)}
    assert list(derivative.tangents) == ["abc"[output] for output in outputs]


def test_an_output_that_does_not_move_with_an_input_is_told_by_its_tangent_or_by_zeros():
    signature = "f(Tensor x, Tensor y) -> (Tensor a, Tensor b)"
    by_tangent = derivative_of(signature, "x, y: (grad_a + grad_b, grad_b)\na: x_t\nb: x_t + y_t")
    by_zeros = derivative_of(signature, "x: grad_a + grad_b\ny: grad_b + zeros_like(grad_a)")
    assert by_tangent.differentiable_outputs == by_zeros.differentiable_outputs == (0, 1)


def test_a_list_of_outputs_has_grads_alone():
    derivative = derivative_of(
        "f(Tensor(a) self, int dim=0) -> Tensor(a)[]", "self: backward(grads, self.shape)\nresult: auto_linear"
    )
    assert derivative.native.is_view
    assert not derivative.grad_names
    assert derivative.formulas[0].grads == {0}
    assert derivative.tangents == {"result": "auto_linear"}


def test_tangents_are_parsed_with_primals_and_tangents_of_each_argument():
    derivative = derivative_of(
        "f(Tensor self, Tensor[] others, int dim, Tensor index) -> (Tensor values, Tensor indices)",
        """output_differentiability: [True, False]
           self: grad
           others: not_implemented
           index: non_differentiable
           values: pick(self_t, others_t, others_p, index_p, dim, indices)""",
    )
    assert list(derivative.tangents) == ["values"]
    tangent = derivative.tangents["values"]
    assert isinstance(tangent, Formula)
    assert tangent.names == {"self_t", "others_t", "others_p", "index_p", "dim", "indices"}
    assert derivative.formula_for("others").formula is NOT_IMPLEMENTED


def test_an_output_may_be_called_by_its_position_or_by_its_name():
    derivative = derivative_of(
        "f(Tensor self) -> (Tensor values, Tensor indices)",
        "output_differentiability: [True, False]\nself: backward(grad, result0, indices, result1)\nresult0: self_t",
    )
    assert set(derivative.saved) == {"values", "indices"}
    assert isinstance(derivative.tangents["values"], Formula)
    single = derivative_of("f(Tensor self) -> (Tensor out)", "self: grad * result\nresult: self_t * result")
    assert set(single.saved) == {"out"}
    assert list(single.tangents) == ["out"]


def test_a_missing_tangent_is_none_and_a_refused_one_is_marked():
    assert derivative_of("f(Tensor self) -> Tensor", "self: grad").tangents == {"result": None}
    marked = derivative_of("f(Tensor self) -> Tensor", "self: grad\nresult: not_implemented")
    assert marked.tangents == {"result": NOT_IMPLEMENTED}


def test_functions_say_what_they_are():
    registry = load_registry(
        """\
nn:
  - func: mse_loss(Tensor input, Tensor target, str reduction="mean") -> Tensor
    python_module: nn.functional
  - func: max.other(Tensor self, Tensor other) -> Tensor
  - func: relu(Tensor self) -> Tensor
    variants: [function, inplace]
    composite: rectify
    alias: [rectifier, ramp]
  - func: fill_(Tensor(a!) self, Tensor? mask=None) -> Tensor(a!)
    kernel: fill
""",
        "[]\n",
        {},
    )
    loss, other, relu, fill = registry.natives
    assert (loss.is_composite, loss.composite, loss.python_module, loss.area) == (
        True,
        "mse_loss",
        "nn.functional",
        "nn",
    )
    assert (loss.variants, loss.line) == ({"function"}, 2)
    assert other.composite == "max_other"
    assert (relu.composite, relu.aliases, relu.variants) == ("rectify", ("rectifier", "ramp"), {"function", "inplace"})
    assert (fill.is_mutating, fill.is_view, fill.is_composite) == (True, False, False)
    assert [arg.name for arg in fill.differentiable_args] == ["self", "mask"]
    assert other.schema.unique_name == "max_other"
    assert "max" in registry.operators


def test_helpers_are_found_by_their_ops_parameter_without_an_import(tmp_path):
    (tmp_path / "linalg.py").write_text(
        "raise RuntimeError('imported')\n"
        "def backward(grad, *, ops): ...\ndef _private(grad, *, ops): ...\ndef other(grad, ops): ...\n"
        "def plain(grad): ...\nclass C:\n    def method(self, *, ops): ...\n"
    )
    assert find_helpers(tmp_path, "geo.formulas") == {"backward": "geo.formulas.linalg"}
    (tmp_path / "nn.py").write_text("def backward(grad, *, ops): ...\n")
    with pytest.raises(DeclarationError, match=r"nn\.py:1.*'backward' is defined in geo\.formulas\.linalg too"):
        find_helpers(tmp_path, "geo.formulas")
    (tmp_path / "nn.py").write_text("def backward(:\n")
    with pytest.raises(DeclarationError, match=r"nn\.py:1: the module is not valid Python"):
        find_helpers(tmp_path, "geo.formulas")


def work(count):
    """How many functions Python calls to read so many entries."""
    schemas = [f"f{i}(Tensor self, Tensor other, int dim=0, *, bool flag=False) -> Tensor" for i in range(count)]
    natives = "pointwise:\n" + "".join(
        f"  - func: {schema}\n    kernel: f\n    variants: function, method\n" for schema in schemas
    )
    derivatives = "".join(
        f"- name: {schema}\n  self: grad * f1(self, other) / (self + dim)\n  other: -grad * f2(other, self.shape)\n"
        "  result: self_t * f1(self_p, other_p) + other_t\n"
        for schema in schemas
    )
    called = [0]

    def count_calls(frame, event, arg):
        called[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        registry = load_registry(natives, derivatives, {})
    finally:
        sys.setprofile(before)
    assert len(registry.derivatives) == count
    return called[0]


def test_work_grows_as_the_number_of_entries():
    assert work(320) < 4.5 * work(80)
