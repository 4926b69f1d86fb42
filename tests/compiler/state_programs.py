"""Programs that read some state, each with a change of it, or with the word by which a refusal names it.

A program is written as

    == what it is about
    its code, in which f is the function; MODEL stands for the classes below
    --
    what changes then, or the word
"""

from __future__ import annotations

PRELUDE = """import collections, contextlib, dataclasses, enum, functools, itertools, math, operator, sys, types
import numpy as np
import pullback as pb
"""

MODEL = """class Base:
    bias = 1.0
    def shift(self, x): return x + self.bias
class Model(Base):
    decay = 0.5
    def __init__(self):
        self.scale, self.inner, self.table = 2.0, Inner(), {"rate": [0.1, 0.2]}
        self.seed = np.random.default_rng(0).normal()
        self.unread = 0
    @property
    def rate(self): return self.scale * OTHER
    @staticmethod
    def twice(x): return 2 * x
    @classmethod
    def thrice(cls, x): return 3 * x * cls.decay
    def __call__(self, x): return self.twice(self.thrice(x)) * self.scale + self.inner.offset + self.table["rate"][1]
    def __len__(self): return LENGTH
class Inner: offset = 3.0
OTHER, LENGTH = 4.0, 5
m = Model()
"""


def programs(text: str) -> dict[str, tuple[str, str]]:
    """The programs by what they are about, each with what comes after its code."""
    found = {}
    for part in text.split("\n== ")[1:]:
        name, _, rest = part.partition("\n")
        code, _, after = rest.partition("\n--\n")
        assert name not in found
        found[name] = PRELUDE + code.replace("MODEL", MODEL), after.strip()
    return found


