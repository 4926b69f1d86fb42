"""SciPy's functions on our tensors: values against SciPy, derivatives against finite differences, by both entrances."""

import importlib
from types import FunctionType, ModuleType

import numpy as np
import pytest

import pullback as pb
from pullback.interop.adopt.rules import RULES
from pullback.interop.adopt.scipy.ways import AS_IT_STANDS, REFUSED, WITHOUT_GRADIENT, genuine
from pullback.interop.adopt.views import genuine_of
from tests.scipy.calls import areas, cases

ALL = [*cases()]
CASES = [pytest.param(name, case, id=f"{name.removeprefix('scipy.')}-{i}") for name, i, case in ALL]
AREAS = areas()


def parts(y):
    """The floating-point arrays of a result."""
    if isinstance(y, dict):
        y = list(y.values())
    if isinstance(y, (tuple, list)):
        return [part for item in y for part in parts(item)]
    y = y if hasattr(y, "dtype") else np.asarray(y)
    return [y] if y.dtype.kind in "fc" else []


def weighed(call):
    """The result of `call` as a number in which every element counts, both parts of a complex one."""

    def f(x):
        total = 0.0
        for y in parts(call(x)):
            w = np.sqrt(1.0 + np.arange(y.size)).reshape(y.shape)
            total = total + np.sum(np.real(y) * w)
            if y.dtype.kind == "c":
                total = total + 0.7 * np.sum(np.imag(y) * w**2)
        return total

    return f


def differences(f, x):
    """The gradient by central differences, extrapolated: of a number, or row by row of a vector."""
    columns = []
    for i in range(len(x)):
        slopes = []
        for step in (2e-4, 1e-4):
            shift = np.zeros_like(x)
            shift[i] = step * max(1.0, abs(x[i]))
            slopes.append((f(x + shift) - f(x - shift)) / (2 * shift[i]))
        columns.append((4 * slopes[1] - slopes[0]) / 3)
    return np.stack(columns, -1)


def along(f, x, v):
    """The derivative of f along v, in the same way."""
    slopes = [(f(x + step * v) - f(x - step * v)) / (2 * step) for step in (2e-4, 1e-4)]
    return (4 * slopes[1] - slopes[0]) / 3


def directions(x):
    return np.cos(1.0 + np.arange(x.size)).reshape(x.shape)


@pytest.fixture(scope="module")
def adopting():
    """`adopt()` for all of these tests: it looks through everything in memory each time."""
    with pb.adopt():
        yield


def in_terms_of(call, convert):
    """The same call with other packages of SciPy in place of those that it names."""
    known = {key: convert(value) for key, value in call.__globals__.items() if isinstance(value, ModuleType)}
    return FunctionType(call.__code__, {**call.__globals__, **known}, None, call.__defaults__, call.__closure__)


def imported(module):
    """pullback.scipy.linalg for scipy.linalg."""
    name = module.__name__
    return importlib.import_module(f"pullback.{name}") if name.startswith("scipy.") else module


def _is_special(case):
    return case.values[0].startswith("scipy.special.")


@pytest.mark.each_operator(by="name")
@pytest.mark.parametrize(("name", "case"), [*filter(_is_special, CASES)])
def test_value_and_derivatives_of_special_functions(name, case, adopting):
    assert_derivatives(name, case)


@pytest.mark.parametrize(("name", "case"), [case for case in CASES if not _is_special(case)])
def test_value_and_derivatives(name, case, adopting):
    assert_derivatives(name, case)


def assert_derivatives(name, case):
    f, x, v = weighed(case.call), case.point, directions(case.point)
    genuine = weighed(in_terms_of(case.call, genuine_of))
    plain, expected = genuine(x), differences(genuine, x)
    scale = max(1.0, np.abs(expected).max())
    assert f(x) == plain, "what adopt() must not change"
    value, gradient = pb.func.value_and_grad(f)(x)
    np.testing.assert_allclose(value, plain, rtol=1e-10)
    np.testing.assert_allclose(gradient, expected, rtol=case.rtol, atol=case.rtol * scale)
    slope = pb.func.jvp(f, (x,), (v,))[1]
    np.testing.assert_allclose(slope, gradient @ v, rtol=1e-9, atol=1e-11 * scale)
    if case.second and name not in AS_IT_STANDS:
        second = pb.func.grad(lambda x: pb.func.grad(f)(x) @ v)(x)
        curves = along(pb.func.grad(f), x, v)  # all columns of the matrix would take most of the time
        loose, size = 20 * case.rtol, max(1.0, np.abs(curves).max())
        np.testing.assert_allclose(second, curves, rtol=loose, atol=loose * size)
    imports = pb.func.grad(weighed(in_terms_of(case.call, imported)))(x)
    np.testing.assert_allclose(imports, gradient, rtol=1e-13)  # programs of integrands are kept, and reorder sums


TENSORS_ALONE = {  # where SciPy asks a Tensor for a method of NumPy's, in an object or an operator that is its own
    "scipy.signal.butter-5", "scipy.signal.ShortTimeFFT-1", "scipy.stats.gaussian_kde-3",
}  # fmt: skip


# The first call of each function: whatever else it is given, its Tensors enter in the one way. Without those that take
# time, and whose rules make arrays of everything.
OF_TENSORS = [
    pytest.param(name, case, f"{name}-{i}" in TENSORS_ALONE, id=f"{name.removeprefix('scipy.')}-{i}")
    for name, i, case in ALL
    if (i == 0 or f"{name}-{i}" in TENSORS_ALONE)
    and not name.startswith(("scipy.integrate", "scipy.interpolate", "scipy.optimize"))
]


@pytest.mark.parametrize(("name", "case", "is_refused"), OF_TENSORS)
def test_tensors_with_the_face_of_pytorch(name, case, is_refused, adopting):
    """SciPy's own Python means NumPy's methods (`x.size`, `x.std()`), whatever it is given."""
    expected = parts(in_terms_of(case.call, genuine_of)(case.point.copy()))
    t = pb.tensor(case.point, requires_grad=True)
    if is_refused:
        with pytest.raises((TypeError, RuntimeError)):
            case.call(t)
        return
    found = parts(case.call(t))
    assert len(found) == len(expected)
    for y, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(y.detach().numpy() if isinstance(y, pb.Tensor) else y, plain, rtol=1e-8, atol=1e-14)


def test_every_function_with_a_way_is_tried():
    for area in AREAS:
        assert not RULES.get(f"scipy.{area}.no_such_function")  # the area is loaded
    ours = {name for name, rule in RULES.items() if name.startswith("scipy.")}
    tried = {name for module in AREAS.values() for name in module.CALLS}
    hubs = {name for name in ours if any(part.startswith("_") for part in name.split("."))}
    assert ours - WITHOUT_GRADIENT - REFUSED - hubs - tried == set()
    assert tried <= ours


def test_what_gives_no_gradient_is_there():
    test_every_function_with_a_way_is_tried()  # which loads the areas
    assert len(WITHOUT_GRADIENT) > 50
    for name in WITHOUT_GRADIENT:
        assert callable(genuine(name))
