"""Rows of generated code -> operators: the functions of one overload, for each kind of caller.

A row names the kernel, the node and the call: a factory of `pullback.ops.generated.calls` that runs the common case,
and, where the parameters are not just the tensors, a function that gives a call its public signature. From these come
the function on Tensors, its in-place and `out=` forms, and the one on raw ndarrays that formulas call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from numpy import may_share_memory, ndarray

from pullback.core.arguments import UNSET
from pullback.core.array_type import NUMPY, TENSOR
from pullback.core.cuts import WATCHED
from pullback.core.drawing import drawing, drawn
from pullback.core.errors import with_article
from pullback.core.overrides import ENTERED, KNOWN, LISTS, ask, mode_in_force, taking_part
from pullback.core.tensor import Tensor, note_copied
from pullback.dispatch.call_errors import explain, explained, results_class
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import dispatch, inplace, write_out
from pullback.dispatch.results import assign, assign_out, created
from pullback.graph.inplace_views import become_view
from pullback.graph.node import Node


class Overload:
    """One call form of an operator.

    `function` takes Tensors, `raw` ndarrays, `inplace` (or None) writes into its first argument. `operator` is None
    for a composite. `run` is `function` with every argument by position. The rest says under which names the operator
    is public.
    """

    __slots__ = (
        "aliases", "called", "full_name", "function", "function_form", "home", "inplace", "internal", "method_form",
        "name", "numpy", "operator", "params", "public", "public_in_place", "raw", "refuses", "run", "schema", "shown",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        forms: str = "function method",
        home: str = "",
        shown: str | None = None,
        aliases: str = "",
        numpy: str = "",
        internal: bool = False,
        refuses: Any = None,
        params: Sequence[Any] = (),
    ) -> None:
        self.full_name = name
        self.name, self.home, self.shown = name.partition(".")[0], home, shown or name.partition(".")[0]
        self.function_form, self.method_form = "function" in forms, "method" in forms
        self.aliases, self.numpy = aliases.split(), numpy.split()
        self.internal, self.refuses, self.params = internal, refuses, params
        self.called = self.shown  # as a user writes it, after `pullback.`
        if not (self.function_form or internal):
            self.called = f"Tensor.{self.shown}"
        elif home:
            self.called = f"{home}.{self.shown}"
        self.schema = ""  # its declaration, for what says which argument does not fit: see explain.calls
        self.function: Any = None
        self.raw: Any = None
        self.inplace: Any = None
        self.operator: Operator | None = None
        self.run: Any = None
        self.public: Any = None  # what a user calls, all overloads in one
        self.public_in_place: Any = None

    def declare(self, schema: str) -> None:
        """Note the declaration, where errors find it."""
        self.schema = schema
        if self.operator is not None:
            self.operator.signature = schema

    def asked(self, args: Sequence[Any], named: dict[str, Any] | None = None, *, in_place: bool = False) -> Any:
        """The answer of modes, or of operands whose classes take part, to a call with these arguments.

        `args` are all of the declaration, as the operator gets them: those left at their defaults are dropped.
        """
        in_place = in_place and self.inplace is not None  # else the function itself writes
        function, public = (self.inplace, self.public_in_place) if in_place else (self.function, self.public)
        return ask(public, *as_called(function, args, named or {}))

    def named(self, function: Callable[..., Any], suffix: str = "") -> Callable[..., Any]:
        """`function` with the name that a user calls it by."""
        function.__module__ = "pullback"
        return own(function, f"{self.called}{suffix}")


_PLAIN = frozenset({str, int, float, bool, tuple})
_OPTIONS = ("out", "device", "requires_grad")  # of every function that makes something


def as_called(
    function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) of a public call with all arguments of an operator: those left at their defaults are dropped."""
    parameters = inspect.signature(function).parameters
    of_user = (p for p in parameters.values() if p.name not in _OPTIONS)
    # NumPy's spellings are alone in being for keywords and unset
    mine = [p for p in of_user if not (p.kind is p.KEYWORD_ONLY and p.default is UNSET)]
    given: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p, x in zip(mine, args, strict=False):
        if p.kind is p.VAR_POSITIONAL:
            given += x if isinstance(x, (list, tuple)) else [x]
        elif p.kind is p.KEYWORD_ONLY:
            kwargs[p.name] = x
        else:
            given.append(x)
    while given and len(given) <= len(mine) and _left_out(given[-1], mine[len(given) - 1]):
        given.pop()
    kwargs |= named
    kwargs = {k: x for k, x in kwargs.items() if not (_left_out(x, parameters[k]) if k in parameters else x is None)}
    return tuple(given), kwargs


