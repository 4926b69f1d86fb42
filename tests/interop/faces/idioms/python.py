"""Arrays in Python's own hands: iteration, built-in functions, conversions, copies, formatting, matching, hashing."""

import array
import collections
import copy
import dataclasses
import functools
import io
import itertools
import json
import math
import numbers
import operator
import os
import pickle
import statistics

import numpy as np

EXPRESSIONS = """
list(x)
tuple(x)
[value for value in x]
[value * 2 for value in x]
[row.sum() for row in A]
[row for row in A]
{j: value for j, value in enumerate(x)}
list(enumerate(x))[1]
list(zip(x, y, strict=True))[2]
list(map(abs, y))
list(filter(lambda value: value > 1, x))
list(reversed(x))
sorted(x)
sorted(x, reverse=True)
sorted(y, key=abs)
sorted(range(6), key=lambda j: x[j])
sorted(zip(x, range(6), strict=True))
max(x)
min(x)
max(x, key=lambda value: -value)
max(x[0], x[1])
min(x[0], 0.5)
max(0.0, t)
max(t, 0.0)
max(0, s)
max(range(6), key=lambda j: x[j])
max(A, key=sum)
sum(x)
sum(x, 1.0)
sum(A)
sum(x * y)
sum(value**2 for value in x)
sum(row[0] for row in A)
sum([x[0], x[1]])
sum(x > 1)
math.fsum(x)
math.prod(x)
any(x > 3)
all(x > 0)
any(value > 3 for value in x)
all(A[0] == A[0])
abs(y)
abs(t)
abs(c)
round(s)
round(s, 2)
round(x[0], 1)
divmod(s, 0.5)
len(x)
len(A)
len(T[0])
len(e)
len(o)
len(s)
bool(x)
bool(x[:1])
bool(s)
bool(o)
bool(e)
bool(x[0] > 0.5)
not s
not x
s and t
s or t
1 if s else 2
1 if s > 1 else 2
"big" if x[0] > 1 else "small"
x[0] if x[0] > x[1] else x[1]
0.7 in x
5.0 in x
x[0] in x
x[0] in [x[1], x[0]]
2 in k
float(s)
float(x[0])
float(o)
float(x[:1])
float(x)
int(s)
int(x[3])
int(o)
int(k[0])
complex(s)
complex(c)
complex(x[0], x[1])
int(x)
range(k[0])
range(int(s))
[1, 2, 3][k[3]]
[1, 2, 3][i]
[1, 2, 3][x[0]]
"abc"[i]
[0] * i
[0] * k[0]
[x] * 2
[x[0]] * 3
(x, y)[1]
{"x": x}["x"]
hash(s) == hash(1.7)
hash(x)
hash(o)
{s: 1}[1.7]
{s, 1.7} == {1.7}
len({value for value in x})
str(x)
str(A)
str(s)
str(x[0])
str(o)
str(x > 1)
str(k)
str(e)
repr(k)
repr(i)
f"{s}"
f"{s:.3f}"
f"{x[0]:.3f}"
f"{x[0]:8.2e}"
f"{x[0]:>10}"
f"{o:.2f}"
f"{x}"
f"{x:.2f}"
f"{k[0]:d}"
f"{k[0]:03d}"
f"{c:.2f}"
f"{x.mean():.4g} {x.std():.4g}"
f"{x.shape} {x.dtype}"
f"{x.sum()!s}"
"%.3f" % s
"%.3f" % x[0]
"%d" % x[0]
"%s" % x[0]
"%.2f %.2f" % (x[0], x[1])
"%.2f %.2f" % tuple(x[:2])
"{:.3f}".format(x[0])
"{:.3f} {}".format(x[0], k[0])
format(s, ".2f")
format(x[1])
", ".join(f"{value:.1f}" for value in x)
", ".join(map(str, x))
isinstance(x, np.ndarray)
isinstance(A[0], np.ndarray)
isinstance(o, np.ndarray)
isinstance(s, np.ndarray)
isinstance(x[0], float)
isinstance(x[0], np.floating)
isinstance(x[0], np.float64)
isinstance(x[0], np.generic)
isinstance(x[0], numbers.Number)
isinstance(x[0], numbers.Real)
isinstance(x[0], (int, float))
isinstance(x[0], np.ndarray)
isinstance(x[0], list)
isinstance(x.sum(), float)
isinstance(x.mean(), np.float64)
isinstance(k[0], np.integer)
isinstance(k[0], int)
isinstance(k.sum(), np.integer)
isinstance(b[0], np.bool_)
isinstance(x[0] > 1, (bool, np.bool_))
isinstance(z[0], complex)
isinstance(h[0], np.float32)
isinstance(h[0], float)
isinstance(x, collections.abc.Iterable)
isinstance(x, collections.abc.Sized)
isinstance(x, collections.abc.Sequence)
isinstance(x, collections.abc.Hashable)
isinstance(x, (list, tuple, np.ndarray))
issubclass(type(x), object)
callable(x)
np.isscalar(x)
np.isscalar(s)
np.isscalar(x[0])
np.isscalar(o)
np.iterable(x)
np.iterable(s)
np.iterable(o)
hasattr(x, "shape")
hasattr(x, "append")
hasattr(x, "__len__")
hasattr(x[0], "__len__")
hasattr(x, "__array__")
hasattr(x, "tolist")
getattr(x, "shape", None)
getattr(x, "nope", 3)
x.nope
x.append(1)
s.nope
iter(s)
iter(o)
next(iter(x))
next(iter(A))
list(iter(A.T))[0]
list(itertools.accumulate(x))
list(itertools.pairwise(x))[1]
list(itertools.chain(x[:2], y[:1]))
list(itertools.product(x[:2], y[:2]))[1]
functools.reduce(lambda u, w: u * w, x)
functools.reduce(operator.add, x)
functools.reduce(np.dot, [C, C, C])
operator.add(x, 1)
operator.mul(x, y)
operator.neg(x)
operator.pos(x)
operator.matmul(x, y)
operator.getitem(x, 2)
operator.itemgetter(0, 2)(x)
operator.attrgetter("T.shape")(A)
operator.eq(x, y)
operator.index(k[0])
operator.index(x[0])
operator.truth(s)
copy.copy(x)
copy.deepcopy(x)
copy.copy(s)
copy.deepcopy(s)
copy.deepcopy([x, y])[1]
copy.deepcopy({"a": x})
copy.copy([x])[0] is x
pickle.loads(pickle.dumps(x))
pickle.loads(pickle.dumps(s))
pickle.loads(x.dumps())
x.dump(io.BytesIO())
x.tofile(os.devnull)
json.dumps(x.tolist())
json.dumps(x[0])
json.dumps({"a": s})
json.dumps(list(x))
x.tolist()
A.tolist()
s.tolist()
o.tolist()
k.tolist()
e.tolist()
x.item(0)
x[:1].item()
x.item()
s.item()
o.item()
k[0].item()
x.tobytes() == x.copy().tobytes()
len(x.tobytes())
bytes(x[:1]) == x[:1].tobytes()
array.array("d", x)[0]
np.frombuffer(x.tobytes())
statistics.mean(x)
statistics.fmean(x)
statistics.stdev(x)
statistics.median(x)
math.sqrt(s)
math.sin(x[0])
math.exp(t)
math.log(s)
math.log(s, 2)
math.pow(s, 2)
math.hypot(s, t)
math.atan2(s, t)
math.floor(s)
math.ceil(s)
math.trunc(s)
math.isnan(s)
math.isfinite(x[0])
math.isclose(s, 1.7)
math.fabs(t)
math.copysign(1.0, t)
math.degrees(s)
math.gamma(s)
math.erf(s)
math.dist(x, y)
math.sumprod(x, y) if hasattr(math, "sumprod") else None
math.sqrt(x.dot(x))
math.sqrt(o)
math.sqrt(x)
math.factorial(i)
math.comb(5, i)
s.is_integer()
s.as_integer_ratio()
s.hex()
s.real
s.conjugate()
s.__float__()
s.__round__()
s.__trunc__() if hasattr(s, "__trunc__") else math.trunc(s)
s.__class__.__name__ == "float64"
x.__class__.__name__ == "ndarray"
x.__class__ is np.ndarray
s.__class__ is np.float64
x.__len__()
x.__contains__(0.7)
x.__getitem__(2)
x.__bool__()
A.__iter__().__next__()
x.__doc__ is not None
dir(x).count("sum")
id(x) == id(x)
x is x
x == x
(x == x).all()
all(x == x)
x[0] == x[0]
x[0] is x[0]
x in [x[:3]]
[x, y].index(x)
[s, t].index(t)
[s, t, s].count(s)
sorted([s, t, 1.0])
list(range(i))
slice(0, i).indices(5)
slice(k[1], k[0])
np.arange(k[0])
np.zeros(k[0])
np.zeros(i)
np.zeros(len(x))
np.zeros(x.shape)
np.zeros(x.size)
np.zeros((k[0], i))
np.ones(x[0])
np.linspace(0, 1, k[0])
type(x.shape[0]) is int
type(x.size) is int
type(x.ndim) is int
type(len(x)) is int
type(x.tolist()) is list
print(x, file=io.StringIO())
print(f"{x[0]:.2f}", file=io.StringIO())
dict(zip("ab", x[:2], strict=True))
dict(a=x)["a"]
{**{"a": x}}["a"]
"a" if x is not None else "b"
x if isinstance(x, np.ndarray) else np.array(x)
x[0] if np.ndim(x) else x
x.any() and x.all()
(lambda *values: values[0] * values[1])(*x[:2])
(lambda a, w: a * w)(*x[:2])
[*x, 1.0]
(*x,)
[*A]
np.array([*x])
"""


