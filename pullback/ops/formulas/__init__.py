"""Helpers that formulas call, one module an area."""

# What other packages may rely on: these keep their names, arguments and meaning, or go only after a release that says
# so. The others are parts of one operator's derivative and change with it.
STABLE = frozenset({
    "above", "adjoint_of", "as_matrix", "below", "cat_backward", "conjugated", "expand_reduced", "gaps_of",
    "gather_along", "halved_at_ties", "inverse_permute", "log_ratio", "mean_backward", "mean_of_ties",
    "narrow_backward", "neighbour", "nonzero_or_inf", "off_diagonal", "over_hypot", "over_square_norm",
    "pow_exponent_slope", "pow_slope", "prod_backward", "repeat_backward", "restore_reduced", "roll_backward", "scaled",
    "select_backward", "sgn_slope", "share_among_ties", "sum_of_channels", "sum_of_rows", "times_conj", "times_factor",
    "trace_of_product", "triangle_of", "var_backward", "var_jvp", "vector_norm_backward", "vector_norm_jvp", "within",
    "zero_at_infinity",
})  # fmt: skip
