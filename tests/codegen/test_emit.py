"""What generated code is, and what it does: a few small declarations, loaded as a third party's."""

import ast
import textwrap

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.codegen.errors import DeclarationError
from pullback.codegen.generate import GENERATED, generate, write
from pullback.codegen.third_party import emit_third_party, read_third_party
from pullback.graph.undifferentiable import DerivativeNotImplementedError
from pullback.ops import extension

KERNELS = """
    import numpy as np

    def half(x): return x / 2
    def product(x, y): return x * y
    def middle(x, y, z): return x + y + z
    def scaled(x, y, factor): return x * y * factor
    def cut(x, start): return x[start:]
    def largest(x): return np.max(x), np.argmax(x)
    def both(x): return x + 1, x * 2
    def total(tensors): return sum(tensors)
    def weighted(tensors, weight): return sum(tensors) * weight
    def pieces(x): return [x[0], x[1:]]
    def fill_(x, value): x[...] = value
    def picked(x, index): return x[index]
    def spread(x, size): return np.broadcast_to(x, size).copy()
    def first_size(x): return int(x.shape[0])
    def maybe(x, y): return x if y is None else x * y
"""
HELPERS = """
    def product_backward(grad, x, y, mask, *, ops):
        CALLS.append(mask)
        return grad * y if mask[0] else None, grad * x if mask[1] else None

    def back_in(grad, start, shape, *, ops):
        return ops.cat([ops.zeros((start,)), grad]) if start else grad

    def at(grad, index, shape, *, ops):
        return ops.where(ops.eq(ops.arange(shape[0]), index), grad, 0.0)

    def each(grad, shapes, *, ops):
        return [grad + ops.zeros(shape) for shape in shapes]

    def not_a_helper(grad):
        return grad

    CALLS = []
"""
HEAD = "namespace: emitted\nkernels: emit_kernels\nhelpers: emit_helpers\n"


@pytest.fixture(scope="module", autouse=True)
def modules(tmp_path_factory):
    """emit_kernels and emit_helpers, importable; afterwards nothing of theirs is left in the tables."""
    folder = tmp_path_factory.mktemp("emit")
    (folder / "emit_kernels.py").write_text(textwrap.dedent(KERNELS))
    (folder / "emit_helpers.py").write_text(textwrap.dedent(HELPERS))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield
    extension._entered.pop("emitted").withdraw()


def declared(schema, derivative="", entry=""):
    """The text of a file with one operator."""
    text = f"{HEAD}native_functions:\n  - func: {schema}\n{textwrap.indent(textwrap.dedent(entry), '    ')}\n"
    if derivative:
        text += f"derivatives:\n  - name: {schema}\n{textwrap.indent(textwrap.dedent(derivative), '    ')}\n"
    return text


def load(schema, derivative="", entry=""):
    """The operator's module."""
    return pb.ops.load(declared(schema, derivative, entry))


def definition(name, text):
    """The generated definition of that name, without its docstring."""
    for node in ast.walk(ast.parse(emit_third_party(read_third_party(text)))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) is not None:
                    inner.body = inner.body[1:]
            return ast.unparse(node)
    raise AssertionError(f"no {name}")


def source(text):
    return ast.unparse(ast.parse(textwrap.dedent(text)))


def ones(*shape):
    return pb.tensor(np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape), requires_grad=True)


def test_a_formula_of_the_gradient_alone_saves_nothing():
    text = declared("half(Tensor self) -> Tensor", "self: grad / 2", "kernel: half")
    assert definition("HalfBackward0", text) == source(
        """
        class HalfBackward0(Node, inputs=(0,)):
            __slots__ = ()

            def apply(self, ops, grad, unpack):
                return (grad / 2,)
        """
    )


def test_what_keeps_no_more_than_its_argument_is_its_formula():
    text = declared("half(Tensor self) -> Tensor", "self: grad * self", "kernel: half")
    assert definition("HalfBackward0", text) == source(
        """
        class HalfBackward0(SavesSelf):
            __slots__ = ()

            def pull(self, ops, grad, self_):
                return grad * self_
        """
    )
    half, x = pb.ops.load(text).half, ones(3)
    (y := half(x)).sum().backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad, x.detach())
    x.grad = None
    y.grad_fn.register_prehook(lambda grads: grads)  # off the engine's fast path
    y.sum().backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad, x.detach())
    with pb.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="HalfBackward0 saved 'self'"):
        y.sum().backward()


