"""What the tests of exchange share."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "exchange.md"


@pytest.fixture
def run_page():
    """Runs the examples of docs/exchange.md that are about one library, which must be installed."""

    def run(library):
        blocks = re.findall(rf"^```pycon {library}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        assert blocks
        test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, library, str(PAGE), 0)
        report = []
        doctest.DocTestRunner().run(test, out=report.append)
        assert not report, "".join(report)

    return run
