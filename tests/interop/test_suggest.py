"""What NumPy and SciPy did not hand to us: the error names the function, the user's line, and what to write."""

import importlib
import math
import statistics
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats
from scipy.special import logsumexp as renamed

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError
from pullback.interop.adopt import patches
from pullback.interop.instead import ADVICE, EXPRESSIONS, SAME
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
        "Write pullback.logsumexp(input, dim, keepdim=False).",
    ),
    "scipy.special.logsumexp, renamed": (lambda t: renamed(t), "Write pullback.logsumexp("),
    "np.array": (lambda t: np.array([t, t]), "Write np.array([...], like=t)"),
    "np.r_": (lambda t: np.r_[t, t], "Write np.concatenate"),
    "np.random.normal": (
        lambda t: np.random.normal(t),  # noqa: NPY002
        "Write loc + scale * np.random.standard_normal(size).",
    ),
    "rng.uniform": (lambda t: rng.uniform(t), "Write low + (high - low) * rng.random(size)."),
    "rng.permutation": (lambda t: rng.permutation(t * np.ones(3)), "Write t[rng.permutation(len(t))]."),
    "rng.choice": (lambda t: rng.choice(t * np.ones(3), 2), "Write t[rng.integers(len(t), size=size)]."),
    "np.sum": (lambda t: np.sum([t, t]), "join a list first, by np.stack"),
    "scipy.special.expit": (lambda t: scipy.special.expit([t, 1.0]), "join a list first, by np.stack([...])."),
    "np.sin": (lambda t: np.sin([t, 1.0]), "pullback.adopt() once, at the top of the program: np.sin([...]), written"),
    "np.lib.stride_tricks.as_strided": (
        lambda t: np.lib.stride_tricks.as_strided(t, (2, 2), (0, 0)),
        "pullback.as_strided(t, size, stride), whose strides count elements",
    ),
    "np.vectorize": (lambda t: np.vectorize(abs)(t), "np.stack of its values in a loop"),
    "scipy.linalg.expm": (lambda t: scipy.linalg.expm(t * np.eye(2)), "Write pullback.linalg.matrix_exp(A)."),
    "scipy.linalg.solve": (lambda t: scipy.linalg.solve(np.eye(1), t[None]), "Write np.linalg.solve(...)."),
    "scipy.stats.norm.pdf": (lambda t: scipy.stats.norm.pdf(t), "Write np.exp("),
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
FAMILIAR = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "

SOLVERS = {
    "brentq": lambda t: scipy.optimize.brentq(lambda s: s - t, 0, 9),
    "fsolve": lambda t: scipy.optimize.fsolve(lambda s: s - t, 0.0),
    "leastsq": lambda t: scipy.optimize.leastsq(lambda s: s - t, 0.0),
    "root_scalar": lambda t: scipy.optimize.root_scalar(lambda s: s - t, bracket=(0, 9)),
    "brenth": lambda t: scipy.optimize.brenth(lambda s: s - t, 0, 9),
    "ridder": lambda t: scipy.optimize.ridder(lambda s: s - t, 0, 9),
    "bisect": lambda t: scipy.optimize.bisect(lambda s: s - t, 0, 9),
}


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
    with pytest.raises(DetachingError, match=r"instead\. scipy\.linalg\.expm would(.|\n)*test_suggest\.py"):
        scipy.linalg.expm(
            x,
        )
    program = compile("scipy.special.logsumexp(x)", "<nowhere>", "exec")
    said = r'(?s)instead\. scipy\.special\.logsumexp would.*File "<nowhere>", line 1'
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
        assert message.startswith("matplotlib.pyplot.plot would")
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
    assert counterpart("scipy.special.softmax") == "pullback.softmax(input, dim, dtype=None)"
    for homes in SAME.values():
        for home in homes:
            assert any(full.rpartition(".")[0] == home for full in supported())
    for name in (*EXPRESSIONS, *ADVICE):
        home, _, tail = name.replace("np.", "numpy.").partition(".")
        found = importlib.import_module(home) if tail else home
        for part in tail.split(".") if tail else ():
            if not hasattr(found, part) and hasattr(found, "__path__"):
                importlib.import_module(f"{found.__name__}.{part}")
            if name in ("math.cbrt", "math.sumprod", "scipy.special.softplus") and not hasattr(found, part):
                break  # of a newer Python, or SciPy
            found = getattr(found, part)


# Arguments for the expressions: those that keep them within their domains.
VALUES = {"N": 5.0, "n": 5.0, "k": 2.0, "m": 1.5, "v": 1.5, "z": 0.75, "loc": 0.5, "scale": 2.0, "lmbda": 0.5,
          "delta": 0.6, "r": 0.9, "q": 0.3, "mu": 1.5, "dfn": 3.0, "dfd": 4.0, "start": 1.0, "stop": 9.0,
          "A": np.array([[0.5, 0.2], [0.2, 0.4]]), "c": np.array([3.0, 1.0, 2.0]), "u": np.array([1.0, 2.0, 0.5]),
          "M": 5, "size": 4, "mean": 0.3, "sigma": 0.8, "low": -0.5, "high": 2.0,
          "p": 1.25, "b": 1.25, "y": 0.75, "x": 0.5}  # fmt: skip
