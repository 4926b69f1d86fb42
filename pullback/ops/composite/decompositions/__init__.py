"""Composite operators of the area decompositions."""

from pullback.ops.composite.decompositions.eigenpairs import *  # noqa: F403 - each lists its operators
from pullback.ops.composite.decompositions.factorisations import *  # noqa: F403
from pullback.ops.composite.decompositions.norms import *  # noqa: F403
from pullback.ops.composite.decompositions.products import *  # noqa: F403
from pullback.ops.composite.decompositions.solves import *  # noqa: F403
from pullback.ops.composite.decompositions.spectra import *  # noqa: F403
