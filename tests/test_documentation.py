"""What help() says of operators: every example runs, and what is said of shapes, dtypes and memory is so."""

import builtins
import doctest
import importlib
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import pullback as pb
from pullback.codegen.generate import OPS, own_registry
from pullback.codegen.whitelist import CONSTANTS
from pullback.core.text_signature import TextSignature
from pullback.ops.late import load_all
from pullback.ops.tables import OPERATORS, PUBLIC
from pullback.testing.opinfo.calls import function_of
from pullback.testing.opinfo.core import Plain, map_arrays
from tests.opinfo.records import OPINFOS
from tests.test_public_names import MODULES

load_all()
SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "References", "Examples")
HOMES = ("", "linalg", "fft", "special", "masked", "nn.functional", "signal.windows")


def public_functions():
    """Every public function that is an operator, once, by dotted name; forms in place are apart."""
    found = {}
    for home in HOMES:
        for name, function in PUBLIC[home].items():
            found.setdefault(id(function), (f"{home}.{name}" if home else name, function))
    for name in dir(pb.Tensor):
        function = getattr(pb.Tensor, name)
        if not name.startswith("_") and inspect.isfunction(function) and hasattr(function, "__signature__"):
            found.setdefault(id(function), (f"Tensor.{name}", function))
    return dict(found.values())


FUNCTIONS = public_functions()
DOCUMENTED = {name: f for name, f in FUNCTIONS.items() if " in place: " not in f.__doc__.partition("\n")[0]}


def sections(doc):
    """The text of each section; the summary is under ""."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", doc, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


class NearlyEqual(doctest.OutputChecker):
    """Numbers that differ in the last digits, or are 0 and -0, are equal: BLAS and FFTs are not the same everywhere."""

    NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?)")

    def check_output(self, want, got, flags):
        numbers = [[float(n) for n in self.NUMBER.findall(text)] for text in (want, got)]
        want = want.replace("<BLANKLINE>", "")
        words = ["".join(self.NUMBER.sub("#", text).split()) for text in (want, got)]
        return words[0] == words[1] and np.allclose(*numbers, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example_runs(name):
    doc = sections(DOCUMENTED[name].__doc__)
    example = doctest.DocTestParser().get_doctest(doc["Examples"], {"pb": pb, "np": np}, name, None, 0)
    assert example.examples
    said = []
    runner = doctest.DocTestRunner(NearlyEqual(), verbose=False)
    with np.errstate(all="ignore"):
        runner.run(example, out=said.append)
    assert not runner.failures, "".join(said)


def test_every_operator_is_documented():
    assert len(DOCUMENTED) > 640
    registry = own_registry()
    public = {native.name for native in registry.natives if not native.is_internal}
    described = {overloads[0].name for overloads in OPERATORS.values() if overloads[0].function.__doc__}
    assert public <= described


WORDS_OF_SHAPE = re.compile(
    r"shape|sizes?\b|vector|matri|dimension|\(\.\.\.|\(\w[\w'/+ ,]*\)|0-d|[Aa] number"
    r"|itself|view|along|places|`\w+` elements"
)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_results_have_their_shapes(name):
    said = " ".join(sections(DOCUMENTED[name].__doc__)["Returns"].split())
    assert re.fullmatch("bool|number|int|dtype|object|(min|result)_type", said) or WORDS_OF_SHAPE.search(said), said


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_those_of_the_signature(name):
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    assert type(signature) is TextSignature
    assert "." not in function.__name__
    assert function.__module__ == "pullback"
    text = sections(function.__doc__)
    if "Parameters" in text:
        listed = re.findall(r"^\*?(\w+) : ", text["Parameters"], flags=re.MULTILINE)
        assert listed == list(signature.parameters)
    for parameter in signature.parameters.values():
        assert repr(parameter.default) != "<required>"
    # What is shown as a parameter is one.
    real = inspect.Signature.from_callable(_bare(function))
    if not any(p.kind is p.VAR_KEYWORD for p in real.parameters.values()):
        assert set(signature.parameters) <= {p.rstrip("_") for p in real.parameters}


def _bare(function):
    """The function without what it shows in place of its signature."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    bare = type(function)(code, function.__globals__, code.co_name, function.__defaults__, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    return bare


