"""A formula that fails when it runs says which it was, where it is declared and what its names stood for."""

import ast
import importlib
import inspect
import linecache
import textwrap
import traceback
import types

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy import for_few
from pullback.codegen.generate import own_registry
from pullback.codegen.third_party import generate_third_party
from pullback.core.array_type import NUMPY, TENSOR
from pullback.dispatch.operator import OPERATORS
from pullback.ops import failed_formulas, late
from pullback.ops.failed_formulas import own_formulas
from pullback.ops.generated import tangents

FILE = """\
namespace: failing
kernels: failing_kernels
helpers: failing_helpers
native_functions:
  - func: one(Tensor self, int dim=0) -> Tensor
    kernel: one
  - func: two(Tensor self, Tensor other) -> Tensor
    kernel: two
  - func: parts(Tensor self) -> (Tensor low, Tensor high)
    kernel: parts
  - func: kept(Tensor self, float n) -> Tensor
    kernel: kept
  - func: joined(Tensor[] tensors) -> Tensor
    kernel: joined
derivatives:
  - name: one(Tensor self, int dim=0) -> Tensor
    self: grad @ sum(self, dim + 7)
    result: auto_element_wise
  - name: two(Tensor self, Tensor other) -> Tensor
    self: grad * other
    other: >-
      mm(grad,
      self)
    result: self_t * other_p + mm(self_p, other_t)
  - name: parts(Tensor self) -> (Tensor low, Tensor high)
    self: grads[0] + refusing(grads[1], self)
    low: self_t
    high: refusing(self_t, self_p)
  - name: kept(Tensor self, float n) -> Tensor
    self: reshape(grad, (self.ndim, n))
    result: auto_linear
  - name: joined(Tensor[] tensors) -> Tensor
    tensors: (mm(grad, grad), grad)
"""
KERNELS = """\
import numpy as np

def one(x, dim): return x + 0
def two(x, y): return x * y
def parts(x): return x + 0, x * 2
def kept(x, n): return x + 0
def joined(xs): return xs[0] + xs[1]
"""
HELPERS = """\
class MineError(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)

ERRORS = []

def refusing(grad, x, *, ops):
    raise ERRORS.pop() if ERRORS else MineError(1, 2)

def in_a_tuple(grad, *, ops):
    return (grad,)

def number_of(grad, *, ops):
    return 3.0
"""


@pytest.fixture
def ops(tmp_path, monkeypatch):
    (tmp_path / "failing_kernels.py").write_text(KERNELS)
    (tmp_path / "failing_helpers.py").write_text(HELPERS)
    (tmp_path / "failing.yaml").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    return pb.ops.load(tmp_path / "failing.yaml")


def leaf(*shape):
    return pb.ones(shape, requires_grad=True)


def told(call, error=Exception):
    """The one note of the error that a call ends in."""
    with pytest.raises(error) as raised:
        call()
    (note,) = notes_of(raised.value)
    return note


def notes_of(error):
    """Without that which names the page on errors of this kind."""
    return [note for note in getattr(error, "__notes__", ()) if "pullback explain" not in note]


def test_a_gradient(ops):
    x = leaf(3, 2)
    assert told(lambda: ops.one(x, dim=1).sum().backward(), np.exceptions.AxisError) == (
        "In the formula of failing.one for the gradient of 'self' (failing.yaml:17): `grad @ sum(self, dim + 7)`, "
        "with grad: float64(3, 2), self: float64(3, 2), dim: 1"
    )


def test_the_second_of_two_gradients_on_several_lines(ops):
    x, y = leaf(3, 2), leaf(3, 2)
    assert told(lambda: ops.two(x, y).sum().backward()) == (
        "In the formula of failing.two for the gradient of 'other' (failing.yaml:21): `mm(grad, self)`, "
        "with grad: float64(3, 2), self: float64(3, 2)"
    )


def test_a_recorded_backward_and_the_one_after_it(ops):
    x, y = leaf(2, 2), pb.ones(2, 3, requires_grad=True)
    (grad,) = pb.autograd.grad((ops.two(x, leaf(2, 2)) ** 2).sum(), x, create_graph=True)
    assert grad.grad_fn is not None
    with pytest.raises(pb.extend.OperatorError, match=r"^mm\(") as raised:
        pb.autograd.grad(ops.two(y, y).sum(), y, create_graph=True)
    assert "for the gradient of 'other' (failing.yaml:21)" in raised.value.__notes__[0]
    (grad,) = pb.autograd.grad((x**3).sum(), x, create_graph=True)
    assert "failing.one" in told(lambda: ops.one(grad).sum().backward())


