"""The default random generator: seeding it, saving and restoring its state.

It is a NumPy Generator (PCG64). Every random operator takes `generator=`, a numpy.random.Generator of one's own.
"""

from pullback.arrays.numpy.random.draws import default_generator, get_rng_state, manual_seed, set_rng_state
from pullback.core.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = ["default_generator", "get_rng_state", "manual_seed", "set_rng_state"]

__getattr__ = _getter(__name__, _HOMES)
