"""Formulas: what they may hold, how they are rendered, and that a hostile one is refused without running."""

import ast
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback.codegen.formula
from pullback.codegen.errors import DeclarationError, Where
from pullback.codegen.formula import ATTRIBUTES, Formula, parse_formula

NAMES = ("self", "other", "dim", "grad", "grads", "result")
OPERATORS = {"cos", "conj", "sum", "where", "mul"}
HELPERS = {"scaled", "unsqueeze_to"}
WHERE = Where("derivatives.yaml", 12, "sin(Tensor self) -> Tensor")


def parse(text: str, **aliases: str) -> Formula:
    return parse_formula(text, NAMES, OPERATORS, HELPERS, WHERE, aliases)


def rename(name: str, how: str) -> str | None:
    if how != "value":
        return f"{name}_{how}" if name == "self" else None
    return "self_" if name == "self" else name


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("grad * conj(cos(self))", "grad * ops.cos(self_).conjugate()"),
        ("conj(self)", "self_.conjugate()"),
        ("conj(-self)", "(-self_).conjugate()"),
        ("self.conj()", "self_.conjugate()"),
        ("(self + 1).conj()", "(self_ + 1).conjugate()"),
        ("grad.sum(dim, keepdim=True)", "ops.sum(grad, dim, keepdim=True)"),
        ("scaled(grad, self.shape, 'mean')", 'scaled(grad, self_shape, "mean", ops=ops)'),
        ("unsqueeze_to(grads[0], dim=dim)", "unsqueeze_to(grads[0], dim=dim, ops=ops)"),
        ("grad if self.ndim > 1 and dim is not None else -inf", "grad if self_ndim > 1 and dim is not None else -inf"),
        ("grad / (self * (other / 2))", "grad / (self_ * (other / 2))"),
        ("(grad / self) * other", "grad / self_ * other"),
        ("grad[..., None, 1:]", "grad[..., None, 1:]"),
        ("other.shape[0] * grad.size", "other.shape[0] * grad.size"),
        ("cos(self).dtype", "ops.cos(self_).dtype"),
        ("scaled(dim in ('a', 'b'), not dim)", 'scaled(dim in ("a", "b"), not dim, ops=ops)'),
        ("(grad, other)", "(grad, other)"),
        ("grad @ other ** 2 // 3 % pi", "grad @ other ** 2 // 3 % pi"),
        ("1j * grad", "1j * grad"),
        ("grad *\n    other", "grad *      other"),
    ],
)
def test_renders(text, rendered):
    formula = parse(text)
    assert formula.render(rename) == ast.unparse(ast.parse(rendered)).replace("'", '"')
    assert formula.render(rename) == formula.render(rename), "rendering must leave the formula as it is"


def test_records_how_each_name_is_used():
    formula = parse("scaled(grad, self.shape, self.dtype, other) + other.ndim + cos(result) * inf")
    assert dict(formula.uses) == {
        "grad": {"value"}, "self": {"shape", "dtype"}, "other": {"value", "ndim"}, "result": {"value"},
    }  # fmt: skip
    assert formula.names == {"grad", "self", "other", "result"}
    assert (formula.operators, formula.helpers, formula.constants) == ({"cos"}, {"scaled"}, {"inf"})


def test_an_alias_becomes_the_name_it_stands_for():
    formula = parse("grad * out + out.shape[0]", out="result")
    assert dict(formula.uses) == {"grad": {"value"}, "result": {"value", "shape"}}
    assert formula.render(rename) == "grad * result + result.shape[0]"


def test_an_argument_may_have_the_name_of_an_operator_or_of_a_constant():
    formula = parse_formula("where(nan, grad, where)", ["nan", "grad", "where"], OPERATORS, HELPERS, WHERE)
    assert formula.render(lambda name, how: f"{name}_") == "ops.where(nan_, grad_, where_)"
    assert formula.constants == frozenset()


