"""The site: every public name has its place, and its pages are well-formed. `make docs` builds the whole of it."""

import doctest
import enum
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import pullback as pb

SITE = Path(__file__).parents[1] / "docs" / "site"
pytest.importorskip("numpydoc", reason="of the extra 'docs'")


def test_the_front_page_is_true():
    text = (SITE / "index.md").read_text(encoding="utf-8")
    report = []
    test = doctest.DocTestParser().get_doctest(text, {}, "index.md", "index.md", 0)
    doctest.DocTestRunner().run(test, out=report.append)
    assert len(test.examples) > 3
    assert not report, "".join(report)
    for page in SITE.glob("*.md"):
        for link in re.findall(r"\]\(([\w/.]+\.md)\)", page.read_text(encoding="utf-8")):
            assert (SITE.parents[1] / link).exists(), f"{page.name} links to {link}"


@pytest.fixture
def site(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    yield importlib.import_module
    for name in ("reference", "docstrings", "check", "pictures"):
        sys.modules.pop(name, None)


def test_every_public_name_is_in_the_reference(site, tmp_path):
    reference = site("reference")
    reference.write(tmp_path)
    names = (Path(__file__).parent / "public_names.txt").read_text().split()
    text = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.rst")}
    for name in names:
        home, _, short = name.rpartition(".")
        where = text[home]
        assert f":doc:`{short} <" in where or f"``{short}``" in where or f":: {name}" in where, name
    for page in reference.pages().values():
        assert f":: {page.name}" in text[page.name]


def test_every_page_of_the_reference_has_parameters_and_an_example(site):
    reference, docstrings = site("reference"), site("docstrings")
    lacking = []
    for page in reference.pages().values():
        if reference.explanation(page.value):
            continue  # an error's page links to one with an example
        doc = inspect.getdoc(page.value) or ""
        enumeration = isinstance(page.value, type) and issubclass(page.value, enum.Enum)
        if ">>> " not in doc:
            lacking.append(f"{page.name}: example")
        if docstrings.takes_arguments(page.value) and not enumeration and "Parameters\n---" not in doc:
            lacking.append(f"{page.name}: parameters")
        if not isinstance(page.value, type) and "Returns\n---" not in doc and "Yields\n---" not in doc:
            lacking.append(f"{page.name}: what is returned")
    assert not lacking


ONE_SENTENCE = {
    "pullback.extend.ArrayType": "what an array type implements: the class has an example, docs/design the rest",
    "pullback.autograd.graph.Node": "what a node of one's own implements: the class has an example",
}
ANOTHERS = ("As `numpy.", "As `float.", "Refused")  # NumPy's or Python's documentation; it takes whatever it refuses
BUILTIN = {"pullback.Scalar.fromhex": "a class method of Python's float"}


def test_every_method_says_what_it_takes_and_returns_and_has_an_example(site):
    reference = site("reference")
    known = reference.pages()
    kinds = {page.name: page.value for page in known.values() if isinstance(page.value, type)}
    kinds |= {kind.__name__: kind for page in known.values() for kind in reference.returned(page.value, known)}
    assert {"CustomFunction", "Report", "WhyNoGrad"} <= set(kinds)
    lacking, seen = [], 0
    for home, kind in kinds.items():
        if home in ONE_SENTENCE:
            continue
        for member, value in reference.own_members(kind, known):
            name, doc = f"{home}.{member}", inspect.getdoc(getattr(kind, member)) or ""
            seen += 1
            if doc.startswith(ANOTHERS) or name in BUILTIN:
                continue
            if isinstance(value, property):  # one sentence, and the class's example
                lacking += [] if doc else [f"{name}: description"]
                continue
            inside = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if set(inspect.signature(inside).parameters) - {"self", "cls"} and "Parameters\n---" not in doc:
                lacking.append(f"{name}: parameters")
            lacking += [f"{name}: {what}" for what, mark in MARKS.items() if mark not in doc]
    assert seen > 150
    assert not lacking


NEVER_FAIL = {
    "pullback.is_conj": "takes anything", "pullback.is_neg": "takes anything", "pullback.is_tensor": "takes anything",
    "pullback.resolve_conj": "gives back what it got", "pullback.resolve_neg": "gives back what it got",
    "pullback.func.stop_gradient": "takes anything", "pullback.extend.numpy_rule": "NumPy may lack a name",
    "pullback.extend.tags_of": "no tags for what is unknown",
    "pullback.overrides.is_tensor_like": "takes anything",
    "pullback.overrides.is_tensor_method_or_property": "takes anything",
    "pullback.overrides.resolve_name": "None for what is not pullback's",
    "pullback.overrides.wrap_pullback_function": "calls what it is given when the function is called",
}  # fmt: skip


def test_every_function_that_takes_something_says_what_it_refuses(site):
    reference, docstrings = site("reference"), site("docstrings")
    pages = [page for page in reference.pages().values() if not isinstance(page.value, type)]
    taking = [page for page in pages if docstrings.takes_arguments(page.value)]
    assert len(taking) > 700
    silent = {page.name for page in taking if "Raises\n---" not in (inspect.getdoc(page.value) or "")}
    assert silent == set(NEVER_FAIL)


MARKS = {"what is returned": "Returns\n---", "an example": ">>> "}
ELSEWHERE = {
    "pullback.array_api": "the standard's names, which docs/array_api.md lists",
    "pullback.ops": "`load` for operators of one's own, which pullback.extend has too",
    "pullback.scipy": "SciPy's names, of which docs/scipy.md has tables",
    "pullback.signal": "holds pullback.signal.windows alone",
}


def test_every_module_that_is_named_has_its_page(site):
    homes = site("reference").HOMES
    named = {"pullback.utils.pytree", "pullback.signal.windows"}
    for home in homes:
        module = importlib.import_module(home)
        found = (getattr(module, name) for name in module.__all__)
        named |= {value.__name__ for value in found if inspect.ismodule(value)}
    assert len(named) > 15
    assert named - set(homes) == set(ELSEWHERE)


def test_links_between_pages_of_the_reference_lead_somewhere(site, tmp_path):
    site("reference").write(tmp_path)
    there = {path.stem for path in tmp_path.glob("*.rst")}
    for path in tmp_path.glob("*.rst"):
        for target in re.findall(r":doc:`[^<`]+ <([^>]+)>`", path.read_text(encoding="utf-8")):
            page = SITE.parents[1] / target.removeprefix("../")
            assert target in there or page.with_suffix(".md").exists(), (path.stem, target)


def test_every_page_of_the_reference_lists_its_neighbours(site, tmp_path):
    reference = site("reference")
    reference.write(tmp_path)
    for page in [page.name for page in reference.pages().values()] + list(reference.HOMES):
        (names,) = re.findall(
            r"^:neighbours: ``(.*)``$", (tmp_path / f"{page}.rst").read_text(encoding="utf-8"), re.MULTILINE
        )
        assert page in names.split()
        assert len(names.split()) < 150, page  # a list that can be read
        assert all((tmp_path / f"{name}.rst").exists() for name in names.split())


def test_a_page_that_a_docstring_names_is_a_link(site, tmp_path):
    site("reference").write(tmp_path)
    assert r"class: see :doc:`../docs/pytrees`) of these." in (tmp_path / "pullback.func.grad.rst").read_text()
    for path in tmp_path.glob("*.rst"):
        for target in re.findall(r":doc:`\.\./([^`<]+)`", path.read_text(encoding="utf-8")):
            assert (SITE.parents[1] / target).with_suffix(".md").exists(), (path.stem, target)


def test_the_title_of_an_operator_in_place_is_its_name_and_no_link(site, tmp_path):
    site("reference").write(tmp_path)
    assert "\nsin\\_\n=====\n" in (tmp_path / "pullback.sin_.rst").read_text()


def test_has_aux_is_explained_wherever_it_stands():
    for name in pb.func.__all__:
        doc = inspect.getdoc(getattr(pb.func, name)) or ""
        assert not re.search(r"\nhas_aux : bool, default False\n(?!    \S)", doc), name


def test_prose_is_escaped_and_examples_are_not(site):
    rst = site("docstrings").rst_of(
        "The sum |x| of `x` and x_ and *y [1]_.\n\nParameters\n----------\n*args : Tensor\n\n"
        "References\n----------\n.. [1] A. Author, b_.\n\nExamples\n--------\n>>> x_ = 2 * 3\n"
    )
    assert r"The sum \|x\| of ``x`` and x\_ and \*y [1]." in rst
    assert r"**\*args** : Tensor" in rst
    assert r"| [1] A. Author, b\_." in rst
    assert "   >>> x_ = 2 * 3" in rst


def test_columns_are_a_table_and_formulas_are_code(site):
    rst_of = site("docstrings").rst_of
    for margin in ("", "    "):
        rows = ("vjp, jvp   products", "           of any size", "hessian    the _whole_ matrix")
        table = rst_of("Title.\n\n" + "".join(f"{margin}{row}\n" for row in rows) + "\nThe end.")
        assert "   * - vjp, jvp\n     - products of any size\n" in table
        assert "   * - hessian\n     - the _whole\\_ matrix\n" in table
    for first, second in (("a = b", "c = d  + e"), ("1  0", " 0 1"), ("a    b", "c  d"), ("   a  b", "c    d")):
        rst = rst_of(f"Title.\n\n    {first}\n    {second}\n\nThe end.")
        assert f".. code-block:: text\n\n       {first}\n       {second}\n" in rst


def test_broken_links_are_found(site, tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">a</h1><a href="b.html">b</a><a href="#top">up</a><a href="#no">x</a>'
    )
    (tmp_path / "c.html").write_text('<a href="a.html#top">a</a><a href="a.html#nowhere">a</a>')
    assert site("check").broken_links(tmp_path) == ["a.html: b.html", "a.html: #no", "c.html: a.html#nowhere"]


def test_the_reference_has_no_page_for_a_module_that_is_gone(site):
    for home in site("reference").HOMES:
        assert importlib.import_module(home).__name__.startswith(pb.__name__)


def test_the_gallery_finds_programs_also_in_functions_within(site, tmp_path, monkeypatch):
    (tmp_path / "programs").mkdir()
    for name in ("called", "inner", "named", "other"):
        (tmp_path / "programs" / f"{name}.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "pictures", raising=False)  # the examples have modules of this name
    code = "def picture():\n    called.f()\n    use('named', lambda: [inner.g(x) for x in y])\n    return 'other one'"
    space = {}
    exec(code, space)
    known = dict.fromkeys(("called", "inner", "named", "unused"), tmp_path)
    assert set(site("pictures").programs_of(space["picture"], known)) == {"called", "inner", "named"}


def test_calls_are_shown_as_they_are_written(site, tmp_path):
    site("reference").write(tmp_path)
    ctx, function = (
        (tmp_path / f"pullback.autograd.{name}.rst").read_text() for name in ("function.FunctionCtx", "Function")
    )
    assert "FunctionCtx.save_for_backward(*tensors)\n" in ctx
    assert "py:class:: pullback.autograd.function.FunctionCtx\n" in ctx  # nobody calls it
    assert "Made by ``Function.apply``." in ctx
    assert "Function.apply(*args, **kwargs)\n" in function
    assert "Function.backward(ctx, *grads)\n" in function
    assert ".. py:method:: pullback.Array.byteswap(" in (array := (tmp_path / "pullback.Array.rst").read_text())
    assert "Refused, because its bytes have no derivative" in array  # and not what stands there until it is asked for
