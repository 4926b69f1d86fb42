"""The lab: a course of sixteen exercises, `python -m pullback lab`. Loaded when it is asked for.

    course      the exercises, in their order; what an exercise is
    exercises/  one file each: text, template, hints, solution, check
    judge       checks answers by gradcheck, and says which usual mistake one is
    shapes      what a gradient of the wrong shape says
    progress    what is solved, in a file beside the learner's
    terminal    the command line
    notebooks   the same exercises as notebooks

In a notebook:

>>> from pullback.lab import check
>>> def sin_backward(grad, x):
...     return grad * np.cos(x)
>>> check(1, {"sin_backward": sin_backward, "np": np})
Exercise 1 is solved.
"""

from pullback.lab.notebooks import check, hint

__all__ = ["check", "hint"]
