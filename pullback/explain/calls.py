"""Error messages for calls that failed: they name the function and the arguments as the user wrote them.

Arguments are not checked before a call: what cannot be computed fails in a kernel, in NumPy or in Python, with an error
that knows nothing of the function that was called. Every public function hands that error to `explained`, which only
then compares the arguments with what the function declares. A call that succeeds pays nothing.

What a function declares is its signature as a text, "Tensor input, int[1]? dim=None, bool keepdim=False", in the types
of native_functions.yaml, or its whole declaration there.
"""

from __future__ import annotations

import dis
import inspect
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Number
from types import BuiltinFunctionType, FunctionType, ModuleType, TracebackType, WrapperDescriptorType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.exceptions import AxisError

from pullback.core.arguments import unknown_keyword
from pullback.core.errors import (
    DtypeError,
    GradientError,
    InplaceError,
    InternalError,
    LinAlgError,
    OperatorError,
    ReadError,
    UnsupportedError,
    tuple_advice,
    with_article,
)
from pullback.core.tensor import Tensor, ndarray
from pullback.explain.kernel_phrases import Call
from pullback.explain.torch_phrases import out_of_range, torch_phrase


class Declared(NamedTuple):
    """One argument of a signature."""

    name: str
    base: str  # Tensor, int, ...; "" takes anything
    is_list: bool
    size: str  # the 2 of int[2], which takes a plain int for both
    optional: bool
    optional_items: bool
    default: str | None  # as it stands there

    def __str__(self) -> str:
        text = _NAMES.get(self.base, self.base)
        if self.is_list:
            one, many = _SEVERAL.get(self.base, (text, f"{self.base}s"))
            text = f"a tuple or list of {many}" if self.base == "Tensor" else f"{one} or a tuple of {many}"
        return f"{text} or None" if self.optional else text


Given: TypeAlias = Sequence[tuple[Declared, Any]]  # the arguments of a call

_NAMES = {
    "Tensor": "a Tensor, an ndarray or a number",
    "int": "an int",
    "float": "a number",
    "Scalar": "a number",
    "bool": "True or False",
    "str": "a str",
    "ScalarType": "a dtype",
    "Generator": "a numpy.random.Generator",
    "callable": "callable",
    "any": "",
}
_SEVERAL = {
    "Tensor": ("a Tensor", "Tensors"),
    "int": ("an int", "ints"),
    "float": ("a number", "numbers"),
    "bool": ("True or False", "bools"),
}

_ARGUMENT = re.compile(
    r"(?P<base>\w+)(?:\(\w!?\))?(?P<inner>\?)?(?P<list>\[(?P<size>\d*)\])?(?P<outer>\?)? (?P<name>\w+)"
    r"(?:=(?P<default>\[[^\]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"|[^,]*))?(?:, |$)"
)


@cache
def declared(signature: str) -> tuple[Declared, ...]:
    """The arguments of a signature."""
    whole = re.match(r"[\w.]+\((.*)\) -> ", signature)
    if whole:
        signature = whole[1].replace("*, ", "")
    return tuple(
        Declared(
            name="input" if m["name"] == "self" and whole else m["name"],
            base="" if m["base"] == "any" else m["base"],
            is_list=m["list"] is not None,
            size=m["size"] or "",
            optional=bool(m["outer"] or (m["inner"] and not m["list"])),
            optional_items=bool(m["inner"] and m["list"]),
            default=_as_python(m["default"]) if whole else m["default"],
        )
        for m in _ARGUMENT.finditer(signature)
    )


def _as_python(default: str | None) -> str | None:
    """A default of a declaration as Python writes it."""
    if default is None or not default or default[0] not in '"[':
        return default
    return repr(default[1:-1]) if default[0] == '"' else repr(tuple(literal_eval(default)))


# -- which argument does not fit -----------------------------------------------------------------------------------
def _is_array(x: object) -> bool:
    if isinstance(x, (ndarray, np.generic)):
        return x.dtype.kind in "biufc"
    return isinstance(x, Number) or (hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, type))


def _is_number(x: object) -> bool:
    return isinstance(x, Number) or (_is_array(x) and getattr(x, "ndim", 0) == 0)


def _is_whole(x: object) -> bool:
    if isinstance(x, (bool, np.bool_)):
        return False
    if isinstance(x, (Tensor, ndarray)):
        return x.ndim == 0 and x.dtype.kind in "iub"
    return isinstance(x, (int, np.integer)) or (hasattr(x, "__index__") and not isinstance(x, type))


def _is_dtype(x: object) -> bool:
    try:
        return np.dtype(x).kind in "biufc"  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return False


