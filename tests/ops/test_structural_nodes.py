"""What the tags `structural`, `masking` and `pointwise` promise, for every node behind the samples of the records."""

import numpy as np
import pytest

from pullback.autograd.structural_zeros import _numbers
from pullback.core.array_type import NUMPY
from pullback.core.tensor import Tensor
from pullback.graph.saved import unpack_raw
from pullback.testing.opinfo.calls import accepted, flat_tensors, function_of, sampling, seeded, to_tensors

MANY = 24  # elements of a cotangent whose slopes are looked at one by one


def nodes_of(results):
    """Every node behind these results, inner nodes of writes into views too."""
    found, stack = [], [r.grad_fn for r in results if r.grad_fn is not None]
    while stack:
        node = stack.pop()
        if node not in found:
            found.append(node)
            stack += [function for function, _ in node.next_functions if function is not None]
    return found


def pulled(node, masks):
    """Where the node's gradients are touched, for masks of what is touched of its outputs."""
    numbers = [_numbers(m, of.shape, of.dtype, None) for m, of in zip(masks, node.input_metadata, strict=True)]
    grads = node.pull_touched(NUMPY, numbers if node.outputs != 1 else numbers[0], unpack_raw)
    return [None if g is None else np.asarray(g) != 0 for g in grads]


def places(node, rng):
    """(output, place in it) of some elements that a node's cotangent has; whole numbers have none."""
    shapes = [(nr, of.shape) for nr, of in enumerate(node.input_metadata) if of.dtype.kind in "fc"]
    every = [(nr, place) for nr, shape in shapes for place in np.ndindex(*shape)]
    return [every[i] for i in sorted(rng.permutation(len(every))[:MANY])]


def masks_at(node, chosen):
    masks = [np.zeros(of.shape, bool) for of in node.input_metadata]
    for nr, place in chosen:
        masks[nr][place] = True
    return masks


def check_structural(node, rng):
    every = places(node, rng)
    alone = {at: pulled(node, masks_at(node, [at])) for at in every}
    for _ in range(3):
        chosen = [at for at in every if rng.random() < 0.5]
        if not chosen:
            continue
        for nr, touched in enumerate(pulled(node, masks_at(node, chosen))):
            if touched is not None:
                together = np.logical_or.reduce([alone[at][nr] for at in chosen])
                assert np.array_equal(touched, together), f"{node.name()}: touched parts cancel"
    if not node.masking and not hasattr(node, "fn"):
        for touched in pulled(node, [np.ones(of.shape, bool) for of in node.input_metadata]):
            assert touched is None or touched.all(), (
                f"{node.name()} must be tagged masking: it keeps its cotangent away"
            )


def check_pointwise(node, rng):
    every = places(node, rng)
    for nr, place in every[:3]:
        cotangents = [np.ones(of.shape, of.dtype) for of in node.input_metadata]
        whole = node.apply(NUMPY, cotangents if node.outputs != 1 else cotangents[0], unpack_raw)
        cotangents[nr][place] = np.nan
        grads = node.apply(NUMPY, cotangents if node.outputs != 1 else cotangents[0], unpack_raw)
        for before, after in zip(whole, grads, strict=True):
            if after is None:
                continue
            assert after.shape == cotangents[nr].shape, f"{node.name()}: a gradient of another shape"
            elsewhere = np.ones(after.shape, bool)
            elsewhere[place] = False
            np.testing.assert_array_equal(np.asarray(before)[elsewhere], np.asarray(after)[elsewhere], node.name())


@pytest.mark.check("gradient")
def test_nodes_keep_what_their_tags_promise(info, dtype):
    rng = np.random.default_rng(0)
    for sample in accepted(info, dtype)[:6]:
        with sampling(info, sample, dtype):
            seeded(info)
            args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
            results = flat_tensors(function_of(info)(*args, **kwargs))
        with np.errstate(all="ignore"):
            for node in nodes_of([r for r in results if isinstance(r, Tensor)]):
                if node.structural:
                    check_structural(node, rng)
                elif node.pointwise:
                    check_pointwise(node, rng)
