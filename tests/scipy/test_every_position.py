"""A tensor in every argument of SciPy's functions, one at a time: it has the right gradient, or an error says why not.

The calls are those of tests/scipy/calls. Of each, every number, array and list among the arguments, and every number
that is a default, is made to depend on one variable, and nothing else.
"""

import inspect
import warnings
from types import ModuleType

import numpy as np
import pytest

import pullback as pb
from pullback.graph.undifferentiable import DerivativeNotImplementedError
from pullback.interop.adopt.scipy.ways import genuine
from pullback.interop.adopt.views import genuine_of
from tests.scipy.calls import areas, at
from tests.scipy.calls import x as POINT
from tests.scipy.test_calls import in_terms_of, weighed

CALLS = {name: calls for module in areas().values() for name, calls in module.CALLS.items()}
STEPS = (2e-4, 1e-4)
LOOSE = {"optimize": 1e-3, "special": 1e-3}  # solvers and inverses stop at a tolerance, and so do the differences
# What differences do not tell, and why.
LEFT_OUT = {
    ("scipy.signal.ZerosPolesGain", ("args", 2), 0.0): "a numerator of zeros is cut, and the results' shapes change",
    ("scipy.signal.zpk2ss", ("args", 2), 0.0): "likewise",
    ("scipy.signal.buttord", ("args", 0), 0.0): "a filter that passes nothing",
    ("scipy.signal.iircomb", ("args", 1), 1.0): "a tangent of pi / 2",
    ("scipy.special.nctdtrinc", ("args", 2), 0.0): "SciPy finds no solution beside it",
    ("scipy.integrate.cubature", ("kwargs", "rtol"), 0.0): "a tolerance that is not reached, for half a minute",
    ("scipy.integrate.cubature", ("kwargs", "rtol"), 1e-8): "likewise, with a result that does not depend on it",
}


class Edited:
    """A module of SciPy's, in which the first call of one function gets other arguments."""

    def __init__(self, module, name, edit):
        self.module, self.name, self.edit = module, name, edit

    def __getattr__(self, attribute):
        found = getattr(self.module, attribute)
        if isinstance(found, ModuleType):
            return Edited(found, self.name, self.edit)
        if f"{self.module.__name__}.{attribute}" != self.name:
            return found

        return EditedCall(found, self)


class EditedCall:
    """The function, or a class, whose other attributes it has."""

    def __init__(self, found, home):
        self.found, self.home = found, home

    def __call__(self, *args, **kwargs):
        edit, self.home.edit = self.home.edit, None
        if edit is not None:
            args, kwargs = edit(args, kwargs)
        return self.found(*args, **kwargs)

    def __getattr__(self, attribute):
        return getattr(self.found, attribute)


def run(call, point, name, edit, of_module=lambda module: module):
    """What the call gives as one number, with the arguments of the function as `edit` gives them."""
    edited = {}

    def convert(module):
        found = of_module(module)
        if not found.__name__.startswith("scipy"):
            return found
        return edited.setdefault(found.__name__, Edited(found, name, once))

    left = [edit]

    def once(args, kwargs):
        return left.pop()(args, kwargs) if left else (args, kwargs)

    return weighed(in_terms_of(call, convert))(point)


def places(value, path):
    """(path, value) of all that can depend on a variable: numbers, arrays, lists of numbers; in lists of more, each."""
    if isinstance(value, (bool, np.bool_)):
        return
    if isinstance(value, (float, int, complex, np.number)):
        yield path, value
    elif type(value) is np.ndarray and value.dtype.kind in "fciu":
        yield path, value
    elif type(value) in (list, tuple) and value:
        if all(isinstance(item, (float, int, complex, np.number)) and not isinstance(item, bool) for item in value):
            yield path, value
        else:
            for i, item in enumerate(value):
                yield from places(item, (*path, i))


def moved(value, t, of=None):
    """The value at t, which is what it was at 0, or `of`."""
    if of is not None:
        return of + t
    if type(value) in (list, tuple):
        return type(value)(item + t * (1.0 + 0.3 * i) for i, item in enumerate(value))
    if np.ndim(value):
        return value + t * np.cos(np.arange(value.size)).reshape(value.shape)
    return value + t


