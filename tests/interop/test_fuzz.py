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
from pullback.core.array_face import Array, as_array
from pullback.core.tensor import Tensor

HOMES = {"": np, "linalg": np.linalg, "fft": np.fft, "random": np.random}
# What sets the state of NumPy or of the process, reads and writes files, prints, or gives what the memory holds.
NOT_CALLED = {
    "DataSource", "base_repr", "binary_repr", "bytes", "empty", "empty_like", "errstate", "frombuffer", "fromfile",
    "fromregex", "fromstring", "genfromtxt", "get_bit_generator", "get_state", "getbufsize", "info", "load", "loadtxt",
    "memmap", "nested_iters",
    "nditer", "ndindex", "printoptions", "save", "savetxt", "savez", "savez_compressed", "seed",
    "set_bit_generator", "set_printoptions", "set_state", "setbufsize", "seterr", "seterrcall", "show_config",
    "show_runtime", "test", "random_integers", "bmat", "asmatrix",
    # NumPy 2.4 leaves out elements here: np.power.reduce([4, 0.5, 0.5]) is 2.
    # Results between which every argument lies on an edge.
    "nextafter", "nextafter.outer", "nextafter.at",
    "arctan2.reduce", "atan2.reduce", "power.reduce", "pow.reduce",
}  # fmt: skip
# What these return says nothing of the values, or only which of them are larger.
OF_NO_VALUE = {"array2string", "array_repr", "array_str", "result_type", "min_scalar_type", "can_cast", "common_type"}

# These read half of a symmetric matrix, and give each element of a pair half of the gradient.
OF_HALF_A_MATRIX = {"cholesky", "eigh", "eigvalsh"}

_draw = np.random.default_rng(3)
A = _draw.uniform(0.5, 2.0, (3, 3)) + 2 * np.eye(3)
V = np.array([0.62, 1.37, 2.11])
SPD = A @ A.T
POOL = {
    "A": A, "V": V, "s": 0.73, "S": SPD, "B": _draw.uniform(0.5, 2.0, (2, 3, 3)), "i": 2, "zero": 0,
    "j": np.array([0, 2, 1]), "mask": np.array([True, False, True]), "list": [0.4, 1.3, 2.6],
    "nested": [[0.4, 1.3], [2.6, 0.9]], "arrays": [V + 0.1, V * 2.0, V[::-1] * 1.5], "shape": (3, 3), "c": V + 0.5j,
    "f": np.sum, "sub": "ij->ji", "none": None,
    "flags": [np.array([True, False, False]), np.array([False, True, True])],
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
    "upper": [True], "compute_uv": [False], "full_matrices": [False], "UPLO": ["U"], "tol": [1e-6],
    "increasing": [True], "return_index": [True], "assume_unique": [True], "wrap": [True], "correction": [1],
    "side": ["right"], "minlength": [5], "offset": [1], "shift": [1], "fill_value": [0.8], "stable": [True],
    "s": [(2, 3)], "rtol": [1e-3], "atol": [0.1], "include_initial": [True], "casting": ["unsafe"],
}  # fmt: skip
# How many tries there are for each number of arguments, calls kept of them, and calls that keywords are added to.
SHORT, LONG = (25, 1, 1), (900, 30, 40)


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
        warnings.filterwarnings("error", message=".*(requires grad|not guaranteed to behave correctly)")
        np.random.seed(0)  # noqa: NPY002 - the state that NumPy's functions draw from
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
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def attempts(home, name, drawn):
    """Positional arguments to try: every single one from the pool, and drawn ones."""
    generator = np.random.default_rng(sum(map(ord, name)))
    pool = list(POOL.values())
    found = [(x,) for x in pool]
    pool = [x for x in pool if x is not POOL["c"]]
    for count in (2, 3, 4):
        picks = generator.integers(0, len(pool), (drawn, count))
        found += [tuple(pool[i] for i in pick) for pick in picks]
    if method := name.partition(".")[2]:  # on some other arguments NumPy itself crashes
        indices = [POOL[key] for key in ("j", "i", "mask", "zero")]
        following = {"reduceat": [(j, *rest) for j in indices for rest in ((), (0,))], "outer": [(x,) for x in pool],
                     "at": [(j, *rest) for j in indices for rest in ((), *((x,) for x in pool))]}  # fmt: skip
        found = [(x, *rest) for x in pool for rest in following.get(method, [(), (0,), (-1,)])]
    if isinstance(getattr(HOMES[home], name, None), np.ufunc):  # of truth values NumPy makes half precision
        found = [args for args in found if all(x is not POOL["mask"] for x in args)]
    # A third argument that counts as true asks for half of a matrix; into an out of another shape cumsum writes what
    # memory holds; what is asked for a median may overwrite its input.
    most = 2 if home == "linalg" else 3
    if most == 2 or name.startswith(("cum", "nancum")) or name.endswith(("median", "quantile", "percentile")):
        found = [args for args in found if len(args) <= most]
    return found


