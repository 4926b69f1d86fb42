"""Composite operators of the area nn."""

from pullback.ops.composite.activations import *  # noqa: F403 - each lists its operators
from pullback.ops.composite.attention import *  # noqa: F403
from pullback.ops.composite.bags import *  # noqa: F403
from pullback.ops.composite.layers import *  # noqa: F403
from pullback.ops.composite.likelihoods import *  # noqa: F403
from pullback.ops.composite.linear_losses import *  # noqa: F403
from pullback.ops.composite.losses import *  # noqa: F403
from pullback.ops.composite.margins import *  # noqa: F403
from pullback.ops.composite.noise import *  # noqa: F403
from pullback.ops.composite.normalisations import *  # noqa: F403
