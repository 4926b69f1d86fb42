"""gradcheck in miniature.

How is a backward checked? By a Jacobian that knows no calculus. Move one number of x by a small eps, see how far each
number of f(x) goes, divide. Do so for each number of x: that is the Jacobian, column by column.

    J[i, j] = d f(x)[i] / d x[j]

One step to the right has an error of the size of eps. The difference between a step to the right and one to the left,
divided by 2 eps, has an error of the size of eps**2: for the same eps many digits more.

Write jacobian(f, x, eps): f takes a vector and gives a vector (of another length, perhaps); x must be afterwards as
it was before. Your Jacobian is compared with the right one, and then for two steps: its error must fall as eps**2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.lab.judge import Answer, check_array, refuse

TEMPLATE = '''\
import numpy as np


def jacobian(f, x, eps):
    """The matrix of d f(x)[i] / d x[j], by central differences."""
    columns = []
    for j in range(len(x)):
        step = np.zeros(len(x))
        step[j] = eps
        columns.append(f(x))  # replace this by the slope of f along `step`
    return np.stack(columns)
'''

HINTS = (
    "The slope along a step is (f(x + step) - f(x - step)) divided by the distance between the two points.",
    "The two points are 2 * eps apart.",
    "np.stack(columns) makes rows of them; np.stack(columns, axis=1) makes columns. J[i, j]: i says which output.",
)

SOLUTION = """\
import numpy as np


def jacobian(f, x, eps):
    columns = []
    for j in range(len(x)):
        step = np.zeros(len(x))
        step[j] = eps
        columns.append((f(x + step) - f(x - step)) / (2 * eps))
    return np.stack(columns, axis=1)
"""


EPS = 1e-6
# What is not divided by, as it is called, and the factor that this makes.
FACTORS = {
    "1 / (2 eps)": 0.5 / EPS,
    "1 / eps": 1 / EPS,
    "1 / eps**2 (d / 2 * eps is d * eps / 2; write d / (2 * eps))": 1 / EPS**2,
}


def check(answer: Answer) -> None:
    """Values for a small step, the input untouched, and the order of the error."""
    x = np.array([0.5, 1.1, 0.8])
    for name, f, right in (
        ("3 outputs", _three, _right_three(x)),
        ("2 outputs", lambda x: _three(x)[:2], _right_three(x)[:2]),
    ):
        given = x.copy()
        found = answer.run("jacobian", f, given, EPS)
        part = f"jacobian of {name}"
        _refuse_usual(part, np.asarray(found), right)
        check_array(part, found, right, "the Jacobian", {t: np.full(right.shape, x) for t, x in FACTORS.items()})
        if not np.array_equal(given, x):
            refuse(
                "jacobian",
                "modified_input",
                "x has changed after the call.",
                "Add the step to a copy: x + step makes a new array. Adding eps in place and taking it off leaves "
                "rounding errors.",
            )
    errors = [np.abs(answer.run("jacobian", _three, x.copy(), eps) - _right_three(x)).max() for eps in (0.02, 0.01)]
    if errors[0] < 1.5 * errors[1]:
        refuse(
            "jacobian",
            "ignored_eps",
            "the error is the same for another eps.",
            "Take steps of the eps that is given, and divide by twice that eps.",
        )
    if errors[0] < 3 * errors[1]:
        refuse(
            "jacobian",
            "one_sided",
            f"half the step makes the error only {errors[0] / errors[1]:.1f} times smaller: the error is of the size "
            "of eps, as for a one-sided difference.",
            "Take a step to each side; the terms of the size of eps cancel.",
        )


def _refuse_usual(part: str, found: Any, right: Any) -> None:
    """Mistakes that are made here alone."""
    if found.dtype.kind == "f" and found.ndim == 1:
        refuse(
            part,
            "wrong_shape",
            f"the Jacobian has shape {found.shape}; it must have {right.shape}.",
            "Each step gives a vector, one number for each output. Keep them all, one column for each number of x.",
        )
    if found.shape != right.shape:
        return
    if np.allclose(found, right.sum(axis=1, keepdims=True), rtol=1e-6):
        refuse(
            part,
            "moved_all",
            "each column is the sum of all of them.",
            "Move one number of x at a time: a step is eps at place j, and 0 elsewhere.",
        )
    if np.abs(found).min() > 1e4 * np.abs(right).max():
        refuse(
            part,
            "precedence",
            "the numbers are far larger than any slope of f.",
            "a - b / c divides b alone: write (f(x + step) - f(x - step)) / (2 * eps).",
        )


def _three(x: Any) -> Any:
    return np.array([x[0] * x[1] ** 2, np.exp(x[2]) * x[0], np.sin(x[1]) * x[2]])


def _right_three(x: Any) -> Any:
    return np.array(
        [[x[1] ** 2, 2 * x[0] * x[1], 0], [np.exp(x[2]), 0, x[0] * np.exp(x[2])],
         [0, np.cos(x[1]) * x[2], np.sin(x[1])]]
    )  # fmt: skip
