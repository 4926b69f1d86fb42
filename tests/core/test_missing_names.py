"""Names of PyTorch, JAX and autograd that pullback has not say what to write instead, however one comes by them."""

import importlib
import importlib.util
import re

import pytest

import pullback as pb
from pullback.explain.missing_names import INSTEAD

ATTRIBUTES = {
    "nn.Linear": "call pullback.nn.functional.linear",
    "nn.CrossEntropyLoss": "call pullback.nn.functional.cross_entropy",
    "nn.BatchNorm2d": "call pullback.nn.functional.batch_norm",
    "nn.Module": "functions and no modules",
    "nn.Parameter": r"pullback\.tensor\(data, requires_grad=True\)",
    "nn.functional.sin": r"it is pullback\.sin",
    "jit": "records a function at its first calls",
    "cuda": "leave devices out",
    "save": "use pickle",
    "relu6": r"it is pullback\.nn\.functional\.relu6",
    "linalg.relu": r"it is pullback\.relu",
    "special.matmul": r"it is pullback\.matmul",
    "fft.sin": r"it is pullback\.sin",
    "masked.sin": r"it is pullback\.sin",
    "random.randn": r"it is pullback\.randn",
    "signal.stft": r"it is pullback\.stft",
    "utils.data": "slice arrays",
    "FloatTensor": "dtype=",
    "grad": r"it is pullback\.func\.grad\(function\), or pullback\.autograd\.grad",
    "jacobian": r"it is pullback\.func\.jacobian",
    "Function": r"it is pullback\.autograd\.Function",
    "curve_fit": r"it is pullback\.optimize\.curve_fit",
    "stop_gradient": r"it is pullback\.func\.stop_gradient",
    "tree_map": r"it is pullback\.utils\.pytree\.tree_map",
    "func.no_grad": r"it is pullback\.no_grad",
    "func.custom_vjp": r"it is pullback\.custom_vjp",
    "func.jit": "records a function at its first calls",
    "scan": "pullback.func.scan",
    "func.elementwise_grad": r"pullback\.func\.grad\(lambda x: numpy\.sum\(f\(x\)\)\)",
    "autograd.make_vjp": r"value, vjp = pullback\.func\.vjp\(f, x\)",
    "autograd.jacobian": r"it is pullback\.func\.jacobian",
    "random.PRNGKey": r"numpy\.random\.default_rng",
    "optim.Muon": r"subclass of pullback\.optim\.Optimizer",
    "optim.sgd": r"did you mean pullback\.optim\.SGD",
    "optim.minimize": r"it is pullback\.optimize\.minimize",
    "detach": r"it is a method, t\.detach\(\.\.\.\)$",
    "linalg.expm": r"it is pullback\.scipy\.linalg\.expm",
    "optimize.fsolve": r"it is pullback\.scipy\.optimize\.fsolve",
    "stats": r"it is pullback\.scipy\.stats",
    "interp": r"numpy\.interp takes Tensors",
    "repeat": r"it is a method, t\.repeat\(\.\.\.\), and numpy\.repeat takes Tensors",
}


@pytest.mark.parametrize(("path", "said"), ATTRIBUTES.items())
def test_attributes(path, said):
    home, _, name = path.rpartition(".")
    module = importlib.import_module(f"pullback.{home}" if home else "pullback")
    with pytest.raises(
        AttributeError, match=f"module 'pullback{'.' if home else ''}{home}' has no attribute '{name}'.*{said}"
    ):
        getattr(module, name)
    assert not hasattr(module, name)
    with pytest.raises(ImportError, match=f"cannot import name '{name}'.*{said}"):
        exec(f"from {module.__name__} import {name}")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("import pullback.jit", "records a function at its first calls"),
        ("from pullback.utils.data import DataLoader", "slice arrays"),
        ("import pullback.nn.init", "requires_grad_"),
        ("import pullback.cuda", "leave devices out"),
        ("import pullback.autograd.numpy", "import numpy as np"),
        ("from pullback.lax import scan", "Python's for, while and if"),
    ],
)
def test_modules(statement, said):
    with pytest.raises(ModuleNotFoundError, match=f"No module named 'pullback.*{said}"):
        exec(statement)


def test_names_that_nobody_has_stay_as_python_has_them():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'pullback\.nothing'$"):
        importlib.import_module("pullback.nothing")
    assert importlib.util.find_spec("pullback.nothing") is None
    for module in (pb, pb.nn, pb.linalg, pb.nn.functional, pb.autograd, pb.func, pb.ops):
        with pytest.raises(AttributeError, match=rf"^module '{module.__name__}' has no attribute 'nothing'$"):
            _ = module.nothing
    with pytest.raises(AttributeError) as caught:
        _ = pb.logsumexpp
    assert (caught.value.name, caught.value.obj) == ("logsumexpp", pb)  # Python adds "Did you mean" by these


def test_nothing_in_the_table_exists():
    for path in INSTEAD:
        home, _, name = path.rpartition(".")
        if home in ("", "nn", "func", "utils"):
            assert name not in dir(importlib.import_module(f"pullback.{home}" if home else "pullback"))


@pytest.mark.parametrize(
    ("home", "name", "said"),
    [
        (pb.linalg, "sovle", "did you mean pullback.linalg.solve?"),
        (pb.func, "value_and_gard", "did you mean pullback.func.value_and_grad?"),
        (pb.nn.functional, "mseloss", "did you mean pullback.nn.functional.mse_loss?"),
        (pb.autograd, "backwrd", "did you mean pullback.autograd.backward?"),
        (pb, "array", "pullback.tensor(data)"),
        (pb.special, "gamma", "x.lgamma().exp()"),
        (pb.func, "linearise", "did you mean pullback.func.linearize?"),
    ],
)
def test_a_name_that_is_nearly_right_is_found(home, name, said):
    with pytest.raises(AttributeError, match=re.escape(said)):
        getattr(home, name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pb.func.vmap(pb.sin, in_axes=0), "unexpected keyword argument 'in_axes'; did you mean 'in_dims'?"),
        (lambda: pb.func.grad(pb.sin, argnum=1), "unexpected keyword argument 'argnum'; did you mean 'argnums'?"),
        (lambda: pb.func.grad(pb.sin, holomorphic=True), "pullback.func.jacrev(function, holomorphic=True)"),
        (lambda: pb.custom_vjp(pb.sin, nondiff_argnums=(0,)), "leave it out: any object may be an argument"),
        (lambda: pb.func.vjp(pb.sin, 1.0, nothing=1), "it takes 'func', 'primals', 'has_aux', 'argnums'"),
    ],
)
def test_arguments_of_other_libraries(call, said):
    with pytest.raises(TypeError) as caught:
        call()
    assert said in str(caught.value).replace(". Did you", "; did you")  # as Python 3.13 says it by itself