# What is read, and how it is changed; the program is stale then.
STALE = programs("""
== a global
rate = 0.1
def f(x): return x * rate
--
rate = 0.2

== a global by type
rate = 1
def f(x): return x * rate
--
rate = True

== a global by sign
rate = 0.0
def f(x): return x + math.copysign(1, rate)
--
rate = -0.0

== a global that is an int, then a float
rate = 2
def f(x): return x * rate
--
rate = 2.0

== a NumPy scalar
rate = np.float64(1)
def f(x): return x * rate
--
rate = np.float32(1)

== a string
mode = 'a'
def f(x): return x if mode == 'a' else -x
--
mode = 'b'

== None
mode = None
def f(x): return x if mode is None else -x
--
mode = 0

== a tuple
shape = (2, 3)
def f(x): return x * shape[0]
--
shape = (2, 4)

== a global deleted
rate = 0.1
def f(x): return x * rate
--
del rate

== a built-in shadowed
def f(x): return abs(x)
--
def abs(x): return x

== a global of a helper's helper
rate = 1
def h(x): return x * rate
def g(x): return h(x)
def f(x): return g(x)
--
rate = 2

== a global in a lambda
rate = 1
def f(x): return (lambda y: y * rate)(x)
--
rate = 2

== a global in a comprehension
rate = 1
def f(x): return sum([x * rate for _ in range(2)])
--
rate = 2

== a global in a class body
rate = 1
def f(x):
    class A: r = rate
    return x * A.r
--
rate = 2

== a global in a recursion
rate = 1
def f(x, n=2): return f(x, n - 1) * rate if n else x
--
rate = 2

== a function replaced
def g(x): return x
def f(x): return g(x)
--
def g(x): return -x

== the code of a function
def g(x): return x
def f(x): return g(x)
--
g.__code__ = (lambda x: -x).__code__

== the code of the function itself
def f(x): return x
--
f.__code__ = (lambda x: -x).__code__

== a default
def f(x, rate=1): return x * rate
--
f.__defaults__ = (2,)

== a default of a keyword
def f(x, *, rate=1): return x * rate
--
f.__kwdefaults__['rate'] = 2

== defaults of keywords
def f(x, *, rate=1): return x * rate
--
f.__kwdefaults__ = {'rate': 2}

== a list as default
def f(x, rates=[1]): return x * rates[0]
--
f.__defaults__[0][0] = 2

== an attribute of a function
def f(x): return x * f.rate
f.rate = 1
--
f.rate = 2

== an attribute that a function has now
def f(x): return x * getattr(f, 'rate', 1)
--
f.rate = 2

== a variable of a closure
def make():
    rate = 1
    def f(x): return x * rate
    def put(r):
        nonlocal rate
        rate = r
    return f, put
f, put = make()
--
put(2)

== a variable of a closure in a lambda
def make():
    rate = 1
    def f(x): return (lambda: x * rate)()
    def put(r):
        nonlocal rate
        rate = r
    return f, put
f, put = make()
--
put(2)

== an item
c = {'rate': 1, 'n': 2}
def f(x): return x * c['rate']
--
c['rate'] = 2

== a dict of which an item is read too
c = {'rate': 1, 'n': 2}
def f(x): return x * c['rate'] * sum(c.values())
--
c['n'] = 3

== an item of an item
c = {'a': {'rate': 1}}
def f(x): return x * c['a']['rate']
--
c['a']['rate'] = 2

== an item that is new
c = {}
def f(x): return x * c.get('rate', 1)
--
c['rate'] = 2

== an item by a variable key
c = {'rate': 1}
k = 'rate'
def f(x): return x * c[k]
--
c['rate'] = 2

== a key by type
c = {1: 2}
def f(x): return x * len(str(list(c)))
--
c.clear()
c[True] = 2

== a dict in another order
c = {'a': 1, 'b': 2}
def f(x): return x - [*c.values()][0]
--
c['a'] = c.pop('a')

== an OrderedDict in another order
c = collections.OrderedDict(a=1, b=2)
def f(x): return x - [*c.values()][0]
--
c.move_to_end('a')

== a defaultdict
c = collections.defaultdict(int)
def f(x): return x * c.get('a', 1)
--
c['a']

== a list appended
c = [1]
def f(x): return x * len(c)
--
c.append(1)

== an item of a list
c = [1, 2]
def f(x): return x * c[1]
--
c[1] = 3

== an item of a long list
c = [*range(50)]
def f(x): return x * c[30]
--
c[30] = 3

== a list in a list
c = [[1], [2]]
def f(x): return x * c[1][0]
--
c[1][0] = 3

== a list in a tuple
c = ([1], [2])
def f(x): return x * c[1][0]
--
c[1][0] = 3

== a set
c = {1, 2}
def f(x): return x * len(c)
--
c.add(3)

== a set by type
c = {1}
def f(x): return x * len(str(c))
--
c.clear()
c.add(True)

== a deque
c = collections.deque([1])
def f(x): return x * c[0]
--
c[0] = 2

== the default of a defaultdict
c = collections.defaultdict(lambda: 1)
def f(x): return x * c.copy()['a']
--
c.default_factory = lambda: 2

== what a copy runs
import copy
class A:
    rate = 1
    def __deepcopy__(self, memo): return A.rate
a = A()
def f(x): return x * copy.deepcopy(a)
--
A.rate = 2

== what the making of a class runs
rate = 1
class A:
    def __init_subclass__(cls): cls.rate = rate
def f(x):
    class B(A): pass
    return x * B.rate
--
rate = 2

== an array replaced
a = np.ones(2)
def f(x): return x * a
--
a = np.ones(2)

== an array reshaped
a = np.ones((2, 1))
def f(x): return x * a
--
a.resize((1, 2), refcheck=False)

== an array of objects
a = np.array([1, 'b'], object)
def f(x): return x * a[0]
--
a[0] = 2

== a Tensor replaced
w = pb.ones(2)
def f(x): return x * w
--
w = pb.ones(2)

== a Tensor that requires grad now
w = pb.ones(2)
def f(x): return x * w
--
w.requires_grad_()

== a Tensor in a list
w = [pb.ones(2)]
def f(x): return x * w[0]
--
w[0] = pb.ones(2)

== an attribute
MODEL
def f(x): return m(x)
--
m.scale = 3.0

== an attribute of an attribute
MODEL
def f(x): return m(x)
--
m.inner.offset = 0.0

== an attribute of a class
MODEL
def f(x): return m(x)
--
Model.decay = 1.0

== an attribute of a class, hidden by the object
MODEL
def f(x): return m(x)
--
m.decay = 1.0

== an attribute of a base class
MODEL
def f(x): return m.shift(x)
--
Base.bias = 2.0

== an attribute of a base class, hidden
MODEL
def f(x): return m.shift(x)
--
Model.bias = 2.0

== a list in a dict in an attribute
MODEL
def f(x): return m(x)
--
m.table['rate'][1] = 2

== all attributes of an object at once
MODEL
def f(x): return m(x)
--
m.__dict__ = dict(vars(m), scale=3.0)

== a method on its class
MODEL
def f(x): return m(x)
--
Model.__call__ = lambda self, x: x

== a method on the object
MODEL
def f(x): return m.shift(x)
--
m.shift = lambda x: x

== a static method
MODEL
def f(x): return m(x)
--
Model.twice = staticmethod(lambda x: x)

== a class method
MODEL
def f(x): return m(x)
--
Model.thrice = classmethod(lambda cls, x: x)

== what a property reads
MODEL
def f(x): return m.rate * x
--
OTHER = 1

== a property where an attribute was
MODEL
def f(x): return m.scale * x
--
Model.scale = property(lambda m: 1)

== what an operator reads
MODEL
def f(x): return x * len(m)
--
LENGTH = 1

== an operator that is new
MODEL
def f(x): return x * bool(m)
--
Model.__bool__ = lambda m: False

== the class of an object
MODEL
def f(x): return m.shift(x)
--
m.__class__ = Base

== the bases of a class
MODEL
def f(x): return m.shift(x)
--
Model.__bases__ = (type('B', (Base,), {}),)

== a bound method
MODEL
f = m.shift
--
Base.bias = 2.0

== an object that is called
MODEL
f = m
--
m.scale = 3.0

== a bound method in a dict
MODEL
c = {'s': m.shift}
def f(x): return c['s'](x)
--
m.bias = 3

== what a class makes
rate = 1
class A:
    def __init__(self, x): self.y = x * rate
def f(x): return A(x).y
--
rate = 2

== what makes an object, in a class that inherited it
class A:
    def __init__(self): self.y = 1
class B(A): pass
def f(x): return x * B().y
--
def init(self): self.y = 2
B.__init__ = init

== what the class of an object makes
rate = 1
class A:
    def __init__(self): self.y = rate
a = A()
def f(x): return type(a)().y * x
--
rate = 2

== what a class method makes
rate = 1
class A:
    def __init__(self): self.y = rate
    @classmethod
    def make(cls): return cls()
def f(x): return A.make().y * x
--
rate = 2

== super()
class A:
    def g(self, x): return x * self.rate
class B(A):
    rate = 1
    def g(self, x): return super().g(x)
b = B()
def f(x): return b.g(x)
--
A.g = lambda self, x: x

== slots
class A:
    __slots__ = ('rate',)
    def __init__(self): self.rate = 1
a = A()
def f(x): return x * a.rate
--
a.rate = 2

== a slot that is empty
class A:
    __slots__ = ('rate',)
a = A()
def f(x): return x * getattr(a, 'rate', 1)
--
a.rate = 2

== a dataclass
@dataclasses.dataclass
class P:
    a: float = 1.0
p = P()
def f(x): return x * p.a
--
p.a = 2.0

== a frozen dataclass
@dataclasses.dataclass(frozen=True)
class P:
    a: float = 1.0
p = P()
def f(x): return x * p.a
--
p = P(2.0)

== a frozen dataclass, by force
@dataclasses.dataclass(frozen=True)
class P:
    a: float = 1.0
p = P()
def f(x): return x * p.a
--
object.__setattr__(p, "a", 2.0)

== a dataclass that is compared
@dataclasses.dataclass
class P:
    a: float = 1.0
    b: float = 2.0
p = P()
q = P()
def f(x): return x * (p == q)
--
q.b = 3.0

== a distribution with its parameters
from scipy import stats
n = stats.norm(0.0, 1.0)
def f(x): return n.pdf(x)
--
n.kwds["loc"] = 2.0

== a factorization
from scipy import sparse
from scipy.sparse import linalg
s = linalg.splu(sparse.csc_array(np.eye(2)))
def f(x): return s.solve(x)
--
s = linalg.splu(sparse.csc_array(2 * np.eye(2)))

== a dataclass, as a dict
@dataclasses.dataclass
class P:
    a: float = 1.0
p = P()
def f(x): return x * sum(dataclasses.asdict(p).values())
--
p.a = 2.0

== a namedtuple
P = collections.namedtuple('P', 'a')
p = P([1])
def f(x): return x * p.a[0]
--
p.a[0] = 2

== an enum
class E(enum.Enum):
    A = 1
    B = 2
mode = E.A
def f(x): return x * mode.value
--
mode = E.B

== a descriptor
class D:
    rate = 1
    def __get__(self, x, kind): return self.rate
class A: r = D()
a = A()
def f(x): return x * a.r
--
D.rate = 2

== a SimpleNamespace
c = types.SimpleNamespace(rate=1)
def f(x): return x * c.rate
--
c.rate = 2

== a dict of the user's
class D(dict):
    def __iter__(self): raise ValueError
d = D(a=1)
def f(x): return x * d['a']
--
d['a'] = 2

== a list of the user's
class L(list):
    def __iter__(self): raise ValueError
d = L([1])
def f(x): return x * d[0]
--
d[0] = 2

== a UserDict
d = collections.UserDict(a=1)
def f(x): return x * d['a']
--
d['a'] = 2

== a function in a dict
c = {'g': lambda x: x}
def f(x): return c['g'](x)
--
c['g'] = lambda x: -x

== a partial
def g(r, x): return r[0] * x
r = [1]
f = functools.partial(g, r)
--
r[0] = 2

== a keyword of a partial
def g(x, r): return r * x
f = functools.partial(g, r=1)
--
f.keywords['r'] = 2

== a decorated function
rate = 1
def d(g):
    @functools.wraps(g)
    def h(x): return g(x)
    return h
@d
def f(x): return x * rate
--
rate = 2

== a context manager
rate = 1
@contextlib.contextmanager
def c(): yield rate
def f(x):
    with c() as r: return x * r
--
rate = 2

== a ContextVar
import contextvars
v = contextvars.ContextVar('v', default=1)
def f(x): return x * v.get()
--
v.set(2)

== a function of NumPy
def f(x): return np.sin(x)
--
np = types.SimpleNamespace(sin=np.cos)

== a constant of math
def f(x): return x * math.pi
--
math.pi = 3.0

== a function of math
def f(x): return x * math.sin(1)
--
math.sin = math.cos

== a module by its name
def f(x): return x * sys.modules['math'].pi
--
math.pi = 3.0

== a module imported inside
def f(x):
    import math as q
    return x * q.tau
--
math.tau = 3.0

== a name imported inside
def f(x):
    from math import e
    return x * e
--
math.e = 3.0

== pullback's transforms
rate = 1.0
def g(x): return np.sum(x * rate)
f = pb.func.grad(g)
--
rate = 2.0

== several transforms
rate = 1.0
def g(x): return np.sum(x**2 * rate)
f = pb.func.vmap(pb.func.hessian(g))
--
rate = 2.0

== a transform inside
rate = 1.0
def g(x): return np.sum(x * rate)
def f(x): return pb.func.grad(g)(x)
--
rate = 2.0

== a match statement
class A:
    __match_args__ = ('r',)
    def __init__(self): self.r = 1
a = A()
def f(x):
    match a:
        case A(r): return x * r
--
a.r = 2

== an attrgetter
class A: pass
a = A()
a.r = 1
g = operator.attrgetter('r')
def f(x): return x * g(a)
--
a.r = 2

== a name for getattr
get = getattr
class A: r = 1
a = A()
def f(x): return x * getattr(a, 'r')
--
a.r = 2

== all attributes of an object
class A: pass
a = A()
a.r = 1
def f(x): return x * sum(a.__dict__.values())
--
a.r = 2

== a global in what takes a container apart
from pullback.utils.pytree import register_pytree_node
rate = 1.0
class P:
    def __init__(self, w): self.w = w
register_pytree_node(P, lambda p: ((p.w * rate,), None), lambda c, _: P(*c))
p = P(np.ones(2))
def f(x): return pb.func.grad(lambda p: np.sum(p.w * x))(p).w
--
rate = 2.0

== an attribute that what takes a container apart names
from pullback.utils.pytree import register_pytree_node
class P:
    def __init__(self, w): self.w = w
register_pytree_node(P, lambda p: ((p.w,), None), lambda c, _: P(*c))
p = P(np.ones(2))
def f(x): return pb.utils.pytree.tree_flatten(p)[0][0] * x
--
p.w = np.zeros(2)

== a rule of a function
rate = 1.0
@pb.custom_vjp
def g(x): return x
g.defvjp(lambda ct, result, x: (ct * rate,))
def f(x): return pb.func.grad(lambda x: np.sum(g(x)))(x)
--
rate = 2.0

== a method that a library calls
from scipy import stats
rate = 1.0
class D(stats.rv_continuous):
    def _pdf(self, x): return np.exp(-rate * x**2)
d = D()
def f(x): return d.pdf(x)
--
rate = 2.0

== what a Function reads
class F(pb.autograd.Function):
    rate = 2.0
    @staticmethod
    def forward(ctx, x): return x * F.rate
    @staticmethod
    def backward(ctx, g): return g * F.rate
def f(x): return F.apply(pb.asarray(x))
--
F.rate = 3.0

== a decorator of pullback's
rate = 1
@pb.no_grad()
def f(x): return x * rate
--
rate = 2

== np.vectorize
rate = 1.0
g = np.vectorize(lambda x: x * rate)
g(1.0)
def f(x): return g(x)
--
rate = 2.0

== a spline
from scipy.interpolate import CubicSpline
s = CubicSpline([0, 1, 2], [0.0, 1.0, 0.0])
def f(x): return s(x)
--
s.c = s.c * 2

== a sparse matrix
import scipy.sparse as sp
A = sp.csr_array(np.eye(2))
def f(x): return A @ x
--
A.data = A.data * 2

== a method of an array
a = [np.eye(2)]
def f(x): return a[0].dot(x)
--
a[0] = np.eye(2)

== a bound method of an array
a = np.eye(2)
dot = a.dot
def f(x): return dot(x)
--
dot = (2 * a).dot

== a class that is compared with
MODEL
def f(x):
    return x * OTHER if isinstance(m, (Model, Base)) and type(m) is Model else x
--
Model = Base

== what a metaclass does
rate = 1
class M(type):
    def __call__(cls): return rate
class A(metaclass=M): pass
def f(x): return x * A()
--
rate = 2

== a constant of a module of SciPy's
import scipy.constants as c
def f(x): return x * c.g
--
c.g = 9.0

== an attribute that is asked for
class A: pass
a = A()
def f(x): return x * 2 if hasattr(a, 'r') else x
--
a.r = 2
""")

