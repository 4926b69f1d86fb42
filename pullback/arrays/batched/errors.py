"""Errors for what cannot be done for all elements of a batch at once, by name of operator."""

from __future__ import annotations

from pullback.arrays.batched.array import Batch
from pullback.core.errors import GradientError, InplaceError, UnsupportedError
from pullback.core.users_function import place_of


class EndedBatchError(GradientError, page=None):
    """A batched value was used after the call of vmap to which it belongs."""


def ended(batch: Batch, name: str) -> EndedBatchError:
    """The error for a value of a batch that is over."""
    return EndedBatchError(
        f"{name}: an argument is a batched value of {batch.called}, which has returned: it leaked out of the function"
        f"{place_of(batch.code)} (into a global variable, a list or an attribute). Return it from the function instead."
    )


def no_rule(name: str) -> UnsupportedError:
    """The error for an operator without a rule for batches."""
    return UnsupportedError(
        f"vmap: {name} has no batching rule. Call it on each element in a loop, or put the computation into a "
        "pullback.autograd.Function with a vmap of its own."
    )


def unknown_shape(name: str, instead: str) -> UnsupportedError:
    """The error for an operator whose result has a shape that depends on values, which differ between elements."""
    return UnsupportedError(
        f"vmap: the shape of what {name} gives depends on the values, and may differ from element to element of the "
        f"batch. {instead}"
    )


def not_of_the_sample(name: str, inside: range) -> UnsupportedError:
    """The error for strides that would show what lies beside a sample in memory, be it the elements of others."""
    where = f"only the elements {inside.start} to {inside.stop - 1}" if inside else "no row of elements"
    return UnsupportedError(
        f"vmap: {name} can access memory outside of `tensor`: it would show memory that is not this sample's: {where} "
        "of the memory belong to it alone. With in_dims other than 0 the elements of other samples lie between, and a "
        "part of an array has others around it. "
        f'Give it a copy: {name}(x.clone(memory_format="contiguous_format"), ...).'
    )


def not_batched_target(name: str) -> InplaceError:
    """The error for an in-place operator that would write different values into one place."""
    return InplaceError(
        f"vmap: inplace arithmetic({name}) is not possible because there exists a Tensor among the arguments that has "
        f"more elements than the target: {name} would write a value for each element of the batch into an array that "
        "is the same for all. Use the out-of-place form; or make the array inside the function from a batched one "
        "(x.new_zeros(shape), np.zeros_like(x), y = y + 0 * x)."
    )


def no_randomness(batch: Batch) -> GradientError:
    """The error for random numbers where nobody has said whether they differ."""
    if not batch.called.startswith("vmap"):  # what runs on a batch by itself has no such argument
        return GradientError(
            f"vmap: We do not yet support calling random operations inside of vmap: {batch.called} computes several "
            "samples at once, and nobody has said whether each draws numbers of its own. Draw them outside, or say so "
            'where the function has the option: func.jacfwd(f, randomness="same").'
        )
    return GradientError(
        f"{batch.called}: called random operation while in randomness error mode. Say whether each sample draws "
        'numbers of its own or all have the same: vmap(f, randomness="different") or "same".'
    )


def undrawn(batch: Batch) -> GradientError:
    """The error for numbers that would be the same for all elements though each is to have its own."""
    return GradientError(
        f'{batch.called}: with randomness="different" each sample draws numbers of its own, but this operator draws '
        "for arguments that are the same for all. Make one of them batched (p + 0 * x), draw by rand or randn, or take "
        'randomness="same".'
    )


def one_answer(name: str, instead: str) -> UnsupportedError:
    """The error for an operator that gives one truth value, which may differ between elements."""
    return UnsupportedError(f"vmap: {name} give one bool, but each element of the batch has its own. Write {instead}.")
