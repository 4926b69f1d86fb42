"""One formula for several inputs saves, for each subset of them, what their gradients use, and gives the same ones."""

import re
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import pullback as pb
from pullback.core.array_type import TENSOR
from pullback.dispatch.operator import OPERATORS
from pullback.graph.node import saved_slots
from pullback.scipy import linalg as sl
from pullback.scipy import sparse as ss

RNG = np.random.default_rng(24)
PACKAGE = Path(pb.__file__).parent
JOINT = re.compile(r"^ +\w+(?:, \w+)+: (?!non_differentiable)", re.MULTILINE)


def normal(*shape):
    return RNG.standard_normal(shape)


def regular(n):
    return normal(n, n) + n * np.eye(n)


def spd(n):
    a = normal(n, n)
    return a @ a.T + n * np.eye(n)


def eigen_parts(hermitian):
    A = spd(3)
    values, vectors = np.linalg.eigh(A)
    return A, (values, vectors, vectors.T, hermitian)


SYMMETRIC, PARTS = eigen_parts(True)
WIDE = normal(2, 4)
SVD = np.linalg.svd(WIDE, full_matrices=False)
PLACES = scipy.sparse.csc_array(np.triu(np.ones((4, 4))))
ENTRIES = np.abs(normal(PLACES.nnz)) + 1
SPACE = normal(4, 2)
BOTH_ARE = (regular(3), normal(3, 2), spd(3), spd(2))


def convolve(transposed):
    return lambda x, w: TENSOR.convolution(x, w, None, (2,), (1,), (1,), transposed, (0,), 1)


def cross_entropy(x, w, b):
    return TENSOR.linear_cross_entropy_rows(x, w, np.array([0, 2, 1, 2]), b, None, -100, 2)


def pairs(A, B):
    values, vectors = TENSOR.lobpcg_pairs(A, B, SPACE, None, 2, 200, 1e-12, True)
    return values, vectors * vectors


def sparse_solve(data, b):
    return ss.linalg.spsolve(ss.csc_array((data, PLACES.indices, PLACES.indptr), PLACES.shape), b)


# The name of the operator: (a call with the inputs of its joint formula, their values), once or more.
SAMPLES = {
    "_layer_norm": [(lambda x, w, b: TENSOR._layer_norm(x, w, b, 1, 1e-5)[0], (normal(4, 3), normal(3), normal(3)))],
    "linear_cross_entropy_rows": [(cross_entropy, (normal(4, 2), normal(3, 2), normal(3)))],
    "linalg_solve_matrices": [  # the second is singular in part
        (lambda A, B: TENSOR.linalg_solve_matrices(A, B)[0], (regular(3), normal(3, 2))),
        (lambda A, B: TENSOR.linalg_solve_matrices(A, B)[0][:1], (regular(3) * [[[1]], [[0]]], normal(2, 3, 2))),
    ],
    "linalg_solve_triangular": [
        (lambda A, B: pb.linalg.solve_triangular(A, B, upper=True), (regular(3), normal(3, 2))),
        (lambda A, B: pb.linalg.solve_triangular(A, B, upper=False, left=False), (regular(3), normal(2, 3))),
    ],
    "linalg_lstsq_matrices": [
        (lambda A, b: TENSOR.linalg_lstsq_matrices(A, b, driver="gelsd")[:2], (normal(4, 2), normal(4, 2))),
    ],
    "eigenvalue_slope": [(lambda A, s: TENSOR.eigenvalue_slope(A, s, *PARTS), (SYMMETRIC, normal(3)))],
    "lobpcg_pairs": [(pairs, (np.diag([1.0, 2.0, 4.0, 7.0]) + 0.1 * spd(4), np.eye(4) + 0.1 * spd(4)))],
    "singular_value_slope": [(lambda A, s: TENSOR.singular_value_slope(A, s, *SVD), (WIDE, normal(2)))],
    "cdist_rows": [(lambda x, y, p=p: TENSOR.cdist_rows(x, y, p), (normal(3, 2), normal(4, 2))) for p in (2.0, 3.0)],
    "convolution": [(convolve(transposed), (normal(2, 3, 5), normal(3, 3, 3))) for transposed in (False, True)],
    "sylvester": [(sl.solve_sylvester, (regular(3), regular(2), normal(3, 2)))],
    "continuous_are": [(sl.solve_continuous_are, BOTH_ARE)],
    "discrete_are": [(sl.solve_discrete_are, BOTH_ARE)],
    "spsolve": [(sparse_solve, (ENTRIES, normal(4)))],
}  # fmt: skip
CASES = [
    pytest.param(name, needed, id=f"{name}-{''.join(map(str, needed))}")
    for name, samples in SAMPLES.items()
    for count in range(1, len(samples[0][1]) + 1)
    for needed in combinations(range(len(samples[0][1])), count)
]