def for_loop(x):
    total = 0
    for value in x:
        total = total + value
    return total


def for_loop_over_rows(A):
    total = 0.0
    for row in A:
        for value in row:
            total += value * value
    return total


def for_loop_by_range(x):
    total = 0.0
    for j in range(len(x)):
        total += j * x[j]
    return total


def while_loop(s):
    n = 0
    while s > 0.1:
        s = s / 2
        n += 1
    return s, n


def newton(s):
    guess = s
    while abs(guess * guess - s) > 1e-12:
        guess = (guess + s / guess) / 2
    return guess


def branch(x):
    if x[0] > 1:
        return x**2
    if x[0] > 0.5 and x[1] < 3:
        return x**3
    return x


def branch_on_sum(x):
    if x.sum() > 0:
        return x.max()
    return x.min()


def branch_on_any(x):
    if np.any(x < 0):
        return np.abs(x)
    return np.sqrt(x)


def branch_on_an_array(x):
    if x > 1:
        return x
    return -x


def chained_comparison(s):
    return 0 < s < 2


def chained_comparison_of_arrays(x):
    return 0 < x < 2


def ternary_minimum(x):
    return [u if u < w else w for u, w in zip(x[:3], x[3:], strict=True)]


def match_float(s):
    match s:
        case float():
            return s * 2
        case _:
            return None