def test_each_input_is_saved_only_for_the_gradient_that_needs_it():
    text = declared(
        "product(Tensor self, Tensor other) -> Tensor", "self: grad * other\nother: grad * self", "kernel: product"
    )
    assert definition("ProductBackward0", text) == source(
        """
        class ProductBackward0(Node, inputs=(0, 1)):
            __slots__ = Saves('self:1 other:0')

            def apply(self, ops, grad, unpack):
                grad_of_self = grad_of_other = None
                if self._next0 is not None:
                    other = unpack(self.saved_other, self.version_other, self)
                    grad_of_self = grad * other
                if self._next1 is not None:
                    twice = grad_of_self is not None and self.saved_self is self.saved_other is not None
                    if twice and self.version_self == self.version_other:
                        grad_of_other = grad_of_self
                    else:
                        self_ = unpack(self.saved_self, self.version_self, self)
                        grad_of_other = grad * self_
                return (grad_of_self, grad_of_other)
        """
    )
    x, y = ones(3), pb.tensor(2.0)
    node = pb.ops.load(text).product(x, y).grad_fn
    assert node.saved_other is y
    assert not hasattr(node, "saved_self")


def test_only_formulas_that_mirror_each_other_share_a_gradient():
    for formulas in ("self: grad * other\nother: -grad * self", "self: grad * other\nother: grad * self * other"):
        text = declared("product(Tensor self, Tensor other) -> Tensor", formulas, "kernel: product")
        assert "grad_of_other = grad_of_self\n" not in definition("ProductBackward0", text)


def test_a_shape_is_saved_instead_of_the_tensor():
    text = declared("half(Tensor self) -> Tensor", "self: zeros(self.shape) + grad / 2", "kernel: half")
    assert "__slots__ = Saves('self.shape')" in definition("HalfBackward0", text)
    half, x = pb.ops.load(text).half, ones(2, 3)
    node = half(x).grad_fn
    assert node.self_shape == (2, 3)
    assert not hasattr(node, "saved_self")
    assert gradcheck(half, (x,))


def test_an_output_is_saved_without_a_cycle():
    ops = load("half(Tensor self) -> Tensor", "self: grad * result / self", "kernel: half")
    x = ones(3)
    y = ops.half(x)
    assert y.grad_fn.saved_result is y._array
    assert gradcheck(ops.half, (x,))
    assert gradgradcheck(ops.half, (x,))


def test_one_formula_for_two_inputs_gets_a_mask():
    formula = "self, other: product_backward(grad, self, other, grad_input_mask)"
    ops = load("product(Tensor self, Tensor other) -> Tensor", formula, "kernel: product")
    calls = __import__("emit_helpers").CALLS
    calls.clear()
    ops.product(ones(2), pb.tensor(3.0)).sum().backward()
    ops.product(pb.tensor(3.0), ones(2)).sum().backward()
    assert calls == [(True, False), (False, True)]
    assert gradcheck(ops.product, (ones(2), ones(2)))


def test_what_only_one_of_the_inputs_needs_is_saved_for_it():
    formula = (
        "self, other: product_backward(grad, wrap_opt_if(self, grad_input_mask[1]), "
        "wrap_opt_if(other, grad_input_mask[0]), grad_input_mask)"
    )
    ops = load("product(Tensor self, Tensor other) -> Tensor", formula, "kernel: product")
    x, y = ones(2), pb.tensor([3.0, 4.0])
    z = ops.product(x, y)
    assert z.grad_fn._saved_self is None
    assert z.grad_fn._saved_other is y
    x.detach().mul_(2)  # not saved, so it may change
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])
    assert gradcheck(ops.product, (ones(2), ones(2)))
    assert gradgradcheck(ops.product, (ones(2), ones(2)))


def test_gradients_and_flags_are_in_the_order_of_the_key():
    formula = "other, self: product_backward(grad, other, self, grad_input_mask)"
    ops = load("product(Tensor self, Tensor other) -> Tensor", formula, "kernel: product")
    x, y = ones(2), pb.tensor([3.0, 4.0])
    ops.product(x, y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])
    assert gradcheck(ops.product, (x, y.requires_grad_()))


WRAPPED = "self, other: product_backward(grad, {}, other, grad_input_mask)"


