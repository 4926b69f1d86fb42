"""Derivatives by function transforms: a Hessian, Jacobians of two problems of ADBench, and vmap beside a loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.case import Case, Goal, Run
from benchmarks.cases.rosenbrock import rosenbrock
from benchmarks.contenders import fastest
from benchmarks.jax_names import names_of

START = np.linspace(-1.0, 1.0, 50)


# -- Hessian -----------------------------------------------------------------------------------------------------------
def hessian(lib: Any) -> Run:
    """The function as it stands, ndarray in and out."""
    return partial(lib.func.hessian(rosenbrock), START)


def functional_hessian(lib: Any) -> Run:
    """All rows in one backward through the recorded one, whose detached values are constants in it too."""
    return lambda: lib.autograd.functional.hessian(
        partial(rosenbrock, np=lib), lib.from_numpy(START.copy()), vectorize=True
    )


def hessians_of_torch() -> Callable[[Any], Run]:
    """A backward for each row, all rows in one batch, and the two ways of its functions."""

    def way(hessian: Callable[..., Any]) -> Callable[[Any], Run]:
        return lambda lib: partial(hessian, lib, partial(rosenbrock, np=lib), lib.from_numpy(START.copy()))

    return fastest(
        way(lambda lib, f, x: lib.autograd.functional.hessian(f, x)),
        way(lambda lib, f, x: lib.autograd.functional.hessian(f, x, vectorize=True)),
        way(lambda lib, f, x: lib.func.hessian(f)(x)),
        way(lambda lib, f, x: lib.func.jacrev(lib.func.grad(f))(x)),
    )


def hessian_by_jax(lib: Any) -> Run:
    """The same, compiled."""
    import jax.numpy as jnp

    compiled, x = lib.jit(lib.hessian(partial(rosenbrock, np=jnp))), jnp.asarray(START)
    return lambda: lib.block_until_ready(compiled(x))


# -- HAND --------------------------------------------------------------------------------------------------------------
FINGERS, JOINTS, VERTICES, POINTS = 5, 4, 544, 100
BONES = 2 + FINGERS * JOINTS  # the wrist, a palm, and four bones a finger
PARENTS = [-1, 0, *(0 if bone % JOINTS == 0 else bone + 1 for bone in range(FINGERS * JOINTS))]


def rigid(rng: np.random.Generator, count: int) -> Any:
    """That many transformations of space, as 4 x 4 matrices."""
    made = np.zeros((count, 4, 4))
    made[:, :3, :3] = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    made[:, :3, 3], made[:, 3, 3] = 0.1 * rng.normal(size=(count, 3)), 1.0
    return made


def hand_data() -> tuple[Any, ...]:
    """(26 pose parameters, relative and inverse base transformations, vertices, weights, correspondences, points)."""
    rng = np.random.default_rng(0)
    weights = rng.random((BONES, 1, VERTICES))
    base = np.concatenate([rng.normal(size=(3, VERTICES)), np.ones((1, VERTICES))])
    theta = 0.3 * rng.normal(size=6 + FINGERS * 4)
    correspondences, points = rng.integers(0, VERTICES, POINTS), rng.normal(size=(3, POINTS))
    return theta, rigid(rng, BONES), rigid(rng, BONES), base, weights / weights.sum(0), correspondences, points


def rotation(xp: Any, v: Any) -> Any:
    """The rotation about v by its length (Rodrigues)."""
    angle = xp.sqrt((v * v).sum())
    x, y, z = (v / angle)[0], (v / angle)[1], (v / angle)[2]
    c, s = xp.cos(angle), xp.sin(angle)
    t = 1 - c
    return xp.stack(
        [
            xp.stack([t * x * x + c, t * x * y - z * s, t * x * z + y * s]),
            xp.stack([t * x * y + z * s, t * y * y + c, t * y * z - x * s]),
            xp.stack([t * x * z - y * s, t * y * z + x * s, t * z * z + c]),
        ]
    )


def joint(xp: Any, x: Any, y: Any, zero: Any, one: Any) -> Any:
    """The transformation of a joint by two Euler angles."""
    cx, cy, sx, sy = xp.cos(x), xp.cos(y), xp.sin(x), xp.sin(y)
    return xp.stack(
        [
            xp.stack([cy, sx * sy, cx * sy, zero]),
            xp.stack([zero, cx, -sx, zero]),
            xp.stack([-sy, sx * cy, cx * cy, zero]),
            xp.stack([zero, zero, zero, one]),
        ]
    )


def hand(xp: Any, data: tuple[Any, ...], theta: Any) -> Any:
    """The 300 distances between points and the posed vertices; `xp` is NumPy or PyTorch."""
    relatives, inverses, base, weights, correspondences, points, zero, one = data
    absolutes: list[Any] = []
    for bone in range(BONES):
        at, place = relatives[bone], (bone - 2) % JOINTS
        if bone >= 2 and place < JOINTS - 1:  # the tip does not bend, and the first joint bends both ways
            angles = theta[6 + (bone - 2) // JOINTS * 4 :]
            at = at @ joint(xp, angles[place], angles[3] if place == 0 else zero, zero, one)
        absolutes.append(at if bone == 0 else absolutes[PARENTS[bone]] @ at)
    posed = ((xp.stack(absolutes) @ inverses @ base) * weights).sum(0)[:3]
    moved = rotation(xp, theta[:3]) @ posed + theta[3:6][:, None]
    return (points - moved[:, correspondences]).T.reshape(-1)


def hand_pullback(lib: Any) -> Run:
    """Written with NumPy's names, ndarray in and out."""
    theta, *data = hand_data()
    return partial(lib.func.jacfwd(partial(hand, np, (*data, 0.0, 1.0))), theta)


