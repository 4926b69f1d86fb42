"""A fuzz of NumPy: Tensors in every position of every public function give a right gradient, or an error that says so.

Calls are found by trying: arguments are drawn for each function, and those that NumPy itself takes are made again with
Tensors in the place of numbers, arrays and lists. The gradient is then that of differences of NumPy's own function; a
result outside the graph must not change with the numbers; never is there an object array, or an error of another's.
"""

import contextlib
import functools
import inspect
import io
import os
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import Tensor

HOMES = {"": np, "linalg": np.linalg, "fft": np.fft, "random": np.random}
# What sets the state of NumPy or of the process, reads and writes files, prints, or gives what the memory holds.
NOT_CALLED = {
    "DataSource", "base_repr", "binary_repr", "bytes", "empty", "empty_like", "errstate", "frombuffer", "fromfile", "fromregex",
    "fromstring", "genfromtxt", "get_bit_generator", "get_state", "getbufsize", "info", "load", "loadtxt", "memmap",
    "nested_iters", "nditer", "ndindex", "printoptions", "save", "savetxt", "savez", "savez_compressed", "seed",
    "set_bit_generator", "set_printoptions", "set_state", "setbufsize", "seterr", "seterrcall", "show_config",
    "show_runtime", "test", "random_integers", "bmat", "asmatrix",
    # NumPy 2.4 leaves out elements here: np.power.reduce([4, 0.5, 0.5]) is 2.
    "arctan2.reduce", "atan2.reduce", "power.reduce", "pow.reduce",
}  # fmt: skip
# What these return says nothing of the values, or only which of them are larger.
OF_NO_VALUE = {"array2string", "array_repr", "array_str", "result_type", "min_scalar_type", "can_cast", "common_type"}

_draw = np.random.default_rng(3)
A = _draw.uniform(0.5, 2.0, (3, 3)) + 2 * np.eye(3)
V = np.array([0.62, 1.37, 2.11])
SPD = A @ A.T
POOL = {
    "A": A, "V": V, "s": 0.73, "S": SPD, "B": _draw.uniform(0.5, 2.0, (2, 3, 3)), "i": 2, "zero": 0, "j": np.array([0, 2, 1]),
    "mask": np.array([True, False, True]), "list": [0.4, 1.3, 2.6], "nested": [[0.4, 1.3], [2.6, 0.9]],
    "arrays": [V + 0.1, V * 2.0, V[::-1] * 1.5], "shape": (3, 3), "c": V + 0.5j,
    "f": np.sum, "sub": "ij->ji", "none": None, "flags": [np.array([True, False, False]), np.array([False, True, True])],
}  # fmt: skip
NAMED = {
    "axis": [0, -1, None, (0, 1)], "axes": [(0, 1), 1], "keepdims": [True], "ddof": [1], "dtype": [float, "f4"],
    "weights": [V, A, "list"], "aweights": [V], "fweights": [[1, 2, 1]], "where": [np.array([True, False, True])],
    "initial": [1.7], "out": [np.zeros(3), np.zeros((3, 3)), np.zeros(())], "order": ["F"], "k": [1], "n": [2, 4],
    "norm": ["ortho"], "q": [0.3, [0.2, 0.7]], "deg": [1], "bins": [3, [0.0, 1.0, 2.5, 4.0]], "range": [(0.1, 4.2)],
    "density": [True], "period": [1.9], "left": [0.3], "right": [0.4], "prepend": [0.2], "append": [0.3],
    "to_end": [0.2], "to_begin": [0.3], "x": [V], "dx": [0.4], "returned": [True], "method": ["hazen", "lower"],
    "mode": ["same", "wrap", "reduced", "linear_ramp", "clip"], "num": [4], "endpoint": [False], "base": [2.5],
    "mean": [1.2], "w": [V], "cov": [True], "full": [True], "rcond": [1e-8], "ord": [1, 2, np.inf], "p": [1, "fro"],
    "rowvar": [False], "bias": [True], "discont": [1.0], "nan": [0.3], "decimals": [1], "a_min": [0.7], "a_max": [1.5],
    "constant_values": [0.5], "end_values": [0.6], "edge_order": [2], "default": [0.2], "returns": [True],
    "scale": [0.6], "loc": [0.3], "size": [3], "low": [0.1], "high": [3.2], "lam": [1.5], "sparse": [True],
    "upper": [True], "hermitian": [True], "compute_uv": [False], "full_matrices": [False], "UPLO": ["U"], "tol": [1e-6],
    "increasing": [True], "return_index": [True], "assume_unique": [True], "wrap": [True], "correction": [1],
    "side": ["right"], "minlength": [5], "offset": [1], "shift": [1], "fill_value": [0.8], "stable": [True],
    "s": [(2, 3)], "rtol": [1e-3], "atol": [0.1], "include_initial": [True], "casting": ["unsafe"],
}  # fmt: skip
LONG = "PULLBACK_LONG_TESTS" in os.environ


