"""A value that a function keeps from an earlier call of a transform is refused where it would be a constant."""

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad, functional
from pullback.core.cuts import Run
from pullback.core.errors import BackwardTwiceError, EndedLevelError
from pullback.func import grad, hessian, hvp, jacfwd, jacobian, jacrev, jet, jvp, linearize, vhp, vjp, vmap

X = np.array([0.3, 0.7])
V = np.ones(2)
WAYS = {
    "grad": lambda f: grad(f)(X),
    "vjp": lambda f: vjp(f, X)[1](1.0)[0],
    "jvp": lambda f: jvp(f, (X,), (V,))[1],
    "linearize": lambda f: linearize(f, X)[1](V),
    "jacrev": lambda f: jacrev(f)(X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "hessian": lambda f: hessian(f)(X),
    "hvp": lambda f: hvp(f, X, V),
    "vhp": lambda f: vhp(f, X, V),
    "grad of grad": lambda f: grad(lambda x: grad(f)(x).sum())(X),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (V,))[1])(X),
    "jvp of grad": lambda f: jvp(grad(f), (X,), (V,))[1],
    "vmap of grad": lambda f: vmap(grad(f))(np.stack([X, X])),
    "vmap of jvp": lambda f: vmap(lambda x: jvp(f, (x,), (V,))[1])(np.stack([X, X])),
    "jet": lambda f: jet(f, (X,), ([V],))[1],
}


def cached(make=np.exp, use=lambda y, x: np.sum(y * x)):
    """A function that computes `make(x)` in its first call alone, and what it has kept."""
    known = []

    def function(x):
        if not known:
            known.append(make(x))
        return use(known[0], x)

    return function, known


def dual_block(f):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(pb.tensor(X), pb.tensor(V)))).tangent


