"""Bundle adjustment: cameras and points from what the cameras saw, the problem of SciPy's cookbook with made data."""

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse import lil_matrix

CAMERAS, POINTS = 6, 40


def rotate(points, vectors):
    """Rodrigues' formula, one rotation vector a point."""
    theta = np.linalg.norm(vectors, axis=1)[:, np.newaxis]
    with np.errstate(invalid="ignore"):
        v = vectors / theta
        v = np.nan_to_num(v)
    dot = np.sum(points * v, axis=1)[:, np.newaxis]
    cos_theta, sin_theta = np.cos(theta), np.sin(theta)
    return cos_theta * points + sin_theta * np.cross(v, points) + dot * (1 - cos_theta) * v


def project(points, cameras):
    """Points in space to points in the picture: rotation, shift, perspective, radial distortion."""
    seen = rotate(points, cameras[:, :3]) + cameras[:, 3:6]
    seen = -seen[:, :2] / seen[:, 2, np.newaxis]
    f, k1, k2 = cameras[:, 6], cameras[:, 7], cameras[:, 8]
    n = np.sum(seen**2, axis=1)
    return seen * (f * (1 + k1 * n + k2 * n**2))[:, np.newaxis]


def problem(seed=1):
    """(what was seen, whose camera, which point, where the search starts, the truth)."""
    rng = np.random.default_rng(seed)
    cameras = np.zeros((CAMERAS, 9))
    cameras[:, :3] = 0.15 * rng.standard_normal((CAMERAS, 3))
    cameras[:, 3:5] = rng.uniform(-0.5, 0.5, (CAMERAS, 2))
    cameras[:, 5] = -6 + 0.3 * rng.standard_normal(CAMERAS)
    cameras[:, 6:] = 500.0, 0.02, 0.003
    points = rng.uniform(-1, 1, (POINTS, 3))
    visible = rng.random((CAMERAS, POINTS)) < 0.6
    camera, point = np.nonzero(visible)
    seen = project(points[point], cameras[camera]) + 0.2 * rng.standard_normal((len(point), 2))
    truth = np.hstack((cameras.ravel(), points.ravel()))
    start = truth + 0.02 * rng.standard_normal(truth.size)
    return seen, camera, point, start, truth


def fun(params, n_cameras, n_points, camera, point, seen):
    """The residuals."""
    cameras = params[: n_cameras * 9].reshape((n_cameras, 9))
    points = params[n_cameras * 9 :].reshape((n_points, 3))
    return (project(points[point], cameras[camera]) - seen).ravel()


def sparsity(n_cameras, n_points, camera, point):
    A = lil_matrix((camera.size * 2, n_cameras * 9 + n_points * 3), dtype=int)
    i = np.arange(camera.size)
    for s in range(9):
        A[2 * i, camera * 9 + s] = 1
        A[2 * i + 1, camera * 9 + s] = 1
    for s in range(3):
        A[2 * i, n_cameras * 9 + point * 3 + s] = 1
        A[2 * i + 1, n_cameras * 9 + point * 3 + s] = 1
    return A


def main():
    seen, camera, point, start, _ = problem()
    data = (CAMERAS, POINTS, camera, point, seen)
    print(f"root mean square before {np.sqrt(np.mean(fun(start, *data) ** 2)):.3f} pixels")
    found = least_squares(
        fun,
        start,
        jac_sparsity=sparsity(CAMERAS, POINTS, camera, point),
        x_scale="jac",
        ftol=1e-4,
        method="trf",
        args=data,
    )
    print(f"after {found.nfev} steps {np.sqrt(np.mean(found.fun**2)):.3f}")


if __name__ == "__main__":
    main()