def test_the_message_reads_as_a_person_would_write_it():
    with pytest.raises(DeclarationError) as raised:
        parse("grad * conj(cos(slef))")
    assert str(raised.value) == (
        "derivatives.yaml:12, entry `sin(Tensor self) -> Tensor`: formula names unknown argument 'slef' (column 17). "
        "Did you mean 'self'? Write one of: self, other, dim, grad, grads, result."
    )


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("grad * slef", "unknown argument 'slef' (column 8)", "Did you mean 'self'?"),
        ("self_t * 2", "unknown argument 'self_t' (column 1)", "Write one of"),
        ("cos", "function 'cos' without calling it", "cos(...)"),
        ("consj(grad)", "unknown function 'consj' (column 1)", "Did you mean 'conj'?"),
        ("len(grad)", "unknown function 'len'", "declared operator"),
        ("grad(1)", "calls 'grad', which is not a function", "grad[...]"),
        ("self.cso()", "unknown method '.cso'", "Did you mean 'cos'?"),
        ("self.T", "attribute '.T' in `self.T`", ".shape, .ndim, .dtype, .size"),
        ("self.shap", "attribute '.shap'", "Did you mean 'shape'?"),
        ("self.cos", "attribute '.cos'", "cos(...)"),
        ("(1).shape", "attribute of a constant", "tensor"),
        ("cos(self)(1)", "other than a name", "by its name"),
        ("conj(self, 1)", "other than one argument", "conj(x)"),
        ("scaled(grad, ops=1)", "passes 'ops'", "the generator passes"),
        ("sum(grad, out=self)", "passes 'out'", "writes to nothing"),
        ("scaled(*grads)", "starred argument: `*grads` (column 8)", "one by one"),
        ("scaled(**grads)", "unpacks keyword arguments", "one by one"),
        ("grad & self", "operator &", "logical_and"),
        ("~grad", "operator ~", "logical_not"),
        ("grad << 2", "operator <<", "power of two"),
        ("[x for x in grads]", "comprehension", "helper function"),
        ("sum(x for x in grads)", "generator expression", "helper function"),
        ("f'{grad}'", "an f-string", "plain string"),
        ("(x := grad)", "an assignment ':='", "helper function"),
        ("{1: grad}", "a dict", "tuple"),
        ("{grad}", "a set", "tuple"),
        ("b'a'", "constant `b'a'`", "number"),
        ("...", "constant `...`", "number"),
        ("grad * 'a'", "string `'a'` in a computation (column 8)", "Pass strings to calls"),
        ("1 is grad", "compares by identity", "x is None"),
        ("grad is 1", "compares by identity", "x is None"),
        ("1[grad]", "indexes a constant", "item"),
        ("grad if", "not a Python expression", "one Python expression"),
        ("grad = 1", "not a Python expression", "one Python expression"),
        ("grad; self", "not a Python expression", "one Python expression"),
        ("import os", "not a Python expression", "one Python expression"),
        ("'\\d'", "not a Python expression", "one Python expression"),
        ("grad # the rest", "contains the character '#' (column 6)", "line above the entry"),
        ("grad * \u03b1", "contains the character", "ASCII"),
        ("", "is empty", "one Python expression"),
    ],
)
def test_refuses(text, problem, remedy):
    with pytest.raises(DeclarationError) as raised:
        parse(text)
    error = raised.value
    assert (error.file, error.line, error.entry) == ("derivatives.yaml", 12, "sin(Tensor self) -> Tensor")
    assert problem in error.problem
    assert "(column " in error.problem
    assert remedy in error.remedy


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9", "9**9999999", "dim ** (9**9)", "dim ** 999999999", "(9**9)**(9**9)", "9" * 400, "1e999", "1e999j",
        "'a' * 9999999999", "'%9999999999d' % dim", "('%9999999999d',)[0] % dim", "('a' if dim else 'b') * 9999999999",
        "scaled('a' * 9999999999)", "[0] * 10**10", "(0,) * dim", "-" * 60 + "grad", "not " * 60 + "grad",
        "(" * 60 + ")" * 60, "[" * 1900, "-" * 1990 + "1", "cos(" * 400 + "grad" + ")" * 400, "+".join(["grad"] * 60),
        "grad" * 600, "grad if dim else " * 100 + "grad", "grad.conj()" + ".conj()" * 150, "\0", "grad\0", "\u2028",
    ],
)  # fmt: skip
def test_refuses_what_would_fill_memory_or_stack(text):
    with pytest.raises(DeclarationError) as raised:
        parse(text)
    assert len(str(raised.value)) < 600


HOSTILE = [
    "__import__('os')", "__import__('pathlib').Path({path!r}).touch()", "open({path!r}, 'w')", "eval('1')",
    "exec('import os')", "().__class__", "().__class__.__bases__[0].__subclasses__()", "grad.__reduce__",
    "grad.__reduce__()", "grad.__class__.__init__.__globals__['os'].system('touch ' + {path!r})", "lambda: 1",
    "(lambda: open({path!r}, 'w'))()", "getattr(grad, '__class__')", "[open({path!r}, 'w') for x in (1,)]",
    "cos.__globals__", "conj.__self__", "scaled.__globals__['open']({path!r}, 'w')", "ops.cos(self)", "ops",
    "self.data.tofile({path!r})", "self.tofile({path!r})", "grad.dump({path!r})", "self._saved", "self.shape.__class__",
    "__builtins__", "globals()", "breakpoint()", "print(grad)", "await grad", "(yield)", "cos(self).tofile({path!r})",
    "f'{{open({path!r}, chr(119))}}'", "self.dtype.type(1)", "'{{0.__class__}}'.format(grad)", "grad.sum.__func__()",
]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_formula_is_refused_without_running(hostile, tmp_path):
    touched = tmp_path / "touched"
    with pytest.raises(DeclarationError) as raised:
        parse(hostile.format(path=str(touched)))
    assert raised.value.line == 12
    assert not touched.exists()


