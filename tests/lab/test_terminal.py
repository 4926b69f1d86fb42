"""The lab in a terminal: what it prints, the learner's files, progress."""

import pytest

from pullback.__main__ import main
from pullback.lab import terminal
from pullback.lab.course import COURSE


@pytest.fixture
def lab(tmp_path, capsys):
    folder = tmp_path / "work"

    def run(*words):
        status = main(["lab", *words, "--folder", str(folder)])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    run.folder = folder
    return run


def test_the_way_through(lab):
    """Each step follows from what was printed; solved exercises make way for the next."""
    status, text = lab()
    assert status == 0
    assert "1 of 16. The derivative of sin" in text
    assert "check 1" in text
    assert "\033" not in text
    for exercise in COURSE:
        path = lab.folder / exercise.file
        lab(str(exercise.number))
        assert path.read_text() == exercise.template
        assert lab("check")[0] == 1
        path.write_text(exercise.solution)
        status, text = lab("check", str(exercise.number))
        assert (status, "is solved" in text) == (0, True), text
    assert "All 16 exercises are solved" in text
    assert lab("--list")[1].count("[x]") == 16


def test_a_wrong_answer_says_what_and_where_to_get_help(lab):
    lab()
    (lab.folder / "01_sine.py").write_text(COURSE[0].solution.replace("grad *", "-grad *"))
    status, text = lab("check", "1")
    assert status == 1
    assert "minus the right one" in text
    assert "lab 1 --hint" in text
    assert "[x]" not in lab("--list")[1]


def test_hints_come_one_by_one(lab):
    texts = [lab("1", "--hint")[1] for _ in range(5)]
    for place, text in enumerate(texts[:4], start=1):
        assert text.count("Hint ") == place
    assert COURSE[0].solution not in texts[2]
    assert COURSE[0].solution in texts[3]
    assert texts[3] == texts[4]


def test_files_that_do_not_run(lab):
    lab()
    path = lab.folder / "01_sine.py"
    path.write_text("def sin_backward(grad, x)\n    return grad\n")
    status, text = lab("check")
    assert status == 1
    assert "line 1" in text
    path.write_text("import a_module_that_nobody_has\n")
    assert "ModuleNotFoundError" in lab("check")[1]
    path.write_text("import sys\nsys.exit(3)\n")
    assert "SystemExit" in lab("check")[1]
    path.write_text("def sin_backward(grad, x):\n    return grad[7]\n")
    assert "line 2: return grad[7]" in lab("check")[1]


def test_loops_that_do_not_end_are_stopped(lab, monkeypatch):
    monkeypatch.setattr(terminal, "SECONDS", 0.2)
    lab()
    path = lab.folder / "01_sine.py"
    path.write_text("def sin_backward(grad, x):\n    while True:\n        pass\n")
    status, text = lab("check")
    assert status == 1
    assert "it raises TimeoutError (line" in text
    assert "it has run for 0.2 seconds" in text
    path.write_text("while True:\n    pass\n")
    assert "has run for 0.2 seconds" in lab("check")[1]


def test_an_interrupt_is_no_traceback(lab):
    lab()
    (lab.folder / "01_sine.py").write_text("raise KeyboardInterrupt\n")
    assert lab("check") == (130, f"Stopped. {lab.folder / '01_sine.py'} was running.\n")


def test_files_may_begin_with_a_mark(lab):
    lab()
    (lab.folder / "01_sine.py").write_bytes(b"\xef\xbb\xbf" + COURSE[0].solution.replace("\n", "\r\n").encode())
    assert lab("check")[0] == 0


def test_reset_keeps_what_was_written(lab):
    lab()
    path = lab.folder / "01_sine.py"
    path.write_text(COURSE[0].solution)
    lab("check")
    assert "begins anew" in lab("1", "--reset")[1]
    assert (lab.folder / "01_sine.py.old").read_text() == COURSE[0].solution
    lab("1")
    assert path.read_text() == COURSE[0].template
    path.write_text(COURSE[0].solution)
    lab("check")
    lab("--reset")
    assert not (lab.folder / "progress.json").exists()


def test_wrong_commands_are_told_what_to_write(lab):
    for words in (("17",), ("0",), ("check", "one"), ("chek",), ("1", "2")):
        status, text = lab(*words)
        assert status == 2
        assert "from 1 to 16" in text
    lab.folder.mkdir(exist_ok=True)
    (lab.folder / "progress.json").write_text("{")
    status, text = lab()
    assert status == 2
    assert "--reset" in text
