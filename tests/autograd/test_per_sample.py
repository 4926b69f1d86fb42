"""backward(per_sample=True): what it leaves where, what it refuses, and that it is right where samples are mixed."""

import warnings

import numpy as np
import pytest

import pullback as pb

F = pb.nn.functional
B = 5
rng = np.random.default_rng(0)
X = pb.tensor(rng.normal(size=(B, 4)))
T = pb.tensor(rng.normal(size=(B, 7, 4)))
IMAGES = pb.tensor(rng.normal(size=(B, 2, 6, 6)))
LABELS = pb.tensor(rng.integers(0, 3, B))
WORDS = pb.tensor(rng.integers(0, 9, (B, 7)))


def leaves(*shapes, seed=1):
    rng = np.random.default_rng(seed)
    return [pb.tensor(rng.normal(size=shape), requires_grad=True) for shape in shapes]


def by_loop(losses, params):
    """The gradients by a backward for each loss."""
    rows = [pb.autograd.grad(loss, params, retain_graph=True, materialize_grads=True) for loss in losses]
    return [np.stack([g.numpy() for g in each]) for each in zip(*rows, strict=True)]


def taken(params):
    found = []
    for p in params:
        assert p.grad is None
        found.append(p.grad_sample.numpy())
        p.grad_sample = None
    return found


def compare(found, expected, rtol=1e-9):
    for g, wanted in zip(found, expected, strict=True):
        assert g.dtype == wanted.dtype
        np.testing.assert_allclose(g, wanted, rtol=rtol, atol=1e-12)


def classifier(W, b, V, c):
    return F.cross_entropy(F.linear(F.gelu(F.linear(X, W, b)), V, c), LABELS, reduction="none")


def attention(Q, K, V, gain):
    q, k, v = T @ Q, T @ K, T @ V
    hidden = np.triu(np.ones((7, 7), bool), 1)
    weights = (q @ k.mT / 2).masked_fill(pb.tensor(hidden), -np.inf).softmax(-1)
    return (F.layer_norm(weights @ v, (4,), gain) ** 3).mean((1, 2))


def in_rows_of_all(W, b):
    """Samples and places in one dimension, samples first."""
    scores = F.linear(T, W, b).reshape(B * 7, 3)
    return F.cross_entropy(scores, pb.tensor(np.arange(B * 7) % 3), reduction="none").reshape(B, 7).sum(1)


def time_first(W):
    """The same, samples last."""
    return (T.transpose(0, 1).reshape(7 * B, 4) @ W).tanh().reshape(7, B, 3).sum((0, 2))


def convolutions(W, b, V):
    return (F.max_pool2d(F.conv2d(IMAGES, W, b, padding=1).relu(), 2).flatten(1) @ V).sigmoid()


def pooled(W):
    return F.interpolate(F.avg_pool2d(F.group_norm(F.conv2d(IMAGES, W), 2), 2), scale_factor=2).square().sum((1, 2, 3))


def recurrent(W, U, b):
    h = pb.zeros(B, 3)
    for t in range(7):
        h = (T[:, t] @ W + h @ U + b).tanh()
    return h.sum(1)


def written(W):
    h = pb.zeros(B, 7, 3)
    for t in range(7):
        h[:, t] = (T[:, t] @ W).tanh() * (1 if t == 0 else h[:, t - 1].exp())
    h[:, 2:4] *= 3
    h += 1
    return h.sin().sum((1, 2))


def by_numpy(W):
    h = np.einsum("btd,de->bte", T, W)
    h = np.concatenate([h, np.flip(h, 1)], -1)
    return np.linalg.norm(np.where(h > 0, h, 0.1 * h).reshape(B, -1), axis=1)


def complex_numbers(W):
    return (pb.fft.fft(T @ W, dim=1) * (1 + 2j)).abs().sum((1, 2))