@pytest.mark.parametrize(
    ("formula", "problem", "remedy"),
    [
        (WRAPPED.format("wrap_opt_if(slef, grad_input_mask[1])"), "unknown argument 'slef'", "Did you mean 'self'"),
        (
            WRAPPED.format("wrap_opt_if(self, grad_input_mask[2])"),
            r"uses grad_input_mask\[2\], but has 2 flags",
            r"Write grad_input_mask\[0\] for 'self' or grad_input_mask\[1\] for 'other'",
        ),
        (WRAPPED.format("wrap_opt_if(self)"), "with other than a name and a condition", "Write wrap_opt_if"),
        (WRAPPED.format("wrap_opt_if(2 * self, grad_input_mask[1])"), "other than a name and", "Write wrap_opt_if"),
        (WRAPPED.format("wrap_opt_if(self, True)"), "under the condition `True`", r"Write grad_input_mask\[0\]"),
        (WRAPPED.format("wrap_opt_if(self, not grad_input_mask[0])"), "under the condition `not", "Write grad_input"),
        (
            "self, other: product_backward(wrap_opt_if(grad, grad_input_mask[1]), self, other, grad_input_mask)",
            "wraps 'grad', which is neither",
            "Write grad alone",
        ),
        (
            WRAPPED.format("self.sum() + wrap_opt_if(self, grad_input_mask[1])"),
            "uses 'self' in wrap_opt_if and outside of it",
            "Write self alone",
        ),
        ("self: grad * wrap_opt_if(other, grad_input_mask[0])\nother: grad * self", "wraps 'other', but runs", "alone"),
        (
            "self: grad * other\nother: grad * self\nresult: self_t * wrap_opt_if(other, grad_input_mask[0])",
            "calls wrap_opt_if in a tangent",
            "Write x alone",
        ),
    ],
)
def test_refuses_a_wrong_wrap_opt_if(formula, problem, remedy):
    with pytest.raises(DeclarationError, match=rf"{problem}.*{remedy}"):
        load("product(Tensor self, Tensor other) -> Tensor", formula, "kernel: product")


def test_not_implemented_is_said_by_name_when_it_is_reached():
    ops = load(
        "product(Tensor self, Tensor other) -> Tensor", "self: grad * other\nother: not_implemented", "kernel: product"
    )
    x, y = ones(2), ones(2)
    ops.product(x, y.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    with pytest.raises(DerivativeNotImplementedError, match=r"'product' with respect to 'other'"):
        ops.product(x, y).sum().backward()


def test_a_primitive_without_derivative_runs_forward():
    ops = load("half(Tensor self) -> Tensor", entry="kernel: half")
    y = ops.half(ones(2))
    assert y.requires_grad
    with pytest.raises(DerivativeNotImplementedError, match="half"):
        y.sum().backward()
    assert (
        not load("half(Tensor self) -> Tensor", entry="kernel: half\ntags: nondifferentiable")
        .half(ones(2))
        .requires_grad
    )


def test_outputs_without_gradient_have_no_function():
    ops = load(
        "largest(Tensor self) -> (Tensor value, Tensor index)",
        "output_differentiability: [True, False]\nself: at(grad, index, self.shape)",
        "kernel: largest",
    )
    x = ones(4)
    found = ops.largest(x)
    assert (type(found).__name__, found._fields) == ("largest", ("value", "index"))
    assert found.value.requires_grad
    assert not found.index.requires_grad
    assert gradcheck(lambda x: ops.largest(x).value, (x,))


def test_several_outputs_have_gradients_by_name_and_by_number():
    for formula in ("grad_plus + 2 * grad_double", "grads[0] + grads[1] * 2"):
        ops = load("both(Tensor self) -> (Tensor plus, Tensor double)", f"self: {formula}", "kernel: both")
        assert gradcheck(ops.both, (ones(3),))
        x = ones(3)
        ops.both(x).double.sum().backward()  # the other gradient is undefined: zeros
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0, 2.0])


def test_a_formula_may_ask_which_gradients_are_undefined():
    formula = "self: 2 * grads[1] if grads[0] is None else 5 * grads[0]"
    ops = load("both(Tensor self) -> (Tensor plus, Tensor double)", formula, "kernel: both\ntags: undefined")
    x = ones(3)
    (found,) = pb.autograd.grad(ops.both(x).double.sum(), x)
    np.testing.assert_array_equal(found.numpy(), [2.0, 2.0, 2.0])
    both = ops.both(x)
    (found,) = pb.autograd.grad(both.double.sum() + 0 * both.plus.sum(), x)
    np.testing.assert_array_equal(found.numpy(), [0.0, 0.0, 0.0])