@functools.cache
def calls(home, name, tries_kept_extended=SHORT):
    """Some calls that NumPy takes: positional arguments, then keywords beside them."""
    function = public(home)[name]
    drawn, limit, extended = tries_kept_extended
    found = []
    by_count = {}
    for args in attempts(home, name, drawn):
        if by_count.get(len(args), 0) < limit and plainly(function, args, {}) is not None:
            by_count[len(args)] = by_count.get(len(args), 0) + 1
            found.append((args, {}))
    named = [p.name for p in parameters(function) if p.name in NAMED]
    if isinstance(function, np.ufunc):
        named = ["out", "dtype", "order", "casting"]
    if name.startswith(("cum", "nancum")) or name.endswith((".accumulate", ".reduceat")):
        named = ["dtype", "axis"]  # with an out of another shape NumPy itself crashes
    if home == "fft" and name[-1] in "2n":
        named = [key for key in named if key != "out"]  # which NumPy leaves as it is where it finds no use for it
    for args, _ in list(found)[:extended]:
        for name_ in named:
            for value in NAMED[name_]:
                value = POOL["list"] if isinstance(value, str) and value == "list" else value
                value = (value,) * function.nout if name_ == "out" and isinstance(function, np.ufunc) else value
                if plainly(function, args, {name_: value}) is not None:
                    found.append((args, {name_: value}))
    return found


def _real(x):
    return type(x) is float or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def differentiable(x):
    """Whether an argument holds real numbers that a Tensor can stand for."""
    if isinstance(x, tuple):
        return len(x) == 1 and differentiable(x[0])
    return _real(x) or (isinstance(x, list) and bool(x) and all(isinstance(part, list) or _real(part) for part in x))


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


def is_ours(error, name):
    """Whether an error, or what it came from, is ours or says the function's name."""
    parts = {
        name,
        name.split(".")[0],
        name.split(".")[-1],
        "'Tensor' object",
        "'Array' object",
        "must be a Tensor",
        "requires grad",
    }
    while error is not None:
        ours = getattr(error, "explained", False) or type(error).__module__.startswith("pullback")
        if ours or any(part in str(error) for part in parts):
            return True
        error = error.__cause__
    return False


class Trial:
    """One call, with a Tensor at one place."""

    def __init__(self, home, name, args, kwargs, where, face=pb.Tensor):
        self.face = face
        self.name, self.function, self.args, self.kwargs, self.where = name, public(home)[name], args, kwargs, where
        self.given = kwargs[where] if isinstance(where, str) else args[where]
        self.values = np.array(self.given[0] if isinstance(self.given, tuple) else self.given, float)

    def with_(self, value):
        return placed(self.args, self.kwargs, self.where, value)

    def plainly(self, values):
        return plainly(self.function, *self.with_(with_numbers(self.given, values)))

    def verdict(self):
        """What becomes of it: "gradient", "constant", "refused", "kink", or what is wrong."""
        leaf = pb.tensor(self.values, requires_grad=True)
        shown = as_array(leaf) if self.face is Array else leaf
        try:
            parts, after = run(self.function, *self.with_(with_tensor(self.given, shown)))
        except AssertionError as error:
            return f"gives {error}"
        except Exception as error:  # noqa: BLE001 - judged
            return "refused" if is_ours(error, self.name) else f"{type(error).__name__}: {error}"
        known, known_after = self.plainly(self.values)
        written = isinstance(self.given, np.ndarray) and len(known_after) == len(after)
        return _different(parts, known) or self._slope(
            leaf, parts + (after if written else []), known + (known_after if written else [])
        )

    def _slope(self, leaf, parts, known):
        if not all(np.isfinite(x).all() for x in known):
            return "kink"
        generator = np.random.default_rng(0)
        weights = [generator.uniform(0.5, 1.5, x.shape) for x in known]
        coarse = any(x.dtype == np.float32 for x in known)
        sides = self._differences(known, weights, 1e-3 if coarse else 1e-6)
        if sides is None or not np.allclose(*sides, rtol=5e-2 if coarse else 1e-3, atol=5e-2 if coarse else 1e-3):
            return "kink"
        expected = (sides[0] + sides[1]) / 2
        tracked = [x.requires_grad if isinstance(x, Tensor) else False for x in parts]
        if not any(tracked):
            return "constant" if np.allclose(expected, 0, atol=1e-4) else f"detached: slope {expected}"
        sum((x * w).sum() for x, w, t in zip(parts, weights, tracked, strict=True) if t).backward()
        found = np.zeros_like(self.values) if leaf.grad is None else leaf.grad.numpy()
        if self.name in OF_HALF_A_MATRIX:
            found, expected = (x + np.swapaxes(x, -1, -2) for x in (found, expected))
        if np.allclose(found, expected, rtol=2e-2 if coarse else 2e-3, atol=2e-2 if coarse else 2e-4):
            return "gradient"
        return f"gradient {found} for {expected}"

    def _differences(self, known, weights, step):
        """Slopes of NumPy's results to the right and to the left; None where these have other shapes there."""
        sides = []
        for size in (step, -step):
            slopes = np.zeros_like(self.values)
            for i in np.ndindex(slopes.shape):
                moved = self.values.copy()
                moved[i] += size
                there = self.plainly(moved)
                there = None if there is None else [*there[0], *there[1]][: len(known)]
                if there is None or [x.shape for x in there] != [x.shape for x in known]:
                    return None
                slopes[i] = sum(((x - y) * w).sum() for x, y, w in zip(there, known, weights, strict=True)) / size
            sides.append(slopes)
        return sides


