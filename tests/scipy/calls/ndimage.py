"""Calls of scipy.ndimage."""

import numpy as np
from scipy import ndimage

from tests.scipy.calls import v

MODES = ("reflect", "mirror", "nearest", "constant", "wrap", "grid-wrap", "grid-constant", "grid-mirror")


def image(x):
    """An image of a vector."""
    return np.outer(np.concatenate([x, np.sin(3 * x)]), np.append(v, 0.7)) + np.outer(
        np.arange(8.0), x[[0, 1, 2, 3, 0]]
    )


def places(x):
    """Places in it, and some beyond its borders."""
    rows = [x[0] * 3.3 * np.linspace(-0.7, 1.41, 7), 2.1 * x[1] * np.cos(np.arange(7)) + 2.27 * x[3]]
    return np.stack(rows)


CALLS = {
    "scipy.ndimage.map_coordinates": [
        lambda x, order=order, mode=mode: ndimage.map_coordinates(image(x), places(x), order=order, mode=mode, cval=0.6)
        for order in (1, 2, 3, 4, 5)
        for mode in MODES
    ]
    + [
        lambda x: ndimage.map_coordinates(image(x), places(v), order=0, mode="nearest"),
        lambda x: ndimage.map_coordinates(image(x) * (1 + 0.5j), places(x), prefilter=False),
    ],
    "scipy.ndimage.spline_filter": [
        lambda x, order=order, mode=mode: ndimage.spline_filter(image(x), order, mode=mode)
        for order in (2, 3, 4, 5)
        for mode in ("mirror", "reflect", "grid-wrap")
    ],
    "scipy.ndimage.spline_filter1d": [
        lambda x: ndimage.spline_filter1d(image(x), 3, 0, mode="nearest"),
        lambda x: ndimage.spline_filter1d(x * (1 + 1j), 5, output=complex, mode="wrap"),
    ],
    "scipy.ndimage.zoom": [
        *(lambda x, mode=mode: ndimage.zoom(image(x), (1.3, 0.71), mode=mode, order=3) for mode in MODES),
        lambda x: ndimage.zoom(image(x), 2, order=1, mode="grid-wrap", grid_mode=True),
        lambda x: ndimage.zoom(image(x), 1),
    ],
    "scipy.ndimage.shift": [
        *(lambda x, mode=mode: ndimage.shift(image(x), x[:2] - 0.8, mode=mode) for mode in MODES),
    ],
    "scipy.ndimage.affine_transform": [
        lambda x: ndimage.affine_transform(image(x), np.array([[x[0], 0.1], [-0.2, x[1]]]), x[2:] + 0.123, order=3),
        lambda x: ndimage.affine_transform(image(x), [x[0], 0.9], 0.3, (5, 6), mode="mirror"),
        lambda x: ndimage.affine_transform(image(x), [[x[0], 0.1, 0.2], [-0.2, x[1], x[3]]], mode="reflect", order=4),
    ],
    "scipy.ndimage.rotate": [
        lambda x: ndimage.rotate(image(x), 13 * x[0], mode="mirror", reshape=False),
        lambda x: ndimage.rotate(image(x), -27 * x[0], order=2),
    ],
    "scipy.ndimage.geometric_transform": [
        lambda x: ndimage.geometric_transform(
            image(x), lambda at: (at[0] * x[0] + 0.1, at[1] + 0.3 * x[1]), mode="mirror"
        ),
    ],
}
W = np.array([[0.3, -1.0, 0.2], [0.7, 2.0, -0.4]])
for _name in ("correlate", "convolve"):
    CALLS[f"scipy.ndimage.{_name}"] = [
        *(
            lambda x, f=_name, mode=mode: getattr(ndimage, f)(image(x), np.outer(x[:3], v[:2]), mode=mode, cval=0.3)
            for mode in MODES
        ),
        lambda x, f=_name: getattr(ndimage, f)(image(x), W * x[0], origin=(0, -1), mode="wrap"),
        lambda x, f=_name: getattr(ndimage, f)(image(x) * (1 + 1j), W * (1 - 0.3j)),
        lambda x, f=_name: getattr(ndimage, f)(image(x), x, axes=[0]),
    ]
    CALLS[f"scipy.ndimage.{_name}1d"] = [
        *(lambda x, f=_name, m=m: getattr(ndimage, f + "1d")(image(x), x[:3], 0, mode=m, cval=0.3) for m in MODES),
        lambda x, f=_name: getattr(ndimage, f + "1d")(image(x), x, origin=1),
        lambda x, f=_name: getattr(ndimage, f + "1d")(image(x), x * (1 + 1j)),
        lambda x, f=_name: getattr(ndimage, f + "1d")([x[0], x[1], 3.0], [0.2, 1.0]),
    ]
