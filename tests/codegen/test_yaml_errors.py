"""Every refusal of the front end names file, line, entry, problem and remedy; no file breaks it in another way."""

import ast
import contextlib
import pickle
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pullback.codegen.check import load_registry, load_third_party
from pullback.codegen.errors import DeclarationError, nearest, shorten
from pullback.codegen.formula import Formula
from pullback.codegen.model import Registry
from pullback.codegen.yaml_source import YamlMap, YamlText, read

HELPERS = {"value_selecting_backward": "pullback.ops.formulas.reductions", "atan2_backward": "pullback.ops.formulas.x"}
NATIVES = """\
pointwise:
  - func: sin(Tensor self) -> Tensor
    variants: function, method, inplace, out
    kernel: sin
    numpy: sin
    tags: pointwise
    doc: The sine.
  - func: cos(Tensor self) -> Tensor
    kernel: cos
  - func: conj(Tensor self) -> Tensor
    kernel: conj
  - func: mul(Tensor self, Tensor other) -> Tensor
    kernel: mul
    alias: multiply
  - func: square(Tensor self) -> Tensor
  - func: sign(Tensor self) -> Tensor
    kernel: sign
    tags: nondifferentiable
  - func: fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)
    kernel: fill_
reductions:
  - func: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    kernel: max_dim
  - func: median(Tensor self) -> (Tensor, Tensor)
    kernel: median
joining:
  - func: unbind(Tensor(a) self, int dim=0) -> Tensor(a)[]
    kernel: unbind
  - func: cat(Tensor[] tensors, int dim=0) -> Tensor
    kernel: cat
"""
DERIVATIVES = """\
- name: sin(Tensor self) -> Tensor
  self: grad * conj(cos(self))
  result: auto_element_wise
- name: mul(Tensor self, Tensor other) -> Tensor
  self: grad * conj(other)
  other: grad * conj(self)
  result: self_t * other_p + other_t * self_p
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_backward(grad, dim, indices, self.shape, keepdim)
"""
SIN = "- name: sin(Tensor self) -> Tensor\n"
MUL = "- name: mul(Tensor self, Tensor other) -> Tensor\n"
MAX = "- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n"
MEDIAN = "- name: median(Tensor self) -> (Tensor, Tensor)\n"
UNBIND = "- name: unbind(Tensor(a) self, int dim=0) -> Tensor(a)[]\n"


