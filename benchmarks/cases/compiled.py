"""Functions compiled by `pullback.compile`, beside PyTorch eager, JAX under jit, and pullback without it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Goal, Run, Table
from benchmarks.cases import chains, fused, gmm, networks, rosenbrock, training, transforms
from benchmarks.contenders import Build, by_backward, by_jax, fastest

_FIRST = 20  # calls that record, compare and audit
DIRECTION = np.cos(np.arange(50.0))


def compiled(lib: Any, function: Callable[..., Any], *args: Any) -> Run:
    """The program of a function, which must have one."""
    made = lib.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", lib.compiler.CompileWarning)
        for _ in range(_FIRST):
            made(*args)
    return partial(made, *args)


def both_ways(build: Callable[[Any], tuple[Any, ...]]) -> Build:
    """A function and its arguments, `build(lib)`, compiled and as it is."""

    def eager(lib: Any) -> Run:
        function, *args = build(lib)
        return partial(function, *args)

    return {"pullback": lambda lib: compiled(lib, *build(lib)), "eager": eager}


def value_and_grad(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray] = ()
) -> Build:
    """`function(lib, *arrays, *constants)` and its gradients by `arrays`, ndarrays in and out."""

    def flat(lib: Any) -> tuple[Any, ...]:
        both = lib.func.value_and_grad(partial(function, lib), tuple(range(len(arrays))))

        def run(*args: Any) -> Any:
            value, grads = both(*args)
            return value, *grads

        return run, *arrays, *constants

    return both_ways(flat)


# -- products with a Hessian -------------------------------------------------------------------------------------------
def hvp(lib: Any) -> tuple[Any, ...]:
    """The function as it stands."""
    return partial(lib.func.hvp, rosenbrock.rosenbrock), transforms.START, DIRECTION


def hvp_of_torch() -> Callable[[Any], Run]:
    """By its functional API, and by a derivative of the gradient along the vector."""

    def functional(lib: Any) -> Run:
        x, v = map(lib.from_numpy, (transforms.START.copy(), DIRECTION))
        return lambda: lib.autograd.functional.hvp(partial(rosenbrock.rosenbrock, np=lib), x, v)[1]

    def forward_over_reverse(lib: Any) -> Run:
        x, v = map(lib.from_numpy, (transforms.START.copy(), DIRECTION))
        gradient = lib.func.grad(partial(rosenbrock.rosenbrock, np=lib))
        return lambda: lib.func.jvp(gradient, (x,), (v,))[1]

    return fastest(functional, forward_over_reverse)


def hvp_by_jax(lib: Any) -> Run:
    """The same, compiled."""
    import jax.numpy as jnp

    gradient = lib.grad(partial(rosenbrock.rosenbrock, np=jnp))
    product, x, v = lib.jit(lambda x, v: lib.jvp(gradient, (x,), (v,))[1]), jnp.asarray(transforms.START), DIRECTION
    return lambda: lib.block_until_ready(product(x, v))


# -- a classifier ------------------------------------------------------------------------------------------------------
SMALL = training.Shape(batch=64, inputs=64, hidden=128, classes=10)


def classifier(lib: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, target: Any) -> Any:
    """The loss of the network whose training steps are timed elsewhere."""
    functional = lib.nn.functional
    hidden = functional.relu(functional.linear(x, w1, b1))
    return functional.cross_entropy(functional.linear(hidden, w2, b2), target)


# -- what the machinery costs ------------------------------------------------------------------------------------------
def valued(lib: Any) -> tuple[Any, ...]:
    """Value and gradient of Rosenbrock's function."""
    return lib.func.value_and_grad(rosenbrock.rosenbrock), rosenbrock.START


def plan_alone(_: Any) -> Run:
    """The generated function of a program, without the way to it."""
    import pullback

    run = compiled(pullback, *valued(pullback))
    (variants,) = run.func._by_signature.values()  # type: ignore[attr-defined]
    return partial(variants.programs[0].plan.call, *run.args)  # type: ignore[attr-defined]


def first_call(lib: Any) -> Run:
    """A function is looked into and recorded."""
    function, *args = valued(lib)
    return lambda: lib.compile(function)(*args)


def _case(name: str, title: str, build: Build, goal: float | None, rtol: float = 1e-6, per: int = 1) -> Case:
    goals = [Goal(goal), Goal(None, "eager"), Goal(None, "jax")]
    return Case(f"compiled-{name}", title, build, per, goals, rtol)