VECTORS = {"v": np.array([0.5, 1.0, 2.5])}
OF_ITS_OWN = {  # where signature and names do not tell how to call it
    "math.fsum": ([0.5, 1.0],), "math.prod": ([0.5, 1.0],), "math.dist": ([1.0, 2.0], [3.0, 5.0]),
    **{f"statistics.{name}": ([0.5, 1.0, 4.0],) for name in (
        "fmean", "mean", "median", "pstdev", "pvariance", "stdev", "variance"
    )},
    "math.sumprod": ([1.0, 2.0], [3.0, 5.0]), "scipy.linalg.pinvh": (VALUES["A"],),
}  # fmt: skip
CALLED = {
    "np.bartlett": "M", "scipy.special.beta": "a b", "scipy.special.betaln": "a b",
    "scipy.special.binom": "n k", "math.comb": "n k", "scipy.special.comb": "N k", "scipy.special.betaincc": "a b x",
    "scipy.special.boxcox": "x lmbda", "scipy.special.boxcox1p": "x lmbda", "scipy.special.chdtr": "v x",
    "scipy.special.chdtrc": "v x", "scipy.special.fdtr": "dfn dfd x", "scipy.special.gdtr": "a b x",
    "scipy.special.huber": "delta r", "scipy.special.pseudo_huber": "delta r", "scipy.special.inv_boxcox": "y lmbda",
    "scipy.special.ive": "v z", "scipy.special.jve": "v z", "scipy.special.kve": "v z", "scipy.special.yve": "v z",
    "scipy.special.kl_div": "x y", "scipy.special.rel_entr": "x y", "scipy.special.pdtr": "k m",
    "scipy.special.poch": "z m", "scipy.special.powm1": "x y", "scipy.linalg.expm": "A", "scipy.linalg.circulant": "c",
    "scipy.linalg.toeplitz": "c", "scipy.stats.norm.ppf": "q loc scale", "scipy.stats.poisson.logpmf": "k mu",
    "np.random.exponential": "scale size", "np.random.gumbel": "loc scale size",
    "np.random.laplace": "loc scale size", "np.random.logistic": "loc scale size",
    "np.random.lognormal": "mean sigma size", "np.random.normal": "loc scale size", "np.random.pareto": "a size",
    "np.random.power": "a size", "np.random.rayleigh": "scale size", "np.random.uniform": "low high size",
    "np.random.weibull": "a size", "scipy.stats.gmean": "a", "scipy.stats.hmean": "a",
    "scipy.stats.sem": "a", "scipy.stats.zscore": "a",
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_give_what_the_function_gives_and_take_tensors(name):
    values = {**VALUES, "a": 0.8, "scipy": scipy, "np": np, "math": math, "statistics": statistics, "pullback": pb}
    if name.startswith("scipy.spatial"):
        values |= VECTORS
    if name.startswith("scipy.stats") and CALLED.get(name) == "a":
        values["a"] = VECTORS["v"]
    function = values[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    if function is None:
        pytest.skip("not in this version of Python or SciPy")
    arguments = CALLED.get(name)
    if name in OF_ITS_OWN:
        given = OF_ITS_OWN[name]
        values |= dict(zip(("x", "q") if len(given) == 1 else ("p", "q"), given, strict=False))
        values |= {"a": given[0], "data": given[0], "start": given[0], "stop": given[-1]}
    else:
        names = arguments or {"scipy.stats.norm": "x loc scale", "scipy.spatial.distance": "u v"}.get(
            name.rpartition(".")[0], "x"
        )
        given = [values[n] for n in names.split()]
    if name == "math.comb":
        given = [int(g) for g in given]
    np.random.seed(3)  # noqa: NPY002 - functions that draw
    expected = function(*given)
    if name == "scipy.special.softplus":
        expected = np.log1p(np.exp(0.5))
    tensors = {
        n: pb.tensor(v, requires_grad=True) if isinstance(v, (float, np.ndarray)) and n != "M" else v
        for n, v in values.items()
    }
    if isinstance(tensors["x"], list):
        tensors["x"] = [pb.tensor(v, requires_grad=True) for v in tensors["x"]]
    np.random.seed(3)  # noqa: NPY002
    got = eval(EXPRESSIONS[name], tensors)
    assert np.allclose(np.asarray(got.detach() if isinstance(got, pb.Tensor) else got), expected)


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
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    w, v = np.linalg.eigh(A)
    assert np.allclose((v * np.sqrt(w)) @ v.T, scipy.linalg.sqrtm(A))
    assert np.allclose((v * np.log(w)) @ v.T, scipy.linalg.logm(A))
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