def _left_out(x: object, parameter: inspect.Parameter) -> bool:
    default = parameter.default
    return x is default or (type(x) is type(default) and type(x) in _PLAIN and x == default)


def own(function: Callable[..., Any], called: str) -> Callable[..., Any]:
    """`function` under that name, with code of its own: Python then specialises it for this operator alone."""
    name = called.rpartition(".")[2]
    function.__name__, function.__qualname__ = name, called
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=called)  # as tracebacks show it
    return function


def runner(function: Callable[..., Any], called: str) -> Callable[..., Any]:
    """The same for what a signature calls: errors about arguments take the name of `function`."""
    own(function, called).__name__ = called
    return function


def document(overloads: Iterable[Overload], docs: Mapping[str, str]) -> None:
    """Give a third party's functions their documentation, which ends with the declaration, by the overload's name."""
    for overload in overloads:
        doc = overload.function.__doc__ = docs[overload.full_name]
        overload.declare(doc.rstrip().rpartition("\n")[2])
        if overload.inplace is not None:
            overload.inplace.__doc__ = f"In-place form of `{overload.shown}`."


def primitives_with(**shared: Any) -> Callable[..., Any]:
    """`primitive` with the keyword arguments that all rows of a module share."""
    return functools.partial(primitive, **shared)


def primitive(
    name: str,
    kernel: Callable[..., Any],
    node: type[Node] | None = None,
    call: Callable[..., Any] | None = None,
    signature: Callable[..., Any] | None = None,
    *,
    tensors: Sequence[tuple[int, str]] = ((0, "input"),),
    lists: Sequence[Any] = (),
    inplace: bool = False,
    kernel_name: str | None = None,
    outputs: Sequence[str] | None = None,
    returns: str = "tensor",
    view: bool = False,
    underived: bool = False,
    takes_dtype: bool = False,
    tags: str = "",
    along: Any = None,
    optional: str = "",
    arity: Any = 0,
    namespace: str | None = None,
    **facts: Any,
) -> Overload:
    """The overload of a primitive.

    Parameters
    ----------
    name : str
        With its overload: 'max.dim'.
    kernel : function on ndarrays
    node : subclass of Node, optional
    call : factory (operator, kernel) -> function; default `in_general`
    signature : function (run) -> public function that calls run(...) with all arguments, optional
    outputs : names of several results
    returns : "tensor", "list" or "value"
    facts : what `Overload` takes
    """
    row = Overload(name, **facts)
    if namespace is not None and not view and call is not writing:
        if returns == "tensor":
            flags = () if node is None or takes_dtype else getattr(node, "differentiable_outputs", (True,))
            kernel = of_arrays(kernel, f"{namespace}.{name}", outputs, flags)
        kernel = in_own_memory(kernel)
    kernel_name = kernel_name or row.name
    prefix = "" if namespace is None else f"{namespace}."
    shown = ".".join(filter(None, (namespace, row.home, row.shown)))
    op = row.operator = Operator(
        f"{prefix}{name}", f"{prefix}{kernel_name}", tensors, shown=shown, lists=lists, node=node,
        underived=underived, takes_dtype=takes_dtype,
        multi=None if outputs is None else results_class(row.name, outputs), returns_list=returns == "list",
        returns_value=returns == "value", view=view, mutates=call is writing, tags=tags.split(), along=along,
        arity=arity, optional=optional.split(),
    )  # fmt: skip
    op.factory, op.kernel_on_ndarrays, op.row = call, kernel, row
    run = (call or in_general)(op, kernel)
    if "buffer" in op.tags:
        run = _noted(run)
    if "random" in op.tags and tensors and call is not writing:
        run = _for_each(op, run)
    run = runner(run, row.called)
    row.raw, row.run = kernel, run
    row.function = row.named(run if signature is None else signature(run))
    if inplace:
        row.inplace = row.named(_inplace(row, signature), "_")
    return row


