"""What the tests of `adopt()` share."""

import importlib.util
import sys
import textwrap

import pytest

import pullback as pb


@pytest.fixture
def adopted():
    """`adopt()`, for the test."""
    with pb.adopt():
        yield


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """A function that writes a source to a file and imports it, as a user's module."""
    count = 0

    def load(source, listed=True):
        nonlocal count
        count += 1
        name = f"users_module_{count}"
        file = tmp_path / f"{name}.py"
        file.write_text(textwrap.dedent(source), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        if listed:
            monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load