@pytest.mark.parametrize("name", DOCUMENTED)
def test_text_is_plain_numpydoc(name):
    doc = DOCUMENTED[name].__doc__
    found = [s for s in re.findall(r"^(\w+)\n-+$", doc, flags=re.MULTILINE) if s in SECTIONS]
    assert found == [s for s in SECTIONS if s in found]
    assert {"Returns", "Examples"} <= set(found)
    # Errors quote PyTorch's phrases, which say `self`.
    prose = "".join(text for name, text in sections(doc).items() if name not in ("Raises", "References", "Examples"))
    assert not re.search(r"\bself\b|UNSET|REQUIRED|Marker\.", prose)
    assert max(map(len, doc.splitlines())) <= 108  # an example may be a little longer than the text


# -- what is said is so ----------------------------------------------------------------------------------------
def shape_of(t):
    return tuple(t.shape)


def reduced(given):
    x, dim, keepdim = given["input"], given.get("dim"), given.get("keepdim", False)
    dims = list(range(x.ndim)) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    out = np.sum(np.zeros(x.shape), axis=tuple(dims) if x.ndim else None, keepdims=keepdim)
    return np.shape(out)


def tensors_in(given):
    return [x for x in given.values() if isinstance(x, pb.Tensor)]


SHAPES = {
    "the shape of `input` and its dtype": lambda out, given: shape_of(out) == shape_of(given["input"]),
    "the shape of `input` and dtype": lambda out, given: shape_of(out) == shape_of(given["input"]),
    "the shape of `input` without `dim`": lambda out, given: shape_of(out) == reduced(given),
    "the shape to which the arguments broadcast": lambda out, given: (
        shape_of(out) == np.broadcast_shapes(*map(shape_of, tensors_in(given)))
    ),
    "of shape ()": lambda out, given: shape_of(out) == (),
}
MEMORY = {
    "It is a view: it shares the memory of `input`.": lambda out, given: (
        out.numel() == 0 or np.shares_memory(out.detach().numpy(), given["input"].detach().numpy())
    ),
}


def dtype_said(text, given):
    """The dtype that the text says the result has, as far as it says one."""
    if given.get("dtype") is not None or "complex for real" in text:
        return None
    if (constant := re.search(r"\bdtype (bool|int64|int32|uint64|float64)\b", text)) is not None:
        return np.dtype(constant[1])
    if "to which theirs promote" in text:
        tensors = tensors_in(given)
        floating = [t.dtype for t in tensors if t.dtype.kind in "fc"]
        dtype = np.result_type(*(floating or [t.dtype for t in tensors]))
    elif re.search(r"(?i)the dtype of `input`|of `input` and (its )?dtype", text):
        dtype = given["input"].dtype
    else:
        return None
    if dtype.kind not in "fc" and "where that is floating" in text:
        return None
    if dtype.kind in "iub" and "float64 for whole numbers" in text:
        return np.dtype("f8")
    if dtype.kind == "b" and "int8 for bools" in text:
        return np.dtype("i1")
    if (dtype.kind == "b" and "int64 for bools" in text) or (dtype == np.int8 and "small whole numbers" in text):
        return np.dtype("i8")
    if "real for complex numbers" in text and dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    return dtype


def in_other_dtypes(given):
    """The arguments as they are, with a first tensor of less precision, and with small whole numbers."""
    yield given
    first = given.get("input")
    if isinstance(first, pb.Tensor) and first.dtype == np.float64:
        yield given | {"input": first.to(np.float32)}
    if isinstance(first, pb.Tensor) and first.dtype == np.int64:
        yield {k: x.to(np.int8) if isinstance(x, pb.Tensor) and x.dtype == np.int64 else x for k, x in given.items()}


def cases():
    for info in OPINFOS:
        name = info.name
        if name in DOCUMENTED and info.call is None and info.observe is None:
            yield pytest.param(info, id=info.full_name)


