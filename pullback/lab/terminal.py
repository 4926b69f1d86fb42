"""The lab in a terminal: shows an exercise, checks the learner's file, gives hints, keeps progress."""

from __future__ import annotations

import contextlib
import linecache
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pullback.lab.course import COURSE, Exercise
from pullback.lab.judge import Mistake
from pullback.lab.progress import Progress

__all__ = ["main"]

COMMAND = "python -m pullback lab"
SECONDS = 60.0  # that an answer may run
BOLD, GREEN, RED = "1", "32", "31"


def main(words: Sequence[str], folder: Path, hint: bool = False, list_: bool = False, reset: bool = False) -> int:
    """Run one command of the lab; return the exit status: 0, 1 for an answer that is wrong, 2 for a wrong command."""
    try:
        checking, number = _understood(words)
        if reset:
            return _reset(folder, number)
        progress = Progress(folder)
        if list_:
            return _list(progress)
        if number is None:
            number = next((e.number for e in COURSE if e.number not in progress.solved), None)
        if number is None:
            return _all_solved(progress)
        exercise = COURSE[number - 1]
        path = _file(folder, exercise)
        if hint:
            return _hint(exercise, progress)
        return _check(exercise, path, progress) if checking else _show(exercise, path, progress)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2


def _understood(words: Sequence[str]) -> tuple[bool, int | None]:
    """Tell whether to check, and which exercise, if one is named."""
    rest = list(words)
    checking = rest[:1] == ["check"]
    if checking:
        rest.pop(0)
    if not rest:
        return checking, None
    if len(rest) > 1 or not rest[0].isdecimal() or not 1 <= int(rest[0]) <= len(COURSE):
        raise ValueError(
            f"the lab does not know {' '.join(words)!r}. Write a number from 1 to {len(COURSE)}, or check "
            f"and a number: {COMMAND} check 1"
        )
    return checking, int(rest[0])


def _show(exercise: Exercise, path: Path, progress: Progress) -> int:
    """The text of an exercise, and what to do."""
    if not progress.solved and exercise.number == 1:
        print(
            f"Welcome. {len(COURSE)} exercises lead from the derivative of sin to rules of your own. For each there\n"
            "is a file, in which you complete a formula or a class; the lab checks it, and says what is wrong.\n"
        )
    print(_styled(f"{exercise.number} of {len(COURSE)}. {exercise.title}", BOLD))
    print(f"\n{exercise.text}\n")
    if exercise.number in progress.solved:
        print("You have solved it.")
    print(f"Your file   {path}")
    print(f"Check it    {COMMAND} check {exercise.number}")
    print(f"Stuck?      {COMMAND} {exercise.number} --hint")
    return 0


def _check(exercise: Exercise, path: Path, progress: Progress) -> int:
    """Run the learner's file, check what it defines, say what is wrong or what comes next."""
    try:
        with _limited(SECONDS):
            exercise.check(_defined(path))
    except Mistake as mistake:
        print(_styled(f"Exercise {exercise.number} is not right yet.", RED) + f"\n\n{_wrapped(str(mistake))}\n")
        print(f"Your file   {path}\nStuck?      {COMMAND} {exercise.number} --hint")
        return 1
    except SyntaxError as error:
        print(_styled(f"{path}, line {error.lineno}: {error.msg}.", RED) + f"\n\n{(error.text or '').rstrip()}\n")
        print("Python cannot read the file. Look at this line and the one before it.")
        return 1
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the learner's file raises
        print(_styled(f"{path} does not run: {type(error).__name__}: {error}", RED))
        return 1
    except KeyboardInterrupt:
        print(f"Stopped. {path} was running.")
        return 130
    progress.solve(exercise.number)
    print(_styled(f"Exercise {exercise.number} is solved.", GREEN) + f" {len(progress.solved)} of {len(COURSE)}.")
    if len(progress.solved) == len(COURSE):
        return _all_solved(progress)
    print(f"Next        {COMMAND}")
    return 0


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Stop code that runs for so long, where the system has timers and this is the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"it has run for {seconds:g} seconds. Is there a loop that does not end?")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _defined(path: Path) -> dict[str, Any]:
    """Return what the learner's file defines."""
    text = path.read_text(encoding="utf-8-sig")  # some editors begin files with a mark
    linecache.checkcache(str(path))  # it has changed since the last check, in one process
    names: dict[str, Any] = {"__name__": "answer", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), names)  # noqa: S102 - the learner's own program
    return names


def _hint(exercise: Exercise, progress: Progress) -> int:
    """One more hint."""
    hints = exercise.hints
    shown = progress.count_hint(exercise.number, len(hints))
    for place, text in enumerate(hints[:shown], start=1):
        print(_styled(f"Hint {place} of {len(hints)}", BOLD) + f"  {text}")
    if shown < len(hints):
        more = "The last one, a solution" if shown == len(hints) - 1 else "One more"
        print(f"\n{more}:   {COMMAND} {exercise.number} --hint")
    return 0


def _list(progress: Progress) -> int:
    """All exercises, and which are solved."""
    for exercise in COURSE:
        mark = "x" if exercise.number in progress.solved else " "
        print(f"[{mark}] {exercise.number:2}  {exercise.title}")
    print(f"\n{len(progress.solved)} of {len(COURSE)} are solved. {COMMAND} 3 opens the third.")
    return 0


def _reset(folder: Path, number: int | None) -> int:
    """Begin one exercise anew, or all; what was written is kept beside it."""
    chosen = COURSE if number is None else (COURSE[number - 1],)
    for exercise in chosen:
        path = folder / exercise.file
        if path.exists():
            kept = path.with_suffix(".py.old")
            path.replace(kept)
            print(f"{path} begins anew; what you wrote is in {kept}.")
    if number is None:
        (folder / "progress.json").unlink(missing_ok=True)
    else:
        Progress(folder).forget({number})
    print(f"Begin       {COMMAND}{'' if number is None else f' {number}'}")
    return 0


def _all_solved(progress: Progress) -> int:
    """The end of the course."""
    print(f"All {len(progress.solved)} exercises are solved. What you can do now:")
    print("  a rule for a function of your own     docs/custom_rules.md")
    print("  an operator in YAML                   docs/declarations.md")
    print("  how the library is built              docs/design/overview.md")
    return 0


def _file(folder: Path, exercise: Exercise) -> Path:
    """The learner's file, made from the template if it is not there."""
    path = folder / exercise.file
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(exercise.template, encoding="utf-8")
    return path


def _wrapped(text: str) -> str:
    """Prose in lines of 100 characters; rows of numbers, which begin with a space or a bracket, as they are."""
    lines = text.splitlines()
    return "\n".join(x if x[:1] in {" ", "["} else textwrap.fill(x, 100, break_long_words=False) for x in lines)


def _styled(text: str, code: str) -> str:
    """Text in a colour, where a terminal shows it."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{code}m{text}\033[0m"
