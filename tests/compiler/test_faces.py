"""Tensors beside ndarrays in a compiled function, in place operators on arguments, and what becomes of the caller's."""

import collections
import dataclasses
import enum
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import CompileWarning
from pullback.compiler.numbers import differs
from pullback.compiler.reach.reached import reach_of

X = np.array([0.5, 2.0, 4.0])
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Held:
    a: object
    count: int


pb.utils.pytree.register_pytree_node(Held, lambda x: ([x.a], x.count), lambda parts, count: Held(*parts, count))


def called(function, *made):
    """What a function gives for arguments made anew, and these afterwards."""
    args = [make() for make in made]
    return function(*args), args


def same(a, b):
    """Compare two leaves: machine code may have another last digit."""
    if getattr(a, "dtype", None) == getattr(b, "dtype", None) and np.asarray(a).dtype.kind == "f":
        np.testing.assert_allclose(a, b, rtol=4 * np.finfo(np.asarray(a).dtype).eps, atol=0)
    else:
        np.testing.assert_array_equal(a, b)


def compare(function, *made, eager=False):
    """Call a compiled function, and compare results, their types, and the arguments with the function's own."""
    compiled = pb.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if eager else "error", CompileWarning)
        for _ in range(5):
            (expected, before), (found, after) = called(function, *made), called(compiled, *made)
            for a, b in zip([*expected, *before], [*found, *after], strict=True):
                assert type(a) is type(b)
                assert np.shape(a) == np.shape(b)
                same(*(x.detach().numpy() if isinstance(x, pb.Tensor) else x for x in (a, b)))
    assert eager or any(x.programs for x in compiled._by_signature.values())


@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_ndarray_beside_a_tensor_gives_a_tensor(requires_grad):
    compare(
        lambda w, x: (w * x, x * w, np.sin(x) * w, x @ w, np.multiply(x, w), np.stack([x, w]), x * 2.0, (w * x).std()),
        lambda: pb.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad),
        lambda: X,
    )


@pytest.mark.parametrize("number", [np.float64, float])
def test_a_number_that_varies_beside_a_tensor_gives_a_tensor(number):
    compiled = pb.compile(lambda x, q: (x * q, q))
    for k in range(6):
        found, q = compiled(pb.from_numpy(X), number(0.5 * k))
        assert type(found) is pb.Tensor
        assert isinstance(q, number)
        np.testing.assert_array_equal(found.numpy(), X * 0.5 * k)


def test_functions_of_small_whole_numbers_have_numpys_dtype():
    compare(lambda x: (np.sin(x), np.sqrt(x), np.hypot(x, x)), lambda: np.array([True, False]))
    compare(lambda x: (np.exp(x), np.log(x)), lambda: np.array([2, 3], np.int16))
    compare(lambda x: (pb.exp(x), pb.sqrt(x)), lambda: pb.tensor([True, False]))
    compare(lambda x, m: (pb.vmap(lambda x: x * m.exp())(x),), lambda: pb.ones(2, 2), lambda: pb.tensor([True, False]))


def test_a_tangent_has_the_dtype_of_what_is_written_into():
    def f(x):
        def write(x):
            y = x * 1
            y.lerp_(pb.ones(3), 0.5)
            return y

        return pb.func.jvp(write, (x,), (x * 1,))

    compare(f, lambda: pb.tensor([1.0, 2.0, 3.0]).float())


def test_a_number_that_varies_does_not_give_a_function_of_tensors_numpys_face():
    compiled = pb.compile(pb.func.value_and_grad(lambda x, q: (x * q).sum()))
    for k in range(5):
        assert [type(x) for x in compiled(pb.ones(2), 0.5 * k)] == [pb.Tensor, pb.Tensor]


def test_eigenvalues_are_real_where_all_of_them_are():
    compiled = pb.compile(np.linalg.eigvals)
    for angle in (0.0, 1.0) * 3:
        x = np.array([[1.0, -angle], [angle, 1.0]])
        found, expected = compiled(x), np.linalg.eigvals(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected)
    assert sum(len(x.programs) for x in compiled._by_signature.values()) == 2