def public(home):
    """The public functions of a module, by name, and the methods of its ufuncs."""
    module, found = HOMES[home], {}
    for name in sorted(dir(module)):
        function = getattr(module, name)
        if name.startswith("_") or name in NOT_CALLED or not callable(function) or isinstance(function, type):
            continue
        found[name] = function
        if isinstance(function, np.ufunc):
            methods = ("reduce", "accumulate", "reduceat", "outer", "at")
            found |= {f"{name}.{m}": getattr(function, m) for m in methods if f"{name}.{m}" not in NOT_CALLED}
    return found


def copied(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    return [copied(part) for part in x] if isinstance(x, list) else x


def numbers(x):
    """The floating-point arrays in a result, complex ones as pairs of real ones."""
    if isinstance(x, np.poly1d):
        return numbers(x.coeffs)
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in numbers(part)]
    if isinstance(x, dict):
        return numbers(list(x.values()))
    if isinstance(x, (bool, int)) or x is None or isinstance(x, (str, np.dtype, type, np.ufunc)):
        return []
    if isinstance(x, complex) and not isinstance(x, np.generic):
        return [np.asarray(x.real), np.asarray(x.imag)]
    if isinstance(x, float) and not isinstance(x, np.generic):
        return [np.asarray(x)]
    if isinstance(x, (np.ndarray, np.generic, Tensor)):
        if x.dtype.kind == "c":
            return [x.real, x.imag]
        if x.dtype.kind == "O":
            raise AssertionError("an object array")
        return [x] if x.dtype.kind == "f" else []
    return []


def run(function, args, kwargs):
    """The numbers that a call returns, and those in its arguments afterwards."""
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*requires grad")
        result = function(*args, **kwargs)
        if inspect.isgenerator(result) or hasattr(result, "__next__"):
            result = list(result)
        return numbers(result), numbers([x for x in (*args, *kwargs.values()) if isinstance(x, (np.ndarray, Tensor))])


def plainly(function, args, kwargs):
    """What NumPy makes of copies of these arguments; None if it raises."""
    with contextlib.suppress(Exception):
        result, after = run(function, [copied(x) for x in args], {k: copied(x) for k, x in kwargs.items()})
        if sum(x.size for x in result) + sum(x.size for x in after) < 400:
            return result, after
    return None


