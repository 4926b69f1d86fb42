"""Coloring: which columns and rows of a sparse Jacobian or Hessian are computed together.

Columns of one color have no row in common (they are structurally orthogonal), so that one product J s with the sum s
of their unit vectors holds the entries of all of them; in the same way rows, by products r^T J. Of a symmetric matrix
less will do: in a star coloring each entry, or its mirror image, is alone. See A. H. Gebremedhin, F. Manne and
A. Pothen, "What color is your Jacobian? Graph coloring for computing derivatives", SIAM Review 47 (2005).

The colors that are taken near an element are kept as the bits of one whole number: the first free color is its
lowest zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from pullback.core.errors import GradientError, with_article
from pullback.core.named import named

ndarray = np.ndarray
Mode = Literal["auto", "forward", "reverse", "both"]
_KEPT = 4_000_000  # numbers: 32 MB
MODES = ("auto", "forward", "reverse", "both")


class Coloring:
    """Which columns and rows of a matrix are computed together, and where its entries are then found.

    Parameters
    ----------
    pattern, columns, rows, symmetric
        As the attributes below. `func.color_jacobian` and `func.color_hessian` find them.

    Attributes
    ----------
    pattern : scipy.sparse.csr_array of bool
        The entries that may differ from zero.
    columns : ndarray of int, of shape (n,), or None
        The color of each column, -1 for one that is not needed. One product J s, a forward pass, for each color.
    rows : ndarray of int, of shape (m,), or None
        The color of each row, -1 for one that is not needed. One product r^T J, a reverse pass, for each color.
    forward, reverse : int
        How many colors these have.
    passes : int
        forward + reverse.
    symmetric : bool
        Whether it is a star coloring, for symmetric matrices alone.

    Examples
    --------
    >>> import numpy as np
    >>> J = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
    >>> coloring = pb.func.color_jacobian(J)
    >>> coloring.columns, coloring.passes
    (array([0, 1, 0]), 2)
    >>> coloring.matrix(J @ coloring.seeds(), None).toarray()
    array([[1., 2., 0.],
           [0., 3., 4.]])
    """

    def __init__(self, pattern: Any, columns: ndarray | None, rows: ndarray | None, symmetric: bool = False) -> None:
        self.pattern, self.columns, self.rows, self.symmetric = pattern, columns, rows, symmetric
        self.forward = _count(columns)
        self.reverse = _count(rows)
        self.passes = self.forward + self.reverse
        self._directions: dict[bool, ndarray] = {}
        self._places()

    def __repr__(self) -> str:
        m, n = self.pattern.shape
        ways = [f"{count} {way}" for count, way in ((self.forward, "forward"), (self.reverse, "reverse")) if count]
        return f"<Coloring of {self.pattern.nnz} entries of {m} x {n}: {' and '.join(ways) or 'no'} passes>"

    def seeds(self) -> ndarray:
        """Return what the columns are multiplied with: array of shape (n, forward), a color in each column.

        Returns
        -------
        ndarray of shape (n, forward)

        Examples
        --------
        >>> J = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
        >>> coloring = pb.func.color_jacobian(J, 'forward')
        >>> coloring.seeds()
        array([[1., 0.],
               [0., 1.],
               [1., 0.]])
        """
        return _one_hot(self.columns, self.forward, self.pattern.shape[1])

    def row_seeds(self) -> ndarray:
        """The same for rows: array of shape (reverse, m).

        Returns
        -------
        ndarray of shape (reverse, m)

        Examples
        --------
        >>> J = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
        >>> coloring = pb.func.color_jacobian(J, 'reverse')
        >>> coloring.row_seeds()
        array([[1., 0.],
               [0., 1.]])
        """
        return _one_hot(self.rows, self.reverse, self.pattern.shape[0]).T

    def directions(self, checking: bool) -> ndarray:
        """The vectors of the forward passes, each in a row; kept for the next call, unless they are many. Read-only.

        One more to check with, the last, has numbers between 1 and 2 in no relation to each other, of which a
        difference of any order is not small: an entry that is missing shows.

        Parameters
        ----------
        checking : bool
            Whether there is one more, to check with.

        Returns
        -------
        ndarray of shape (forward, n), or (forward + 1, n)

        Examples
        --------
        >>> J = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
        >>> coloring = pb.func.color_jacobian(J, 'forward')
        >>> coloring.directions(checking=False)
        array([[1., 0., 1.],
               [0., 1., 0.]])
        >>> coloring.directions(checking=True).shape
        (3, 3)
        """
        if (kept := self._directions.get(checking)) is not None:
            return kept
        made = self.seeds().T
        if checking:
            numbers = np.random.default_rng(0).uniform(1, 2, self.pattern.shape[1])
            made = np.concatenate([made, numbers[None]])
        made.flags.writeable = False
        if made.size <= _KEPT:
            self._directions[checking] = made
        return made

    def matrix(self, by_columns: ndarray | None, by_rows: ndarray | None) -> Any:
        """The sparse matrix, of the products.

        Parameters
        ----------
        by_columns : ndarray of shape (m, forward), or None
            J @ seeds().
        by_rows : ndarray of shape (reverse, n), or None
            row_seeds() @ J.

        Returns
        -------
        scipy.sparse.csr_array

        Raises
        ------
        ValueError
            The products have other shapes, or one of them is missing.

        Examples
        --------
        >>> J = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
        >>> coloring = pb.func.color_jacobian(J, 'reverse')
        >>> coloring.matrix(None, coloring.row_seeds() @ J).toarray()
        array([[1., 2., 0.],
               [0., 3., 4.]])
        """
        (m, n), forward, reverse = self.pattern.shape, self.forward, self.reverse
        given: Any
        for name, given, shape in (("by_columns", by_columns, (m, forward)), ("by_rows", by_rows, (reverse, n))):
            if 0 not in shape and np.shape(given) != shape:
                what = f"one of shape {np.shape(given)}" if np.ndim(given) else repr(given)
                raise ValueError(f"Coloring.matrix: {name} must be an array of shape {shape}, got {what}.")
        dtypes = [x.dtype for x in (by_columns, by_rows) if x is not None]
        data = np.empty(self.pattern.nnz, np.result_type(*dtypes) if dtypes else float)
        if self.forward:
            found = by_columns.ravel("F").take(self._from_columns)  # type: ignore[union-attr]
            if not self.reverse:
                data = found.astype(data.dtype, copy=False)
            else:
                data[self._in_columns] = found
        if self.reverse:
            data[~self._in_columns] = by_rows[self._from_rows]  # type: ignore[index]
        return sp.csr_array((data, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)

    def places(self) -> tuple[Any, Any]:
        """Where entries are read: (which ones, the lines' colors, the line of each, its place in the product).

        Of those that are read in products with columns, and of those in products with rows.

        Returns
        -------
        tuple, tuple
            Of arrays: bool by entry, int by color, and two of int by entry that is read.

        Examples
        --------
        >>> J = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
        >>> (which, colors, lines, across), _ = pb.func.color_jacobian(J, 'forward').places()
        >>> lines, across
        (array([0, 1, 1, 2]), array([0, 0, 1, 1]))
        """
        own, m = self._in_columns, max(self.pattern.shape[0], 1)
        i, j = self.pattern.tocoo().coords
        across = self._from_columns % m
        by_columns = own, self.columns, i[own] + j[own] - across, across  # a mirror image is read at (j, i)
        return by_columns, (~own, self.rows, i[~own], j[~own])

    def _places(self) -> None:
        """Find where each entry is read off the products, and check that it is alone there."""
        i, j = np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr)), self.pattern.indices
        own = _alone(i, j, self.columns)
        other = _alone(j, i, self.columns if self.symmetric else self.rows)
        if not (own | other).all():
            where = int(np.flatnonzero(~(own | other))[0])
            raise GradientError(
                f"the coloring cannot separate entry ({i[where]}, {j[where]}) of the pattern from others of its row "
                "and its column: two columns of one color meet in that row."
            )
        columns, rows = self.columns, self.rows
        if self.symmetric:  # both of a pair are read where one of them is alone, so that they are equal
            direct = np.where(i <= j, own, other)
            low, high = np.minimum(i, j), np.maximum(i, j)
            i, j = np.where(direct, low, high), np.where(direct, high, low)
            own[:] = True
        self._in_columns = own
        # Among the products column by column, which is how they are computed: from memory in one row.
        self._from_columns = np.zeros(0, int) if columns is None else columns[j[own]] * self.pattern.shape[0] + i[own]
        self._from_rows = () if rows is None else (rows[i[~own]], j[~own])


def _alone(i: ndarray, j: ndarray, colors: ndarray | None) -> ndarray:
    """For each entry whether it is the only one of line i whose place j has its color."""
    if colors is None:
        return np.zeros(i.size, bool)
    color = colors[j]
    key = i.astype(np.int64) * (_count(colors) + 1) + color + 1
    _, first, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray((counts[first] == 1) & (color >= 0))


def _one_hot(colors: ndarray | None, count: int, size: int) -> ndarray:
    seeds = np.zeros((count, size))  # a seed in one piece of memory
    if colors is not None:
        used = np.flatnonzero(colors >= 0)
        seeds[colors[used], used] = 1
    return seeds.T


def _count(colors: ndarray | None) -> int:
    return 0 if colors is None else int(colors.max(initial=-1)) + 1


# -- the public functions ----------------------------------------------------------------------------------------------
@named("func.color_jacobian")
def color_jacobian(sparsity: Any, mode: Mode = "auto") -> Coloring:
    """Color the columns, the rows, or some of both of a Jacobian, so that few passes compute it.

    Parameters
    ----------
    sparsity : scipy.sparse array or matrix, or 2-D array, of shape (m, n)
        What is not zero (of a sparse one: what is stored) may be an entry.
    mode : {"auto", "forward", "reverse", "both"}
        "forward" colors columns, "reverse" rows. "both" lets the fullest rows be computed by reverse passes and the
        rest by forward passes, where that takes fewer. "auto" takes what has fewest passes, and forward where it is a
        draw.

    Returns
    -------
    Coloring

    Raises
    ------
    TypeError, ValueError
        No matrix; no such mode.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> pb.func.color_jacobian(sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(1000, 1000)))
    <Coloring of 2998 entries of 1000 x 1000: 3 forward passes>

    A full row, a full column and a diagonal, an arrow, take 1000 passes one way and 3 both ways:

    >>> import numpy as np
    >>> arrow = sp.eye_array(1000, format="lil")
    >>> arrow[0, :] = arrow[:, 0] = 1
    >>> pb.func.color_jacobian(arrow, "forward").passes, pb.func.color_jacobian(arrow).passes
    (1000, 3)
    """
    if mode not in MODES:
        raise ValueError(f"color_jacobian: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}.")
    pattern = as_pattern(sparsity, "color_jacobian")
    found = []
    if mode != "reverse":
        found.append(Coloring(pattern, _columns(pattern), None))
    if mode != "forward":
        found.append(Coloring(pattern, None, _columns(pattern.T.tocsr())))
    if mode in ("auto", "both"):
        found += _both_ways(pattern, min(coloring.passes for coloring in found))
    return min(found, key=lambda coloring: (coloring.passes, coloring.reverse))


@named("func.color_hessian")
def color_hessian(sparsity: Any) -> Coloring:
    """A star coloring of a Hessian: products with few vectors hold each entry, or its mirror image, alone.

    Parameters
    ----------
    sparsity : scipy.sparse array or matrix, or 2-D array, of shape (n, n)
        What is not zero (of a sparse one: what is stored) may be an entry; so may its mirror image.

    Returns
    -------
    Coloring

    Raises
    ------
    TypeError
        `sparsity` is not a matrix of numbers.
    ValueError
        It is not square.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> pb.func.color_hessian(sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(1000, 1000)))
    <Coloring of 2998 entries of 1000 x 1000: 3 forward passes>
    """
    pattern = as_pattern(sparsity, "color_hessian")
    if pattern.shape[0] != pattern.shape[1]:
        raise ValueError(f"color_hessian: a Hessian is square, got a pattern of shape {pattern.shape}.")
    pattern = as_pattern(pattern + pattern.T, "color_hessian")
    degrees = np.diff(pattern.indptr)
    orders = [np.arange(degrees.size), np.argsort(-degrees, kind="stable")]
    found = [_star(pattern, order) for order in orders]
    return Coloring(pattern, min(found, key=lambda colors: colors.max(initial=-1)), None, symmetric=True)


def as_pattern(sparsity: Any, called: str) -> Any:
    """A matrix of bool in CSR form, with the entries of each row in order, of what a user gave."""
    if not sp.issparse(sparsity):
        given, sparsity = sparsity, np.asarray(sparsity)
        if sparsity.ndim != 2 or sparsity.dtype.kind not in "biufc":
            raise TypeError(
                f"{called}: sparsity must be a scipy.sparse array or matrix or a 2-D array of numbers, "
                f"got {with_article(given)}."
            )
        sparsity = sparsity != 0  # SciPy's have no float16
    pattern = sp.csr_array(sparsity, copy=True)
    pattern.sum_duplicates()
    return csr_of_bool(pattern.indices, pattern.indptr, pattern.shape)


def csr_of_bool(indices: ndarray, ends: ndarray, shape: tuple[int, ...]) -> Any:
    """A pattern whose indices are int32 where they fit, as SciPy's own: half the memory, and what SuperLU takes."""
    index = sp.get_index_dtype(maxval=max(indices.size, *shape))
    return sp.csr_array((np.ones(indices.size, bool), indices.astype(index), ends.astype(index)), shape=shape)


