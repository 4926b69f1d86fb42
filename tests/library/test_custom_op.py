"""Operators that `pb.library.custom_op` makes: what they are, and what they refuse."""

import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.extend import (
    ArrayType,
    DeclarationError,
    DerivativeNotImplementedError,
    MixedTable,
    NameTakenError,
    register_array_type,
)
from pullback.library import custom_op, infer_schema, opcheck


@custom_op("tests_library::sinc2", mutates_args=())
def sinc2(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """The square of sinc."""
    return np.sinc(scale * x) ** 2


def _save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


def _slope(x, scale):
    s = np.sinc(scale * x)
    return 2 * s * (np.cos(np.pi * scale * x) - s) / x


sinc2.register_autograd(lambda ctx, g: (g * _slope(ctx.saved_tensors[0], ctx.scale), None), setup_context=_save)
sinc2.register_tangent(lambda tangents, result, x, scale: tangents[0] * _slope(x, scale))


@custom_op("tests_library::banded", mutates_args=())
def banded(ab: np.ndarray, b: np.ndarray, bands: list[int] = [1, 1], *, check: bool = True) -> np.ndarray:  # noqa: B006
    return scipy.linalg.solve_banded(tuple(bands), ab, b, check_finite=check)


def _banded_backward(ctx, g):
    ab, x = ctx.saved_tensors
    zero = np.zeros(1)
    transposed = np.stack([np.concatenate([zero, ab[2, :-1]]), ab[1], np.concatenate([ab[0, 1:], zero])])
    y = banded(transposed, g, ctx.bands)
    above, below = np.concatenate([zero, -y[:-1] * x[1:]]), np.concatenate([-y[1:] * x[:-1], zero])
    return np.stack([above, -y * x, below]), y, None, None


def _banded_setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], output)
    ctx.bands = inputs[2]


banded.register_autograd(_banded_backward, setup_context=_banded_setup)


class Largest(NamedTuple):
    values: np.ndarray
    indices: np.ndarray


@custom_op("tests_library::largest", mutates_args=())
def largest(x: np.ndarray, k: int) -> Largest:
    order = np.argsort(-x)[:k]
    return Largest(x[order], order)


def _largest_setup(ctx, inputs, output):
    ctx.save_for_backward(output.indices)
    ctx.shape = inputs[0].shape


def _largest_backward(ctx, g, _):
    (indices,) = ctx.saved_tensors
    return pb.zeros(ctx.shape, dtype=g.dtype).index_add(0, pb.as_tensor(indices), g), None


largest.register_autograd(_largest_backward, setup_context=_largest_setup)
largest.register_tangent(lambda tangents, result, x, k: (tangents[0][result[1]], None))


@custom_op("tests_library::weighted", mutates_args=())
def weighted(xs: list[pb.Tensor], weights: list[float], bias: pb.Tensor | None = None) -> pb.Tensor:
    total = sum(w * x for w, x in zip(weights, xs, strict=True))
    return total if bias is None else total + bias


def _weighted_setup(ctx, inputs, output):
    ctx.weights = inputs[1]
    assert [type(flag) for flag in ctx.needs_input_grad[0]] == [bool, bool]
    assert len(ctx.needs_input_grad) == 3


weighted.register_autograd(
    lambda ctx, g: ([w * g for w in ctx.weights], None, g if ctx.needs_input_grad[2] else None),
    setup_context=_weighted_setup,
)


@custom_op("tests_library::halves", mutates_args=())
def halves(x: pb.Tensor) -> list[pb.Tensor]:
    return [x[:2] * 2, x[2:] * 3]


halves.register_autograd(lambda ctx, gs: pb.cat([2 * gs[0], 3 * gs[1]]))
halves.register_tangent(lambda tangents, result, x: [2 * tangents[0][:2], 3 * tangents[0][2:]])


@custom_op("tests_library::product", mutates_args=())
def product(z: pb.Tensor, w: pb.Tensor) -> pb.Tensor:
    return pb.from_numpy(z.numpy() * w.numpy())


product.register_autograd(
    lambda ctx, g: tuple(g * other.conj() for other in ctx.saved_tensors[::-1]),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)
product.register_tangent(lambda tangents, result, z, w: tangents[0] * w + tangents[1] * z)


@custom_op("tests_library::clip_", mutates_args={"x"})
def clip_(x: np.ndarray, low: float = -1.0) -> None:
    np.maximum(x, low, out=x)


