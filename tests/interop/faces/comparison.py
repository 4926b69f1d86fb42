"""One idiom of NumPy on ndarrays and on what `func` shows in their place: are results, memory and slopes the same?

An idiom is a function of arrays, or an expression. The names of its parameters choose its arguments from `SAMPLES`. It
is run as four programs, each first on plain arrays, then inside `func.value_and_grad`:

    on copies     f(x.copy()), where what it writes into its argument is compared too
    on arguments  f(x), on what the transform itself hands to the function: a copy
    write after   r = f(x.copy()), then x is overwritten: does r change where NumPy's does?
    write back    r = f(x.copy()), then every array in r is overwritten: does x change where NumPy's does?

A program is EQUAL if values, dtypes, shapes, the kinds of results (an array or a scalar) and the types of everything
else are NumPy's, errors are of NumPy's types, and the gradient of a weighted sum of all floating-point numbers, those
of the arguments included, equals central differences. It is OURS if an error of pullback says what to write instead.
Anything else is WRONG.
"""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import itertools
import re
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.array_type import innermost

EQUAL, OURS, WRONG = "equal", "ours", "WRONG"
PROGRAMS = ("on copies", "on arguments", "write after", "write back")
PACKAGE = pb.__path__[0]

_x = np.array([0.7, 2.3, 1.1, 3.4, 0.2, 1.94])
_A = np.array([[1.237, -0.713, 0.409, 2.131], [0.317, 1.829, -1.103, 0.607], [-0.911, 0.557, 2.419, -1.613]])
SAMPLES: dict[str, Any] = {
    "x": _x,  # positive and distinct
    "y": np.array([-1.3, 0.4, 2.1, -0.6, 1.7, -2.2]),
    "p": np.array([0.55, -0.8, 1.6]),  # as long as A is high
    "q": np.array([1.5, -0.4, 0.9, 0.25]),  # as long as A is wide
    "A": _A,
    "B": np.array([[0.2, 1.1, -0.5], [1.9, -0.3, 0.7], [-1.2, 0.6, 0.8], [0.1, -1.7, 1.4]]),  # A @ B
    "C": np.array([[2.17, 0.36, -0.42], [0.58, 1.75, 0.24], [-0.63, 0.12, 1.46]]),  # square, well conditioned
    "T": np.sin(np.arange(1.0, 25.0)).reshape(2, 3, 4) * 2.5,
    "v": np.array([0.7, 9.0, 2.3, 9.0, 1.1, 9.0, 3.4, 9.0])[::2],  # strided
    "F": np.asfortranarray(_A),
    "e": np.empty((0,)),
    "E": np.empty((0, 3)),
    "o": np.array(1.3),  # 0-d, can be written
    "s": np.float64(1.7),
    "t": np.float64(-0.6),
    "z": np.array([1.2 + 0.6j, -0.7 + 1.1j, 0.4 - 2.0j, 1.9 + 0.3j]),
    "c": np.complex128(0.8 - 1.3j),
    "h": np.array([0.77, 2.31, 1.17, 3.62], dtype=np.float32),
    "k": np.array([2, 0, 3, 1]),
    "K": np.array([[1, 2, 3], [4, 5, 7]]),
    "i": np.int64(2),
    "b": np.array([True, False, True, True, False, True]),  # a mask of x
}
_LAYOUT = {  # how a copy inside of the transform gets the layout that the sample has
    "v": lambda x: np.repeat(x, 2)[::2],
    "F": lambda x: x * 1.0,
}


@dataclasses.dataclass
class Idiom:
    """A function of samples, called by the names of its parameters."""

    theme: str
    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.theme}: {self.name}"


