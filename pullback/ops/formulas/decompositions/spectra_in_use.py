"""Tracks several decompositions of one matrix, so that what one call refuses is refused when split over calls too.

    V1 = eigh(A)[1];  w = eigh(A)[0];  V2 = eigh(A)[1];  (V1 * f(w)) @ V2.mH

is V f(W) V^H, a loss of values and vectors together, which `equal_values` refuses where values are equal. Each of the
three backwards sees a loss of values alone or of vectors alone. So each notes here which of its equal values, or their
vectors, have a cotangent that is not 0, and compares with what the others of the same backward have noted. Matrices
are told apart by their numbers: one that is computed anew for each call is the same matrix.

Only equal values are noted, so that there is next to never anything here.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

import numpy as np

# By thread: (matrix, "values" or "vectors", the numbers that take part), for each call in the backward under way.
in_use: dict[int, list[tuple[Any, str, Any]]] = {}


# By thread: for each output of the node that runs, the mask of what the loss has touched of it, None for all of it.
masks_of_outputs: dict[int, list[Any]] = {}


def put_aside() -> Any:
    """The notes of this thread, put aside; a backward that begins here, inside another, has notes of its own."""
    return in_use.pop(get_ident(), None)


def take_up(before: Any) -> None:
    """Forget what the backward that ends here has noted; `before` is what `put_aside` gave."""
    if before is None:
        in_use.pop(get_ident(), None)
    else:
        in_use[get_ident()] = before


def notes_of_backward() -> list[tuple[Any, str, Any]]:
    """The notes of the backward under way: kept by checks that an array type runs when the backward has ended."""
    return in_use.setdefault(get_ident(), [])


def touched_of_output(nr: int) -> Any:
    """The elements that the loss has touched of an output of the node that runs, as truth values; None: all."""
    masks = masks_of_outputs.get(get_ident())
    return None if masks is None or masks[nr] is None else masks[nr].touched()


def met_elsewhere(notes, matrices, values, with_values, with_vectors, near):
    """Which values (all belong to groups of equal ones) other calls use as vectors where this one uses values, or so.

    `with_values` and `with_vectors` are masks of the values that this call uses in either way, and are noted; `near`
    is for each matrix how far numbers may lie apart that count as equal.
    """
    met, of_others = np.zeros(values.shape, bool), tuple(notes)
    for batch in np.ndindex(values.shape[:-1]):
        matrix, found = matrices[batch], values[batch]
        for kind, other, mask in (("values", "vectors", with_values), ("vectors", "values", with_vectors)):
            if not mask[batch].any():
                continue
            for noted, noted_kind, numbers in of_others:
                if noted_kind == other and noted.shape == matrix.shape and np.array_equal(noted, matrix):
                    met[batch] |= mask[batch] & (abs(found[:, None] - numbers) <= near[batch]).any(-1)
            notes.append((matrix, kind, found[mask[batch]]))
    return met