AB = np.array([[0, 1.0, 1.2, 0.3], [4, 5, 6.0, 5], [1, 0.5, 0.2, 0]])


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (sinc2, (np.array([0.25, 0.7]), 1.3)),
        (banded, (AB, np.arange(1.0, 5.0))),
        (largest, (np.array([1.0, 5, 3, 2]), 2)),
        (weighted, ([np.ones(2), np.arange(2.0)], [2.0, 3.0])),
        (weighted, ([np.ones(2), np.arange(2.0)], [2.0, 3.0], np.ones(2))),
        (halves, (np.arange(4.0),)),
        (product, (np.array([1 + 2j, 3 - 1j]), np.array([0.5j, 2 + 1j]))),
        (product, (np.array([1.0, 3.0]), np.array([0.5j, 2 + 1j]))),
        (clip_, (np.array([-3.0, 2.0]),)),
    ],
)
def test_operators_of_many_kinds_agree_with_differences_in_every_mode(op, args):
    assert not any(found.startswith("FAILED") for found in opcheck(op, args).values())


def test_the_operator_is_found_shown_and_documented_as_one_of_yaml():
    x = pb.tensor([0.25], requires_grad=True)
    y = pb.ops.tests_library.sinc2(x, scale=2.0)
    assert (y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()) == ("Sinc2Backward0", "AccumulateGrad")
    assert "grad_fn=<Sinc2Backward0>" in repr(y)
    assert pb.ops.tests_library.sinc2.__doc__.endswith("sinc2(Tensor x, float scale=1.0) -> Tensor\n")
    assert pb.extend.tags_of("tests_library.sinc2") == frozenset()
    assert repr(sinc2) == "<CustomOp tests_library::sinc2(Tensor x, float scale=1.0) -> Tensor>"
    with pytest.raises(TypeError, match=r"sinc2\(\): argument 'scale' must be a number, got 'a'"):
        sinc2(x, scale="a")
    assert pickle.loads(pickle.dumps(sinc2)) is sinc2


def test_yaml_formulas_call_it():
    mine = pb.ops.load("""
namespace: tests_library_yaml
composites: tests.library.test_custom_op
native_functions:
  - func: twice_sinc2(Tensor self) -> Tensor
""")
    assert mine.twice_sinc2(pb.tensor(0.5)).item() == pytest.approx(2 * np.sinc(0.5) ** 2)


def twice_sinc2(self, *, ops):
    """A composite of a third party that calls the operator."""
    return ops.mul(ops.tests_library.sinc2(self), 2)


def test_every_transform_goes_through_it():
    x = np.array([0.25, 0.7])
    slope = _slope(x, 1.0)

    def total(x):
        return sinc2(x).sum()

    assert type(pb.func.grad(total)(x)) is np.ndarray
    assert np.allclose(pb.func.grad(total)(x), slope)
    assert np.allclose(pb.func.jvp(sinc2, (x,), (x,))[1], slope * x)
    assert np.allclose(pb.func.linearize(sinc2, x)[1](x), slope * x)
    assert np.allclose(pb.func.sparse_jacobian(sinc2)(x).toarray(), np.diag(slope))
    curved = np.diag(pb.func.hessian(total)(x))
    eps = 1e-6
    assert np.allclose(curved, (_slope(x + eps, 1.0) - _slope(x - eps, 1.0)) / (2 * eps))
    t = pb.tensor(x, requires_grad=True)
    pb.utils.checkpoint.checkpoint(sinc2, t, use_reentrant=False).sum().backward()
    assert np.allclose(t.grad.numpy(), slope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.allclose(pb.func.vmap(pb.func.hessian(total))(np.stack([x, x]))[1], np.diag(curved))
        assert np.allclose(pb.func.jvp(pb.func.vmap(sinc2), (x[None],), (x[None],))[1], slope * x)


def test_hooks_on_saved_tensors_see_each_once():
    packed = []
    x = pb.tensor([0.25, 0.7], requires_grad=True)
    with pb.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t.numpy() + 0, pb.from_numpy):
        y = sinc2(x)
    y.sum().backward()
    assert len(packed) == 1
    assert np.allclose(x.grad.numpy(), _slope(np.array([0.25, 0.7]), 1.0))