@pytest.mark.parametrize("info", list(cases()))
def test_what_is_said_of_the_result_is_so(info):
    function = DOCUMENTED[info.name]
    text = " ".join(sections(function.__doc__)["Returns"].split())
    if "Forms of the call" in function.__doc__ or not text.startswith("Tensor Of"):
        return  # several results, or a text of its own
    names = list(inspect.signature(function).parameters)
    for dtype in info.dtypes:
        for sample in info.samples_for(dtype):
            args, kwargs = map_arrays(
                lambda a: a.array if isinstance(a, Plain) else pb.tensor(np.asarray(a)), (sample.args, sample.kwargs)
            )
            if any(len(args) > len(names) or name.startswith("*") for name in names):
                continue
            for given in in_other_dtypes(dict(zip(names, args, strict=False)) | kwargs):
                try:
                    with np.errstate(all="ignore"):
                        out = function_of(info)(**given)
                except (RuntimeError, ValueError, TypeError):
                    continue  # a sample for other dtypes
                for claim, holds in (SHAPES | MEMORY).items():
                    if claim.lower() in text.lower():
                        assert holds(out, given), (claim, sample)
                if isinstance(given.get("input"), pb.Tensor) and (said := dtype_said(text, given)) is not None:
                    assert out.dtype == said, (text, sample, [t.dtype for t in tensors_in(given)])


DIM = re.compile(r"^(\w+)\n(?:    .*\n)*?    (?:- )?`dim` is out of range\.", re.MULTILINE)


@pytest.mark.parametrize("info", [case for case in cases() if DIM.search(DOCUMENTED[case.values[0].name].__doc__)])
def test_a_dim_out_of_range_raises_what_is_said(info):
    function = DOCUMENTED[info.name]
    error = getattr(builtins, DIM.search(function.__doc__)[1])
    names = list(inspect.signature(function).parameters)
    for sample in info.samples_for(np.dtype("f8")):
        args, kwargs = map_arrays(lambda a: pb.tensor(np.asarray(a)), (sample.args, sample.kwargs))
        given = dict(zip(names, args, strict=False)) | kwargs
        default = inspect.signature(function).parameters["dim"].default
        usual = given.get("dim", default)
        many = isinstance(usual, (list, tuple)) and len(usual) > 0
        first = next(iter(tensors_in(given)), None)
        if first is not None and first.ndim and (many or usual is None or isinstance(usual, int)):
            with pytest.raises(error):
                function_of(info)(**given | {"dim": tuple(range(97, 97 + len(usual))) if many else 97})
            return


OUT = "`out` requires grad while gradients are recorded."


@pytest.mark.parametrize("info", [case for case in cases() if OUT in DOCUMENTED[case.values[0].name].__doc__])
def test_an_out_that_requires_grad_raises_what_is_said(info):
    for sample in info.samples_for(info.dtypes[0])[:1]:
        args, kwargs = map_arrays(lambda a: pb.tensor(np.asarray(a)), (sample.args, sample.kwargs))
        with np.errstate(all="ignore"):
            out = pb.zeros_like(function_of(info)(*args, **kwargs).detach())
        if out.dtype.kind in "fc":
            with pytest.raises(RuntimeError, match="out"), np.errstate(all="ignore"):
                function_of(info)(*args, **kwargs, out=out.requires_grad_())


REGISTRY = own_registry()
POINT = re.compile(r"^- (.+?): (?:value (.+?))?(?:, )?(?:gradient (.+?))?\. ")


def special_points():
    for name, function in DOCUMENTED.items():
        _, _, points = sections(function.__doc__).get("Notes", "").partition("At special points:\n\n")
        for point in re.split(r"\n(?=- )", points.partition("\n\n")[0]):
            if point and any(info.name == name and info.call is None for info in OPINFOS):
                yield pytest.param(name, " ".join(point.split()), id=f"{name}: {point[:40]}")


@pytest.mark.parametrize(("name", "point"), list(special_points()))
def test_special_points_are_so(name, point):
    """As they are written, with as many digits."""
    at, value, gradient = POINT.match(point).groups()
    numbers = {"inf": np.inf, "nan": np.nan}
    given = eval(f"dict({at})", numbers)
    forms = [n for n in REGISTRY.natives if name in (n.name, f"{n.python_module}.{n.name}", _dotted(n))]
    kinds = {("input" if a.name == "self" else a.name): a.type for n in reversed(forms) for a in n.schema.args}
    leaves = {}
    for key, x in given.items():
        if kinds[key].is_tensor and x is not None:
            array = np.asarray(x)
            whole = name in ("ldexp", "nn.functional.embedding") and key != "weight" and array.dtype.kind == "i"
            if array.dtype.kind == "i" and not whole and not any(w in key for w in ("ind", "target", "lengths")):
                array = array.astype(float)
            given[key] = leaves[key] = pb.tensor(array, requires_grad=array.dtype.kind in "fc")
    with np.errstate(all="ignore"):
        out = DOCUMENTED[name](**given)
        if isinstance(out, tuple):
            return
        if value is not None:
            np.testing.assert_allclose(out.detach().numpy(), eval(value, numbers), rtol=1e-11)
        if gradient is None or not out.requires_grad:
            return
        wanted = eval(gradient, numbers)
        if name == "special.gammaincinv" or (isinstance(wanted, tuple) and any(map(np.ndim, wanted))):
            return  # not all have a derivative; lists of several lengths
        inputs = [x for x in leaves.values() if x.requires_grad]
        grads = pb.autograd.grad(out, inputs, pb.ones_like(out), allow_unused=True)
    flat = np.concatenate([g.numpy().ravel() for g in grads if g is not None])
    if np.size(wanted) == flat.size:
        np.testing.assert_allclose(flat, np.ravel(wanted), rtol=1e-11)


