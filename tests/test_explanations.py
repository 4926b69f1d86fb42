"""Each public class of errors has a page, and each error says which."""

import doctest
import importlib
import pickle
from pathlib import Path

import pytest

import pullback as pb
from pullback.__main__ import main
from pullback.core.errors import Explained

PAGES = sorted((Path(pb.__file__).parent / "explanations").glob("*.md"))
NAMES = {path.stem for path in PAGES}


def public_errors():
    for module in (pb.extend, pb.linalg, importlib.import_module("pullback.utils.checkpoint")):
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, Exception) and value.__module__.startswith("pullback"):
                yield value.__name__


def classes(kind):
    for derived in kind.__subclasses__():
        yield derived
        yield from classes(derived)


def test_each_public_error_has_a_page():
    assert set(public_errors()) <= NAMES


def test_each_error_names_a_page_that_is_there():
    import pullback.arrays.batched  # noqa: F401 - whose errors are loaded late

    found = {kind.__name__: kind.page for kind in classes(Explained) if kind.__module__.startswith("pullback")}
    assert len(found) > 15
    assert set(found.values()) <= NAMES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_is_true(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.stem}\n")
    assert text.count("\n**What to ") == 1 or "docs/" in text, "it says what to do"
    assert "\n>>> " in text, "it has an example"
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    report = []
    test = doctest.DocTestParser().get_doctest(text, {}, path.stem, str(path), 0)
    doctest.DocTestRunner(optionflags=options).run(test, out=report.append)
    assert not report, "".join(report)


def test_a_note_leads_to_the_page_and_is_there_once():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="scalar") as caught:
        (x * x).backward()
    assert caught.value.__notes__ == ["More about it: python -m pullback explain GradientError"]
    assert pickle.loads(pickle.dumps(caught.value)).__notes__ == caught.value.__notes__
    with pytest.raises(RuntimeError) as caught:
        x.numpy()
    assert "explain" not in str(caught.value)


def test_the_command_prints_a_page_and_helps_with_names(capsys):
    assert main(["explain", "pullback.core.errors.DetachingError"]) == 0
    said, page = capsys.readouterr().out, (PAGES[0].parent / "DetachingError.md").read_text(encoding="utf-8")
    assert "see [adopt()](../../docs/adopt.md)." in page
    assert "see adopt() (docs/adopt.md)." in said  # an installed package has no such link
    assert said.startswith(page[:100])
    assert "](" not in said
    assert main(["explain"]) == 0
    assert set(capsys.readouterr().out.split()) == NAMES
    assert main(["explain", "DetachedError"]) == 1
    assert "did you mean DetachingError?" in capsys.readouterr().err
