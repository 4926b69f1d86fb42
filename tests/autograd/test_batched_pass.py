"""The one backward for all rows of is_grads_batched: every operator's against the rows one by one."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.rows import batched_grads
from pullback.core.factory import from_numpy
from pullback.testing.opinfo.calls import accepted, sampling
from tests.arrays.batched.looping import Case, number_like
from tests.opinfo.records import OPINFOS

ROWS = 3
SAMPLES = 2
# Operators with a result whose shape depends on values: row by row.


def by_rows(function):
    """What a function gives where the rows go through the graph one after another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batched_grads, "in_one_pass", lambda *_: None)
        return function()


def outputs_of(case):
    inputs = [x.requires_grad_() for x in case.element(0)]
    return inputs, [y for y in case.call(*inputs) if y.requires_grad]


def rows_of(case, create_graph):
    """The gradients of every input for rows of cotangents, one of zeros; with `create_graph` those of these too."""
    inputs, outputs = outputs_of(case)
    batches = [number_like((ROWS, *y.shape), y.dtype, seed) for seed, y in enumerate(outputs)]
    for batch in batches:
        batch[1] = 0
    batches = [from_numpy(batch).requires_grad_(create_graph) for batch in batches]
    found = pb.autograd.grad(
        outputs, inputs, batches, create_graph=create_graph, allow_unused=True, is_grads_batched=True
    )
    if not create_graph:
        return list(found)
    further = [g for g in found if g is not None and g.requires_grad]
    if not further:
        return list(found)
    cotangents = [from_numpy(number_like(g.shape, g.dtype, seed)) for seed, g in enumerate(further)]
    return [*found, *pb.autograd.grad(further, [*inputs, *batches], cotangents, allow_unused=True)]