def _dotted(native):
    home = native.python_module or ""
    return f"{home}.{native.name.removeprefix(home.replace('.', '_') + '_')}" if home else native.name


@pytest.mark.parametrize("name", DOCUMENTED)
def test_names_in_formulas_are_explained_or_public(name):
    notes = sections(DOCUMENTED[name].__doc__).get("Notes", "")
    formulas = re.findall(r"^    .+", notes, flags=re.MULTILINE)
    explained = set(re.findall(r"^- `(\w+)", notes, flags=re.MULTILINE))
    for called in {call for line in formulas for call in re.findall(r"([A-Za-z_][\w.]*)\(", line)}:
        thing = pb
        for part in called.split("."):
            thing = getattr(thing, part, None)
        assert called in explained or callable(thing) or hasattr(pb.Tensor, called), (called, notes)
    words = {word for line in formulas for word in re.findall(r"\w+", line)}
    assert words & set(CONSTANTS) - {"e", "pi", "inf", "nan"} <= explained


def test_claims_are_made():
    """So that the test above has something to look at."""
    texts = [" ".join(f.__doc__.split()) for f in DOCUMENTED.values()]
    for claim in (*SHAPES, *MEMORY):
        assert any(claim.lower() in text.lower() for text in texts), claim
    assert sum("and its dtype" in text for text in texts) > 100
    assert sum("to which theirs promote" in text for text in texts) > 100
    assert sum(bool(DIM.search(f.__doc__)) for f in DOCUMENTED.values()) > 50
    assert len(list(special_points())) > 100


# -- where it is shown -------------------------------------------------------------------------------------------
def test_help_shows_it_everywhere():
    for thing, words in (
        (pb.logsumexp, "logsumexp(input, dim, keepdim=False, *, out=None)"),
        (pb.Tensor.logsumexp, "logsumexp(input, dim, keepdim=False, *, out=None)"),
        (pb.Tensor.lgamma, "lgamma(input, *, out=None)"),
        (pb.Tensor.add_, "add_(input, other, *, alpha=...)"),
        (pb.linalg.svd, "svd(A, full_matrices=True, *, driver=None, out=None)"),
        (pb.nn.functional.gelu, "gelu(input, *, approximate='none', out=None)"),
        (pb.tensor([1.0]).sum, "sum(dim=None, keepdim=False, *, dtype=None)"),
    ):
        shown = pydoc.plain(pydoc.render_doc(thing))
        assert words in shown
        assert "\n    " in shown
        assert len(inspect.getdoc(thing)) > 200


@pytest.mark.parametrize("home", HOMES)
def test_dir_shows_what_is_public(home):
    module = importlib.import_module(f"pullback.{home}" if home else "pullback")
    program = f"import {module.__name__} as m; assert set(m.__all__) <= set(dir(m))"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_methods_and_functions_can_be_pickled():
    things = [getattr(pb.Tensor, name) for name in dir(pb.Tensor) if not name.startswith("_")]
    things = [*filter(inspect.isfunction, things), pb.linalg.matrix_function]
    assert len(things) > 400
    for thing in things:
        assert pickle.loads(pickle.dumps(thing)) is thing


def test_factories_show_what_they_take():
    assert str(inspect.signature(pb.tensor)) == "(data, *, dtype=None, device='cpu', requires_grad=False)"
    for factory in (pb.tensor, pb.asarray, pb.as_tensor):
        documented = re.findall(r"^(\w+) : ", inspect.getdoc(factory), flags=re.MULTILINE)
        assert documented == list(inspect.signature(factory).parameters)