def _others(case: Case) -> Build:
    """PyTorch and JAX, as they stand in another case."""
    return {name: build for name, build in case.build.items() if name in ("torch", "jax")}


_FUSED = {(3, "float32"): 0.16, (3, "float64"): 0.28, (5, "float32"): 0.4, (5, "float64"): 0.7,
          (6, "float32"): 0.45, (6, "float64"): 0.7}  # fmt: skip
_SINES, _ = chains.CASES
_HESSIAN = next(case for case in transforms.CASES if case.name == "hessian50")
_HAND = next(case for case in transforms.CASES if case.name == "hand-jacobian")


def _fused(exponent: int, dtype: str) -> Case:
    rng = np.random.default_rng(0)
    size = 10**exponent
    arrays = [rng.standard_normal(size).astype(dtype), rng.uniform(0.5, 2.0, size).astype(dtype)]
    build = value_and_grad(lambda _, a, b: fused.function(np, a, b), arrays) | _others(fused.case(exponent, dtype))
    title = f"sum(sin(a)*exp(-a*a/2) + log(b)*a) and both gradients, {size:,} {dtype}"
    return _case(f"fused-1e{exponent}-{dtype}", title, build, _FUSED[exponent, dtype], rtol=1e-4)


CASES = [
    _case(
        "sines",
        "chain of 100 sin on 10 float64, value and gradient, per operator",
        value_and_grad(lambda _, x: chains.sines(np, x), [chains.NUMBERS]) | _others(_SINES),
        0.22,
        per=100,
    ),
    _case(
        "rosenbrock10",
        "value and gradient of the 10-dimensional Rosenbrock function, ndarray in and out",
        both_ways(valued) | _others(rosenbrock.CASE),
        0.12,
    ),
    _case(
        "hvp50",
        "Hessian of the 50-dimensional Rosenbrock function times a vector",
        both_ways(hvp) | {"torch": hvp_of_torch(), "jax": hvp_by_jax},
        0.05,
    ),
    _case(
        "hessian50",
        "Hessian of the 50-dimensional Rosenbrock function, beside the fastest of PyTorch's four ways",
        both_ways(lambda lib: (lib.func.hessian(rosenbrock.rosenbrock), transforms.START)) | _others(_HESSIAN),
        0.1,
    ),
    _case(
        "mlp-small",
        "value and gradients of a classifier, batch 64, 64-128-10, float32",
        value_and_grad(classifier, SMALL.weights(), SMALL.data())
        | {"torch": lambda lib: by_backward(lib, classifier, SMALL.weights(), SMALL.data())}
        | by_jax(classifier, SMALL.weights(), SMALL.data()),
        0.45,
        rtol=1e-4,
    ),
    _case(
        "lstm",
        f"LSTM of {networks.STEPS} steps in operators, in PyTorch too, float32",
        value_and_grad(networks.lstm, *networks.lstm_data())
        | {"torch": networks.lstm_in_operators}
        | by_jax(networks.lstm_by_scan, *networks.lstm_data()),
        0.5,
        rtol=1e-3,
    ),
    _case(
        "gmm",
        "gradient of ADBench's Gaussian mixture (PyTorch: by einsum or bmm)",
        value_and_grad(gmm.log_posterior, *gmm.data()) | _others(gmm.CASE),
        0.5,
    ),
    _case(
        "hand",
        "ADBench HAND, the Jacobian by jacfwd",
        both_ways(
            lambda lib: (
                lib.func.jacfwd(partial(transforms.hand, np, (*transforms.hand_data()[1:], 0.0, 1.0))),
                transforms.hand_data()[0],
            )
        )
        | _others(_HAND),
        0.18,
    ),
    *(_fused(*key) for key in _FUSED),
    Case(
        "compiled-call",
        "the call of a compiled function (Rosenbrock's value and gradient) above that of its program",
        {"pullback": both_ways(valued)["pullback"], "numpy": plan_alone},
        goals=[Goal(3e-6, "numpy", above=True)],
    ),
    Case(
        "compiled-first-call",
        "the first call of a compiled function, which is looked into and recorded, beside the function itself",
        {"pullback": first_call, "eager": both_ways(valued)["eager"]},
        goals=[Goal(None, "eager")],
    ),
]
TABLE = Table("compiled", "functions compiled by pullback.compile", [[case] for case in CASES], by_default=False)
