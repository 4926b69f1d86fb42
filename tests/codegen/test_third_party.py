"""A third party's file: whatever is in it, it becomes the code that it declares, or a DeclarationError."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pullback as pb
from pullback.__main__ import main
from pullback.codegen import formatting
from pullback.codegen.errors import DeclarationError
from pullback.codegen.model import NOT_IMPLEMENTED
from pullback.codegen.third_party import emit_third_party, generate_third_party, read_third_party

ROOT = Path(__file__).parents[2]
FILE = """\
namespace: hostile
kernels: scipy.special
native_functions:
  maps:
  - func: spence_of(Tensor self, str mode="plain") -> Tensor
    variants: function, inplace
    kernel: spence
    alias: dilogarithm
    numpy: spacing
    doc: Spence's function.
  - func: other_of(Tensor self, Tensor other) -> Tensor
    kernel: hyp0f1
derivatives:
  - name: spence_of(Tensor self, str mode="plain") -> Tensor
    self: grad * log(self) / (1 - self) if mode == "plain" else -grad
    result: auto_element_wise
  - name: other_of(Tensor self, Tensor other) -> Tensor
    self: not_implemented
    other: grad * other_of(self + 1, other) / self
"""
PLAIN = yaml.safe_load(FILE)


def emitted(content):
    """The generated text for a file with this content."""
    text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
    return emit_third_party(read_third_party(text + "\n"))


def changed(change):
    """The content with one place changed."""
    content = yaml.safe_load(FILE)
    change(content)
    return content


def shape(text):
    """What the generated text does: its syntax, the docstrings and the tables of texts for people left out."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        named = node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else ""
        if named in ("DOCS", "FORMULAS"):
            assert isinstance(ast.literal_eval(node.value), dict)
            node.value.values = []
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


HOSTILE = [
    '"""\nimport os\nos.system("touch {}")\n"""', "'''", '"', "\\", "\\\"", '\\"""', '""""', '"""""""', "\n", "x\ny",
    "x\r\ny", "\x00", "\x1b[2J", "\u202e", "\u2028", "\ud800", "\N{SNOWMAN}",
    "\\N{SNOWMAN}", "\\x00", "{0.__class__}", "%s",
    "#", "", "; import os", "__import__('os')", "*/", "\ufeff", "\t", "a" * 5000, "\\u0000", "'\n'",
    '"+os.system("x")+"',
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_doc_stays_a_doc(text):
    content = changed(lambda c: c["native_functions"]["maps"][0].update(doc=f"Says {text}"))
    try:
        code = emitted(content)
    except DeclarationError:  # YAML itself refuses some characters
        return
    assert shape(code) == shape(emitted(PLAIN))
    code.encode()
    assert all(character.isprintable() or character == "\n" for character in code)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text(st.sampled_from("\\\"'\n{}NxuU0a #;"), max_size=30))
@example('"""')
@example("\\")
def test_any_doc_stays_a_doc(text):
    content = changed(lambda c: c["native_functions"]["maps"][0].update(doc=text))
    try:
        code = emitted(content)
    except DeclarationError:
        return
    assert shape(code) == shape(emitted(PLAIN))


def first(**changes):
    """Change the first function's entry; `{}` in a value stands for the text."""

    def change(content, text):
        entry = content["native_functions"]["maps"][0]
        entry.update({key: value.replace("{}", text) for key, value in changes.items()})

    return change


PLACES = {
    "namespace": lambda c, text: c.update(namespace=text),
    "kernels": lambda c, text: c.update(kernels=text),
    "helpers": lambda c, text: c.update(helpers=text),
    "composites": lambda c, text: c.update(composites=text),
    "area": lambda c, text: c.update(native_functions={text: c["native_functions"]["maps"]}),
    "func": first(func="{}"),
    "a name": first(func="{}(Tensor self) -> Tensor"),
    "an overload": first(func="f.{}(Tensor self) -> Tensor"),
    "an argument": first(func="f(Tensor {}) -> Tensor"),
    "an output": first(func="f(Tensor self) -> (Tensor {}, Tensor b)"),
    "a default": first(func="f(Tensor self, str m={}) -> Tensor"),
    **{key: first(**{key: "{}"}) for key in ("kernel", "alias", "numpy", "tags", "variants", "python_module")},
    "a formula": lambda c, text: c["derivatives"][0].update(self=text),
    "a tangent": lambda c, text: c["derivatives"][0].update(result=text),
    "a key": lambda c, text: c["derivatives"][0].update({text: "grad"}),
}
IMPORTED = ("math", "numpy", "pullback.core.", "pullback.graph.", "pullback.ops.declarations", "pullback.ops.extension",
            "pullback.ops.constants", "pullback.ops.formulas", "pullback.ops.generated.calls", "scipy")  # fmt: skip