def test_draws_in_place_inside_forward_mode():
    def f(x):
        def drawn(x):
            y = x * 1
            y.bernoulli_(0.0)
            return y + x

        return pb.func.jvp(drawn, (x,), (x * 1,))

    compare(f, lambda: pb.ones(3))
    compare(lambda x: (pb.func.jvp(lambda x: x.bernoulli_(0.0) * 1, (x,), (x * 1,))[0],), lambda: pb.ones(3))
    compare(lambda x: (pb.func.vmap(lambda x: x.bernoulli_(0.0) * 1, randomness="different")(x),), lambda: pb.ones(3))


def test_a_derivative_through_what_is_written_over_afterwards():
    def f(x, y):
        total = ((y @ x) ** 2).sum()
        y *= 0.5
        return total

    compare(lambda x, y: (pb.func.hessian(f)(x, y),), lambda: X, lambda: np.ones((3, 3)))


def test_what_is_repeated_is_a_copy():
    def f(x):
        y = x.repeat_interleave(2)
        x.mul_(0.5)
        return y, x * 1

    compare(f, lambda: pb.tensor(1.0))


def test_views_by_strides_have_what_is_written():
    def f(x):
        y = x * 1
        windows, last = y.as_strided((2, 2), (1, 1)), y[1:].as_strided((2,), (1,), 0)
        y.mul_(2)
        last.add_(1)
        return windows * 1, last * 1, y

    compare(f, lambda: pb.tensor([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("made", [np.array, pb.tensor])
def test_a_mask_of_other_sizes_is_refused(made):
    def write(x, m):
        x[m] = 1
        return x * 1

    for function in (lambda x, m: x[m], lambda x, m: x[0, m], write):
        for size in (1, 2, 4):
            compiled, x, m = pb.compile(function), made(np.ones((3, 3))), made(np.array([False] * size))
            with pytest.raises(IndexError), warnings.catch_warnings(action="ignore"):
                compiled(x, m)


def test_a_leaf_that_no_longer_requires_grad_is_left_to_eager_mode():
    compiled = pb.compile(lambda x: x.requires_grad_(False) * 2)
    with pytest.warns(CompileWarning, match="it changes whether an argument requires grad"):
        compiled(x := pb.ones(2, requires_grad=True))
    assert not x.requires_grad


def test_pythons_numbers_do_not_count_for_the_dtype_of_a_choice():
    compare(
        lambda x: (np.select([x > 1], [x], 0.0), np.choose([0, 1, 0], [x, 1.25])),
        lambda: X.astype(np.float32),
    )


def test_methods_of_an_array_without_dimensions_give_what_they_give():
    compare(lambda x: (x.clip(0), x.clip(x * 0, 1), x.round(), x.repeat(2), x.cumsum()), lambda: np.array(0.5))
    compare(lambda x: (x.astype(int), x.astype(np.float32), x.sum().astype(int), x.copy()), lambda: np.array(1.5))


def test_what_is_written_through_data_is_written():
    def f(x):
        y = 1 / x
        y.data.mul_(2.0)
        x.T.data.add_(1.0)
        return (y,)

    compare(f, lambda: pb.ones(2, 2))


@pytest.mark.parametrize("function", [lambda x: x.unsqueeze_(0) * 2, lambda x: x.t_() * 2])
def test_an_argument_that_becomes_another_view_is_left_to_eager_mode(function):
    memory = np.arange(4.0).reshape(2, 2)
    x, y = pb.from_numpy(memory), pb.ones(2, 2)
    function(y)
    with pytest.warns(CompileWarning, match="makes an argument another view of its memory"):
        pb.compile(function)(x)
    assert x.shape == y.shape
    np.testing.assert_array_equal(memory, np.arange(4.0).reshape(2, 2))


def test_a_write_into_an_argument_beside_gradients_is_done_once():
    def f(w, s):
        s += 1.0
        return (w * s,)

    compare(f, lambda: pb.ones(2, requires_grad=True), lambda: pb.ones(2), eager=True)


def test_an_argument_into_which_a_gradient_was_written_in_a_trace_is_as_it_was():
    def f(w, s):
        s[s > 2.0] = w.sum()
        return (w * 2,)

    compare(f, lambda: pb.ones(2, requires_grad=True) * 1, lambda: pb.ones(2), eager=True)


@pytest.mark.parametrize(
    "function",
    [
        np.linalg.eigvals,
        lambda x: np.linalg.solve(x, x),
        np.histogram,
        np.linalg.inv,
        pb.linalg.inv,
        np.linalg.cholesky,
    ],
)
def test_a_kernel_that_raises_does_so_whoever_wants_what_it_gives(function):
    compiled = pb.compile(lambda x: [function(x), x.sum()][1])
    for k in range(4):
        compiled(np.eye(2) * (k + 1))
    error = ValueError if function is np.histogram else np.linalg.LinAlgError
    wrong = np.zeros((2, 2)) if error is np.linalg.LinAlgError else np.full((2, 2), np.nan)
    if function is np.linalg.eigvals:
        wrong[:] = np.nan
    with pytest.raises(error):
        compiled(wrong)


def test_rows_of_cotangents_and_numbers_among_the_results():
    def f(x, q):
        return x.clamp(min=0.25).sqrt(), q

    compiled = pb.compile(f)
    for k in range(5):
        x = pb.tensor([0.0, 1.0, 4.0 + k], requires_grad=True)
        for rows in (False, True):
            given = pb.ones(2, 3) if rows else pb.ones(3)
            found, expected = (
                pb.autograd.grad(function(x, 0.5 * k)[0], x, given, is_grads_batched=rows)[0].numpy()
                for function in (compiled, f)
            )
            np.testing.assert_array_equal(found, expected)


def test_named_tuples_and_registered_classes_become_programs():
    def f(pair):
        return Pair(pair.a * 2, [pair, {"sorted": np.sort(pair.a)}])

    compiled = pb.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        for k in range(5):
            found = compiled(Pair(X + k, Held(X, 3)))
            assert type(found) is Pair
            assert type(found.b[0].b) is Held
            assert found.b[0].b.count == 3
            np.testing.assert_array_equal(found.a, (X + k) * 2)
    assert any(x.programs for x in compiled._by_signature.values())


@pytest.mark.parametrize(
    "function", [lambda x: np.choose([0, 1, 0], [x, x * 2]), lambda x: np.unravel_index(x.argmax(), (3, 1))[0]]
)
def test_checks_of_numbers_are_the_same_in_two_traces(function):
    compiled = pb.compile(function)
    for k in range(3):
        np.testing.assert_array_equal(compiled(X + k), function(X + k))
    assert any(x.programs for x in compiled._by_signature.values())


def test_an_operator_that_is_made_when_first_asked_for_is_the_librarys():
    scope = {"pb": pb}
    exec("def f(x):\n    return pb.erf(x) + pb.special.expit(x)", scope)
    assert len(reach_of(scope["f"]).watches.all) < 20


def test_a_detached_argument_is_a_leaf_of_its_own():
    def slope(x):
        x = x.detach().requires_grad_()
        y = (x * x).sum()
        y.backward()
        return y.detach(), x.grad

    compiled = pb.compile(slope)
    for k in range(6):
        value, gradient = compiled(pb.tensor([1.0, k], requires_grad=True))
        assert (value.item(), gradient.tolist()) == (1 + k * k, [2, 2 * k])


def test_samples_of_an_ndarray_beside_a_tensor_give_an_ndarray():
    compare(lambda x, s: (pb.vmap(lambda x: x + s)(x),), lambda: np.ones((2, 3)), lambda: pb.tensor(2.0))


SQUARE = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 0.5], [2.0, 0.1, 0.3]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (
            pb.sin(x),
            pb.sum(x),
            *pb.sort(x),
            pb.cat([x, x]),
            pb.where(x > 1, x, 0.0),
            pb.nn.functional.gelu(x),
        ),
        lambda x: (pb.std(x), pb.gt(x, 1), pb.zeros_like(x), *pb.unbind(x), pb.linalg.svdvals(x), pb.fft.fft(x)),
        lambda x: (np.sin(x), x + 1, x.sum(), x.T, x[0], np.linalg.inv(x), x.clip(0), abs(x), x @ x, np.stack([x, x])),
        lambda x: (pb.sin(x).std(0), pb.relu(x).repeat(2, 1), np.sin(x).std(0), pb.sin(np.zeros(3)), pb.tensor(x)),
        lambda x: (pb.vmap(pb.sin)(x), pb.func.jvp(pb.sin, (x,), (x,))[0], pb.func.vjp(lambda y: pb.sin(y) * x, x)[0]),
        lambda x: (pb.func.hessian(lambda y: pb.sin(y).sum())(x), pb.func.grad(lambda y: pb.sum(y * pb.sin(x)))(x)),
        lambda x: (pb.from_numpy(x).mul_(2), x * 1, pb.asarray(x).add_(1), x * 1, pb.from_numpy(x.sum(1)), x.copy()),
        lambda x: (pb.inner(x, x[0]), pb.inner(x, np.float64(2.0) * np.ones(())), pb.inner(x, x)),
        lambda x: (pb.is_tensor(x), pb.is_tensor(pb.sin(x)), pb.is_tensor(np.sin(x))),
    ],
)
def test_operators_make_tensors_of_ndarrays(function):
    compare(function, SQUARE.copy)


