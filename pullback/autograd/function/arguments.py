"""Binds the arguments of `Function.apply` to the parameters of `forward`: keywords in position, defaults filled in."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class _Known(NamedTuple):
    """A cached signature of a `forward`: reading a signature takes as long as a small operator."""

    forward: Any
    signature: inspect.Signature
    places: int  # for arguments by position


def in_order(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], takes_ctx: bool) -> tuple[Any, ...]:
    """The arguments after ctx by position.

    A `forward` without ctx gets its defaults too, so that `setup_context` and `backward` meet one argument for each
    parameter. One with ctx gets those that stand between arguments given by keyword.
    """
    known = _known(function)
    if not kwargs and (takes_ctx or len(args) >= known.places):
        return args
    ctx = (None,) if takes_ctx else ()
    try:
        bound = known.signature.bind(*ctx, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}.apply: {error}; its forward is forward{known.signature}.") from None
    by_keyword = [name for name in bound.kwargs if not _may_be_positional(known.signature, name)]
    if by_keyword:
        raise TypeError(
            f"{function.__name__}.apply: forward takes {by_keyword[0]!r} by keyword only, but apply passes arguments "
            f"by position; its forward is forward{known.signature}. Make {by_keyword[0]!r} an ordinary argument."
        )
    if bound.kwargs or not takes_ctx:
        bound.apply_defaults()
    return bound.args[len(ctx) :]


def explain_missing_ctx(function: Any, args: tuple[Any, ...]) -> None:
    """Raise an error that helps, if a forward was called with a ctx that it does not take."""
    signature = _known(function).signature
    try:
        signature.bind(*args)
    except TypeError:
        return
    try:
        signature.bind(None, *args)
    except TypeError:
        name = function.__name__
        if next(iter(signature.parameters)) == "ctx":  # it is an argument that is too many
            raise TypeError(
                f"{name}.apply: its forward is forward{signature}, and {len(args)} arguments besides ctx were given."
            ) from None
        raise TypeError(
            f"{name}.apply: forward{signature} takes no ctx, and {name} has no setup_context, so nothing can be "
            f"saved for backward. Write forward(ctx, {str(signature)[1:]}, or define "
            "setup_context(ctx, inputs, output)."
        ) from None


def explain_missing_attribute(ctx: Any, error: AttributeError) -> None:
    """Let the error say what to write, if it is about something that forward has not put on its ctx.

    A `__getattr__` of ctx would say it too, but slows down each of its attributes.
    """
    from difflib import get_close_matches  # imported when the first one is missing

    name, asked = error.name, error.obj is ctx
    if not asked or not name:
        return
    users = [x for x in list(vars(ctx))[ctx._own - 1 :] if not x.startswith("_")]
    known = [*users, *(x for x in dir(type(ctx)) if not x.startswith("_")), "needs_input_grad"]
    said = f"{type(ctx).__name__}: ctx has no attribute {name!r}"
    if near := get_close_matches(name, known, 1, 0.75):
        error.args = (f"{said}; did you mean {near[0]!r}?",)
        return
    advice = (
        f"forward has kept {', '.join(users) or 'none'} on it. Write ctx.{name} = ... in forward, or in setup_context; "
        "a Tensor goes into ctx.save_for_backward(...), and backward finds it in ctx.saved_tensors."
    )
    error.args = (f"{said}; {advice}",)


def _known(function: Any) -> _Known:
    forward = function.forward
    known: _Known | None = function.__dict__.get("_known_forward")
    if known is None or known.forward != forward:
        signature = inspect.signature(forward)
        places = sum(parameter.kind in _POSITIONAL for parameter in signature.parameters.values())
        known = function._known_forward = _Known(forward, signature, places)
    return known


def _may_be_positional(signature: inspect.Signature, name: str) -> bool:
    parameter = signature.parameters.get(name)
    return parameter is not None and parameter.kind in _POSITIONAL