def record(name, sample, needing):
    """The inputs, the outputs, and the node of the joint formula that was recorded."""
    call, values = sample
    inputs = [pb.tensor(value, requires_grad=i in needing) for i, value in enumerate(values)]
    outputs = call(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    waiting = [out.grad_fn for out in outputs]
    kinds = {op.node for key, op in OPERATORS.items() if key.rpartition(".")[2] == name}
    while waiting:
        node = waiting.pop()
        if type(node) in kinds:
            return inputs, outputs, node
        waiting += [function for function, _ in node.next_functions if function is not None]
    raise AssertionError(f"no node of {name}")


def loss_of(tensors):
    """A sum of squares and of products with fixed numbers, so that no cotangent is made of the result alone."""
    return sum((x * x + x * np.cos(np.arange(x.numel()) + 1.0).reshape(x.shape)).sum() for x in tensors)


def pulled(inputs, outputs, needed):
    """The gradients of the needed inputs, then those of a sum of these gradients."""
    leaves = [inputs[i] for i in needed]
    first = pb.autograd.grad(loss_of(outputs), leaves, create_graph=True)
    second = pb.autograd.grad(loss_of(first), leaves)
    return [g.detach().numpy() for g in chain(first, second)]


def same(some, others):
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(some, others, strict=True))


def spoil(node, slot):
    """Put other values into a slot. An output is kept as an array; an input loses its history with its values."""
    saved, version = getattr(node, slot), slot.replace("saved", "version")
    data = np.asarray(saved.detach() if isinstance(saved, pb.Tensor) else saved)
    other = data * 1.1 + 0.01 if data.dtype.kind == "f" else (data == 0).astype(data.dtype)
    if isinstance(saved, pb.Tensor):
        setattr(node, version, None)
        other = pb.tensor(other)
    setattr(node, slot, other)


def test_every_joint_formula_has_a_sample():
    files = [PACKAGE / "ops/derivatives.yaml", *PACKAGE.glob("scipy/rules/*/declarations.yaml")]
    entries = chain.from_iterable(file.read_text().split("- name: ")[1:] for file in files)
    assert {entry.partition("(")[0] for entry in entries if JOINT.search(entry)} == set(SAMPLES)


@pytest.mark.parametrize(("name", "needed"), CASES)
def test_gradients_are_those_with_all_inputs_needed(name, needed):
    for sample in SAMPLES[name]:
        inputs, outputs, _ = record(name, sample, needed)
        everything, all_outputs, _ = record(name, sample, range(len(inputs)))
        assert same(pulled(inputs, outputs, needed), pulled(everything, all_outputs, needed))


@pytest.mark.parametrize(("name", "needed"), CASES)
def test_what_is_saved_is_used(name, needed):
    unused = None
    for sample in SAMPLES[name]:
        inputs, outputs, node = record(name, sample, needed)
        kept = [slot for slot in saved_slots(type(node)) if getattr(node, slot, None) is not None]
        expected = pulled(inputs, outputs, needed)
        here = set()
        for slot in kept:
            inputs, outputs, again = record(name, sample, needed)
            spoil(again, slot)
            try:
                if same(pulled(inputs, outputs, needed), expected):
                    here.add(slot)
            except (RuntimeError, ValueError, IndexError):  # other values cannot be computed with: they are used
                pass
        unused = here if unused is None else unused & here
    assert unused == set()
