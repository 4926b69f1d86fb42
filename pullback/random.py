"""The default random generator: seed it, save its state, restore its state.

It is a numpy.random.Generator (PCG64). Every random operator also takes `generator=`, a numpy.random.Generator of your
own.
"""

from pullback.arrays.numpy.random.draws import default_generator, get_rng_state, manual_seed, set_rng_state
from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = ["default_generator", "get_rng_state", "manual_seed", "set_rng_state"]

__getattr__ = _getter(__name__, _HOMES)
