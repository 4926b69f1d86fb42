"""scipy.fft's fast Hankel transforms: SciPy's own Python, behind the object that chooses a backend."""

from __future__ import annotations

from pullback.core.numpy_types import AnyArray
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.ways import leaves_out


def _enter(name: str) -> None:
    behind = f"scipy.fft._fftlog_backend.{name}"
    leaves_out(behind, "bias", 0.0)

    @scipy_rule(f"scipy.fft.{name}")
    def transform(*args: object, **kwargs: object) -> AnyArray:
        return RULES[behind](*args, **kwargs)


for _name in ("fht", "ifht"):
    _enter(_name)
