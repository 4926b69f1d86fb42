"""The composites of the area spatial, from the modules of its topics."""

from pullback.ops.composite.adaptive import *  # noqa: F403
from pullback.ops.composite.convolutions import *  # noqa: F403
from pullback.ops.composite.grids import *  # noqa: F403
from pullback.ops.composite.interpolation import *  # noqa: F403
from pullback.ops.composite.padding import *  # noqa: F403
from pullback.ops.composite.pooling import *  # noqa: F403
from pullback.ops.composite.regions import *  # noqa: F403
from pullback.ops.composite.shuffles import *  # noqa: F403
