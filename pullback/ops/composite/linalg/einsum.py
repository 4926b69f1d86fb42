"""Einstein summation, as a plan of diagonals, sums, pairwise contractions and one permutation.

The plan depends on the equation and the shapes alone and is kept, so that a second call runs only its operators.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from pullback.ops.shapes import greedy_contractions

_SMALL = "abcdefghijklmnopqrstuvwxyz"
LETTERS = _SMALL + _SMALL.upper()


class Plan(NamedTuple):
    """The steps of einsum: prepare each operand, contract pairs (i, j, equation), put the result in order.

    `whole` is the equation where the only step is to contract two operands.
    """

    prepare: tuple[Any, ...]  # for each operand: (pairs of dimensions to take diagonals over, dimensions to sum)
    pairs: tuple[Any, ...]
    order: tuple[Any, ...]
    whole: str


def einsum(equation, tensors, *, ops):
    """Sums of products of elements, named by letters: "ij,jk->ik" is the matrix product.

    A letter that occurs in several operands multiplies along it, one that is missing after `->` is summed, one that
    occurs twice in an operand takes the diagonal, and `...` stands for any further dimensions, which broadcast. Numbers
    may stand for letters: einsum(a, [0, 1], b, [1, 2], [0, 2]).
    """
    if not isinstance(equation, str):
        equation, tensors = from_sublists(equation, tensors)
    if not len(tensors):
        raise ValueError("einsum: expected at least one operand")
    plan = plan_of(equation, tuple([tuple(x.shape) for x in tensors]))
    if plan.whole:
        return ops._einsum_pair(*tensors, plan.whole)
    operands = []
    for x, (diagonals, sums) in zip(tensors, plan.prepare, strict=True):
        for first, second in diagonals:
            x = ops.diagonal(x, 0, first, second)
        operands.append(ops.sum(x, sums) if sums else x)
    for i, j, pair in plan.pairs:
        right, left = operands.pop(j), operands.pop(i)
        operands.append(ops._einsum_pair(left, right, pair))
    (result,) = operands
    return ops.permute(result, plan.order) if plan.order != tuple(range(len(plan.order))) else result


def from_sublists(first, rest):
    """(equation, operands) of a call einsum(operand, sublist, operand, sublist, ..., sublist of the result)."""
    if all(isinstance(item, int) or item is ... for item in rest):
        rest = [rest]  # one operand: its sublist alone
    items = [first, *rest]
    operands, sublists = items[: len(items) // 2 * 2 : 2], items[1::2]
    out = items[-1] if len(items) % 2 else None
    letters = _SMALL.upper() + _SMALL
    for labels in sublists if out is None else [*sublists, out]:
        if not isinstance(labels, (list, tuple)) or not all(
            item is ... or (isinstance(item, int) and 0 <= item < len(letters)) for item in labels
        ):
            raise TypeError(
                f"einsum: after an operand, expected a list of integers from 0 to {len(letters) - 1} and at most one "
                f"Ellipsis; got {labels!r}. Or begin with an equation: einsum('ij,jk->ik', a, b)"
            )

    def text(labels):
        return "".join("..." if item is ... else letters[item] for item in labels)

    equation = ",".join(map(text, sublists))
    return equation if out is None else f"{equation}->{text(out)}", operands


@lru_cache(maxsize=1024)
def plan_of(equation, shapes):
    """The plan for an equation and the shapes of its operands."""
    labels, out = parse(equation, shapes)
    sizes = sizes_of(labels, shapes, equation)
    if missing := [c for c in out if c not in sizes]:
        raise RuntimeError(f"einsum: {missing[0]!r} stands after '->' in {equation!r}, but in no operand")
    prepare = []
    for k, own in enumerate(labels):
        own, diagonals = without_repeats(own)
        elsewhere = set(out).union(*(other for m, other in enumerate(labels) if m != k))
        sums = tuple(d for d, c in enumerate(own) if c not in elsewhere)
        labels[k] = "".join(c for c in own if c in elsewhere)
        prepare.append((diagonals, sums))
    shapes = tuple(tuple(sizes[c] for c in own) for own in labels)
    pairs = []
    for i, j in contraction_order(labels, out, shapes):
        right, left = labels.pop(j), labels.pop(i)
        needed = set(out).union(*labels)
        made = [c for c in dict.fromkeys(left + right) if c in needed]
        if not labels:
            made = out
        pairs.append((i, j, f"{left},{right}->{''.join(made)}"))
        labels.append("".join(made))
    order = tuple(labels[0].index(c) for c in out)
    simple = len(pairs) == 1 and not any(map(any, prepare)) and order == tuple(range(len(order)))
    return Plan(tuple(prepare), tuple(pairs), order, pairs[0][2] if simple else "")


def parse(equation, shapes):
    """The labels of every operand and of the result, one letter a dimension, `...` written out."""
    inputs, arrow, out = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise RuntimeError(f"einsum: {equation!r} names {len(terms)} operands, but {len(shapes)} were given")
    spare = [c for c in LETTERS if c not in equation]
    extra = max(
        (len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True) if "..." in t), default=0
    )
    if extra > len(spare):
        raise RuntimeError(f"einsum: {equation!r} and its operands have more than {len(LETTERS)} dimensions")
    dots = "".join(spare[: max(extra, 0)])  # the dimensions that '...' stands for, aligned at the right
    labels = []
    for k, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        count = len(shape) - len(term.replace("...", "", 1))
        if (count < 0 if "..." in term else count != 0) or not letters_only(term):
            raise RuntimeError(
                f"einsum: the subscripts {term!r} in {equation!r} do not fit operand {k} of shape {shape}"
            )
        labels.append(term.replace("...", dots[len(dots) - count :]))
    if not arrow:
        every = "".join(terms).replace(".", "")
        out = "..." + "".join(sorted(c for c in set(every) if every.count(c) == 1))
    if not letters_only(out) or len(set(out.replace("...", ""))) != len(out.replace("...", "")):
        raise RuntimeError(f"einsum: after '->', expected letters, each once, and at most one '...'; got {out!r}")
    return labels, out.replace("...", dots)


def letters_only(term):
    """True if a term has letters and at most one ellipsis alone."""
    rest = term.replace("...", "", 1)
    return not rest or (rest.isalpha() and rest.isascii())


def sizes_of(labels, shapes, equation):
    """The size of every label; dimensions of size 1 broadcast between operands."""
    sizes = {}
    for own, shape in zip(labels, shapes, strict=True):
        within = {}
        for c, n in zip(own, shape, strict=True):
            if within.setdefault(c, n) != n:
                raise RuntimeError(
                    f"einsum: {c!r} occurs with sizes {within[c]} and {n} in one operand of {equation!r}"
                )
            if n != 1 and sizes.get(c, 1) not in (1, n):
                raise RuntimeError(f"einsum: {c!r} has sizes {sizes[c]} and {n} in the operands of {equation!r}")
            if n != 1 or c not in sizes:
                sizes[c] = n
    return sizes


def without_repeats(own):
    """The labels of an operand after diagonals over its repeated ones, and the pairs of dimensions to take."""
    pairs = []
    for c in dict.fromkeys(own):
        while own.count(c) > 1:
            first, second = own.index(c), own.rindex(c)
            pairs.append((first, second))
            own = own[:first] + own[first + 1 : second] + own[second + 1 :] + c
    return own, tuple(pairs)


def contraction_order(labels, out, shapes):
    """Which two operands to contract, step by step; the result of a step goes to the end of the list."""
    if len(labels) < 3:
        return [(0, 1)] * (len(labels) - 1)
    equation = f"{','.join(labels)}->{out}"
    steps = greedy_contractions(equation, shapes)
    pairs, count = [], len(labels)
    for step in steps:
        # A step over more than two operands is done two by two; its partial result stands last.
        positions = sorted(step)
        while len(positions) > 1:
            j, i = positions.pop(), positions.pop()
            pairs.append((i, j))
            count -= 1
            positions.append(count - 1)
    return pairs