_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": _is_array,
    "int": _is_whole,
    "float": _is_number,
    "Scalar": _is_array,
    "bool": lambda x: isinstance(x, (bool, np.bool_, int)),
    "str": lambda x: isinstance(x, str),
    "ScalarType": _is_dtype,
    "Generator": lambda x: isinstance(x, np.random.Generator),
    "callable": callable,
}


def fits(value: Any, argument: Declared) -> bool:
    """True if the type of a value is one that the argument takes. Generous: what may work is no cause of a failure."""
    if value is None:
        return argument.optional or argument.base in ("", "ScalarType")
    accepts = _FITS.get(argument.base)
    if accepts is None:
        return True
    if not argument.is_list:
        return accepts(value)
    if isinstance(value, (Tensor, ndarray)) and value.ndim and value.dtype.kind != "O":
        return argument.base == "Tensor" or value.dtype.kind in "iub" or argument.base != "int"
    if isinstance(value, (list, tuple, range)) or np.ndim(value):
        return all((x is None and argument.optional_items) or accepts(x) for x in value)
    return argument.base != "Tensor" and accepts(value)


def misfit(given: Given) -> str | None:
    """Describes the first argument whose type is wrong."""
    for argument, value in given:
        if not fits(value, argument):
            return f"argument {argument.name!r} must be {argument}, got {shown(value)}.{_hint(argument, value)}"
    return None


def _number_for_tensor(given: Given, error: Exception) -> str | None:
    """Describes a number given where a tensor is expected, if a kernel failed by asking it for its shape."""
    if isinstance(error, AttributeError):
        for argument, value in given:
            if argument.base == "Tensor" and not argument.is_list and isinstance(value, (int, float, complex)):
                return f"argument {argument.name!r} must be a Tensor or an ndarray, not a number: pass an array."
    return None


def shown(value: object) -> str:
    """A value as an error shows it."""
    if isinstance(value, (Tensor, ndarray)):
        return f"{'a Tensor' if isinstance(value, Tensor) else 'an ndarray'} of shape {value.shape}, {value.dtype}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__}: {described(value)}"
    if value is None or isinstance(value, (Number, str, bytes)):
        return f"{_short(value)}" if value is None else f"{_short(value)} ({with_article(value)})"
    return with_article(value)


def described(value: object, depth: int = 0) -> str:
    """Describes one value for the list of arguments in an error message."""
    if isinstance(value, (list, tuple)):
        if depth > _DEEPEST:
            return "[...]" if isinstance(value, list) else "(...)"
        items = [described(x, depth + 1) for x in value[:8]] + (["..."] if len(value) > 8 else [])
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)}{',' * (len(items) == 1)})"
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, (type, ModuleType)):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        return f"the function {value.__name__}"
    return _short(value)


_DEEPEST = 4  # a list may contain itself


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}...{text[-10:]}"


def _hint(argument: Declared, value: object) -> str:
    """The line to write instead, where there is an obvious one."""
    if argument.base != "Tensor" or argument.is_list:
        return ""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple_advice(value)
    if isinstance(value, (list, tuple)):
        return " Make a tensor of it first: pullback.tensor(...), or pullback.stack(...) if it holds Tensors."
    return " Convert it first: x.astype(float)." if isinstance(value, ndarray) else ""


# -- the error -------------------------------------------------------------------------------------------------------
# What may be about arguments. Other errors (of modes, hooks, saved tensors, warnings made errors) stay as they are.
_BARE = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, NameError, AssertionError, MemoryError,
    BufferError,
)  # fmt: skip
_OURS = frozenset({
    RuntimeError, OperatorError, LinAlgError, UnsupportedError, InplaceError, GradientError,
    DtypeError, NotImplementedError, RecursionError,
})  # fmt: skip
_LIBRARIES = frozenset({"pullback", "numpy", "scipy"}) | sys.stdlib_module_names - {"__main__"}


def explained(name: str, signature: str, args: Sequence[Any], error: Exception, takes_over: bool = False) -> Exception:
    """The error to raise instead of `error`, which a call of the function `name` with these arguments ended in."""
    return _explained(name, list(zip(declared(signature), args, strict=False)), error, takes_over)