def check_harmless(code, text):
    """It compiles, imports what it must, and calls nothing by a name that is not the generator's."""
    compile(code, "generated", "exec")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").startswith(IMPORTED) or node.module.split(".")[0] in text
        if isinstance(node, ast.Import):
            assert all(alias.name in text for alias in node.names)
        if isinstance(node, ast.Name):
            assert not node.id.startswith("__") or node.id in ("__all__", "__slots__", "__name__")
            assert node.id not in {
                "eval",
                "exec",
                "open",
                "compile",
                "getattr",
                "globals",
                "vars",
                "breakpoint",
                "input()",
            }
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("__")


# Each text in every fourth place, and each place with every fourth text.
IN_PLACES = [(place, text) for i, place in enumerate(PLACES) for j, text in enumerate(HOSTILE) if (i + j) % 4 == 0]


@pytest.mark.parametrize(("place", "text"), IN_PLACES)
def test_a_hostile_text_is_refused_or_harmless(place, text):
    content = changed(lambda c: PLACES[place](c, text))
    try:
        code = emitted(content)
    except DeclarationError:
        return
    check_harmless(code, text)


WORDS = st.sampled_from(
    ["self", "grad", "result", "inf", "kernels", "dispatch", "a", "b", "out", "node", "Tensor", "int", "ops", "hostile",
     "type", "input", "log", "spence_of", "f", "_", "__all__", "os", "lambda", "0", "1.5", "'x'", '"y"', "[]", "()",
     "(", ")", ".", ",", ":", "*", "-> ", "=", " ", "?", "[", "]", "!", "(a!)", "\n"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(PLACES)), st.lists(WORDS, max_size=8).map("".join) | st.text(max_size=12))
@example("an argument", "a, Tensor b, Tensor data, Tensor state")
@example("a default", "1e999")
@example("a default", "'\\\\ud800'")
@example("a name", "len")
def test_any_text_in_any_place_is_refused_or_harmless(place, text):
    content = changed(lambda c: PLACES[place](c, text))
    try:
        code = emitted(content)
    except DeclarationError:
        return
    check_harmless(code, text)


PIECES = st.text(st.sampled_from("-: []()*!&|'\"\n,#grads0_{}%>\\\t"), max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 12), PIECES), min_size=1, max_size=3))
def test_a_damaged_file_is_refused_or_harmless(edits):
    text = FILE
    for start, length, new in edits:
        start %= len(text) + 1
        text = text[:start] + new + text[start + length :]
    try:
        code = emitted(text)
    except DeclarationError:
        return
    check_harmless(code, text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.text(st.sampled_from("-: []{}&*!|>'\"%@`#,?\n\tab\\U0"), max_size=80))
def test_load_gives_any_text_a_declaration_error(text):
    with pytest.raises(DeclarationError):
        pb.ops.load(text + "\n")


@pytest.mark.parametrize("module", ["os", "builtins", "subprocess", "antigravity", "os.path", "sys"])
@pytest.mark.parametrize("key", ["kernels", "helpers", "composites"])
def test_modules_of_the_standard_library_are_refused_and_not_imported(key, module):
    loaded = set(sys.modules)
    with pytest.raises(DeclarationError, match="standard library") as raised:
        pb.ops.load(yaml.safe_dump(PLAIN | {key: module}, sort_keys=False))
    assert raised.value.line > 0
    assert "antigravity" not in set(sys.modules) - loaded