def _noted(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` of what makes copies to write into: noted is inside which transforms it did."""

    def noted(*args: object) -> object:
        out = run(*args)
        return note_copied(out) if WATCHED and isinstance(out, Tensor) else out

    return noted


def _for_each(op: Operator, run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` of what draws for arrays; for those that all samples of a vmap share it may have to draw for each."""

    def for_each(*args: object, **options: object) -> object:
        state = drawing.get()
        return run(*(args if state is None else state.each(op, args)), **options)

    return for_each


def in_own_memory(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A third party's kernel that does not return its argument or a view of it, or one memory in two results.

    A tensor around such a result would have a version of its own: a later write into it would change the argument, and
    what nodes have saved, without a word.
    """

    @functools.wraps(kernel)
    def copying(*args: object) -> object:
        result = kernel(*args)
        if not isinstance(result, (tuple, list)):
            return _apart(result, args)
        return [_apart(x, (*args, *result[:nr])) for nr, x in enumerate(result)]

    return copying


def of_arrays(
    kernel: Callable[..., Any], name: str, outputs: Sequence[str] | None, flags: Iterable[object]
) -> Callable[..., Any]:
    """A third party's kernel whose results are arrays, as many as declared; of floats where `flags` say so."""

    @functools.wraps(kernel)
    def checked(*args: Any) -> object:
        result = kernel(*args)
        if outputs is None and hasattr(result, "dtype") and result.dtype.kind in "fc":
            return result  # the usual one
        if outputs is not None and (not isinstance(result, (tuple, list)) or len(result) != len(outputs)):
            found = f"{len(result)} results" if isinstance(result, (tuple, list)) else with_article(result)
            raise _wrong_result(kernel, name, f"{found} where {len(outputs)} arrays are declared")
        x: Any
        for x, flag in zip_longest(result if outputs is not None else (result,), flags, fillvalue=False):
            kind = x.dtype.kind if hasattr(x, "dtype") else "" if isinstance(x, _NUMBERS) else "O"
            if kind in _NO_NUMBERS:
                found = "None" if x is None else with_article(x)
                raise _wrong_result(kernel, name, f"{found} where an array is declared")
            if flag and kind in _WHOLE and any(type(a) is ndarray and a.dtype.kind in "fc" for a in args):
                raise _wrong_result(
                    kernel, name, f"whole numbers ({x.dtype}) for floating-point arguments, but is differentiable"
                )
        return result

    return checked


_NUMBERS, _WHOLE, _NO_NUMBERS = (int, float, complex), ("b", "i", "u"), ("O", "U", "S", "V")


def _wrong_result(kernel: Callable[..., Any], name: str, what: str) -> TypeError:
    where = f"{kernel.__module__}.{kernel.__qualname__}" if hasattr(kernel, "__qualname__") else kernel.__name__
    return TypeError(f"{name}: its kernel {where} returned {what}. Correct the kernel, or the declaration.")


def _apart(result: object, args: Sequence[Any]) -> object:
    if type(result) is not ndarray:
        return result
    given = [x for arg in args for x in (arg if isinstance(arg, (tuple, list)) else (arg,)) if type(x) is ndarray]
    if result.base is None and all(x is not result and x.base is not result for x in given):
        return result  # of memory of its own
    return result.copy() if any(may_share_memory(result, x) for x in given) else result


def composite(
    name: str,
    raw: Callable[..., Any],
    signature: Callable[..., Any],
    *,
    inplace: bool = False,
    creates: bool = False,
    view: bool = False,
    outputs: Sequence[str] | None = None,
    **facts: Any,
) -> Overload:
    """The overload of a composite: `raw` takes `ops`, the operators to compute with; `outputs` are several results."""
    row = Overload(name, **facts)
    raw = raw if outputs is None else _naming(raw, results_class(row.name, outputs))
    run = runner((_creating_composite if creates else _composite)(raw, row), row.called)
    row.raw, row.function = functools.partial(raw, ops=NUMPY), row.named(signature(run))
    if inplace:
        row.inplace = row.named(_becoming(row) if view else _assigning(row), "_")
    return row


def _others_among(args: Sequence[Any]) -> bool:
    """True if classes take part that are no Tensors."""
    for x in args:
        if type(x) not in KNOWN:
            return bool(taking_part(args))
    return False


def _naming(raw: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """A composite that gives its results their names."""

    def named(*args: object, **options: object) -> object:
        results = raw(*args, **options)
        if not isinstance(results, (tuple, list)) or len(results) != len(kind._fields):
            found = f"{len(results)} results" if isinstance(results, (tuple, list)) else with_article(results)
            raise TypeError(f"{kind.__name__}: the composite returned {found}, declared are {', '.join(kind._fields)}.")
        return kind(*results)

    return named


def _composite(raw: Callable[..., Any], row: Overload) -> Callable[..., Any]:
    def run(*args: Any, out: Any = None, **named: Any) -> Any:
        for x in args:  # the methods of other classes are not computed with, unasked
            kind = type(x)
            if kind not in KNOWN and not (kind in LISTS and KNOWN.issuperset(map(type, x))) and taking_part(args):
                return row.asked(args, {**named, "out": out})
        if ENTERED and mode_in_force():
            return row.asked(args, {**named, "out": out})
        try:
            result = raw(*args, **named, ops=TENSOR)
            return result if out is None else assign_out(out, result, row.called)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained(row.called, row.schema, (*args, *named.values()), error)  # noqa: B904

    return run


def _creating_composite(raw: Callable[..., Any], row: Overload) -> Callable[..., Any]:
    def run(*args: Any, device: Any, requires_grad: bool, out: Any = None, **named: Any) -> Any:
        if (ENTERED and mode_in_force()) or _others_among(args):
            return row.asked(args, {**named, "device": device, "requires_grad": requires_grad, "out": out})
        try:
            result = raw(*args, **named, ops=TENSOR)
            return created(result, device, requires_grad) if out is None else assign_out(out, result, row.called)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained(row.called, row.schema, (*args, *named.values()), error)  # noqa: B904

    return run


# -- calls that are no common case ---------------------------------------------------------------------------
def in_general(op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Any shape of operator."""

    def run(*args: Any, out: Any = None) -> Any:
        return dispatch(op, args) if out is None else write_out(op, args, out)

    return run


def creating(op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a tensor of numbers, or of tensors that only lend shape and dtype."""
    draws, tensors = "random" in op.tags and not op.tensors, op.tensors

    def run(*args: Any, device: Any, requires_grad: bool, out: Any = None) -> Any:
        if out is not None:
            return write_out(op, args, out)
        if (ENTERED and mode_in_force()) or (tensors and _others_among(args[:1])):
            return op.row.asked(args, {"device": device, "requires_grad": requires_grad})
        try:
            result = dispatch(op, args) if tensors else drawn(op, kernel, args) if draws else kernel(*args)
            return created(result, device, requires_grad)
        except Exception as error:  # noqa: BLE001 - as above
            raise explain(op, args, error)  # noqa: B904

    return run


def writing(op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel itself writes into the first argument."""

    def run(*args: Any) -> Any:
        return inplace(op, args)

    return run


# -- in place --------------------------------------------------------------------------------------------------
def _inplace(row: Overload, signature: Callable[..., Callable[..., Any]] | None) -> Callable[..., Any]:
    op = row.operator
    assert op is not None  # a primitive
    if op.view:
        return _becoming(row)

    def run(*args: Any, out: Any = None) -> Any:
        if out is not None:
            _refuse_out(row)
        return inplace(op, args)

    if signature is not None:
        return signature(runner(run, f"{row.called}_"))
    if len(op.tensors) == 1:

        def alone(input: Tensor) -> object:
            return inplace(op, (input,))

        return alone

    def beside(input: Tensor, other: object, *, out: Any = None) -> object:
        if out is not None:
            _refuse_out(row)
        return inplace(op, (input, other))

    return beside


def _becoming(row: Overload) -> Callable[..., Any]:
    function = row.function

    def becoming(input: Tensor, *args: object, **kwargs: object) -> object:
        try:
            return become_view(input, row.called, function, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - as above
            raise explained(f"{row.called}_", row.schema, (input, *args, *kwargs.values()), error)  # noqa: B904

    return becoming


def _assigning(row: Overload) -> Callable[..., Any]:
    function = row.function

    def assigning(input: Tensor, *args: object, **kwargs: object) -> object:
        if kwargs.get("out") is not None:
            _refuse_out(row)
        try:
            return assign(input, function(input, *args, **kwargs), f"{row.called}_")
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained(f"{row.called}_", row.schema, (input, *args, *kwargs.values()), error)  # noqa: B904

    return assigning


def _refuse_out(row: Overload) -> None:
    raise TypeError(f"{row.called}_() got an unexpected keyword argument 'out': it writes into its first argument.")