def test_a_list_of_tensors_has_an_edge_for_each():
    ops = load(
        "weighted(Tensor[] tensors, Tensor weight) -> Tensor",
        "tensors: each(grad * weight, tensors.shape)\nweight: grad * result / weight",
        "kernel: weighted",
    )
    x, y, w = ones(2), ones(2), ones(1)
    result = ops.weighted([x, y], w)
    assert len(result.grad_fn.next_functions) == 3
    assert gradcheck(lambda *t: ops.weighted(t[:2], t[2]), (x, y, w))
    ops.weighted([x, 1.0], 2.0).sum().backward()
    assert y.grad is None
    only = load(
        "total(Tensor[] tensors) -> Tensor", "tensors: each(grad, tensors.shape)", "kernel: total\ntags: variadic"
    )
    assert gradcheck(lambda *t: only.total(list(t)), (x, y))
    np.testing.assert_array_equal(only.total(x, y).detach().numpy(), only.total([x, y]).detach().numpy())


def test_a_list_of_results():
    ops = load("pieces(Tensor self) -> Tensor[]", "self: cat([grads[0].reshape((1,)), grads[1]])", "kernel: pieces")
    assert gradcheck(ops.pieces, (ones(3),))


def test_an_index_has_no_edge():
    ops = load(
        "picked(Tensor self, Tensor index) -> Tensor",
        "self: at(grad, index, self.shape)\nindex: non_differentiable",
        "kernel: picked",
    )
    result = ops.picked(ones(3), pb.tensor(1))
    assert len(result.grad_fn.next_functions) == 1
    result.backward()


def test_three_inputs_keep_their_edges_in_a_tuple():
    formulas = "self: grad\nb: grad\nc: grad"
    ops = load("middle(Tensor self, Tensor b, Tensor c) -> Tensor", formulas, "kernel: middle")
    assert gradcheck(ops.middle, (ones(2), ones(1), ones(2, 2)))


def test_an_optional_tensor_may_be_missing():
    ops = load(
        "maybe(Tensor self, Tensor? other=None) -> Tensor",
        "self: grad if other is None else grad * other\nother: grad * self",
        "kernel: maybe",
    )
    assert gradcheck(ops.maybe, (ones(2),))
    assert gradcheck(ops.maybe, (ones(2), ones(2)))


def test_a_view_shares_memory_and_version():
    ops = load(
        "cut(Tensor(a) self, int start) -> Tensor(a)",
        "self: back_in(grad, start, self.shape)",
        "kernel: cut\ntags: view",
    )
    base = pb.zeros(3)
    view = ops.cut(base, 1)
    view += 1
    np.testing.assert_array_equal(base.numpy(), [0.0, 1.0, 1.0])
    assert base._version == view._version == 1
    assert gradcheck(lambda x: ops.cut(x, 1), (ones(3),))


def test_in_place_and_out():
    ops = load(
        "halved(Tensor self) -> Tensor", "self: grad / 2", "kernel: half\nvariants: function, method, inplace, out"
    )
    x = ones(2)
    y = x.clone()
    assert ops.halved_(y) is y
    assert y.grad_fn.name() == "HalvedBackward0"
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.5, 0.5])
    assert (ones(2).clone().halved_().detach().numpy() == x.halved().detach().numpy()).all()
    out = pb.zeros(2)
    assert ops.halved(x.detach(), out=out) is out
    np.testing.assert_array_equal(out.numpy(), x.halved().detach().numpy())


def test_a_kernel_may_write_into_its_argument():
    ops = load(
        "flood_(Tensor(a!) self, Tensor value) -> Tensor(a!)",
        "self: zeros_like(grad)\nvalue: grad.sum()",
        "kernel: fill_\nvariants: method",
    )
    del ops
    value = pb.tensor(3.0, requires_grad=True)
    x = pb.zeros(2)
    x.flood_(value)
    assert x._version == 1
    x.sum().backward()
    assert value.grad.item() == 2.0


def test_sizes_may_be_given_one_by_one_and_dim_as_axis():
    ops = load("spread(Tensor self, int[] size) -> Tensor", "self: grad.sum()", "kernel: spread")
    for result in (ops.spread(1.0, 2, 3), ops.spread(1.0, (2, 3)), ops.spread(1.0, size=(2, 3))):
        assert result.shape == (2, 3)
    with pytest.raises(TypeError, match="missing required argument 'size'"):
        ops.spread(1.0)
    named = load("cut(Tensor self, int dim) -> Tensor", entry="kernel: cut\ntags: nondifferentiable")
    assert named.cut(ones(3), axis=1).shape == named.cut(ones(3), dim=1).shape == (2,)


def test_a_value_that_is_no_tensor():
    ops = load("first_size(Tensor self) -> int", entry="kernel: first_size\ntags: nondifferentiable")
    assert ops.first_size(ones(3, 2)) == 3