def test_a_node_called_by_hand(ops):
    x = leaf(3, 2)
    assert "for the gradient of 'self' (failing.yaml:17)" in told(lambda: ops.one(x).grad_fn(pb.ones(3, 2)))


def test_in_place_of_a_view_and_batched(ops):
    x = leaf(4)
    y = x * 1
    z = ops.kept(y[:2], 5.0)
    assert told(lambda: z.sum().backward(), TypeError) == (
        "In the formula of failing.kept for the gradient of 'self' (failing.yaml:30): `reshape(grad, (self.ndim, n))`, "
        "with grad: float64(2,), self: ndim 1, n: 5.0"
    )
    rows = pb.ones(2, 4)
    assert "failing.kept" in told(lambda: pb.autograd.grad(ops.kept(x, 5.0), x, rows, is_grads_batched=True))


def test_a_tangent(ops):
    x = pb.ones(3, 2)
    note = told(lambda: pb.func.jvp(lambda y: ops.two(x, y), (x,), (x,)), ValueError)
    assert note == (
        "In the formula of failing.two for the tangent of 'result' (failing.yaml:24): "
        "`self_t * other_p + mm(self_p, other_t)`, "
        "with self_t: None, other_p: float64(3, 2), self_p: float64(3, 2), other_t: float64(3, 2)"
    )
    note = told(lambda: pb.func.jvp(ops.one, (x,), (x,)))
    assert note == (
        "In the formula of failing.one for the tangent of 'result' (failing.yaml:18): `grad @ sum(self, dim + 7)`, by "
        "auto_element_wise, in which grad is the tangent, "
        "with self: float64(3, 2), self_t: float64(3, 2), dim: 0, result: float64(3, 2)"
    )


def test_one_of_several_tangents_and_of_several_gradients(ops):
    x = pb.ones(2)
    assert "for the tangent of 'high' (failing.yaml:28): `refusing(self_t, self_p)`" in told(
        lambda: pb.func.jvp(ops.parts, (x,), (x,))
    )
    y = leaf(2)
    assert (
        "for the gradient of 'self' (failing.yaml:26): `grads[0] + refusing(grads[1], self)`, "
        "with grads: [float64(2,), " in told(lambda: ops.parts(y)[1].sum().backward())
    )
    z = leaf(2, 3)
    assert "for the gradient of 'tensors' (failing.yaml:33)" in told(lambda: ops.joined([z, z]).sum().backward())


def test_the_error_keeps_its_type_and_is_the_same_object(ops):
    helpers = importlib.import_module("failing_helpers")
    y = leaf(2)
    calls = [lambda: ops.parts(y)[1].sum().backward(), lambda: pb.func.jvp(ops.parts, (y.detach(),), (pb.ones(2),))]
    for call in calls:
        error = helpers.MineError(1, 2)
        for _ in range(3):  # raised again, it is not told again
            helpers.ERRORS.append(error)
            with pytest.raises(helpers.MineError) as raised:
                call()
            assert raised.value is error
        assert len(error.__notes__) == 1


def test_the_traceback_shows_the_formula_and_the_note(ops):
    with pytest.raises(ValueError, match="matmul") as raised:
        ops.two(leaf(3, 2), leaf(3, 2)).sum().backward()
    shown = "".join(traceback.format_exception(raised.value))
    assert "    grad_of_other = ops.mm(grad, self_)\n" in shown
    assert shown.splitlines()[-1].startswith(
        "In the formula of failing.two for the gradient of 'other' (failing.yaml:21)"
    )


def test_namespaces_of_texts_do_not_share_their_lines(ops):
    first = pb.ops.load(FILE.replace("namespace: failing", "namespace: failing_first"))
    pb.ops.load("# above\n\n\n" + FILE.replace("namespace: failing", "namespace: failing_second"))
    x = leaf(3, 2)
    assert "failing_first.two for the gradient of 'other' (<text>:21)" in told(lambda: first.two(x, x).sum().backward())


def test_the_written_module_tells_it_too(ops, tmp_path):
    declarations = tmp_path / "failing.yaml"
    declarations.write_text(FILE.replace("namespace: failing", "namespace: failing_written"))
    (tmp_path / "failing_written.py").write_text(generate_third_party(declarations))
    module, x = importlib.import_module("failing_written"), leaf(3, 2)
    assert "(failing.yaml:21): `mm(grad, self)`" in told(lambda: module.two(x, x).sum().backward())