def compare(found, expected):
    assert [g is None for g in found] == [g is None for g in expected]
    for g, wanted in zip(found, expected, strict=True):
        if g is not None:
            assert (type(g), g.shape, g.dtype, g.requires_grad) == (
                type(wanted), wanted.shape, wanted.dtype, wanted.requires_grad,
            )  # fmt: skip
            np.testing.assert_allclose(g.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", [pytest.param(i, id=i.full_name) for i in OPINFOS if not i.random and i.order >= 1])
def test_every_operator(info, monkeypatch):
    taken = []

    def watched(*args):
        taken.append(result := one_pass(*args))
        return result

    one_pass = batched_grads.in_one_pass
    monkeypatch.setattr(batched_grads, "in_one_pass", watched)
    dtype = np.float64 if np.float64 in info.grad_dtypes else info.grad_dtypes[0]
    for sample in accepted(info, dtype)[:SAMPLES]:
        with sampling(info, sample):
            case = Case(
                info, sample, lambda _, x: isinstance(x, pb.testing.opinfo.core.Input) and x.dtype.kind in "fc",
                lambda x: isinstance(x, pb.Tensor) and x.dtype.kind in "fc",
            )  # fmt: skip
            if not case.chosen or not outputs_of(case)[1]:
                continue
            for create_graph in [False, True][: info.order]:
                expected = by_rows(lambda c=case, g=create_graph: rows_of(c, g))
                compare(rows_of(case, create_graph), expected)
    if taken:
        assert all(found is not None for found in taken)


grad = pb.autograd.grad


class Taken:
    """What became of the batches: for each, whether it took one pass."""

    def __init__(self, patch):
        self.each, one_pass = [], batched_grads.in_one_pass

        def watched(*args):
            found = one_pass(*args)
            self.each.append(found is not None)
            return found

        patch.setattr(batched_grads, "in_one_pass", watched)


@pytest.fixture
def taken(monkeypatch):
    return Taken(monkeypatch).each


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def cube(x, seen=None, batched=True):
    class Cube(pb.autograd.Function):
        generate_vmap_rule = batched

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            if seen is not None:
                seen.append(tuple(g.shape))
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    return Cube.apply(x)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_custom_function_gets_all_rows_if_it_says_so(taken, create_graph):
    for batched, calls in (True, 1), (False, 2):
        seen, x = [], leaf()
        (rows,) = grad(cube(x, seen, batched) * 2, x, np.eye(2), is_grads_batched=True, create_graph=create_graph)
        assert rows.tolist() == [[6, 0], [0, 24]]
        assert seen == [(2,)] * calls
        if create_graph:
            assert grad(rows.sum(), x)[0].tolist() == [12, 24]
    assert taken == [True, False]


def hooked_tensor(x, y):
    y.register_hook(lambda g: None)


def hooked_leaf(x, y):
    x.register_hook(lambda g: None)


def hooked_before(x, y):
    y.grad_fn.register_prehook(lambda gs: None)


def hooked_behind(x, y):
    y.grad_fn.register_hook(lambda gs, _: None)


def retained(x, y):
    y.retain_grad()


@pytest.mark.parametrize("hook", [hooked_tensor, hooked_leaf, hooked_before, hooked_behind, retained])
def test_hooks_get_rows(taken, hook):
    x = leaf()
    y = x**2
    hook(x, y)
    assert grad(y * 1, x, np.eye(2), is_grads_batched=True)[0].tolist() == [[2, 0], [0, 4]]
    assert taken == [False]


def test_a_hook_beside_the_way_is_not_in_the_way(taken):
    x, other = leaf(), leaf()
    z = other * 2
    z.register_hook(lambda g: pytest.fail("nothing leads here"))
    assert grad(x**2 + z, x, np.eye(2), is_grads_batched=True)[0].tolist() == [[2, 0], [0, 4]]
    assert taken == [True]


def test_a_hooked_custom_function_in_a_view_gets_rows(taken):
    x = leaf()
    y = x * 1
    part = y[:1]
    part.copy_(cube(part.clone(), batched=False))
    assert grad(y, x, np.eye(2), is_grads_batched=True)[0].tolist() == [[3, 0], [0, 1]]
    assert taken == [False]


def test_anomaly_mode_looks_at_rows(taken):
    x = leaf()
    with pb.autograd.detect_anomaly():
        grad(x**2, x, np.eye(2), is_grads_batched=True)
    assert taken == [False]


def test_results_share_no_memory():
    v, a, b = pb.eye(2), leaf(), leaf()
    ga, gb = grad(a + b, (a, b), v, is_grads_batched=True)
    ga.fill_(7.0)
    assert gb.tolist() == v.tolist() == [[1, 0], [0, 1]]
    w = pb.eye(2, requires_grad=True)
    ga, gb = grad(a + b, (a, b), w, is_grads_batched=True, create_graph=True)
    with pb.no_grad():
        ga.fill_(7.0)
    assert gb.tolist() == w.tolist() == [[1, 0], [0, 1]]


def test_the_faces_and_dtypes_are_those_of_the_inputs(taken):
    def of_rows(x):
        y = x * 2
        one = grad(y, x, np.ones(2), retain_graph=True)[0]
        rows = grad(y, x, np.eye(2), is_grads_batched=True)[0]
        assert rows.dtype == one.dtype == x.dtype
        assert isinstance(rows, np.ndarray) == isinstance(one, np.ndarray) == isinstance(x, np.ndarray)
        return rows.sum()

    pb.func.grad(of_rows)(np.array([1.0, 2.0], np.float32))
    of_rows(leaf())
    assert taken == [True, True]


def test_a_cotangent_that_requires_grad_does_not_make_the_gradients_recorded():
    x, v = leaf(), pb.eye(2, requires_grad=True)
    (rows,) = grad(x**2, x, v, is_grads_batched=True)
    assert not rows.requires_grad
    assert rows.is_leaf


def test_each_row_has_zeros_of_its_own(taken):
    x = leaf(0.0, 4.0)
    (rows,) = grad(x.sqrt(), x, np.array([[0.0, 1.0], [1.0, 0.0]]), is_grads_batched=True)
    assert rows.tolist() == [[0, 0.25], [np.inf, 0]]
    assert taken == [True]


def test_saved_tensors_are_unpacked_once(taken):
    unpacked, x = [], leaf()
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(1) or t):
        y = x.exp()
    grad(y, x, np.eye(2), is_grads_batched=True)
    assert len(unpacked) == 1
    assert taken == [True]


