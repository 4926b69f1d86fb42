"""docs/scipy.md is what the tool writes, and says of every public function how it is differentiated, or why not."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.sparse.linalg
import scipy.special
from scipy import ndimage, signal

import pullback as pb
import pullback.scipy.linalg
from tools import scipy_functions as tool

ROWS = tool.table()
OF_THIS_VERSION = tool.version_of(tool.PAGE.read_text(encoding="utf-8")) == tool.version()


@pytest.mark.skipif(not OF_THIS_VERSION, reason="docs/scipy.md is of another SciPy")
def test_every_public_function_has_a_way_or_a_reason():
    assert [name for name, (_, why) in ROWS.items() if why == tool.NO_RULE] == []
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run: python tools/scipy_functions.py"


def test_no_reason_is_given_for_what_has_a_way():
    assert [name for name in tool.reasons() if name in ROWS and ROWS[name][0] != tool.REFUSED] == []


IMAGE = np.cos(np.arange(1600.0)).reshape(40, 40)
ROW, COLUMN, MATRIX = np.array([1.0, 2.0, 0.5]), np.array([0.3, 1.0, 0.7]), np.array([[0.3, -0.2], [0.9, 0.4]])


def to_and_fro(x, c0, z1):
    """What is advised for symiirorder1."""
    mirrored = np.concatenate([x[::-1], x, x[::-1]])
    forth = signal.lfilter([1.0], [1.0, -z1], mirrored)
    return signal.lfilter([c0], [1.0, -z1], forth[::-1])[::-1][len(x) : 2 * len(x)]


def condition(A):
    """What is advised for expm_cond."""
    jacobian = pb.func.jacobian(pb.scipy.linalg.expm)(A).reshape(4, 4)
    return np.linalg.norm(jacobian, 2) * np.linalg.norm(A) / np.linalg.norm(scipy.linalg.expm(A))


ADVISED = {  # what the reasons of refused functions say to take: the function, and that
    "cspline2d": lambda: (signal.cspline2d(IMAGE, 0.0, 1e-12), ndimage.spline_filter(IMAGE, 3, mode="reflect")),
    "qspline2d": lambda: (signal.qspline2d(IMAGE, 0.0, 1e-12), ndimage.spline_filter(IMAGE, 2, mode="reflect")),
    "sepfir2d": lambda: (
        signal.sepfir2d(IMAGE, ROW, COLUMN),
        ndimage.convolve1d(ndimage.convolve1d(IMAGE, ROW, axis=1), COLUMN, axis=0),
    ),
    "symiirorder1": lambda: (signal.symiirorder1(IMAGE[0], 0.3, 0.4, 1e-12), to_and_fro(IMAGE[0], 0.3, 0.4)),
    "expm_cond": lambda: (scipy.linalg.expm_cond(MATRIX), condition(MATRIX)),
    "assoc_legendre_p": lambda: (scipy.special.assoc_legendre_p(3, 2, 0.3)[0], scipy.special.lpmv(2, 3, 0.3)),
    "onenormest": lambda: (scipy.sparse.linalg.onenormest(MATRIX), np.linalg.norm(MATRIX, 1)),
    "newton_cotes": lambda: (
        scipy.integrate.newton_cotes(2)[0],
        np.linalg.solve(np.vander([0, 1, 2.0]).T, [8 / 3, 2, 2]),
    ),
}


@pytest.mark.parametrize("both", ADVISED.values(), ids=ADVISED)
def test_what_the_table_advises_computes_what_is_refused(both):
    refused, advised = both()
    np.testing.assert_allclose(advised, refused, rtol=1e-9, atol=1e-9)


def test_the_page_says_of_which_scipy_it_is():
    assert tool.version_of(tool.page()) == tool.version()
