"""No call is endless: inf, nan and huge whole numbers end in a result or an error, and in time.

`extremes.py` makes the calls, a part of them here; PULLBACK_LONG=1 makes them all.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad

LONG = os.environ.get("PULLBACK_LONG") == "1"
FAMILIES = [name for name in dir(pb.special) if "_polynomial_" in name]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory and fork are Linux's")
def test_every_operator_ends_in_time_whatever_it_is_given():
    script = Path(__file__).with_name("extremes.py")
    how = ["--every", "1", "--seconds", "5"] if LONG else ["--every", "41", "--seconds", "20"]
    environment = os.environ | {"PYTHONPATH": str(Path(pb.__file__).parents[1])}
    ran = subprocess.run(
        [sys.executable, str(script), *how], capture_output=True, text=True, check=False, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    said = [line for line in ran.stdout.splitlines() if not line.startswith(" ** On entry to ")]  # LAPACK's own remarks
    assert not said


def holed(value, batch=True):
    """Two matrices, one with `value` in it, or that one alone."""
    both = np.stack([np.diag([3.0, 2.0, 1.0]), np.diag([1.0, 2.0, 4.0])])
    both[0, 1, 2] = value
    return both if batch else both[0]


SINGULAR_VALUES = {
    "svd": lambda x: pb.linalg.svd(x),
    "thin svd": lambda x: pb.linalg.svd(x, full_matrices=False),
    "svdvals": lambda x: [pb.linalg.svdvals(x)],
    "pinv": lambda x: [pb.linalg.pinv(x)],
    "pinv of hermitian": lambda x: [pb.linalg.pinv(x + x.mT, hermitian=True)],
    "cond": lambda x: [pb.linalg.cond(x)],
    "np.linalg.cond": lambda x: [np.linalg.cond(x)],
    "norm of order 2": lambda x: [pb.linalg.matrix_norm(x, 2)],
    "nuclear norm": lambda x: [pb.linalg.matrix_norm(x, "nuc")],
    "lstsq": lambda x: [pb.linalg.lstsq(x, x[..., :1].detach()).solution],
}


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", SINGULAR_VALUES)
def test_a_matrix_that_is_not_finite_is_nan_and_leaves_the_others_of_its_batch_alone(name, value):
    function = SINGULAR_VALUES[name]
    alone = function(pb.tensor(holed(value, batch=False)))
    both, good = function(pb.tensor(holed(value))), function(pb.tensor(holed(0.0)))
    for one, two, right in zip(alone, both, good, strict=True):
        assert one.isnan().all()
        assert two[0].isnan().all()
        np.testing.assert_allclose(two[1].numpy(), right[1].numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [math.inf, math.nan])
@pytest.mark.parametrize("name", [name for name in SINGULAR_VALUES if "svd" not in name or name == "svdvals"])
def test_backward_and_tangents_of_singular_values_end_too(name, value):
    function = SINGULAR_VALUES[name]

    def slope(array):
        x = pb.tensor(array, requires_grad=True)
        sum(out.sum() for out in function(x)).backward()
        return x.grad.numpy()

    found, right = slope(holed(value)), slope(holed(0.0))
    assert np.isnan(found[0]).any()
    np.testing.assert_allclose(found[1], right[1], rtol=1e-12, atol=1e-12)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(pb.tensor(holed(value)), pb.ones(2, 3, 3))
        assert forward_ad.unpack_dual(function(dual)[0]).tangent[0].isnan().any()


def test_the_gradient_of_a_determinant_that_is_infinite_ends():
    x = pb.tensor(np.diag([math.inf, 2.0, 0.0]), requires_grad=True)
    pb.linalg.det(x).backward()
    assert x.grad.isnan().any()


@pytest.mark.parametrize("function", [pb.linalg.matrix_rank, np.linalg.matrix_rank])
@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_matrix_that_is_not_finite_has_no_rank(function, value):
    with pytest.raises(np.linalg.LinAlgError, match="inf or nan"):
        function(pb.tensor(holed(value)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_degree_that_is_none_gives_nan(family):
    for degree in (math.nan, math.inf, -math.inf):
        x = pb.tensor([0.5, 2.0], requires_grad=True)
        y = getattr(pb.special, family)(x, degree)
        y.sum().backward()
        assert y.isnan().all()
        assert x.grad.isnan().all()
    mixed = getattr(pb.special, family)(pb.tensor(0.5), pb.tensor([math.nan, 3.0, -2.0]))
    apart = [getattr(pb.special, family)(pb.tensor(0.5), n).item() for n in (3, -2)]
    assert mixed[0].isnan()
    assert mixed[1:].tolist() == apart


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("degree", [1e10, 1e300, 2**62, 10**30])
def test_a_degree_without_end_is_refused(family, degree):
    with pytest.raises(RuntimeError, match="degrees may be at most 1000000"):
        getattr(pb.special, family)(pb.tensor(0.5), degree)


@pytest.mark.parametrize("sections", [2**31, 10**30])
def test_more_sections_than_anyone_means_are_refused(sections):
    x = pb.ones(4, 4)
    for split in (pb.tensor_split, pb.hsplit, np.array_split, np.split):
        with pytest.raises((RuntimeError, ValueError), match=r"sections|equal parts"):
            split(x, sections)


def test_differences_of_an_order_beyond_the_size_are_empty():
    assert np.diff(pb.ones(3, 4), 2**31).shape == np.diff(np.ones((3, 4)), 9).shape == (3, 0)
    assert pb.diff(pb.ones(3, 4), 10**30).shape == (3, 0)


@pytest.mark.parametrize("offset", [2**31, -(2**31), 2**63, -(2**63), 10**30, -(10**30), 5, -5])
def test_a_diagonal_beyond_every_edge_is_empty(offset):
    x = pb.ones(2, 3)
    assert x.diagonal(offset).shape == (0,)
    assert x.diag(offset).shape == (0,)
    assert x.trace() == 2


def test_rounding_to_places_that_no_number_has_ends():
    assert pb.tensor([123.0]).round(decimals=-(2**31)).tolist() == [0.0]
    assert np.round(pb.tensor([123]), -(2**31)).tolist() == [0]
    assert pb.tensor([0.125, -math.inf]).round(decimals=10**30).tolist() == [0.125, -math.inf]
    assert pb.tensor([0.125, -math.inf]).round(decimals=-(10**30)).tolist() == [0, -math.inf]


def test_an_eigenvalue_search_without_limit_ends_at_every_scale():
    A = np.diag(np.arange(1.0, 21.0)) + 0.01
    for scale in (1e-320, 1e-300, 1.0, 1e300):
        values, _ = pb.lobpcg(pb.tensor(A * scale), 2, niter=-1)
        assert values.isfinite().all()