# What is read, and what else is changed; the program goes on.
FRESH = programs("""
== the gradient of a Tensor, which is read at each call
w = pb.ones(2, requires_grad=True)
w.sum().backward()
def f(x): return x * w.grad
--
w.grad = pb.zeros(2)

== another global
rate = 1
def f(x): return x * rate
--
other = 3

== an equal number
rate = 0.125
def f(x): return x * rate
--
rate = float('0.125')

== nan again
rate = float('nan')
def f(x): return x * rate
--
rate = float('nan')

== an equal NumPy scalar
rate = np.float64(2)
def f(x): return x * rate
--
rate = np.float64(2)

== an equal tuple
shape = (2, (3, 1000))
def f(x): return x * shape[0]
--
shape = (2, (3, int('1000')))

== an equal item
c = [1.5, 2]
def f(x): return x * c[0]
--
c[0] = float('1.5')

== equal items of a long list
c = [*map(float, range(50))]
def f(x): return x * c[3]
--
c[:] = map(float, range(50))

== an equal item of a dict
c = {'a': 1.5}
def f(x): return x * c.get('a')
--
c['a'] = float('1.5')

== another item
c = {'rate': 1, 'step': 0}
def f(x): return x * c['rate']
--
c['step'] += 1
c['new'] = 3

== another attribute
MODEL
def f(x): return m(x)
--
m.unread += 1
m.new = 3

== another attribute of a class
MODEL
def f(x): return m(x)
--
Model.new = 3

== another attribute of a module
c = types.ModuleType('c')
c.r = 1
def f(x): return x * c.r
--
c.s = 1

== an array written into
a = np.ones(2)
def f(x): return x * a
--
a[0] = 3

== a Tensor written into
w = pb.ones(2)
def f(x): return x * w
--
w.add_(1)

== a method bound again
MODEL
g = m.shift
def f(x): return g(x)
--
g = m.shift

== grad mode
def f(x): return np.sin(x)
--
pb.set_grad_enabled(True)

== print settings
def f(x): return np.sin(x)
--
np.set_printoptions(precision=8)

== a global of the same name elsewhere
def f(x):
    rate = 2
    return x * rate
--
rate = 3

== the doc of a function
def f(x): return x
--
f.__doc__ = 'new'

== adopt()
def f(x): return x * math.sin(1) + np.zeros(2)
--
adoption = pb.adopt()
""")