def test_late_methods_are_documented_before_they_are_loaded():
    program = (
        "import pullback as pb\n"
        "from pullback.ops import late\n"
        "assert not late._loaded\n"
        "assert 'Gamma' in pb.Tensor.lgamma.__doc__ and late._loaded == {'special'}\n"
        "assert pb.tensor(3.0).lgamma().item() == pb.lgamma(pb.tensor(3.0)).item()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_signature_is_one_like_others():
    signature = inspect.signature(pb.max)
    assert str(signature) == "(input, dim=..., keepdim=False, *, other=..., out=None)"
    assert pickle.loads(pickle.dumps(inspect.signature(pb.sin))) == inspect.signature(pb.sin)
    assert signature.bind(1, 2).arguments == {"input": 1, "dim": 2}
    assert str(signature.replace(parameters=[])) == "()"
    with pytest.raises(TypeError, match="missing a required argument"):
        inspect.signature(pb.logsumexp).bind(1)
    assert inspect.signature(pb.logsumexp) == inspect.signature(pb.amax).replace(
        parameters=inspect.signature(pb.logsumexp).parameters.values()
    )
    with pytest.raises(AttributeError, match="nothing"):
        _ = signature.nothing


# -- stubs -------------------------------------------------------------------------------------------------------
def _stubbed(path, cls=None):
    """(function name -> its definitions, every name) of a stub or of a class in it."""
    import ast

    body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    if cls is not None:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == cls).body
    functions, names = {}, set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node.args)
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return functions, names


@pytest.mark.parametrize("home", HOMES)
def test_stub_has_the_names_and_parameters_of_the_module(home):
    module = importlib.import_module(f"pullback.{home}" if home else "pullback")
    functions, names = _stubbed(Path(module.__file__).with_suffix(".pyi"))
    assert names == set(module.__all__) | ({"__version__"} if not home else set())
    for name, forms in functions.items():
        _same_parameters(getattr(module, name), forms, name)


def test_the_vocabulary_has_no_word_that_is_not_used():
    words = yaml.safe_load((OPS / "documentation.yaml").read_text(encoding="utf-8"))["parameters"]
    natives = [native for native in own_registry().natives if not native.is_internal]
    names = {arg.name for native in natives for arg in native.schema.args}
    assert set(words) - names - {"out", "device", "requires_grad"} == set()


def test_public_functions_that_are_no_operators_are_annotated():
    """Otherwise mypy --strict refuses their calls in users' code."""
    bare = []
    for module in map(importlib.import_module, MODULES):
        functions = [f for f in (getattr(module, name) for name in module.__all__) if inspect.isfunction(f)]
        others = [inspect.unwrap(f) for f in functions if not hasattr(f, "__signature__")]
        bare += [f"{module.__name__}.{f.__name__}" for f in others if "return" not in f.__annotations__]
    assert bare == []


def test_stubs_have_the_methods_of_tensor():
    core = Path(pb.core.__file__).parent
    generated, _ = _stubbed(core / "operator_methods.pyi", "OperatorMethods")
    attached, others = _stubbed(core / "attached_methods.pyi", "AttachedMethods")
    own, _ = _stubbed(core / "tensor.py", "Tensor")
    stubbed = set(generated) | set(attached) | set(own) | others
    there = {name for name in dir(pb.Tensor) if not name.startswith("_")}
    there |= {name for name in vars(pb.Tensor) if name.startswith("__") and callable(vars(pb.Tensor)[name])}
    assert there - stubbed - set(dir(object)) - {"__weakref__"} == set()
    assert {name for name in set(generated) | set(attached) if not hasattr(pb.Tensor, name)} == set()
    for name, forms in generated.items():
        _same_parameters(getattr(pb.Tensor, name), forms, name)


