"""Writes pullback/compiler/native/functions/coefficients.py: the polynomials of the elementary functions.

    python tools/polynomials.py           # after a change of POLYNOMIALS or of the constants below
    python tools/polynomials.py --check   # fails if the file is not what this would write
    python tools/polynomials.py --errors  # the largest error of each polynomial, in bits

A polynomial interpolates its function at Chebyshev's points, which is within a bit of the best one there is (Trefethen,
Approximation Theory and Approximation Practice, chapter 16). The sweeps of the tests say whether it is good enough.
"""

import sys
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mp, mpf

TARGET = Path(__file__).parents[1] / "pullback/compiler/native/functions/coefficients.py"
LN2_HALF = mpmath.log(2) / 2


def _odd(f):
    """z -> (f(x) / x - 1) / z for z = x**2."""
    return lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def _logarithm(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def _scaled_tail(q):
    """((1 + 2 x) exp(x**2) erfc(x) - 1) / (1 + q) for q = (x - 4) / (x + 4)."""
    x = 4 * (1 + q) / (1 - q)
    tail = mp.exp(x * x) * mp.erfc(x) if x < 100 else _far_tail(x)
    return ((1 + 2 * x) * tail - 1) / (1 + q)


def _far_tail(x):
    """exp(x**2) erfc(x) by the continued fraction."""
    fraction = x
    for k in range(400, 0, -1):
        fraction = x + mpf(k) / 2 / fraction
    return 1 / (mp.sqrt(mp.pi) * fraction)


def _stirling(z):
    """x times what Stirling's formula for log(gamma(x)) leaves, for z = 1 / x**2."""
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def _root_of_digamma():
    return mp.findroot(mp.digamma, mpf("1.4616321449683623"))


def _near_root(t):
    """digamma(x) / (x - its root) for x = 1.625 + t."""
    x = t + mpf("1.625")
    return mp.digamma(x) / (x - ROOT)


def _far_digamma(z):
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z


def _far_trigamma(z):
    """x**3 times what 1 / x + 1 / (2 x**2) leaves of the derivative of digamma, for z = 1 / x**2."""
    x = 1 / mp.sqrt(z)
    return (mp.psi(1, x) - 1 / x - z / 2) * x**3


with mp.workprec(400):
    ROOT = _root_of_digamma()


# name: (function, interval, terms in double precision, in single precision)
POLYNOMIALS = {
    "EXP": (lambda r: (mp.expm1(r) - r) / r**2, (-0.3466, 0.3466), 10, 5),
    "EXP2": (lambda r: mp.expm1(r * mp.log(2)) / r, (-0.5, 0.5), 11, 6),
    "LOG": (_logarithm, (0, 0.02945), 7, 3),
    "POW_LOG": (lambda z: (3 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 3 - z) / z**2, (0, 0.02945), 7, 0),
    "POW_LOG_SINGLE": (lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / mp.log(2), (0, 0.02945), 5, 0),
    "EXP2_SINGLE": (lambda r: mpf(2) ** r, (-0.5, 0.5), 7, 0),
    "CBRT": (mp.cbrt, (0.353, 2.83), 5, 8),
    "SIN": (_odd(mp.sin), (0, 0.617), 6, 3),
    "COS": (lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, (0, 0.617), 6, 3),
    "TAN": (_odd(mp.tan), (0, 0.617), 14, 7),
    "SINH": (_odd(mp.sinh), (0, 1), 7, 4),
    "TANH": (_odd(mp.tanh), (0, 0.3025), 11, 5),
    "ASIN": (_odd(mp.asin), (0, 0.25), 13, 6),
    "ATAN": (_odd(mp.atan), (0, 0.2501), 13, 6),
    "ASINH": (_odd(mp.asinh), (0, 0.25), 12, 6),
    "ATANH": (_odd(mp.atanh), (0, 0.25), 13, 6),
    "ERF": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, (0, 1), 13, 7),
    # Beyond the end of the interval erfc is so small that the error is less.
    "LOG_ERFC": (lambda u: mp.log(mp.erfc(u + 2)), (-1, 1.6), 20, 9),
    # After Shepherd and Laframboise, Mathematics of Computation 36, 1981, 249-253.
    "ERFCX": (_scaled_tail, (-1, 1), 26, 12),
    "LGAMMA": (lambda t: mp.loggamma(2 + t) / t, (-0.75, 1), 25, 0),
    "STIRLING": (_stirling, (0, 0.015626), 8, 0),
    "DIGAMMA": (_near_root, (-0.625, 0.625), 24, 0),
    "DIGAMMA_FAR": (_far_digamma, (0, 0.015626), 8, 0),
    "TRIGAMMA_FAR": (_far_trigamma, (0, 0.015626), 8, 0),
    "ACOSH": (lambda t: (mp.acosh(1 + t) / mp.sqrt(2 * t) - 1) / t, (0, 0.5), 12, 6),
}

