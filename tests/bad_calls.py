"""Calls with bad arguments, at random, and a strict judge of how they end.

A call must end in a result, or in an error of a class that PyTorch's and NumPy's users expect, whose text names the
function as the user wrote it and says which argument is at fault, or what all were.

    python -m tests.bad_calls --n 140000 --seed 7
"""

import argparse
import collections
import contextlib
import inspect
import os
import random
import re
import resource
import signal
import sys
import types
import warnings
from pathlib import Path

import numpy as np

import pullback as pb
import pullback.nn.functional as F
from pullback.autograd.gradcheck import GradcheckError
from pullback.core import modes
from pullback.core.errors import DetachingError, GradientError, InplaceError, InternalError
from pullback.core.extras import MissingExtraError
from pullback.interop.adopt.state import State

# Functions that change what the whole program sees, that write files, or that are no functions of arguments.
LEFT_OUT = re.compile(
    r"seed|rng_state|set_|_default|grad_enabled|detect_anomaly|inference_mode|no_grad|enable_grad|trace_nans|dual_level"
    r"|^share_memory|^main$|^demo|^profile|^record_function|^emit_|save_on_cpu|saved_tensors_hooks|allow_mutation"
    r"|disable_saved|^load$|^main"
)
# Of NumPy: what writes, reads, or is not about arrays.
NOT_ARRAYS = re.compile(
    r"save|load|file|show|test|info|err|print|set|get|buf|memmap|open|from|busday|datetime|isfortran|typename|repr|str"
    r"|format|mask_indices|may_share|shares_memory|asc|lookfor|source|deprecate|safe_eval|byte_bounds|who|isscalar"
    r"|common_type|mintypecode|min_scalar|iterable|isdtype|promote|binary|base_repr"
)
DUNDERS = re.compile(
    r"__(class|new|init|init_subclass|subclasshook|del|getattribute|setattr|delattr|dir|sizeof|format|reduce|reduce_ex"
    r"|setstate|getstate|getattr|array_ufunc|array_function|repr|str|hash|array_wrap|array_finalize|deepcopy|copy"
    r"|dlpack|dlpack_device|array|array_interface|array_struct|class_getitem|float|int|complex|index|bool)__"
)
LOOPS = re.compile(r"polynomial|split|diff$|chunk")  # an int of 1e20 is a loop of that length


def functions():
    """(what the user writes, function, names under which an error may speak of it) of everything public."""
    found = []

    def collect(module, home, names=None):
        for name in sorted(names or getattr(module, "__all__", dir(module))):
            function = getattr(module, name, None)
            if name.startswith("_") or LEFT_OUT.search(name) or not callable(function):
                continue
            if not isinstance(function, (type, types.ModuleType)):
                found.append((f"{home}.{name}", function))

    collect(pb, "pb")
    for module, home in ((pb.linalg, "linalg"), (pb.fft, "fft"), (pb.special, "special"), (pb.masked, "masked")):
        collect(module, home)
    collect(F, "nn.functional")
    collect(pb.func, "func")
    collect(pb.autograd, "autograd")
    collect(pb.autograd.functional, "autograd.functional")
    collect(pb.autograd.forward_ad, "autograd.forward_ad")
    collect(pb.autograd.graph, "autograd.graph")
    collect(pb.random, "random")
    collect(pb.signal.windows, "signal.windows")
    for name in sorted(dir(pb.Tensor)):
        function = getattr(pb.Tensor, name)
        private = name.startswith("_") and not name.startswith("__")
        if callable(function) and not private and not DUNDERS.fullmatch(name) and not LEFT_OUT.search(name):
            found.append((f"Tensor.{name}", function))
    for module, home in ((np, "np"), (np.linalg, "np.linalg")):
        names = [n for n in dir(module) if not NOT_ARRAYS.search(n)]
        collect(module, home, names)
    synonyms = collections.defaultdict(set)
    for name, function in found:
        synonyms[id(function)].add(name.rpartition(".")[2])
    return [(name, function, synonyms[id(function)] | _other_names(name, function)) for name, function in found]


def _other_names(name, function):
    """How an error may speak of a function besides its name: `x + y` is add, `x += y` is add_."""
    names = {getattr(function, "__qualname__", name).rpartition(".")[2]}
    if name == "Tensor.__iter__":
        return {"iteration over"}
    if name in ("Tensor.__getitem__", "Tensor.__setitem__"):
        return {*names, "indices"}
    if not name.startswith("Tensor.__"):
        return names
    bare = name.removeprefix("Tensor.").strip("_")
    operator = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
                "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "invert": "bitwise_not",
                "rshift": "bitwise_right_shift", "pos": "positive"}  # fmt: skip
    for start in ("", "r", "i"):
        if bare.startswith(start):
            base = bare.removeprefix(start)
            names |= {operator.get(base, base) + ("_" if start == "i" else "")}
    return names