def match_ndarray(x):
    match x:
        case np.ndarray(shape=(n,)):
            return n
        case _:
            return None


def match_sequence(p):
    match p:
        case [u, v, w]:
            return u + v + w
        case _:
            return None


def match_value(i):
    match i:
        case 2:
            return "two"
        case _:
            return None


def convert_if_needed(x):
    if not isinstance(x, np.ndarray):
        raise TypeError("an array is needed")
    return x * 2


def scalar_or_array(s, x):
    def f(u):
        if np.isscalar(u):
            return u * 2
        return u.sum()

    return f(s), f(x)


def float_or_array(s):
    return s**2 if isinstance(s, (int, float)) else None


def docstring_example_of_fsum(A):
    return [math.fsum(row) for row in A]


@dataclasses.dataclass
class _State:
    position: np.ndarray
    speed: float = 0.0


def in_a_dataclass(x, s):
    state = _State(x, s)
    state.position = state.position + state.speed
    return state


def dataclass_replaced(x, s):
    return dataclasses.replace(_State(x, s), speed=s * 2)


def dataclass_asdict(x, s):
    return dataclasses.asdict(_State(x, s))


_Point = collections.namedtuple("_Point", "x y")


def in_a_namedtuple(s, t):
    point = _Point(s, t)
    return point._replace(x=point.x + point.y)


