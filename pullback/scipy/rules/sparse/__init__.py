"""scipy.sparse.

pattern.py       where entries are, which stays the same
sparse_array.py  matrices whose values are tensors
construction.py  the classes and functions that make them
methods.py       methods of SciPy's own matrices and operators that are given a tensor
batching.py      the operators inside of vmap; sparsity.py what their results depend on
solvers.py       how systems are solved; solving.py the functions that solve them
eigenpairs.py    some eigenvalues, singular values and their vectors
functions.py     inverse, exponential, norms, linear operators
graphs.py        shortest paths, spanning trees, Laplacians
"""

from pullback.scipy.rules.sparse import (  # noqa: F401 - which enter their rules
    batching,
    construction,
    eigenpairs,
    functions,
    graphs,
    methods,
    solving,
    sparsity,
)
