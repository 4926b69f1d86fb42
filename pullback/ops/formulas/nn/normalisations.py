"""Helpers of the formulas of the normalisations."""

__all__ = ["layer_norm_jvp"]


def layer_norm_jvp(input, input_t, weight, weight_t, bias_t, dims, eps, *, ops):
    """The tangent of _layer_norm; tangents that are None are zero. Mean and deviation are formed from the input again.

    So derivatives of the tangent see that they depend on it.
    """
    last = tuple(range(-dims, 0))
    centred = input - ops.mean(input, last, True)
    inverse = ops.rsqrt(ops.mean(centred * centred, last, True) + eps)
    n = centred * inverse
    terms = []
    if input_t is not None:
        moved = inverse * (input_t - ops.mean(input_t, last, True) - n * ops.mean(n * input_t, last, True))
        terms.append(moved if weight is None else moved * weight)
    if weight_t is not None:
        terms.append(n * weight_t)
    if bias_t is not None:
        terms.append(bias_t + ops.zeros_like(input))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