APART = {
    "classifier": (classifier, (6, 4), (6,), (3, 6), (3,)),
    "attention": (attention, (4, 4), (4, 4), (4, 4), (4,)),
    "rows of all": (in_rows_of_all, (3, 4), (3,)),
    "time first": (time_first, (4, 3)),
    "convolutions": (convolutions, (3, 2, 3, 3), (3,), (27,)),
    "pooled": (pooled, (4, 2, 3, 3)),
    "embedding": (lambda E, w: (F.embedding(WORDS, E).mean(1) @ w).cos(), (9, 4), (4,)),
    "index": (lambda E, w: (E[WORDS].sum(1) @ w).cos(), (9, 4), (4,)),
    "choice": (lambda W: (X @ W).gather(1, LABELS[:, None])[:, 0].exp(), (4, 3)),
    "recurrent": (recurrent, (4, 3), (3, 3), (3,)),
    "written": (written, (4, 3)),
    "numpy": (by_numpy, (4, 3)),
    "complex": (complex_numbers, (4, 4)),
    "reused": (lambda W: (X @ W @ W @ W.T).sum(1) + (W**2).sum(), (4, 4)),
    "scalar": (lambda a: (X * a).sin().sum(1), ()),
    "normed": (lambda g, v: (X @ (g * v / v.norm(dim=0))).sin().sum(1), (3,), (4, 3)),
    "solve": (lambda A, b: pb.linalg.solve(T[:, :4] @ A + 5 * pb.eye(4), b).sum((1, 2)), (4, 4), (4, 2)),
    "columns": (lambda A: pb.linalg.solve(A, X.T).pow(2).sum(0), (4, 4)),
    "as many features as samples": (lambda W: ((X @ W) @ pb.ones(B, 2)).exp().sum(1), (4, B)),
    "samples last": (lambda W: (W @ X.T).T.exp().sum(1), (B, 4)),
    "permuted": (lambda W: (X @ W)[pb.tensor([1, 0, 2, 4, 3])].exp().sum(1), (4, 3)),
}  # fmt: skip


def of_product(function):
    return lambda W: function(X @ W)


