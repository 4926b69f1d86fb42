"""Views: shared memory and versions, and gradients through writing into views and their bases."""

import numpy as np
import pytest

import pullback as pb

pytestmark = pytest.mark.usefixtures("both_paths")


def leaf(*shape):
    shape = shape or (2, 3)
    values = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    return pb.tensor(values, requires_grad=True)


def check(in_place, out_of_place, *shapes):
    """Values and gradients of a program with views against the same program without."""
    results = []
    for program in (in_place, out_of_place):
        leaves = [leaf(*s) for s in shapes]
        out = program(*leaves)
        (out * pb.from_numpy(np.sin(1.0 + np.arange(out.numel())).reshape(out.shape))).sum().backward()
        results.append([out.tolist(), *(0.0 if x.grad is None else x.grad.tolist() for x in leaves)])
    for got, want in zip(*results, strict=True):
        assert np.allclose(got, want)


# -- memory ----------------------------------------------------------------------------------------------------

VIEWS = {
    "slice": lambda t: t[0:1],
    "strided": lambda t: t[:, ::2],
    "reversed": lambda t: t[::-1],
    "integer": lambda t: t[1],
    "none and ellipsis": lambda t: t[None, ..., 0],
    "reshape": lambda t: t.reshape(3, 2),
    "view": lambda t: t.view(-1),
    "transpose": lambda t: t.T,
    "permute": lambda t: t.permute(1, 0),
    "expand": lambda t: t[0:1].expand(4, 3),
    "squeeze": lambda t: t[0:1].squeeze(0),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "flatten": lambda t: t.flatten(),
    "narrow": lambda t: t.narrow(1, 0, 2),
    "select": lambda t: t.select(0, 1),
    "diagonal": lambda t: t.diagonal(),
    "unbind": lambda t: pb.unbind(t)[1],
    "split": lambda t: t.split(1)[0],
    "chunk": lambda t: t.chunk(2)[0],
    "view of a view": lambda t: t[:, 1:].T[0],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_shares_memory_version_and_base(view):
    t = leaf() * 1
    v = view(t)
    assert v._is_view()
    assert v._base is t
    assert np.shares_memory(v.detach().numpy(), t.detach().numpy())
    with pb.no_grad():
        t.add_(1)
    assert (v._version, t._version) == (1, 1)


COPIES = {
    "reshape that cannot": lambda t: t.T.reshape(-1),
    "integers": lambda t: t[[0, 1]],
    "mask": lambda t: t[t > 2],
    "clone": lambda t: t.clone(),
    "add": lambda t: t + 0,
    "contiguous of a transpose": lambda t: t.T.contiguous(),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_shares_nothing(copy):
    t = leaf() * 1
    c = copy(t)
    assert not c._is_view()
    assert not np.shares_memory(c.detach().numpy(), t.detach().numpy())


# -- writing into views ----------------------------------------------------------------------------------------

SEVERAL = ("unbind", "split", "chunk")  # operators that return several views: see test_view_rules.py
SINGLE = {name: view for name, view in VIEWS.items() if name not in SEVERAL}
WRITABLE = {name: view for name, view in SINGLE.items() if name != "expand"}


def scaled(view):
    """Out of place: `t` with the elements that `view` shows doubled and raised by 1."""

    def program(t):
        shown = np.zeros(t.shape)
        view(pb.from_numpy(shown)).add_(1)
        mask = pb.from_numpy(shown)
        return t * (1 + mask) + mask

    return program


@pytest.mark.parametrize("view", WRITABLE.values(), ids=WRITABLE)
def test_writing_into_a_view_changes_its_base(view):
    def in_place(x):
        t = x * 1
        v = view(t)
        v.mul_(2)
        v.add_(1)
        return t

    check(in_place, lambda x: scaled(view)(x * 1), (2, 3))


@pytest.mark.parametrize("view", SINGLE.values(), ids=SINGLE)
def test_writing_into_a_base_changes_its_views(view):
    def in_place(x):
        t = x * 1
        v = view(t)
        t.mul_(x)
        t.add_(1)
        return v * v

    check(in_place, lambda x: view(x * x + 1) ** 2, (2, 3))


@pytest.mark.parametrize("view", WRITABLE.values(), ids=WRITABLE)
def test_a_view_written_into_can_be_used_itself(view):
    def in_place(x):
        v = view(x * 1)
        v.mul_(3)
        return v.exp()

    check(in_place, lambda x: (view(x * 1) * 3).exp(), (2, 3))


@pytest.mark.parametrize("view", WRITABLE.values(), ids=WRITABLE)
def test_a_view_multiplied_by_itself(view):
    def in_place(x):
        t = x * 1
        v = view(t)
        v.mul_(v)
        return t

    def out_of_place(x):
        shown = np.zeros(x.shape)
        view(pb.from_numpy(shown)).add_(1)
        mask = pb.from_numpy(shown)
        return x * x * mask + x * (1 - mask)

    check(in_place, out_of_place, (2, 3))


def early_view(t, change, view):
    """A view made before its base was changed."""
    v = view(t)
    change(t)
    return v


def used_before_and_after(x, y):
    t = x * 1
    v = t[0]
    before = v + 1
    t.mul_(y)
    return before + v


def view_of_a_modified_base(x, y):
    t = x * 1
    v = t[0]
    t.mul_(2)
    v[1:].mul_(y[1:])
    return t


PROGRAMS = {
    "another tensor written into a view": (
        lambda x, y: _then(x * 1, lambda t: t[0].mul_(y)),
        lambda x, y: pb.stack([x[0] * y, x[1]]),
    ),
    "a tensor copied into a view": (
        lambda x, y: _then(x * 1, lambda t: t[1].copy_(y)),
        lambda x, y: pb.stack([x[0], y]),
    ),
    "a row set from a row": (
        lambda x, y: _then(x * 1, lambda t: t.__setitem__(1, y * t[0].clone())),
        lambda x, y: pb.stack([x[0], y * x[0]]),
    ),
    "a constant base that comes to require grad": (
        lambda x, y: _then(pb.zeros(2, 3), lambda t: t[0].add_(y)) * x,
        lambda x, y: pb.stack([y, pb.zeros(3)]) * x,
    ),
    "a view made before the constant base requires grad": (
        lambda x, y: early_view(pb.zeros(2, 3), lambda t: t[1].add_(y), lambda t: t[1:2]).exp() + x,
        lambda x, y: y.reshape(1, 3).exp() + x,
    ),
    "two overlapping views": (
        lambda x, y: _then(_then(x * 1, lambda t: t[:, :2].mul_(2)), lambda t: t[:, 1:].mul_(3)) * y,
        lambda x, y: x * pb.tensor([2.0, 6.0, 3.0]) * y,
    ),
    "a view used before and after": (
        used_before_and_after,
        lambda x, y: x[0] + 1 + x[0] * y,
    ),
    "a view of a view of a modified base": (
        view_of_a_modified_base,
        lambda x, y: pb.stack([pb.cat([x[0, :1] * 2, x[0, 1:] * 2 * y[1:]]), x[1] * 2]),
    ),
    "saved output of a view": (
        lambda x, y: _then(x * 0.1, lambda t: t[0].mul_(y).exp_()),
        lambda x, y: pb.stack([(x[0] * 0.1 * y).exp(), x[1] * 0.1]),
    ),
    "transposed base": (
        lambda x, y: _then((x * 1).T, lambda t: t[1:].mul_(2)) * y.reshape(3, 1),
        lambda x, y: pb.cat([x.T[:1], x.T[1:] * 2]) * y.reshape(3, 1),
    ),
    "view into a slice that was contiguous": (
        lambda x, y: _then((x * 1)[:, 1:], lambda t: t[0].add_(y[:2])),
        lambda x, y: pb.stack([x[0, 1:] + y[:2], x[1, 1:]]),
    ),
}


def _then(t, change):
    change(t)
    return t


@pytest.mark.parametrize(("in_place", "out_of_place"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs_with_views(in_place, out_of_place):
    check(in_place, out_of_place, (2, 3), (3,))


def test_the_function_of_a_view_follows_its_base(both_paths):
    t = leaf() * 1
    v = t[0]
    assert v.grad_fn.name() == "SliceBackward0"
    first = v.grad_fn
    assert v.grad_fn is first
    t.mul_(2)
    assert v.grad_fn is not first
    assert v.grad_fn.name() == {"geometry": "AsStridedBackward0", "replay": "SliceBackward0"}[both_paths]
    assert v.grad_fn is v.grad_fn
    v.mul_(2)
    assert t.grad_fn.name() == "CopySlices"


def test_the_gradient_with_respect_to_a_view_that_was_modified():
    x = leaf()
    t = x * 1
    v = t[0]
    v.mul_(2)
    gv, gt = pb.autograd.grad((t * 3).sum() + v.sum(), [v, t], allow_unused=True)
    # t comes after v's write; v is now a view of t, so nothing flows from t's use to this v
    assert gt.tolist() == [[4, 4, 4], [3, 3, 3]]
    assert gv.tolist() == [1, 1, 1]


def test_retained_gradients_of_a_view_that_was_modified():
    x = leaf()
    t = x * 1
    v = t[0]
    v.mul_(2)
    v.retain_grad()
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3, 3, 3]
    assert x.grad.tolist() == [[6, 6, 6], [0, 0, 0]]


def test_a_view_that_retains_its_gradient_does_not_keep_that_of_its_old_function():
    x = leaf()
    t = x * 1
    v = t[0]
    v.retain_grad()
    u = v * 3
    v.mul_(2)
    (u.sum() + t.sum()).backward()
    assert v.grad is None  # what v is now was not used but through t
    assert x.grad.tolist() == [[5, 5, 5], [1, 1, 1]]


def test_second_derivatives_through_written_views():
    x = leaf()
    t = x * 1
    t[0].mul_(x[0])
    t[0].mul_(x[0])
    (g,) = pb.autograd.grad(t.sum(), x, create_graph=True)
    assert g.tolist() == [[3, 12, 27], [1, 1, 1]]
    (h,) = pb.autograd.grad(g.sum(), x)
    assert h.tolist() == [[6, 12, 18], [0, 0, 0]]


def test_second_derivatives_through_what_a_written_view_saved_of_itself():
    """The gradient of tanh leads to its own result, which CopySlices would have released by then."""
    x = pb.tensor([0.5, 1.0], requires_grad=True)
    t = x * 1
    t[0:1].tanh_()
    (t * t).sum().backward(create_graph=True)
    (h,) = pb.autograd.grad((x.grad**2).sum(), x)
    y = pb.tensor([0.5, 1.0], requires_grad=True)
    u = pb.cat([y[0:1].tanh(), y[1:]])
    (g,) = pb.autograd.grad((u * u).sum(), y, create_graph=True)
    (expected,) = pb.autograd.grad((g**2).sum(), y)
    assert np.allclose(h.numpy(), expected.numpy())
    x.grad = None


def test_parts_of_a_complex_tensor_after_its_base_was_written():
    z = pb.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    w = z * 1
    real, imag = w.real, w.imag
    w.mul_(2)
    assert real.tolist() == [2, 6]
    (real * pb.tensor([1.0, 10.0]) + imag * pb.tensor([100.0, 1000.0])).sum().backward()
    assert z.grad.tolist() == [2 + 200j, 20 + 2000j]


def test_writing_into_a_part_of_a_complex_tensor():
    z = pb.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    w = z * 1
    w.imag.mul_(3)
    assert w.tolist() == [1 + 6j, 3 + 12j]
    w.backward(pb.tensor([1 + 1j, 2 - 1j]))
    assert z.grad.tolist() == [1 + 3j, 2 - 3j]


def test_writing_into_a_detached_view_is_noticed_by_the_graph():
    y = leaf() * 1
    z = y.sin()
    y.detach()[0].mul_(2)
    with pytest.raises(RuntimeError, match="SinBackward0 saved 'self'"):
        z.sum().backward()


def test_a_view_of_a_tensor_from_numpy():
    array = np.arange(6.0).reshape(2, 3)
    t = pb.from_numpy(array[:, 1:])
    x = leaf(2)
    t[0].mul_(x)
    assert array.tolist() == [[0, 1, 4], [3, 4, 5]]
    t.sum().backward()
    assert x.grad.tolist() == [1, 2]


# -- edges ----------------------------------------------------------------------------------------------------


def test_empty_and_zero_dimensional_views():
    x = leaf()
    t = x * 1
    t[0, 0].mul_(5)
    t[0:0].mul_(7)
    e = t[:, 3:]
    t.add_(1)
    (t.sum() + e.sum()).backward()
    assert x.grad.tolist() == [[5, 1, 1], [1, 1, 1]]


def test_a_view_beyond_its_base_is_refused_where_it_cannot_be_followed():
    array, w = np.arange(10.0), pb.tensor(2.0, requires_grad=True)
    t = pb.from_numpy(array[2:5])
    v = t.as_strided((10,), (1,), 0)  # NumPy's memory goes on around the base
    with pytest.raises(RuntimeError, match=r"beyond the memory of its base.*clone\(\)"):
        v.mul_(w)
    assert array.tolist() == list(range(10))
    t = pb.from_numpy(np.arange(10.0)[::2])
    v = t.as_strided((4,), (1,), 0)
    v.mul_(w)
    with pytest.raises(RuntimeError, match=r"between the elements of its base"):
        t.sum().backward()


def test_one_write_into_a_view_of_a_large_base_costs_no_pass_over_it():
    import time

    t = pb.zeros(4_000_000)
    w = pb.tensor(1.0, requires_grad=True)
    t[0].add_(w)
    begin = time.perf_counter()
    for i in range(20):
        t[i].add_(w)
    assert time.perf_counter() - begin < 0.05  # twenty passes take 0.1 s or more
    (g,) = pb.autograd.grad(t[:3].sum(), w)
    assert g.item() == 4


def test_a_base_forgets_views_that_are_gone_and_finds_those_that_are_not():
    base = pb.zeros(500)
    kept = []
    for i in range(20_000):
        view = base[i % 500]
        if i % 50 == 0:
            kept.append((i % 500, view))
    assert len(base._extra.views) < 3 * len(kept)
    x = pb.tensor(2.0, requires_grad=True)
    base.mul_(0).add_(x)
    for _, view in kept:
        assert view.requires_grad
    kept[7][1].backward()
    assert x.grad.item() == 1
