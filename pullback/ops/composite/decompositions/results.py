"""The named tuples that composites of several results give."""

from collections import namedtuple

EigenPairs = namedtuple("lobpcg", ["eigenvalues", "eigenvectors"])
LdlFactor = namedtuple("linalg_ldl_factor", ["LD", "pivots"])
LstSq = namedtuple("linalg_lstsq", ["solution", "residuals", "rank", "singular_values"])
LuFactor = namedtuple("linalg_lu_factor", ["LU", "pivots"])
Lu = namedtuple("linalg_lu", ["P", "L", "U"])
Qr = namedtuple("qr", ["Q", "R"])
SlogDet = namedtuple("slogdet", ["sign", "logabsdet"])
SolveEx = namedtuple("linalg_solve_ex", ["result", "info"])
Svd = namedtuple("svd", ["U", "S", "V"])
TriangularSolve = namedtuple("triangular_solve", ["solution", "cloned_coefficient"])
