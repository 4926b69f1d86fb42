"""Rays through a lens of two spherical faces, one by one; how wide is the spot in the focal plane?"""

import math

import numpy as np


def refract(direction, normal, n1, n2):
    mu = n1 / n2
    cosine = -sum(d * n for d, n in zip(direction, normal))
    root = math.sqrt(1 - mu**2 * (1 - cosine**2))
    return [mu * d + (mu * cosine - root) * n for d, n in zip(direction, normal)]


def face(point, direction, vertex, radius, n1, n2):
    centre = vertex + radius
    px, py = point[0] - centre, point[1]
    b = px * direction[0] + py * direction[1]
    t = -b - math.copysign(math.sqrt(b * b - (px * px + py * py - radius * radius)), radius)
    hit = [point[0] + t * direction[0], point[1] + t * direction[1]]
    normal = [(hit[0] - centre) / radius, hit[1] / radius]
    return hit, refract(direction, normal, n1, n2)


def trace(height, lens):
    front, back, thickness, index = lens
    point, direction = [-20.0, height], [1.0, 0.0]
    point, direction = face(point, direction, 0.0, front, 1.0, index)
    point, direction = face(point, direction, thickness, back, index, 1.0)
    return point, direction


def spot_size(lens, screen=100.0):
    places = []
    for height in np.linspace(0.5, 10.0, 8):
        (x, y), (dx, dy) = trace(height, lens)
        places.append(y + (screen - x) * dy / dx)
    return np.sqrt(np.mean(np.square(places)))


def main():
    print("spot:", spot_size([100.0, -110.0, 6.0, 1.52]), "mm")


if __name__ == "__main__":
    main()
