"""scipy.stats, whose functions take our tensors: distributions and statistics."""

from pullback.interop.adopt.patches import keep_patches as _keep_patches
from pullback.scipy.rules.face import face as _face

_keep_patches("scipy.interpolate")  # of splines which some distributions compute with
__getattr__, __dir__ = _face("scipy.stats")