def test_parameters_may_have_the_names_of_local_variables():
    schema = "scaled(Tensor a, Tensor b, float state=2.0) -> Tensor"
    ops = load(schema, "a: grad * b * state\nb: grad * a * state", "kernel: scaled")
    assert gradcheck(ops.scaled, (ones(2), ones(2)))
    data = load("product(Tensor data, Tensor x) -> Tensor", "data: grad * x\nx: grad * data", "kernel: product")
    assert gradcheck(data.product, (ones(2), ones(2)))


REFUSED = {
    "two parameters": ("f(Tensor self, Tensor input) -> Tensor", "", "two parameters 'input'"),
    "a hidden import": ("f(Tensor self, Tensor unwritten) -> Tensor", "", "the name 'unwritten' means something else"),
    "a hidden builtin": ("f(Tensor self, int type) -> Tensor", "", "the name 'type' means something else"),
    "a hidden helper": ("f(Tensor self, int at) -> Tensor", "self: at(grad, at, self.shape)", "name 'at' means"),
    "two locals": ("f(Tensor self, Tensor self_) -> Tensor", "self: grad\nself_: grad * self", "'self_' in its"),
    "a written second": ("f_(Tensor self, Tensor(a!) b) -> Tensor(a!)", "", "is not the first tensor"),
    "a viewed second": ("f(Tensor self, Tensor(a) b) -> Tensor(a)", "", "is not the first tensor"),
    "written and lost": ("f_(Tensor(a!) self) -> ()", "", "returns nothing"),
    "another returned": ("f_(Tensor(a!) self) -> Tensor", "", "does not return it"),
    "None returned": ("f(Tensor self) -> Tensor?", "", "may return None"),
    "a mixture returned": ("f(Tensor self) -> (Tensor, int)", "", "returns tensors and other values"),
    "a list or None": ("f(Tensor[]? tensors) -> Tensor", "", "a list of tensors or None"),
    "values of a list": ("f(Tensor self) -> Tensor[]", "self: grads[0] * result[0]", "the values of 'result'"),
    "no kernel there": ("f(Tensor self) -> Tensor", "", "has no function 'f'"),
    "a shadowed import": ("primitive(Tensor self) -> Tensor", "", "its public name 'primitive' is taken"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_what_cannot_be_written(case):
    schema, derivative, problem = REFUSED[case]
    with pytest.raises(DeclarationError) as raised:
        load(schema, derivative, "kernel: f")
    assert problem in str(raised.value)
    assert raised.value.line > 0


def test_refuses_a_method_whose_tensor_is_not_the_first_argument():
    schema = "f(Tensor condition, Tensor self) -> Tensor"
    with pytest.raises(DeclarationError, match="has a method, but self is not its first argument"):
        load(schema, entry="kernel: f\nvariants: method\ntags: nondifferentiable")


def test_refuses_two_definitions_of_one_name():
    text = declared("f_o(Tensor self) -> Tensor", entry="kernel: half").replace("func: f_o", "func: {}")
    both = text.format("f_o") + "  - func: fO(Tensor self) -> Tensor\n    kernel: half\nderivatives:\n"
    both += "".join(f"  - name: {name}(Tensor self) -> Tensor\n    self: grad\n" for name in ("f_o", "fO"))
    nodes = {
        node.name for node in ast.parse(emit_third_party(read_third_party(both))).body if isinstance(node, ast.ClassDef)
    }
    assert nodes == {"FOBackward0", "FOBackward1"}, "names that camel case makes one are numbered"
    alias = text.format("f") + "    alias: f_tangent\n"
    with pytest.raises(DeclarationError, match="public name 'f_tangent' is taken"):
        emit_third_party(read_third_party(alias))


def test_refuses_an_alias_in_a_home_of_the_packages():
    alias = declared("f(Tensor self) -> Tensor", entry="kernel: half") + "    alias: special.f\n"
    with pytest.raises(DeclarationError, match=r"alias 'special\.f' in another home"):
        emit_third_party(read_third_party(alias))


def test_the_repositorys_generated_files_are_what_the_yaml_gives():
    assert write(check=True) == []
    assert sorted(path.relative_to(GENERATED).as_posix() for path in GENERATED.rglob("*.py")) == sorted(generate())


# -- the names of nodes ---------------------------------------------------------------------------------------------


def test_a_node_is_called_as_its_entry_says():
    schema = "halved(Tensor self) -> Tensor"
    ops = load(schema, "node: ScaleBackward3\nself: grad / 2", "kernel: half")
    y = ops.halved(ones(2))
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "ScaleBackward3"
