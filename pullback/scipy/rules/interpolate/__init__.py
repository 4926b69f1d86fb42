"""scipy.interpolate: the classes run as they stand, on rules for what is compiled."""

from pullback.interop.adopt.scipy.clones import CLASSES
from pullback.interop.adopt.scipy.ways import functions_run_as_they_stand, methods_run_as_they_stand, runs_as_it_stands
from pullback.scipy.rules.interpolate import fitpack as _fitpack  # noqa: F401 - which enters its rules
from pullback.scipy.rules.interpolate import grids as _grids  # noqa: F401
from pullback.scipy.rules.interpolate import objects as _objects  # noqa: F401
from pullback.scipy.rules.interpolate import pieces as _pieces  # noqa: F401
from pullback.scipy.rules.interpolate import polynomials as _polynomials  # noqa: F401
from pullback.scipy.rules.interpolate import radial as _radial  # noqa: F401
from pullback.scipy.rules.interpolate import scattered as _scattered  # noqa: F401
from pullback.scipy.rules.interpolate import splines as _splines  # noqa: F401
from pullback.scipy.rules.interpolate import surfaces as _surfaces  # noqa: F401

methods_run_as_they_stand(
    "scipy.interpolate.Akima1DInterpolator",
    "scipy.interpolate.BPoly",
    "scipy.interpolate.BSpline",
    "scipy.interpolate.BarycentricInterpolator",
    "scipy.interpolate.CubicHermiteSpline",
    "scipy.interpolate.CubicSpline",
    "scipy.interpolate.FloaterHormannInterpolator",
    "scipy.interpolate.InterpolatedUnivariateSpline",
    "scipy.interpolate.KroghInterpolator",
    "scipy.interpolate.LSQUnivariateSpline",
    "scipy.interpolate.NdBSpline",
    "scipy.interpolate.NdPPoly",
    "scipy.interpolate.PPoly",
    "scipy.interpolate.PchipInterpolator",
    "scipy.interpolate.RBFInterpolator",
    "scipy.interpolate.Rbf",
    "scipy.interpolate.RectBivariateSpline",
    "scipy.interpolate.RegularGridInterpolator",
    "scipy.interpolate.UnivariateSpline",
    "scipy.interpolate._fitpack2._DerivedBivariateSpline",
    "scipy.interpolate.interp1d",
)
CLASSES.update(  # those that have no rule, but take tensors as points once they are made of plain data
    f"scipy.interpolate.{name}"
    for name in (
        "AAA", "LSQBivariateSpline", "LSQSphereBivariateSpline", "RectSphereBivariateSpline", "SmoothBivariateSpline",
        "SmoothSphereBivariateSpline",
    )
)  # fmt: skip
functions_run_as_they_stand("scipy.interpolate.PPoly", "construct_fast", "from_bernstein_basis", "from_spline")
functions_run_as_they_stand("scipy.interpolate.BPoly", "construct_fast", "from_derivatives", "from_power_basis")
functions_run_as_they_stand(
    "scipy.interpolate.BSpline", "basis_element", "construct_fast", "design_matrix", "from_power_basis"
)
runs_as_it_stands(
    "scipy.interpolate.barycentric_interpolate",
    "scipy.interpolate.bisplev",
    "scipy.interpolate.griddata",
    "scipy.interpolate.insert",
    "scipy.interpolate.interpn",
    "scipy.interpolate.krogh_interpolate",
    "scipy.interpolate.make_interp_spline",
    "scipy.interpolate.make_lsq_spline",
    "scipy.interpolate.make_smoothing_spline",
    "scipy.interpolate.pade",
    "scipy.interpolate.pchip_interpolate",
    "scipy.interpolate.spalde",
    "scipy.interpolate.splantider",
    "scipy.interpolate.splder",
    "scipy.interpolate.splev",
    "scipy.interpolate.splint",
    "scipy.interpolate.sproot",
)