def _explained(name: str, given: Given, error: Exception, takes_over: bool = False) -> Exception:
    """The error to raise instead of `error`, which a call of the function `name` with these arguments ended in.

    It is `error` itself where that says all it must, or comes from code of the user's that was called. `takes_over`
    says that such code is a kernel of theirs, whose errors are to be explained too.
    """
    if not isinstance(error, _BARE) and type(error) not in _OURS:
        return error
    if isinstance(error, (FloatingPointError, Warning, ReadError)) or is_of_formula(error):
        return error
    frames = list(_frames(error.__traceback__))
    if any(module.partition(".")[0] not in _LIBRARIES for module, _ in frames) and not (
        takes_over and isinstance(error, (ValueError, TypeError, IndexError))
    ):
        return error
    said = getattr(error, "explained", False)
    if said and str(error).startswith((f"{name}(", f"{name}:")):
        return error
    meant = bool(said or (frames and frames[-1][1])) and not isinstance(error, (RecursionError, AssertionError))
    meant = meant and not str(error).startswith("Boolean value of Tensor")  # where a function expected a flag
    wrong = None
    if not meant or type(error) is TypeError:
        wrong = misfit(given) or (_number_for_tensor(given, error) if not meant else None)
    if wrong is not None:
        return _from(error, wrong, f"{name}(): {wrong}", TypeError)
    plain, kind = getattr(error, "plain", None), type(error)
    if plain is None and not meant and is_ours(name, given, error, frames):
        what = " ".join(filter(None, (type(error).__name__, str(error))))
        return _from(error, what, f"{name}({_listed(given)}): {_REPORT} ({what}).", InternalError)
    if plain is None:
        plain, kind = _plainly(name, error, given, meant)
    if not isinstance(kind.__init__, WrapperDescriptorType) and kind is not AxisError:
        return error  # an error of another library, which is not made of a text
    return _from(error, plain, f"{name}({_listed(given)}): {plain}", kind)


def explained_call(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    error: Exception,
    signature: str = "",
) -> Exception:
    """The same for a function called with `args` and `kwargs`; what `signature` leaves out may be anything."""
    bare = name.rpartition(".")[2]
    frames = list(_frames(error.__traceback__))
    if frames and frames[-1][1] and re.search(rf"(?<![\w'.])(?:{re.escape(name)}\b|{bare}(?:\(|:))", str(error)):
        return error  # of its own making
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
            # It is of the number of arguments or their names, which Python says with the function's name.
            unknown = _UNEXPECTED.search(str(error))
            known = [*inspect.signature(function).parameters]
            return unknown_keyword(name, unknown.groups(), known) if unknown else error
        given = {**{f"argument {i}": x for i, x in enumerate(args, 1)}, **kwargs}
    types = {argument.name: argument for argument in declared(signature)}
    pairs = [(types.get(key, Declared(key, "", False, "", True, False, None)), value) for key, value in given.items()]
    return _explained(name, pairs, error)


def is_ours(name: str, given: Given, error: Exception, frames: Sequence[tuple[str, bool]]) -> bool:
    """True if pullback's code is at fault where the error was raised, and not one of the arguments of `name`."""
    if frames[-1][0].partition(".")[0] != "pullback":
        return False  # NumPy, SciPy or Python looked at the arguments
    if any(isinstance(value, type) and not argument.base for argument, value in given):
        return False  # a class stands for one of its objects
    if isinstance(error, AttributeError):
        return not any(_asked_in_vain(argument, value, error) for argument, value in given)
    if isinstance(error, KeyError):
        keys = [(type(key), key) for key in error.args]
        return not any((type(x), x) in keys for _, value in given for x in _items(value) if isinstance(x, _KEYS))
    if isinstance(error, TypeError):
        keyword = _UNEXPECTED.search(str(error))
        if keyword and any(isinstance(value, Mapping) and keyword[1] in value for _, value in given):
            return False  # the user's own, handed on by way of **others
        called = _CALLED_WRONGLY.match(str(error))
        known = {name.rpartition(".")[2].strip("_"), *(x for _, value in given for x in _names_of_functions(value))}
        return called is not None and called[1] not in known
    return isinstance(error, (NameError, AssertionError))


_KEYS = (str, bytes, int, float, complex, type(None))  # what a table may be asked for
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'$")
_CALLED_WRONGLY = re.compile(r"(?:\S+\.)?(\S+)\(\) (?:missing \d+ required|takes |got an unexpected|got multiple)")


def _names_of_functions(value: Any) -> Iterator[str]:
    """The names under which Python speaks of functions that were given, which may take other arguments."""
    for x in _items(value):
        function = getattr(x, "func", getattr(x, "function", x))  # of a partial, or of what holds the user's
        if callable(function):
            yield getattr(function, "__name__", "__call__")


def _asked_in_vain(argument: Declared, value: Any, error: AttributeError) -> bool:
    """True if it was this argument, or an item of it, that was asked for what only another type has."""
    if argument.base not in ("", "Tensor") or not any(error.obj is x for x in _items(value)):
        return False
    if argument.base:
        return isinstance(error.obj, Number)
    return not isinstance(error.obj, (Tensor, ndarray)) or hasattr(str, str(error.name))  # where a text was expected


