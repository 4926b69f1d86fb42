"""scipy.ndimage."""

from pullback.interop.adopt.scipy.ways import gives_no_gradient, runs_as_it_stands
from pullback.scipy.rules.ndimage import batching as _batching  # noqa: F401
from pullback.scipy.rules.ndimage import filters as _filters  # noqa: F401 - which enters its rules
from pullback.scipy.rules.ndimage import fourier as _fourier  # noqa: F401
from pullback.scipy.rules.ndimage import geometry as _geometry  # noqa: F401
from pullback.scipy.rules.ndimage import measurements as _measurements  # noqa: F401
from pullback.scipy.rules.ndimage import ranks as _ranks  # noqa: F401

gives_no_gradient(
    *(
        f"scipy.ndimage.{name}"
        for name in (
            "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes", "binary_hit_or_miss",
            "binary_opening", "binary_propagation", "distance_transform_cdt", "find_objects",
            "generate_binary_structure", "histogram", "iterate_structure", "label", "maximum_position",
            "minimum_position", "value_indices", "watershed_ift",
        )
    )
)  # fmt: skip

runs_as_it_stands(
    "scipy.ndimage.black_tophat",
    "scipy.ndimage.extrema",
    "scipy.ndimage.grey_dilation",
    "scipy.ndimage.grey_erosion",
    "scipy.ndimage.grey_opening",
    "scipy.ndimage.morphological_laplace",
    "scipy.ndimage.white_tophat",
    "scipy.ndimage.center_of_mass",
    "scipy.ndimage.grey_closing",
    "scipy.ndimage.maximum",
    "scipy.ndimage.mean",
    "scipy.ndimage.median",
    "scipy.ndimage.minimum",
    "scipy.ndimage.morphological_gradient",
    "scipy.ndimage.sum",
    "scipy.ndimage.sum_labels",
    "scipy.ndimage.variance",
)
