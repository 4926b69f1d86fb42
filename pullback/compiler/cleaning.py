"""The fast form of a program: without the masks that put 0 where nothing has touched a gradient.

A mask matters only where 0 has met an infinite slope, which shows as a NaN. So a program leaves masks out wherever such
a NaN would come through to a result, and the caller looks for one there. Then it runs the careful form, with all masks.
What a NaN would not come through, such as a comparison or a power, keeps the masks before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.arrays.traced.graph import GUARD, Step, Value, added_at
from pullback.dispatch.operator import tags_of

# Kernels that give NaN, at the places in question, for a NaN in any of their arguments, or do not choose it.
_ARITHMETIC = frozenset({
    "advanced_index", "constant_pad_nd", "convolution", "convolution_input", "convolution_weight", "cross",
    "cumsum_backward",
    "fft_c2c", "fft_c2r", "fft_r2c", "gather", "gather_backward", "index_accumulate", "index_select", "masked_select",
    "masked_select_backward", "repeat", "take", "take_backward", "trace", "tril", "triu",
    "add", "add_alpha", "addcmul", "bmm", "conj", "cos", "cosh", "cumsum", "div", "dot", "einsum_pair", "erf", "exp",
    "expm1", "imag", "log", "log1p", "logsumexp", "matmul", "mean", "mm", "mul", "mv", "neg", "outer", "real",
    "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "square", "sub", "sub_alpha", "sum", "tan", "tanh",
    "to_copy",
})  # fmt: skip
# Others, which select, by the arguments in which a NaN comes through or is not chosen.
_SELECTING: dict[Any, tuple[int, ...]] = {"where": (1, 2), added_at: (0, 2)}
# Kernels that raise for some numbers: programs run these whoever wants what they give.
RAISING = frozenset({
    "bernoulli", "bin_edges", "binary_cross_entropy_elements", "bincount", "embedding_rows", "histogram_boxes",
    "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_eigvals", "linalg_eigvalsh", "linalg_inv_ex",
    "linalg_ldl_factor_ex", "linalg_lstsq_matrices", "linalg_lu_factor_ex", "linalg_pinv_matrices",
    "linalg_solve_matrices", "linalg_solve_triangular", "linalg_svd", "linalg_svdvals", "nll_loss", "one_hot",
    "unravel_index",
})  # fmt: skip


def _comes_through(step: Step, place: int) -> bool:
    """True if a NaN in the argument at this place shows in the result, or is not chosen for it."""
    if step.what in _SELECTING:
        return place in _SELECTING[step.what]
    if not isinstance(step.what, str):
        return False
    return step.what in _ARITHMETIC or bool(tags_of(step.what) & {"view", "structural"})


def without_cleaning(steps: Sequence[Step], results: Sequence[Value]) -> tuple[list[Step], list[Value], list[int]]:
    """(steps, results, the numbers of the results in which to look for NaN) of the fast form.

    Where there is nothing to leave out, no result is to be looked at.
    """
    cleaning = {step for step in steps if step.cleans and _kept(step) is not None}
    while True:  # with all left out that may be: a step that must stay brings back its mask, which looks at others
        kept, found, left_out = _without(steps, results, cleaning)
        shows = _shows(kept, found)
        stay = {step for step, value in left_out.items() if not shows.get(value.number, True)}
        if not stay:
            break
        cleaning -= stay
    reached = _reached(kept, {value.number for value in left_out.values()})
    return kept, found, [nr for nr, x in enumerate(found) if x.number in reached]


def _without(
    steps: Sequence[Step], results: Sequence[Value], cleaning: set[Step]
) -> tuple[list[Step], list[Value], dict[Step, Value]]:
    """(steps, results, the value for each step that is left out), where these are left out."""
    instead: dict[int, Value] = {}
    left_out: dict[Step, Value] = {}
    kept: list[Step] = []
    for step in steps:
        args = _through(step.args, instead)
        if step in cleaning:
            instead[step.results[0].number] = left_out[step] = _kept(step.with_args(args))  # type: ignore[assignment]
        else:
            kept.append(step if args == step.args else step.with_args(args))
    found = [instead.get(x.number, x) for x in results]
    return needed(kept, found), found, left_out


def needed(steps: Sequence[Step], wanted: Iterable[Value]) -> list[Step]:
    """The steps that the wanted values, the guards, and what is kept are computed by; and those that may raise."""
    alive, kept = {x.number for x in wanted}, []
    for step in reversed(steps):
        stays = step.form is GUARD or step.kept or step.what in RAISING
        if stays or not alive.isdisjoint(x.number for x in step.results):
            alive.update(x.number for x in step.values())
            kept.append(step)
    return kept[::-1]


def _kept(step: Step) -> Value | None:
    """The derivative that a step cleans, if it can stand for what comes out."""
    result = step.results[0]
    found = [x for x in step.args[1:] if type(x) is Value and x.shape == result.shape and x.dtype == result.dtype]
    return found[0] if len(found) == 1 else None


def _through(x: Any, instead: dict[int, Value]) -> Any:
    if type(x) is Value:
        return instead.get(x.number, x)
    return type(x)(_through(y, instead) for y in x) if type(x) in (list, tuple) else x


def _shows(steps: Sequence[Step], results: Iterable[Value]) -> dict[int, bool]:
    """Of each value: True if a NaN in it comes through to every result that depends on it."""
    shows = {x.number: x.dtype.kind in "fc" for x in results}
    for step in reversed(steps):
        comes_out = all(shows.get(x.number, True) and x.dtype.kind in "fc" for x in step.results)
        for place, x in enumerate(step.args):
            through = comes_out and step.form is not GUARD and _comes_through(step, place)
            for value in _values(x):
                shows[value.number] = shows.get(value.number, True) and through
    return shows


def _reached(steps: Sequence[Step], begun: Iterable[int]) -> set[int]:
    found = set(begun)
    for step in steps:
        if not found.isdisjoint(x.number for x in step.values()):
            found.update(x.number for x in step.results)
    return found


def _values(x: Any) -> list[Value]:
    if type(x) is Value:
        return [x]
    return [value for y in x for value in _values(y)] if type(x) in (list, tuple) else []