# -- how colors are found ---------------------------------------------------------------------------------------------
def _columns(pattern: Any) -> ndarray:
    """Colors for the columns such that none meet in a row, in the better of two orders; -1 for empty ones."""
    by_column = pattern.tocsc()
    if np.diff(pattern.indptr).max(initial=0) == by_column.shape[1]:  # a full row: each column for itself
        return np.arange(by_column.shape[1])
    degrees = np.diff(by_column.indptr)
    natural = np.flatnonzero(degrees)
    largest_first = natural[np.argsort(-degrees[natural], kind="stable")]
    rows = _lines(by_column)
    found = [_greedy(rows, order, pattern.shape[0]) for order in (natural, largest_first)]
    return min(found, key=lambda colors: colors.max(initial=-1))


def _lines(matrix: Any) -> list[list[int]]:
    indices, ends = matrix.indices.tolist(), matrix.indptr.tolist()
    return [indices[a:b] for a, b in pairwise(ends)]


def _greedy(rows: Sequence[Sequence[int]], order: Iterable[int], count: int) -> ndarray:
    """The first color for each column that no column that it meets has."""
    taken, colors = [0] * count, np.full(len(rows), -1)
    for j in order:
        near = 0
        for i in rows[j]:
            near |= taken[i]
        free = ~near & (near + 1)
        for i in rows[j]:
            taken[i] |= free
        colors[j] = free.bit_length() - 1
    return colors


