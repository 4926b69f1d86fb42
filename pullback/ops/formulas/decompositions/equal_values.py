"""Where eigenvalues or singular values are equal: which derivatives are determined, and the refusal of the others.

Let m eigenvalues of a Hermitian A be equal to w, with vectors V_B, and let A move along H. To first order the values
part by the eigenvalues of V_B^H H V_B, and the vectors jump to its eigenvectors Q: V_B becomes V_B Q (Kato 1966, II.6;
Magnus 1985, who therefore assumes simple values). A loss L(values, vectors) then has the slope sum_i gw_i(Q) h_i, where
gw_i(Q) = dL/dw_i for the basis V_B Q. It is linear in H, that is, a derivative, if gw_i(Q) = (Q^H G Q)_ii for one
Hermitian matrix G, and that is the block of the gradient. A backward pass holds gw for the single basis at hand: the
diagonal of G. So

* a loss of the values alone is right: gw does not depend on Q, hence G = gw_i I (for one of several equal values, which
  has a kink, V diag(gw) V^H is an element of Clarke's generalised gradient: Lewis 1999);
* a loss of the vectors alone that no rotation of V_B changes, such as one of V_B V_B^H, is right: gw = 0, hence G = 0;
  that a rotation changes nothing shows in the skew part of V_B^H gV, which must vanish. So it does by chance for one
  vector that lies along an axis; but a rotation mixes the elements of a row of V_B, so such a loss touches all of them
  or none (masks of a backward tell what is touched: `autograd.engine.structural_zeros`);
* a loss of both is not determined, however smooth: of V f(W) V^H with slope M the block is G = f'(w) V_B^H M V_B, and
  its part off the diagonal is neither in gw nor in gV. (V_B^H gV = 2 f(w) V_B^H M V_B holds f, not f', and for
  f(w) = 0 nothing.) Daleckii and Krein's divided differences, with f' known, give it: `linalg.matrix_function`.

"Alone" is a matter of the graph, not of numbers: a gradient of zeros is one gradient, an output that nobody used
another. Several calls on one matrix count as one: `spectra_in_use`. In a loss of both, equal values and their vectors
whose cotangents are all exactly 0 count as not taking part: those that a truncation leaves out, or a mask. Nothing
tells these from an f with f(w) = 0 in a basis in which the diagonal of M is 0 too, as in log(A)[0, 1] at A = I by
`eigh`, which gets 0. `linalg.matrix_function` gets M.

The second derivative of a symmetric function F of the values has on the block, off the diagonal, F_ii - F_ij times the
direction (Lewis and Sendov 2001): again not in what a backward pass holds, but for constant slopes, where it is 0.

T. Kato, Perturbation Theory for Linear Operators, 1966; J. Magnus, Econometric Theory 1, 1985, 179-191; A. Lewis, Math.
Programming 84, 1999, 1-24; A. Lewis and H. Sendov, SIAM J. Matrix Anal. Appl. 23, 2001, 368-386, and, for singular
values, Set-Valued Analysis 13, 2005, 213-241; Y. Daleckii and S. Krein, AMS Translations 47, 1965, 1-30.
"""

from functools import partial

import numpy as np

from pullback.core.array_type import check, table_of
from pullback.core.errors import LinAlgError
from pullback.ops.formulas.decompositions.spectra_in_use import met_elsewhere, notes_of_backward, touched_of_output
from pullback.ops.formulas.plain_values import any_of, is_known, plain_of, sizes_of

__all__ = [
    "gaps_of",
    "off_diagonal",
    "over_columns",
    "over_gaps",
    "over_sums",
    "refuse_parts",
    "refuse_phases",
    "refuse_rest",
    "refuse_single",
    "takes_part",
]

