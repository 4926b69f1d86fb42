"""Three bodies under gravity, by leapfrog steps; how near do they come to where they began?"""

import numpy as np

G = 1.0
MASSES = np.array([1.0, 1.0, 1.0])
# The figure of eight of Chenciner and Montgomery
POSITIONS = np.array([[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]])
VELOCITIES = np.array([[0.466203685, 0.43236573], [0.466203685, 0.43236573], [-0.93240737, -0.86473146]])


def accelerations(x):
    n = len(x)
    a = np.zeros_like(x)
    for i in range(n):
        for j in range(i + 1, n):
            d = x[j] - x[i]
            r3 = (d[0] ** 2 + d[1] ** 2) ** 1.5
            a[i] += G * MASSES[j] * d / r3
            a[j] -= G * MASSES[i] * d / r3
    return a


def orbit(velocities, steps=60, dt=0.02):
    x = POSITIONS.copy()
    v = velocities.copy()
    path = np.empty((steps + 1, 3, 2))
    path[0] = x
    a = accelerations(x)
    for n in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x)
        v += 0.5 * dt * a
        path[n + 1] = x
    return path


def energy(x, v):
    kinetic = 0.5 * (MASSES[:, None] * v**2).sum()
    potential = 0.0
    for i in range(3):
        for j in range(i):
            potential -= G * MASSES[i] * MASSES[j] / np.linalg.norm(x[i] - x[j])
    return kinetic + potential


def closest_approach(velocities):
    """A smooth stand-in for the smallest distance of two bodies on the way."""
    path = orbit(velocities)
    gaps = path[:, [0, 0, 1]] - path[:, [1, 2, 2]]
    distances = np.sqrt((gaps**2).sum(axis=-1))
    return -np.log(np.sum(np.exp(-20 * distances))) / 20


def main():
    print("energy:", energy(POSITIONS, VELOCITIES))
    print("closest approach:", closest_approach(VELOCITIES))


if __name__ == "__main__":
    main()
