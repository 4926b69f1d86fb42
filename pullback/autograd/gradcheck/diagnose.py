"""Diagnoses the mistake behind a mismatch of gradcheck.

First what makes differences worthless (precision, randomness, kinks), then what the numbers of one input show
(`patterns`), then gradients that are in each other's place.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from pullback.autograd.gradcheck.analytical import analytical_jacobians
from pullback.autograd.gradcheck.compare import Block, close
from pullback.autograd.gradcheck.error import Diagnosis
from pullback.autograd.gradcheck.factors import common_factor, name_factor
from pullback.autograd.gradcheck.numerical import numerical_jacobians, one_sided
from pullback.autograd.gradcheck.patterns import PATTERNS
from pullback.autograd.gradcheck.problem import Problem
from pullback.autograd.gradcheck.sides import Map, in_forward_words, not_linear

__all__ = ["diagnose"]

Finding = tuple[Diagnosis, str]  # and for which input, in words
ELEMENTS_LOOKED_AT = 64  # for kinks


def diagnose(
    problem: Problem, blocks: list[Block], bad: list[Block], rule: Map | None = None, forward: bool = False
) -> list[Finding]:
    """The mistakes that explain the failing blocks, the likeliest first; `rule` is what is wrong, as a map."""
    findings = _diagnosed(problem, blocks, bad, rule, forward)
    return [(in_forward_words(d), where) for d, where in findings] if forward else findings


def _diagnosed(
    problem: Problem, blocks: list[Block], bad: list[Block], rule: Map | None, forward: bool
) -> list[Finding]:
    steps = _worst_precision(blocks)
    if steps is not None:
        problem, blocks = _with_coarse_steps(problem, blocks, steps)
        bad = [b for b in blocks if not close(problem, b.analytical, b.numerical).all()]
        if not bad:
            return [(_low_precision(blocks), "")]
    for whole in (_outside_domain, _forward_varies, _kink):
        if found := whole(problem, bad):
            return [(found, "")]
    if rule is not None and (found := not_linear(rule, forward)):
        return [(found, "")]
    if found := _unreliable(problem, blocks, bad):
        return [
            (found, "")
        ]  # or else their error, which curvature makes about the same everywhere, looks like a factor
    swapped = _swapped_inputs(problem, blocks, bad) or _swapped_outputs(problem, blocks, bad)
    findings = [(swapped, "")] if swapped else []
    for number in dict.fromkeys(b.input_number for b in bad):
        mine = [b for b in bad if b.input_number == number]
        where = f" for {problem.name_input(number)}"
        named = _patterns(problem, mine)
        if not named and not swapped:
            guesses = [_element_by_element, _at_other_values, _factor_of_values]
            if len(problem.wrt) > 1:  # whose values are factors of each other's gradients
                guesses.reverse()
            found = _another_inputs(problem, blocks, mine)
            for guess in guesses:
                found = found or guess(problem, mine)
            named = [(found, mine)] if found else []
        outputs = {b.output_number for b in blocks if b.input_number == number}
        findings += [(_for_outputs(problem, d, explained, outputs), where) for d, explained in named]
    return findings


def _for_outputs(problem: Problem, diagnosis: Diagnosis, explained: list[Block], outputs: set[int]) -> Diagnosis:
    """The diagnosis with the outputs to which it applies, where others are right or wrong in another way."""
    numbers = sorted({b.output_number for b in explained})
    if len(numbers) == len(outputs):
        return diagnosis
    names = " and ".join(problem.name_output(number) for number in numbers)
    return dataclasses.replace(diagnosis, text=f"for {names}, {diagnosis.text}")


def _patterns(problem: Problem, bad: list[Block]) -> list[tuple[Diagnosis, list[Block]]]:
    """The diagnoses that fit the failing blocks of one input, with these: all blocks together, or else one by one."""

    def matches(a: np.ndarray, n: np.ndarray) -> bool:
        return bool(close(problem, a, n).all())

    for pattern in PATTERNS:
        if found := pattern(bad, matches):
            return [(found, bad)]
    if len(bad) == 1:
        return []
    by_diagnosis: dict[Diagnosis, list[Block]] = {}
    for block in bad:
        for found, explained in _patterns(problem, [block]):
            by_diagnosis.setdefault(found, []).extend(explained)
    return list(by_diagnosis.items())


def _worst_precision(blocks: list[Block]) -> float | None:
    """The rounding unit of the coarsest dtype, when it is coarser than float64's."""
    units = [np.finfo(d).eps for b in blocks for d in (b.array.dtype, b.out_dtype)]
    return float(max(units)) if max(units) > 1e-10 else None


