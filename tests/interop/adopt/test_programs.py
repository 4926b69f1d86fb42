"""Modules of plain NumPy code, imported from files as they stand: values and gradients under `adopt()`."""

import numpy as np
import pytest

import pullback as pb

# Each has f, a function of the vector x.
PROGRAMS = {
    "a buffer, filled element by element": """
        import numpy as np
        x = np.array([0.7, 1.3, 0.4])

        def f(x):
            z = np.zeros(4)
            for i in range(4):
                z[i] = x[0] ** i * np.sin(x[1]) + x[2]
            z[1:3] *= x[2]
            return np.sum(z ** 2)
    """,
    "a Kalman filter on preallocated arrays": """
        import numpy as np
        x = np.array([0.9, 0.3, 0.5])
        seen = np.array([0.3, 0.5, 0.1, -0.2, 0.4, 0.8])

        def f(x):
            n = len(seen)
            mean, variance = np.empty(n + 1), np.empty(n + 1)
            mean[0], variance[0] = 0.0, 1.0
            loss = 0.0
            for k in range(n):
                m, p = x[0] * mean[k], x[0] ** 2 * variance[k] + x[1]
                s = p + x[2]
                gain = p / s
                mean[k + 1] = m + gain * (seen[k] - m)
                variance[k + 1] = (1 - gain) * p
                loss += 0.5 * (np.log(2 * np.pi * s) + (seen[k] - m) ** 2 / s)
            return loss
    """,
    "a Kalman filter of matrices": """
        import numpy as np
        from numpy.linalg import inv
        x = np.array([0.9, 0.2, 0.5])
        seen = np.array([0.3, 0.5, 0.1, -0.2])

        def f(x):
            F = np.array([[1.0, x[0]], [0.0, 1.0]])
            H = np.array([[1.0, 0.0]])
            Q, R = np.eye(2) * x[1], np.array([[x[2]]])
            m, P = np.zeros(2), np.eye(2)
            path = np.zeros((len(seen), 2))
            for k, y in enumerate(seen):
                m, P = F @ m, F @ P @ F.T + Q
                K = P @ H.T @ inv(H @ P @ H.T + R)
                m = m + K @ (y - H @ m)
                P = (np.eye(2) - K @ H) @ P
                path[k] = m
            return np.sum(path ** 2)
    """,
    "rotations from np.array of elements": """
        import numpy as np
        x = np.array([0.3, -0.7, 1.1])

        def rotation(a):
            return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])

        def f(x):
            R = rotation(x[0]) @ rotation(x[1])
            return np.sum(R @ np.array([1.0, x[2], 2.0]) * np.array([1, 2, 3]))
    """,
    "np.r_ and np.c_": """
        import numpy as np
        x = np.array([0.7, 1.3, 0.4])

        def f(x):
            y = np.r_[0.0, x, x[0] * x[1], 1:3]
            A = np.c_[y, y ** 2]
            return np.sum(A @ np.array([1.0, 0.5])) + np.r_["0,2", x, x ** 2].sum()
    """,
    "loops with math": """
        import math
        from math import exp, pi, sqrt
        x = [0.7, 1.3, 0.4]

        def f(x):
            total = 0.0
            for k in range(1, 5):
                total += exp(-x[0] * k) * math.cos(k * x[1]) / sqrt(2 * pi * x[2]) + math.log1p(x[0]) ** k
            return total + math.hypot(x[0], x[1]) - math.fsum([x[1], x[2], 1])
    """,
    "names imported singly": """
        from numpy import arange, array, asarray, exp, pi, sin, zeros
        from numpy.linalg import norm, solve
        x = array([0.7, 1.3, 0.4])

        def f(x):
            x = asarray(x)
            A = zeros((3, 3))
            for i in range(3):
                A[i, i] = 2 + x[i] ** 2
                A[i, (i + 1) % 3] = sin(pi * x[i])
            return norm(solve(A, array([x[0], 1.0, exp(x[1])]))) + norm([x[0], x[2]])
    """,
    "np.vectorize": """
        import numpy as np
        x = np.array([0.7, 1.3, -0.4])

        def branch(t, scale=1.0):
            return np.exp(t) * scale if t > 0 else t ** 2

        branch = np.vectorize(branch)
        typed = np.vectorize(lambda s, t: s * t, otypes=[float])
        dots = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")

        def f(x):
            A = np.array([x, 2 * x])
            return np.sum(branch(x)) + np.sum(typed(x, x[0])) + np.sum(dots(A, x)) + branch(x[1], scale=x[0])
    """,
    "Gauss-Seidel in place": """
        import numpy as np
        x = np.array([0.7, 1.3, 0.4])

        def f(x):
            u = np.zeros(6)
            u[0], u[-1] = x[0], x[1]
            for _ in range(4):
                for i in range(1, 5):
                    u[i] = 0.5 * (u[i - 1] + u[i + 1]) + 0.1 * x[2]
            return np.sum(u * np.arange(6))
    """,
    "a trajectory by Runge and Kutta": """
        import numpy as np
        x = np.array([1.1, 0.4, 0.3])

        def rates(y, p):
            return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - y[1]])

        def f(p):
            h, path = 0.1, np.empty((12, 2))
            path[0] = [1.0, 0.5]
            for k in range(11):
                y = path[k].copy()
                k1 = rates(y, p)
                k2 = rates(y + h / 2 * k1, p)
                k3 = rates(y + h / 2 * k2, p)
                k4 = rates(y + h * k3, p)
                path[k + 1] = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return np.sum(path ** 2)
    """,
    "lists into NumPy's functions": """
        import numpy as np
        x = np.array([0.7, 1.3, 0.4])

        def f(x):
            rows = [[x[0], 1.0], [x[1], x[2]]]
            return (np.linalg.det(rows) + np.sum([x[0], x[1] ** 2]) + np.dot([x[0], x[1]], [1.0, x[2]])
                    + np.mean([np.sin(v) for v in x]) + np.concatenate([[x[0]], x, [1.0]]).sum()
                    + np.max([x[0], x[1]]) + np.trapezoid([x[0], x[1], x[2]], dx=0.5))
    """,
    "np.full, np.arange, np.fromiter, np.asarray of all kinds": """
        import numpy as np
        x = np.array([0.7, 1.3, 0.4])

        def f(x):
            y = np.full((2, 3), x[0]) * x
            t = np.arange(x[2], x[1], 0.25) ** 2
            z = np.fromiter((v ** 2 for v in x), dtype=float)
            w = np.asarray([x[0], 2], dtype=float)
            copy = np.array(x)
            copy[0] = 5.0
            return y.sum() + t.sum() + z.sum() + w.prod() + np.asarray(x).sum() + copy.prod()
    """,
    "a function of SciPy": """
        import numpy as np
        import scipy.linalg
        import scipy.linalg as la
        from scipy import special
        from scipy.linalg import expm, solve
        from scipy.special import erf
        x = np.array([0.7, 1.3, 0.4])

        def f(x):
            A = np.array([[x[0], 1.0], [x[1], -x[2]]])
            b = np.array([1.0, x[0]])
            return (expm(A) @ b).sum() + solve(A, b)[0] + la.det(A) + scipy.linalg.inv(A)[0, 1] + special.erf(x[0])
    """,
}


