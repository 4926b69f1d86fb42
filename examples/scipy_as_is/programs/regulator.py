"""A pendulum held upright by the linear quadratic regulator: the cost of control, by the pendulum and by the weights."""

import numpy as np
from scipy.linalg import expm, solve_discrete_are, solve_discrete_lyapunov

DT = 0.05


def plant(length, mass, friction):
    """The linear motion about the upright position, sampled."""
    A = np.array([[0.0, 1.0], [9.81 / length, -friction / (mass * length**2)]])
    B = np.array([[0.0], [1 / (mass * length**2)]])
    block = np.zeros((3, 3))
    block[:2, :2], block[:2, 2:] = A, B
    step = expm(block * DT)
    return step[:2, :2], step[:2, 2:]


def gain(A, B, Q, R):
    P = solve_discrete_are(A, B, Q, R)
    return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)


def cost(p):
    """The mean square of angle and torque under unit noise; p: length, mass, friction, weights of angle and torque."""
    A, B = plant(p[0], p[1], p[2])
    F = gain(A, B, np.diag(np.array([p[3], 0.1])), p[4] * np.eye(1))
    closed = A - B @ F
    spread = solve_discrete_lyapunov(closed, np.eye(2) * 1e-2)
    return spread[0, 0] + 0.1 * (F @ spread @ F.T)[0, 0]


PENDULUM = np.array([0.8, 0.5, 0.1, 1.0, 0.05])


def main():
    A, B = plant(*PENDULUM[:3])
    print("gain", gain(A, B, np.diag([1.0, 0.1]), 0.05 * np.eye(1)).round(4))
    print(f"cost {cost(PENDULUM):.6f}")


if __name__ == "__main__":
    main()