def from_module(module: types.ModuleType) -> list[Idiom]:
    """The idioms of a module: its functions, and the lines of its text EXPRESSIONS."""
    theme = module.__name__.rpartition(".")[2]
    found = []
    for line in getattr(module, "EXPRESSIONS", "").splitlines():
        if text := line.strip():
            names = _samples_in(text)
            # The module's own globals, so that adopt() reaches them as it reaches a user's.
            function = eval(f"lambda {', '.join(names)}: {text}", vars(module))
            found.append(Idiom(theme, text, function, names))
    for name, function in vars(module).items():
        if isinstance(function, types.FunctionType) and function.__module__ == module.__name__ and name[0] != "_":
            names = function.__code__.co_varnames[: function.__code__.co_argcount]
            assert set(names) <= set(SAMPLES), f"{theme}.{name}: no sample for each of {names}"
            found.append(Idiom(theme, name, function, names))
    return found


def _samples_in(text: str) -> tuple[str, ...]:
    """The samples that an expression names, and does not bind itself."""
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
    return tuple(dict.fromkeys(node.id for node in names if node.id in SAMPLES and node.id not in bound))


# ---- what a program gives, as a tree of facts ----


@dataclasses.dataclass
class Number:
    """An array or a scalar of NumPy or of ours: a copy of its values, and what carries the gradient."""

    kind: str
    values: np.ndarray
    live: Any
    type: type


@dataclasses.dataclass
class Parts:
    """A container, or anything else of a type that has parts."""

    type: type
    keys: tuple[Any, ...]
    items: tuple[Any, ...]