def differences(f, x, step=1e-6):
    """The gradient of f by central differences."""
    x = np.array(x)
    slopes = np.empty(len(x))
    for i in range(len(x)):
        shift = np.zeros(len(x))
        shift[i] = step
        slopes[i] = (f(x + shift) - f(x - shift)) / (2 * step)
    return slopes


@pytest.mark.parametrize("before", [True, False], ids=["imported before", "imported later"])
@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_gradient_equals_differences(source, before, module_of):
    module = module_of(source) if before else None
    with pb.adopt():
        module = module or module_of(source)
        x = np.array(module.x)
        value, gradient = pb.func.value_and_grad(module.f)(x)
        assert type(gradient) is np.ndarray
        plain = module.f(x)
        slopes = differences(module.f, x)
        second = pb.func.jvp(pb.func.grad(module.f), (x,), (np.ones(3),))[1]
    assert value == pytest.approx(module.f(x), rel=1e-12)
    assert plain == module.f(x), "what adopt() must not change"
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-7)
    with pb.adopt():
        curved = differences(lambda x: pb.func.grad(module.f)(x).sum(), x, step=1e-5)
    np.testing.assert_allclose(second.sum(), curved.sum(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_forward_mode_and_nesting(source, module_of):
    module = module_of(source)
    x = np.array(module.x)
    with pb.adopt():
        slope = pb.func.jvp(module.f, (x,), (np.array([1.0, -2.0, 0.5]),))[1]
        expected = pb.func.grad(module.f)(x) @ np.array([1.0, -2.0, 0.5])
        twice = pb.func.grad(lambda x: pb.func.grad(module.f)(x) @ np.array([1.0, 2.0, 3.0]))(x)
        curved = differences(lambda x: pb.func.grad(module.f)(x) @ np.array([1.0, 2.0, 3.0]), x, step=1e-5)
    np.testing.assert_allclose(slope, expected, rtol=1e-10)
    np.testing.assert_allclose(twice, curved, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_without_adopt_the_programs_are_refused_with_a_word_about_it(source, module_of):
    module = module_of(source)
    with pytest.raises(RuntimeError, match=r"pullback\.adopt\(\)"):
        pb.func.grad(module.f)(np.array(module.x))
