"""Progress: a bar for what takes long, on a terminal, and nothing otherwise."""

from __future__ import annotations

import contextlib
import io
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.core import progress
from pullback.core.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    pytest.importorskip("tqdm", reason="extra progress")
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    return Terminal()


def on(terminal, function, *args, **kwargs):
    """Called inside the test, because pytest puts its own stream in place when the test begins."""
    with contextlib.redirect_stderr(terminal):
        return function(*args, **kwargs)


@pytest.fixture(autouse=True)
def default():
    yield
    pb.show_progress(None)


def work(**options):
    with Progress("work", 3, **options) as bar:
        for i in range(3):
            bar.update(facts=lambda i=i: {"i": i})


def test_long_work_shows_a_bar_on_a_terminal(terminal):
    on(terminal, work)
    assert "work" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    assert "i=2" in terminal.getvalue()


def test_short_work_shows_none(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 3600.0)
    on(terminal, work)
    assert terminal.getvalue() == ""


def test_without_a_terminal_there_is_none(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    assert not Progress("work").is_wanted
    work()
    assert capsys.readouterr().err == ""


def test_the_switch_and_the_argument(terminal):
    pb.show_progress(False)
    on(terminal, work)
    on(terminal, work, wanted=True)
    assert terminal.getvalue() == ""
    pb.show_progress(True)
    on(terminal, work, wanted=False)
    assert terminal.getvalue() == ""
    on(terminal, work)
    assert "3/3" in terminal.getvalue()
    with pytest.raises(TypeError, match="True, False or None"):
        pb.show_progress("yes")


def test_without_tqdm_only_an_argument_is_an_error(terminal, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    on(terminal, work)
    pb.show_progress(True)
    on(terminal, work)
    assert terminal.getvalue() == ""
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pullback\[progress\]'"):
        work(wanted=True)


def test_what_takes_long_tells_it(terminal):
    on(terminal, pb.optimize.minimize, lambda x: np.sum((x - 1) ** 2), np.zeros(2))
    assert "fun=" in terminal.getvalue()
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert on(terminal, pb.autograd.gradcheck, lambda a: a.sin(), (x,))
    assert "gradcheck" in terminal.getvalue()
    loop = pb.func.grad(lambda a: np.sum(pb.func.checkpointed_loop(lambda y, k: np.sin(y), a, 5, slots=2)))
    on(terminal, loop, np.ones(2))
    assert "backward of checkpointed_loop" in terminal.getvalue()