def _different(parts, known):
    """How results differ from NumPy's, "" if they do not."""
    for what in ("shape", "dtype"):
        ours, numpys = ([getattr(x, what) for x in results] for results in (parts, known))
        if list(map(str, ours)) != list(map(str, numpys)):
            return f"{what}s {ours} for {numpys}"
    for x, y in zip(parts, known, strict=True):
        plain = x.detach().numpy() if isinstance(x, Tensor) else x
        rough = y.dtype == np.float32
        if not np.allclose(plain, y, rtol=1e-5 if rough else 1e-9, atol=1e-6 if rough else 1e-9, equal_nan=True):
            return f"value {plain} for {y}"
    return ""


def positions(args, kwargs):
    return [i for i, x in enumerate(args) if differentiable(x)] + [k for k, x in kwargs.items() if differentiable(x)]


def shown(args, kwargs):
    names = {id(value): key for key, value in POOL.items()}
    given = [names.get(id(x), repr(x)) for x in args] + [f"{k}={x!r}" for k, x in kwargs.items()]
    return f"({', '.join(given)})"


@functools.cache
def verdicts(home, name, size, face=pb.Tensor):
    """What becomes of the calls of one function, by their text."""
    return {
        f"np.{home}.{name}{shown(args, kwargs)}, a Tensor at {where!r}": Trial(
            home, name, args, kwargs, where
        ).verdict()
        for args, kwargs in calls(home, name, size)
        for where in positions(args, kwargs)
    }


def wrong(names, size, face):
    """The calls of these functions that end otherwise than they should."""
    fine = ("gradient", "constant", "refused", "kink")
    found = {call: said for home, name in names for call, said in verdicts(home, name, size, face).items()}
    return {call: said for call, said in found.items() if said not in fine}


@pytest.fixture(autouse=True)
def numpy_state():
    """Draws are from NumPy's global generator: later tests find it as it was."""
    state = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


NAMES = [(home, name) for home in HOMES for name in public(home)]


@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("face", [pb.Tensor, Array])
def test_a_tensor_in_any_position_gives_a_right_gradient_or_our_error(part, face):
    assert wrong(NAMES[part::8], SHORT, face) == {}


@pytest.mark.skipif("PULLBACK_LONG" not in os.environ, reason="takes four minutes: PULLBACK_LONG=1")
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("face", [pb.Tensor, Array])
def test_a_tensor_in_any_position_of_many_more_calls(part, face):
    assert wrong(NAMES[part::8], LONG, face) == {}


@pytest.mark.parametrize(
    "name", ["sin", "sum", "interp", "quantile", "pad", "append", "add.at", "copyto", "multiply.outer", "linspace"]
)
def test_the_fuzz_finds_calls_that_are_differentiable(name):
    assert "gradient" in verdicts("", name, (60, 3, 2)).values()


BROKEN = {
    "detached": lambda x: x.detach() * 2,
    "gradient": lambda x: x.detach() + x,
    "value": lambda x: x * 2 + 1e-6,
    "object array": lambda x: _holder(x),
    "KeyError": lambda x: {}[0],
    "shape": lambda x: x[None] * 2,
    "dtype": lambda x: x.astype("f4") * 2,
}


def _holder(x):
    holder = np.empty(1, dtype=object)
    holder[0] = x
    return holder


@pytest.mark.parametrize("said", BROKEN)
def test_the_fuzz_sees_what_is_wrong(said, monkeypatch):
    broken = BROKEN[said]
    monkeypatch.setattr(np, "twice", lambda x: broken(x) if isinstance(x, Tensor) else x * 2, raising=False)
    assert said in Trial("", "twice", (POOL["s"] if said == "detached" else POOL["V"],), {}, 0).verdict()
