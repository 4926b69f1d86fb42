"""Common mistakes, recognised from the two Jacobians of one input: each function returns a Diagnosis or None.

`bad` holds the failing blocks of one input; `matches(a, n)` says whether all of a is close to n.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.autograd.gradcheck.compare import Block
from pullback.autograd.gradcheck.error import Diagnosis
from pullback.autograd.gradcheck.factors import common_factor, name_factor

__all__ = ["PATTERNS"]

Matches = Callable[[np.ndarray, np.ndarray], bool]


def not_finite(bad: list[Block], _: Matches) -> Diagnosis | None:
    """nan or inf in the backward where the function is smooth."""
    wrong = sum(int((~np.isfinite(b.analytical) & np.isfinite(b.numerical)).sum()) for b in bad)
    if not wrong:
        return None
    return Diagnosis(
        "not_finite",
        f"{wrong} entries of the gradient are nan or infinite where the differences are finite.",
        "Look for 0/0, 0*inf or an overflowing intermediate in the backward, also in the branch that a where() does not"
        " take: choose the argument before the division, not the result after it.",
    )


def missing_gradient(bad: list[Block], _: Matches) -> Diagnosis | None:
    """Zero or no gradient where the function does depend on the input."""
    if any(b.analytical.any() for b in bad):
        return None
    if all(b.missing for b in bad):
        return Diagnosis(
            "missing_gradient",
            "the input gets no gradient at all, yet the output depends on it.",
            "Look for detach(), .data, .numpy(), no_grad() or a new tensor made from values on the way, or a backward"
            " that returns None for this input.",
        )
    return Diagnosis(
        "missing_gradient",
        "the gradient is zero everywhere, yet the output depends on the input.",
        "Look for a part of the backward that is not written yet, or zeros that are never filled.",
    )


def piecewise_constant(bad: list[Block], _: Matches) -> Diagnosis | None:
    """A gradient of a function that does not change under small steps."""
    if any(b.numerical.any() for b in bad):
        return None
    return Diagnosis(
        "piecewise_constant",
        "the output does not change at all when the input moves a little, but the gradient is not zero.",
        "Look for floor, round, a comparison or a cast to integers in the forward. If the gradient is meant to pass"
        " straight through, gradcheck cannot confirm it.",
    )


def integer_truncation(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """The right gradient, cut to integers."""
    for how in (np.trunc, np.rint, np.floor):
        cut = [_by_parts(how, b.numerical) for b in bad]
        numbers = np.unique(np.concatenate([c[c != 0] for c in cut]))
        if not len(numbers) or (np.abs(numbers) == 1).all():
            continue  # ones have other reasons: a derivative that is not there
        if all(matches(b.analytical, c) for b, c in zip(bad, cut, strict=True)):
            return Diagnosis(
                "integer_truncation",
                "the gradient is the right one cut to whole numbers.",
                "Look for an integer buffer (zeros(..., dtype=int), empty_like of an integer tensor), // or int().",
            )
    return None


def sign(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """Minus the right gradient."""
    if not all(matches(-b.analytical, b.numerical) for b in bad):
        return None
    return Diagnosis("sign", "the gradient is minus the right one.", "Change the sign in the backward.")


def constant_factor(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """The right gradient times one number."""
    a, n = _all(bad, "analytical"), _all(bad, "numerical")
    k = common_factor(a, n)
    if k is None or abs(k) < 1e-3 or not matches(a / k, n):
        return None
    name, size, known = name_factor(k, bad)
    if all(_is_pointwise(b) for b in bad):
        size = ""  # each number goes its own way: that there are as many is chance
    if not known and np.count_nonzero(n) < 3:
        return None  # one or two numbers always have some ratio
    return Diagnosis(
        "constant_factor",
        f"the gradient is {name} times the right one" + (f" ({size})." if size else "."),
        _factor_advice(size, k),
    )


def factor_on_some(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """The right gradient at most entries, and one constant times it at the others."""
    wrong = [~np.isclose(b.analytical, b.numerical, rtol=1e-3, atol=1e-5) for b in bad]
    a = np.concatenate([b.analytical[w] for b, w in zip(bad, wrong, strict=True)])
    n = np.concatenate([b.numerical[w] for b, w in zip(bad, wrong, strict=True)])
    k = common_factor(a, n) if a.size > 1 else None
    if k is None or abs(k) < 1e-3 or not matches(a / k, n):
        return None
    name, size, known = name_factor(k, bad)
    if not known and a.size < 3:
        return None
    return Diagnosis(
        "constant_factor",
        f"{a.size} entries are {name} times the right ones{f' ({size})' if size else ''}; all others are right.",
        "See which elements of the input these are (a diagonal, a border, an index that comes twice).",
    )


def missing_conjugate(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """The right gradient but for a conj() in the formula, on grad, or on the result."""
    if not any(b.is_complex for b in bad):
        return None
    shapes = (
        ("the derivative is not conjugated", "Write grad * conj(derivative), the conjugate Wirtinger derivative.", 1),
        ("the incoming gradient is conjugated", "Use grad itself, and conj() of the derivative.", 2),
        ("the gradient is the conjugate of the right one", "Conjugate the derivative only, not the whole product.", 3),
    )
    for text, advice, form in shapes:
        if all(matches(b.analytical, _conjugated(b, form)) for b in bad):
            return Diagnosis("missing_conjugate", f"a conjugate is missing or misplaced: {text}.", advice)
    return None


def transposed(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """The transposed Jacobian, or a gradient that was transposed or reshaped without being transposed back."""
    if all(b.analytical.shape == b.numerical.T.shape and matches(b.analytical, b.numerical.T) for b in bad):
        return Diagnosis(
            "transposed",
            "the Jacobian is the transpose of the right one.",
            "The backward multiplies by J where it must multiply by J^T: transpose (and conjugate) the matrix in it.",
        )
    for axis, name in ((0, "input"), (1, "output")):
        if all(any(matches(b.analytical, t) for t in _swapped_axes(b, axis)) for b in bad):
            what = "the gradient" if axis == 0 else "the incoming gradient"
            return Diagnosis(
                "transposed",
                f"the numbers are right but in the order of the transposed {name}: {what} has two dimensions swapped.",
                f"Transpose {what} back (reshape alone does not); check the order of dimensions of the {name}.",
            )
    return None


def product_order(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """The factors of a matrix product in the wrong order: G B^T has become B^T G, or B G."""
    for b in bad:
        if b.is_complex or len(b.in_shape) != 2 or len(b.out_shape) != 2:
            return None
        n = b.numerical.reshape(*b.in_shape, *b.out_shape)
        orders = [np.transpose(n, order) for order in ((3, 2, 1, 0), (1, 0, 3, 2))]
        if not any(t.shape == n.shape and matches(b.analytical, t.reshape(b.analytical.shape)) for t in orders):
            return None
    return Diagnosis(
        "swapped_factors",
        "the factors of a matrix product are in the wrong order.",
        "For y = A @ B the gradients are grad @ B.mH and A.mH @ grad: matrices do not commute.",
    )


def missing_sum(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """Only one of the copies that broadcasting makes of the input contributes."""
    for b in bad:
        if b.out_dtype.kind == "c" or not _broadcasts(b.in_shape, b.out_shape):
            return None
        if not any(matches(b.analytical, part) for part in _one_copy_of(b)):
            return None
    return Diagnosis(
        "missing_sum",
        "the input is broadcast, and only one of its copies contributes to the gradient.",
        "Sum the gradient over the broadcast dimensions (sum(dim, keepdim=True)) instead of picking one slice.",
    )


def dropped_entries(bad: list[Block], matches: Matches) -> Diagnosis | None:
    """Right, except for zeros where there should be numbers."""
    for b in bad:
        if not matches(b.analytical, np.where(b.analytical == 0, 0, b.numerical)):
            return None
    count = sum(int(((b.analytical == 0) & (np.abs(b.numerical) > 1e-5)).sum()) for b in bad)
    return Diagnosis(
        "dropped_entries",
        f"the gradient is right, except for {count} entries that are zero and should not be.",
        "Some contributions are dropped: an index that comes twice needs np.add.at, and every slice must be filled.",
    )


PATTERNS = (
    not_finite,
    missing_gradient,
    piecewise_constant,
    sign,
    missing_conjugate,
    constant_factor,
    integer_truncation,
    transposed,
    product_order,
    missing_sum,
    dropped_entries,
    factor_on_some,
)


def _all(bad: list[Block], what: str) -> np.ndarray:
    """All the entries of several blocks in one vector."""
    return np.concatenate([getattr(b, what).ravel() for b in bad])


def _by_parts(how: Callable[..., np.ndarray], values: np.ndarray) -> np.ndarray:
    """`how` on real and imaginary parts apart."""
    return how(values.real) + 1j * how(values.imag) if values.dtype.kind == "c" else how(values)


def _conjugated(b: Block, form: int) -> np.ndarray:
    """The Jacobian that a backward with that conjugate mistake would give.

    For a right backward g(c) = c * conj(d), the cotangents 1 and 1j give the columns conj(d) and 1j * conj(d).
    1: g(c) = c * d      gives d and 1j * d: the conjugate of the first columns, minus that of the second.
    2: g(c) = conj(c * d)... with the derivative right gives conj(d) and -1j * conj(d): minus in the second columns.
    3: g(c) = conj(c) * d gives the conjugate of all.
    """
    flip = np.ones(b.numerical.shape[1])
    if b.out_dtype.kind == "c" and form in (1, 2):
        flip[b.out_size :] = -1
    return (b.numerical if form == 2 else b.numerical.conj()) * flip


def _swapped_axes(b: Block, axis: int) -> Iterator[np.ndarray]:
    """The right Jacobian with two dimensions of the input (axis 0) or output (axis 1) swapped, then reshaped."""
    shape = b.in_shape if axis == 0 else b.out_shape
    if len(shape) < 2 or (axis == 1 and b.out_dtype.kind == "c"):
        return
    n = b.numerical if axis == 0 else b.numerical.T
    unfolded = n.reshape(*shape, -1)
    for i in range(len(shape)):
        for j in range(i):
            moved = np.swapaxes(unfolded, i, j).reshape(n.shape)  # x.T.reshape(x.shape)
            yield moved if axis == 0 else moved.T
            if shape[i] != shape[j]:
                order = list(shape)
                order[i], order[j] = shape[j], shape[i]
                back = np.swapaxes(n.reshape(*order, -1), i, j).reshape(n.shape)  # x.reshape(T).T
                yield back if axis == 0 else back.T


def _is_pointwise(b: Block) -> bool:
    """True if each element of the output depends on the same element of the input alone, of several."""
    n = b.numerical
    return bool(n.shape[0] == n.shape[1] > 1 and np.count_nonzero(n) == np.count_nonzero(np.diagonal(n)))


def _broadcasts(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """True if broadcasting repeats an array of shape `small` to make one of shape `large`."""
    try:
        return bool(np.broadcast_shapes(small, large) == large and np.prod(small) < np.prod(large))
    except ValueError:
        return False


def _one_copy_of(b: Block) -> Iterator[np.ndarray]:
    """The Jacobian if only one slice of each subset of broadcast dimensions were kept; the usual slices only."""
    padded = (1,) * (len(b.out_shape) - len(b.in_shape)) + b.in_shape
    dims = [d for d, (s, t) in enumerate(zip(padded, b.out_shape, strict=True)) if s == 1 and t > 1]
    n = b.numerical.reshape(-1, *b.out_shape)
    for chosen in [[d] for d in dims] + [dims]:
        for place in (0, -1):
            kept = np.zeros_like(n)
            where: list[Any] = [slice(None)] * n.ndim
            for d in chosen:
                where[d + 1] = place
            kept[tuple(where)] = n[tuple(where)]
            yield kept.reshape(b.numerical.shape)


def _factor_advice(size: str, k: complex | float) -> str:
    """The advice for a constant factor between the two Jacobians."""
    if size and abs(k) < 1:
        return "A mean where a sum is meant, or a division by a size too many."
    if size:
        return "A sum where a mean is meant, or a division by a size that is missing."
    return "Look for this factor in the derivation, or for a term that is counted more than once (or only in part)."