# What is asked for, why it is not determined, and what to write instead.
_REASONS = {
    "loss": "the loss depends on single vectors, or on vectors and values together, of which the derivative is not "
    "determined there",
    "parts": "the loss depends on these values and on their vectors together, which several calls have found: the "
    "derivative is not determined there",
    "tangent": "the tangents of their vectors are not determined there, nor whether values, a projector (reverse mode "
    "can tell) or a function of the matrix will be made of them",
    "slope": "the second derivative of functions of the values depends there on more than their slopes",
}
_HINTS = {
    "eigh": "Write a function of the matrix as linalg.matrix_function(A, f), a symmetric function of the values with "
    "linalg.eigvalsh, a projector with the vectors alone",
    "lobpcg": "Write a function of the matrix as linalg.matrix_function(A, f), a symmetric function of the values with "
    "the values alone, a projector with the vectors alone",
    "eig": "Write a function of the matrix as linalg.matrix_exp, matrix_power or inv, for a Hermitian one as "
    "linalg.matrix_function(A, f), a symmetric function of the values with linalg.eigvals",
    "svd": "Write U diag(S g(S**2)) V^H as A @ linalg.matrix_function(A.mH @ A, g), the inverse as linalg.pinv, a "
    "symmetric function of the values with linalg.svdvals, a projector or U V^H with the vectors alone",
    "slope": "Write the function by the matrix: a sum of f(value) as the trace of linalg.matrix_function(A, f), a sum "
    "of squares as a sum over the elements of the matrix",
}

_KINDS = {"linalg.eigvalsh": "eigh", "linalg.eigvals": "eig", "linalg.svdvals": "svd"}  # whose hints these share


def gaps_of(values, *, ops):
    """values[k] - values[j] at row j, column k."""
    return ops.unsqueeze(values, -2) - ops.unsqueeze(values, -1)


def off_diagonal(x, *, ops):
    """`x` with zeros on its diagonal."""
    return x - ops.diag_embed(ops.diagonal(x, 0, -2, -1))


def takes_part(grad_values, *grads_of_vectors):
    """For each value whether its cotangent, or that of one of its vectors (columns), is not exactly 0."""
    found = sizes_of(grad_values) != 0
    for grad in grads_of_vectors:
        found = found | any_of(sizes_of(grad) != 0, -2)
    return found


def refuse_phases(diagonal, scale, name, *, ops):
    """Refuse a loss that turning the phase of a vector would change; `diagonal` has its slopes along the phases."""
    if diagonal.dtype.kind != "c" or not diagonal.size:
        return
    check(partial(_examine_phases, name), sizes_of(ops.imag(diagonal)), sizes_of(scale))


def _examine_phases(name, slopes, scale):
    # float32 rounding accumulates over long products: PyTorch allows 1e-2 here, but for an exact zero.
    limit = 1e-2 if slopes.dtype == np.float32 else 1e-6
    if (slopes > limit * np.maximum(scale.max((-2, -1)), 1)[..., None]).any():
        raise LinAlgError(
            f"{name}: the loss depends on the phases of the complex vectors, which are arbitrary, so it has no gradient"
        )


def refuse_parts(name, A, values, grad_values, *grads_of_vectors):
    """Refuse a loss of equal values and their vectors that several calls have found.

    The cotangent of the values is None in a loss of vectors alone, those of the vectors are left out, or None, in one
    of values alone. See `spectra_in_use`.
    """
    plain = plain_of(values)
    if is_known(plain) and not _equal_pairs(plain, _rounding_of(plain)).any():
        return
    vectors = [grad for grad in grads_of_vectors if grad is not None]
    used = ([] if grad_values is None else [grad_values]) + vectors
    examine = partial(_examine_parts, name, notes_of_backward(), grad_values is not None)
    check(examine, A, values, *map(sizes_of, used))


def refuse_single(name, values, nr, grad, transposed=False):
    """Refuse a loss of some of the vectors of equal values: of output `nr`, as columns or, `transposed`, as rows.

    Or of no value, where there are more vectors than values.
    """
    touched = None if grad is None else touched_of_output(nr)
    if touched is None:
        return
    plain, more = plain_of(values), grad.shape[-2 if transposed else -1] - values.shape[-1]
    if more < 2 and is_known(plain) and not _equal_pairs(plain, _rounding_of(plain)).any():
        return
    check(partial(_examine_single, name, transposed), plain, touched, sizes_of(grad))


