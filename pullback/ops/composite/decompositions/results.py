"""The named tuples that composites of several results give."""

from pullback.dispatch.call_errors import results_class

EigenPairs = results_class("lobpcg", ["eigenvalues", "eigenvectors"])
LdlFactor = results_class("linalg_ldl_factor", ["LD", "pivots"])
LstSq = results_class("linalg_lstsq", ["solution", "residuals", "rank", "singular_values"])
LuFactor = results_class("linalg_lu_factor", ["LU", "pivots"])
Lu = results_class("linalg_lu", ["P", "L", "U"])
Qr = results_class("qr", ["Q", "R"])
SlogDet = results_class("slogdet", ["sign", "logabsdet"])
SolveEx = results_class("linalg_solve_ex", ["result", "info"])
Svd = results_class("svd", ["U", "S", "V"])
TriangularSolve = results_class("triangular_solve", ["solution", "cloned_coefficient"])