def hand_by_jax(lib: Any) -> Run:
    """The same lines, compiled."""
    import jax.numpy as jnp

    theta, *data = map(jnp.asarray, hand_data()[:5])
    data += hand_data()[5:]
    compiled = lib.jit(lib.jacfwd(partial(hand, jnp, (*data, 0.0, 1.0))))
    return lambda: lib.block_until_ready(compiled(theta))


def hand_of_torch() -> Callable[[Any], Run]:
    """The same lines with PyTorch's names, by each of its ways to columns."""

    def way(jacobian: Callable[..., Any], lib: Any) -> Run:
        theta, *data = map(lib.from_numpy, hand_data())
        numbers = lib.zeros((), dtype=lib.float64), lib.ones((), dtype=lib.float64)
        return partial(jacobian, lib, partial(hand, lib, (*data, *numbers)), theta)

    def by_functional(lib: Any, f: Any, theta: Any) -> Any:
        return lib.autograd.functional.jacobian(f, theta, vectorize=True, strategy="forward-mode")

    return fastest(partial(way, lambda lib, f, theta: lib.func.jacfwd(f)(theta)), partial(way, by_functional))


# -- bundle adjustment -------------------------------------------------------------------------------------------------
OBSERVATIONS = 10_000


def observations() -> tuple[np.ndarray, ...]:
    """Cameras (11 parameters each), points, weights and features, one of each for an observation."""
    rng, n = np.random.default_rng(0), OBSERVATIONS
    turn, place = 0.3 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    lens = 1 + rng.random((n, 1)), rng.normal(size=(n, 2)), 0.01 * rng.normal(size=(n, 2))
    points = rng.normal(size=(n, 3)) + np.array([0.0, 0.0, 8.0])
    return np.concatenate([turn, place, *lens], 1), points, rng.random(n), rng.normal(size=(n, 2))