def _items(value: Any) -> Sequence[Any]:
    return (value, *value) if isinstance(value, (str, list, tuple, range)) else (value,)


_REPORT = "this is a mistake in pullback, not in your call. Please report it with its traceback"


def _from(error: Exception, plain: str, text: str, kind: type[Exception]) -> Exception:
    """An error of this kind and text; `plain` is what a function that called this one repeats."""
    made = kind(text)
    vars(made).update(explained=True, plain=plain)
    made.__cause__ = error
    return made


IN_FORMULA = "In the formula of "  # begins the note on an error that came out of a formula


def is_of_formula(error: Exception) -> bool:
    """True if it was a formula that failed: no matter of the arguments, which the operator itself took."""
    return any(str(note).startswith(IN_FORMULA) for note in getattr(error, "__notes__", ()))


def raises_itself(step: TracebackType) -> bool:
    """True if it is a `raise` that this step of a traceback stopped at, and no call that failed."""
    return step.tb_frame.f_code.co_code[step.tb_lasti] == _RAISE


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, bool]]:
    """The module of each frame, from that of the handler, and whether a `raise` of pullback's raised it there."""
    module = "pullback"  # the handler, which a third party's generated code has too
    while traceback is not None:
        yield module, module.startswith("pullback") and raises_itself(traceback)
        traceback = traceback.tb_next
        module = "" if traceback is None else traceback.tb_frame.f_globals.get("__name__", "pullback")


_RAISE = dis.opmap["RAISE_VARARGS"]


def _listed(given: Given) -> str:
    """The arguments by name: the tensors, and of the others what is not as by default."""
    return ", ".join(
        f"{argument.name}: {described(value)}"
        for argument, value in given
        if argument.default is None or repr(value) != argument.default
    )


def _plainly(name: str, error: Exception, given: Given, meant: bool) -> tuple[str, type[Exception]]:
    """An error's message in words that need no knowledge of NumPy's internals, and the class to raise."""
    if isinstance(error, AxisError) and error.axis is not None:
        return out_of_range(error.axis, error.ndim or 0), AxisError
    text, kind = str(error), type(error)
    tensors = [x for _, x in given if isinstance(x, (Tensor, ndarray))]
    phrase = torch_phrase(text, Call(name, [tuple(x.shape) for x in tensors], [x.dtype for x in tensors]))
    plain, kind = _in_plain_words(error, text, kind, given, meant)
    plain = re.sub(rf"^(?:\w+\.)*{re.escape(name.rpartition('.')[2])}(?:\(\))?: ", "", plain)
    plain = plain if phrase.removesuffix(": ") in plain else phrase + plain
    # As NumPy raises it, and an IndexError too, as PyTorch does.
    return plain, AxisError if kind is IndexError and plain.startswith(_NO_SUCH_DIMENSION) else kind


def _in_plain_words(
    error: Exception, text: str, kind: type[Exception], given: Given, meant: bool
) -> tuple[str, type[Exception]]:
    """The message and class of `_plainly`, without PyTorch's phrase."""
    if isinstance(error, RecursionError):
        return "the arguments lead to a recursion without end.", OperatorError
    if kind in _OURS and meant and kind is not RuntimeError:
        return text, kind
    if isinstance(error, MemoryError):
        return text or "there is not enough memory for the result.", MemoryError
    if isinstance(error, BufferError):
        return text, BufferError
    if isinstance(error, IndexError):
        return (None if meant else _dimension_too_far(given)) or _translated(text), IndexError
    text = text if meant else _translated(text)
    if not meant and isinstance(error, (AttributeError, KeyError, NameError, AssertionError)):
        return "these arguments do not fit together.", OperatorError
    if kind is OperatorError or not isinstance(error, TypeError):
        return text, OperatorError
    of_dtype = not meant and ("ufunc" in str(error) or "numpy boolean" in str(error))
    return text, DtypeError if of_dtype else TypeError


def _translated(text: str) -> str:
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    return text


