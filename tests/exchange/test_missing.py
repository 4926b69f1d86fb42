"""Without the other library an error says how to get it."""

import sys

import pytest

import pullback as pb


@pytest.mark.parametrize("name", ["torch_function", "for_torch", "jax_function", "for_jax"])
def test_the_error_has_the_command(name, monkeypatch):
    library = name.replace("for_", "").replace("_function", "")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"{name} needs {library}.*pip install '{library}'"):
        getattr(pb, name)(lambda x: x)