def reprojection(xp: Any, cross: Any, camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """The error of one observation, 2 numbers; `xp` is NumPy or PyTorch."""
    turn, x = camera[:3], point - camera[3:6]
    angle = xp.sqrt((turn * turn).sum())
    axis, c, s = turn / angle, xp.cos(angle), xp.sin(angle)
    seen = x * c + cross(axis, x) * s + axis * ((axis * x).sum() * (1 - c))
    flat = seen[:2] / seen[2]
    square = (flat * flat).sum()
    distorted = flat * (1 + camera[9] * square + camera[10] * square * square)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def bundle_pullback(lib: Any) -> Run:
    """Written with NumPy's names, ndarray in and out."""
    function = partial(reprojection, np, np.cross)
    return partial(lib.func.vmap(lib.func.jacrev(function, (0, 1, 2))), *observations())


def bundle_torch(lib: Any) -> Run:
    """The same lines with PyTorch's."""
    function = partial(reprojection, lib, lib.linalg.cross)
    return partial(lib.func.vmap(lib.func.jacrev(function, (0, 1, 2))), *map(lib.from_numpy, observations()))


def bundle_by_jax(lib: Any) -> Run:
    """The same lines, compiled."""
    import jax.numpy as jnp

    compiled = lib.jit(lib.vmap(lib.jacrev(partial(reprojection, jnp, jnp.cross), (0, 1, 2))))
    data = [jnp.asarray(x) for x in observations()]
    return lambda: lib.block_until_ready(compiled(*data))


def bundle_by_two_backwards(lib: Any) -> Run:
    """One backward of the whole batch for each of an observation's two numbers."""
    *inputs, features = map(lib.from_numpy, observations())
    errors = lib.func.vmap(partial(reprojection, lib, lib.linalg.cross))
    unit = lib.eye(2, dtype=lib.float64)

    def run() -> Any:
        leaves = [x.detach().requires_grad_() for x in inputs]
        out = errors(*leaves, features)
        rows = [lib.autograd.grad(out, leaves, row.expand_as(out), retain_graph=True) for row in unit]
        return tuple(lib.stack(parts, 1) for parts in zip(*rows, strict=True))

    return run


# -- gradients for each sample -----------------------------------------------------------------------------------------
SAMPLES = 1_000


def digits(lib: Any) -> tuple[Any, ...]:
    """(the loss of one sample by the network of `pullback demo digits`, its parameters, samples, labels)."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype("f") / 8 for shape in ((128, 64), 128, (64, 128), 64, (10, 64), 10)]
    functional = lib.nn.functional

    def loss(parameters: Any, x: Any, label: Any) -> Any:
        *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
        for weight, bias in hidden:
            x = functional.gelu(functional.linear(x, weight, bias))
        return functional.cross_entropy(functional.linear(x, *last), label)

    samples, labels = rng.random((SAMPLES, 64)).astype("f"), rng.integers(0, 10, SAMPLES)
    return loss, tuple(map(lib.from_numpy, arrays)), lib.from_numpy(samples), lib.from_numpy(labels)


def samples_at_once(lib: Any) -> Run:
    """One vmap of grad."""
    loss, *given = digits(lib)
    return partial(lib.func.vmap(lib.func.grad(loss), in_dims=(None, 0, 0)), *given)


def samples_by_jax(lib: Any) -> Run:
    """The same lines, compiled."""
    loss, *given = digits(names_of(lib))
    compiled = lib.jit(lib.vmap(lib.grad(loss), (None, 0, 0)))
    return lambda: lib.block_until_ready(compiled(*given))


def samples_in_a_loop(lib: Any) -> Run:
    """The same a sample at a time, by pullback."""
    loss, parameters, samples, labels = digits(lib)
    gradient = lib.func.grad(loss)

    def run() -> Any:
        found = [gradient(parameters, x, label) for x, label in zip(samples, labels, strict=True)]
        return tuple(lib.stack(parts) for parts in zip(*found, strict=True))

    return run


# -- a sparse Jacobian -------------------------------------------------------------------------------------------------
VARIABLES = 100_000


def bratu(u: Any) -> Any:
    """Bratu's problem, u'' + exp(u) = 0 with u = 0 at both ends, by differences of second order."""
    inside = np.concatenate([np.zeros(1), u, np.zeros(1)])
    return (inside[2:] - 2 * u + inside[:-2]) * float(VARIABLES + 1) ** 2 + np.exp(u)


def unknowns() -> np.ndarray:
    """Where it is evaluated."""
    return np.random.default_rng(0).normal(size=VARIABLES)


def tridiagonal_pullback(lib: Any) -> Run:
    """The entries of the Jacobian; pattern and coloring are found once, as for a solver's steps."""
    x = unknowns()
    coloring = lib.func.color_jacobian(lib.func.jacobian_sparsity(bratu)(x))
    jacobian = lib.func.sparse_jacobian(bratu, sparsity=coloring)
    return lambda: jacobian(x).data


def tridiagonal_evaluated(_: Any) -> Run:
    """One evaluation of the system; the answer to compare is the Jacobian by hand, made beforehand."""
    x = unknowns()
    beside, here = np.full(VARIABLES - 1, float(VARIABLES + 1) ** 2), np.exp(x) - 2 * float(VARIABLES + 1) ** 2
    expected = scipy.sparse.diags_array([beside, here, beside], offsets=[-1, 0, 1]).tocsr().data

    def run() -> Any:
        bratu(x)
        return expected

    return run


CASES = [
    Case(
        name="hessian50",
        title="Hessian of the 50-dimensional Rosenbrock function, beside the fastest of PyTorch's four ways",
        build={"pullback": hessian, "torch": hessians_of_torch(), "jax": hessian_by_jax},
        goals=[Goal(1.1)],
    ),
    Case(
        name="hessian50-functional",
        title="the same by autograd.functional.hessian(vectorize=True), PyTorch's fastest way",
        build={"pullback": functional_hessian, "torch": functional_hessian},
        goals=[Goal(0.9)],
    ),
    Case(
        name="hand-jacobian",
        title="ADBench HAND, 26 parameters and 300 residuals: the Jacobian by jacfwd (PyTorch: or functional.jacobian)",
        build={"pullback": hand_pullback, "torch": hand_of_torch(), "jax": hand_by_jax},
        goals=[Goal(0.9)],
    ),
    Case(
        name="bundle-jacobian",
        title="ADBench BA, 10,000 Jacobians of 2 x 15 by vmap(jacrev) (PyTorch: or two backwards)",
        build={
            "pullback": bundle_pullback,
            "torch": fastest(bundle_torch, bundle_by_two_backwards),
            "jax": bundle_by_jax,
        },
        goals=[Goal(0.75)],
    ),
    Case(
        name="samples-digits",
        title="gradients of 1,000 samples of the digits network by vmap(grad), beside a loop",
        build={
            "pullback": samples_at_once,
            "loop": samples_in_a_loop,
            "torch": samples_at_once,
            "jax": samples_by_jax,
        },
        goals=[Goal(0.02, "loop"), Goal(None)],
        rtol=1e-4,
    ),
    Case(
        name="sparse-tridiagonal",
        title="sparse Jacobian of a tridiagonal system of 100,000 variables, its coloring known, beside an evaluation",
        build={"pullback": tridiagonal_pullback, "numpy": tridiagonal_evaluated},
        goals=[Goal(20, "numpy")],
    ),
]