_WHERE = r"is needed where \1 was given"
# What NumPy and Python say -> the same for someone who sees nothing but the call.
_SENTENCES = {
    r"(?:\w+: )?Input operand \d has a mismatch in its core dimension \d, with gufunc signature \S+ "
    r"\(size (\d+) is different from (\d+)\)": (
        r"shapes cannot be multiplied: a dimension has size \1 where \2 is needed"
    ),
    r"(?:\w+: )?Input operand (\d) does not have enough dimensions \(has (\d+), gufunc core with signature \S+ "
    r"requires (\d+)\)": r"tensor \1 has \2 dimensions, and at least \3 are needed; give it more (x[None])",
    r"^loop of ufunc does not support argument (\d) of type (\S+) .*$": r"argument \1 is not a number: a \2",
    r"^ufunc '(?:bitwise_\w+|invert|left_shift|right_shift|gcd|lcm)' not supported.*$": (
        "not defined for the dtypes of these arguments. It takes whole numbers and truth values: write x.astype(int), "
        "or x != 0 for truth values"
    ),
    r"^ufunc '\w+' (?:not supported|did not contain a loop).*$": "not defined for the dtypes of these arguments",
    r"^Cannot cast ufunc '\w+' (in|out)put (?:\d )?from (\S+) to (\S+) .*$": r"cannot cast the \1put from \2 to \3",
    r"'([\w.]+)' object cannot be interpreted as an integer": rf"an int {_WHERE}",
    r"cannot unpack non-iterable ([\w.]+) object|'([\w.]+)' object is not iterable": (
        r"a tuple or list is needed where \1\2 was given"
    ),
    r"descriptor '\w+' .* apply to an? '([\w.]+)' object": rf"an array {_WHERE}",
    r"'([\w.]+)' object is not (?:subscriptable|a sequence|reversible)": rf"a tuple or list {_WHERE}",
    r"'([\w.]+)' object is not callable": rf"a function {_WHERE}",
    r"^iteration over a 0-d array$": "a 1-d array is needed where a 0-d one was given",
    r"argument \d must be numpy.ndarray, not <class '([\w.]+)'>": rf"an ndarray {_WHERE}",
    r"object of type '([\w.]+)' has no len\(\)": rf"a tuple or list {_WHERE}",
    r"'\S+' not supported between instances of '([\w.]+)' and '([\w.]+)'": r"\1 and \2 cannot be compared",
    r"unsupported operand type\(s\) for (\S+): '(\S+)' and '(\S+)'": r"\2 and \3 cannot be combined by \1",
    r"an integer is required": "an int is needed, and no bool",
    r"int\(\) argument must be a .* not '([\w.]+)'": rf"an int {_WHERE}",
    r"float\(\) argument must be a .* not '([\w.]+)'": rf"a number {_WHERE}",
    r"bad operand type for .*: '([\w.]+)'": rf"a number {_WHERE}",
    r"must be real number, not ([\w.]+)": rf"a number {_WHERE}",
    r"unhashable type: '([\w.]+)'": r"\1 cannot stand here",
    r"can't multiply sequence by non-int of type '([\w.]+)'": rf"an int {_WHERE}",
    r"Python int(?:eger)? .*too large to convert to C \w+|Maximum allowed dimension exceeded": (
        "a number is too large: it does not fit into 64 bits"
    ),
    r"could not convert string to \w+: (.*)$": rf"a number {_WHERE}",
    r"invalid literal for int\(\) with base 10: (.*)$": rf"an int {_WHERE}",
    r"setting an array element with a sequence\.$": "an array of several elements does not fit in the place of one",
    r"setting an array element with a sequence\. .*$": "a nested list of unequal lengths makes no array",
    r"(?:not enough|too many) values to unpack \(expected (?:at least )?(\d+).*$": (
        r"one of the arguments needs \1 items"
    ),
    r"mismatch in size of old and new data-descriptor": "one of the arguments is not a dtype",
    r"(?:tuple|list) index out of range": "one of the arguments has too few items",
    r"The truth value of an (?:empty )?array .*|Boolean value of Tensor with more than one value is ambiguous.*": (
        "a single value is needed where a Tensor or array of several was given"
    ),
    r"only (?:0-dimensional|length-1|size-1) arrays can be converted to Python scalars": (
        "a single number is needed where an array was given"
    ),
}
_PLAIN = [(re.compile(pattern, re.DOTALL), plain) for pattern, plain in _SENTENCES.items()]


_NO_SUCH_DIMENSION = out_of_range(0, 0).partition(" (")[0]
_DIMENSIONS = frozenset({"dim", "dim0", "dim1", "dim2", "dims", "start_dim", "end_dim", "source", "destination"})


def _dimension_too_far(given: Given) -> str | None:
    """The sentence about the first dimension among the arguments that the first tensor does not have."""
    ndim = next((x.ndim for _, x in given if isinstance(x, (Tensor, ndarray))), None)
    if ndim is None:
        return None
    for argument, value in given:
        if argument.name in _DIMENSIONS:
            for dim in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(dim, int) and not -max(ndim, 1) <= dim < max(ndim, 1):
                    return out_of_range(dim, ndim)
    return None
