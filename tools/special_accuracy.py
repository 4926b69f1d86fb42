"""Write docs/special.md: how far the special functions and their first derivatives are from mpmath's, by region.

python tools/special_accuracy.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.ops.special_regions import REGIONS, worst  # noqa: E402 - found by the path above
from tests.scipy.special_parameters import PARAMETERS, labels  # noqa: E402

HEAD = """# Special functions: how exact

`pullback.special` has the names of `torch.special`. From SciPy it has Bessel functions of any order (`jv`, `yv`, `iv`,
`kv`), `betainc`, and the inverses `gammaincinv`, `gammainccinv`, `betaincinv` and `erfcinv`. SciPy's own functions take
Tensors too: `scipy.special.gammainc(2.0, t)`.

Values are SciPy's. Derivatives are formulas in the same functions, and never differences. The formulas are chosen so
that nothing cancels in the tails. For example, the slope of `erfcx` is not computed as
`2 x erfcx(x) - 2 / sqrt(pi)`, which has no correct digit at x = 1e8. The formulas do not divide 0 by 0 either: `sinc`,
`i1`, `spherical_bessel_j0` and the polynomials are differentiable to every order at 0 and at the ends of their
intervals.

The Bessel and Airy functions, and the orthogonal polynomials in x, are differentiable here and not in PyTorch. Under
the names of `torch.special`, parameters are not differentiable, as in PyTorch: the first argument of `igamma` and
`igammac`, the exponent of `zeta`, orders of Bessel functions. `scipy.special`'s own functions are differentiable in
their [parameters](#parameters) too. The degree of a polynomial is truncated to an integer, so it has no gradient.

The table gives the largest relative error over points spread over each region. Errors are in units of the last place
of float64 (2.2e-16). The reference is [mpmath](https://mpmath.org) at 60 digits. Near a zero of the function the error
is relative to the size of the function around it, because no fixed number of digits is right at a zero.

Errors of a hundred units have one reason: the function multiplies the rounding error of its argument, or of an
intermediate step. exp(-x**2 / 2) multiplies it by x**2. SciPy's `j0`, `j1`, `y0` and `y1` multiply the rounding error
of x - pi / 4 by about x / 5. One row is bad: SciPy's `gammainc` sums at most 2000 terms. For a = 1e6 that leaves six
right digits in the lower tail. PyTorch's own `bessel_j0`, `bessel_j1`, `bessel_y0` and `bessel_y1` have seven right
digits near x = 5, so comparisons with them fail there.

`python tools/special_accuracy.py` writes this page.

| function | from | to | value | derivative |
|---|---|---|---|---|
"""

PARAMETERS_HEAD = """
## Parameters

`scipy.special.gammainc(a, x)` and related functions are differentiable in `a` too, to any order. No differences are
taken:

- The derivative of an incomplete integral is the integral of the differentiated integrand. It is computed on the side
  where the integrand has one sign.
- Bessel functions are integrated along lines of steepest descent.
- Series and recurrences are differentiated term by term.

The table gives the largest relative error over points spread over each region, against mpmath. For oscillating
functions the error is relative to the size of the function.

Where no accurate derivative is known, an error is raised: `hyp2f1` in a, b, c for x < -99 or x > 0.99, `hyperu` for
a <= 0, Carlson's integrals of negative or complex numbers, Bessel functions of complex arguments in the order,
and `wright_bessel` for b <= 0. For negative arguments the derivative of Bessel functions in the order is nan. So
is the slope of `lpmv` at -1 and 1, of `agm` where an argument is 0, of inverses such as `bdtrik` at the probabilities 0
and 1, and of inverses where SciPy's search finds no solution (`ncfdtridfn` with `nc` of 1e5). The error of a second
derivative in a parameter is relative to the size of its terms: far out in an upper tail of `gammainc` these
derivatives lose digits.

| function | region | error |
|---|---|---|
"""


def main():
    """Write the page."""
    rows = []
    for region in REGIONS:
        value, slope = (f"{error / 2**-52:.1f}" for error in worst(region))
        rows.append(f"| {region.label} | {region.low:g} | {region.high:g} | {value} | {slope} |\n")
    parameters = [
        f"| {label} | {row.region} | {row.worst():.0e} |\n" for label, row in zip(labels(), PARAMETERS, strict=True)
    ]
    page = HEAD + "".join(rows) + PARAMETERS_HEAD + "".join(parameters)
    (ROOT / "docs" / "special.md").write_text(page)


if __name__ == "__main__":
    main()