def test_several_results_have_their_names_and_an_index_has_no_gradient():
    found = largest(pb.tensor([1.0, 5.0, 3.0], requires_grad=True), 2)
    assert found._fields == ("values", "indices")
    assert found.values.requires_grad
    assert not found.indices.requires_grad
    assert found.indices.tolist() == [1, 2]


def test_register_vmap_is_told_what_is_batched():
    seen = []

    @custom_op("tests_library::outer1", mutates_args=())
    def outer1(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    @outer1.register_vmap
    def _(info, in_dims, x, y):
        seen.append((info.batch_size, in_dims))
        return np.moveaxis(x * y, 0, -1), -1

    assert np.array_equal(pb.func.vmap(outer1, (0, None))(np.ones((3, 2)), np.arange(2.0)), [[0, 1]] * 3)
    assert seen == [(3, (0, None))]


def test_a_wrong_vmap_is_found_by_opcheck():
    @custom_op("tests_library::first", mutates_args=())
    def first(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + y

    first.register_vmap(lambda info, in_dims, x, y: (x + (y[::-1] if in_dims[1] == 0 else y), 0))
    with pytest.raises(AssertionError, match=r"test_batched: under vmap with in_dims=.* result 0 is not that of each"):
        opcheck(first, (np.ones(2), np.arange(2.0)), test_utils="test_batched")


def test_register_kernel_computes_on_other_arrays():
    class Lazy:
        shape, dtype, ndim = (2,), np.dtype(float), 1

    table = MixedTable("lazy_of_tests", {})
    register_array_type(Lazy, ArrayType(table))

    @custom_op("tests_library::thrice", mutates_args=())
    def thrice(x: pb.Tensor) -> pb.Tensor:
        return 3 * x

    @thrice.register_kernel(Lazy)
    def _(x):
        return np.array([7.0, 7.0])

    assert table.kernels["tests_library.thrice"](Lazy()).tolist() == [7.0, 7.0]
    assert thrice(pb.tensor(2.0)).item() == 6.0
    thrice.register_kernel(np.ndarray, lambda x: x * 30)
    assert thrice(pb.tensor(2.0)).item() == 60.0
    with pytest.raises(RuntimeError, match=r"tests_library::thrice: register_kernel\(ndarray\) was called before"):
        thrice.register_kernel(np.ndarray, lambda x: x)


def test_a_write_is_seen_by_versions_and_views_and_has_no_derivative():
    x = pb.tensor([-3.0, 2.0, -5.0])
    view = x[1:]
    assert clip_(view) is view
    assert x.tolist() == [-3.0, 2.0, -1.0]
    assert x._version == view._version == 1
    y = pb.tensor([-3.0], requires_grad=True) * 1
    clip_(y)
    with pytest.raises(DerivativeNotImplementedError, match=r"clip_' is not implemented. It writes into x: make an op"):
        y.backward()
    saved = pb.tensor([-3.0], requires_grad=True)
    other = pb.tensor([2.0])
    z = saved * other
    clip_(other)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_a_write_that_is_not_declared_is_refused_with_the_remedy():
    @custom_op("tests_library::secretly", mutates_args=())
    def secretly(x: np.ndarray) -> np.ndarray:
        x += 1
        return x

    x = pb.tensor([1.0])
    with pytest.raises(RuntimeError, match=r"secretly writes into an array that it is given.*mutates_args=\(\"x\",\)"):
        secretly(x)
    assert x.item() == 1.0


def test_results_never_share_memory_with_an_argument_or_with_each_other():
    @custom_op("tests_library::twins", mutates_args=())
    def twins(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x, x[:1]

    x = pb.tensor([1.0, 2.0])
    a, b = twins(x)
    a += 10
    assert (x.tolist(), b.tolist()) == ([1.0, 2.0], [1.0])
    found = opcheck(twins, (np.ones(2),), raise_exception=False)
    assert "test_aliasing: result 0 is an argument, or a view of one" in found["test_aliasing"]


def test_what_nobody_has_registered_says_what_to_write():
    @custom_op("tests_library::bare", mutates_args=())
    def bare(x: pb.Tensor) -> pb.Tensor:
        return 2 * x

    y = bare(pb.tensor(1.0, requires_grad=True))
    with pytest.raises(
        DerivativeNotImplementedError, match=r"'tests_library::bare' is not .* bare.register_autograd\("
    ):
        y.backward()
    with pytest.raises(NotImplementedError, match=r"the tangent of 'tests_library::bare' .* @bare.register_tangent"):
        pb.func.jvp(bare, (np.ones(2),), (np.ones(2),))
    bare.register_autograd(lambda ctx, g: 2 * g)
    assert pb.func.grad(bare)(1.0) == 2.0


def test_gradients_that_do_not_fit_are_refused():
    @custom_op("tests_library::wrong", mutates_args=())
    def wrong(x: pb.Tensor, y: pb.Tensor) -> pb.Tensor:
        return x * y.sum()

    given = [None]
    wrong.register_autograd(lambda ctx, g: given[0])
    wrong.register_tangent(lambda tangents, result, x, y: tangents[0].sum())
    x, y = pb.ones(2, requires_grad=True), pb.ones(3)
    for gradient, words in (
        (pb.ones(2), r"backward of tests_library::wrong returned an incorrect number .*expected 2, got 1.*\(x, y\)"),
        ((pb.ones(1), None), r"WrongBackward0 returned an invalid gradient at index 0"),
        ((1.0, None), r"WrongBackward0 returned a float as gradient 0; expected a Tensor"),
    ):
        given[0] = gradient
        with pytest.raises((RuntimeError, TypeError), match=words):
            wrong(x, y).sum().backward()
    with pytest.raises(
        RuntimeError, match=r"tangent of tests_library::wrong has the shape \(\), but the result has \(2,"
    ):
        pb.func.jvp(wrong, (x, y), (x, y))
    with pytest.raises(RuntimeError, match=r"wrong: register_autograd was called before"):
        wrong.register_autograd(lambda ctx, g: g)


def test_results_that_do_not_fit_the_annotation_are_refused():
    @custom_op("tests_library::pair", mutates_args=())
    def pair(x: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
        return {"one": x, "three": (x, x, x), "none": (x, None)}[how]

    for how, words in (
        ("one", "2 arrays, but returned"),
        ("three", "returned 3 results"),
        ("none", "array, but returned a None"),
    ):
        with pytest.raises(TypeError, match=f"tests_library::pair is annotated to return .*{words}"):
            pair(np.ones(2), how)


def _of(text, **names):
    scope = {"Tensor": pb.Tensor, "np": np, **names}
    exec(f"def f{text}: ...", scope)
    return scope["f"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(x, y: Tensor) -> Tensor", r"the parameter 'x' has no type annotation. Write x: Tensor"),
        ("(x: dict) -> Tensor", r"the parameter 'x' is annotated dict, which no schema can say"),
        ("(x: Tensor)", r"the result has no type annotation. Write -> Tensor"),
        ("(x: Tensor, *a: Tensor) -> Tensor", r"the parameter \*a has no counterpart in a schema"),
        ("(x: Tensor, y: np.ndarray) -> Tensor", r"'y' is annotated ndarray, and another Tensor. Write the same"),
        ("(x: Tensor) -> int", r"the result is annotated int. Write -> Tensor"),
        ("(x: Tensor, y: tuple[int, int]) -> Tensor", r"annotated tuple\[int, int\].*Write list"),
        ("(x: Tensor, y: 'Missing') -> Tensor", r"an annotation cannot be read: name 'Missing'"),
    ],
)
def test_an_annotation_that_says_nothing_is_refused(text, words):
    with pytest.raises(DeclarationError, match=words):
        custom_op("tests_library::f", _of(text), mutates_args=())


@pytest.mark.parametrize(
    ("text", "mutates", "words"),
    [
        ("(x: Tensor, y: Tensor) -> None", ("y",), r"'y' is viewed or written, but is not the first tensor. Put 'y' f"),
        ("(x: Tensor) -> None", ("z",), r"mutates_args names 'z', which is no argument. Write one of: x"),
        ("(x: Tensor) -> Tensor", ("x",), r"it writes into x and returns Tensor. Write -> None"),
        ("(x: Tensor, k: int) -> None", ("k",), r"mutates_args names 'k', which is int"),
        ("(x: Tensor) -> None", "unknown", r"Name the argument that the function writes into"),
    ],
)
def test_a_write_that_cannot_be_declared_is_refused(text, mutates, words):
    with pytest.raises(DeclarationError, match=words):
        custom_op("tests_library::f", _of(text), mutates_args=mutates)


def test_names_are_refused_that_are_wrong_or_taken():
    f = _of("(x: Tensor) -> Tensor")
    with pytest.raises(DeclarationError, match=r"the name 'f' is not namespace::name"):
        custom_op("f", f, mutates_args=())
    with pytest.raises(NameTakenError, match=r"'sin' is taken by pullback"):
        custom_op("sin::f", f, mutates_args=())
    with pytest.raises(NameTakenError, match=r"'tests_library::sinc2' is taken by .*test_custom_op.sinc2"):
        custom_op("tests_library::sinc2", f, mutates_args=())
    assert sinc2(pb.tensor(0.5)).item() == pytest.approx(np.sinc(0.5) ** 2)


def test_the_same_function_may_be_defined_again():
    def make(factor):
        def again(x: pb.Tensor) -> pb.Tensor:
            return factor * x

        return custom_op("tests_library::again", again, mutates_args=())

    first = make(2.0)
    first.register_autograd(lambda ctx, g: 2 * g)
    first.register_vmap(lambda info, in_dims, x: (2 * x, 0))
    old = pb.ops.tests_library.again
    second = make(3.0)
    assert (first(pb.tensor(1.0)).item(), old(pb.tensor(1.0)).item()) == (3.0, 2.0)
    assert second(pb.tensor(1.0)).item() == 3.0
    with pytest.warns(UserWarning, match="vmap: tests_library.again has no batching rule"):
        assert pb.func.vmap(second)(np.ones(2)).tolist() == [3.0, 3.0]
    second.register_autograd(lambda ctx, g: 3 * g)
    assert [pb.func.grad(f)(1.0) for f in (first, second, old)] == [3.0, 3.0, 2.0]


def test_infer_schema_reads_every_kind_of_annotation():
    text = "(x: Tensor, s: str = 'a', k: int | None = None, w: list[float] = (1.0, 2), *, on: bool = False)"
    assert infer_schema(_of(f"{text} -> list[Tensor]"), op_name="f") == (
        'f(Tensor x, str s="a", int? k=None, float[] w=[1.0, 2], *, bool on=False) -> Tensor[]'
    )


KEPT_UNSEEN = {
    "detached": (
        lambda ctx, x: ctx.save_for_backward(x.detach()),
        lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
    ),
    "an ndarray": (lambda ctx, x: setattr(ctx, "k", 3 * x.detach().numpy() ** 2), lambda ctx, g: g * pb.tensor(ctx.k)),
    "an ndarray, saved": (
        lambda ctx, x: ctx.save_for_backward(3 * x.detach().numpy() ** 2),
        lambda ctx, g: g * ctx.saved_tensors[0],
    ),
    "numbers": (lambda ctx, x: setattr(ctx, "k", x.tolist()), lambda ctx, g: 3 * pb.tensor(ctx.k) ** 2 * g),
}


@pytest.mark.parametrize("kind", [np.ndarray, pb.Tensor])
@pytest.mark.parametrize("way", KEPT_UNSEEN)
def test_what_setup_context_keeps_unseen_is_refused_in_second_derivatives(kind, way):
    keep, pull = KEPT_UNSEEN[way]

    def cube(x):
        return x**3

    cube.__annotations__ = {"x": kind, "return": kind}
    op = custom_op(f"tests_library::cube_{kind.__name__}_{list(KEPT_UNSEEN).index(way)}", mutates_args=())(cube)
    op.register_autograd(pull, setup_context=lambda ctx, inputs, output: keep(ctx, inputs[0]))
    x = np.array([0.7, -1.3])
    total = lambda x: (op(x) + x**4).sum()  # noqa: E731
    t = pb.tensor(x, requires_grad=True)
    np.testing.assert_allclose(pb.autograd.grad(total(t), t)[0].numpy(), 3 * x**2 + 4 * x**3)
    for transform in (
        lambda: pb.func.hessian(total)(x),
        lambda: pb.func.grad(lambda x: pb.func.grad(total)(x).sum())(x),
        lambda: pb.autograd.grad(pb.autograd.grad(total(t), t, create_graph=True)[0].sum(), t),
    ):
        with pytest.raises(RuntimeError, match="differentiate twice through Cube"):
            transform()


def test_a_backward_that_reads_what_nothing_saved_says_how_to_save_it():
    @pb.library.custom_op("mine::forgets", mutates_args=())
    def forgets(x: np.ndarray) -> np.ndarray:
        return x**3

    forgets.register_autograd(lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad)
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"mine::forgets: its backward reads ctx\.saved_tensors, and nothing saves"):
        forgets(x).sum().backward()
