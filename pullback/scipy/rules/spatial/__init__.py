"""scipy.spatial."""

from pullback.interop.adopt.scipy.ways import gives_no_gradient, leaves_out, runs_as_it_stands
from pullback.scipy.rules.spatial import pairs, rotations

__all__ = ["pairs", "rotations"]

_DISTANCES = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming",
    "jensenshannon", "mahalanobis", "seuclidean", "sqeuclidean",
)  # fmt: skip
runs_as_it_stands(
    *(f"scipy.spatial.distance.{name}" for name in _DISTANCES),
    "scipy.spatial.geometric_slerp",
    "scipy.spatial.procrustes",
)
gives_no_gradient(
    *(f"scipy.spatial.distance.{name}" for name in ("is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y")),
)
for _name in ("distance.minkowski", "minkowski_distance", "minkowski_distance_p"):
    leaves_out(f"scipy.spatial.{_name}", "p", 0.0, 1.0, 2.0, float("inf"))
