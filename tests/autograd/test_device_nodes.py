"""scatter and gather: moves between devices as nodes, each the other's backward."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.basic_nodes import UndefinedGrad
from pullback.autograd.device_nodes import Gather, Scatter, gather, scatter
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.func import grad as func_grad

CPU = ["cpu", "cpu"]


def leaf(*shape, dtype=None):
    return pb.tensor(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), dtype=dtype, requires_grad=True)


def test_scatter_deals_out_equal_pieces():
    pieces = scatter(leaf(5, 2), [*CPU, "cpu"])
    assert isinstance(pieces, tuple)
    assert [p.shape for p in pieces] == [(2, 2), (2, 2), (1, 2)]
    assert len(scatter(leaf(2), ["cpu"] * 5)) == 2  # no empty pieces, as chunk


def test_scatter_by_sizes_and_dimension():
    x = leaf(2, 5)
    a, b = scatter(x, CPU, chunk_sizes=[1, 4], dim=-1)
    assert (a.shape, b.shape) == ((2, 1), (2, 4))
    assert b.tolist() == x[:, 1:].tolist()
    assert scatter(x, CPU, chunk_sizes=(0, 2))[0].shape == (0, 5)


def test_pieces_have_memory_of_their_own():
    x = pb.ones(4)
    a, _ = scatter(x, CPU)
    a.fill_(7)
    assert x.tolist() == [1, 1, 1, 1]
    assert a._base is None


def test_nodes_are_named_for_what_they_do():
    x = leaf(4)
    a, b = scatter(x, CPU)
    assert isinstance(a.grad_fn, Gather)
    assert a.grad_fn is b.grad_fn
    assert (a.grad_fn.name(), a.output_nr, b.output_nr) == ("Gather", 0, 1)
    assert a.grad_fn.next_functions[0][0].variable is x
    y = gather([a, b])
    assert isinstance(y.grad_fn, Scatter)
    assert y.grad_fn.next_functions == ((a.grad_fn, 0), (a.grad_fn, 1))


def test_gradients_are_gathered():
    x = leaf(5)
    a, b = scatter(x, CPU, [2, 3])
    (a.sum() * 10 + (b * b).sum()).backward()
    assert x.grad.tolist() == [10, 10, 6, 8, 10]


def test_gradients_are_scattered():
    x, y = leaf(2, 1), leaf(2, 2)
    z = gather([x, y], dim=1)
    assert z.tolist() == [[1, 1, 2], [2, 3, 4]]
    (z * pb.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [[1], [1]]
    assert y.grad.tolist() == [[10, 100], [10, 100]]


def test_gather_takes_what_requires_no_grad_along():
    x = leaf(2)
    z = gather([x, pb.zeros(3)])
    assert z.grad_fn.next_functions[1] == (None, 0)
    z.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert gather([pb.zeros(1), pb.ones(1)]).grad_fn is None


@pytest.mark.parametrize("dtype", [pb.float64, pb.complex128], ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_derivatives_agree_with_differences(dtype, dim):
    x = pb.tensor(np.linspace(0.5, 2, 6).reshape(2, 3), dtype=dtype, requires_grad=True)

    def there_and_back(x):
        pieces = scatter(x, CPU, dim=dim)
        return gather([piece**3 for piece in pieces], dim)

    assert gradcheck(there_and_back, x)
    assert gradgradcheck(there_and_back, x)
    assert gradcheck(lambda x: scatter(x, CPU, dim=dim), x)  # each piece undefined in turn
    assert gradgradcheck(lambda a, b: gather([a * a, b]), [leaf(2), leaf(3)])


def test_second_derivatives_are_made_of_the_same_nodes():
    x = leaf(4)
    (g,) = pb.autograd.grad(gather([p * p for p in scatter(x, CPU)]).sum(), x, create_graph=True)
    assert g.grad_fn.name() == "Scatter"  # gathered
    (h,) = pb.autograd.grad(g.sum(), x)
    assert h.tolist() == [2, 2, 2, 2]


def test_an_undefined_gradient_of_a_piece_counts_as_zeros():
    x = leaf(4)
    a, _ = scatter(x, CPU)
    a.sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0]
    a, b = scatter(x, CPU)
    cut = gather([UndefinedGrad()(a), UndefinedGrad()(b)])
    assert pb.autograd.grad(cut.sum(), x, allow_unused=True) == (None,)


def test_gradients_come_back_in_the_dtype_of_the_input():
    x, y = leaf(2, dtype=pb.float32), leaf(2, dtype=pb.float64)
    z = gather([x, y])
    assert z.dtype == pb.float64
    z.sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (pb.float32, pb.float64)


def test_numbers_become_a_vector_with_a_warning():
    x, y = leaf(), leaf()
    with pytest.warns(UserWarning, match=r"numbers \(0-d tensors\).*vector") as said:
        z = gather([x, y])
    assert said[0].filename == __file__
    assert z.tolist() == [1, 1]
    (z * pb.tensor([2.0, 3.0])).sum().backward()
    assert (x.grad.item(), y.grad.item()) == (2, 3)
    assert x.grad.shape == ()


def test_numbers_differentiate_twice():
    x, y = leaf(), leaf()
    with pytest.warns(UserWarning, match="vector"):
        z = gather([x * x, y])
    (g,) = pb.autograd.grad(z.sum(), x, create_graph=True)
    (h,) = pb.autograd.grad(g, x)
    assert h.item() == 2


def test_nothing_is_recorded_under_no_grad():
    with pb.no_grad():
        a, b = scatter(leaf(4), CPU)
        c = gather([a, leaf(2)])
    assert not a.requires_grad
    assert not b.requires_grad
    assert not c.requires_grad


def test_inside_a_transform():
    def f(x):
        a, b = scatter(x, CPU)
        return gather([a * a, b * 3]).sum()

    assert func_grad(f)(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [2, 4, 3, 3]
    inner = func_grad(lambda x: func_grad(lambda y: gather([q**3 for q in scatter(y, CPU)]).sum())(x).sum())
    assert np.allclose(inner(np.array([1.0, 2.0])), [6, 12])


def test_a_piece_modified_in_place():
    x = leaf(4)
    a, b = scatter(x, CPU)
    a.mul_(3)
    gather([a, b]).sum().backward()
    assert x.grad.tolist() == [3, 3, 1, 1]


def test_hooks_see_them():
    x, seen = leaf(4), []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):  # observers are told of the nodes
        a, _ = scatter(x, CPU)
    a.grad_fn.register_prehook(lambda grads: seen.append([g is None for g in grads]))
    a.sum().backward()
    assert seen == [[False, True]]


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda x: scatter(x, ["cpu", "cuda:0"]), RuntimeError, "'cuda:0' is not available.*only 'cpu'"),
    (lambda x: gather([x], device="cuda"), RuntimeError, "'cuda' is not available"),
    (lambda x: scatter(x, [0, 1]), RuntimeError, "device 0 is not available"),
    (lambda x: scatter(x, []), ValueError, "at least one device"),
    (lambda x: scatter(x, "cpu"), TypeError, r"devices must be a sequence, got str; write \[devices\]"),
    (lambda x: scatter(x, CPU, [4]), ValueError, "same length, got 2 devices and 1 chunk_sizes"),
    (lambda x: scatter(x, CPU, [1, 2]), ValueError, r"add up to 4, the size of dimension 0.*\(4,\); got \[1, 2\]"),
    (lambda x: scatter(x, CPU, [5, -1]), ValueError, r"got \[5, -1\]"),
    (lambda x: scatter(x, CPU, dim=1), IndexError, "scatter: dim 1 is out of range for a tensor of 1 dimensions"),
    (lambda x: scatter(np.ones(2), CPU), TypeError, "tensor must be a Tensor, got ndarray"),
    (lambda x: gather([]), ValueError, "at least one tensor"),
    (lambda x: gather(x), TypeError, "tensors must be a sequence, got Tensor"),
    (lambda x: gather([x, 1.0]), TypeError, r"tensors\[1\] must be a Tensor, got float"),
    (lambda x: gather([x], dim=2), IndexError, "gather: dim 2 is out of range"),
    (lambda x: gather([x, pb.ones(2, 2)]), ValueError, r"tensors\[1\] has shape \(2, 2\), but tensors\[0\] has \(4,\)"),
    (lambda x: gather([pb.ones(2, 2), pb.ones(2, 3)]), ValueError, r"\(2, 3\).*\(2, 2\).*dimension 0 alone"),
])  # fmt: skip
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(leaf(4))
