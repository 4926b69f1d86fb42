"""scipy.special: slopes.yaml has most functions, one line each."""

import scipy.special as _special

from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.ways import gives_no_gradient, runs_as_it_stands
from pullback.scipy.rules.special import distributions as _distributions  # noqa: F401 - which enters its rules
from pullback.scipy.rules.special import functions as _functions  # noqa: F401 - which enters its rules
from pullback.scipy.rules.special import operators

_RENAMED = {"kl_divergence": "kl_div"}  # of which an operator of the package has the name
_CONSTANTS = {"mathieu_a", "mathieu_b", "obl_cv", "pro_cv"}  # of differential equations: of no argument differentiable
for _name in operators.__all__:
    _public = _RENAMED.get(_name, _name)
    if hasattr(_special, _public) and _name not in _CONSTANTS:
        scipy_rule(f"scipy.special.{_public}")(getattr(operators, _name))

runs_as_it_stands(
    "scipy.special.assoc_laguerre",
    "scipy.special.h1vp",
    "scipy.special.h2vp",
    "scipy.special.ivp",
    "scipy.special.jvp",
    "scipy.special.kvp",
    "scipy.special.yvp",
    "scipy.special.log_softmax",
    "scipy.special.softmax",
)
gives_no_gradient("scipy.special.gammasgn", "scipy.special.round")