def marked_line(text: str) -> int:
    """The number of the line that ends in `#!`, a comment in YAML."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.endswith("#!")), 0)


def refusal(tmp_path, natives: str, derivatives: str, helpers: dict[str, str] = HELPERS) -> DeclarationError:
    """Load the two texts as files; the error must be where `#!` stands."""
    native_path, derivatives_path = tmp_path / "native_functions.yaml", tmp_path / "derivatives.yaml"
    native_path.write_text(natives)
    derivatives_path.write_text(derivatives)
    with pytest.raises(DeclarationError) as raised:
        load_registry(native_path, derivatives_path, helpers)
    error = raised.value
    in_natives = marked_line(natives) > 0
    assert error.file == str(native_path if in_natives else derivatives_path)
    assert error.line == marked_line(natives if in_natives else derivatives)
    assert str(error).startswith(f"{error.file}:{error.line}")
    assert str(error).endswith(f": {error.problem}. {error.remedy}.")
    assert f"`{shorten(error.entry)}`" in str(error) or not error.entry
    return error


def test_the_files_of_these_tests_are_accepted():
    registry = load_registry(NATIVES, DERIVATIVES, HELPERS)
    assert len(registry.natives) == 11
    assert list(registry.derivatives) == ["sin", "mul", "max_dim"]


DERIVATIVE_REFUSALS = {
    "unknown argument": (
        SIN + "  self: grad * slef  #!",
        "sin(Tensor self) -> Tensor",
        "unknown argument 'slef'",
        "Did you mean 'self'? Write",
    ),
    "unknown argument in a tangent": (
        SIN + "  self: grad\n  result: slef_t  #!",
        "sin(",
        "'slef_t'",
        "Did you mean 'self_t'?",
    ),
    "gradient in a tangent": (
        SIN + "  self: grad\n  result: grad * self_t  #!",
        "sin(",
        "argument 'grad'",
        "Write one of",
    ),
    "tangent of an index": (
        MUL + "  self: grad\n  other: non_differentiable\n  result: other_t  #!",
        "mul(",
        "unknown argument 'other_t'",
        "other_p",
    ),
    "operator not declared": (SIN + "  self: grad * coss(self)  #!", "sin(", "unknown function 'coss'", "mean 'cos'"),
    "operator that writes": (
        SIN + "  self: fill_(grad, 0)  #!",
        "sin(",
        "unknown function 'fill_'",
        "declared operator",
    ),
    "input without formula": (
        MUL.replace("\n", "  #!\n") + "  self: grad",
        "mul(",
        "no formula for the differentiable input 'other'",
        "non_differentiable",
    ),
    "no derivative by that name": (
        "- name: sine(Tensor self) -> Tensor  #!\n  self: grad",
        "sine(",
        "no function 'sine'",
        "Did you mean `sin(Tensor self)",
    ),
    "no such overload": (
        "- name: max.other(Tensor self) -> Tensor  #!\n  self: grad",
        "max.other(",
        "no function 'max.other'",
        "`max.dim(Tensor",
    ),
    "signature differs": (
        "- name: sin(Tensor x) -> Tensor  #!\n  x: grad",
        "sin(Tensor x)",
        "`sin(Tensor x) -> Tensor` differs from the declared one, `sin(Tensor self) -> Tensor`",
        "native_functions.yaml:2",
    ),
    "composite with a derivative": (
        "- name: square(Tensor self) -> Tensor  #!\n  self: grad",
        "square(",
        "'square' is composite",
        "`kernel`",
    ),
    "nondifferentiable with a derivative": (
        "- name: sign(Tensor self) -> Tensor  #!\n  self: grad",
        "sign(",
        "tagged nondifferentiable",
        "Remove",
    ),
    "twice": (
        SIN + "  self: grad\n" + SIN.replace("\n", "  #!\n") + "  self: grad",
        "sin(",
        "derivative already (line 1)",
        "Remove",
    ),
    "duplicate key": (SIN + "  self: grad\n  self: -grad  #!", "", "duplicate key 'self' (first on line 2)", "Remove"),
    "two formulas": (
        MUL + "  self: grad\n  self, other: (grad, grad)  #!",
        "mul(",
        "two formulas for the argument 'self'",
        "Remove",
    ),
    "unknown key": (SIN + "  slef: grad  #!", "sin(", "unknown key 'slef'", "Did you mean 'self'?"),
    "formula for a number": (
        MAX + "  self: grad\n  dim: grad  #!",
        "max.dim(",
        "'dim', which is int, not a Tensor",
        "Remove",
    ),
    "a formula that is a list": (SIN + "  self: [grad]  #!", "sin(", "'self' is a list", "in quotes"),
    "how to compute again what no formula uses": (
        SIN + "  self: grad * cos(self)\n  recompute: sin(self)  #!",
        "sin(",
        "which no formula uses",
        "Remove the line",
    ),
    "what is computed again from itself": (
        SIN + "  self: grad * result\n  recompute: sin(result)  #!",
        "sin(",
        "'result'",
        "",
    ),
    "an empty formula": (SIN + "  self:  #!", "sin(", "'self' is nothing", "Write `self: text`"),
    "result of several outputs": (
        MAX + "  self: grad\n  result: self_t  #!",
        "max.dim(",
        "tangent for 'result', but the function has 2",
        "`values:`",
    ),
    "tangent of an index output": (
        MAX + "  output_differentiability: [True, False]\n  self: grad\n  indices: self_t  #!",
        "max.dim(",
        "output 'indices', which is not differentiable",
        "output_differentiability",
    ),
    "tangent of an output whose gradient no formula uses": (
        MEDIAN + "  self: grad\n  result1: self_t  #!",
        "median(",
        "output 'result1', which is not differentiable",
        "Use grad_result1 in the formulas",
    ),
    "a differentiable output whose gradient is not used": (
        MEDIAN + "  output_differentiability: [True, True]\n  self: grad  #!",
        "median(",
        "the gradient of 'self' ignores that of the output 'result1', which is differentiable",
        "Use grad_result1; or, if 'result1' does not move with 'self', write its tangent",
    ),
    "a tangent of an input whose gradient is not used": (
        MEDIAN + "  output_differentiability: [True, True]\n  result0: self_t\n  result1: self_t\n  self: grad  #!",
        "median(",
        "ignores that of the output 'result1', whose tangent uses self_t",
        "take self_t out of the tangent",
    ),
    "a gradient by number, the first one not used": (
        "- name: median(Tensor self) -> (Tensor, Tensor)  #!\n  self: grads[1]",
        "median(",
        "no formula uses the gradient of 'result0', and others are called by number",
        "Write `output_differentiability: [False, True]`",
    ),
    "a tangent without the term of an input": (
        MUL + "  self: grad * other\n  other: grad * self\n  result: self_t * other_p  #!",
        "mul(",
        "the tangent of 'result' leaves out other_t",
        "Add the term of other_t",
    ),
    "flags of the wrong number": (
        SIN + "  self: grad\n  output_differentiability: [True, False]  #!",
        "sin(",
        "2 flags for 1 outputs",
        "one True or False",
    ),
    "flags that are none": (
        SIN + "  self: grad\n  output_differentiability: [1]  #!",
        "sin(",
        "not a list of True and False",
        "[True, False]",
    ),
    "no output differentiable": (
        SIN + "  self: grad\n  output_differentiability: [False]  #!",
        "sin(",
        "no output is differentiable",
        "nondifferentiable",
    ),
    "no input differentiable": (
        SIN.replace("\n", "  #!\n") + "  self: non_differentiable",
        "sin(",
        "no input is differentiable",
        "nondifferentiable",
    ),
    "grads out of range": (
        MEDIAN + "  self: grads[2]  #!",
        "median(",
        "grads[2], but the function has 2",
        "grads[0] to grads[1]",
    ),
    "one gradient of a list": (
        UNBIND + "  self: grad * 2  #!",
        "unbind(",
        "unknown argument 'grad'",
        "Did you mean 'grads'?",
    ),
    "attribute of a number": (
        MAX + "  self: grad * dim.shape  #!",
        "max.dim(",
        ".shape of 'dim', which is int",
        "dim alone",
    ),
    "tuple of the wrong length": (
        MUL + "  self, other: (grad, grad, grad)  #!",
        "mul(",
        "tuple of 3 for 2 inputs",
        "one item an input",
    ),
    "element-wise tangent of two inputs": (
        MUL + "  self: grad\n  other: grad\n  result: auto_element_wise  #!",
        "mul(",
        "one differentiable input, here are 2",
        "sum",
    ),
    "automatic tangent of two outputs": (
        MEDIAN + "  self: grad + grads[1]\n  result0: auto_linear  #!",
        "median(",
        "functions of one output",
        "each output",
    ),
    "tangent word misspelt": (
        SIN + "  self: grad\n  result: auto_elementwise  #!",
        "sin(",
        "unknown word 'auto_elementwise'",
        "Write auto_element_wise",
    ),
    "tangent word as a formula": (
        SIN + "  self: auto_linear  #!",
        "sin(",
        "stands for the gradient of 'self'",
        "`result:`",
    ),
    "name of a node": (
        SIN + "  self: grad\n  node: sin_backward  #!",
        "sin(",
        "'sin_backward' is not the name of a node",
        "`node: MaxBackward1`",
    ),
    "name of another's node": (
        SIN.replace("\n", "  #!\n") + "  node: MulBackward0\n  self: grad\n" + MUL + "  self: grad\n  other: grad",
        "sin(",
        "the node's name 'MulBackward0' is that of 'mul' too",
        "a name of its own under `node:`",
    ),
    "entry without a name": ("- self: grad  #!", "", "an entry has no 'name'", "- name:"),
    "entry that is no mapping": ("- sin  #!", "", "expected an entry, found a text", "- name:"),
    "no list": ("sin: grad  #!", "", "expected a list of entries, found a mapping", "- name:"),
    "schema": (
        "- name: sin(Tensr self) -> Tensor  #!\n  self: grad",
        "sin(Tensr",
        "unknown type 'Tensr'",
        "Did you mean 'Tensor'?",
    ),
    "hostile": (
        SIN + "  self: __import__('os')  #!",
        "sin(",
        "unknown function '__import__'",
        "Call a declared operator",
    ),
    "tag": (
        SIN + "  self: !!python/object/apply:os.system ['true']  #!",
        "",
        "tag 'python/object/apply:os.system'",
        "Remove",
    ),
    "alias": ("- name: &a sin(Tensor self) -> Tensor\n  self: *a  #!", "", "an alias", "quotes"),
    "tab": (SIN + "\tself: grad  #!", "", "malformed YAML at column 1", "Indent with spaces"),
    "colon": (SIN + "  self: grad[0: 1]  #!", "", "malformed YAML at column 15", "quotes"),
    "two documents": (SIN + "  self: grad\n---  #!\n- a", "", "malformed YAML", "quotes"),
    "depth": ("- name:\n  - " + "[" * 20 + "]" * 20 + "  #!", "", "nested more than", "quotes"),
    "key that is a list": ("- [a, b]: c  #!", "", "a key is a list", "name: value"),
}


@pytest.mark.parametrize("case", DERIVATIVE_REFUSALS)
def test_refuses_a_derivative(case, tmp_path):
    derivatives, entry, problem, remedy = DERIVATIVE_REFUSALS[case]
    error = refusal(tmp_path, NATIVES, derivatives)
    assert error.entry.startswith(entry)
    assert bool(error.entry) == bool(entry)
    assert problem in error.problem
    assert remedy in error.remedy


NATIVE_REFUSALS = {
    "both kernel and composite": (
        "- func: f(Tensor self) -> Tensor\n  kernel: f\n  composite: f  #!",
        "both a kernel and a composite",
        "Keep `kernel`",
    ),
    "unknown variant": (
        "- func: f(Tensor self) -> Tensor\n  variants: in_place  #!",
        "unknown word 'in_place'",
        "'inplace'",
    ),
    "unknown tag": (
        "- func: f(Tensor self) -> Tensor\n  tags: reductoin  #!",
        "unknown word 'reductoin'",
        "'reduction'",
    ),
    "along what is no argument": (
        "- func: f(Tensor self, int dim) -> Tensor\n  kernel: f\n  along: dmi  #!",
        "names 'dmi', which is not an argument of integers",
        "'dim'",
    ),
    "along a tensor": (
        "- func: f(Tensor self, int dim) -> Tensor\n  kernel: f\n  along: self  #!",
        "names 'self', which is not an argument of integers",
        "Write one of: dim",
    ),
    "tag for kernels of a composite": (
        "- func: f(Tensor self) -> Tensor\n  tags: combines  #!",
        "tells array types by `tags` how to run it, but is composite",
        "the operators that it calls",
    ),
    "along of a composite": (
        "- func: f(Tensor self, int dim) -> Tensor\n  along: dim  #!",
        "tells array types by `along` how to run it, but is composite",
        "the operators that it calls",
    ),
    "unknown type": ("- func: f(Tensr self) -> Tensor  #!", "unknown type 'Tensr'", "Did you mean 'Tensor'?"),
    "unknown key": (
        "- func: f(Tensor self) -> Tensor\n  kernle: f  #!",
        "unknown key 'kernle'",
        "Did you mean 'kernel'?",
    ),
    "duplicate": (
        "- func: f(Tensor self) -> Tensor\n- func: f(Tensor x, int n) -> Tensor  #!",
        "'f' is declared twice",
        "f.other(...)",
    ),
    "duplicate as an identifier": (
        "- func: f.a(Tensor self) -> Tensor\n- func: f_a(Tensor x) -> Tensor  #!",
        "'f_a' is declared twice",
        "Remove",
    ),
    "internal method": (
        "- func: f(Tensor self) -> Tensor\n  variants: method\n  tags: internal  #!",
        "tagged internal, but has a method",
        "Remove",
    ),
    "pointwise with a list": (
        "- func: f(Tensor[] xs) -> Tensor\n  kernel: k\n  tags: pointwise  #!",
        "tagged pointwise, but takes 'xs', which is Tensor[]",
        "Remove the tag",
    ),
    "out variant of a view": (
        "- func: f(Tensor(a) self) -> Tensor(a)\n  variants: method, out  #!",
        "variant out, but returns a view",
        "Remove",
    ),
    "inplace variant of two outputs": (
        "- func: f(Tensor self) -> (Tensor, Tensor)\n  variants: inplace  #!",
        "does not return one Tensor",
        "Remove `inplace`",
    ),
    "method without a Tensor": (
        "- func: f(int n) -> Tensor\n  variants: method  #!",
        "method or inplace variant",
        "`self`",
    ),
    "out variant of a number": (
        "- func: f(Tensor x) -> int\n  variants: out  #!",
        "does not return Tensors",
        "`out`",
    ),
    "out variant beside out": (
        "- func: f(Tensor x, Tensor out) -> Tensor\n  variants: out  #!",
        "an argument named `out`",
        "Remove the argument",
    ),
    "view by tag alone": ("- func: f(Tensor self) -> Tensor\n  tags: view  #!", "returns no alias", "`Tensor(a) self`"),
    "variant twice": (
        "- func: f(Tensor self) -> Tensor\n  variants: method, method  #!",
        "names 'method' twice",
        "Remove",
    ),
    "empty word": ("- func: f(Tensor self) -> Tensor\n  alias: a, , b  #!", "an empty item", "`alias: one, two`"),
    "kernel that is no name": (
        "- func: f(Tensor self) -> Tensor\n  kernel: os.system  #!",
        "not one Python name",
        "Write",
    ),
    "module that is no name": (
        "- func: f(Tensor self) -> Tensor\n  python_module: a-b  #!",
        "not a dotted name",
        "nn.functional",
    ),
    "alias of another": (
        "- func: f(Tensor self) -> Tensor\n- func: g(Tensor self) -> Tensor  #!\n  alias: f",
        "taken by the operator 'f'",
        "rename",
    ),
    "alias of another in its home": (
        "- func: s_f(Tensor self) -> Tensor\n  python_module: s\n- func: g(Tensor self) -> Tensor  #!\n  alias: s.f",
        "taken by the operator 's_f'",
        "rename",
    ),
    "helper of that name": (
        "- func: atan2_backward(Tensor self) -> Tensor  #!",
        "the name of a helper",
        "Rename the helper",
    ),
}


@pytest.mark.parametrize("case", NATIVE_REFUSALS)
def test_refuses_a_function(case, tmp_path):
    natives, problem, remedy = NATIVE_REFUSALS[case]
    error = refusal(tmp_path, "pointwise:\n" + textwrap.indent(natives, "  "), DERIVATIVES)
    assert "(" in error.entry
    assert problem in error.problem
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("natives", "problem", "remedy"),
    [
        ("pointwize:  #!\n  - func: f() -> ()", "unknown area 'pointwize'", "Did you mean 'pointwise'?"),
        ("- func: f() -> ()  #!", "expected a mapping from area to entries, found a list", "`pointwise:`"),
        ("pointwise: text  #!", "expected a list of entries, found a text", "- func:"),
        ("pointwise:\n  - fun: f() -> ()  #!", "an entry has no 'func' (found 'fun'", "- func:"),
    ],
)
def test_refuses_a_file_of_another_shape(natives, problem, remedy, tmp_path):
    error = refusal(tmp_path, natives + "\n", DERIVATIVES)
    assert problem in error.problem
    assert remedy in error.remedy


def test_an_empty_file_and_one_that_is_no_text_are_refused(tmp_path):
    path = tmp_path / "ops.yaml"
    for content, problem in (
        (b"", "empty"),
        (b"# nothing\n", "empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"a: \x07\n", "YAML"),
    ):
        path.write_bytes(content)
        with pytest.raises(DeclarationError, match=problem) as raised:
            read(path)
        assert raised.value.file == str(path)
    with pytest.raises(DeclarationError, match=r"ops\.yaml:2: malformed YAML: unacceptable character #x0007"):
        read("a: b\nc: \x07\n", file="ops.yaml")
    with pytest.raises(FileNotFoundError, match=r"absent\.yaml"):
        read(tmp_path / "absent.yaml")
    with pytest.raises(FileNotFoundError) as raised:
        read("folder/absent.yaml")
    assert "Path(__file__).with_name('absent.yaml')" in raised.value.__notes__[0]


def test_an_area_without_entries_yet_is_fine():
    assert load_registry("pointwise:\nlinalg:\n", "[]\n", {}).natives == []


def test_scalars_stay_the_text_that_was_written():
    root = read("on: 0x10\nno: 2001-01-01\nnull: ~\nquoted: 'yes'\n", file="ops.yaml").root
    assert isinstance(root, YamlMap)
    texts = {key: value.text for key, value in root.items.items() if isinstance(value, YamlText)}
    assert texts == {"on": "0x10", "no": "2001-01-01", "null": "", "quoted": "yes"}
    assert root.lines == {"on": 1, "no": 2, "null": 3, "quoted": 4}


def test_an_error_can_be_pickled_and_read_by_its_fields():
    error = DeclarationError("derivatives.yaml", 12, "sin(Tensor self) -> Tensor", "formula names 'slef'", "Write self")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.file, copy.line, copy.entry, copy.problem, copy.remedy) == error.__reduce__()[1]
    assert str(copy) == "derivatives.yaml:12, entry `sin(Tensor self) -> Tensor`: formula names 'slef'. Write self."
    assert isinstance(copy, ValueError)
    assert nearest("xyz", ["self"]) is None


THIRD_PARTY = """\
namespace: geo
kernels: geo.kernels
helpers: geo.formulas
composites: geo.composites
native_functions:
  - func: geo_arc(Tensor self, Tensor other) -> Tensor
    kernel: arc