def _examine_single(name, transposed, plain, touched, sizes):
    touched = np.broadcast_to(touched, sizes.shape)
    used = touched & (sizes != 0)
    if transposed:
        used, touched = used.swapaxes(-1, -2), touched.swapaxes(-1, -2)
    used, untouched = used.astype(np.float32), (~touched).astype(np.float32)
    beside = used.swapaxes(-1, -2) @ untouched != 0  # a row in which the one is used, and the other is not touched
    beside = beside | beside.swapaxes(-1, -2)
    k = plain.shape[-1]
    _refuse(name, plain, _equal_pairs(plain, _rounding_of(plain)) & beside[..., :k, :k], "equal", "loss")
    if beside[..., k:, k:].any():
        raise _of_no_value(name, k)


def refuse_rest(turns, scale, name, k):
    """Refuse a loss of single vectors that belong to no value, of which only the span is determined.

    `turns` are its slopes along rotations of them, `scale` the scale of their rounding.
    """
    if turns.shape[-1] > 1:
        check(partial(_examine_rest, name, k), sizes_of(turns), sizes_of(scale))


def _examine_rest(name, k, turns, scale):
    if _exceeds(turns, scale, 1).any():
        raise _of_no_value(name, k)


def _of_no_value(name, k):
    return LinAlgError(
        f"{name}: the loss depends on single vectors past the first {k}, which belong to no singular value. They are "
        "an arbitrary basis of what the others leave, and have no derivative. Use full_matrices=False, or of these "
        "vectors only what any basis gives, such as the projector N @ N.mH."
    )


def _equal_pairs(plain, near):
    return (abs(plain[..., None, :] - plain[..., None]) <= near) & ~np.eye(plain.shape[-1], dtype=bool)


def _examine_parts(name, notes, of_values, A, plain, *sizes):
    near = _rounding_of(plain)
    equal = _equal_pairs(plain, near)
    if not equal.any():
        return
    tied = equal.any(-1)
    with_values, with_vectors = np.zeros_like(tied), np.zeros_like(tied)
    if of_values:
        with_values = tied & (sizes[0] != 0)
    for size in sizes[of_values:]:
        with_vectors |= tied & (size != 0).any(-2)
    met = met_elsewhere(notes, A, plain, with_values, with_vectors, near[..., 0])
    _refuse(name, plain, equal & (met[..., None] | met[..., None, :]), "equal", "parts")


