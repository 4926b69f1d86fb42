"""Solvers in C that drop the error of what they call: ours is the one that is raised."""

import contextlib

import pytest
import scipy.optimize

from pullback.core.errors import DetachingError
from pullback.func import grad, jvp

SOLVERS = {
    "an end of brentq": lambda a: scipy.optimize.brentq(lambda z: z - 1, 0, a),
    "the function of brentq": lambda a: scipy.optimize.brentq(lambda z: z - a, 0, 5),
    "a tolerance": lambda a: scipy.optimize.bisect(lambda z: z - 1, 0, 5, xtol=a),
    "fsolve": lambda a: scipy.optimize.fsolve(lambda z: z - a, 1.0)[0],
    "root": lambda a: scipy.optimize.root(lambda z: z - a, 1.0).x[0],
    "leastsq": lambda a: scipy.optimize.leastsq(lambda z: z - a, 1.0)[0][0],
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("transform", [lambda f: grad(f)(2.0), lambda f: jvp(f, (2.0,), (1.0,))], ids=["grad", "jvp"])
def test_a_differentiated_value_in_a_solver_is_named(transform, name):
    with pytest.raises(DetachingError, match=r"scipy\.optimize\.\w+ would make (?s:.*)A solver works on plain numbers"):
        transform(SOLVERS[name])


@pytest.mark.parametrize("told", [True, False], ids=["by another error", "alone"])
def test_an_attribute_that_an_error_of_c_code_hides_is_named_by_that_error(told):
    def hiding(a):
        with contextlib.suppress(DetachingError):
            float(a)
        hidden = AttributeError("no attribute", name="_array", obj=a)
        if told:
            raise TypeError("no attribute") from hidden
        raise hidden

    with pytest.raises(DetachingError, match="float"):
        grad(hiding)(2.0)


def test_an_error_of_the_function_that_was_refused_a_number_is_that_refusal():
    def brentq(a):  # as SciPy's, where the error of the call before is lost, and 0 is computed with
        raise ValueError("f(a) and f(b) must have different signs")

    def solving(a):
        with contextlib.suppress(Exception):
            scipy.optimize.brentq(lambda z: z - 1, 0, a)
        brentq(a)

    with pytest.raises(DetachingError, match=r"scipy\.optimize\.brentq would make"):
        jvp(solving, (2.0,), (1.0,))


def test_an_attribute_that_is_missing_is_an_error_of_its_own():
    def lacking(a):
        with contextlib.suppress(DetachingError):
            float(a)
        raise TypeError("no attribute") from AttributeError("no attribute", name="nothing", obj=a)

    with pytest.raises(TypeError, match="no attribute"):
        grad(lacking)(2.0)
