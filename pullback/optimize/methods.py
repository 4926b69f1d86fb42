"""A table of what SciPy's methods take."""

WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
WITH_HESSIAN = frozenset({"newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"})
DIFFERENCES = ("2-point", "3-point", "cs")  # in the place of a derivative
