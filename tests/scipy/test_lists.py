"""Lists of tensors in place of arrays: each argument of SciPy's functions that takes a list takes one of tensors.

The calls are those of tests/scipy/calls. One array among the arguments becomes nested lists; the gradient must stay.
"""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.interop.adopt.views import genuine_of
from tests.scipy.calls import areas, at
from tests.scipy.calls import x as POINT
from tests.scipy.test_every_position import run


def nested(x):
    """The lists of lists of numbers of an array, or of tensors of a Tensor."""
    return x if x.ndim == 0 else [nested(item) for item in x] if isinstance(x, pb.Tensor) else x.tolist()


def is_listed(value):
    """True if it is an array of at least one dimension."""
    return (isinstance(value, pb.Tensor) or type(value) is np.ndarray) and value.ndim > 0


def listed(key):
    """What makes the arguments with one array as lists: number `key`, or that of this name."""

    def edit(args, kwargs):
        if isinstance(key, str):
            return args, {name: nested(x) if name == key and is_listed(x) else x for name, x in kwargs.items()}
        return tuple(nested(x) if i == key and is_listed(x) else x for i, x in enumerate(args)), kwargs

    return edit


def arrays_of(name, call, point):
    """The keys of those arguments of the function in this call that are arrays, and may be lists to SciPy."""
    seen = []

    def note(args, kwargs):
        seen.append({**dict(enumerate(args)), **kwargs})
        return args, kwargs

    run(call, point, name, note, genuine_of)
    for key, value in seen[0].items() if seen else ():  # none of the call of a method, say
        if is_listed(value):
            try:
                run(call, point, name, listed(key), genuine_of)
            except Exception:  # noqa: BLE001 - SciPy takes no list there
                continue
            yield key


def gradient(name, case, edit):
    """That of the call with the arguments as `edit` makes them."""
    return pb.func.grad(lambda t: run(case.call, t, name, edit))(case.point)


@pytest.mark.parametrize("area", areas())
def test_lists_of_tensors(area):
    wrong, tried = [], set()
    with warnings.catch_warnings(), pb.adopt():
        warnings.simplefilter("ignore")
        for name, calls in areas()[area].CALLS.items():
            for case in (call if isinstance(call, at) else at(POINT, call) for call in calls):
                for key in {*arrays_of(name, case.call, case.point)} - {key for of, key in tried if of == name}:
                    tried.add((name, key))
                    of_array = gradient(name, case, lambda *given: given)
                    of_lists = gradient(name, case, listed(key))
                    if not np.allclose(of_lists, of_array, rtol=1e-6, atol=1e-9, equal_nan=True):
                        wrong.append(f"{name} {key}: {of_lists}, with an array {of_array}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(tried)}", *wrong])
    assert tried