class Calls:
    """Random calls, the same for the same seed."""

    def __init__(self, seed, nearly_right=0.6):
        self.random, self.nearly_right = random.Random(seed), nearly_right

    def tensor(self, dtype=None):
        R = self.random
        shape = R.choice(
            [(), (1,), (3,), (3,), (2, 3), (3, 3), (3, 3), (2, 3, 4), (0,), (0, 3), (1, 3, 5, 5), (2,) * 5]
        )
        dtype = dtype or R.choice(
            ["float64"] * 5 + ["float32", "complex128", "int64", "int8", "bool", "uint8", "float16", "complex64"]
        )
        g = np.random.default_rng(R.randrange(10**6))
        values = g.normal(size=shape)
        if dtype.startswith("complex"):
            values = values + 1j * g.normal(size=shape)
        values = np.asarray(np.abs(values) if dtype.startswith("u") else values).astype(dtype)
        t = pb.tensor(values)
        if values.dtype.kind in "fc" and R.random() < 0.5:
            t.requires_grad_()
        return t.transpose(0, 1) if R.random() < 0.1 and values.ndim > 1 else t

    def odd(self):
        """Something that hardly any argument takes."""
        R, t = self.random, self.tensor
        return R.choice([
            lambda: None, lambda: True, lambda: False, lambda: 0, lambda: -1, lambda: 1, lambda: 2, lambda: 5,
            lambda: 10**20, lambda: -(10**20), lambda: 0.5, lambda: 2.0, lambda: 1 + 2j, lambda: "", lambda: "mean",
            lambda: "nope", lambda: b"x", list, lambda: (), lambda: [1, 2], lambda: (0, 1), lambda: (-1,),
            lambda: [[1, 2], [3]], lambda: [t(), t()], lambda: (t(), 1), lambda: (t(), t()), dict,
            lambda: {"a": 1}, lambda: {1, 2}, lambda: slice(0, 2), lambda: Ellipsis, lambda: np.float64,
            lambda: "float32", lambda: object(), lambda: np.array([1.0, 2.0]), lambda: np.array(["a"]),
            lambda: np.array([None, 1]), lambda: np.float32(2), lambda: np.int64(7), lambda: range(3),
            lambda: pb.Tensor, lambda: frozenset(), lambda: bytearray(b"ab"), lambda: [None], lambda: ["a", "b"],
            lambda: [0.5], lambda: (True,), lambda: t("bool"), lambda: t("int64"), lambda: -7, lambda: (9, 9, 9, 9),
        ])()  # fmt: skip

    def near(self, name):
        """What a parameter of this name usually takes, or nearly."""
        R = self.random
        if name in ("dim", "axis", "dim0", "dim1", "start_dim", "end_dim", "source", "destination", "axis0", "axis1"):
            return R.choice([0, 1, -1, -2, 2, 5, None, (0, 1), (0, 0), [0], True, 1.0, "0", -7])
        if name == "dtype":
            return R.choice([pb.float64, pb.float32, pb.complex128, pb.int64, "float64", None, int, "nope", 3])
        if name in ("index", "indices"):
            return R.choice([
                pb.tensor([0, 1]), pb.tensor([0]), pb.tensor(np.zeros((2, 3), int)), pb.tensor([7]), pb.tensor([-9]), 0,
                pb.tensor([True, False, True]), [0, 1], "a", 1.5,
            ])  # fmt: skip
        if name in ("mask", "condition"):
            return self.tensor("bool")
        if name == "reduction":
            return R.choice(["mean", "sum", "none", "x", None, 1])
        if re.search(r"size|shape|dims|repeats|stride|padding|dilation|sections|^pad$|^n$|^k$|num_|chunks|offset|"
                     r"diagonal|shifts|^s$|groups|steps", name):  # fmt: skip
            return R.choice([
                1, 2, 3, 0, -1, (2,), (3,), (2, 3), (1, 1), (3, 3), (-1,), (2, 2, 2), 100, (1, 2, 3, 4), None, 2.0,
                True, [2, 3], "2", (2, None), 10**20,
            ])  # fmt: skip
        if name in ("tensors", "operands", "inputs", "seq", "arrays"):
            return [self.tensor(), self.tensor()]
        if re.search(r"mode|equation|norm|approximate|indexing|side|UPLO|driver|^reduce$|interpolation|layout", name):
            return R.choice(["constant", "reflect", "bilinear", "ij,jk->ik", "i,i", "forward", "ortho", "L", "U", "sum",
                             "amax", "linear", "xx", "ij", None, "circular", "none", "tanh", 2])  # fmt: skip
        if name in ("func", "f", "function", "fn"):
            return R.choice([lambda *z: z[0] * 2, lambda *z: (z[0] ** 2).sum(), 3, None])
        if re.search(r"keepdim|^bias$|training|inplace|unbiased|upper|largest|sorted|descending|stable|left|_graph|"
                     r"hermitian|align|ceil_mode", name):  # fmt: skip
            return R.choice([True, False, None, 1, "yes"])
        if re.search(r"^(p|ord|eps|alpha|beta|momentum|value|correction|min|max|threshold|lambd|delta|q|.tol)$", name):
            return R.choice([0, 1, 2, 0.5, -1, float("inf"), "fro", "nuc", None, self.tensor(), 3.7, 1j])
        return self.tensor() if R.random() < 0.8 else self.odd()

    def arguments(self, name, function):
        """(args, kwargs) for a function, right in kind or not at all."""
        R, args, kwargs = self.random, [], {}
        try:
            parameters = [p for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_KEYWORD]
        except (ValueError, TypeError):
            parameters = None
        if parameters is not None and R.random() < self.nearly_right:
            for p in parameters:
                if p.kind == p.VAR_POSITIONAL:
                    args += [self.near(p.name.strip("_")) for _ in range(R.randrange(3))]
                    continue
                if p.default is not p.empty and repr(p.default) != "<required>" and R.random() < 0.7:
                    if p.kind != p.KEYWORD_ONLY and R.random() < 0.5:
                        break
                    continue
                value = self.tensor() if p.name in ("input", "self") else self.near(p.name)
                value = self.odd() if R.random() < 0.15 else value
                if p.kind == p.KEYWORD_ONLY or kwargs:
                    kwargs[p.name] = value
                elif p.default is not p.empty and R.random() < 0.5 and p.kind != p.POSITIONAL_ONLY:
                    kwargs[p.name] = value
                else:
                    args.append(value)
        else:
            args = [self.tensor() if R.random() < 0.6 else self.odd() for _ in range(R.choice([0, 1, 1, 2, 2, 3, 4]))]
            if R.random() < 0.3 and parameters:
                kwargs = {R.choice(parameters).name: self.odd()}
        if R.random() < 0.04:
            kwargs[R.choice(["nonsense", "require_grad", "dims", "keep_dims", "axis", "keepdims", "out"])] = R.choice(
                [1, True]
            )
        if name.startswith("Tensor.") and (not args or not isinstance(args[0], pb.Tensor)):
            args = [self.tensor(), *args]
        if LOOPS.search(name):
            args = [3 if isinstance(x, (int, float)) and abs(x) > 100 else x for x in args]
            kwargs = {k: 3 if isinstance(x, (int, float)) and abs(x) > 100 else x for k, x in kwargs.items()}
        return args, kwargs