def facts(x: Any) -> Any:
    """What is compared of a result: arrays and numbers with copies of their values, containers by their parts."""
    if isinstance(x, pb.Tensor):
        raw = innermost(x)
        kind = "scalar" if isinstance(x, pb.Scalar) else "array"
        return Number(kind, np.array(raw), x, type(x))
    if type(x) in (np.ndarray, np.memmap):
        if x.dtype == object:
            return Parts(np.ndarray, (x.shape,), tuple(facts(i) for i in x.ravel()))
        return Number("array", x.copy(), x, type(x))
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return Number("scalar", np.array(x), x, type(x))
    if isinstance(x, np.ma.MaskedArray):
        return Parts(type(x), (), (facts(np.asarray(x.data)), facts(np.ma.getmaskarray(x))))
    if isinstance(x, (float, complex)):
        return Number("scalar", np.array(x), x, type(x))
    if isinstance(x, dict):
        return Parts(type(x), tuple(x), tuple(facts(i) for i in x.values()))
    if isinstance(x, (list, tuple)) or isinstance(x, collections.deque):
        return Parts(type(x), (), tuple(facts(i) for i in x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return Parts(type(x), (), tuple(facts(getattr(x, f.name)) for f in dataclasses.fields(x)))
    return x


def numbers_in(tree: Any) -> list[Number]:
    """The arrays and scalars in a tree of facts."""
    if isinstance(tree, Number):
        return [tree]
    if isinstance(tree, Parts):
        return [n for part in tree.items for n in numbers_in(part)]
    return []


class Difference(Exception):
    """Where two results differ."""


def compare(plain: Any, ours: Any, where: str = "result") -> None:
    """Raise a Difference unless two trees of facts agree."""
    if isinstance(plain, Number):
        _compare_numbers(plain, ours, where)
    elif isinstance(plain, Parts):
        if not isinstance(ours, Parts) or ours.type is not plain.type:
            raise Difference(f"{where}: {_told(plain)} in NumPy, {_told(ours)} here")
        if len(plain.items) != len(ours.items) or plain.keys != ours.keys:
            raise Difference(
                f"{where}: {len(plain.items)} parts {plain.keys} in NumPy, {len(ours.items)} {ours.keys} here"
            )
        for n, (a, b) in enumerate(zip(plain.items, ours.items, strict=True)):
            compare(a, b, f"{where}[{n}]")
    elif isinstance(ours, Number) and isinstance(plain, (int, bool)):
        if not (ours.kind == "scalar" and isinstance(ours.live, type(plain)) and ours.values == plain):
            raise Difference(f"{where}: {_told(plain)} in NumPy, {_told(ours)} here")
    elif callable(plain) and callable(ours) and not isinstance(plain, type):
        return  # a method that was not called
    elif type(plain) is not type(ours):
        raise Difference(f"{where}: {_told(plain)} in NumPy, {_told(ours)} here")
    elif plain is not ours and type(plain) is not object and plain != ours:
        raise Difference(f"{where}: {plain!r} in NumPy, {ours!r} here")


def _told(x: Any) -> str:
    if isinstance(x, Number):
        return (
            f"{x.type.__name__} {x.values.dtype}{x.values.shape} {np.array2string(x.values, precision=5, threshold=8)}"
        )
    return f"a {x.type.__name__}" if isinstance(x, Parts) else f"{x!r} ({type(x).__name__})"


def _compare_numbers(plain: Number, ours: Any, where: str) -> None:
    if not isinstance(ours, Number) or not _same_numbers(plain.values, ours.values):
        raise Difference(f"{where}: {_told(plain)} in NumPy, {_told(ours)} here")
    if plain.kind != ours.kind:
        raise Difference(
            f"{where}: {plain.kind} ({plain.type.__name__}) in NumPy, {ours.kind} ({ours.type.__name__}) here"
        )
    if plain.kind == "scalar" and not isinstance(ours.live, plain.type):
        raise Difference(f"{where}: {ours.type.__name__} is no {plain.type.__name__}")


def _same_numbers(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    rtol = 8 * np.finfo(a.dtype).eps
    finite = np.abs(a[np.isfinite(a)])
    return np.allclose(b, a, rtol=rtol, atol=2 * rtol * finite.max(initial=1.0), equal_nan=True)


# ---- the four programs ----


def _after_writes(program: str, function: Callable[..., Any], args: list[Any]) -> Any:
    result = function(*args)
    if program == "write after":
        for arg in arrays_in(args):
            _overwrite(arg)
    elif program == "write back":
        for part in arrays_in(result):
            _overwrite(part)
    return result


def _overwrite(array: Any) -> None:
    kind = array.dtype.kind
    if kind == "b":
        array[...] = ~array
    elif kind in "iufc":
        array[...] = array * 2 + 1


def arrays_in(result: Any) -> list[Any]:
    """The arrays in a result, outside and inside of containers, of NumPy and of ours; no scalars."""
    if type(result) is np.ndarray:
        return [result]
    if isinstance(result, pb.Tensor):
        return [] if isinstance(result, pb.Scalar) else [result]
    if isinstance(result, dict):
        result = list(result.values())
    return [a for part in result for a in arrays_in(part)] if isinstance(result, (list, tuple)) else []


def _plain(idiom: Idiom, program: str, values: list[Any]) -> tuple[Any, float]:
    """What the program gives on plain arrays, arguments included, and its weighted sum."""
    args = [np.array(x, order="K") if program == "on arguments" and _is_array(x) else _copied(x) for x in values]
    tree = facts([_after_writes(program, idiom.function, args), args])
    return tree, _objective(tree, lambda live, values: values)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _copied(x: Any) -> Any:
    """A copy with the layout of the sample."""
    if _is_array(x) and not x.flags.c_contiguous:
        return np.repeat(x, 2)[::2] if x.ndim == 1 else np.asfortranarray(x.copy())
    return copy.copy(x)


def _objective(tree: Any, live: Callable[[Any, np.ndarray], Any]) -> Any:
    """A weighted sum of the floating-point numbers in a tree: of what `live` makes of each."""
    rng = np.random.default_rng(3)
    total: Any = 0.0
    for number in numbers_in(tree):
        if number.values.dtype.kind not in "fc":
            continue
        weights, more = rng.uniform(0.5, 1.5, (2, *number.values.shape))
        part = live(number.live, number.values)
        if number.values.dtype.kind == "c":
            total = total + _sum(_real(part) * weights) + _sum(_imag(part) * more)
        else:
            total = total + _sum(part * weights)
    return total


def _shared(name: str) -> Callable[[Any], Any]:
    """An operator that both faces share, or NumPy's function of the same name for plain arrays."""
    ours, plain = getattr(pb, name), getattr(np, name)
    return lambda x: ours(x) if isinstance(x, pb.Tensor) else plain(x)


_sum, _real, _imag = _shared("sum"), _shared("real"), _shared("imag")


def _ours(idiom: Idiom, program: str, values: list[Any]) -> tuple[Any, list[Any]]:
    """What the program gives inside `func.value_and_grad`, and its gradients."""
    found: list[Any] = []

    def function(*leaves: Any) -> Any:
        args = [
            leaf if program == "on arguments" and x.dtype.kind in "fc" else _inner(name, x, leaf)
            for name, x, leaf in zip(idiom.parameters, values, leaves, strict=False)
        ]
        tree = facts([_after_writes(program, idiom.function, args), args])
        found.append(tree)
        total = _objective(tree, lambda live, values: live if isinstance(live, pb.Tensor) else values)
        return total + sum(_sum(_real(leaf)) * 0.0 for leaf in leaves)

    floats = [x.astype(float) if x.dtype.kind in "iub" else x for x in values] or [np.ones(())]  # one to differentiate
    _, gradients = pb.func.value_and_grad(function, tuple(range(len(floats))))(*floats)
    return found[0], list(gradients)[: len(values)]


def _inner(name: str, sample: Any, leaf: Any) -> Any:
    """An array that was computed from an argument of the transform, with the sample's dtype and layout."""
    if sample.dtype.kind in "iub":
        return leaf.astype(sample.dtype)
    if np.isscalar(sample):
        return leaf * 1.0
    copied = _LAYOUT[name](leaf) if name in _LAYOUT else leaf.copy()
    assert innermost(copied).strides == sample.strides, f"the copy of {name} has another layout"
    return copied


def _slope(idiom: Idiom, program: str, values: list[Any], directions: list[Any], step: float) -> float:
    """The slope of the weighted sum along a direction, by central differences."""
    ends = []
    for sign in (1, -1):
        moved = [_moved(x, sign * step * d) for x, d in zip(values, directions, strict=True)]
        ends.append(_plain(idiom, program, moved)[1])
    return (ends[0] - ends[1]) / (2 * step)


def _moved(x: Any, shift: Any) -> Any:
    if x.dtype.kind not in "fc":
        return x
    if not _is_array(x):
        return x.dtype.type(x + shift)
    moved = _copied(x)
    moved += np.asarray(shift).astype(x.dtype)
    return moved


def _compare_slopes(idiom: Idiom, program: str, values: list[Any], gradients: list[Any], plain: Any) -> None:
    """Raise a Difference unless the gradients give the slope along a random direction that differences give."""
    rng = np.random.default_rng(5)
    directions = [rng.standard_normal(x.shape) + (1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0)
                  for x in values]  # fmt: skip
    single = any(number.values.dtype.char in "fF" for number in numbers_in(plain))
    rtol, atol, step = (2e-2, 2e-2, 2.0**-7) if single else (2e-5, 1e-6, 2.0**-19)
    slope = _slope(idiom, program, values, directions, step)
    parts = [np.vdot(gradient, d).real for gradient, d, x in zip(gradients, directions, values, strict=True)
             if x.dtype.kind in "fc"]  # fmt: skip
    if np.allclose(sum(parts), slope, rtol=rtol, atol=atol * max([1.0, *np.abs(parts)])):
        return
    for n, (name, gradient) in enumerate(zip(idiom.parameters, gradients, strict=True)):
        if values[n].dtype.kind in "fc":
            expected = np.array2string(_gradient(idiom, program, values, n, step), precision=5, threshold=12)
            found = np.array2string(np.asarray(gradient), precision=5, threshold=12)
            if found != expected:
                raise Difference(f"gradient by {name}: {expected} by differences, {found} here")
    raise Difference(f"slope along {directions}: {slope} by differences, {sum(parts)} here")


def _gradient(idiom: Idiom, program: str, values: list[Any], n: int, step: float) -> np.ndarray:
    """The gradient by one argument, element by element."""
    gradient = np.zeros(values[n].shape, values[n].dtype)
    for index, unit in itertools.product(np.ndindex(gradient.shape), (1, 1j) if gradient.dtype.kind == "c" else (1,)):
        directions = [np.zeros(x.shape, x.dtype) for x in values]
        directions[n][index] = unit
        gradient[index] += unit * _slope(idiom, program, values, directions, step)
    return gradient


@dataclasses.dataclass
class Outcome:
    """How an idiom compared: `verdict`, and what was found in which program."""

    verdict: str
    notes: list[str]


def judge(idiom: Idiom) -> Outcome:
    """Run an idiom as its four programs, on both faces."""
    verdicts: list[str] = []
    notes: dict[tuple[str, str], list[str]] = {}
    for program in PROGRAMS:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            verdict, note, plain_fails = _judge(idiom, program)
        verdicts.append(verdict)
        if note:
            notes.setdefault((verdict, note), []).append(program)
        if plain_fails:
            break
    worst = WRONG if WRONG in verdicts else OURS if OURS in verdicts else EQUAL
    told = [f"{verdict}, {', '.join(programs)}: {note}" for (verdict, note), programs in notes.items()]
    return Outcome(worst, told)


def _judge(idiom: Idiom, program: str) -> tuple[str, str, bool]:
    """(verdict, what was found, whether NumPy refuses the idiom itself)."""
    values = [SAMPLES[name] for name in idiom.parameters]
    try:
        plain, total = _plain(idiom, program, values)
        refused = None
    except Exception as error:  # noqa: BLE001 - what NumPy raises is what is compared
        refused = error
    try:
        ours, gradients = _ours(idiom, program, values)
    except Exception as error:  # noqa: BLE001
        return (*_judge_error(refused, error), refused is not None and program == "on copies")
    if refused is not None:
        told = f"{type(refused).__name__} in NumPy ({refused}), no error here: {_told(ours.items[0])}"
        return WRONG, told, program == "on copies"
    try:
        compare(plain, ours)
        if np.isfinite(total):
            _compare_slopes(idiom, program, values, gradients, plain)
    except Difference as difference:
        return WRONG, str(difference), False
    return EQUAL, "", False


REMEDY = re.compile(
    r"\b([Uu]se|[Ww]rite|[Pp]ass|[Tt]ake|[Cc]ollect|[Cc]all|[Ww]rap|[Cc]ompute|[Mm]ake|[Cc]onvert|[Gg]ive|[Cc]ompare|[Rr]ound|[Oo]mit|instead|detach)\b|\.detach\(\)|adopt\(\)"
)


def _public(kind: type[Exception]) -> type[Exception]:
    """The error's type, or that of Python's which NumPy hides behind it (a TypeError behind a UFuncTypeError)."""
    return next(base for base in kind.__mro__ if base.__module__ in {"builtins", "numpy.linalg", "numpy.exceptions"})


def _judge_error(refused: Exception | None, error: Exception) -> tuple[str, str]:
    if refused is not None and isinstance(error, _public(type(refused))):
        return EQUAL, ""
    told = f"{type(error).__name__}: {error}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    package = frame.filename.startswith(PACKAGE)
    own = type(error).__module__.partition(".")[0] == "pullback"
    if refused is not None and not own and not package:
        return WRONG, f"{type(refused).__name__} in NumPy ({refused}); here {told}"
    text = told + " ".join(getattr(error, "__notes__", ()))
    if (own or package) and REMEDY.search(text):
        return OURS, told
    return WRONG, f"{'an error without a remedy' if own or package else 'a foreign error'}: {told}"