MIXED = {
    "mean": (of_product(lambda h: (h - h.mean(0)).pow(3).sum(1)), (4, 3)),
    "gram": (of_product(lambda h: (h @ h.T).exp().sum(1)), (4, 3)),
    "square": (of_product(lambda h: (h.T @ h).sin().sum(0)), (4, B)),
    "batch norm": (lambda W: F.batch_norm(X @ W, None, None, training=True).pow(3).sum(1), (4, 3)),
    "roll": (lambda W: ((X @ W) * (X @ W).roll(1, 0)).sum(1), (4, 3)),
    "flip": (lambda W: (X @ W).flip(0).exp().sum(1), (4, 3)),
    "sort": (lambda W: (X @ W).sort(0).values.sum(1), (4, 3)),
    "cumsum": (lambda W: (X @ W).cumsum(0).sin().sum(1), (4, 3)),
    "softmax": (lambda W: (X @ W).softmax(0).square().sum(1), (4, 3)),
    "transposed": (of_product(lambda h: (h * h.T).sum(1)), (4, B)),
    "reshaped": (lambda W: (X @ W).T.reshape(B, 3).exp().sum(1), (4, 3)),
    "halves": (lambda W: pb.cat([(X @ W)[:2].exp(), (X @ W)[2:].sin()]).sum(1), (4, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_one_backward_gives_what_a_loop_gives(name):
    function, *shapes = APART[name]
    params = leaves(*shapes)
    expected = by_loop(function(*params), params)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing goes row by row
        function(*params).backward(per_sample=True)
        compare(taken(params), expected)
        function(*params).sum().backward(per_sample=True)
        compare(taken(params), expected)
    weights = rng.normal(size=B)
    function(*params).backward(pb.tensor(weights), per_sample=True)
    compare(taken(params), [g * weights.reshape(-1, *[1] * (g.ndim - 1)) for g in expected])


@pytest.mark.parametrize("name", MIXED)
def test_mixed_samples_are_right_and_said(name):
    function, *shapes = MIXED[name]
    params = leaves(*shapes)
    expected = by_loop(function(*params), params)
    with pytest.warns(UserWarning, match="may mix the samples of a batch") as said:
        function(*params).backward(per_sample=True)
    assert said[0].filename == __file__
    compare(taken(params), expected)


def test_rows_come_in_chunks(monkeypatch):
    monkeypatch.setattr(pb.autograd.rows.per_sample, "ELEMENTS", 40)
    function, *shapes = MIXED["mean"]
    params = leaves(*shapes)
    expected = by_loop(function(*params), params)
    with pytest.warns(UserWarning, match="may mix"):
        function(*params).backward(per_sample=True)
    compare(taken(params), expected)


def test_it_is_vmap_of_grad_in_single_precision():
    params = [pb.tensor(p.detach().numpy().astype("f"), requires_grad=True) for p in leaves((6, 4), (6,))]
    x = pb.tensor(X.numpy().astype("f"))
    (x @ params[0].T + params[1]).sin().sum(1).backward(per_sample=True)
    found = taken(params)
    of_one = pb.func.grad(lambda params, x: (params[0] @ x + params[1]).sin().sum())
    expected = pb.func.vmap(of_one, in_dims=(None, 0))([p.detach() for p in params], x)
    compare(found, [g.numpy() for g in expected], rtol=1e-5)


def test_several_losses_and_chosen_leaves():
    a, b = leaves((4,), (4,))
    losses = [(X * a).exp().sum(1), (X * a * b).sin().sum(1)]
    expected = [sum(parts) for parts in zip(*[by_loop(loss, [a, b]) for loss in losses], strict=True)]
    pb.autograd.backward(losses, per_sample=True, inputs=[b], retain_graph=True)
    assert a.grad_sample is None
    compare([b.grad_sample.numpy()], expected[1:])
    b.grad_sample = None
    pb.autograd.backward(losses, per_sample=True)
    compare(taken([a, b]), expected)
    with pytest.raises(RuntimeError, match="second time"):
        pb.autograd.backward(losses, per_sample=True)


def test_data_that_require_grad_have_a_gradient_for_each_sample_too():
    x = pb.tensor(X.numpy(), requires_grad=True)
    losses = (x**2).sum(1)
    losses.backward(per_sample=True)
    expected = np.zeros((B, B, 4))
    expected[np.arange(B), np.arange(B)] = 2 * X.numpy()
    np.testing.assert_allclose(x.grad_sample.numpy(), expected)


def test_more_dimensions_need_a_cotangent():
    (w,) = leaves((4,))
    y = X * w
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        y.backward(per_sample=True)
    weights = rng.normal(size=(B, 4))
    y.backward(weights, per_sample=True)
    np.testing.assert_allclose(w.grad_sample.numpy(), X.numpy() * weights)


def test_one_sample():
    (w,) = leaves((4,))
    (X[:1] * w).sum(1).backward(per_sample=True)
    np.testing.assert_allclose(w.grad_sample.numpy(), X.numpy()[:1])


def test_a_leaf_that_nothing_depends_on_gets_nothing():
    a, b = leaves((4,), (4,))
    pb.autograd.backward((X * a).sum(1), inputs=[a, b], per_sample=True)
    assert b.grad_sample is None
    assert a.grad_sample.shape == (B, 4)


def test_what_is_infinite_for_one_sample_stays_there():
    w = pb.tensor([1.0, 1.0], requires_grad=True)
    x = pb.tensor([[0.0, 1.0], [4.0, 1.0], [9.0, 1.0]])
    for losses in ((x * w).sqrt().sum(1), np.where(x > 0, np.sqrt(x * w), 0).sum(1)):
        expected = by_loop(losses, [w])
        losses.backward(per_sample=True)
        compare(taken([w]), expected)


def test_untouched_elements_of_a_parameter_are_each_samples_own():
    """Row 0 of the table is zero, where sqrt is infinitely steep; only the first sample looks it up."""
    table = pb.tensor([[0.0], [1.0], [4.0]], requires_grad=True)
    chosen = pb.tensor([[0, 1], [1, 2], [2, 2]])
    losses = table.sqrt()[chosen].sum((1, 2))
    expected = by_loop(losses, [table])
    losses.backward(per_sample=True)
    compare(taken([table]), expected)


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class CubeOfMany(Cube):
    generate_vmap_rule = True


@pytest.mark.parametrize("function", [Cube, CubeOfMany])
def test_custom_functions(function):
    (w,) = leaves((4,))
    losses = function.apply(X * w).sum(1)
    expected = by_loop(losses, [w])
    losses.backward(per_sample=True)
    compare(taken([w]), expected)


def test_hooks_see_one_gradient_at_a_time():
    (w,), seen = leaves((4,)), []
    w.register_hook(lambda g: seen.append(g.numpy().copy()))
    (X * w).sum(1).backward(per_sample=True)
    np.testing.assert_allclose(np.stack(seen), X.numpy())
    compare(taken([w]), [X.numpy()])


# -- refused ----------------------------------------------------------------------------------------------------------
def test_a_mean_is_ambiguous():
    (w,) = leaves((4,))
    with pytest.raises(RuntimeError, match=r"the loss is a mean.*\(losses / n\).sum\(\)"):
        (X * w).sum(1).mean().backward(per_sample=True)
    assert w.grad_sample is None


@pytest.mark.parametrize(
    "loss",
    [
        lambda w: (X * w).sum(1).sum() + (w**2).sum(),
        lambda w: (X * w).sum(1).sum().exp(),
        lambda w: (X * w).sum(1)[0],
        lambda w: F.cross_entropy((X * w)[:, :3], LABELS),
        lambda w: (w[0] * 2).sum(),
    ],
)
def test_a_loss_that_is_no_sum(loss):
    (w,) = leaves((4,))
    with pytest.raises(RuntimeError, match="must be the sum of the losses of samples"):
        loss(w).backward(per_sample=True)
    assert w.grad_sample is None


def test_nothing_is_added_to_what_is_there():
    (w,) = leaves((4,))
    (X * w).sum(1).backward(per_sample=True)
    with pytest.raises(RuntimeError, match=r"has a \.grad_sample already"):
        (X * w).sum(1).backward(per_sample=True)
    compare(taken([w]), [X.numpy()])


def test_other_refusals():
    (w,) = leaves((4,))
    losses = (X * w).sum(1)
    with pytest.raises(RuntimeError, match="create_graph"):
        losses.backward(per_sample=True, create_graph=True)
    with pytest.raises(RuntimeError, match=r"samples; there must be some, and as many in each"):
        pb.autograd.backward([losses, losses[:2]], per_sample=True)
    with pytest.raises(RuntimeError, match="samples; there must be some"):
        losses[:0].backward(per_sample=True)
    with pytest.raises(RuntimeError, match="not a leaf that requires grad"):
        pb.autograd.backward(losses, inputs=[losses], per_sample=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        X.sum(1).backward(per_sample=True)
    with pytest.raises(RuntimeError, match=r"inside a function that func\.grad"):
        pb.func.grad(lambda w: (X * w).sum(1).backward(per_sample=True) or w.sum())(w.detach())
    with pytest.raises(TypeError, match="per_sample"):
        losses.backward(per_sample="yes")
    with pytest.raises(TypeError, match=r"grad_sample must be None or a Tensor of shape \(samples, \*\(4,\)\)"):
        w.grad_sample = pb.zeros(3, 5)
    assert w.grad_sample is None


def test_a_failing_backward_leaves_nothing():
    class Fails(pb.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    (w,) = leaves((4,))
    with pytest.raises(KeyError, match="mine"):
        Fails.apply(X * w).sum(1).backward(per_sample=True)
    assert w.grad_sample is None
    assert pb.core.modes.current().level == 0


def test_leaves_of_one_pass_share_no_memory():
    (w,) = leaves((4,))
    v = w.detach().clone().requires_grad_()
    (X * (w + v)).sum(1).backward(per_sample=True)
    w.grad_sample.numpy()[...] = 0
    compare([v.grad_sample.numpy()], [X.numpy()])


def test_random_programs():
    """Programs of operators that move, mix and join dimensions: in one backward or by rows, as a loop says."""
    steps = [
        lambda h, W: h @ W, lambda h, W: h * W[0], lambda h, W: h + W[:, 0], lambda h, W: h.transpose(0, 1),
        lambda h, W: h.mT, lambda h, W: h.flip(1), lambda h, W: h.reshape(16, 4).tanh().reshape(4, 4, 4),
        lambda h, W: h.reshape(4, 16).sin().reshape(4, 4, 4), lambda h, W: h.softmax(-1), lambda h, W: h.cumsum(1),
        lambda h, W: h - h.mean(0), lambda h, W: h[:, [1, 0, 3, 2]], lambda h, W: h[[1, 0, 3, 2]],
        lambda h, W: pb.cat([h[:, :2].exp(), h[:, 2:]], 1), lambda h, W: W @ h, lambda h, W: h.relu(),
        lambda h, W: pb.stack([h[:, :, 0], h[:, :, 1] * 2, h[:, :, 2], h[:, 0]], 2), lambda h, W: h @ h.mT,
        lambda h, W: h * h.sum((0, 1), keepdim=True), lambda h, W: h.roll(1, 0),
        lambda h, W: h.amax(1, keepdim=True) * h,
        lambda h, W: pb.einsum("abc,cd->adb", h, W), lambda h, W: h.diagonal(0, 1, 2)[:, None] * h,
    ]  # fmt: skip
    data = pb.tensor(np.random.default_rng(3).normal(size=(4, 4, 4)))
    at_once = 0
    for seed in range(150):
        choose = np.random.default_rng(seed)
        (W,) = leaves((4, 4), seed=seed)
        h = data
        for k in choose.integers(0, len(steps), 5):
            h = np.tanh(steps[k](h, W))
        losses = h.sum((1, 2))
        if not losses.requires_grad:
            continue
        expected = by_loop(losses, [W])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            losses.backward(per_sample=True)
        at_once += not said
        compare(taken([W]), expected)
    assert 20 < at_once < 130
