"""Operators: arrays with numbers, lists, other arrays, scalars of NumPy; broadcasting; comparisons and logic."""

import numpy as np

EXPRESSIONS = """
x + 1
1 + x
x + y
x - y
2.5 - x
x * y
x / y
1 / x
x // 0.5
7.3 // x
x % 0.4
y % x
2.45 % x
x ** 2
x ** 0.5
x ** -1
x ** y
2 ** x
2.0 ** y
np.float64(2.0) ** x
(-x) ** 2
y ** 3
-x
+x
abs(y)
divmod(x, 0.5)
divmod(y, x)
pow(x, 2)
pow(x, 2.0)
round(x)
round(x, 1)
x @ y
A @ q
p @ A
A @ B
C @ C @ p
x[:3] @ A
T @ q
T @ B
A.T @ A
x.T @ x
x * [1, 2, 3, 4, 5, 6]
[1, 2, 3, 4, 5, 6] * x
x + (1, 2, 3, 4, 5, 6)
x - [0.5]
A * [1, 2, 3, 4]
[[1], [2], [3]] * A
A @ [1, 2, 3, 4]
[1, 2, 3] @ A
x / [1, 2, 3, 4, 5, 6]
x ** [1, 2, 3, 1, 2, 3]
x > [1, 2, 3, 1, 2, 3]
x + np.arange(6)
np.arange(6) + x
np.ones(6) * x
np.ones(6) @ x
x * np.float32(2)
h * 2
h * 2.0
h * np.float32(2)
h * np.float64(2)
h + x[:4]
h ** 2
h / 3
h * k
h * [1, 2, 3, 4]
h + 1j
x * np.int64(3)
np.int64(3) * x
np.float64(3) * x
np.float64(3) - x
np.float64(3) / x
np.float64(0.5) ** x
np.float64(2) > x
x * True
x + np.True_
x * 1j
x + z[0]
z * 2
z * x[:4]
x[:4] * z
z + z.conj()
z * z
z / z[0]
z ** 2
z ** 0.5
abs(z)
-z
z @ z
2j ** x
1j * x
x * c
c * s
s * c
A + p[:, None]
A + q
A * p[:, None]
A - A.mean(axis=0)
A - A.mean(axis=1, keepdims=True)
A / A.sum(axis=1)[:, None]
p[:, None] * q
p[:, None] - p[None, :]
x[:, np.newaxis] * x
np.outer(p, q) * A
(x[:, None] - x) ** 2
T + A
T * q
T - T.mean(axis=(1, 2), keepdims=True)
o + x
o * 2
2 * o
o + o
o ** 2
-o
+o
o / s
o @ o
o > 1
o == 1.3
s + 1
1 + s
s * s
s / 2
2 / s
s // 0.5
s % 0.5
s ** 2
s ** 0.5
2 ** s
s ** 2.5
-s
+s
abs(t)
s + x
x + s
s * A
A / s
s - t
s * t
divmod(s, 0.5)
round(s)
round(s, 1)
pow(s, 3)
s @ s
s == 1.7
s != 1.7
s > 1
1 > s
s <= t
s > x
s * [1, 2, 3]
s + [1, 2]
s * "a"
s + None
x + None
x + "a"
x * None
"a" + x
x + {}
x @ 2
2 @ x
A @ A
x + p
A + p
x == y
x != y
x < y
x >= 1
x == None
None == x
x != None
x is None
x == "a"
x == [0.7, 2.3, 1.1, 3.4, 0.2, 1.94]
x == p
x < None
(x > 1) & (x < 3)
(x > 1) | (y > 0)
(x > 1) ^ (y > 0)
~(x > 1)
-(x > 1)
(x > 1) + (y > 0)
(x > 1) * 2
(x > 1) * x
x * (x > 1)
(x > 1) - 1
(x > 1) * 1.0
((x > 1) & b).sum()
(x > 1).mean()
np.logical_and(x > 1, y > 0)
np.logical_not(x > 1)
~x
x & y
x | 1
x << 1
x >> 1
x ^ y
k + 1
k * 2.5
k / 2
k // 2
k % 2
k ** 2
2 ** k
k ** -1
k & 1
k | 4
k ^ 1
~k
k << 1
k >> 1
-k
k + k
k > 1
k == 2
k * x[:4]
k @ k
k + True
i + 1
i / 2
i // 2
i ** 2
i * x
x * i
x ** i
b + 1
b * x
b & True
b | b
~b
b + b
b * b
b - b
b == True
b @ b
-b
e + 1
e.sum() + 1
e * e
E + 1
E @ C
E.T @ E
e @ e
v * v
v @ v
v + x[:4]
F * A
F @ B
F.T @ F
F + p[:, None]
x + 0
x * 0
0 * x
x - x
x / x
np.sqrt(x) ** 2
(x ** 2).sum() ** 0.5
(x * y).sum() / (x.sum() * y.sum())
np.exp(-x**2 / 2) / np.sqrt(2 * np.pi)
1 / (1 + np.exp(-y))
np.maximum(x, y) - np.minimum(x, y)
-y.clip(-1, 1)
(x + 1j * y).real
(x + 1j * y) * (x - 1j * y)
abs(x + 1j * y)
(x * 2).T + 1
x.__add__(1)
x.__radd__(1)
x.__mul__(y)
x.__neg__()
x.__pow__(2)
x.__matmul__(y)
x.__rmatmul__(y)
x.__rsub__(y)
x.__rpow__(2)
x.__divmod__(2)
x.__eq__(y)
x.__lt__(2)
x.__and__(y)
s.__add__(1)
s.__mul__(x)
s.__lt__(2)
s.__truediv__(2)
"""


def in_place_on_a_name(x):
    y = x
    y = y + 1
    return y


def in_place_shared(x):
    y = x
    y += 1
    return y is x


def scalar_in_place_makes_a_new_one(s):
    before = s
    s += 1
    s *= 2
    s -= 0.5
    s /= 3
    s **= 2
    return before, s


def element_in_place_is_local(x):
    m = x[1]
    m += 1
    m **= 2
    return m, x


def horner(x):
    result = 0
    for coefficient in (1.0, -2.0, 0.5):
        result = result * x + coefficient
    return result


def horner_in_place(x):
    result = np.zeros_like(x)
    for coefficient in (1.0, -2.0, 0.5):
        result *= x
        result += coefficient
    return result


def sum_starts_at_zero(A):
    return sum(A)


def product_by_loop(x):
    result = 1
    for value in x:
        result *= value
    return result


def finite_differences(A):
    u = A.copy()
    u[1:-1, 1:-1] += 0.1 * (A[2:, 1:-1] + A[:-2, 1:-1] + A[1:-1, 2:] + A[1:-1, :-2] - 4 * A[1:-1, 1:-1])
    return u