# What nobody can follow.
REFUSED = programs("""
== a global assigned by the function
n = 1
def f(x):
    global n
    n = 1
    return x
--
the variable `n`

== getattr
class A: r = 1
n = 'r'
def f(x): return x * getattr(A, n)
--
getattr

== getattr with a sum
class A: r = 1
n = 'r'
def f(x): return x * getattr(A, 'a' + n, 2)
--
getattr

== getattr passed on
def f(x): return [*map(getattr, [x], ['real'])][0]
--
getattr

== eval
def f(x): return x * eval('1')
--
eval

== eval by another name
e = eval
def f(x): return x * e('1')
--
e

== exec in a dict
c = {'e': exec}
def f(x): return c['e']('1')
--
item 'e'

== globals
rate = 1
def f(x): return x * globals()['rate']
--
globals

== vars
class A: r = 1
a = A()
def f(x): return x * len(vars(a))
--
vars

== the environment
import os
def f(x): return x * float(os.environ['RATE'])
--
environ

== getenv
import os
def f(x): return x * float(os.getenv('RATE'))
--
getenv

== open
def f(x): return x * len(open('a').read())
--
open

== a file
import io
h = io.StringIO()
def f(x): return x * len(h.read())
--
h

== an array in a file
def f(x): return x * np.load("a.npy")
--
load

== a class of paths
import pathlib
class P(type(pathlib.Path())): pass
p = P("a")
def f(x): return x * len(p.read_text())
--
P

== a path
import pathlib
def f(x): return x * len(pathlib.Path('a').read_text())
--
Path

== a clock
import time
def f(x): return x * time.time()
--
time

== a clock by name
from time import perf_counter
def f(x): return x * perf_counter()
--
perf_counter

== a date
import datetime
def f(x): return x * datetime.datetime.now().year
--
datetime

== random
import random
def f(x): return x * random.random()
--
random

== a Random
import random
r = random.Random(0)
def f(x): return x * r.random()
--
r

== np.random
def f(x): return x * np.random.rand()
--
rand

== np.random.seed
def f(x):
    np.random.seed(0)
    return x
--
random

== a Generator
r = np.random.default_rng(0)
def f(x): return x * r.normal()
--
r

== a method of a Generator
r = np.random.default_rng(0).normal
def f(x): return x * r()
--
r

== SciPy's random numbers
from scipy import stats
def f(x): return x * stats.norm.rvs()
--
rvs

== a seed
def f(x):
    pb.manual_seed(0)
    return x * pb.rand(1)
--
manual_seed

== a counter
c = itertools.count()
def f(x): return x * next(c)
--
c

== an iterator
c = iter([1, 2, 3])
def f(x): return x * next(c)
--
c

== a generator
def g(): yield 1
c = g()
def f(x): return x * next(c)
--
c

== a lock
import threading
c = threading.Lock()
def f(x):
    with c: return x
--
c

== a thread's own
import threading
c = threading.local()
c.r = 1
def f(x): return x * c.r
--
c

== a cached function
@functools.lru_cache
def g(n): return n
def f(x): return x * g(1)
--
g

== a generic function
@functools.singledispatch
def g(x): return x
@g.register
def h(x: float): return 2 * x
def f(x): return g(x)
--


== the graph of a Tensor
w = pb.ones(2, requires_grad=True)
def f(x): return x if w.grad_fn else w
--
grad_fn

== the globals of a function
def g(): pass
def f(x): return x * g.__globals__['rate']
--
__globals__

== a view of a dict
c = {1: 2}.values()
def f(x): return x * sum(c)
--
c

== a memoryview
c = memoryview(b'12')
def f(x): return x * c[0]
--
c

== np.nditer
c = np.nditer(np.ones(3))
def f(x): return x * next(c)
--
c

== a weak dictionary
import weakref
c = weakref.WeakValueDictionary()
def f(x): return x * len(c)
--
c

== a weak reference
import weakref
class A: r = 1
a = A()
w = weakref.ref(a)
def f(x): return x * w().r
--
w

== __getattr__
class A:
    def __getattr__(self, n): return 1
a = A()
def f(x): return x * a.r
--
__getattr__

== a long list
c = [0] * 2000
def f(x): return x * c[0]
--
c

== too much
c = [[i] for i in range(300)]
def f(x): return x * c[0][0]
--
the function

== frompyfunc
g = np.frompyfunc(lambda x: x, 1, 1)
def f(x): return g(x)
--
g

== a bytearray
c = bytearray(3)
def f(x): return x * c[0]
--
c

== sys.modules
n = 'math'
def f(x): return x * sys.modules[n].pi
--
modules

== a module that finds names
c = types.ModuleType('c')
c.__getattr__ = lambda n: 1
def f(x): return x * c.r
--
`r` of the module c
""")
