"""lobpcg: some eigenpairs at one end of the spectrum."""

import numpy as np

from pullback.core.errors import OperatorError
from pullback.ops.formulas.decompositions.solves import adjoint_of


def lobpcg(
    A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
    ortho_iparams=None, ortho_fparams=None, ortho_bparams=None, *, ops,
):  # fmt: skip
    """k eigenpairs of (A + A^H) / 2, with B of the generalised problem; the search begins at X, or n random vectors."""
    if method not in (None, "basic", "ortho"):
        raise OperatorError(f"lobpcg: method must be 'basic' or 'ortho' (both mean the same here), got {method!r}")
    given = {"tracker": tracker, "ortho_iparams": ortho_iparams, "ortho_fparams": ortho_fparams}
    meant = [name for name, x in (given | {"ortho_bparams": ortho_bparams}).items() if x is not None]
    if meant:
        raise OperatorError(
            f"lobpcg: {', '.join(meant)} belong to PyTorch's own iteration; this implementation uses another"
        )
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise OperatorError(f"lobpcg: A must be batches of square matrices, got shape {tuple(A.shape)}")
    A, B = ((M if M is None else (M + adjoint_of(M, ops=ops)) * 0.5) for M in (A, B))
    if k is None:
        k = 1 if X is None else X.shape[-1]
    if X is None:
        X = ops.to(ops.randn([*A.shape[:-1], k if n is None else n]), A.dtype)
    tol = float(np.finfo(A.dtype).eps) ** 0.5 if tol is None else tol
    return ops.lobpcg_pairs(A, B, X, iK, k, niter, tol, largest is None or bool(largest))