# -- the judge -----------------------------------------------------------------------------------------------------
EXPECTED = (
    TypeError,
    ValueError,
    RuntimeError,
    IndexError,
    NotImplementedError,
    MemoryError,
    BufferError,
    np.linalg.LinAlgError,
    MissingExtraError,
)
# What NumPy and Python say when they have been handed what nobody has looked at.
VAGUE = re.compile(
    r"has no attribute|object is not|is not defined|unsupported operand|not enough values to unpack|too many values to "
    r"unpack|(tuple|list) index out of range|^$|unhashable|can't multiply sequence|must be real number, not|bad operand"
    r"|cannot unpack|cannot be interpreted as|'NoneType'|has no len\(\)|setting an array element|inhomogeneous|not "
    r"supported between|only 0-dimensional|truth value of an (array|empty)|^Boolean value of|assert|descriptor '|"
    r"comprehension|<locals>|_kernel|Cannot cast ufunc|did not contain a loop|loop of ufunc|gufunc|an integer is "
    r"required|inplace_[a-z]|_plain|recursion|too large to convert|base-10|AxisError|__array"
)


# Their errors name an argument (inputs[1], grad_tensors) or say what is wrong with the graph, in PyTorch's words.
ENTRIES = ("autograd.grad", "autograd.backward", "Tensor.backward")


