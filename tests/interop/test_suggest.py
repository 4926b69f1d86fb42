"""What NumPy and SciPy did not hand to us: the error names the function, the user's line, and what to write."""

import cmath
import importlib
import math
import re
import statistics
import sys

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.special import logsumexp as renamed

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError
from pullback.interop.adopt import patches
from pullback.interop.adopt.rules import RULES
from pullback.interop.instead import ADVICE, EXPRESSIONS, SAME
from pullback.interop.operands import CANT_CALL_NUMPY
from pullback.interop.suggest import counterpart, nearest, supported

x = pb.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
rng = np.random.default_rng(0)
spline = scipy.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0))


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: np.is_busday(x), ["np.is_busday has no rule", "pullback.custom_vjp"]),
        (lambda: scipy.special.pro_cv(1, 2, x), ["scipy.special.pro_cv has no rule", "pullback.custom_vjp"]),
    ],
)
def test_message(call, parts):
    with pytest.raises(UnsupportedError) as caught:
        call()
    assert isinstance(caught.value, (TypeError, RuntimeError))
    for part in (*parts, f'File "{__file__}", line {call.__code__.co_firstlineno}', "(lambda: "):
        assert part in str(caught.value)


@pytest.fixture(autouse=True)
def genuine_methods():
    """Splines as SciPy has them, also after `pullback.scipy.interpolate` replaced their methods for good."""
    kept = set(patches._kept)
    patches._kept.clear()
    patches.undo_patches()
    yield
    for package in kept:
        patches.keep_patches(package)


CALLS = {
    "scipy.special.logsumexp": (
        lambda t: scipy.special.logsumexp(t),
        "Write pullback.scipy.special.logsumexp(...), which takes Tensors",
    ),
    "scipy.special.logsumexp, renamed": (lambda t: renamed(t), "Write pullback.scipy.special.logsumexp("),
    "np.array": (lambda t: np.array([t, t]), "Write np.array([...], like=t)"),
    "np.r_": (lambda t: np.r_[t, t], "Write np.concatenate"),
    "np.random.normal": (
        lambda t: np.random.normal(t),  # noqa: NPY002
        "Write loc + scale * np.random.standard_normal(size).",
    ),
    "rng.uniform": (lambda t: rng.uniform(t), "Write low + (high - low) * rng.random(size)."),
    "rng.permutation": (lambda t: rng.permutation(t * np.ones(3)), "Write t[rng.permutation(len(t))]."),
    "rng.choice": (
        lambda t: rng.choice(t * np.ones(3), 2),
        "Write t[rng.choice(len(t), size=size, replace=replace, p=p)].",
    ),
    "np.sum": (lambda t: np.sum([t, t]), "join a list first, by np.stack"),
    "scipy.special.expit": (lambda t: scipy.special.expit([t, 1.0]), "join a list first, by np.stack([...])."),
    "np.sin": (lambda t: np.sin([t, 1.0]), "pullback.adopt() once, at the top of the program: np.sin([...]), written"),
    "np.lib.stride_tricks.as_strided": (
        lambda t: np.lib.stride_tricks.as_strided(t, (2, 2), (0, 0)),
        "pullback.as_strided(t, size, stride), whose strides count elements",
    ),
    "np.vectorize": (lambda t: np.vectorize(abs)(t), "np.stack of its values in a loop"),
    "scipy.linalg.expm": (lambda t: scipy.linalg.expm(t * np.eye(2)), "Write pullback.scipy.linalg.expm(...)"),
    "scipy.linalg.solve": (lambda t: scipy.linalg.solve(np.eye(1), t[None]), "Write pullback.scipy.linalg.solve(...)"),
    "scipy.stats.norm.pdf": (lambda t: scipy.stats.norm.pdf(t), "Write pullback.scipy.stats.norm.pdf("),
    "scipy.interpolate.CubicSpline": (lambda t: spline(t), "by pullback.custom_vjp: spline(at, 1) is the slope"),
    "math.sin": (lambda t: math.sin(t), "Write np.sin(...)."),
    "math.lgamma": (lambda t: math.lgamma(t), "Write scipy.special.gammaln(x)."),
    "float": (lambda t: float(t), "Write t.detach().item()"),
    "scipy.optimize.minimize": (lambda t: scipy.optimize.minimize(lambda s: (s - t) ** 2, 0.0), "func.grad(f)"),
    "scipy.integrate.quad": (
        lambda t: scipy.integrate.quad(lambda s: s * t, 0, 1),
        "may come in args or in the closure",
    ),
}


