"""Forward mode of every differentiable operator: against differences, against backward, and mixed with it."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.core.factory import from_numpy
from pullback.testing import assert_close
from pullback.testing.opinfo.calls import accepted, flat_tensors, function_of, sampling, seeded, to_tensors
from pullback.testing.opinfo.core import Input, Plain, map_arrays

EPS = 1e-6
SAMPLES_OF_SECOND = 4  # of each operator: every formula is met, and mixing the modes takes five passes


def random_like(x, seed):
    """A random direction or cotangent."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(x.shape)
    return np.asarray(v + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)


def called(info, sample, convert):
    """The differentiable results of a sample whose differentiable inputs went through `convert(number, ndarray)`."""
    numbers = iter(range(1000))

    def one(x):
        if isinstance(x, Input) and x.dtype.kind in "fc":
            return convert(next(numbers), x.view(np.ndarray))
        return to_tensors(x if isinstance(x, Plain) else x.view(np.ndarray))

    args, kwargs = map_arrays(one, (sample.args, sample.kwargs))
    seeded(info)
    return [r for r in flat_tensors(function_of(info)(*args, **kwargs)) if r.dtype.kind in "fc"]


def pushed(info, sample):
    """The tangents of the results along random directions; zeros where there is none."""
    with forward_ad.dual_level():
        results = called(
            info, sample, lambda i, x: forward_ad.make_dual(from_numpy(x.copy()), from_numpy(random_like(x, i)))
        )
        return [tangent_or_zeros(r).detach().numpy() for r in results]


def tangent_or_zeros(result):
    primal, tangent = forward_ad.unpack_dual(result)
    return pb.zeros_like(primal) if tangent is None else tangent


def derived(info, sample):
    """Whether every input that gets a tangent has a rule; one that has none must say so by its name."""
    try:
        pushed(info, sample)
    except NotImplementedError as error:
        assert "with respect to" in str(error)  # noqa: PT017 - most samples raise nothing
        return False
    return True


def inner(a, b):
    """The real inner product of arrays."""
    return float(np.sum((np.conj(a) * b).real))


@pytest.mark.check("tangent")
def test_tangent_agrees_with_differences(info, dtype):
    for sample in accepted(info, dtype):
        with sampling(info, sample, dtype):
            if not derived(info, sample):
                continue
            above, below = (
                called(info, sample, lambda i, x, e=e: from_numpy(np.asarray(x + e * random_like(x, i))))
                for e in (EPS, -EPS)
            )
            for tangent, up, down in zip(pushed(info, sample), above, below, strict=True):
                difference = (up.numpy() - down.numpy()) / (2 * EPS)
                assert_close(tangent, difference, rtol=1e-4, atol=1e-5, equal_nan=True, check_dtype=False)


@pytest.mark.each_operator
@pytest.mark.check("tangent")
def test_tangent_agrees_with_backward(info, dtype):
    """<u, J v> and <J^T u, v>, the one by forward mode and the other by backward, are one number."""
    for sample in accepted(info, dtype):
        with sampling(info, sample, dtype):
            if not derived(info, sample):
                continue
            inputs = []
            results = called(info, sample, lambda i, x, inputs=inputs: kept(inputs, x))
            tangents = pushed(info, sample)
            roots = [(r, random_like(r, 100 + k), t) for k, (r, t) in enumerate(zip(results, tangents, strict=True))]
            forward = sum(inner(u, t) for r, u, t in roots)
            roots = [(r, from_numpy(u)) for r, u, _ in roots if r.requires_grad]
            if not inputs or not roots:
                continue
            grads = pb.autograd.grad([r for r, _ in roots], inputs, [u for _, u in roots], allow_unused=True)
            backward = sum(
                inner(g.numpy(), random_like(x, i))
                for i, (x, g) in enumerate(zip(inputs, grads, strict=True))
                if g is not None
            )
            if np.isfinite(forward) or np.isfinite(backward):
                assert_close(np.array(forward), np.array(backward), rtol=1e-7, atol=1e-9)


def kept(inputs, x):
    """A leaf for an input, entered in a list."""
    inputs.append(from_numpy(x.copy()).requires_grad_())
    return inputs[-1]


@pytest.mark.check("second")
def test_modes_mix(info, dtype):
    """The derivative along v of the gradient: forward over reverse, reverse over forward, reverse over reverse."""
    for sample in list(accepted(info, dtype))[:SAMPLES_OF_SECOND]:
        with sampling(info, sample, dtype):
            expected = reverse_over_reverse(info, sample) if derived(info, sample) else None
            if expected is None:
                continue
            for found in (forward_over_reverse(info, sample), reverse_over_forward(info, sample)):
                for f, e in zip(found, expected, strict=True):
                    assert_close(f, e, rtol=1e-6, atol=1e-8)


def real_inner(tensors, seed):
    """The sum of real inner products of tensors with random constants, as a tensor."""
    terms = [(t.conj() * from_numpy(random_like(t, seed + k))).real.sum() for k, t in tensors]
    return sum(terms[1:], terms[0]) if terms else None


def gradients(scalar, inputs):
    """Gradients as ndarrays, zeros for those that are None."""
    if scalar is None or not scalar.requires_grad:
        return [np.zeros(x.shape, x.dtype) for x in inputs]
    grads = pb.autograd.grad(scalar, inputs, allow_unused=True)
    return [np.zeros(x.shape, x.dtype) if g is None else g.numpy() for x, g in zip(inputs, grads, strict=True)]


def reverse_over_reverse(info, sample):
    inputs = []
    loss = real_inner(enumerate(called(info, sample, lambda i, x: kept(inputs, x))), 100)
    if not inputs or loss is None or not loss.requires_grad:
        return None
    grads = pb.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
    return gradients(real_inner([(i, g) for i, g in enumerate(grads) if g is not None], 0), inputs)


def forward_over_reverse(info, sample):
    inputs = []
    with forward_ad.dual_level():
        loss = real_inner(enumerate(called(info, sample, lambda i, x: dual(inputs, i, x))), 100)
        grads = pb.autograd.grad(loss, inputs, allow_unused=True)
        zeros = [np.zeros(x.shape, x.dtype) for x in inputs]
        return [z if g is None else tangent_or_zeros(g).numpy() for g, z in zip(grads, zeros, strict=True)]


def reverse_over_forward(info, sample):
    inputs = []
    with forward_ad.dual_level():
        results = called(info, sample, lambda i, x: dual(inputs, i, x))
        tangents = [(k, forward_ad.unpack_dual(r).tangent) for k, r in enumerate(results)]
    return gradients(real_inner([(k, t) for k, t in tangents if t is not None], 100), inputs)


def dual(inputs, i, x):
    """A leaf with its direction, entered in a list without it."""
    return forward_ad.make_dual(kept(inputs, x), from_numpy(random_like(x, i)))
