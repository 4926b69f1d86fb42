"""What surrounds the package: README and CONTRIBUTING are true, the commands exist, pyproject.toml says one thing."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import pullback as pb
from pullback.__main__ import main, parser
from pullback.interop.adopt.rules import RULES
from pullback.testing import check_operator

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of a Markdown file in one language."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


SITE = ROOT / "docs" / "site"  # whose pages have their links as seen from the root
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if SITE not in path.parents)
WITH_EXAMPLES = [document for document in ["README.md", *DOCUMENTS] if blocks(document, "python")]


def test_pages_with_examples_are_found():
    assert {"README.md", "docs/conventions.md", "docs/design/overview.md"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("document", WITH_EXAMPLES)
def test_examples_print_what_they_say(document, monkeypatch, tmp_path):
    monkeypatch.setitem(RULES, "scipy.linalg.pinvh", None)  # which docs/adopt.md gives a rule: not for other tests
    text = "\n".join(blocks(document, "python"))
    monkeypatch.chdir(tmp_path)  # some write files
    if ">>>" not in text:  # programs, which assert what they say
        assert "assert" in text
        exec(compile(text, document, "exec"), {})
        return
    test = doctest.DocTestParser().get_doctest(text, {}, document, document, 0)
    assert len(test.examples) > 3
    report = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)


def test_overview_quotes_the_declarations():
    declared = "".join((ROOT / f"pullback/ops/{name}.yaml").read_text() for name in ("native_functions", "derivatives"))
    (quoted,) = blocks("docs/design/overview.md", "yaml")
    for entry in quoted.strip().split("\n\n"):
        assert entry in declared


# tests/test_contributing.py follows the page; here its pieces serve outside of the package.
@pytest.mark.skipif(hasattr(pb, "lambertw"), reason="the steps have been followed in this tree")
def test_contributing_adds_an_operator(tmp_path, monkeypatch):
    kernel, record = blocks("CONTRIBUTING.md", "python")
    native, derivative = blocks("CONTRIBUTING.md", "yaml")
    (tmp_path / "worked_example.py").write_text(kernel)
    declarations = tmp_path / "worked_example.yaml"
    declarations.write_text(
        f"namespace: worked_example\nkernels: worked_example\nnative_functions:\n{native}\nderivatives:\n{derivative}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    operators = pb.ops.load(declarations)
    names: dict[str, object] = {}
    exec(record, names)
    check_operator(dataclasses.replace(names["RECORD"], call=operators.lambertw))
    with pytest.raises(TypeError, match="complex"):
        operators.lambertw(pb.tensor([1j]))
    if hasattr(pb.Tensor, "lambertw"):  # its method, which later tests need not see
        del pb.Tensor.lambertw


def test_every_document_is_reached_from_the_readme():
    reached, begun = set(), {"README.md"}
    while begun:
        page = begun.pop()
        reached.add(page)
        for link in re.findall(r"\]\(([\w/.]+\.md)\b", (ROOT / page).read_text(encoding="utf-8")):
            target = os.path.normpath(Path(page).parent / link)
            assert (ROOT / target).exists(), f"{page} links to {link}"
            begun |= {target} - reached
    assert set(DOCUMENTS) <= reached


GUIDE = ROOT / "docs/guide"


def test_the_index_of_the_guide_lists_every_page():
    linked = re.findall(r"\]\((\w+\.md)\)", (GUIDE / "index.md").read_text(encoding="utf-8"))
    assert set(linked) == {page.name for page in GUIDE.glob("*.md")} - {"index.md"}


@pytest.mark.parametrize("page", ["yaml", "which", "complex", "backward_argument"])
def test_the_guide_quotes_the_declarations(page):
    package = (ROOT / "examples/third_party_ops/paramagnet/paramagnet.yaml").read_text()
    declared = "".join((ROOT / f"pullback/ops/{name}.yaml").read_text() for name in ("native_functions", "derivatives"))
    declared += re.sub("^  ", "", package, flags=re.MULTILINE)
    quoted = [block for block in blocks(f"docs/guide/{page}.md", "yaml") if "namespace:" not in block]
    assert quoted
    for block in quoted:
        assert block in declared


def test_the_guide_declares_an_operator_in_two_files(tmp_path, monkeypatch):
    kernels = next(block for block in blocks("docs/guide/yaml.md", "python") if "wofz" in block)
    (declarations,) = (block for block in blocks("docs/guide/yaml.md", "yaml") if "namespace:" in block)
    (tmp_path / "line_kernels.py").write_text(kernels)
    (tmp_path / "line.yaml").write_text(declarations)
    monkeypatch.syspath_prepend(tmp_path)
    line = pb.ops.load(tmp_path / "line.yaml")
    x, y = pb.tensor([0.3, 1.2], requires_grad=True), pb.tensor(0.5, requires_grad=True)
    assert pb.autograd.gradcheck(line.faddeeva, (x, y), check_forward_ad=True)
    assert pb.autograd.gradgradcheck(line.faddeeva, (x, y))
    (test,) = (block for block in blocks("docs/guide/yaml.md", "python") if "OpInfo" in block)
    names = {"__name__": "test_line"}
    monkeypatch.chdir(tmp_path)
    exec(test, names)
    names["test_faddeeva"]()
    monkeypatch.setattr(names["line"], "faddeeva", lambda x, y: (2 * x, y))
    with pytest.raises(AssertionError):
        names["test_faddeeva"]()


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *DOCUMENTS])
def test_named_files_and_targets_exist(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([\w/.]+\.md)\)", text):
        assert ((ROOT / document).parent / link).exists(), f"{document} links to {link}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:pullback|tests|examples|benchmarks|\.ci)/[\w./]+)`", text):
        assert (ROOT / path).exists(), f"{document} names {path}"
    for target in re.findall(r"\bmake ([\w-]+)", "\n".join(re.findall(r"`[^`]+`|^make .*$", text, re.MULTILINE))):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{document} names make {target}"


def test_the_glossary_names_what_is_there():
    rows = re.findall(
        r"^\| (?!word |-).* \|$", (ROOT / "docs/design/glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) > 40
    words = [row.split(" | ")[0] for row in rows]
    assert len(set(words)) == len(words)
    for row in rows:
        where = row.rsplit(" | ", 1)[1]
        assert row.count(" | ") == 3, f"cells of {row}"
        path = None
        for name in re.findall(r"`([^`]+)`", where):
            if "/" in name:
                path = ROOT / "pullback" / name
                assert path.exists(), f"the glossary names {name}"
            else:
                found = re.search(rf"\b{name}\b", path.read_text(encoding="utf-8"))
                assert found, f"the glossary looks for {name} in {path}"
        assert path is not None, f"no file in {row}"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *DOCUMENTS])
def test_linked_headings_exist(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for link, anchor in re.findall(r"\]\(([\w/.]*)#([\w-]+)\)", text):
        page = (ROOT / document).parent / link if link else ROOT / document
        headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert anchor in anchors, f"{document} links to {link}#{anchor}"


def test_version_is_said_once_everywhere(capsys):
    assert pb.__version__ == PROJECT["version"]
    assert f"## {pb.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {pb.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"pullback {pb.__version__}\n"


def test_dependencies_are_the_three():
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert names == {"numpy", "scipy", "pyyaml"}


def test_extra_all_has_every_extra():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == set(extras) - {"all"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("demo", {"name": "digits", "output": Path("demo")}),
        ("demo fit -o there", {"name": "fit", "output": Path("there")}),
        ("codegen mine.yaml -o mine.py", {"yaml": Path("mine.yaml"), "output": Path("mine.py")}),
    ],
)
def test_command_line(words, expected):
    options = vars(parser().parse_args(words.split()))
    assert options.items() >= expected.items()


@pytest.mark.parametrize("words", ["", "demo unknown", "codegen mine.yaml"])
def test_command_line_refuses(words, capsys):
    with pytest.raises(SystemExit) as stop:
        parser().parse_args(words.split())
    assert stop.value.code == 2
    assert "usage: pullback" in capsys.readouterr().err


def test_scripts_are_sound():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    subprocess.run(["bash", "-n", ROOT / ".ci" / "run"], check=True)


def test_nothing_ties_the_project_to_one_registry():
    """Installs go wherever pip is told to go: no host, no lock file."""
    for name in ("pyproject.toml", "Makefile", ".ci/run"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in re.sub(r"^\[project\.urls\]\n.*?(?=^\[)", "", text, flags=re.MULTILINE | re.DOTALL), name
    assert not list(ROOT.glob("*.lock"))


def test_the_source_distribution_names_everything_that_is_kept():
    """Every folder and file at the top of the repository is in it: docs and tests above all."""
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if kept.returncode:
        pytest.skip("no repository")
    tops = {path.partition("/")[0] for path in kept.stdout.splitlines()}
    assert tops - set(manifest) == {"pullback", "pyproject.toml", "MANIFEST.in"}  # setuptools adds these by itself


@pytest.mark.parametrize("folder", ["pullback", "benchmarks", "docs/site", "tools"])
def test_docstrings_begin_with_a_noun_or_a_verb(folder):
    """ "Whether it is so" and "What it gives" are half sentences: "True if it is so", "Return what it gives"."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        suspect = '"""Whether ' in text or '"""What ' in text  # parsing all files would take seconds
        for node in ast.walk(ast.parse(text)) if suspect else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                said = (ast.get_docstring(node) or "").partition("\n")[0]
                assert not said.startswith(("Whether ", "What ")), f"{path.relative_to(ROOT)}: {said}"


def test_the_project_says_where_it_is_found():
    assert {"Homepage", "Documentation", "Source", "Changelog"} <= set(PROJECT["urls"])
    home = PROJECT["urls"]["Homepage"]
    assert all(url.startswith(home) for url in PROJECT["urls"].values())  # one address, changed in one place
