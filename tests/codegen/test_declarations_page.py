"""The page on declarations has the constants and helpers that there are."""

import pytest

from pullback.codegen.generate import own_registry
from pullback.codegen.whitelist import CONSTANTS
from pullback.ops.formulas import STABLE
from tools import declarations


def test_the_page_is_as_its_tool_writes_it():
    assert declarations.PAGE.read_text(encoding="utf-8") == declarations.page()


def test_stable_helpers_exist_and_each_helper_is_listed_once():
    helpers = own_registry().helper_modules
    assert helpers.keys() > STABLE
    text = declarations.PAGE.read_text(encoding="utf-8")
    assert {name for name in helpers if text.count(f"\n| `{name}(") != 1} == set()
    stable = text[text.index("<!-- stable helpers -->") : text.index("<!-- end of stable helpers -->")]
    assert {name for name in helpers if f"`{name}(" in stable} == STABLE
    assert {name for name in CONSTANTS if f"\n| `{name}` |" not in text} == set()


@pytest.mark.parametrize(
    "change", [("`expand_reduced(grad, ", "`expand_reduced(g, "), ("| `e` | exp(1) |", "| `e` | 1 |")]
)
def test_it_is_refused_after_a_change(change, monkeypatch, tmp_path, capsys):
    page = tmp_path / "declarations.md"
    page.write_text(declarations.PAGE.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    monkeypatch.setattr(declarations, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["declarations.py", "--check"])
    assert declarations.main() == 1
    assert "out of date" in capsys.readouterr().out