def _same_parameters(function, forms, name):
    shown = inspect.signature(function).parameters
    first = next(iter(shown), None)
    listed = set()
    for args in forms:
        every = [*args.args, *args.kwonlyargs, *([args.vararg] if args.vararg else [])]
        listed |= {first if arg.arg == "self" else arg.arg for arg in every}
        assert args.kwarg is None
    several = "more" in listed  # what comes after the first of several: dims, *more stands for *dims
    listed.discard("more")
    spelled = {"axis": "dim", "keepdims": "keepdim"}
    listed = {arg for arg in listed if arg not in spelled or spelled[arg] not in shown}
    assert listed == set(shown), name
    if len(forms) == 1:
        required = [arg.arg for arg in forms[0].args[: len(forms[0].args) - len(forms[0].defaults)]]
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, *([inspect.Parameter.VAR_POSITIONAL] if several else []))
        wanted = [p.name for p in shown.values() if p.default is p.empty and p.kind in kinds]
        assert [first if arg == "self" else arg for arg in required] == wanted, name


# -- mathematics in the notes ------------------------------------------------------------------------------------
def _pulled_back(function, x, cotangent):
    leaf = pb.tensor(x, requires_grad=True)
    y = function(leaf)
    return pb.autograd.grad(y, leaf, pb.tensor(cotangent))[0].numpy(), y.detach().numpy()


def test_the_vjps_in_the_notes_are_so():
    rng = np.random.default_rng(0)
    x, g, s = rng.normal(size=5), rng.normal(size=5), rng.normal()
    got, y = _pulled_back(lambda x: pb.logsumexp(x, 0), x, s)
    np.testing.assert_allclose(got, s * np.exp(x - y))
    got, y = _pulled_back(lambda x: pb.softmax(x, 0), x, g)
    np.testing.assert_allclose(got, y * (g - (g * y).sum()))
    got, y = _pulled_back(lambda x: pb.log_softmax(x, 0), x, g)
    np.testing.assert_allclose(got, g - np.exp(y) * g.sum())
    got, _ = _pulled_back(pb.var, x, s)
    np.testing.assert_allclose(got, s * 2 * (x - x.mean()) / 4)


def test_the_vjps_of_matrices_in_the_notes_are_so():
    rng = np.random.default_rng(1)
    A, B, G = (rng.normal(size=(3, n)) + 1j * rng.normal(size=(3, n)) for n in (3, 2, 3))
    adjoint = np.linalg.inv(A).conj().T
    got, Y = _pulled_back(pb.linalg.inv, A, G)
    np.testing.assert_allclose(got, -Y.conj().T @ G @ Y.conj().T)
    got, X = _pulled_back(lambda B: pb.linalg.solve(pb.tensor(A), B), B, G[:, :2])
    np.testing.assert_allclose(got, adjoint @ G[:, :2])
    got, _ = _pulled_back(lambda A: pb.linalg.solve(A, pb.tensor(B)), A, G[:, :2])
    np.testing.assert_allclose(got, -adjoint @ G[:, :2] @ X.conj().T)
    got, d = _pulled_back(pb.linalg.det, A, 1.5 + 0j)
    np.testing.assert_allclose(got, 1.5 * np.conj(d * np.linalg.inv(A).T))
    got, _ = _pulled_back(lambda A: A @ pb.tensor(B), A, G[:, :2])
    np.testing.assert_allclose(got, G[:, :2] @ B.conj().T)


def test_the_vjp_of_eigh_in_the_notes_is_so():
    rng = np.random.default_rng(2)
    S, gL, gV = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    S = S + S.T
    leaf = pb.tensor(S, requires_grad=True)
    L, V = pb.linalg.eigh(leaf)
    got = pb.autograd.grad((L * gL).sum() + (V * gV).sum(), leaf)[0].numpy()
    L, V = L.detach().numpy(), V.detach().numpy()
    inner = V.T @ gV / (L[None, :] - L[:, None] + np.eye(3))
    inner[np.diag_indices(3)] = gL
    whole = V @ inner @ V.T
    np.testing.assert_allclose(got, (whole + whole.T) / 2)


@pytest.mark.parametrize(
    ("name", "said"),
    {
        "matmul": "The shapes of `input` and `other` do not fit together.",
        "nn.functional.embedding": "`input` holds numbers that are out of range.",
        "chunk": "`chunks` is negative.",
        "flip": "`dims` is out of range.",
        "nn.functional.cross_entropy": "`reduction` is not a known word.",
        "sin": "An argument is of another type than those above.",
    }.items(),
)
def test_errors_that_calls_end_in_are_documented(name, said):
    function = pb
    for part in name.split("."):
        function = getattr(function, part)
    assert said in sections(function.__doc__)["Raises"]