@pytest.mark.parametrize(("call", "remedy"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_a_call_that_loses_a_derivative_is_named_with_its_line_and_its_remedy(call, remedy, transform, request):
    name = request.node.callspec.id.rpartition(f"{transform}-")[2].partition(",")[0]
    differentiate = pb.func.grad(call) if transform == "grad" else lambda t: pb.func.jvp(call, (t,), (1.0,))
    with pytest.raises(DetachingError) as caught:
        differentiate(1.5)
    message = str(caught.value)
    assert message.removeprefix(FAMILIAR).startswith(f"{name} would "), message
    assert f'File "{__file__}", line {call.__code__.co_firstlineno}' in message or name in message.split("\n")[2]
    assert remedy in message


# What PyTorch says where a Tensor would become an ndarray.
FAMILIAR = "Can't call numpy() on Tensor that requires grad: "

SOLVERS = {
    "brentq": lambda t: scipy.optimize.brentq(lambda s: s - t, 0, 9),
    "fsolve": lambda t: scipy.optimize.fsolve(lambda s: s - t, 0.0),
    "leastsq": lambda t: scipy.optimize.leastsq(lambda s: s - t, 0.0),
    "root_scalar": lambda t: scipy.optimize.root_scalar(lambda s: s - t, bracket=(0, 9)),
    "brenth": lambda t: scipy.optimize.brenth(lambda s: s - t, 0, 9),
    "ridder": lambda t: scipy.optimize.ridder(lambda s: s - t, 0, 9),
    "bisect": lambda t: scipy.optimize.bisect(lambda s: s - t, 0, 9),
}


@pytest.mark.parametrize("call", [lambda t: np.ones(3).dot(t), lambda t: np.asarray(t), lambda t: np.ones(3).repeat(t)])
def test_to_give_up_the_gradient_is_advised_last(call):
    with pytest.raises(DetachingError) as caught:
        call(pb.ones(3, requires_grad=True))
    message = str(caught.value).partition("\nMore about it")[0]
    assert message.endswith("\nFor the values alone, outside the graph: use tensor.detach().numpy() instead.")
    assert message.count("detach()") == 1


@pytest.mark.parametrize(("name", "call"), SOLVERS.items(), ids=SOLVERS)
def test_solvers_in_c_that_hide_the_error_have_it_as_a_note(name, call, capfd):
    for differentiate in (pb.func.grad(call), lambda t: pb.func.jvp(call, (t,), (1.0,))):
        # Which error comes out is chance: some of them go on calling the function while our error is set.
        with pytest.raises(Exception, match=rf"scipy\.optimize\.{name} would make a") as caught:
            differentiate(1.5)
        assert "A solver works on plain numbers" in "\n".join(
            [str(caught.value), *getattr(caught.value, "__notes__", ())]
        )
    for other in (lambda t: t.nothing, lambda t: math.sin(t.item(), 2)):  # what nobody hid has no such note
        with pytest.raises((AttributeError, TypeError)) as caught:
            pb.func.grad(other)(1.5)
        assert not hasattr(caught.value, "__notes__")


def test_a_number_taken_in_forward_mode_is_not_silent():
    with pytest.raises(DetachingError, match=r"math\.exp would make a Python float"):
        pb.func.jvp(lambda t: math.exp(t) * t, (np.array(2.0),), (np.array(1.0),))
    a = np.zeros(2)
    with pytest.raises(DetachingError, match=r"plain array|ndarray"):
        pb.func.jvp(lambda t: np.multiply(a, t, out=a), (np.ones(2),), (np.ones(2),))
    assert (a == 0).all()


def test_the_users_line_is_found_where_the_call_spans_lines_and_where_there_is_no_source():
    with pytest.raises(DetachingError, match=r"grad: scipy\.linalg\.expm would(.|\n)*test_suggest\.py"):
        scipy.linalg.expm(
            x,
        )
    program = compile("scipy.special.logsumexp(x)", "<nowhere>", "exec")
    said = r'(?s)grad: scipy\.special\.logsumexp would.*File "<nowhere>", line 1'
    with pytest.raises(DetachingError, match=said):
        exec(program, {"scipy": scipy, "x": x})


def test_a_warning_about_a_number_points_at_the_users_line():
    number = pb.tensor(0.5, requires_grad=True)
    with pytest.warns(UserWarning, match=r"^math\.sin takes .*np\.sin.*t\.detach\(\)\.item\(\)") as seen:
        math.sin(number)
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^scipy\.integrate\.quad takes") as seen:
        scipy.integrate.quad(lambda s: s * number, 0, 1)
    assert {w.filename for w in seen} == {__file__}


@pytest.mark.filterwarnings("ignore:matplotlib.pyplot.plot takes a Tensor")
def test_what_draws_is_told_to_take_plain_values():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    for t in (x[0].detach().requires_grad_(), x[0] * 2):
        with pytest.raises(RuntimeError) as caught:
            plt.plot(t)
        message = str(caught.value)
        assert message.removeprefix(CANT_CALL_NUMPY).startswith("matplotlib.pyplot.plot would")
        assert "plt.plot(t)" in message
        assert "t.detach().numpy()" in message
        assert "pickle" not in message


class TestAnotherLibrarysTensor:
    """A class named Tensor that is not ours."""

    Tensor = type("Tensor", (), {"__module__": "torch"})

    @pytest.mark.parametrize(
        "call",
        [
            lambda t: pb.sin(t),
            lambda t: x + t,
            lambda t: pb.stack([x, t]),
            lambda t: pb.autograd.grad(t, x),
            lambda t: pb.func.grad(np.sum)(t),
            lambda t: pb.func.jvp(np.sum, (t,), (t,)),
            lambda t: pb.from_numpy(t),
            lambda t: x.backward(t),
        ],
    )
    def test_is_named_with_its_library(self, call):
        with pytest.raises(TypeError, match=r"torch\.Tensor"):
            call(self.Tensor())


def test_nearest_stays_in_the_module_and_is_near():
    assert nearest("np.linalg.matrx_power")[0] == "np.linalg.matrix_power"
    assert nearest("np.sumn")[0] == "np.sum"
    assert nearest("pullback.logsumexpp")[0] == "pullback.logsumexp"
    for name in ("np.zzzzqqq", "scipy.special.ellipk", "scipy.special.betaln", "np.arrayy", "np.vectorise"):
        assert nearest(name) == []


def test_counterparts_exist_and_every_name_in_the_tables_is_a_function():
    assert counterpart("np.hamming") == "pullback.signal.windows.hamming(M)"
    for homes in SAME.values():
        for home in homes:
            assert any(full.rpartition(".")[0] == home for full in supported())
    for name in (*EXPRESSIONS, *ADVICE):
        home, _, tail = name.replace("np.", "numpy.").partition(".")
        found = importlib.import_module(home) if tail else home
        for part in tail.split(".") if tail else ():
            if not hasattr(found, part) and hasattr(found, "__path__"):
                importlib.import_module(f"{found.__name__}.{part}")
            if name in ("math.cbrt", "math.sumprod") and not hasattr(found, part):
                break  # of a newer Python, or SciPy
            found = getattr(found, part)


# Arguments for the expressions: those that keep them within their domains.
VALUES = {"n": 5.0, "k": 2.0, "loc": 0.5, "scale": 2.0, "start": 1.0, "stop": 9.0, "beta": 3.0, "M": 5, "size": 4,
          "mean": 0.3, "sigma": 0.8, "low": -0.5, "high": 2.0, "p": 1.25, "a": 0.8, "b": 1.25, "y": 0.75, "x": 0.5,
          "rel_tol": 1e-9, "abs_tol": 0.0}  # fmt: skip
OF_ITS_OWN = {  # where signature and names do not tell how to call it
    "math.fsum": ([0.5, 1.0],), "math.prod": ([0.5, 1.0],), "math.dist": ([1.0, 2.0], [3.0, 5.0]),
    **{f"statistics.{name}": ([0.5, 1.0, 4.0],) for name in (
        "fmean", "geometric_mean", "harmonic_mean", "mean", "median", "pstdev", "pvariance", "stdev", "variance"
    )},
    "math.sumprod": ([1.0, 2.0], [3.0, 5.0]),
    **{f"statistics.{name}": ([0.5, 1.0, 4.0], [3.0, 1.0, 5.0]) for name in (
        "correlation", "covariance", "linear_regression"
    )},
}  # fmt: skip
CALLED = {
    "np.bartlett": "M", "np.kaiser": "M beta", "math.comb": "n k", "math.isclose": "a b", "cmath.isclose": "a b",
    "np.random.exponential": "scale size", "np.random.gumbel": "loc scale size",
    "np.random.laplace": "loc scale size", "np.random.logistic": "loc scale size",
    "np.random.lognormal": "mean sigma size", "np.random.normal": "loc scale size", "np.random.pareto": "a size",
    "np.random.power": "a size", "np.random.rayleigh": "scale size", "np.random.uniform": "low high size",
    "np.random.weibull": "a size",
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_give_what_the_function_gives_and_take_tensors(name):
    values = {
        **VALUES, "scipy": scipy, "np": np, "math": math, "cmath": cmath, "statistics": statistics, "pullback": pb
    }  # fmt: skip
    function = values[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    if function is None:
        pytest.skip("not in this version of Python")
    if name in OF_ITS_OWN:
        given = OF_ITS_OWN[name]
        values |= dict(zip(("x", "q") if len(given) == 1 else ("p", "q"), given, strict=False))
        values |= {"x": given[0], "y": given[-1], "a": given[0], "data": given[0], "start": given[0], "stop": given[-1]}
    else:
        given = [values[n] for n in CALLED.get(name, "x").split()]
    if name == "math.comb":
        given = [int(g) for g in given]
    np.random.seed(3)  # noqa: NPY002 - functions that draw
    expected = function(*given)
    tensors = {n: pb.tensor(v, requires_grad=True) if isinstance(v, float) else v for n, v in values.items()}
    if isinstance(tensors["x"], list):
        tensors["x"] = [pb.tensor(v, requires_grad=True) for v in tensors["x"]]
    np.random.seed(3)  # noqa: NPY002
    got = eval(EXPRESSIONS[name], tensors)
    assert np.allclose(np.asarray(got.detach() if isinstance(got, pb.Tensor) else got), expected)


ARGUMENTS = [(-0.5,), (0.5,), (2.5,), (0.5, 2.0), (2, 3), ([0.5, 2.0],), (5,)]  # one of which a function takes


def counterparts():
    """(home, name, what `counterpart` says) of functions for which a name is advised."""
    known = {*supported(), *EXPRESSIONS, *ADVICE}
    for home in ("np", "np.linalg", "math", "cmath"):
        module = importlib.import_module(home.replace("np", "numpy"))
        for name in dir(module):
            if name.startswith("_") or f"{home}.{name}" in known:
                continue
            if said := counterpart(f"{home}.{name}"):
                yield pytest.param(getattr(module, name), said, id=f"{home}.{name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "said"), [*counterparts()])
def test_a_function_of_the_same_name_that_is_advised_gives_the_same(function, said):
    """By plain arguments, in the positions that the refused call has them; an error gives no other number."""
    advised = {"np": np, "pullback": pb}[said.partition(".")[0]]
    for part in said.partition("(")[0].split(".")[1:]:
        advised = getattr(advised, part)
    tried = 0
    for given in ARGUMENTS:
        taken = [pb.tensor(x) if said.startswith("pullback") and type(x) is float else x for x in given]
        try:
            expected = function(*given)
            found = advised(*([given[0] + 0j] if "+ 0j" in said else taken))
        except (TypeError, ValueError, IndexError, RuntimeError, AttributeError):
            continue
        for one, other in zip(leaves(found), leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        tried += 1
    assert tried or "tensors" in said  # which joins several


def leaves(found):
    parts = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x.detach() if isinstance(x, pb.Tensor) else x) for x in parts]


a, b = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
REFUSED = {
    "cdist, squares": (scipy.spatial.distance.cdist, (a, b, "sqeuclidean")),
    "cdist, blocks": (scipy.spatial.distance.cdist, (a, b, "cityblock")),
    "pdist": (scipy.spatial.distance.pdist, (a, "cosine")),
    "cholesky, upper by default": (scipy.linalg.cholesky, (a.T @ a,)),
    "pinvh": (scipy.linalg.pinvh, (a.T @ a,)),
    "lu, three parts": (scipy.linalg.lu, (a,)),
    "sqrtm": (scipy.linalg.sqrtm, (9 * np.eye(3) + a[:3],)),
    "toeplitz, with a row": (scipy.linalg.toeplitz, (a[:, 0], b[:, 0])),
    "zscore, by columns": (scipy.stats.zscore, (a,)),
    "gmean, by columns": (scipy.stats.gmean, (a**2,)),
    "sem, by columns": (scipy.stats.sem, (a,)),
    "softmax, of all": (scipy.special.softmax, (a,)),
    "correlate2d": (scipy.signal.correlate2d, (a, b)),
    "gaussian_filter": (scipy.ndimage.gaussian_filter, (a, 0.7)),
    "dct": (scipy.fft.dct, (a,)),
}


@pytest.mark.parametrize(("function", "args"), REFUSED.values(), ids=REFUSED)
def test_what_a_refusal_of_scipy_advises_computes_the_same(function, args):
    with pytest.raises(DetachingError) as caught:
        pb.func.grad(lambda a: np.sum(function(a, *args[1:])[0]))(args[0])
    advised = pb
    for part in re.search(r"Write pullback\.([\w.]+)\(\.\.\.\)", str(caught.value))[1].split("."):
        advised = getattr(advised, part)
    found = advised(pb.tensor(args[0], requires_grad=True), *args[1:])
    for one, other in zip(leaves(found), leaves(function(*args)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    assert any(isinstance(x, pb.Tensor) and x.requires_grad for x in (found if isinstance(found, tuple) else (found,)))


def test_every_function_of_scipy_with_a_rule_is_where_the_advice_says():
    for name in RULES:
        if name.startswith("scipy.") and not any(part.startswith("_") for part in name.split(".")):
            found = pb
            for part in name.split("."):
                found = getattr(found, part, None)
            home, _, tail = name.rpartition(".")
            assert found is not None or not hasattr(importlib.import_module(home), tail), name


@pytest.mark.parametrize("draw", ["np.random", "rng"])
def test_a_choice_that_is_advised_chooses_the_same(draw):
    names = {"np": np, "t": np.arange(9.0), "size": 5, "replace": False, "p": np.arange(9) / 36}
    drawn = []
    for text in ("np.random.choice(t, size=size, replace=replace, p=p)", ADVICE["np.random.choice"]):
        np.random.seed(1)  # noqa: NPY002
        names["rng"] = np.random.default_rng(1)
        drawn.append(eval(text.replace("np.random", draw), names))
    np.testing.assert_array_equal(*drawn)


def test_remedies_are_right():
    degree, t = 1, np.arange(3.0)
    y = pb.tensor([1.0, 3.0, 4.0], requires_grad=True)
    fitted = np.linalg.lstsq(np.vander(t, degree + 1), y)[0]
    assert np.allclose(fitted.detach(), np.polyfit(t, y.detach().numpy(), degree))
    assert np.allclose(np.exp(scipy.special.gammaln(x)).detach(), scipy.special.gamma(x.detach().numpy()))
    made = np.array([x[0, 0], 1.0], like=x)
    assert isinstance(made, pb.Tensor)
    assert made.requires_grad
    into = np.zeros(2, like=x)
    into[0] = x[0, 1]
    assert into.requires_grad
    z = pb.tensor(-0.5, requires_grad=True)
    assert np.allclose((np.log(z + 0j) / np.log(3.0 + 0j)).detach(), cmath.log(-0.5, 3.0))
    assert np.allclose(np.linalg.norm(np.stack([z, z, z])).detach(), math.hypot(0.5, 0.5, 0.5))
    assert "scipy" in sys.modules


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda x: np.ma.array(x, mask=[0, 1]).sum(), "Masked arrays are plain"),
        (lambda x: np.ma.masked_where(x > 2, x).mean(), "Masked arrays are plain"),
        (lambda x: np.rec.fromarrays([x, x]), "Records are plain"),
        (lambda x: np.frompyfunc(abs, 1, 1)(x).sum(), r"Write np\.vectorize\(f\)"),
        (lambda x: sum(v for _, v in np.ndenumerate(x)), r"np\.ndindex"),
    ],
)
def test_kinds_of_arrays_and_loops_that_have_no_tensors(call, remedy):
    with pytest.raises((TypeError, RuntimeError), match=remedy):
        pb.func.grad(call)(np.array([1.0, 3.0]))


REWRITTEN = {
    "scipy.linalg.matrix_balance": (
        lambda A: scipy.linalg.matrix_balance(A)[0],
        lambda A: np.linalg.solve(T := scipy.linalg.matrix_balance(A.detach().numpy())[1], A @ T),
        [[1.0, 2e3, 1.0], [0.0, 3.0, 0.0], [1e4, 2.0, 1.0]],
    ),
    "scipy.signal.residue": (
        lambda a: scipy.signal.residue([1.0, 3.0], a)[0],
        lambda a: np.polyval([1.0, 3.0], p := np.roots(a)) / np.polyval(np.polyder(a), p),
        [1.0, 3.0, 2.0],
    ),
    "scipy.signal.residuez": (
        lambda a: scipy.signal.residuez([1.0, 3.0], a)[0],
        lambda a: -(p := np.roots(a)) * np.polyval([3.0, 1.0], 1 / p) / np.polyval(np.polyder(a[::-1]), 1 / p),
        [1.0, 3.0, 2.0],
    ),
    "scipy.linalg.hessenberg": (scipy.linalg.hessenberg, None, np.eye(2)),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_scipy_cannot_differentiate_is_refused_in_words_that_name_a_way(name):
    call, rewritten, given = REWRITTEN[name]
    x = pb.tensor(given, requires_grad=True)
    with pytest.raises(DetachingError) as caught:
        call(x)
    assert name in str(caught.value)
    assert ADVICE[name] in str(caught.value)
    if rewritten is not None:
        found = rewritten(x)
        assert found.requires_grad
        np.testing.assert_allclose(np.sort(found.detach().numpy().ravel()), np.sort(call(np.array(given)).ravel()))