def _with_coarse_steps(problem: Problem, blocks: list[Block], unit: float) -> tuple[Problem, list[Block]]:
    """The same check with steps and tolerances that suit a coarse dtype."""
    step = unit ** (1 / 3)
    numerical = numerical_jacobians(problem, step)
    count = len(problem.wrt)
    largest = max((float(np.abs(n).max(initial=0)) for row in numerical for n in row), default=0.0)
    tolerant = copy.copy(problem)
    tolerant.eps, tolerant.rtol, tolerant.atol = step, 10 * step, step * max(largest, 1e-3)
    better = [dataclasses.replace(b, numerical=numerical[k // count][k % count]) for k, b in enumerate(blocks)]
    return tolerant, better


def _low_precision(blocks: list[Block]) -> Diagnosis:
    """Right as far as a coarse dtype can show."""
    names = {d.name for b in blocks for d in (b.array.dtype, b.out_dtype) if np.finfo(d).eps > 1e-10}
    return Diagnosis(
        "low_precision",
        f"{' and '.join(sorted(names))} is too coarse for these differences; with larger steps they agree with the"
        " gradient as far as rounding lets them.",
        "Check with float64 (or complex128) inputs, and keep the function in that dtype.",
    )


def _outside_domain(problem: Problem, bad: list[Block]) -> Diagnosis | None:
    """The function has no finite value at the point itself, in an output that fails."""
    values = problem.evaluate()
    if all(np.isfinite(values[b.order]).all() for b in bad):
        return None
    return Diagnosis(
        "not_finite",
        "the function itself is nan or infinite at these inputs.",
        "Choose inputs inside its domain (make_tensor(..., low=, high=)).",
    )


def _forward_varies(problem: Problem, bad: list[Block]) -> Diagnosis | None:
    """The function itself gives different values for the same inputs."""
    first, again = problem.evaluate(), problem.evaluate()
    gaps = [np.abs(a - b).max(initial=0) if a.shape == b.shape else np.inf for a, b in zip(first, again, strict=True)]
    largest = float(max(gaps))
    mismatch = max(float(np.nanmax(np.abs(b.analytical - b.numerical), initial=0)) for b in bad)
    if largest == 0 or largest / problem.eps < 0.01 * mismatch:
        return None
    return Diagnosis(
        "nondeterminism",
        f"the function is not deterministic: two calls with the same inputs differ by up to {largest:.3g}.",
        "Fix the seed inside the function, turn off dropout, and look for state that a call changes.",
    )


def _kink(problem: Problem, bad: list[Block]) -> Diagnosis | None:
    """Every failing entry sits where the slopes to the left and to the right differ."""
    verdicts = set()
    for number in dict.fromkeys(b.input_number for b in bad):
        mine = [b for b in bad if b.input_number == number]
        wrong_rows = np.unique(np.concatenate([np.nonzero(_wrong(problem, b))[0] for b in mine]))
        for row in wrong_rows[:ELEMENTS_LOOKED_AT]:
            verdicts |= _verdicts_at(problem, mine, int(row))
            if "smooth" in verdicts:
                return None
    if "jump" in verdicts:
        return Diagnosis(
            "discontinuity",
            "the function jumps where the gradient fails: the difference of its values does not shrink with the step.",
            "Move the inputs away from the jump; there is no derivative there.",
        )
    outside = "outside" in verdicts
    return Diagnosis(
        "kink",
        "the gradient fails only where the function has a kink (slopes to the left and to the right differ), and "
        + ("does not lie between these slopes there." if outside else "lies between these slopes there."),
        "Move the inputs away from the kink (make_tensor(..., exclude_zero=True), distinct values for max and sort)."
        + (" A value between the two slopes is what is expected of a subgradient." if outside else ""),
    )


def _verdicts_at(problem: Problem, mine: list[Block], row: int) -> set[str]:
    """Classifies the failing entries of one input element: "smooth", "jump", and "between" or "outside" slopes."""
    array = mine[0].array
    verdicts: set[str] = set()
    index = np.unravel_index(row, array.shape)
    axes = [(1.0, "real")] + [(1.0j, "imag")] * (array.dtype.kind == "c")
    slopes = {a: [list(one_sided(problem, array, index, u, problem.eps / k)) for k in (1, 2, 64)] for u, a in axes}
    for b in mine:
        wrong = _wrong(problem, b)[row]
        if not wrong.any():
            continue
        bent, steep, inside = np.zeros(wrong.shape, bool), np.zeros(wrong.shape, bool), np.ones(wrong.shape, bool)
        for _, axis in axes:
            (right, left), near, nearest = (s[b.order] for s in slopes[axis])
            size, gap = _steepest(right, left), np.abs(right - left)
            # The gap of a smooth function shrinks with the step. A side that is nan counts as bent.
            bent |= ~((gap <= 0.01 * size + problem.atol) | (np.abs(nearest[0] - nearest[1]) < 0.5 * gap))
            # A slope that grows as the step shrinks belongs to a jump.
            grown = [_steepest(*s) / np.where(size > 1e3, size, np.inf) for s in (near, nearest)]
            steep |= np.isclose(grown[0], 2, rtol=0.05) & np.isclose(grown[1], 64, rtol=0.05)
            a, slack = getattr(b.analytical[row], axis), 0.01 * size + problem.atol
            inside &= (a >= np.fmin(right, left) - slack) & (a <= np.fmax(right, left) + slack)
        if not bent[wrong].all():
            return {"smooth"}
        verdicts.add("jump" if steep[wrong].all() else "between" if inside[wrong].all() else "outside")
    return verdicts


def _steepest(right: np.ndarray, left: np.ndarray) -> np.ndarray:
    """The larger slope of two, in size; the one that is a number if the other is nan."""
    steepest: np.ndarray = np.fmax(np.abs(right), np.abs(left))
    return steepest


def _swapped_inputs(problem: Problem, blocks: list[Block], bad: list[Block]) -> Diagnosis | None:
    """Each failing input has the gradient of another failing input."""
    numbers = list(dict.fromkeys(b.input_number for b in bad))
    rows = {i: [b for b in blocks if b.input_number == i] for i in numbers}
    advice = "Return gradients in the order of the inputs."
    return _permuted(problem, rows, problem.name_input, "swapped_inputs", advice)


def _swapped_outputs(problem: Problem, blocks: list[Block], bad: list[Block]) -> Diagnosis | None:
    """Each failing output is differentiated as if it were another failing output."""
    numbers = list(dict.fromkeys(b.output_number for b in bad))
    rows = {o: [b for b in blocks if b.output_number == o] for o in numbers}
    advice = "The incoming gradients come in the order in which forward returns the outputs."
    return _permuted(problem, rows, problem.name_output, "swapped_outputs", advice)


def _permuted(
    problem: Problem, rows: dict[int, list[Block]], name: Callable[[int], str], kind: str, advice: str
) -> Diagnosis | None:
    """A permutation without fixed points that takes the analytical Jacobians to the numerical ones."""
    takes: dict[int, int] = {}
    for i, got in rows.items():
        for j, wanted in rows.items():
            if i != j and j not in takes.values() and _sign(problem, got, wanted):
                takes[i] = j
                break
        else:
            return None
    if len(takes) < 2:
        return None
    pairs = ", ".join(
        f"{name(i)} gets {'minus ' * (_sign(problem, rows[i], rows[j]) < 0)}what belongs to {name(j)}"
        for i, j in takes.items()
    )
    return Diagnosis(kind, f"gradients are in the wrong order: {pairs}.", advice)


def _sign(problem: Problem, got: list[Block], wanted: list[Block]) -> int:
    """1 if the analytical Jacobians of one are the numerical ones of the other, -1 if minus these, 0 if neither."""
    for sign in (1, -1):
        if all(
            g.analytical.shape == w.numerical.shape and close(problem, sign * g.analytical, w.numerical).all()
            for g, w in zip(got, wanted, strict=True)
        ):
            return sign
    return 0


def _another_inputs(problem: Problem, blocks: list[Block], mine: list[Block]) -> Diagnosis | None:
    """The gradient of this input is that of another one, which has its own: a factor is taken from the wrong input."""
    outputs = [b.output_number for b in mine]
    for number in dict.fromkeys(b.input_number for b in blocks if b.input_number != mine[0].input_number):
        theirs = [b for b in blocks if b.input_number == number and b.output_number in outputs]
        if sign := _sign(problem, mine, theirs):
            minus = "minus " * (sign < 0)
            return Diagnosis(
                "swapped_factors",
                f"the gradient is {minus}that of {problem.name_input(number)}: factors of the two are swapped.",
                "Look at which of the two inputs stands in the formula.",
            )
    return None


def _element_by_element(problem: Problem, mine: list[Block]) -> Diagnosis | None:
    """Each number of the input gets its gradient from one number of the output, and goes into several."""
    (b, *others) = mine
    if others or b.is_complex or b.in_shape != b.out_shape or len(b.analytical) < 2:
        return None
    between = ~np.eye(len(b.analytical), dtype=bool)
    if b.analytical[between].any() or np.count_nonzero(b.numerical[between]) < len(b.analytical):
        return None
    return Diagnosis(
        "element_by_element",
        "the gradient works element by element, but each number of the input goes into several of the output.",
        "Sum over all outputs that it goes into: for matrices that is a product by @, where * has no sum.",
    )


def _factor_of_values(problem: Problem, mine: list[Block]) -> Diagnosis | None:
    """Element by element, what the gradient is beside the right one: upside down, or off by a factor or a term.

    Factors and terms are numbers with a name, values of inputs or the output, and products of these.
    """
    (b, *others) = mine
    if others or b.is_complex or b.numerical.ndim != 2 or b.numerical.shape[0] < 2:
        return None
    rows, columns = np.nonzero(b.numerical)
    if not np.array_equal(rows, np.arange(len(b.numerical))):
        return None  # not each element of the input goes into one of the output
    n, a = b.numerical[rows, columns], b.analytical[rows, columns]
    if not a.any() or np.count_nonzero(b.analytical) > np.count_nonzero(a):
        return None
    same = [
        (problem.name_input(i), x) for i, x in zip(problem.wrt, problem.arrays, strict=True) if x.shape == b.in_shape
    ]
    values = [(name, x.ravel()) for name, x in same]
    values += [("the output", problem.evaluate()[b.order][columns])]
    with np.errstate(all="ignore"):
        return (
            _not_derived(problem, a, n, values)
            or _factor(problem, mine, a, n, values)
            or _inverted(problem, a, n)
            or (_term(problem, mine, a, n, values) if n.size > 2 else None)
        )


def _not_derived(
    problem: Problem, a: np.ndarray, n: np.ndarray, values: list[tuple[str, np.ndarray]]
) -> Diagnosis | None:
    """No derivative at all."""
    if close(problem, a, np.ones(n.size)).all():
        return Diagnosis(
            "not_derived",
            "the incoming gradient comes out as it went in, as if the function were the identity.",
            "Multiply it by the derivative of the function.",
        )
    for text, those in values if len(problem.wrt) == 1 else ():  # of several inputs, these are factors of each other
        for factor in (1, -1):
            if close(problem, a, factor * those).all():
                return Diagnosis(
                    "not_derived",
                    f"the gradient has the values of {'minus ' * (factor < 0)}{text}, not those of a derivative.",
                    "Multiply the incoming gradient by the derivative of the function.",
                )
    return None


def _factor(
    problem: Problem, mine: list[Block], a: np.ndarray, n: np.ndarray, values: list[tuple[str, np.ndarray]]
) -> Diagnosis | None:
    """A product of values, perhaps with a number, times the right gradient."""
    products = [(text, factor) for text, factor in _products(values) if np.isfinite(factor).all()]
    for text, factor in products:
        for sign, prefix in ((1, ""), (-1, "minus ")):
            if close(problem, a, sign * factor * n).all():
                swapped = "two factors are swapped" if " / " in text and not text.startswith("1") else "a factor is"
                return Diagnosis(
                    "swapped_factors" if swapped.startswith("two") else "missing_factor",
                    f"the gradient is {prefix}{text} times the right one: {swapped}"
                    + ("." if swapped.startswith("two") else " missing, or one too many."),
                    "Look at the factors of the formula, and at which of them divide.",
                )
    for text, factor in products if n.size > 2 else ():  # 2 x, say
        k = common_factor(a, factor * n)
        if k and name_factor(k, mine)[2] and close(problem, a, k * factor * n).all():
            return Diagnosis(
                "missing_factor",
                f"the gradient is {name_factor(k, mine)[0]} times {text} times the right one: a factor is missing, "
                "or one too many.",
                "Look for a derivative of an inner function that the chain rule multiplies by.",
            )
    return None


def _inverted(problem: Problem, a: np.ndarray, n: np.ndarray) -> Diagnosis | None:
    """One over the right gradient."""
    if n.size < 2 or not close(problem, a, 1 / n).all():
        return None
    return Diagnosis(
        "inverted",
        "the incoming gradient is divided by the derivative, or multiplied by one over it.",
        "Multiply by dy/dx; where the formula has dx/dy, divide.",
    )


def _term(
    problem: Problem, mine: list[Block], a: np.ndarray, n: np.ndarray, values: list[tuple[str, np.ndarray]]
) -> Diagnosis | None:
    """The right gradient plus a number, a value, or a number times one."""
    for text, term in [("", np.ones(n.size)), *values]:
        k = common_factor(a - n, term)
        if not k or not name_factor(k, mine)[2] or not close(problem, a, n + k * term).all():
            continue
        named = name_factor(abs(k), mine)[0]
        what = " times ".join(part for part in (named * (named != "1" or not text), text) if part)
        return Diagnosis(
            "missing_term",
            f"the gradient is the right one {'minus' if k.real < 0 else 'plus'} {what}: a term is missing, has the "
            "wrong sign, or is one too many.",
            "A product has one term for each factor, and a sum one for each part.",
        )
    return None


def _at_other_values(problem: Problem, mine: list[Block]) -> Diagnosis | None:
    """The formula is right, but sees the output where it means the input, or the other way round, or another input."""
    (b, *others) = mine
    if others or b.is_complex:
        return None
    here, name = b.array.copy(), problem.name_input(b.input_number)
    others_values = [
        (problem.name_input(i), x.copy())
        for i, x in zip(problem.wrt, problem.arrays, strict=True)
        if x is not b.array and x.dtype == here.dtype
    ]
    for other, values in [("the output", problem.evaluate()[b.order].reshape(b.out_shape)), *others_values]:
        if values.shape != here.shape or close(problem, values, here).all():
            continue
        numerical, analytical = _jacobians_at(problem, b, values)
        for is_used, is_meant, a, n in (
            (other, name, b.analytical, numerical),
            (name, other, analytical, b.numerical),
        ):
            if a is not None and n is not None and close(problem, a, n).all():
                return Diagnosis(
                    "saved_wrong",
                    f"the formula uses the values of {is_used} where it means those of {is_meant}.",
                    f"Save {is_meant}, and use it in the backward; a formula may be in terms of either, but not mixed.",
                )
    return None


def _jacobians_at(problem: Problem, b: Block, values: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The two Jacobians of a block where its input has other values; None for one that the function does not have."""
    here, place = b.array.copy(), problem.wrt.index(b.input_number)
    try:
        b.array[...] = values
        with np.errstate(all="ignore"):
            numerical = numerical_jacobians(problem)[b.order][place]
            analytical = analytical_jacobians(problem, problem.run())[0][b.order][place]
    except Exception:  # noqa: BLE001 - of the user's function, outside its domain: then this guess is not confirmed
        return None, None
    finally:
        b.array[...] = here
    return numerical, analytical


def _products(values: list[tuple[str, np.ndarray]]) -> Iterator[tuple[str, np.ndarray]]:
    """Products and quotients of few values, with their names."""
    for name, x in values:
        yield from ((name, x), (f"1 / {name}", 1 / x), (f"{name} squared", x * x), (f"1 / {name} squared", 1 / x**2))
    for name, x in values:
        for other, y in values:
            if name != other:
                yield f"{name} / {other}", x / y
                yield f"({name} / {other}) squared", (x / y) ** 2


def _unreliable(problem: Problem, blocks: list[Block], bad: list[Block]) -> Diagnosis | None:
    """Differences with another step disagree as much as the gradient does."""
    other = numerical_jacobians(problem, problem.eps * 10)
    count = len(problem.wrt)
    for k, b in enumerate(blocks):
        moved, mismatch = np.abs(other[k // count][k % count] - b.numerical), np.abs(b.analytical - b.numerical)
        if b in bad and not (moved > 0.3 * mismatch)[_wrong(problem, b)].all():
            return None
    return Diagnosis(
        "unreliable_differences",
        f"the differences themselves are not settled: with eps={10 * problem.eps:g} they change about as much as they"
        " disagree with the gradient.",
        "Try another eps, and inputs where the function is of moderate size and curvature.",
    )


def _wrong(problem: Problem, b: Block) -> np.ndarray:
    """Where a block fails."""
    return ~close(problem, b.analytical, b.numerical)
