"""Rows of generated code -> operators: the functions of one overload, for each kind of caller.

A row names the kernel, the node and the call: a factory of `pullback.ops.generated.calls` that runs the common case,
and, where the parameters are not just the tensors, a function that gives a call its public signature. From these come
the function on Tensors, its in-place and `out=` forms, and the one on raw ndarrays that formulas call.
"""

import functools
from collections import namedtuple

from pullback.core.dispatch import NUMPY, TENSOR, created, dispatch, explain
from pullback.core.inplace_views import become_view
from pullback.core.mutation import assign, inplace, mutate
from pullback.core.operator import Operator
from pullback.core.out import assign_out, write_out


class Overload:
    """One call form of an operator.

    `function` takes Tensors, `raw` ndarrays, `inplace` (or None) writes into its first argument. `operator` is None
    for a composite. The rest says under which names the operator is public.
    """

    __slots__ = (
        "aliases", "full_name", "function", "function_form", "home", "inplace", "internal", "method_form", "name", "numpy",
        "operator", "params", "raw", "refuses", "shown",
    )  # fmt: skip

    def __init__(
        self, name, *, forms="function method", home="", shown=None, aliases="", numpy="", internal=False, refuses=None,
        params=(),
    ):  # fmt: skip
        self.full_name = name
        self.name, self.home, self.shown = name.partition(".")[0], home, shown or name.partition(".")[0]
        self.function_form, self.method_form = "function" in forms, "method" in forms
        self.aliases, self.numpy = aliases.split(), numpy.split()
        self.internal, self.refuses, self.params = internal, refuses, params
        self.function = self.raw = self.inplace = self.operator = None

    def named(self, function, suffix=""):
        """`function` with the name that a user calls it by."""
        function.__module__ = f"pullback.{self.home}" if self.home else "pullback"
        return own(function, f"{self.shown}{suffix}")


def own(function, name):
    """`function` under that name, with code of its own: Python then specialises it for this operator alone."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)  # as tracebacks show it
    return function


def document(overloads, docs):
    """Give the functions their documentation, by the full name of the overload."""
    for overload in overloads:
        overload.function.__doc__ = docs[overload.full_name]
        if overload.inplace is not None:
            overload.inplace.__doc__ = f"In-place form of `{overload.shown}`."


def primitive(
    name, kernel, node=None, call=None, signature=None, *, tensors=((0, "input"),), lists=(), inplace=False,
    kernel_name=None, outputs=None, returns="tensor", view=False, underived=False, takes_dtype=False, pointwise=False,
    arity=0, namespace=None, **facts,
):  # fmt: skip
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
    kernel_name = kernel_name or row.name
    qualified = [name, kernel_name] if namespace is None else [f"{namespace}.{name}", f"{namespace}.{kernel_name}"]
    row.operator = op = Operator(
        *qualified, tensors, lists=lists, node=node, underived=underived, returns_list=returns == "list",
        multi=None if outputs is None else namedtuple(row.name, outputs), returns_value=returns == "value", view=view,
        takes_dtype=takes_dtype, mutates=call is writing, pointwise=pointwise, arity=arity,
    )  # fmt: skip
    run = own((call or in_general)(op, kernel), row.shown)
    row.raw, row.function = kernel, row.named(run if signature is None else signature(run))
    if inplace:
        row.inplace = row.named(_inplace(row, signature), "_")
    return row


def composite(name, raw, signature, *, inplace=False, creates=False, **facts):
    """The overload of a composite: `raw` takes `ops`, the operators to compute with."""
    row = Overload(name, **facts)
    run = own((_creating_composite if creates else _composite)(raw, row.name), row.shown)
    row.raw, row.function = functools.partial(raw, ops=NUMPY), row.named(signature(run))
    if inplace:
        row.inplace = row.named(_assigning(row), "_")
    return row


def _composite(raw, name):
    def run(*args, out=None, **named):
        result = raw(*args, **named, ops=TENSOR)
        return result if out is None else assign_out(out, result, name)

    return run


def _creating_composite(raw, name):
    def run(*args, device, requires_grad, out=None, **named):
        result = raw(*args, **named, ops=TENSOR)
        return created(result, device, requires_grad) if out is None else assign_out(out, result, name)

    return run


# -- calls that are no common case ---------------------------------------------------------------------------
def in_general(op, kernel):
    """Any shape of operator."""

    def run(*args, out=None):
        return dispatch(op, args) if out is None else write_out(op, args, out)

    return run


def creating(op, kernel):
    """Makes a tensor of numbers, or of tensors that only lend shape and dtype."""

    def run(*args, device, requires_grad, out=None):
        if out is not None:
            return write_out(op, args, out)
        if op.tensors:
            return created(dispatch(op, args), device, requires_grad)
        try:
            result = kernel(*args)
        except Exception as error:
            raise explain(op, args, error) from error
        return created(result, device, requires_grad)

    return run


def writing(op, kernel):
    """The kernel itself writes into the first argument."""

    def run(*args):
        return mutate(op, args)

    return run


# -- in place --------------------------------------------------------------------------------------------------
def _inplace(row, signature):
    op, function = row.operator, row.function
    if op.view:

        def becoming(input, *args, **kwargs):
            return become_view(input, row.name, function, *args, **kwargs)

        return becoming

    def run(*args, out=None):
        if out is not None:
            raise TypeError(f"{row.shown}_() writes into its first argument and takes no `out`.")
        return inplace(op, args)

    if signature is not None:
        return signature(own(run, f"{row.shown}_"))
    if len(op.tensors) == 1:

        def alone(input):
            return inplace(op, (input,))

        return alone

    def beside(input, other):
        return inplace(op, (input, other))

    return beside


def _assigning(row):
    function = row.function

    def assigning(input, *args, **kwargs):
        if kwargs.get("out") is not None:
            raise TypeError(f"{row.shown}_() writes into its first argument and takes no `out`.")
        return assign(input, function(input, *args, **kwargs), f"{row.name}_")

    return assigning