def test_without_source_nothing_is_told(ops, monkeypatch):
    monkeypatch.setattr(linecache, "getlines", lambda *_: [])
    with pytest.raises(ValueError, match="matmul") as raised:
        ops.two(leaf(3, 2), leaf(3, 2)).sum().backward()
    assert not notes_of(raised.value)


# -- our own ---------------------------------------------------------------------------------------------------------
def failing(*args, **kwargs):
    raise ZeroDivisionError("on purpose")


def break_cos(monkeypatch, *tables):
    for table in tables:
        monkeypatch.setitem(vars(table), "cos", failing)


def test_our_own_formulas_too(monkeypatch):
    break_cos(monkeypatch, NUMPY, for_few)
    note = told(lambda: pb.sin(leaf(2)).sum().backward(), ZeroDivisionError)
    file, _, rest = note.partition("(")[2].partition(":")
    line = int(rest.partition(")")[0])
    assert linecache.getline(file, line) == "  self: grad * conj(cos(self))\n"
    assert note.endswith("`grad * conj(cos(self))`, with grad: float64(2,), self: float64(2,)")
    assert note.startswith("In the formula of sin for the gradient of 'self'")


def test_one_of_our_tangents_on_several_lines(monkeypatch):
    calls = []
    jvp = tangents.qr_jvp

    def second(*args, **kwargs):
        calls.append(args)
        return failing() if len(calls) == 2 else jvp(*args, **kwargs)

    monkeypatch.setattr(tangents, "qr_jvp", second)
    A = pb.tensor([[2.0, 1.0], [0.0, 3.0]])
    note = told(lambda: pb.func.jvp(pb.linalg.qr, (A,), (A,)), ZeroDivisionError)
    assert "for the tangent of 'R'" in note
    assert "`qr_jvp(A_t, A_p, Q, R, mode)[1]`, with A_t: float64(2, 2), A_p: float64(2, 2)" in note


@pytest.mark.parametrize("create_graph", [False, True])
def test_in_a_recorded_backward_of_our_own(monkeypatch, create_graph):
    break_cos(monkeypatch, *((TENSOR,) if create_graph else (NUMPY, for_few)))
    x = leaf(2)
    assert "of sin for" in told(lambda: pb.autograd.grad(pb.sin(x).sum(), x, create_graph=create_graph))


def no_note(call, error, match):
    with pytest.raises(error, match=match) as raised:
        call()
    assert not notes_of(raised.value)


def test_a_refusal_is_an_answer_and_stays_as_it_is():
    A = pb.eye(3).requires_grad_()
    no_note(lambda: pb.linalg.eigh(A)[1][0, 1].backward(), pb.linalg.LinAlgError, "are equal")
    no_note(lambda: pb.func.jvp(pb.linalg.eigh, (pb.eye(3),), (pb.ones(3, 3),)), pb.linalg.LinAlgError, "are equal")
    a = leaf(2)
    no_note(lambda: pb.special.gammainc(a, leaf(2)).sum().backward(), NotImplementedError, "not implemented")
    y = (a * a).sum()
    y.backward()
    no_note(y.backward, RuntimeError, "second time")
    b = a * 1
    c = b.exp()
    c.add_(1)
    no_note(c.sum().backward, RuntimeError, "modified")


def test_what_users_code_raises_is_not_a_formulas():
    x = leaf(2)
    y = x * x
    y.register_hook(failing)
    no_note(y.sum().backward, ZeroDivisionError, "on purpose")
    with pb.autograd.graph.saved_tensors_hooks(lambda x: x, failing):
        z = x.sin()
    no_note(z.sum().backward, ZeroDivisionError, "on purpose")


def test_an_operator_that_is_called_wrongly_is_no_formulas():
    no_note(lambda: pb.func.jvp(lambda x: pb.sum(x, dim=7), (pb.ones(2),), (pb.ones(2),)), IndexError, "range")


# -- every entry -----------------------------------------------------------------------------------------------------
REGISTRY = own_registry()


def test_each_formula_of_ours_is_found_at_its_line_as_the_generator_reads_it():
    found = own_formulas()
    assert len(found) == len(REGISTRY.derivatives)
    for derivative in REGISTRY.derivatives.values():
        written = {key: (f"{derivative.file}:{line}", text) for key, (line, text) in derivative.written.items()}
        assert found[derivative.native.schema.full_name] == written


