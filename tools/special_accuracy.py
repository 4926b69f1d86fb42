"""Write docs/special.md: how far the special functions and their first derivatives are from mpmath's, by region.

python tools/special_accuracy.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.ops.special_regions import REGIONS, worst  # noqa: E402 - found by the path above

HEAD = """# Special functions: how exact

`pullback.special` has the names of `torch.special`, and from SciPy Bessel functions of any order (`jv`, `yv`, `iv`,
`kv`), `betainc` and the inverses `gammaincinv`, `gammainccinv`, `betaincinv`, `erfcinv`. SciPy's own functions take
Tensors too: `scipy.special.gammainc(2.0, t)`.

Values are SciPy's. Derivatives are formulas in the same functions, never differences, and chosen so that nothing
cancels in the tails: the slope of `erfcx` is not `2 x erfcx(x) - 2 / sqrt(pi)`, which has not one right digit left at
x = 1e8. Nor do they divide 0 by 0: `sinc`, `i1`, `spherical_bessel_j0` and the polynomials are differentiable to
every order at 0 and at the ends of their intervals.

Differentiable here and not in PyTorch: the Bessel and Airy functions, and the orthogonal polynomials in x. Not
differentiable, as in PyTorch: `igamma` and `igammac` in the first argument, `zeta` in its exponent; nor, as nobody
has derived it, Bessel functions in their order and the integrals in their shapes. The degree of a polynomial is cut
to a whole number, so it has no gradient.

The table has the largest relative error over points spread over each region, in units of the last place of float64
(2.2e-16), against [mpmath](https://mpmath.org) at 60 digits. Where a function has zeros the error is relative to its
size about there, as no number of digits can hold at a zero. Errors of a hundred units have one reason: the function
multiplies the rounding of its argument, or of a step inside, by so much, as exp(-x**2 / 2) does by x**2; SciPy's
`j0`, `j1`, `y0` and `y1` the rounding of x - pi / 4, by about x / 5. One row is bad: SciPy's `gammainc` sums no more
than 2000 terms, which for a = 1e6 leaves six digits in the lower tail. PyTorch's own `bessel_j0`, `bessel_j1`,
`bessel_y0` and `bessel_y1` have seven right digits about x = 5, so comparisons with them fail there.

`python tools/special_accuracy.py` writes this page.

| function | from | to | value | derivative |
|---|---|---|---|---|
"""


def main():
    """Write the page."""
    rows = []
    for region in REGIONS:
        value, slope = (f"{error / 2**-52:.1f}" for error in worst(region))
        rows.append(f"| {region.label} | {region.low:g} | {region.high:g} | {value} | {slope} |\n")
    (ROOT / "docs" / "special.md").write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    main()
