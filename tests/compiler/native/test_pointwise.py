"""Each rule for a pointwise kernel gives what the kernel gives."""

import numpy as np
import pytest

from pullback.compiler.native.code import Code, Type
from pullback.compiler.native.pointwise import RULES, NoRuleError
from pullback.extend import NUMPY, tags_of
from tests.compiler.native.sweeps import DTYPES, compiled, errors, interpreted, numbers, special

BINARY = (
    "add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "float_power", "atan2", "hypot", "copysign",
    "clamp_min", "clamp_max", "maximum", "minimum", "fmax", "fmin", "eq", "ne", "lt", "le", "gt", "ge", "logaddexp",
    "logaddexp2", "xlogy", "xlog1py", "heaviside", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
# Of rules of more than one array: what the arrays are, "m" one of bools, and the other arguments.
CASES = {
    **{name: [("ff", ())] for name in BINARY},
    "bitwise_and": [("mm", ())],
    "bitwise_or": [("mm", ())],
    "bitwise_xor": [("mm", ())],
    "bitwise_not": [("m", ())],
    "logical_not": [("f", ()), ("m", ())],
    "logical_and": [("ff", ()), ("mm", ()), ("mf", ())],
    "rsub": [("ff", ()), ("ff", (1.5,)), ("f", (2.0, 3))],
    "addcmul": [("fff", ()), ("fff", (0.5,))],
    "addcdiv": [("fff", ()), ("fff", (0.5,))],
    "add_alpha": [("ff", (1,)), ("ff", (-2.5,))],
    "sub_alpha": [("ff", (1,)), ("ff", (0.1,))],
    "div_rounded": [("ff", (None,)), ("ff", ("floor",)), ("ff", ("trunc",))],
    "lerp": [("fff", ()), ("ff", (0.25,)), ("ff", (0.75,))],
    "pow": [("ff", ()), *(("f", (n,)) for n in (0, 1, 2, 3, 4, -1, -2, 0.5, 5, 2.5, -3, -0.5))],
    "round": [("f", ()), ("f", (2,)), ("f", (-1,))],
    "where": [("mff", ()), ("mf", (0,)), ("mmm", ())],
    "mul": [("ff", ()), ("fm", ()), ("f", (2.5,))],
    "clamp": [("f", (-1.0, 2.0)), ("f", (None, 0.5)), ("f", (0.5, None)), ("fff", ()), ("f", (2, -1))],
    "nan_to_num": [("f", ()), ("f", (1.0, 2.0, 3.0))],
    "isclose": [("ff", ()), ("ff", (0.5, 0.1, True))],
    "logit": [("f", ()), ("f", (0.1,))],
    "gelu": [("f", ()), ("f", ("tanh",))],
    "gelu_backward": [("fff", ()), ("fff", ("tanh",))],
    "softplus": [("f", ()), ("f", (2.0, 5))],
    "hypot_slope": [("fff", ())],
    "digamma_derivative": [("f", (1,))],
    "sinc_derivative": [("f", (1,)), ("f", (2,)), ("f", (3,))],
}  # fmt: skip

# Units in the last place between a rule and its kernel in double precision; 4 if not said. Where two functions
# or a difference are in it, they add up. Of SciPy's and NumPy's there are some with more errors than ours.
UNITS = {
    "gelu": 64, "gelu_backward": 64, "ndtr": 4000, "log_ndtr": 4000, "inverse_mills": 4000, "erfc": 4000, "erfcx": 400,
    "digamma": 5000, "digamma_derivative": 5000, "sinc_derivative": 1000,
    "logaddexp": 16, "logaddexp2": 16, "logit": 64, "sinc": 64, "asin_slope": 8, "atanh_slope": 8, "softplus": 8,
}  # fmt: skip
# Signs of zeros that the kernel leaves to the processor, or that nobody sees.
ANY_ZERO = (
    "relu", "clamp", "clamp_min", "clamp_max", "maximum", "minimum", "lerp", "gelu", "hypot_slope", "fmax", "fmin",
    "gelu_backward", "entr", "logit", "logaddexp", "logaddexp2", "log_ndtr",
)  # fmt: skip

ALL = [(name, *case) for name in RULES if name != "polygamma" for case in CASES.get(name, [("f", ())])]


def _of_case(name, letters, extra, bits, seed=0):
    """Arrays of special numbers in all pairs, of random bits and of usual size."""
    random = np.random.default_rng(seed)
    size = 400
    some, dtype = special(bits), DTYPES[bits]
    pairs = np.meshgrid(some, some, indexing="ij")
    arrays = []
    for k, letter in enumerate(letters):
        if len(letters) == 1:
            edge = some
        else:
            edge = pairs[k].ravel() if k < 2 else np.resize(np.roll(some, 5), some.size**2)
        usual = random.standard_normal(size) * random.choice([0.1, 1, 10], size)
        parts = (edge, numbers(bits, size, seed + k), usual, random.uniform(-1, 1, size))
        array = np.concatenate([x.astype(dtype) for x in parts])
        arrays.append(array > 0 if letter == "m" else array)
    if name == "digamma_derivative":  # whose kernel adds up as many terms as a negative number says
        arrays[0] = np.maximum(arrays[0], -1000)
    if name == "gelu_backward":
        with np.errstate(all="ignore"):
            arrays[2] = NUMPY.kernels["gelu"](arrays[1], *extra)
    if name == "hypot_slope":
        with np.errstate(all="ignore"):
            arrays[2] = np.hypot(arrays[0], arrays[1])
    return arrays


def _rule(name, extra, bits):
    return lambda c, *values: RULES[name](c, Type("f", bits, values[0].type.lanes), *values, *extra)


def _kernel(name, arrays, extra):
    with np.errstate(all="ignore"):
        return np.asarray(NUMPY.kernels[name](*arrays, *extra))


def _check(name, extra, arrays, found, contracted=None):
    with np.errstate(all="ignore"):
        wrong, want = _wrong(name, extra, arrays, found)
    if contracted is not None:  # a product within a sum may be larger than the largest number, or not be rounded
        wrong &= (found != contracted) & ~(np.isnan(found) & np.isnan(contracted))
    at = np.flatnonzero(wrong)[:5]
    assert not at.size, [tuple(float(x) for x in (*(x[k] for x in arrays), found[k], want[k])) for k in at]


def _wrong(name, extra, arrays, found):
    want = _kernel(name, arrays, extra)
    assert found.dtype == want.dtype, (found.dtype, want.dtype)
    if want.dtype == np.bool_:
        return found != want, want
    exact, limit = want.astype(np.longdouble), UNITS.get(name, 4)
    if want.dtype == np.float32:  # of more digits
        wide = _kernel(name, [x.astype(np.float64) if x.dtype.kind == "f" else x for x in arrays], extra)
        exact, limit = np.where(np.isfinite(want), wide, want).astype(np.longdouble), 6
    distance = errors(found, exact)
    if name in ANY_ZERO:
        distance = np.where((found == 0) & (want == 0), 0, distance)
    # A difference of numbers that are near is as far off as these are.
    size = np.maximum.reduce([np.abs(x) for x in arrays if x.dtype.kind == "f"] or [np.zeros(found.shape)])
    near = np.abs(found - want) <= 4 * np.finfo(want.dtype).eps * np.minimum(size, 1e3)
    return (distance > limit) & ~(near & np.isfinite(want) & np.isfinite(found)), want


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize(("name", "letters", "extra"), ALL, ids=str)
def test_rules_give_what_the_kernels_give(name, letters, extra, bits):
    if name == "float_power" and bits == 32:
        pytest.skip("the kernel computes in double precision")
    arrays = _of_case(name, letters, extra, bits)
    _check(name, extra, arrays, interpreted(_rule(name, extra, bits), arrays))


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize(("name", "letters", "extra"), ALL, ids=str)
def test_machine_code_gives_what_the_kernels_give(name, letters, extra, bits, tool):
    if name == "float_power" and bits == 32:
        pytest.skip("the kernel computes in double precision")
    arrays = _of_case(name, letters, extra, bits)
    rule = _rule(name, extra, bits)
    contracted = interpreted(rule, arrays, "always")
    for lanes in (1, 256 // bits):
        _check(name, extra, arrays, compiled(tool, rule, arrays, lanes), contracted)


def test_rules_are_for_pointwise_kernels():
    assert not [name for name in RULES if "pointwise" not in tags_of(name)]


@pytest.mark.parametrize(
    ("name", "args"), [("bitwise_and", ("f", "f")), ("add", ("f", 1j)), ("round", ("f", 40))], ids=str
)
def test_what_has_no_rule_says_so(name, args):
    code = Code("f", [("x", Type("f", 64))])
    with pytest.raises(NoRuleError):
        RULES[name](code, Type("f", 64), *(code.params[0] if x == "f" else x for x in args))
