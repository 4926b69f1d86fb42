"""A blurred and noisy picture made sharp: least squares with total variation."""

import numpy as np
from scipy.optimize import minimize
from scipy.signal import fftconvolve

SIZE = 40


def scene():
    """Bright shapes on a dark ground."""
    y, x = np.mgrid[:SIZE, :SIZE]
    image = np.where((x - 12) ** 2 + (y - 14) ** 2 < 49, 1.0, 0.0)
    image[22:34, 20:34] = 0.7
    image[26:30, 24:30] = 0.2
    return image


def kernel(width=1.6):
    r = np.arange(-6, 7)
    bell = np.exp(-(r[:, None] ** 2 + r**2) / (2 * width**2))
    return bell / bell.sum()


def photograph(seed=0):
    rng = np.random.default_rng(seed)
    return fftconvolve(scene(), kernel(), mode="same") + 0.01 * rng.standard_normal((SIZE, SIZE))


def roughness(image, eps=1e-3):
    """The total variation, rounded at zero."""
    across, down = np.diff(image, axis=1)[:-1, :], np.diff(image, axis=0)[:, :-1]
    return np.sum(np.sqrt(across**2 + down**2 + eps**2))


def objective(image, photo, weight=3e-3):
    image = image.reshape(SIZE, SIZE)
    residual = fftconvolve(image, kernel(), mode="same") - photo
    return 0.5 * np.sum(residual**2) + weight * roughness(image)


def main():
    photo = photograph()
    print(
        f"objective of the photograph {objective(photo.ravel(), photo):.4f}, of the scene {objective(scene(), photo):.4f}"
    )
    found = minimize(objective, photo.ravel(), args=(photo,), method="Powell", options={"maxfev": 500})
    print(f"500 evaluations without a gradient: {found.fun:.4f}")


if __name__ == "__main__":
    main()
