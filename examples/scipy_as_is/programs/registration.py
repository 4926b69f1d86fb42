"""Image registration: which affine map takes one picture to another, by the squares of what differs."""

import numpy as np
from scipy.ndimage import affine_transform, gaussian_filter
from scipy.optimize import minimize

SIZE = 48
TRUE = np.array([1.08, -0.12, 0.10, 0.95, 1.7, -2.3])


def picture(seed=5):
    """Blobs."""
    rng = np.random.default_rng(seed)
    image = np.zeros((SIZE, SIZE))
    for row, column in rng.integers(8, SIZE - 8, (14, 2)):
        image[row, column] += rng.uniform(0.5, 1.5)
    return gaussian_filter(image, 2.0) * 20


def warp(image, p):
    """The image at A (x - c) + c + b, with A = p[:4] and b = p[4:]."""
    matrix, centre = p[:4].reshape(2, 2), np.full(2, (SIZE - 1) / 2)
    return affine_transform(image, matrix, offset=centre + p[4:] - matrix @ centre, order=3, mode="constant")


def misfit(p, image, target, blur=1.0):
    difference = gaussian_filter(warp(image, p) - target, blur)
    inner = difference[4:-4, 4:-4]
    return np.mean(inner**2)


def pair():
    image = picture()
    return image, warp(image, TRUE)


IDENTITY = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])


def main():
    image, target = pair()
    print(f"mean square before {misfit(IDENTITY, image, target):.5f}")
    found = minimize(misfit, IDENTITY, args=(image, target), method="BFGS", options={"maxiter": 15})
    print(f"after 15 steps {found.fun:.2e} with {found.nfev} evaluations; {found.x.round(2)}")


if __name__ == "__main__":
    main()
