"""Every operator under hooks that pack what it saves, and inside a checkpoint: the same gradients, first and second."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import saved_tensors_hooks
from pullback.graph.node import saved_slots
from pullback.graph.packed import Packed
from pullback.testing.opinfo.calls import accepted, flat_tensors, sampling
from pullback.testing.opinfo.derivative_checks import _of_inputs
from pullback.utils.checkpoint import checkpoint
from tests.opinfo.records import OPINFOS

SAMPLES = 3  # of each operator


def cases():
    for info in OPINFOS:
        for dtype in (np.float64, np.complex128):
            if dtype in info.grad_dtypes and info.order >= 2:
                yield pytest.param(info, dtype, id=f"{info.name}-{dtype.__name__}")


def gradients(function, inputs):
    """First and second derivatives, in a random direction each."""
    rng = np.random.default_rng(0)
    outputs = [o for o in flat_tensors(function(*inputs)) if o.requires_grad]
    if not outputs:
        return []
    first = along(outputs, inputs, rng, create_graph=True)
    roots = [g for g in first if g is not None and g.requires_grad]
    second = along(roots, inputs, rng) if roots else []
    return [None if g is None else g.detach().numpy() for g in (*first, *second)]


def along(outputs, inputs, rng, **options):
    directions = [pb.tensor(rng.standard_normal(o.shape), dtype=o.dtype) for o in outputs]
    return pb.autograd.grad(outputs, inputs, directions, allow_unused=True, **options)


def held_outside_the_hooks(outputs):
    """The tensors that nodes of a graph hold as they are."""
    found, stack, seen = [], [o.grad_fn for o in outputs], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        stack += [n for n, _ in node.next_functions]
        for slot in saved_slots(type(node)):
            held, version = getattr(node, slot, None), getattr(node, slot.replace("saved_", "version_", 1), None)
            pairs = zip(held, version, strict=True) if isinstance(version, tuple) else [(held, version)]
            if any(isinstance(h, (pb.Tensor, np.ndarray)) and type(v) is not Packed for h, v in pairs):
                found.append((node, slot))
    return found


def pack(tensor):
    return tensor.detach().numpy().copy()


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_gradients_are_those_without_hooks(info, dtype):
    for i, sample in enumerate(list(accepted(info, dtype))[:SAMPLES]):
        with sampling(info, sample, dtype):
            function, inputs = _of_inputs(info, sample)
            if not inputs:
                continue
            expected = gradients(function, inputs)
            with saved_tensors_hooks(pack, pb.from_numpy):
                outputs = [o for o in flat_tensors(function(*inputs)) if o.requires_grad]
            assert held_outside_the_hooks(outputs) == []
            del outputs

            def hooked(*args):
                with saved_tensors_hooks(pack, pb.from_numpy):
                    return function(*args)  # noqa: B023 - called at once

            def checkpointed(*args):
                return checkpoint(function, *args)  # noqa: B023

            # A checkpoint looks through all that its function can reach, which is here every record.
            for way in (hooked, checkpointed) if i == 0 else (hooked,):
                for got, want in zip(gradients(way, inputs), expected, strict=True):
                    assert (got is None) == (want is None)
                    if want is not None:
                        # A copy lies otherwise in memory, so sums may be rounded otherwise.
                        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
