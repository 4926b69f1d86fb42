"""A planet's place in the sky from its orbit: Kepler's equation by Newton's method, with Python's own math."""

from math import atan2, cos, pi, sin, sqrt


def eccentric_anomaly(mean, eccentricity):
    E = mean if eccentricity < 0.8 else pi
    while True:
        step = (E - eccentricity * sin(E) - mean) / (1 - eccentricity * cos(E))
        E -= step
        if abs(step) < 1e-13:
            return E


def radial_velocity(time, period, eccentricity, periastron, amplitude):
    """What a spectrograph sees of a star with one planet."""
    mean = 2 * pi * (time / period % 1.0)
    E = eccentric_anomaly(mean, eccentricity)
    true = 2 * atan2(sqrt(1 + eccentricity) * sin(E / 2), sqrt(1 - eccentricity) * cos(E / 2))
    return amplitude * (cos(true + periastron) + eccentricity * cos(periastron))


def chi_squared(orbit, observations=((0.0, 40.1), (3.1, -12.0), (5.5, -31.9), (8.2, -22.5), (11.7, 25.3))):
    period, eccentricity, periastron, amplitude = orbit
    total = 0
    for time, velocity in observations:
        total += ((radial_velocity(time, period, eccentricity, periastron, amplitude) - velocity) / 2.0) ** 2
    return total


def main():
    print("chi squared:", chi_squared([13.0, 0.3, 0.4, 38.0]))


if __name__ == "__main__":
    main()