def _both_ways(pattern: Any, best: int) -> list[Coloring]:
    """The k fullest rows by reverse passes and the rest by forward passes; and the other way round."""
    found = []
    for transposed in (False, True):
        matrix = pattern.T.tocsr() if transposed else pattern
        degrees = np.diff(matrix.indptr)
        order = np.argsort(-degrees, kind="stable")
        k = 1
        while k < degrees.size and k < best:
            if degrees[order[k]] < degrees[order[k - 1]]:
                full = np.zeros(degrees.size, bool)
                full[order[:k]] = True
                rest = _columns(_only(matrix, ~full))
                own = _greedy(_lines(matrix), order[:k].tolist(), matrix.shape[1])
                colors = (own, rest) if transposed else (rest, own)
                if _count(rest) + _count(own) < best:
                    found.append(Coloring(pattern, *colors))
                    best = found[-1].passes
            k += 1 if k < 8 else k // 4  # the first ones one by one, then in larger steps
    return found


def _only(matrix: Any, rows: ndarray) -> Any:
    """The matrix with these rows alone, a mask, and no entries elsewhere."""
    degrees = np.diff(matrix.indptr)
    kept = np.repeat(rows, degrees)
    ends = np.concatenate(([0], np.cumsum(np.where(rows, degrees, 0))))
    return sp.csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def _star(pattern: Any, order: Iterable[int]) -> ndarray:
    """Colors such that neighbours differ, and no path of four vertices has but two colors."""
    near = [[j for j in line if j != i] for i, line in enumerate(_lines(pattern))]
    size = len(near)
    colors = [-1] * size
    around = [0] * size  # the colors of the neighbours of each vertex
    twice = [0] * size  # those that two of its neighbours have
    for v in order:
        taken = around[v]
        for w in near[v]:
            if colors[w] < 0:
                taken |= around[w]
            else:
                bit = 1 << colors[w]
                for x in near[w]:
                    if colors[x] >= 0 and twice[x] & bit:
                        taken |= 1 << colors[x]
        free = ~taken & (taken + 1)
        colors[v] = free.bit_length() - 1
        for w in near[v]:
            twice[w] |= around[w] & free
            around[w] |= free
    return np.array(colors, int)