@pytest.mark.parametrize(
    "function",
    [
        np.conj,
        np.rint,
        np.round,
        np.reciprocal,
        np.sign,
        np.heaviside,
        np.power,
        np.modf,
        lambda x: x.round() + x.conj(),
    ],
)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8])
def test_functions_of_small_whole_numbers_are_numpys_own(function, dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    args = (x, x) if function in (np.heaviside, np.power) else (x,)
    if function is np.sign and dtype is bool:
        with pytest.raises(TypeError), warnings.catch_warnings(action="ignore"):
            pb.compile(function)(x)
        return
    compiled = pb.compile(lambda *args: function(*args))
    for _ in range(4):
        with np.errstate(all="ignore"):
            found, expected = compiled(*args), function(*args)
        for a, b in zip(*(y if isinstance(y, tuple) else (y,) for y in (found, expected)), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    assert any(y.programs for y in compiled._by_signature.values())


def test_a_program_that_gives_an_ndarray_for_a_tensor_is_given_up():
    assert differs(X, pb.from_numpy(X)) == "an ndarray for a Tensor"
    assert differs([pb.from_numpy(X)], [X]) == "a Tensor for an ndarray"
    assert not differs([pb.from_numpy(X), X], [pb.from_numpy(X * 1), X * 1])


@pytest.mark.parametrize("function", [lambda x: x.expand(2, 3), lambda x: x.relu() + x, lambda x: x.detach()])
def test_an_ndarray_has_no_methods_of_tensors(function):
    compiled = pb.compile(function)
    for _ in range(3):
        with pytest.raises(AttributeError):
            compiled(X)
    assert type(compiled(pb.from_numpy(X))) is pb.Tensor


def test_an_operator_that_is_compiled_itself_makes_a_tensor_of_an_ndarray():
    compiled = pb.compile(pb.sinh)
    for _ in range(5):
        assert type(compiled(X)) is pb.Tensor


class Mode(enum.Enum):
    SINE, EXPONENTIAL = "sin", "exp"

    def scale(self):
        return SCALES[self.name]


class Power(enum.IntEnum):
    SECOND = 2


SCALES = {"SINE": 1.0, "EXPONENTIAL": 2.0}


def test_members_of_an_enum_are_told_apart(monkeypatch):
    def f(x, mode, power):
        return (np.sin if mode is Mode.SINE else np.exp)(np.cos(x)) * mode.scale() + np.exp(x) ** power * power

    compiled = pb.compile(f)
    for n in range(14):
        if n == 7:  # which a member's method reads
            monkeypatch.setitem(SCALES, "SINE", 5.0)
        args = X, list(Mode)[n % 2], (2, Power.SECOND)[n % 3 == 0]
        np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-14)
    assert len(compiled._by_signature) == 4