class Late(BaseException):
    """A call took too long."""


def verdict(name, names, error):
    """'' for a good error, else what is wrong with it."""
    text = str(error)
    if isinstance(error, InternalError):
        return "called a mistake of pullback's own"
    if isinstance(error, RecursionError) or not isinstance(error, EXPECTED):
        return f"class {type(error).__name__}"
    if name.startswith("np.") and re.search(r"\bnp\.\w", text):
        names = {*names, "np"}  # a function of NumPy that called another
    about_the_graph = type(error) in (GradientError, InplaceError, DetachingError, GradcheckError) or name in ENTRIES
    if not about_the_graph and not any(re.search(rf"(?<![\w']){re.escape(n)}(?!\w)", text) for n in names):
        return "does not name the function"
    if VAGUE.search(text.replace(name.rpartition(".")[2], "")) and "cannot make a tensor of this" not in text:
        return "vague"
    return ""


def _frames(error):
    traceback = error.__traceback__.tb_next  # below that of the call itself
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def ours(name, error):
    """Whether the error is pullback's to explain: of a function of NumPy's only where it handed the call on at once."""
    if not name.startswith("np."):
        return True
    first = next((frame.f_code.co_name for frame in _frames(error)), "")
    return first in ("array_function", "array_ufunc")


def shown(x):
    """A value in the text of a call."""
    if isinstance(x, pb.Tensor):
        return f"T{tuple(x.shape)}:{x.dtype}{'*' if x.requires_grad else ''}"
    if isinstance(x, np.ndarray):
        return f"A{x.shape}:{x.dtype}"
    if isinstance(x, (list, tuple)):
        return f"{type(x).__name__}({', '.join(map(shown, x))})"
    return repr(x)[:40]


def run(count, seed, seconds=30.0, progress=None):
    """(how often each outcome came, findings: what is wrong -> [number, example, text])."""
    calls, todo = Calls(seed), functions()
    outcomes, findings = collections.Counter(), {}
    calls.random.shuffle(todo)
    for k in range(count):
        name, function, names = todo[k % len(todo)]
        args, kwargs = calls.arguments(name, function)
        given = [*map(shown, args), *(f"{key}={shown(value)}" for key, value in kwargs.items())]
        call = f"{name}({', '.join(given)})"
        if progress is not None:
            progress(k, call)
        outcome, error = _outcome(function, args, kwargs, seconds)
        wrong = "slow" if outcome == "slow" else ""
        if error is not None and ours(name, error):
            wrong = verdict(name, names, error)
        outcomes[f"bad: {wrong}" if wrong else outcome] += 1
        if wrong:
            text = "" if error is None else f"{type(error).__name__}: {error}"
            kind = re.sub(r"[0-9]+|'[^']*'|\([^()]*\)|\[[^\]]*\]", "_", text)[:70]
            findings.setdefault((wrong, kind), [0, call, text, set()])
            findings[wrong, kind][0] += 1
            findings[wrong, kind][3].add(name)
        state = modes.current()
        if not state.plain or not state.records_all or state.level:
            findings.setdefault(("mode stays", name), [1, call, "", {name}])
            modes.restore(modes.Modes())
        if State.on:
            pb.release()  # the calls that follow, and the tests, are not to run under adopt()
    return outcomes, findings


def _outcome(function, args, kwargs, seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            function(*args, **kwargs)
    except Late:
        return "slow", None
    except Exception as error:  # noqa: BLE001 - judged by the caller
        return type(error).__name__, error
    else:
        return "result", None
    finally:
        with contextlib.suppress(Late):
            signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def careful(memory=3 << 30):
    """Calls that would take too much memory fail, those that take too long are interrupted, warnings are not shown."""

    def late(*_):
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + memory, limits[1]))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


def report(outcomes, findings):
    """The findings, the most frequent first."""
    lines = [", ".join(f"{kind}: {n}" for kind, n in outcomes.most_common())]
    for (wrong, _), (n, call, text, names) in sorted(findings.items(), key=lambda item: (item[0][0], -item[1][0])):
        lines.append(f"{n:4d} {wrong} | {call[:180]} | {text[:260]!r} | {', '.join(sorted(names)[:6])}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", help="a file that holds the call that runs")
    options = parser.parse_args()

    def log(k, call):
        Path(options.log).write_text(f"{k} {call}")

    with careful():
        done = run(options.n, options.seed, progress=log if options.log else None)
    print(report(*done))
    sys.exit(bool(done[1]))
