"""scipy.interpolate, whose functions take our tensors: splines and interpolation.

Objects of its classes that are made of plain arrays take our tensors as points: methods of these classes are replaced.
"""

import scipy.interpolate as _genuine  # noqa: F401 - whose methods are replaced

from pullback.interop.adopt.patches import keep_patches as _keep_patches
from pullback.scipy.rules.face import face as _face

_keep_patches("scipy.interpolate")
__getattr__, __dir__ = _face("scipy.interpolate")
