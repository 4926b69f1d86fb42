"""Floor 5: function transforms. Plain functions in, functions that compute derivatives out."""

from importlib import import_module as _import_module

from pullback.func.gradient import grad, value_and_grad

__all__ = ["grad", "jvp", "value_and_grad"]


def __getattr__(name):
    if name == "jvp":  # arrays with tangents come with it, so only when it is wanted
        return _import_module(f"{__name__}.forward").jvp
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
