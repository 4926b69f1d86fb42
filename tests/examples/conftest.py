"""What the tests of examples share."""

import importlib
import sys

import pytest


@pytest.fixture(scope="module")
def program(request):
    """Imports a program of the test's FOLDER by name; afterwards none is left among the modules."""
    folder = request.module.FOLDER
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    yield importlib.import_module
    sys.path.remove(str(folder))
    for name in {path.stem for path in folder.glob("*.py")} & (set(sys.modules) - before):
        del sys.modules[name]