def test_each_line_of_a_node_that_computes_a_gradient_belongs_to_a_formula():
    """Whatever line of a generated node fails, the inputs named there are those of the formula that is told."""
    late.load_all()
    seen = 0
    for derivative in REGISTRY.derivatives.values():
        op = OPERATORS[derivative.native.schema.full_name]
        code, entry = op.node.apply.__code__, own_formulas()[op.name]
        lines, first = inspect.getsourcelines(code)
        for statement in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
            if not isinstance(statement, ast.Assign) or not ast.unparse(statement).startswith(
                ("grad_of_", "(grad_of_")
            ):
                continue
            if isinstance(statement.value, ast.Constant):
                continue  # None, before the formulas
            frame = types.SimpleNamespace(f_code=code, f_globals=op.node.apply.__globals__)
            step = types.SimpleNamespace(tb_frame=frame, tb_lineno=first + statement.end_lineno - 1)
            key = failed_formulas._gradient(step, entry)
            names = [n.id.removeprefix("grad_of_") for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name)]
            assert key is not None, op.name
            assert set(names) <= {part.strip() for part in key.split(",")}, op.name
            seen += 1
    assert seen > 200


REFUSED = """\
namespace: refused
kernels: failing_kernels
helpers: failing_helpers
native_functions:
  - func: one(Tensor self, int dim=0) -> Tensor
    kernel: one
  - func: two(Tensor self, Tensor other) -> Tensor
    kernel: two
  - func: joined(Tensor[] tensors) -> Tensor
    kernel: joined
derivatives:
  - name: one(Tensor self, int dim=0) -> Tensor
    self: FORMULA
  - name: two(Tensor self, Tensor other) -> Tensor
    self: grad * other
    other: FORMULA
  - name: joined(Tensor[] tensors) -> Tensor
    tensors: (grad, FORMULA)
"""


@pytest.fixture(params=["cat([grad, grad])", "in_a_tuple(grad)", "number_of(grad)"])
def refused(request, ops):
    return request.param, pb.ops.load(REFUSED.replace("FORMULA", request.param))


def test_a_value_that_the_engine_refuses(refused):
    formula, ops = refused
    x, y = leaf(3), leaf(3)
    one = f"In the formula of refused.one for the gradient of 'self' (<text>:13): `{formula}`"
    gave = {"in_a_tuple(grad)": ", which gave (float64(3,),)", "number_of(grad)": ", which gave 3.0"}.get(formula, "")
    assert told(lambda: ops.one(x).sum().backward()) == one + gave
    assert told(lambda: ops.one(x * 2).sum().backward()) == one + gave
    assert told(lambda: ops.one(pb.linalg.eigh(pb.eye(3) * x)[0]).sum().backward()) == one + gave  # several outputs
    assert told(lambda: pb.autograd.grad(ops.one(x).sum(), x, create_graph=True)) == one + gave
    assert told(lambda: pb.func.grad(lambda x: ops.one(x).sum())(np.ones(3))) == one + gave
    assert told(lambda: ops.one(x).grad_fn(pb.ones(3))) == one + gave
    two = f"In the formula of refused.two for the gradient of 'other' (<text>:16): `{formula}`"
    assert told(lambda: ops.two(x, y).sum().backward()) == two + gave
    assert told(lambda: ops.two(x.detach(), y).sum().backward()) == two + gave
    assert told(lambda: ops.two(x, x).sum().backward()) == two + gave  # both edges lead to x
    joined = f"In the formula of refused.joined for the gradient of 'tensors' (<text>:18): `(grad, {formula})`"
    assert told(lambda: ops.joined([x, y]).sum().backward()) == joined + gave


def test_the_node_that_made_a_wrong_gradient_is_named_not_the_one_that_would_receive_it(ops):
    refused = pb.ops.load(REFUSED.replace("FORMULA", "cat([grad, grad])"))
    y = refused.one(pb.linalg.eigh(pb.eye(3) * leaf(3))[0]).sum()
    with pytest.raises(pb.extend.GradientError, match=r"^Function OneBackward0 returned an invalid gradient"):
        y.backward()


def test_hooks_that_fail_are_no_formulas(ops):
    x = leaf(3)
    y = ops.two(x, leaf(3))
    y.register_hook(lambda g: g.no_such)
    with pytest.raises(AttributeError) as raised:
        y.sum().backward()
    assert not notes_of(raised.value)
