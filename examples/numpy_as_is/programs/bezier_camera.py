"""A cubic Bezier curve in space by de Casteljau's scheme, seen by a camera: its length in the picture."""

import numpy as np


def de_casteljau(control, t):
    points = control.copy()
    n = len(points)
    for r in range(1, n):
        for i in range(n - r):
            points[i] = (1 - t) * points[i] + t * points[i + 1]
    return points[0]


def look_at(eye, target):
    forward = target - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    return np.stack([right, up, -forward])


def project(points, eye, focal=2.0):
    camera = look_at(eye, np.zeros(3))
    seen = (points - eye) @ camera.T
    return -focal * seen[:, :2] / seen[:, 2:3]


def length_in_picture(control, eye, samples=12):
    curve = np.zeros((samples, 3))
    for k, t in enumerate(np.linspace(0, 1, samples)):
        curve[k] = de_casteljau(control, t)
    picture = project(curve, eye)
    return np.linalg.norm(np.diff(picture, axis=0), axis=1).sum()


CONTROL = np.array([[-1.0, 0.0, 0.0], [-0.5, 1.5, 0.5], [0.5, -1.5, 1.0], [1.0, 0.2, 0.3]])


def main():
    for x in (3.0, 4.0, 5.0):
        print("from", x, "m:", length_in_picture(CONTROL, np.array([x, 2.0, 1.5])))


if __name__ == "__main__":
    main()