derivatives:
  - name: geo_arc(Tensor self, Tensor other) -> Tensor
    self: grad * cos(other)
    other: arc_backward(grad, self, other)
"""
KNOWN = load_registry(NATIVES, DERIVATIVES, HELPERS)


def test_a_third_partys_file_may_call_known_operators_and_its_own_helpers():
    registry = load_third_party(THIRD_PARTY, KNOWN, {"arc_backward": "geo.formulas"})
    assert (registry.namespace, registry.kernels) == ("geo", "geo.kernels")
    assert (registry.helpers, registry.composites) == ("geo.formulas", "geo.composites")
    assert [(native.name, native.area) for native in registry.natives] == [("geo_arc", "geo")]
    by_area = THIRD_PARTY.replace("  - func: geo", "  maps:\n  - func: geo")
    assert load_third_party(by_area, KNOWN, {"arc_backward": "geo.formulas"}).natives[0].area == "maps"


@pytest.mark.parametrize(
    ("old", "new", "problem", "remedy"),
    [
        ("kernels:", "kernel:", "unknown key 'kernel'", "'kernels'"),
        ("geo.kernels", "os; system", "'kernels' is not a module's dotted name", "kernels: mylib.kernels"),
        ("geo.kernels", "[a]", "'kernels' is not a module's dotted name", "kernels: mylib.kernels"),
        ("namespace: geo", "namespace: a.b", "'namespace' is not one Python name", "namespace: mylib"),
        ("arc_backward(grad", "arc_backwards(grad", "unknown function 'arc_backwards'", "Did you mean 'arc_backward'?"),
        ("native_functions:", "native_functions: 1\nx:", "unknown key 'x'", "native_functions"),
        ("other: arc", "othre: arc", "unknown key 'othre'", "Did you mean 'other'?"),
    ],
)
def test_refuses_a_third_partys_mistake(old, new, problem, remedy):
    with pytest.raises(DeclarationError) as raised:
        load_third_party(THIRD_PARTY.replace(old, new, 1), KNOWN, {"arc_backward": "geo.formulas"})
    assert raised.value.line > 0
    assert problem in raised.value.problem
    assert remedy in raised.value.remedy


def test_a_third_partys_file_needs_functions():
    for text in ("derivatives: []\n", "native_functions: 1\nderivatives: []\n", "- a\n", "native_functions:\n"):
        with pytest.raises(DeclarationError):
            load_third_party(text, KNOWN, {})


@settings(max_examples=300)
@given(st.text(max_size=80) | st.text(st.sampled_from("-: []{}&*!|>'\"%@`#,?\n\tab\\U0"), max_size=80))
def test_any_text_is_a_document_or_a_declaration_error(text):
    with contextlib.suppress(DeclarationError):
        read(text + "\n")


PIECES = st.text(st.sampled_from("-: []()*!&|'\"\n,#grads0_{}%>\t"), max_size=4)
EDITS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 12), PIECES), min_size=1, max_size=3)


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for start, length, new in edits:
        start %= len(text) + 1
        text = text[:start] + new + text[start + length :]
    return text + "\n"


@settings(max_examples=200, deadline=None)
@given(EDITS)
def test_a_damaged_file_gives_a_registry_or_a_declaration_error(edits):
    """Nothing but DeclarationError comes out, and what is accepted can be written as code."""
    for natives, derivatives in ((edited(NATIVES, edits), DERIVATIVES), (NATIVES, edited(DERIVATIVES, edits))):
        with contextlib.suppress(DeclarationError):
            check_usable(load_registry(natives, derivatives, HELPERS))


def check_usable(registry: Registry) -> None:
    for derivative in registry.derivatives.values():
        covered = [name for formula in derivative.formulas for name in formula.inputs]
        assert sorted(covered) == sorted(arg.name for arg in derivative.native.differentiable_args)
        for found in [*(formula.formula for formula in derivative.formulas), *derivative.tangents.values()]:
            if isinstance(found, Formula):
                ast.parse(found.render(lambda name, how: name if how == "value" else None), mode="eval")
