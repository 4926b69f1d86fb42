"""How SciPy's functions take our tensors, area by area. An area is imported when one of its functions first meets one.

face.py      what `pullback.scipy.linalg` and its kin have in common
<area>/      rules by topic; where compiled code needs a derivative of its own: declarations.yaml, from which
             operators.py is generated (`make codegen`), kernels.py and formulas.py; types.py for its annotations
"""

from importlib import import_module as _import_module

from pullback.scipy import __all__ as _AREAS


def load(name: str) -> None:
    """Import the rules of the area of a function ("scipy.linalg.expm"), which enter themselves."""
    library, _, rest = name.partition(".")
    area = rest.partition(".")[0]
    if library == "scipy" and area in _AREAS:
        _import_module(f"{__name__}.{area}")
