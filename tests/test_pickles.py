"""What the package raises, gives and offers by name can be sent to another process and copied."""

import copy
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.dual.errors import MixedCotangentsError
from pullback.codegen.errors import DeclarationError
from pullback.codegen.expression import ExpressionError
from pullback.compiler.audit import StaleError
from pullback.compiler.writer import LeftError
from pullback.core.cuts import Run
from pullback.core.errors import (
    BackwardTwiceError,
    EndedLevelError,
    Explained,
    NonFiniteError,
    SavedArrayModifiedError,
    SavedTensorModifiedError,
)
from pullback.core.version import LocatedName
from pullback.extend import DerivativeNotImplementedError, GradcheckError
from pullback.lab.judge import Diagnosis, Mistake

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def again(x):
    """`x` after every way to make it again."""
    return [*(pickle.loads(pickle.dumps(x, protocol)) for protocol in PROTOCOLS), copy.copy(x), copy.deepcopy(x)]


# -- errors ----------------------------------------------------------------------------------------------------------
def modified():
    y = pb.ones(2, requires_grad=True).exp()
    y += 1
    y.sum().backward()


def modified_under_anomaly_detection():
    with pb.autograd.detect_anomaly():
        modified()


def twice():
    y = pb.ones(2, requires_grad=True).exp().sum()
    y.backward()
    y.backward()


def not_finite():
    with pb.autograd.trace_nans():
        pb.log(-pb.ones(2))


def not_agreeing():
    pb.autograd.gradcheck(lambda x: x.detach() * x, pb.ones(2, requires_grad=True))


def raised(call, kind):
    with pytest.raises(kind) as caught, np.errstate(all="ignore"):
        call()
    return caught.value


MADE = {
    SavedTensorModifiedError: lambda: raised(modified, SavedTensorModifiedError),
    SavedArrayModifiedError: lambda: SavedArrayModifiedError("MulBackward0", "other", (2, 3), np.dtype(float)),
    BackwardTwiceError: lambda: raised(twice, BackwardTwiceError),
    NonFiniteError: lambda: raised(not_finite, NonFiniteError),
    GradcheckError: lambda: raised(not_agreeing, GradcheckError),
    DerivativeNotImplementedError: lambda: DerivativeNotImplementedError("zeta", "self"),
    EndedLevelError: lambda: EndedLevelError(Run(1, "jvp", twice)),
    MixedCotangentsError: MixedCotangentsError,
    DeclarationError: lambda: DeclarationError("file.yaml", 3, "sin(Tensor self) -> Tensor", "is wrong", "Mend it"),
    Mistake: lambda: Mistake("sin", Diagnosis("sign", "The sign is wrong.", "Look at it."), "here"),
}


def error_classes():
    """Every exception and warning that the package defines."""
    found = set()
    for module in pkgutil.walk_packages(pb.__path__, "pullback."):
        if not module.name.startswith(("pullback.demo", "pullback.testing.")) and "__main__" not in module.name:
            members = vars(importlib.import_module(module.name)).values()
            found |= {x for x in members if inspect.isclass(x) and issubclass(x, Exception)}
    # These become another error, or another way, in the next caller, whom nobody can call without it.
    inner = {ExpressionError, LeftError, StaleError}
    return {kind for kind in found if kind.__module__.startswith("pullback")} - {Explained, *inner}


def test_all_errors_that_take_other_things_than_a_text_are_here():
    assert {kind for kind in error_classes() if "__init__" in vars(kind)} == set(MADE)


def shown(error):
    """Everything that a handler may read of an error."""
    return type(error), str(error), error.args, {name: repr(value) for name, value in vars(error).items()}


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_text_its_fields_and_its_notes(kind):
    error = MADE[kind]()
    error.add_note("here")
    for e in again(error):
        assert shown(e) == shown(error)
        assert e.__notes__[0] == "here"


@pytest.mark.parametrize("kind", sorted(error_classes() - set(MADE), key=lambda kind: kind.__name__))
def test_an_error_of_a_text_keeps_it(kind):
    for e in again(kind("a text")):
        assert type(e) is kind
        assert str(e) == "a text"


def test_the_lines_that_anomaly_detection_has_noted_go_with_the_error():
    error = raised(modified_under_anomaly_detection, SavedTensorModifiedError)
    assert type(error.culprit) is LocatedName
    for e in again(error):
        assert (e.culprit, e.culprit.where, e.modified_at) == ("add_", error.culprit.where, error.modified_at)
        assert "test_pickles.py" in e.saved_at
        assert str(e) == str(error)


def test_a_pool_hands_the_error_on_and_does_not_wait_for_ever():
    fork = multiprocessing.get_context("fork")
    with fork.Pool(1) as pool, pytest.raises(SavedTensorModifiedError, match="ExpBackward0"):
        pool.apply_async(modified).get(timeout=60)


# -- results ---------------------------------------------------------------------------------------------------------
X = pb.tensor([[2.0, 1.0], [1.0, 3.0]])
RESULTS = {
    "max": lambda: X.max(0),
    "sort": lambda: X.sort(),
    "topk": lambda: X.topk(1),
    "linalg_svd": lambda: pb.linalg.svd(X),
    "svd": lambda: pb.svd(X),
    "qr": lambda: pb.qr(X),
    "linalg_eigh": lambda: pb.linalg.eigh(X),
    "linalg_slogdet": lambda: pb.linalg.slogdet(X),
    "slogdet": lambda: pb.slogdet(X),
    "linalg_lstsq": lambda: pb.linalg.lstsq(X, X),
    "linalg_lu_factor": lambda: pb.linalg.lu_factor(X),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_with_names(name):
    results = RESULTS[name]()
    for r in again(results):
        assert type(r) is type(results)
        assert type(r).__name__ == name
        assert r._fields == results._fields
        assert [x.tolist() for x in r] == [x.tolist() for x in results]
    deep = copy.deepcopy(results)
    deep[0].add_(1)
    assert deep[0].tolist() != results[0].tolist()
    assert copy.copy(results)[0] is results[0]


# -- functions -------------------------------------------------------------------------------------------------------
FUNCTIONS = """sin where tensor keep_freed_memory linalg.inv linalg.matrix_function fft.fft special.erf
nn.functional.gelu func.grad func.value_and_grad func.jvp autograd.grad autograd.backward autograd.gradcheck
autograd.gradgradcheck autograd.functional.jacobian autograd.functional.hvp autograd.forward_ad.make_dual
autograd.forward_ad.unpack_dual autograd.graph.register_multi_grad_hook autograd.graph.increment_version
utils.checkpoint.checkpoint ops.load
from_dlpack Tensor.sin Tensor.where Tensor.astype Tensor.backward Tensor.max""".split()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_is_found_by_its_name(name):
    function = pb
    for part in name.split("."):
        function = getattr(function, part)
    for protocol in (4, 5):  # below, Python itself cannot name what stands in a module of a module
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.deepcopy(function) is function