def test_nothing_is_imported_while_something_is_wrong(tmp_path, monkeypatch):
    (tmp_path / "imported_too_soon.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    content = PLAIN | dict.fromkeys(("kernels", "helpers", "composites"), "imported_too_soon")
    content["derivatives"] = [{"name": PLAIN["derivatives"][0]["name"], "self": "grad * slef"}]
    with pytest.raises(DeclarationError, match="slef"):
        pb.ops.load(yaml.safe_dump(content, sort_keys=False))
    assert generate_third_party(yaml.safe_dump(PLAIN | {"helpers": "imported_too_soon"}, sort_keys=False))


REFUSED = {
    "a name that formulas are understood by": ("other_of", "zeros_like", "the operator 'zeros_like' has a name"),
    "a name twice": ("other_of", "spence_of", "declared twice"),
    "a namespace of pullback's": ("namespace: hostile", "namespace: sin", "the namespace 'sin'"),
    "a public home": ("alias: dil", "python_module: nn.functional\n    alias: dil", "names a public home"),
    "no module with kernels": ("kernels: scipy.special\n", "", "names no module with kernels"),
    "no module with composites": ("    kernel: hyp0f1\n", "", "names no module with those"),
    "no such area": ("  maps:", "  'a b':", "the area 'a b'"),
    "a hidden attribute": ("kernel: spence", "kernel: __dict__", "names '__dict__'"),
    "a hidden alias": ("alias: dilogarithm", "alias: __getattr__", "names '__getattr__'"),
    "helpers that are nowhere": ("kernels:", "helpers: nowhere.at_all\nkernels:", "no module 'nowhere"),
    "helpers without source": ("kernels:", "helpers: scipy.special._ufuncs\nkernels:", "no Python source"),
    "an alias that is taken": ("alias: dilogarithm", "alias: other_of", "the alias 'other_of' is taken"),
    "an alias that is defined": ("alias: dilogarithm", "alias: spence_of_tangent", "public name 'spence_of_tangent'"),
    "an alias that is imported": ("alias: dilogarithm", "alias: primitive", "public name 'primitive'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    old, new, problem = REFUSED[case]
    assert old in FILE
    text = FILE.replace(old, new)
    if case == "no module with composites":
        text = text[: text.index("derivatives:")]
    with pytest.raises(DeclarationError) as raised:
        emitted(text)
    assert problem in str(raised.value)
    assert raised.value.line > 0


@pytest.mark.parametrize(
    ("name", "hint"),
    [("cbrtt", "Did you mean 'cbrt'"), ("linalg.invv", "Did you mean 'inv'"), ("float64", ""), ("linalg", "")],
)
def test_a_numpy_name_that_numpy_does_not_have_is_refused(name, hint):
    with pytest.raises(DeclarationError, match=rf"names numpy\.{name}, which is not a function of NumPy\. {hint}"):
        emitted(FILE.replace("spacing", name))


def test_an_argument_that_has_the_name_of_what_generated_code_uses_is_refused():
    text = FILE.replace("str mode", "str node").replace("if mode", "if node")
    with pytest.raises(DeclarationError, match=r"the name 'node' means something else in generated code\. Rename it"):
        emitted(text)


WITHOUT_GRADIENT = [
    "0.5", "log(self)", "other_of(self, self)", "0", "None", "zeros_like(self)", "zeros(self.shape)",
    "self if True else grad", "grad if self.ndim else self", "self if grad.ndim else self",  # dead branches
    "grad.shape", "self * grad.ndim", "other_of(self, other=grad.dtype)",  # an attribute
    "where(grad > 0, self, 0)", "grad == 0", "not grad", "grad and self", "self[grad]", "(grad, self)[1]",
    "'grad'", "other_of(self, 'grad')", "grad_input_mask[0] * self",
    "ones_like(grad) * self", "full_like(grad, 1.0)", "empty_like(grad)", "grad.new_ones((2,))", "rand_like(grad)",
    "gt(grad, 0) * self", "expand_as(self, grad)", "self.reshape_as(grad)", "zeros_like(grad) + exp(self)",
]  # fmt: skip


@pytest.mark.parametrize("formula", WITHOUT_GRADIENT)
def test_a_formula_that_does_not_name_its_gradient_is_refused(formula):
    with pytest.raises(DeclarationError) as raised:
        emitted(changed(lambda content: content["derivatives"][0].update(self=formula)))
    assert "does not name the incoming gradient" in raised.value.problem or formula == "'grad'"
    assert "`zeros_like(grad)` for a slope of 0" in raised.value.remedy or formula == "'grad'"
    assert raised.value.line == 15


WITH_GRADIENT = [
    "zeros_like(grad)", "-grad", "grad[..., None][0]", "grad if self.ndim else zeros_like(grad)",
    "where(self > 0, grad, 0)", "other_of(self, other=(1, [grad]))", "(2 * grad).sum()",
    "grad.expand_as(self)", "-zeros_like(grad * self)", "zeros_like(grad) + grad", "ones_like(self) * grad",
]  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "problem", "remedy"),
    [
        ("grad,", "the gradient of 'self' is several values, `grad,`", "Write its gradient alone"),
        ("[grad]", "the gradient of 'self' is several values, `[grad]`", "Write its gradient alone"),
        ("grad if self.ndim else (grad, 0)", "the gradient of 'self' is several values, `(grad, 0)`", "Write its"),
        ("grads", "the gradient of 'self' is several values, `grads`", "Write its gradient alone"),
        ("grads[-1]", "formula uses grads, but the function has one output", "Write grad"),
        ("grads[0] * self", "formula uses grads, but the function has one output", "Write grad"),
        ("other_of(grads, self)", "formula uses grads, but the function has one output", "Write grad"),
    ],
)  # fmt: skip
def test_what_is_no_single_gradient_is_refused(formula, problem, remedy):
    with pytest.raises(DeclarationError) as raised:
        emitted(changed(lambda content: content["derivatives"][0].update(self=formula)))
    assert raised.value.problem.startswith(problem)
    assert raised.value.remedy.startswith(remedy)
    assert raised.value.line == 15


def test_a_tangent_made_of_a_gradient_that_nobody_has_derived_is_refused():
    def not_derived(content):
        content["derivatives"][0].update(self="not_implemented", result="auto_element_wise")

    with pytest.raises(DeclarationError, match="gradient of 'self', which is not_implemented") as raised:
        emitted(changed(not_derived))
    assert raised.value.line == 16
    assert "Write the tangent, or `result: not_implemented`" in raised.value.remedy


@pytest.mark.parametrize("key", ["node", "name", "output_differentiability", "recompute"])
def test_an_input_that_has_the_name_of_a_key_is_refused_as_such(key):
    text = f"""\
namespace: keys
kernels: keys_kernels
native_functions:
- func: twice(Tensor {key}) -> Tensor
  kernel: twice
derivatives:
- name: twice(Tensor {key}) -> Tensor
  result: not_implemented
"""
    with pytest.raises(DeclarationError, match=rf"input '{key}' has the name of a key of its entry\. Rename it"):
        emitted(text)


@pytest.mark.parametrize("formula", WITH_GRADIENT)
def test_a_formula_that_names_its_gradient_is_taken(formula):
    assert emitted(changed(lambda content: content["derivatives"][0].update(self=formula)))


NOT_LINEAR = [
    "grad + 1", "self - self * grad", "grad * grad", "grad * exp(self) * grad", "grad**2", "2**grad", "1 / grad",
    "grad % 2", "(grad - self) * 2", "-(grad * grad)", "grad if self.ndim else grad + self", "sum(grad @ grad)",
]  # fmt: skip


@pytest.mark.parametrize("formula", NOT_LINEAR)
def test_a_formula_that_is_not_linear_in_its_gradient_is_refused(formula):
    with pytest.raises(DeclarationError, match="is not linear in the incoming gradient") as raised:
        emitted(changed(lambda content: content["derivatives"][0].update(self=formula)))
    assert raised.value.line == 15


def test_a_tangent_that_is_not_linear_is_refused():
    with pytest.raises(DeclarationError, match="`self_t \\* self_t` is not linear in the tangents"):
        emitted(changed(lambda content: content["derivatives"][0].update(result="exp(self_p) * (self_t * self_t)")))


def test_each_gradient_of_a_tuple_names_the_incoming_one():
    entry = {"name": PLAIN["derivatives"][1]["name"], "self, other": "(grad * other, log(self))"}
    with pytest.raises(DeclarationError, match="the gradient of 'other', `log\\(self\\)`, does not name"):
        emitted(changed(lambda content: content["derivatives"].__setitem__(1, entry)))
    entry["self, other"] = "(grad * other, grad)"
    assert emitted(changed(lambda content: content["derivatives"].__setitem__(1, entry)))


@pytest.mark.parametrize("tangent", ["self_p", "result * 2", "self_t.shape", "self_t if self_p.ndim else self_p", "0"])
def test_a_tangent_that_names_no_tangent_is_refused(tangent):
    with pytest.raises(DeclarationError, match="names no tangent of an input") as raised:
        emitted(changed(lambda content: content["derivatives"][0].update(result=tangent)))
    assert "Write one of: self_t; or `zeros_like(result)`" in raised.value.remedy
    assert raised.value.line == 16
    emitted(
        changed(
            lambda content: content["derivatives"][0].update(result="self_t if self_p.ndim else zeros_like(result)")
        )
    )


OF_HELPERS = """\
namespace: of_helpers
kernels: of_helpers_kernels
helpers: of_helpers_helpers
native_functions:
- func: total(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor
  kernel: total
derivatives:
- name: total(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor
  self: expand_reduced(grad, self.shape, dim, keepdim)
  result: auto_linear
"""
SUM = "import numpy as np\ndef total(x, dim=None, keepdim=False): return np.sum(x, dim, keepdims=keepdim)\n"


@pytest.fixture
def of_helpers(tmp_path, monkeypatch):
    """A function (text, source of its helpers) -> the loaded operators; every text has modules of its own."""
    monkeypatch.syspath_prepend(tmp_path)

    def loaded(text, helpers="", kernels=SUM, number=iter(range(100))):  # noqa: B008 - one for all calls of a test
        name = f"of_helpers_{tmp_path.name.rstrip('_0')}_{next(number)}"
        (tmp_path / f"{name}_kernels.py").write_text(kernels)
        (tmp_path / f"{name}_helpers.py").write_text(helpers)
        return pb.ops.load(text.replace("of_helpers", name))

    return loaded


def test_a_file_may_call_pullbacks_helpers(of_helpers):
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    total = of_helpers(OF_HELPERS).total
    assert pb.autograd.gradcheck(lambda x: total(x, 1), x, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(lambda x: total(x, 0, True) ** 2, x)


def test_a_helper_of_the_files_own_is_called_before_pullbacks(of_helpers):
    helpers = "def expand_reduced(grad, shape, dim, keepdim, *, ops):\n    return 7 * ops.expand(grad, shape)\n"
    x = pb.ones(2, requires_grad=True)
    of_helpers(OF_HELPERS, helpers).total(x).backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_an_operator_of_the_files_is_called_before_a_helper_of_pullbacks(of_helpers):
    text = OF_HELPERS.replace("total(Tensor self", "scaled(Tensor self")
    text = text.replace("self.shape, dim, keepdim)", "self.shape, dim, keepdim) * scaled(self)")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    of_helpers(text).scaled(x).backward()
    assert x.grad.tolist() == [3.0, 3.0]


MINE = """\
namespace: of_helpers
kernels: of_helpers_kernels
native_functions:
- func: sin(Tensor self) -> Tensor
  kernel: sin
  tags: pointwise
- func: sin.scaled(Tensor self, float factor) -> Tensor
  kernel: scaled_sin
  tags: pointwise
- func: mul(Tensor self, Tensor other) -> Tensor
  kernel: seven_times
  alias: product, special_expit
  tags: pointwise
derivatives:
- name: sin(Tensor self) -> Tensor
  self: grad * cos(self)
  result: auto_element_wise
- name: sin.scaled(Tensor self, float factor) -> Tensor
  self: cos(factor * self).product(grad) * (factor / 7)
  result: auto_element_wise
- name: mul(Tensor self, Tensor other) -> Tensor
  self: mul(grad, other)
  other: special_expit(self, grad)
  result: multiply(7, multiply(self_t, other_p)) + multiply(7, self_p).multiply(other_t)
"""
OF_MINE = """\
import numpy as np
from numpy import sin
def scaled_sin(x, factor): return np.sin(factor * x)
def seven_times(x, y): return 7 * x * y
"""


def test_an_operator_may_have_the_name_of_one_of_pullbacks_and_formulas_then_mean_it(of_helpers):
    mine = of_helpers(MINE, kernels=OF_MINE)
    x, y = pb.tensor([0.5, 2.0], requires_grad=True), pb.tensor([3.0, 1.0], requires_grad=True)
    assert mine.mul(x, y).tolist() == [10.5, 14.0]
    assert pb.mul(x, y).tolist() == [1.5, 2.0]
    for function in (mine.sin, lambda x: mine.sin(x, 2.0)):
        assert pb.autograd.gradcheck(function, x, check_forward_ad=True)
        assert pb.autograd.gradgradcheck(function, x)
    assert pb.autograd.gradcheck(mine.product, (x, y), check_forward_ad=True)
    mapped = pb.vmap(mine.sin)(x.detach())
    assert mapped.tolist() == pb.sin(x).tolist()


def test_formulas_helpers_and_composites_may_call_aliases(of_helpers):
    more = "true_divide(grad, special_expit(self)).clip(0, 9) + by_alias(grad)"
    text = OF_HELPERS.replace("self: expand", f"self: {more} + expand")
    helpers = "def by_alias(grad, *, ops):\n    return ops.absolute(ops.special_round(-grad))\n"
    x = pb.zeros(2, requires_grad=True)
    of_helpers(text, helpers).total(x).backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_one_module_may_have_kernels_helpers_and_composites(of_helpers):
    text = OF_HELPERS.replace("self.shape, dim, keepdim)", "self.shape, dim, keepdim) * one(self)")
    text = text.replace("of_helpers_kernels", "of_helpers_helpers\ncomposites: of_helpers_helpers")
    text = text.replace("derivatives:", "- func: twice(Tensor self) -> Tensor\nderivatives:")
    source = "def one(x, *, ops):\n    return 1\n\ndef twice(x, *, ops):\n    return x + x\n"
    mine = of_helpers(text, SUM + source)
    assert mine.twice(pb.ones(2)).tolist() == [2.0, 2.0]
    assert pb.autograd.gradcheck(mine.total, pb.ones(2, requires_grad=True))


@pytest.mark.parametrize(
    "written", ["not_implemented", 'not_implemented("spence_of: self")', "not_implemented('spence')"]
)
def test_a_formula_that_nobody_has_derived_may_have_a_name_as_in_pytorchs_files(written):
    party = read_third_party(
        yaml.safe_dump(changed(lambda c: c["derivatives"][0].update(self=written, result=written)), sort_keys=False)
    )
    (spence, _) = party.registry.derivatives.values()
    assert spence.formula_for("self").formula is NOT_IMPLEMENTED
    assert spence.tangents == {"result": NOT_IMPLEMENTED}


@pytest.mark.parametrize(
    ("formula", "remedy"),
    [
        ("grad * at::cos(self)", "Write an operator by its name alone"),
        ("grad.defined() ? grad : self", "Write `a if condition else b`"),
        ("grad && self", "Write `a and b`"),
        ("!grad", "Write `not a`"),
        ("grad * 1.f", "Write the number without its f"),
        ("grad.expand_symint(self.sym_sizes())", "Write expand"),
        ("expand(grad, self.sizes())", "Write x.shape"),
        ("grad * self.dim()", "Write x.ndim"),
        ("grad / M_PI", "Write pi"),
        ("handle_r_to_c(self.scalar_type(), grad)", "Leave it out"),
        ("maybe_multiply(grad, 2)", "Write grad * factor"),
        ("Tensor()", "Write zeros_like(grad)"),
    ],
)
def test_what_pytorchs_files_say_in_cpp_is_refused_with_what_to_write(formula, remedy):
    with pytest.raises(DeclarationError) as raised:
        emitted(changed(lambda content: content["derivatives"][0].update(self=formula)))
    assert raised.value.remedy.startswith(remedy)


def test_a_namespace_in_a_name_and_a_default_of_cpp_are_refused_with_what_to_write():
    with pytest.raises(DeclarationError, match="the namespace is given once, under `namespace:`"):
        emitted(FILE.replace("func: spence_of", "func: hostile::spence_of"))
    with pytest.raises(DeclarationError, match=r"the default 'false' of argument 'mode'\. Write False"):
        emitted(FILE.replace('str mode="plain"', "bool mode=false"))


def test_an_argument_may_have_the_name_of_a_helper_of_pullbacks_that_is_not_called(of_helpers):
    assert of_helpers(OF_HELPERS.replace("bool keepdim", "bool scaled").replace("keepdim)\n", "scaled)\n"))
    with pytest.raises(DeclarationError, match=r"'expand_reduced' means something else in generated code\. Rename it"):
        of_helpers(OF_HELPERS.replace("bool keepdim", "bool expand_reduced").replace("keepdim)\n", "False)\n"))


def test_the_namespace_is_the_files_name_where_it_has_none(tmp_path):
    for name, namespace in {"my-ops.yaml": "my_ops", "2.yaml": "custom", "import.yaml": "custom"}.items():
        path = tmp_path / name
        path.write_text(FILE.replace("namespace: hostile\n", ""))
        party = read_third_party(path)
        assert (party.namespace, party.source) == (namespace, name)


def test_the_command_writes_a_module_that_stands_alone(tmp_path, capsys):
    declarations, output = tmp_path / "hostile.yaml", tmp_path / "written_ops.py"
    text = FILE.replace("namespace: hostile", "namespace: written").replace(', str mode="plain"', "")
    declarations.write_text(text.replace(' if mode == "plain" else -grad', ""))
    assert main(["codegen", str(declarations), "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"wrote {output}\n"
    declarations.unlink()
    program = """
import sys
import pullback as pb
import written_ops
assert not [name for name in sys.modules if name.startswith(("pullback.codegen", "yaml"))]
x = pb.tensor(0.5, dtype=pb.float64, requires_grad=True)
written_ops.dilogarithm(x).backward()
print(x.grad.item())
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(-1.3862943611198906)


@pytest.mark.parametrize("entry", ["-m", "script"])
def test_the_command_finds_modules_of_the_working_folder_however_it_is_called(entry, tmp_path):
    (tmp_path / "own_kernels.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "own.yaml").write_text(
        "kernels: own_kernels\nnative_functions:\n- func: twice(Tensor self) -> Tensor\n  kernel: twice\n"
        "  doc: Two times self.\nderivatives:\n- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n"
        "  result: auto_linear\n"
    )
    script = tmp_path / "bin" / "pullback"  # what installers write for a console script
    script.parent.mkdir()
    script.write_text("import sys\nfrom pullback.__main__ import main\nsys.exit(main())\n")
    command = [sys.executable, "-m", "pullback"] if entry == "-m" else [sys.executable, str(script)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "codegen", "own.yaml", "-o", "written.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "written.py").exists()


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    declarations, output = tmp_path / "bad.yaml", tmp_path / "bad.py"
    declarations.write_text(FILE.replace("log(self)", "logg(self)"))
    assert main(["codegen", str(declarations), "-o", str(output)]) == 1
    assert "unknown function 'logg'" in capsys.readouterr().err
    assert not output.exists()
    assert main(["codegen", str(tmp_path / "absent.yaml"), "-o", str(output)]) == 1
    assert "absent.yaml" in capsys.readouterr().err


def test_without_ruff_the_text_is_left_as_it_was_emitted(monkeypatch):
    monkeypatch.setattr(formatting, "is_available", lambda: False)
    monkeypatch.setattr("pullback.codegen.third_party.is_available", lambda: False)
    assert generate_third_party(FILE) == emitted(FILE)
