"""Where is the hand of a robot's arm? Rotation matrices filled element by element, and their products."""

import numpy as np

LINKS = [0.4, 0.3, 0.25, 0.1]


def rotation(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    R = np.eye(4)
    if axis == "z":
        R[0, 0] = c
        R[0, 1] = -s
        R[1, 0] = s
        R[1, 1] = c
    else:
        R[0, 0] = c
        R[0, 2] = s
        R[2, 0] = -s
        R[2, 2] = c
    return R


def translation(x):
    T = np.identity(4)
    T[:3, 3] = [x, 0, 0]
    return T


def joints(angles):
    pose = np.eye(4)
    places = [pose[:3, 3]]
    for axis, angle, length in zip("zyyz", angles, LINKS):
        pose = pose.dot(rotation(axis, angle)).dot(translation(length))
        places.append(pose[:3, 3])
    return np.array(places)


def miss(angles, target=(0.5, 0.4, 0.3)):
    hand = joints(angles)[-1]
    error = hand - target
    return np.sqrt(error.dot(error))


def main():
    angles = np.radians([30.0, -20.0, 45.0, 10.0])
    print(joints(angles))
    print("distance from the target:", miss(angles))


if __name__ == "__main__":
    main()
