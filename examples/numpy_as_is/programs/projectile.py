"""The range of a projectile in an atmosphere given by a table, with drag looked up by Mach number."""

import numpy as np

HEIGHT = np.array([0.0, 1000.0, 2000.0, 4000.0, 6000.0, 10000.0])  # m
DENSITY = np.array([1.225, 1.112, 1.007, 0.819, 0.660, 0.414])  # kg / m^3
MACH = np.array([0.0, 0.7, 0.9, 1.0, 1.2, 2.0, 3.0])
DRAG = np.array([0.15, 0.15, 0.2, 0.35, 0.4, 0.32, 0.27])


def drag_coefficient(mach):
    i = np.searchsorted(MACH, mach) - 1
    w = (mach - MACH[i]) / (MACH[i + 1] - MACH[i])
    return (1 - w) * DRAG[i] + w * DRAG[i + 1]


def flight(speed, elevation, dt=0.25):
    x = np.zeros(2)
    v = speed * np.array([np.cos(elevation), np.sin(elevation)])
    path = [x.copy()]
    while True:
        s = np.hypot(*v)
        density = np.interp(x[1], HEIGHT, DENSITY)
        a = -0.5 * density * 0.008 / 15.0 * drag_coefficient(s / 335.0) * s * v
        a[1] -= 9.81
        v += a * dt
        x += v * dt
        path.append(x.copy())
        if x[1] < 0:
            break
    return np.array(path)


def distance(speed, elevation):
    """Where it meets the ground, between the last two points."""
    path = flight(speed, elevation)
    (x0, y0), (x1, y1) = path[-2:]
    return x0 + (x1 - x0) * y0 / (y0 - y1)


def main():
    for degrees in (30, 40, 50):
        print(f"{degrees} degrees: {distance(500.0, np.radians(degrees)):.0f} m")


if __name__ == "__main__":
    main()