def in_a_deque(x):
    history = collections.deque(maxlen=2)
    for value in x:
        history.append(value)
    return list(history)


def in_a_defaultdict(x):
    groups = collections.defaultdict(list)
    for j, value in enumerate(x):
        groups[j % 2].append(value)
    return {key: sum(values) for key, values in groups.items()}


def in_an_attribute(x):
    class Model:
        pass

    model = Model()
    model.weights = x
    model.weights[0] = 1.0
    return model.weights


def cached_by_scalar(s):
    cache = {}
    cache[float(s)] = 1
    return cache


def memoised(s):
    @functools.cache
    def f(u):
        return u * 2

    return f(s) + f(s)


def generator(x):
    def squares():
        for value in x:
            yield value**2

    return sum(squares())


def recursion(x):
    def total(values):
        return values[0] + total(values[1:]) if len(values) else 0.0

    return total(x)


def sorted_pairs(x, y):
    pairs = sorted(zip(x, y, strict=True), key=lambda pair: pair[0])
    return [w for _, w in pairs]


def zip_star(A):
    first, second, third, fourth = zip(*A, strict=True)
    return np.array(first) + np.array(fourth)


def string_building(x):
    return " ".join(["%5.2f" % value for value in x])


def table(A):
    return "\n".join("\t".join(f"{value:.3f}" for value in row) for row in A)


def assertions(x):
    assert x.ndim == 1
    assert len(x) == 6
    assert (x > 0).all()
    assert np.all(np.isfinite(x))
    assert x.shape == (6,)
    return x.sum()


def assert_allclose(x):
    np.testing.assert_allclose(x, x * 1)
    np.testing.assert_array_equal(x > 0, True)


def try_len(s):
    try:
        return len(s)
    except TypeError:
        return 1


def try_iter(s):
    try:
        return list(s)
    except TypeError:
        return [s]


def try_index(x):
    try:
        return x[10]
    except IndexError:
        return x[-1]


def try_shapes(x, p):
    try:
        return x + p
    except ValueError:
        return x


def try_float(x):
    try:
        return float(x)
    except TypeError:
        return x[0]


def try_linalg(C):
    try:
        return np.linalg.inv(C * 0)
    except np.linalg.LinAlgError:
        return C


def try_matrix_product(A):
    try:
        return A @ A
    except ValueError:
        return A @ A.T


def keyword_call(x):
    def f(*, values, power=2):
        return values**power

    return f(**{"values": x, "power": 3})


def subscript_of_a_list_by_argmax(x):
    return ["a", "b", "c", "d", "e", "f"][x.argmax()]


def subscript_of_a_list_by_int(x):
    return ["a", "b", "c", "d"][int(x[1])]


def range_over_argsort(x):
    return [x[j] for j in x.argsort()]


def argsort_in_a_loop(x):
    total = 0.0
    for rank, j in enumerate(np.argsort(x)):
        total += rank * x[j]
    return total


def complex_parts(c):
    return c.real**2 + c.imag**2


def list_sum_of_arrays(x, y):
    return sum([x, y, x * y])


def reduce_with_initial(x):
    return functools.reduce(lambda u, w: u + w**2, x, 0.0)


def nested_lists_to_array(s, t):
    return np.array([[np.cos(s), -np.sin(s)], [np.sin(s), np.cos(t)]])


def array_of_scalars_and_numbers(s, x):
    return np.array([s, 1.0, x[0], x[1] * 2])


def array_of_arrays(x, y):
    return np.array([x, y])


def array_of_tuples(x):
    return np.array([(value, value**2) for value in x])


def array_of_a_generator(x):
    return np.fromiter((value * 2 for value in x), float)


def array_of_mixed_lengths(x):
    return np.array([x[:2], x[:3]])


def asarray_of_list(x):
    return np.asarray([x[0], x[1]])


def asarray_of_argument(x):
    x = np.asarray(x, dtype=float)
    return x * 2


def array_of_argument(x):
    x = np.array(x, float)
    x[0] = 1.0
    return x