# What is added or multiplied in parts: name: (number, bits of each part but the last, parts in double, in single).
PARTS = {
    "LN2": (lambda: mp.log(2), {64: 32, 32: 15}, 2),
    "HALF_PI": (lambda: mp.pi / 2, {64: 32, 32: 15}, 4),
    "PI": (lambda: +mp.pi, {64: 53, 32: 24}, 2),
    "RECIPROCAL_LN2": (lambda: 1 / mp.log(2), {64: 26, 32: 12}, 2),
    "RECIPROCAL_LN10": (lambda: 1 / mp.log(10), {64: 26, 32: 12}, 2),
    "DIGAMMA_ROOT": (lambda: ROOT, {64: 53}, 2),
    "LOG_ROOT_TAU": (lambda: mp.log(2 * mp.pi) / 2, {64: 53}, 2),
    "ROOT_HALF": (lambda: mp.sqrt(mpf(1) / 2), {64: 26, 32: 12}, 2),
    "POW_SCALE": (lambda: 2 / (3 * mp.log(2)), {64: 26, 32: 12}, 2),
    "LOG10_2": (lambda: mp.log10(2), {64: 32, 32: 15}, 2),
}


def coefficients(f, interval, terms):
    """Those of the interpolating polynomial, the highest first."""
    low, high = map(mpf, interval)
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * terms)) for k in range(terms)]
    points = [x if abs(x) > 1e-30 else mpf(1e-30) for x in points]  # where the functions above are 0 / 0
    matrix = mp.matrix(terms, terms)
    for row, x in enumerate(points):
        for column in range(terms):
            matrix[row, column] = x ** (terms - 1 - column)
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in points])))


def error(f, interval, found, beside=0):
    """The largest error, relative to the function and what is added to it, in bits."""
    low, high = map(mpf, interval)
    points = [low + (high - low) * (k + mpf(1) / 3) / 200 for k in range(200)]
    return max(mp.log(abs((mp.polyval(found, x) - f(x)) / (f(x) + beside)), 2) for x in points)


def parts(number, bits, count, digits):
    """Numbers of so many bits, the last of `digits`, that add up to this one."""
    found = []
    for k in range(count):
        with mp.workprec(bits if k < count - 1 else digits):
            part = +number
        found.append(part)
        number -= part
    return found


def _text(x, bits):
    return repr(float(x)) if bits == 64 else str(np.float32(float(x)))


def _tuple(numbers, bits):
    lines, line = [], "       "
    for x in numbers:
        if len(line) + len(text := f" {_text(x, bits)},") > 118:
            lines.append(line)
            line = "       "
        line += text
    return "(\n" + "\n".join([*lines, line]) + "\n    )"


def written():
    """The text of the file."""
    out = [
        '"""Coefficients, the highest first, and constants in parts. Written by tools/polynomials.py; edit there."""',
        "",
        "from typing import Final, TypeAlias",
        "",
        "Table: TypeAlias = dict[int, tuple[float, ...]]",
        "",
        "# fmt: off",
    ]
    for name, (f, interval, double, single) in POLYNOMIALS.items():
        tables = (
            f"    {bits}: {_tuple(coefficients(f, interval, terms), bits)},\n"
            for bits, terms in ((64, double), (32, single))
            if terms
        )
        out.append(f"{name}: Final[Table] = {{\n{''.join(tables)}}}")
    for name, (number, bits, count) in PARTS.items():
        tables = (
            f"    {b}: {_tuple(parts(number(), bits[b], count, d), b)},\n" for b, d in ((64, 53), (32, 24)) if b in bits
        )
        out.append(f"{name}: Final[Table] = {{\n{''.join(tables)}}}")
    words = int(mp.floor(2 / mp.pi * mpf(2) ** (32 * 40)))
    out.append("# The binary digits of 2 / pi after the point, 32 in a word.")
    rows = [f"{words >> 32 * (39 - k) & 0xFFFFFFFF:#010x}," for k in range(40)]
    out.append(
        "TWO_OVER_PI: Final = (\n" + "\n".join("    " + " ".join(rows[k : k + 8]) for k in range(0, 40, 8)) + "\n)"
    )
    out.append("# fmt: on\n")
    return "\n".join(out)


def main():
    """Write the file, check it, or tell the errors."""
    mp.prec = 1500
    if "--errors" in sys.argv:
        mp.prec = 300
        for name, (f, interval, double, single) in POLYNOMIALS.items():
            found = [
                float(error(f, interval, coefficients(f, interval, terms), name == "ERF"))
                for terms in (double, single or double)
            ]
            print(f"{name:10} {found[0]:8.1f} {found[1]:8.1f}")
        return 0
    with mp.workprec(1500):
        text = written()
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            print(f"{TARGET} is not what tools/polynomials.py writes; run it.")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