@pytest.mark.parametrize("create_graph", [False, True])
def test_checkpoints_are_recomputed_once(create_graph):
    calls = []

    def segment(x):
        calls.append(1)
        return x**3 * x.sum()

    x = leaf()
    y = pb.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    (rows,) = grad(y, x, np.eye(2), is_grads_batched=True, create_graph=create_graph)
    assert rows.tolist() == [[10, 1], [8, 44]]
    assert len(calls) == 2


def test_a_released_graph_says_so():
    x = leaf()
    y = x.exp()
    grad(y, x, np.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y.sum(), x)


# -- inside transforms -------------------------------------------------------------------------------------------------
def rows_of_cube(x):
    y = x**3
    return grad(y, x, np.eye(2), is_grads_batched=True)[0]


POINT = np.array([1.0, 2.0])


def test_inside_grad(taken):
    found = pb.func.grad(lambda x: rows_of_cube(x).sum())(POINT)
    np.testing.assert_allclose(found, 6 * POINT)
    second = pb.func.grad(lambda x: pb.func.grad(lambda y: rows_of_cube(y).sum())(x).sum())(POINT)
    np.testing.assert_allclose(second, [6, 6])
    assert taken == [True, True]


def test_inside_jvp(taken):
    _, t = pb.func.jvp(lambda x: pb.func.grad(lambda y: rows_of_cube(y).sum())(x), (POINT,), (np.ones(2),))
    np.testing.assert_allclose(t, [6, 6])
    assert taken == [False]  # tangents stand beside the values


def test_inside_vmap(taken):
    points = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    found = pb.func.vmap(pb.func.grad(lambda x: rows_of_cube(x).sum()))(points)
    np.testing.assert_allclose(found, 6 * points)
    x = leaf()
    y = x**3
    batches = np.stack([np.eye(2), 2 * np.eye(2), np.ones((2, 2))])
    (rows,) = pb.func.vmap(lambda v: grad(y, x, v, is_grads_batched=True, retain_graph=True))(batches)
    np.testing.assert_allclose(rows.numpy(), batches * np.array([3.0, 12.0]))
    assert taken == [True, True]


# -- matrices ----------------------------------------------------------------------------------------------------------
def two_outputs(x, m):
    return (m @ x).exp(), (x**3).sum(), m.sum() * 2


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_jacobian_takes_one_pass_for_each_output(taken, create_graph):
    point = (leaf(), pb.tensor([[1.0, 0.5], [0.0, -1.0], [2.0, 1.0]], requires_grad=True))
    found = pb.autograd.functional.jacobian(two_outputs, point, create_graph, vectorize=True)
    assert taken == [True, True, True]
    expected = pb.autograd.functional.jacobian(two_outputs, point, create_graph)
    for row, wanted in zip(found, expected, strict=True):
        compare(list(row), list(wanted))
    if create_graph:
        (second,), (wanted,) = (grad(j[0][0].sum() + j[1][0].sum(), point[0]) for j in (found, expected))
        np.testing.assert_allclose(second.numpy(), wanted.numpy())


def test_a_hessian_takes_one_pass_for_each_input(taken):
    def f(x, y):
        return (x**2).sum() * y.exp().sum()

    point = (leaf(), leaf(0.5))
    found = pb.autograd.functional.hessian(f, point, vectorize=True)
    assert taken == [True, True]
    for row, wanted in zip(found, pb.autograd.functional.hessian(f, point), strict=True):
        compare(list(row), list(wanted))


def test_a_jacobian_without_vectorize_takes_a_backward_for_each_row(taken):
    pb.autograd.functional.jacobian(two_outputs, (leaf(), pb.ones(3, 2)))
    assert taken == []


def test_a_jacobian_of_a_jacobian(taken):
    def inner(x):
        return pb.autograd.functional.jacobian(lambda y: y**3, x, create_graph=True, vectorize=True)

    found = pb.autograd.functional.jacobian(inner, np.array([1.0, 2.0]), vectorize=True)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 6, 12
    np.testing.assert_allclose(found.numpy(), expected)
    assert taken == [True, True]