FRONT_END = [
    "errors", "expression", "formula", "whitelist", "schema", "signature", "yaml_source", "model", "read_natives",
    "read_derivatives", "check", "helpers_index",
]  # fmt: skip


@pytest.mark.parametrize("module", FRONT_END)
def test_the_front_end_has_no_means_to_run_a_text(module):
    """No eval, exec, compile or import of a name that comes from a file, and no import of the rest of the package."""
    tree = ast.parse((Path(pullback.codegen.formula.__file__).parent / f"{module}.py").read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"eval", "exec", "compile", "__import__", "getattr_static", "importlib"}
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert all(not name.startswith("pullback") or name.startswith("pullback.codegen") for name in imported)
    assert not set(imported) & {"importlib", "runpy", "subprocess", "pickle", "builtins", "sys"}


TOKENS = [
    "grad", "grads", "self", "other", "dim", "result", "cos", "conj", "scaled", "inf", "unknown", "__class__", "(", ")",
    "[", "]", ",", ".", ":", "...", "+", "-", "*", "**", "/", "//", "%", "@", "<", "==", "is", "None", "not", "and",
    "in", "if", "else", "lambda", "for", "1", "2.5", "1e9", "99", "'a'", "shape", "ndim", "=", ":=", "{", "}", "&", "~",
]  # fmt: skip


def check_accepted(formula: Formula) -> None:
    """What was accepted renders to Python that compiles without a warning and holds nothing but what is listed."""
    source = formula.render(rename)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # such as calling a tuple's item: nonsense, but harmless
        tree = compile(source, "formula", "eval", ast.PyCF_ONLY_AST)
        compile(source, "formula", "eval")
    allowed = {*NAMES, *HELPERS, "self_", "ops", "inf", "nan", "pi", *(f"self_{name}" for name in ATTRIBUTES)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            assert node.id in allowed
        if isinstance(node, ast.Attribute):
            operator = isinstance(node.value, ast.Name) and node.value.id == "ops" and node.attr in OPERATORS
            assert operator or node.attr in (*ATTRIBUTES, "conjugate")
        assert not isinstance(node, ast.Lambda | ast.ListComp | ast.NamedExpr | ast.Starred | ast.JoinedStr | ast.Dict)
    assert set(formula.names) <= set(NAMES)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join))
def test_any_sequence_of_tokens_is_a_formula_or_a_declaration_error(text):
    try:
        formula = parse(text)
    except DeclarationError:
        return
    check_accepted(formula)


atoms = st.sampled_from(["grad", "self", "other", "dim", "grads[0]", "2", "0.5", "inf", "self.shape[0]", "cos(self)"])
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "@", "//", "%"]), inner),
        st.builds("-{}".format, inner),
        st.builds("conj({})".format, inner),
        st.builds("({}).conj()".format, inner),
        st.builds("scaled({}, {}, k='a')".format, inner, inner),
        st.builds("({} if {} > 0 else {})".format, inner, inner, inner),
        st.builds("(grad + {}) ** 2".format, inner),
    ),
    max_leaves=8,
)


@given(expressions)
def test_a_formula_of_what_is_listed_keeps_its_meaning(text):
    """The rendered formula, its calls undone, has the tree of the text: no precedence is lost."""
    formula = parse(text)
    check_accepted(formula)
    rendered = formula.render(lambda name, how: name if how == "value" else None)
    assert ast.dump(_plain(ast.parse(rendered))) == ast.dump(_plain(ast.parse(text)))


def _plain(tree: ast.AST) -> ast.AST:
    """Undo what rendering does: ops.f(x) -> f(x), f(x, ops=ops) -> f(x), x.conjugate() -> conj(x)."""

    class Undo(ast.NodeTransformer):
        def visit_Call(self, node):
            self.generic_visit(node)
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "ops"]
            if isinstance(node.func, ast.Attribute):
                if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "ops"):
                    node.args.insert(0, node.func.value)
                node.func = ast.Name({"conjugate": "conj"}.get(node.func.attr, node.func.attr), ast.Load())
            return node

    return Undo().visit(tree)
