"""docs/scipy.md is what the tool writes, and says of every public function how it is differentiated, or why not."""

import pytest

from tools import scipy_functions as tool

ROWS = tool.table()
OF_THIS_VERSION = tool.version_of(tool.PAGE.read_text(encoding="utf-8")) == tool.version()


@pytest.mark.skipif(not OF_THIS_VERSION, reason="docs/scipy.md is of another SciPy")
def test_every_public_function_has_a_way_or_a_reason():
    assert [name for name, (_, why) in ROWS.items() if why == tool.NO_RULE] == []
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run: python tools/scipy_functions.py"


def test_no_reason_is_given_for_what_has_a_way():
    assert [name for name in tool.reasons() if name in ROWS and ROWS[name][0] != tool.REFUSED] == []
