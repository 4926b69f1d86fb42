"""einsum against NumPy's over random equations, its other call forms, and what its plan costs."""

import string

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pullback as pb
from pullback.ops.composite.linalg.einsum import plan_of

SIZES = dict(zip("abcde", (2, 3, 1, 2, 3), strict=True))
A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)


@st.composite
def equations(draw):
    """An equation of one to four operands, with repeated, summed and outer letters."""
    terms = draw(st.lists(st.text("abcde", max_size=3), min_size=1, max_size=4))
    letters = sorted(set("".join(terms)))
    out = "".join(draw(st.lists(st.sampled_from(letters), unique=True))) if letters else ""
    return ",".join(terms) + (f"->{out}" if draw(st.booleans()) else "")


@given(equations(), st.integers(0, 2**20))
def test_values_and_gradients_agree_with_numpy(equation, seed):
    rng = np.random.default_rng(seed)
    terms = equation.split("->")[0].split(",")
    arrays = [rng.uniform(-1, 1, [SIZES[c] for c in term]) for term in terms]
    expected = np.einsum(equation, *arrays)
    tensors = [pb.tensor(a, requires_grad=True) for a in arrays]
    result = pb.einsum(equation, *tensors)
    assert result.shape == expected.shape
    assert np.allclose(result.detach().numpy(), expected)
    # The result is linear in every operand: along any direction its change is exact, not approximate.
    cotangent, direction = rng.uniform(-1, 1, expected.shape), [rng.uniform(-1, 1, a.shape) for a in arrays]
    grads = pb.autograd.grad([result], tensors, [pb.tensor(cotangent)])
    for k, (grad, step) in enumerate(zip(grads, direction, strict=True)):
        change = np.einsum(equation, *arrays[:k], step, *arrays[k + 1 :])
        assert np.isclose(np.sum(grad.numpy() * step), np.sum(cotangent * change))


def test_numbers_stand_for_letters():
    a, b = pb.tensor(A), pb.tensor(B)
    assert np.array_equal(pb.einsum(a, [0, 1], b, [1, 2], [2, 0]).numpy(), (A @ B).T)
    assert np.array_equal(pb.einsum(a, [1, 0]).numpy(), A.T)
    assert np.array_equal(pb.einsum(a, [..., 0], []).numpy(), A.sum())


def test_operands_come_in_a_list_or_one_by_one():
    a, b = pb.tensor(A), pb.tensor(B)
    assert np.array_equal(pb.einsum("ij,jk", [a, b]).numpy(), pb.einsum("ij,jk", a, b).numpy())


def test_a_chain_of_matrices_is_contracted_pair_by_pair_in_the_cheaper_order():
    n = 8
    letters = string.ascii_lowercase[:5]
    equation = ",".join(letters[i : i + 2] for i in range(4)) + f"->{letters[0]}{letters[4]}"
    plan = plan_of(equation, ((n, n), (n, n), (n, n), (n, 1)))
    made = [pair.split("->")[1] for _, _, pair in plan.pairs]
    assert len(plan.pairs) == 3
    assert all("e" in labels for labels in made)  # the thin last matrix is multiplied first: only n x 1 results