def over_gaps(numerators, values, name, *, doubt=None, used=None, case="loss", blur=1, ops):
    """numerators / (values[k] - values[j]) off the diagonal; 0 on it, and for values that rounding could have parted.

    Refused is a pair of equal values where `doubt` (a quantity and the scale of its rounding, by default the
    numerators) does not vanish, or one of which is `used`. `case` says what is being computed, `blur` (a number for
    each matrix) by how much more than those of a Hermitian matrix rounding parts the values.
    """
    gaps, plain = gaps_of(values, ops=ops), plain_of(values)
    n = plain.shape[-1]
    equal = abs(plain[..., None, :] - plain[..., None]) <= _rounding_of(plain) * blur
    if n and (not is_known(equal) or np.count_nonzero(equal) > equal.size // n):  # more than the diagonal
        _check(_examine_gaps, name, case, plain, equal, doubt or (numerators, numerators), used, blur)
    return _quotient(numerators, gaps, equal, ops)


def _examine_gaps(name, case, plain, equal, x, scale, blur, used=None):
    wrong = _exceeds(x, scale, blur)
    if used is not None:
        wrong = wrong | used[..., None] | used[..., None, :]
    _refuse(name, plain, wrong & equal & ~np.eye(plain.shape[-1], dtype=bool), "equal", case)


def over_sums(numerators, values, name, *, doubt=None, used=None, case="loss", ops):
    """numerators / (values[j] + values[k]), 0 for values that are both 0; refused as in `over_gaps`.

    `used` counts on the diagonal alone, for complex vectors: off it two zeros are equal values, which `over_gaps` sees.
    """
    sums, plain = ops.unsqueeze(values, -2) + ops.unsqueeze(values, -1), plain_of(values)
    zero = plain[..., None, :] + plain[..., None] <= _rounding_of(plain)
    if not is_known(zero) or zero.any():
        counts = used if numerators.dtype.kind == "c" else None
        _check(_examine_sums, name, case, plain, zero, doubt or (numerators, numerators), counts)
    return _quotient(numerators, sums, zero, ops)


def _examine_sums(name, case, plain, zero, x, scale, blur, used=None):
    wrong = _exceeds(x, scale, blur)
    if used is not None:
        wrong = wrong | (used[..., None] & np.eye(plain.shape[-1], dtype=bool))
    _refuse(name, plain, wrong & zero, "zero", case)


def over_columns(columns, values, name, *, doubt=None, used=None, case="loss", ops):
    """Columns divided by values, 0 where a value is 0; refused as in `over_gaps`."""
    plain = plain_of(values)
    zero = plain[..., None, :] <= _rounding_of(plain)
    if not is_known(zero) or zero.any():
        _check(_examine_columns, name, case, plain, zero, doubt or (columns, columns), used)
    return _quotient(columns, ops.unsqueeze(values, -2), zero, ops)


def _examine_columns(name, case, plain, zero, x, scale, blur, used=None):
    wrong = _exceeds(x, scale, blur).any(-2, keepdims=True)
    if used is not None:
        wrong = wrong | used[..., None, :]
    _refuse(name, plain, wrong & zero, "zero", case)


def _check(examine, name, case, plain, near, doubt, used, blur=1):
    """Let `examine` look at the values, at which of them are near, at a quantity and the scale of its rounding."""
    given = [plain, near, *map(sizes_of, doubt), blur]
    check(partial(examine, name, case), *given, *(() if used is None else (used,)))


def _quotient(numerators, divisors, zero, ops):
    """numerators / divisors, 0 where `zero`, chosen before dividing: so no 0/0 enters a later derivative."""
    if is_known(zero) and not zero.any():
        return numerators / divisors
    return ops.where(zero, ops.zeros_like(numerators), numerators) / ops.where(zero, ops.ones_like(divisors), divisors)


def _rounding_of(values):
    """A bound on the rounding in differences of the values of each matrix."""
    n, eps = values.shape[-1], np.finfo(values.dtype).eps
    if is_known(values):  # the same, without the way through the operator
        return abs(values).max(-1, initial=0)[..., None, None] * (4 * n * eps)
    largest = table_of((values,)).amax(abs(values), -1) if n else np.zeros(values.shape[:-1])
    return largest[..., None, None] * (4 * n * eps)


def _exceeds(x, scale, blur):
    """Where x is not 0 but for the rounding of sums of numbers of the size of `scale`, matrix by matrix."""
    rounding = blur * (64 * max(scale.shape[-2:]) * np.finfo(x.dtype).eps)
    return x > scale.max((-2, -1), keepdims=True, initial=0) * rounding


def _refuse(name, values, wrong, what, case):
    """Raise for the first pair that is `wrong`: which values, why, and what to write instead."""
    if not wrong.any():
        return
    *batch, j, k = (int(i) for i in np.unravel_index(np.argmax(wrong), wrong.shape))
    found = values[tuple(batch)]
    if what == "equal":
        kind = "singular values" if "svd" in name else "eigenvalues"
        fact = f"{kind} {j} ({found[j]:.6g}) and {k} ({found[k]:.6g}) are equal"
        if found[j] != found[k]:
            fact += " but for what rounding may have added"
    else:
        fact = f"singular value {k} ({found[k]:.6g}) is 0"
    place = f" (batch element {', '.join(map(str, batch))})" if batch else ""
    hint = _HINTS["slope" if case == "slope" else _KINDS.get(name, name.removeprefix("linalg."))]
    raise LinAlgError(f"{name}{place}: {fact}, and {_REASONS[case]}. {hint}.")
