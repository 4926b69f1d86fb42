"""Schemas: what is read, what is written back, and what is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pullback.codegen.errors import DeclarationError, Where
from pullback.codegen.schema import REQUIRED, parse_schema


def test_reads_names_types_defaults_and_returns():
    schema = parse_schema("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
    assert (schema.name, schema.overload, schema.full_name, schema.unique_name) == ("max", "dim", "max.dim", "max_dim")
    assert [(arg.name, str(arg.type), arg.default) for arg in schema.args] == [
        ("self", "Tensor", REQUIRED), ("dim", "int", REQUIRED), ("keepdim", "bool", False),
    ]  # fmt: skip
    assert [(returned.name, returned.type.is_tensor) for returned in schema.returns] == [
        ("values", True), ("indices", True),
    ]  # fmt: skip
    assert schema.output_names == ("values", "indices")


def test_reads_every_form_of_type():
    schema = parse_schema("f(Tensor(a!) a, Tensor? b, Tensor[] c, int[2] d, int[]? e, Tensor?[] g, any h) -> ()")
    a, b, c, d, e, g, h = (arg.type for arg in schema.args)
    assert (a.is_tensor, a.alias, a.is_write) == (True, "a", True)
    assert (b.is_tensor, b.optional) == (True, True)
    assert (c.is_tensor, c.is_tensor_list, c.optional) == (False, True, False)
    assert (d.is_list, d.list_size) == (True, 2)
    assert (e.is_list, e.optional, e.optional_items) == (True, True, False)
    assert (g.is_tensor_list, g.optional, g.optional_items) == (True, False, True)
    assert h.base == "any"


def test_star_makes_the_rest_keyword_only():
    schema = parse_schema("f(Tensor self, *, Scalar alpha=1, Generator? generator=None) -> Tensor")
    assert [arg.kwarg_only for arg in schema.args] == [False, True, True]
    assert parse_schema("f(Tensor self, int a=1, *, int b) -> Tensor").args[2].default is REQUIRED


def test_a_list_default_is_a_tuple_so_that_calls_cannot_share_a_list():
    schema = parse_schema('f(int[] dims=[0, -1], int[1] dim=0, str mode="a, (b", float p=-1.5e3) -> ()')
    assert [arg.default for arg in schema.args] == [(0, -1), 0, "a, (b", -1500.0]
    assert schema.returns == ()


def test_outputs_are_named_result_where_the_schema_names_none():
    assert parse_schema("f(Tensor x) -> Tensor").output_names == ("result",)
    assert parse_schema("f(Tensor x) -> (Tensor, Tensor)").output_names == ("result0", "result1")
    assert parse_schema("f(Tensor x) -> (Tensor out)").output_names == ("out",)
    assert parse_schema("f(Tensor(a) x) -> Tensor(a)[]").returns_list


@pytest.mark.parametrize(
    "text",
    [
        "sin(Tensor self) -> Tensor",
        "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "split(Tensor(a) self, int[] sizes, int dim=0) -> Tensor(a)[]",
        "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
        'f(Tensor? x, *, int[1]? dim=None, str m="a, b)", int[2] s=[0, -1], float p=0.001) -> ()',
        "index(Tensor self, Tensor?[] indices) -> Tensor",
        "nan_to_num(Tensor self, float? nan=None) -> Tensor",
        "equal(Tensor self, Tensor other) -> bool",
        "f(Tensor self) -> (Tensor out)",
    ],
)
def test_a_normalised_schema_is_written_back_as_it_was(text):
    assert str(parse_schema(text)) == text
    spaced = text.replace(", ", " ,  ").replace(" -> ", "->") if '"' not in text else text
    assert str(parse_schema(spaced)) == text


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("sin", "no argument list", "name.overload(Tensor self"),
        ("sin(Tensor self", "no argument list", "name.overload(Tensor self"),
        ("sin(Tensor self) Tensor", "expected '->'", "-> Tensor"),
        ("sin(Tensor self) -> ", "cannot read the type ''", "Tensor?"),
        ("sin(Tensor self) -> (Tensor 1a, Tensor b)", "cannot read the return 'Tensor 1a'", "(Tensor values"),
        ("sin(Tensr self) -> Tensor", "unknown type 'Tensr'", "Did you mean 'Tensor'"),
        ("f(SymInt n) -> Tensor", "unknown type 'SymInt'", "Write int"),
        ("f(Tensor(a -> *) x) -> Tensor", "alias annotation", "Tensor(a)"),
        ("f(int(a) x) -> Tensor", "alias annotation", "Tensor(a)"),
        ("f(Tensor) -> Tensor", "cannot read the argument 'Tensor'", "type name"),
        ("f(Tensor x,, Tensor y) -> Tensor", "cannot read the argument ''", "type name"),
        ("f(Tensor x, Tensor x) -> Tensor", "'x' occurs twice", "Rename"),
        ("f(Tensor x) -> (Tensor x, Tensor y)", "'x' occurs twice", "Rename"),
        ("f(Tensor grad) -> Tensor", "'grad' means something else", "grad_"),
        ("f(Tensor x, Tensor x_t) -> Tensor", "'x_t' means something else", "Rename"),
        ("f(Tensor result0) -> Tensor", "'result0' means something else", "Rename"),
        ("f(Tensor grad_y) -> (Tensor y)", "'grad_y' is the gradient of the output 'y'", "Rename"),
        ("f(Tensor lambda) -> Tensor", "keyword", "lambda_"),
        ("f(Tensor __x) -> Tensor", "'__'", "Rename"),
        ("lambda(Tensor x) -> Tensor", "cannot be an operator's name", "not a keyword"),
        ("__and__(Tensor x) -> Tensor", "cannot be an operator's name", "'__'"),
        ("f(int x=1, int y) -> Tensor", "argument 'y' has no default", "default"),
        ("f(*, int x, *, int y) -> Tensor", "'*' twice", "one '*'"),
        ("f(int x, *) -> Tensor", "no argument follows '*'", "Remove"),
        ("f(str reduction=Mean) -> Tensor", "cannot read the default 'Mean'", 'reduction="mean"'),
        ("f(int x=__import__('os')) -> Tensor", "cannot read the default", "Write a number"),
        ("f(int x=1.5) -> Tensor", "default 1.5 of argument 'x' is no int", "Change"),
        ("f(int x=None) -> Tensor", "default None of argument 'x' is no int", "`int? x=None`"),
        ("f(bool x=0) -> Tensor", "is no bool", "Change"),
        ("f(int[] x=0) -> Tensor", "is no int[]", "Change"),
        ("f(Tensor x) -> Tensor(a)", "no argument is Tensor(a)", "Tensor(a) at the argument"),
        ("f(Tensor(a) x) -> Tensor(a!)", "no argument is Tensor(a!)", "Tensor(a!) at the argument"),
        ("f(Tensor x) -> (Tensor[], Tensor)", "a list is returned beside", "alone"),
        (f"f(Tensor {'x' * 3000}) -> Tensor", "characters long", "fewer"),
    ],
)
def test_refuses(text, problem, remedy):
    with pytest.raises(DeclarationError) as raised:
        parse_schema(text, Where("native_functions.yaml", 7, text))
    error = raised.value
    assert (error.file, error.line, error.entry) == ("native_functions.yaml", 7, text)
    assert problem in error.problem
    assert remedy in error.remedy
    assert str(error).startswith("native_functions.yaml:7, entry `")


types = st.builds(
    "{}{}".format,
    st.sampled_from(["Tensor", "Scalar", "int", "float", "bool", "str", "ScalarType", "any"]),
    st.sampled_from(["", "?", "[]", "[2]", "[]?", "?[]"]),
)
arguments = st.lists(
    st.tuples(types, st.from_regex(r"[a-z][a-z0-9]{0,5}_x", fullmatch=True)), unique_by=lambda pair: pair[1]
)


@given(arguments, st.integers(0, 5), st.lists(types, max_size=3))
def test_what_is_written_is_read_back_the_same(args, star, returns):
    texts = [f"{type_} {name}" for type_, name in args]
    if star < len(texts):
        texts.insert(star, "*")
    returns = [text for text in returns if "[" not in text]
    schema = parse_schema(f"f.o({', '.join(texts)}) -> ({', '.join(returns)})")
    assert [(str(arg.type), arg.name) for arg in schema.args] == args
    again = parse_schema(str(schema))
    assert (str(again), again.args, again.returns) == (str(schema), schema.args, schema.returns)


@given(st.text(st.sampled_from(" .,()[]*?!=->\"'\\0aTensor\n"), max_size=60))
def test_any_text_is_a_schema_or_a_declaration_error(text):
    for wrapped in (text, f"f({text}) -> Tensor", f"f(Tensor x) -> {text}", f"f(int x={text}) -> ()"):
        with contextlib.suppress(DeclarationError):
            schema = parse_schema(wrapped)
            assert str(parse_schema(str(schema))) == str(schema)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='\\"#'), max_size=20))
def test_a_string_default_keeps_its_text(text):
    assert parse_schema(f'f(str x="{text}") -> ()').args[0].default == text