def replaced(container, path, t, of):
    """The same list, tuple or dict with the value at the path moved."""
    key, *rest = path
    item = container[key]
    item = replaced(item, rest, t, of) if rest else moved(item, t, of)
    if isinstance(container, dict):
        return {**container, key: item}
    return type(container)(item if i == key else x for i, x in enumerate(container))


def edit_of(path, t, of=None):
    """What makes the arguments with the value at this path moved: ("args", 1) or ("kwargs", "axis", ...)."""

    def edit(args, kwargs):
        if path[0] == "kwargs" and path[1] not in kwargs:
            return args, {**kwargs, path[1]: of + t}
        given = replaced({"args": tuple(args), "kwargs": kwargs}, path, t, of)
        return given["args"], given["kwargs"]

    return edit


def positions(name, call, point):
    """(path, number) of the arguments of the function in this call, and of its defaults; of numbers at 0 and 1 too.

    SciPy's code likes to take a short way there. The number is None for that which is there already.
    """
    seen = []

    def note(args, kwargs):
        seen.append((args, kwargs))
        return args, kwargs

    run(call, point, name, note, genuine_of)
    if not seen:  # the call is that of a method, say
        return
    args, kwargs = seen[0]
    given = [pair for i, value in enumerate(args) for pair in places(value, ("args", i))]
    given += [pair for key, value in kwargs.items() for pair in places(value, ("kwargs", key))]
    for path, value in given:
        yield path, None
        if isinstance(value, float):
            yield from ((path, number) for number in (0.0, 1.0) if number != value)
    try:
        signature = inspect.signature(genuine(name))
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return
    for key, parameter in signature.parameters.items():
        if key not in bound and type(parameter.default) is float and parameter.kind is not parameter.POSITIONAL_ONLY:
            yield from ((("kwargs", key), number) for number in {parameter.default, 0.0, 1.0})


def slope(f):
    """The derivative at 0 by differences; None where they do not agree, at a jump or a kink."""
    sides = [(f(h), f(-h)) for h in STEPS]
    found = [(up - down) / (2 * h) for h, (up, down) in zip(STEPS, sides, strict=True)]
    up, down = sides[1]
    if not np.allclose((up - f(0.0)) / STEPS[1], (f(0.0) - down) / STEPS[1], rtol=1e-2, atol=1e-3):
        return None
    return (4 * found[1] - found[0]) / 3 if np.allclose(*found, rtol=1e-3, atol=1e-5) else None


def names(error, name):
    """Whether an error names the function, or one of its package that it calls, or says which derivative is missing."""
    return any(
        text in str(error) for text in (name.rpartition(".")[2], name.rpartition(".")[0] + ".", "the derivative")
    )


def judge(name, call, point, path, number):
    """What is wrong with the tensor in this position; None if nothing is."""
    refuses = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = slope(lambda t: float(run(call, point, name, edit_of(path, t, number), genuine_of)))
        except Exception:  # noqa: BLE001 - SciPy takes whole numbers alone there, or others
            expected, refuses = None, True
        try:
            found = pb.func.grad(lambda t: run(call, point, name, edit_of(path, t, number)))(0.0)
        except DerivativeNotImplementedError:
            return None  # which names the operator
        except Exception as error:  # noqa: BLE001 - judged
            return None if refuses or names(error, name) else f"{type(error).__name__}: {error}"
    rtol = LOOSE.get(name.split(".")[1], 2e-4)
    if expected is None or np.allclose(found, expected, rtol=rtol, atol=rtol / 10):
        return None
    if number is not None and np.isnan(found):
        return None  # an end of the domain, and nothing silent
    return f"gradient {found} where differences give {expected}"


@pytest.fixture(scope="module", autouse=True)
def adopting():
    with pb.adopt():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("area", areas())
def test_a_tensor_in_every_position(area):
    wrong, tried = [], 0
    for name, calls in CALLS.items():
        if name.split(".")[1] != area:
            continue
        done = set()
        for call in calls:
            case = call if isinstance(call, at) else at(POINT, call)
            for path, number in positions(name, case.call, case.point):
                if (path, number) not in done and (name, path, number) not in LEFT_OUT:
                    done.add((path, number))
                    tried += 1
                    if (what := judge(name, case.call, case.point, path, number)) is not None:
                        wrong.append(f"{name} {path} {number}: {what}")
    assert not wrong, "\n".join([f"{len(wrong)} of {tried}", *wrong])
    assert tried > len([name for name in CALLS if name.split(".")[1] == area]) * 0.8
