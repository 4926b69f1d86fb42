"""What must be a view is one, and writing through views is differentiated at every level."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import TENSOR

X = np.arange(12.0).reshape(3, 4)

VIEWS = {
    "alias": TENSOR.alias,
    "as_strided": lambda x: pb.as_strided(x, (2, 2), (1, 4), 1),
    "chunk": lambda x: x.chunk(2, 1)[1],
    "diagonal": lambda x: x.diagonal(1),
    "expand": lambda x: x.expand(2, 3, 4),
    "flatten": lambda x: x.flatten(),
    "getitem": lambda x: x[1:, None, ::-1],
    "mH": lambda x: x.mH,
    "movedim": lambda x: x.movedim(0, 1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "permute": lambda x: x.permute(1, 0),
    "reshape": lambda x: x.reshape(2, 6),
    "select": lambda x: x.select(0, 1),
    "split": lambda x: x.split([1, 3], 1)[1],
    "squeeze": lambda x: x.unsqueeze(0).squeeze(),
    "t": lambda x: x.t(),
    "tensor_split": lambda x: x.tensor_split(3, 1)[1],
    "unbind": lambda x: x[0].unbind()[2],
    "unflatten": lambda x: x.unflatten(1, (2, 2)),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "view": lambda x: x.view(4, 3),
    "view_as_complex": lambda x: pb.view_as_complex(x.view(3, 2, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_version(name):
    base = pb.tensor(X)
    view = VIEWS[name](base)
    assert np.shares_memory(view.numpy(), base.numpy())
    before = view._version
    base.add_(1)
    assert view._version == before + 1


# Refused are what overlaps itself and what is one of several views.
@pytest.mark.parametrize(
    "name", sorted(set(VIEWS) - {"expand", "unfold", "view_as_complex", "chunk", "split", "unbind"})
)
def test_writing_into_a_view_reaches_the_base_and_its_gradient(name):
    x = pb.tensor(X, requires_grad=True)
    y = x * 1
    VIEWS[name](y).mul_(3)
    part = VIEWS[name](pb.tensor(np.arange(12).reshape(3, 4))).numpy()
    expected = np.ones(12)
    expected[part.reshape(-1)] = 3
    assert np.array_equal(y.detach().numpy(), X * expected.reshape(3, 4))
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), expected.reshape(3, 4))


@pytest.mark.parametrize(
    "copy",
    [lambda x: x.flip(0), lambda x: x.roll(1), lambda x: x.repeat(1, 1), lambda x: x.rot90(4), lambda x: x.diag(),
     lambda x: x.t().reshape(-1), lambda x: x.tril(5), lambda x: x.flip(())],
)  # fmt: skip
def test_a_copy_shares_nothing(copy):
    base = pb.tensor(X)
    assert not np.shares_memory(copy(base).numpy(), base.numpy())


def test_an_expanded_tensor_is_not_written_into():
    with pytest.raises(RuntimeError, match=r"add_.*clone"):
        pb.zeros(1).expand(3).add_(1)


def test_view_refuses_what_would_need_a_copy_and_says_what_to_use():
    with pytest.raises(RuntimeError, match=r"view.*\(12,\).*reshape"):
        pb.tensor(X).t().view(12)


def through_views(x):
    """Values that pass through overlapping views, some of them written into."""
    y = x * 2
    tail = y[1:]
    tail *= x[:3]
    y[0] = y[3] * 1.0
    rows = y.view(2, 2)
    rows[0].mul_(rows[1])
    return (y * y).sum()


def test_writing_through_views_is_right_when_levels_are_nested():
    x0 = np.array([0.7, 1.1, 0.9, 1.3])
    nested = pb.func.grad(lambda x: (pb.func.grad(through_views)(x) ** 2).sum())(pb.tensor(x0)).numpy()
    x = pb.tensor(x0, requires_grad=True)
    (first,) = pb.autograd.grad([through_views(x)], [x], create_graph=True)
    (second,) = pb.autograd.grad([(first**2).sum()], [x])
    assert np.allclose(nested, second.numpy())

    def slope(at):
        x = pb.tensor(at, requires_grad=True)
        through_views(x).backward()
        return (x.grad.numpy() ** 2).sum()

    steps = np.eye(4) * 1e-6
    differences = [(slope(x0 + step) - slope(x0 - step)) / 2e-6 for step in steps]
    assert np.allclose(nested, differences, rtol=1e-6)


def test_as_strided_reads_a_view_by_the_memory_of_its_base():
    base = pb.tensor(np.arange(10.0), requires_grad=True)
    part = (base * 1)[2:6]
    window = pb.as_strided(part, (2, 2), (1, 1))
    assert window.tolist() == [[2.0, 3.0], [3.0, 4.0]]
    window.sum().backward()
    assert base.grad.tolist() == [0, 0, 1, 2, 1, 0, 0, 0, 0, 0]
