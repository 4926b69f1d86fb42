"""Every solution is accepted; every template and typical wrong answer is refused, with the mistake named that it is."""

import re
import runpy
from pathlib import Path

import pytest

from pullback.lab.course import COURSE
from pullback.lab.judge import Mistake

WRONG = runpy.run_path(str(Path(__file__).parent / "wrong_answers.py"))["WRONG"]
CASES = [(e, *case) for e in COURSE for case in WRONG[e.name]]


def defined(text):
    names = {"__name__": "answer"}
    exec(compile(text, "<answer>", "exec"), names)
    return names


@pytest.mark.parametrize("exercise", COURSE, ids=lambda e: e.name)
def test_the_solution_is_right_and_the_template_is_not(exercise):
    exercise.check(defined(exercise.solution))
    with pytest.raises(Mistake):
        exercise.check(defined(exercise.template))


@pytest.mark.parametrize(
    ("exercise", "right", "wrong", "kind"), CASES, ids=[f"{e.name}-{w.strip()}" for e, _, w, _ in CASES]
)
def test_a_wrong_answer_gets_its_diagnosis(exercise, right, wrong, kind):
    assert right in exercise.solution
    with pytest.raises(Mistake) as caught:
        exercise.check(defined(exercise.solution.replace(right, wrong)))
    assert caught.value.diagnosis.kind == kind
    assert not re.search(r"input \d", str(caught.value).partition("\n\n")[0]) or kind in {"raises", "unknown"}


@pytest.mark.parametrize("exercise", COURSE, ids=lambda e: e.name)
def test_a_forgotten_return_is_named(exercise):
    for found in re.finditer(
        r"return (?=\S)(?!x \* \(w @ x\))", exercise.solution
    ):  # all but the function that is given
        owner = re.findall(r"def (\w+)\(", exercise.solution[: found.start()])[-1]
        with pytest.raises(Mistake, match=rf"{owner}: it gives None: no return statement"):
            exercise.check(defined(exercise.solution[: found.start()] + exercise.solution[found.end() :]))


def test_enough_wrong_answers():
    for exercise in COURSE:
        named = [kind for _, _, kind in WRONG[exercise.name] if kind != "unknown"]
        assert len(named) >= 4, exercise.name


@pytest.mark.parametrize("exercise", COURSE, ids=lambda e: e.name)
def test_hints_go_by_steps(exercise):
    """The first hint is not the answer; the last one is, and nothing before the hints gives it away."""
    answer = re.findall(r"return (.+)", exercise.solution)
    assert len(exercise.hints) >= 4
    assert not any(line in exercise.hints[0] for line in answer)
    assert exercise.hints[-1].endswith(exercise.solution)
    assert all(len(line) <= 120 for line in exercise.text.splitlines())


def test_an_operator_of_another_name_is_named():
    (exercise,) = (e for e in COURSE if e.name == "composite")
    with pytest.raises(Mistake, match=r"no attribute 'atangent'.*\n.*ops\.atan"):
        exercise.check(defined(exercise.solution.replace("ops.atan(", "ops.atangent(")))


def test_the_input_whose_derivative_is_wrong_is_named():
    for name, right, wrong, said in [
        ("forward_mode", "dA @ B + A @ dB", "dA @ B", "matmul_forward, for dB: In forward mode: the tangent is zero"),
        ("matrix_product", "A.conj().T @ grad", "None", "matmul_backward, square, for B: the input gets no gradient"),
    ]:
        (exercise,) = (e for e in COURSE if e.name == name)
        with pytest.raises(Mistake, match=said):
            exercise.check(defined(exercise.solution.replace(right, wrong)))