LATER = WAYS | {
    "hessian, forward over reverse": lambda f: hessian(f, mode="forward-over-reverse")(X),
    "vmap of jvp of grad": lambda f: vmap(lambda v: jvp(grad(f), (X,), (v,))[1])(np.eye(2)),
    "vmap of directions": lambda f: vmap(lambda v: jvp(f, (X,), (v,))[1])(np.eye(2)),
    "dual_level": dual_block,
    "functional.jacobian": lambda f: functional.jacobian(f, X),
    "functional.hvp": lambda f: functional.hvp(f, X, V),
}
USES = {
    "with the argument": lambda y, x: np.sum(y * x),
    "alone, then added": lambda y, x: np.sum(y * y) + np.sum(x**3),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("second", LATER)
@pytest.mark.parametrize("first", WAYS)
def test_no_transform_takes_a_value_of_an_earlier_one_for_a_constant(first, second, use):
    f, _ = cached(use=USES[use])
    WAYS[first](f)
    with pytest.raises(RuntimeError, match=r"leaked out of the function|a func\.jet that has ended"):
        LATER[second](f)


OUTER = {
    "grad": lambda h: grad(lambda x: np.sum(h(x)))(X),
    "jvp": lambda h: jvp(h, (X,), (V,)),
    "jacfwd": lambda h: jacfwd(h)(X),
    "vmap": lambda h: vmap(h)(np.stack([X, X])),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("outer", OUTER)
def test_inside_of_other_transforms(outer, use):
    def h(x):
        f, _ = cached(use=USES[use])
        return grad(f)(x) + jvp(grad(f), (x,), (V,))[1]

    with pytest.raises(EndedLevelError, match="leaked out of the function"):
        OUTER[outer](h)


@pytest.mark.parametrize("way", sorted(set(WAYS) - {"jet", "vmap of grad"}))  # which speak for themselves
def test_the_error_names_the_function(way):
    class Memo:
        known = None

        def __call__(self, x):
            if self.known is None:
                self.known = np.exp(x)
            return np.sum(self.known * x)

    memo, line = Memo(), Memo.__call__.__code__.co_firstlineno
    WAYS[way](memo)
    with pytest.raises(EndedLevelError, match=rf'test_kept_values.py", line {line}'):
        jacfwd(memo)(X)


@pytest.mark.parametrize("make", [np.array, pb.tensor])
def test_a_linear_map_of_an_earlier_call(make):
    x, kept = make([0.3, 0.7]), []

    def f(x):
        if not kept:
            kept.append(vjp(lambda y: (y * x * x).sum(), pb.ones(2, dtype=pb.float64))[1])
        return kept[0](pb.tensor(1.0, dtype=pb.float64))[0].sum()

    np.testing.assert_allclose(grad(f)(x), 2 * x)
    assert kept[0](1.0)[0].tolist() == pytest.approx([0.09, 0.49])  # where nothing is differentiated
    for later in (grad, jacfwd, jacrev, hessian):
        with pytest.raises(EndedLevelError, match="leaked out of the function"):
            later(f)(x)


def test_a_jacobian_that_runs_the_function_twice():
    f, _ = cached(use=lambda y, x: np.concatenate([y * x, y * x]))
    rows = np.diag(np.exp(X) * (1 + X))
    np.testing.assert_allclose(jacobian(f)(X), np.concatenate([rows, rows]))
    with pytest.raises(EndedLevelError):  # of this call alone it is known what was kept
        jacobian(f)(X)


def test_what_a_transform_leaves_inside_of_a_block_is_right():
    def f(x):
        seen = []

        def inner(z):
            seen.append(z * x)
            return seen[-1].sum()

        grad(inner)(pb.tensor(V))
        return (seen[0] ** 2).sum()

    assert dual_block(f).item() == pytest.approx(2 * X.sum())
    np.testing.assert_allclose(functional.jacobian(f, X), 2 * X)


@pytest.mark.parametrize("inside_first", [True, False])
def test_beside_what_an_inner_transform_leaves(inside_first):
    kept = []

    def f(x):
        seen = []
        grad(lambda z: (seen.append(np.exp(z) * x), np.sum(seen[0]))[1])(V)
        if not kept:
            grad(lambda z: (kept.append(np.exp(z) * x), np.sum(z))[1])(V)
        parts = [np.sum(seen[0] ** 2), np.sum(kept[0] ** 2)]
        return sum(parts if inside_first else parts[::-1])

    jvp(lambda x: f(x), (X,), (V,))
    with pytest.raises(EndedLevelError, match="leaked out of the function"):
        jvp(f, (X,), (V,))


def by_default(x, known=[]):  # noqa: B006 - which is the mistake
    if not known:
        known.append(np.exp(x))
    return np.sum(known[0] * x)


def by_attribute(x):
    if not hasattr(by_attribute, "known"):
        by_attribute.known = np.exp(x)
    return np.sum(by_attribute.known * x)


class Model:
    def __init__(self):
        self.known = None

    def __call__(self, x):
        if self.known is None:
            self.known = np.exp(x)
        return np.sum(self.known * x)


class Table:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def values(self):
        return np.exp(self.x)


def by_cached_property():
    made = []

    def f(x):
        if not made:
            made.append(Table(x))
        return np.sum(made[0].values * x)

    return f


def by_lru_cache():
    given = []

    @functools.lru_cache
    def values(power):
        return np.exp(given[-1]) ** power

    def f(x):
        given.append(x)
        return np.sum(values(2) * x)

    return f


def by_buffer():
    buffer = []

    def f(x):
        if not buffer:
            buffer.append(np.empty_like(x))
            buffer[0][:] = np.exp(x)
        return np.sum(buffer[0] * x)

    return f


def mean_that_runs():
    mean = [np.zeros(2)]

    def f(x):
        mean[0] = 0.9 * mean[0] + 0.1 * x
        return np.sum(mean[0] * x)

    return f


class Squared(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent


KEEPING = {
    "default": lambda: functools.partial(by_default, known=[]),
    "attribute": lambda: (vars(by_attribute).clear(), by_attribute)[1],
    "object": Model,
    "cached_property": by_cached_property,
    "lru_cache": by_lru_cache,
    "buffer": by_buffer,
    "running mean": mean_that_runs,
    "view": lambda: cached(use=lambda y, x: np.sum(y[:1] * x))[0],
    "computed on": lambda: cached(use=lambda y, x: np.sum(np.sin(3 * y) * x))[0],
    "Function": lambda: cached(make=Squared.apply, use=lambda y, x: (Squared.apply(y) * x).sum())[0],
    "solver": lambda: cached(
        use=lambda y, x: pb.scipy.optimize.brentq(lambda s: s**3 - np.sum(y), -9.0, 50.0) * np.sum(x)
    )[0],
    "integral": lambda: cached(use=lambda y, x: pb.scipy.integrate.quad(lambda t: t * np.sum(y * x), 0, 1)[0])[0],
    "inner gradient": lambda: cached(use=lambda y, x: grad(lambda z: np.sum(z * z * y * x))(V).sum())[0],
}


@pytest.mark.parametrize("way", ["grad", "vjp", "jvp"])
@pytest.mark.parametrize("keeping", KEEPING)
def test_however_it_is_kept(keeping, way):
    f = KEEPING[keeping]()
    WAYS["vjp"](f)
    with pytest.raises(EndedLevelError, match="leaked out of the function"):
        WAYS[way](f)


@pytest.mark.filterwarnings("ignore:vmap.*which has custom rules:UserWarning")
def test_a_rule_that_runs_sample_by_sample_does_not_lose_it():
    f = KEEPING["integral"]()
    WAYS["grad"](f)
    with pytest.raises(EndedLevelError):
        WAYS["vmap of grad"](f)


def test_of_tensors():
    x = pb.tensor(2.0, dtype=pb.float64)
    for later in (lambda f: grad(f)(x), lambda f: f(x.clone().requires_grad_()).backward()):
        f, _ = cached(lambda x: x * x, lambda y, x: y * x)
        assert vjp(f, x)[1](pb.tensor(1.0, dtype=pb.float64))[0].item() == 12.0
        with pytest.raises(EndedLevelError):
            later(f)


def test_the_second_gradient_names_the_cause():
    f, _ = cached()
    line = f.__code__.co_firstlineno
    grad(f)(X)
    with pytest.raises(BackwardTwiceError, match=rf"computed by ExpBackward0\).*test_kept_values.py\", line {line}"):
        grad(f)(X)
    y = pb.ones(2, requires_grad=True).exp()
    y.sum().backward()
    with pytest.raises(BackwardTwiceError, match="retain_graph=True"):
        y.sum().backward()


@pytest.mark.parametrize("way", [way for way in WAYS if not way.startswith("vmap")])  # whose samples are others then
def test_what_is_held_constant_may_be_kept(way):
    f, _ = cached(lambda x: np.exp(x).detach() if hasattr(x, "detach") else x, lambda y, x: np.sum(y * x**2))
    WAYS[way](f)
    WAYS[way](f)


@pytest.mark.parametrize("way", ["grad", "vjp", "jvp", "linearize"])
def test_an_argument_may_be_kept(way):
    before = []

    def since_the_last_call(x):
        before.append(x)
        return np.sum((x - (before[-2] if len(before) > 1 else 0.0)) ** 3)

    WAYS[way](since_the_last_call)
    WAYS[way](since_the_last_call)


def test_a_number_where_nothing_is_differentiated():
    for way in ("grad", "jvp", "vjp"):
        f, known = cached(lambda x: x * x, lambda y, x: y * x)
        WAYS[way](lambda x, f=f: f(x[0]))
        assert known[0] + 1 == 1.09


def test_an_earlier_value_without_a_tangent_is_a_constant():
    f, _ = cached(lambda x: x * x, lambda y, x: y * x)
    jvp(f, (2.0,), (0.0,))
    assert jvp(f, (2.0,), (1.0,)) == (8.0, 4.0)


def test_what_an_inner_transform_leaves_to_the_function_around_it_is_right():
    def f(x):
        seen = []

        def inner(z):
            seen.append(z * x)
            return seen[-1].sum()

        grad(inner)(V)
        return np.sum(seen[0] ** 2)  # at z = 1

    np.testing.assert_allclose(grad(f)(X), 2 * X)


def test_a_linear_map_may_be_used_in_later_transforms():
    _, pull = vjp(np.sin, X)
    np.testing.assert_allclose(grad(lambda v: np.sum(pull(v)[0] ** 2))(V), 2 * np.cos(X) ** 2)
    _, push = linearize(np.sin, X)
    np.testing.assert_allclose(grad(lambda v: np.sum(push(v) ** 2))(V), 2 * np.cos(X) ** 2)


class Memo:
    def __init__(self):
        self.kept = {}

    def __call__(self, x):
        if "y" not in self.kept:
            self.kept["y"] = np.sin(x)
        return np.sum(self.kept["y"] ** 2)


def test_the_error_of_a_sparse_function_says_how_to_write_one_with_a_cache():
    with pytest.raises(RuntimeError, match="returned is used again") as raised:
        pb.func.sparse_hessian(Memo())(np.ones(3))
    assert "func.sparse_hessian(lambda x: Memo()(x))" in str(raised.value)
    assert "vectors.py" not in str(raised.value)
    found = pb.func.sparse_hessian(lambda x: Memo()(x))(np.ones(3))
    np.testing.assert_allclose(found.toarray(), np.diag(np.full(3, 2 * np.cos(2.0))))


class Watched:
    """A function that compares its value with the one before, which it keeps as a constant."""

    last = 0.0

    def __call__(self, x):
        value = np.sum(np.sin(x) ** 2)
        self.still = abs(value - self.last) < 1e-12
        self.last = pb.func.stop_gradient(value)
        return value


def test_a_value_that_is_kept_as_a_constant_may_be_compared_in_later_calls():
    f, x = Watched(), np.ones(3)
    assert "pullback.func.stop_gradient" in str(EndedLevelError(Run(1, "jvp", f)))
    f(x)
    pb.func.jvp(f, (x,), (x,))
    np.testing.assert_allclose(grad(f)(x), np.full(3, np.sin(2.0)))
    found = pb.func.sparse_hessian(f)(x)
    np.testing.assert_allclose(found.toarray(), np.diag(np.full(3, 2 * np.cos(2.0))), atol=1e-15)
    assert f(x) == f.last
