"""The table in docs/numpy.md is complete for the installed NumPy, and what no rule knows is refused by name."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import UnsupportedError
from tools import numpy_functions as tool

x = pb.tensor([1.5, 2.5], requires_grad=True)
ROWS = tool.table()
OF_THIS_VERSION = tool.version_of(tool.PAGE.read_text(encoding="utf-8")) == tool.version_of(tool.page())


def test_every_public_function_is_in_the_table():
    unknown = sorted(name for name, (_, why) in ROWS.items() if why == tool.NO_RULE)
    if OF_THIS_VERSION:
        assert unknown == []
        return
    for name in unknown:
        function = tool.HOMES[name.rpartition(".")[0]].__dict__[name.rpartition(".")[2]]
        if hasattr(function, "_implementation"):
            with pytest.raises(UnsupportedError, match=f"np.{name} has no rule for Tensors"):
                x.__array_function__(function, (pb.Tensor,), (x,), {})
    if unknown:
        pytest.skip(f"NumPy {np.__version__} has what the table does not know, and Tensors refuse: {unknown}")


@pytest.mark.skipif(not OF_THIS_VERSION, reason="docs/numpy.md is of another NumPy")
def test_the_page_is_what_the_tool_writes():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run: python tools/numpy_functions.py"


def test_a_function_that_nobody_has_heard_of_is_refused_by_name():
    def brand_new(a):
        return a

    brand_new.__module__ = "numpy"
    with pytest.raises(UnsupportedError, match=r"np\.brand_new has no rule for Tensors"):
        x.__array_function__(brand_new, (pb.Tensor,), (x,), {})
    assert tool.tried("brand_new", brand_new) is None


def test_kinds_are_found_by_trying():
    assert tool.tried("sum", np.sum) == (tool.DIFFERENTIABLE, "")
    assert tool.tried("cbrt", np.cbrt) == (tool.DIFFERENTIABLE, "")
    assert tool.tried("argmax", np.argmax) == (tool.BY_NATURE, "whole numbers")
    assert tool.tried("floor", np.floor)[0] == tool.tried("round", np.round)[0] == tool.BY_NATURE  # steps
    assert tool.tried("isnan", np.isnan) == (tool.BY_NATURE, "truth values")


REFUSED = [name for name, (kind, why) in ROWS.items() if kind == tool.REFUSED]
GIVEN = (
    (x,),
    (x[0],),
    (x, x),
    (2, x),
    (3, 2, x),
    ((3,), x),
    ("z", x),
    (x, float),
    (abs, 1, 1),
    (abs,),
    ([[x, x]],),
    (x, [[0], []]),
    (2, x, x),
    (x, 2, 2),
)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, said = tool.HOMES[name.rpartition(".")[0]].__dict__[name.rpartition(".")[2]], []
    for given in GIVEN:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
            try:
                made = function(*given)
                if callable(made) and not isinstance(made, type):  # np.vectorize(f)
                    made(x)
            except Exception as error:  # noqa: BLE001 - judged
                said.append(str(error))
    assert any("requires grad" in text or "has no rule" in text or name.rpartition(".")[2] in text for text in said), (
        said
    )