CALLS |= {
    "scipy.ndimage.gaussian_filter": [
        *(lambda x, m=m: ndimage.gaussian_filter(image(x), x[:2], mode=m, cval=0.3) for m in MODES),
        lambda x: ndimage.gaussian_filter(image(x), x[0] / 2, order=(1, 3), truncate=3.1),
        lambda x: ndimage.gaussian_filter(image(x), 1.2, axes=(0,), radius=4),
        lambda x: ndimage.gaussian_filter(image(x), (0, 0.8)),
    ],
    "scipy.ndimage.gaussian_filter1d": [
        lambda x: ndimage.gaussian_filter1d(image(x), x[0], 0),
        lambda x: ndimage.gaussian_filter1d(x * (1 + 0.3j), x[1], order=2, mode="wrap"),
    ],
    "scipy.ndimage.gaussian_laplace": [
        lambda x: ndimage.gaussian_laplace(image(x), x[:2], mode="mirror", truncate=3.1)
    ],
    "scipy.ndimage.gaussian_gradient_magnitude": [lambda x: ndimage.gaussian_gradient_magnitude(image(x), 0.4 * x[0])],
    "scipy.ndimage.uniform_filter": [
        lambda x: ndimage.uniform_filter(image(x), (3, 4), mode="wrap"),
        lambda x: ndimage.uniform_filter(image(x), 2, origin=(-1, 0), mode=("constant", "nearest"), cval=0.4),
    ],
    "scipy.ndimage.uniform_filter1d": [lambda x: ndimage.uniform_filter1d(image(x), 4, 0, mode="mirror", origin=1)],
    "scipy.ndimage.sobel": [
        lambda x: ndimage.sobel(image(x), 0),
        lambda x: ndimage.sobel(image(x), mode=["wrap", "constant"]),
    ],
    "scipy.ndimage.prewitt": [
        lambda x: ndimage.prewitt(image(x), 0, mode="nearest"),
        lambda x: ndimage.prewitt(image(x)),
    ],
    "scipy.ndimage.laplace": [
        lambda x: ndimage.laplace(image(x)),
        lambda x: ndimage.laplace(image(x), mode="constant", cval=2),
    ],
    "scipy.ndimage.rank_filter": [lambda x: ndimage.rank_filter(image(x), -2, size=3)],
    "scipy.ndimage.percentile_filter": [
        lambda x: ndimage.percentile_filter(image(x), 30, size=(2, 3), mode="wrap"),
        lambda x: ndimage.percentile_filter(image(x), -20, footprint=[[1, 0, 1], [0, 1, 1]]),
    ],
}
for _name in ("minimum_filter", "maximum_filter", "median_filter"):
    CALLS[f"scipy.ndimage.{_name}"] = [
        *(lambda x, f=_name, m=m: getattr(ndimage, f)(image(x), 3, mode=m) for m in ("reflect", "wrap", "constant")),
        lambda x, f=_name: getattr(ndimage, f)(image(x), footprint=[[1, 0, 1], [0, 1, 1]], origin=(0, 1)),
        lambda x, f=_name: getattr(ndimage, f)(image(x), 2, axes=(1,)),
    ]
for _name in ("minimum_filter1d", "maximum_filter1d"):
    CALLS[f"scipy.ndimage.{_name}"] = [lambda x, f=_name: getattr(ndimage, f)(image(x), 3, 0, mode="mirror")]

LABELS = np.array([1, 1, 2, 2, 0, 3, 3, 1])
CALLS |= {
    "scipy.ndimage.sum": [lambda x: ndimage.sum(np.append(x, x**2 + 7), LABELS, [1, 2, 3])],
    "scipy.ndimage.sum_labels": [lambda x: ndimage.sum_labels(np.append(x, x**2 + 7), LABELS, [1, 2, 3])],
    "scipy.ndimage.mean": [lambda x: ndimage.mean(np.append(x, x**2 + 7), LABELS, [1, 2])],
    "scipy.ndimage.variance": [lambda x: ndimage.variance(np.append(x, x**2 + 7), LABELS, [1, 2])],
    "scipy.ndimage.standard_deviation": [lambda x: ndimage.standard_deviation(np.append(x, x**2 + 7), LABELS, [1, 2])],
    "scipy.ndimage.center_of_mass": [
        lambda x: ndimage.center_of_mass(image(x)),
        lambda x: ndimage.center_of_mass(np.append(x, x**2 + 7), LABELS, [1, 2]),
    ],
    "scipy.ndimage.minimum": [lambda x: ndimage.minimum(np.append(x, x**2 + 7), LABELS, [1, 2])],
    "scipy.ndimage.maximum": [lambda x: ndimage.maximum(np.append(x, x**2 + 7), LABELS, [1, 2])],
    "scipy.ndimage.median": [lambda x: ndimage.median(np.append(x, x**2 + 7), LABELS, [1, 2])],
    "scipy.ndimage.grey_closing": [lambda x: ndimage.grey_closing(image(x), 3)],
    "scipy.ndimage.morphological_gradient": [lambda x: ndimage.morphological_gradient(image(x), 3)],
}
for _name in (
    "grey_erosion", "grey_dilation", "grey_opening", "white_tophat", "black_tophat", "morphological_laplace",
):  # fmt: skip
    CALLS[f"scipy.ndimage.{_name}"] = [lambda x, f=_name: getattr(ndimage, f)(image(x), 3, mode="mirror")]
CALLS["scipy.ndimage.extrema"] = [lambda x: ndimage.extrema(x, [1, 1, 2, 2], [1, 2])[:2]]
for _name in ("gaussian", "uniform", "shift"):
    CALLS[f"scipy.ndimage.fourier_{_name}"] = [
        lambda x, f=f"fourier_{_name}": getattr(ndimage, f)(image(x) * (1 + 1j), [1.2 * x[0], x[1]]),
        lambda x, f=f"fourier_{_name}": getattr(ndimage, f)(image(x), x[0], n=7, axis=0),
    ]
CALLS["scipy.ndimage.fourier_ellipsoid"] = [
    lambda x: ndimage.fourier_ellipsoid(image(x) * (1 + 1j), 2.0),
    lambda x: ndimage.fourier_ellipsoid(image(x), [2.0, 1.0], 7, 0),
]