def parameters(function):
    try:
        return [p for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return []


@functools.cache
def calls(home, name):
    """Some calls that NumPy takes: positional arguments from the pool, then keywords beside them."""
    function = public(home)[name]
    generator = np.random.default_rng(sum(map(ord, name)))
    pool, found = list(POOL.values()), []
    tries = [(x,) for x in pool]
    for count in (2, 3, 4):
        picks = generator.integers(0, len(pool), (150 if not LONG else 900, count))
        tries += [tuple(pool[i] for i in pick) for pick in picks]
    if method := name.partition(".")[2]:  # on some other arguments NumPy itself crashes
        indices = [POOL[key] for key in ("j", "i", "mask", "zero")]
        following = {"reduceat": [(j, *rest) for j in indices for rest in ((), (0,))], "outer": [(x,) for x in pool],
                     "at": [(j, *rest) for j in indices for rest in ((), *((x,) for x in pool))]}  # fmt: skip
        tries = [(x, *rest) for x in pool for rest in following.get(method, [(), (0,), (-1,)])]
    if isinstance(function, np.ufunc):  # of truth values NumPy makes numbers of half precision, which others are not
        tries = [args for args in tries if all(x is not POOL["mask"] for x in args)]
    limit = 6 if not LONG else 30
    by_count = {}
    for args in tries:
        if by_count.get(len(args), 0) < limit and plainly(function, args, {}) is not None:
            by_count[len(args)] = by_count.get(len(args), 0) + 1
            found.append((args, {}))
    named = [p.name for p in parameters(function) if p.name in NAMED]
    if isinstance(function, np.ufunc):
        named = ["out", "dtype", "order", "casting"]
    if name.startswith(("cum", "nancum")) or name.endswith((".accumulate", ".reduceat")):
        named = ["dtype", "axis"]  # with an out of another shape NumPy itself crashes
    for args, _ in list(found)[: 6 if not LONG else 40]:
        for name_ in named:
            for value in NAMED[name_]:
                value = POOL["list"] if isinstance(value, str) and value == "list" else value
                value = (value,) * function.nout if name_ == "out" and isinstance(function, np.ufunc) else value
                if plainly(function, args, {name_: value}) is not None:
                    found.append((args, {name_: value}))
    return found


def is_list_of_numbers(x):
    return isinstance(x, list) and bool(x) and all(isinstance(part, (float, list)) or (isinstance(part, np.ndarray) and part.dtype.kind == "f") for part in x)


def differentiable(x):
    """Whether an argument holds real numbers that a Tensor can stand for."""
    if isinstance(x, tuple):
        return len(x) == 1 and differentiable(x[0])
    return type(x) is float or (isinstance(x, np.ndarray) and x.dtype.kind == "f") or is_list_of_numbers(x)


def with_tensor(x, leaf):
    """The argument with the elements of `leaf` for its numbers: a Tensor, or a list of Tensors."""
    if isinstance(x, tuple):
        return (with_tensor(x[0], leaf),)
    if isinstance(x, list):
        return [with_tensor(part, leaf[i]) for i, part in enumerate(x)]
    return leaf * 1.0


def with_numbers(x, values):
    if isinstance(x, tuple):
        return (with_numbers(x[0], values),)
    if isinstance(x, list):
        return [with_numbers(part, values[i]) for i, part in enumerate(x)]
    return values.copy() if isinstance(x, np.ndarray) else float(values)


def placed(args, kwargs, where, value):
    """The arguments with `value` at one position or keyword, the others copied."""
    args, kwargs = [copied(x) for x in args], {k: copied(x) for k, x in kwargs.items()}
    (kwargs if isinstance(where, str) else args)[where] = value
    return args, kwargs


def named_in(error, name):
    """Whether an error, or what it came from, is ours or says the function's name."""
    parts = {name, name.split(".")[0], name.split(".")[-1]}
    while error is not None:
        said = str(error) + " ".join(getattr(error, "__notes__", ()))
        if type(error).__module__.startswith("pullback") or any(part in said for part in parts):
            return True
        error = error.__cause__
    return False


def verdict(home, name, args, kwargs, where):
    """What becomes of one call with a Tensor at one place: "gradient", "constant", "refused", or what is wrong."""
    function = public(home)[name]
    given = kwargs[where] if isinstance(where, str) else args[where]
    inner = given[0] if isinstance(given, tuple) else given
    values = np.array(inner, float)
    leaf = pb.tensor(values, requires_grad=True)
    ours, keywords = placed(args, kwargs, where, with_tensor(given, leaf))
    try:
        parts, after = run(function, ours, keywords)
    except AssertionError as error:
        return f"gives {error}"
    except Exception as error:  # noqa: BLE001 - judged
        return "refused" if named_in(error, name) else f"{type(error).__name__}: {error}"

    def differences(step):
        slopes = np.zeros_like(values)
        for i in np.ndindex(values.shape):
            ends = []
            for sign in (1, -1):
                moved = values.copy()
                moved[i] += sign * step
                found = plainly(function, *placed(args, kwargs, where, with_numbers(given, moved)))
                if found is None or [x.shape for x in found[0]] != [x.shape for x in known]:
                    return None
                ends.append(found)
            total = 0.0
            for up, down, w in zip(ends[0][0] + ends[0][1], ends[1][0] + ends[1][1], weights, strict=False):
                total += np.nansum((up - down) * w) if up.shape == w.shape else 0.0
            slopes[i] = total / (2 * step)
        return slopes

    known, known_after = plainly(function, *placed(args, kwargs, where, with_numbers(given, values)))
    if [tuple(x.shape) for x in parts] != [x.shape for x in known]:
        return f"shapes {[tuple(x.shape) for x in parts]} for {[x.shape for x in known]}"
    if [x.dtype for x in parts] != [x.dtype for x in known]:
        return f"dtypes {[str(x.dtype) for x in parts]} for {[str(x.dtype) for x in known]}"
    for x, y in zip(parts, known, strict=True):
        plain = x.detach().numpy() if isinstance(x, Tensor) else x
        if not np.allclose(plain, y, rtol=1e-5 if y.dtype == np.float32 else 1e-9, atol=1e-9, equal_nan=True):
            return f"value {plain} for {y}"
    if not all(np.isfinite(x).all() for x in (*known, *known_after)):
        return "kink"
    generator = np.random.default_rng(0)
    weights = [generator.uniform(0.5, 1.5, x.shape) for x in known]
    changed = isinstance(given, np.ndarray) and len(known_after) == len(after)
    weights_after = [generator.uniform(0.5, 1.5, x.shape) for x in known_after]
    weights += weights_after
    everything = parts + (after if changed else [])
    tracked = [(x * w).sum() for x, w in zip(everything, weights, strict=False) if isinstance(x, Tensor) and x.requires_grad]
    wide = any(x.dtype == np.float32 for x in known)
    expected = differences(1e-3 if wide else 1e-5)
    finer = differences(3e-4 if wide else 3e-6)
    if expected is None or finer is None or not np.allclose(expected, finer, rtol=1e-2, atol=1e-3):
        return "kink"
    if not tracked:
        return "constant" if np.allclose(expected, 0, atol=1e-4) else f"detached: slope {expected}"
    sum(tracked).backward()
    found = np.zeros_like(values) if leaf.grad is None else leaf.grad.numpy()
    if not np.allclose(found, expected, rtol=2e-2 if wide else 2e-3, atol=2e-2 if wide else 2e-4):
        return f"gradient {found} for {expected}"
    return "gradient"


def positions(args, kwargs):
    return [i for i, x in enumerate(args) if differentiable(x)] + [k for k, x in kwargs.items() if differentiable(x)]


def shown(args, kwargs):
    names = {id(value): key for key, value in POOL.items()}
    given = [names.get(id(x), repr(x)) for x in args] + [f"{k}={x!r}" for k, x in kwargs.items()]
    return f"({', '.join(given)})"


@pytest.fixture(autouse=True)
def numpy_state():
    """Draws are from NumPy's global generator, which stays at one state; later tests find it as it was."""
    state = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


def wrong(home, name):
    """The calls of one function that end otherwise than they should."""
    found = []
    for args, kwargs in calls(home, name):
        for where in positions(args, kwargs):
            said = verdict(home, name, args, kwargs, where)
            if said not in ("gradient", "constant", "refused", "kink"):
                found.append(f"np.{home}.{name}{shown(args, kwargs)}, a Tensor at {where!r}: {said}")
    return found
