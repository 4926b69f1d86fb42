"""Complex numbers: the conjugate-Wirtinger convention, real and complex mixed, and what is refused.

The gradient of a real function L at z = x + iy is dL/dx + i dL/dy, the direction of steepest ascent; of an operator
with Jacobian J it is conj(J)^T applied to the cotangent. gradcheck compares it with differences along both axes.

`tests/ops` checks the derivatives of every operator whose record has complex128 among its dtypes. Here: that no record
is missing, every mixture of real and complex arguments, and the rules for numbers, views and in-place operations.
"""

from itertools import product

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import gradcheck, gradgradcheck
from pullback.testing.opinfo.calls import REFUSALS, accepted, flat_tensors, function_of, replaced, to_tensors
from pullback.testing.opinfo.core import Input, map_arrays
from tests.opinfo.records import OPINFOS

DIFFERENTIABLE = [info for info in OPINFOS if info.order and not info.random]
COMPLEX = [info for info in DIFFERENTIABLE if np.complex128 in info.grad_dtypes]
REAL = [info for info in DIFFERENTIABLE if info.grad_dtypes and np.complex128 not in info.grad_dtypes]
# Nodes of the backward of operators that are real, reached through these alone: their inputs are real too.
INNER = {"softmax_backward", "log_softmax_backward", "nll_loss_backward"}


def name(info):
    return info.full_name


def leaf(*values, dtype=None):
    return pb.tensor(values, dtype=dtype, requires_grad=True)


def differentiated(info, args, kwargs):
    """(the operator as a function of its differentiable inputs alone, these); None where it refuses them."""
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]

    def of_inputs(*values):
        new_args, new_kwargs = replaced((args, kwargs), inputs, values)
        return tuple(flat_tensors(function_of(info)(*new_args, **new_kwargs)))

    try:
        with np.errstate(all="ignore"):
            results = of_inputs(*inputs)
    except REFUSALS:
        return None
    return (of_inputs, inputs) if inputs and any(o.requires_grad for o in results) else None


def assert_gradients(case, info):
    """First and second derivatives agree with differences, and gradients have the dtype of their inputs."""
    function, inputs = case
    options = {"fast_mode": True, **info.gradcheck}
    with np.errstate(all="ignore"):
        gradcheck(function, inputs, **options)
        if info.order >= 2:
            gradgradcheck(function, inputs, **options)
        outputs = [o for o in function(*inputs) if o.requires_grad]
        grads = pb.autograd.grad(outputs, inputs, [pb.ones_like(o) for o in outputs], allow_unused=True)
    for x, g in zip(inputs, grads, strict=True):
        assert g is None or g.dtype == x.dtype


# -- every operator ------------------------------------------------------------------------------------------------


def mixtures(info):
    """The samples of several inputs with each choice of these made real, but all and none."""
    for sample in accepted(info, np.complex128):
        found = []
        map_arrays(lambda x: found.append(x), (sample.args, sample.kwargs))  # noqa: B023 - called at once
        places = [k for k, x in enumerate(found) if isinstance(x, Input) and x.dtype.kind == "c"]
        numbers = any(isinstance(a, complex) for a in sample.args)
        for choice in product((False, True), repeat=len(places) if len(places) <= 3 else 0):
            if any(choice) and (numbers or not all(choice)):
                real = {k for k, chosen in zip(places, choice, strict=True) if chosen}
                yield made_real((sample.args, sample.kwargs), real)


def made_real(tree, places):
    """`tree` with the arrays at these places, in order of appearance, replaced by their real parts."""
    count = iter(range(1 << 30))
    return map_arrays(lambda x: np.abs(x).view(Input) if next(count) in places else x, tree)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")  # copy_ and fill of a real tensor
@pytest.mark.parametrize("info", COMPLEX, ids=name)
def test_real_and_complex_arguments_mix(info):
    for args, kwargs in mixtures(info):
        case = differentiated(info, *to_tensors((args, kwargs), requires_grad=True))
        if case is not None:
            assert_gradients(case, info)


def test_mixtures_are_found():
    counts = {info.full_name: sum(1 for _ in mixtures(info)) for info in COMPLEX}
    assert counts["mul"] > 10
    assert counts["addcmul"] > 10
    assert counts["matmul"] > 4
    assert not counts["sin"]


@pytest.mark.parametrize("info", REAL, ids=name)
def test_what_has_no_complex_record_refuses_or_is_right(info):
    if info.name in INNER or info.name == "view_as_complex":
        return
    for sample in accepted(info, np.float64):
        args, kwargs = map_arrays(
            lambda x: (x + 0.5j * x).view(Input) if isinstance(x, Input) else x, (sample.args, sample.kwargs)
        )
        case = differentiated(info, *to_tensors((args, kwargs), requires_grad=True))
        if case is not None:
            assert_gradients(case, info)


@pytest.mark.parametrize("info", COMPLEX, ids=name)
def test_a_complex_record_takes_complex_numbers(info):
    """So that no record claims complex and then has every sample refused."""
    cases = [
        differentiated(info, *to_tensors((s.args, s.kwargs), requires_grad=True)) for s in accepted(info, np.complex128)
    ]
    assert any(case is not None for case in cases)


# -- the convention --------------------------------------------------------------------------------------------------


def test_gradient_of_a_real_function_is_the_direction_of_steepest_ascent():
    z = leaf(3 + 4j)
    (z.real**2 + 3 * z.imag**2).sum().backward()
    assert z.grad.item() == 2 * 3 + 1j * 6 * 4


def test_gradient_of_a_holomorphic_function_is_the_conjugate_of_its_derivative():
    z = leaf(1 + 2j, -0.5j)
    w = z * z * z
    w.backward(pb.ones_like(w))
    assert np.allclose(z.grad.numpy(), np.conj(3 * z.detach().numpy() ** 2))


def test_a_step_against_the_gradient_descends():
    z = leaf(2 + 1j)
    for _ in range(50):
        loss = ((z * z - 1j).abs() ** 2).sum()
        (g,) = pb.autograd.grad(loss, z)
        z = (z - 0.05 * g).detach().requires_grad_()
    assert abs(z.item() ** 2 - 1j) < 1e-6


@pytest.mark.parametrize(
    "function",
    [
        lambda x: pb.complex(x, x * x),
        lambda x: pb.polar(x.abs(), x),
        lambda x: x * 1j,
        lambda x: (1 + 2j) * x,
        lambda x: x ** (1 + 0.5j),
        lambda x: pb.exp(1j * x),
        lambda x: x.to(pb.complex128) ** 2,
        lambda x: 1j / x,
        lambda x: pb.view_as_complex(x.reshape(2, 2)),
        lambda x: pb.matmul(x.reshape(2, 2), pb.ones(2, 2) * 1j),
        lambda x: pb.where(x > 1, x * 1j, x),
        lambda x: pb.cat([x, x * 1j]),
        lambda x: pb.add(x, x, alpha=2j),
    ],
)
def test_complex_results_of_real_inputs_have_real_gradients(function):
    x = leaf(0.5, 1.5, 2.5, 3.5)
    y = function(x)
    assert y.is_complex()
    (g,) = pb.autograd.grad(y, x, pb.ones_like(y) * (1 - 2j))
    assert g.dtype == x.dtype
    assert gradcheck(function, x)
    assert gradgradcheck(function, x)


@pytest.mark.parametrize(
    "function",
    [
        pb.abs,
        pb.angle,
        pb.real,
        pb.imag,
        pb.view_as_real,
        lambda z: (z * z.conj()).real,
        lambda z: z.var(),
        lambda z: z.std(),
        lambda z: z.abs().max(),
        lambda z: pb.nn.functional.l1_loss(z, pb.ones(3) * 2j),
        lambda z: (z - 1j).abs().square().mean(),
        lambda z: z.real.exp() * z.imag,
        lambda z: z.sgn().real,
    ],
)
def test_real_results_of_complex_inputs(function):
    z = leaf(0.5 + 1j, -1.5 + 0.5j, 2 - 1j)
    y = function(z)
    assert not y.is_complex()
    assert gradcheck(function, z)
    assert gradgradcheck(function, z)


@pytest.mark.parametrize("base", [-2.0, -2, pb.tensor([-2.0, -0.5])])
def test_negative_real_numbers_to_complex_powers(base):
    z = leaf(0.5 + 1j, -1 + 0.25j)
    assert gradcheck(lambda z: pb.pow(base, z), z)
    assert gradgradcheck(lambda z: pb.pow(base, z), z)


# -- delicate points: what PyTorch gives there -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "z", "value", "gradient"),
    [
        (pb.abs, 0j, 0, 0),
        (pb.sgn, 0j, 0, 0),
        (pb.angle, 0j, 0, 0),
        (pb.angle, -1 + 0j, np.pi, -1j),
        (pb.angle, complex(-1, -0.0), -np.pi, -1j),
        (pb.sqrt, -4 + 0j, 2j, 0.25j),
        (pb.sqrt, complex(-4, -0.0), -2j, -0.25j),
        (pb.log, -1 + 0j, np.pi * 1j, -1),
        (lambda z: z**2, 0j, 0, 0),
        (lambda z: z**0, 0j, 1, 0),
        (lambda z: z**1, 0j, 0, 1),
        (lambda z: z**0.5, -4 + 0j, 2j, 0.25j),
        (lambda z: pb.pow(2, z), 0j, 1, np.log(2)),
        (pb.square, 1j, -1, -2j),
    ],
)
def test_delicate_points(function, z, value, gradient):
    x = leaf(z)
    y = function(x)
    assert np.allclose(y.item(), value)
    y.backward(pb.ones_like(y))
    assert np.allclose(x.grad.item(), gradient)


@pytest.mark.parametrize("zeros", [(), (1,), (1, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("function", [pb.prod, lambda z: pb.cumprod(z, 0)], ids=["prod", "cumprod"])
def test_products_over_zeros(function, zeros):
    values = np.array([1 + 1j, 2 - 1j, -0.5j, 1.5 + 0j])
    values[list(zeros)] = 0
    z = leaf(*values)
    y = function(z)
    ones = np.ones(y.shape, complex)
    # By hand: the derivative of a product of factors is the product of the others.
    counts = [4] if y.ndim == 0 else [1, 2, 3, 4]
    expected = [sum(np.prod(np.delete(values[:n], k)) for n in counts if k < n) for k in range(4)]
    (g,) = pb.autograd.grad(y, z, pb.from_numpy(ones))
    assert np.allclose(g.numpy(), np.conj(expected))
    assert gradgradcheck(function, z)


# -- cotangents and roots --------------------------------------------------------------------------------------------


def test_a_complex_scalar_needs_a_cotangent():
    z = leaf(1 + 1j, 2j)
    said = r"grad can be implicitly created only for real scalar outputs but got complex128.*grad_tensors"
    with pytest.raises(RuntimeError, match=said):
        z.sum().backward()
    with pytest.raises(RuntimeError, match=r"only for real scalar outputs but got complex128.*grad_outputs"):
        pb.autograd.grad(z.sum(), z)
    assert z.grad is None
    z.sum().backward(pb.tensor(1 + 0j))
    assert z.grad.tolist() == [1, 1]


def test_a_complex_vector_needs_a_cotangent_as_a_real_one_does():
    with pytest.raises(RuntimeError, match=r"only for scalar outputs.*\(2,\)"):
        (leaf(1 + 1j, 2j) * 2).backward()


@pytest.mark.parametrize(
    ("output", "cotangent"),
    [(pb.complex128, pb.float64), (pb.float64, pb.complex128), (pb.complex64, pb.float32), (pb.float32, pb.complex64)],
)
def test_real_and_complex_cotangents_are_not_exchanged(output, cotangent):
    x = leaf(1.0, 2.0, dtype=output)
    said = rf"required to have the same dtype.*grad_tensors\[0\] has a dtype of {cotangent} and .*{output}.*\.to"
    with pytest.raises(RuntimeError, match=said):
        (x * 2).backward(pb.ones(2, dtype=cotangent))
    with pytest.raises(RuntimeError, match=r"grad_outputs\[0\]"):
        pb.autograd.grad(x * 2, x, pb.ones(2, dtype=cotangent))
    assert x.grad is None


def test_a_cotangent_of_another_precision_is_cast():
    z = leaf(1j)
    (z * 2).backward(pb.ones(1, dtype=pb.complex64))
    assert z.grad.dtype == pb.complex128
    (z.sum() * 2).backward(1.0)  # a Python number has no dtype
    assert z.grad.item() == 4


def test_grad_of_another_kind_cannot_be_assigned():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"float64.*complex128"):
        x.grad = pb.ones(1, dtype=pb.complex128)


# -- custom Functions ------------------------------------------------------------------------------------------------


def function_with(backward):
    return type(
        "Doubled",
        (pb.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: backward(g))},
    )


def test_a_function_must_not_return_a_complex_gradient_for_a_real_input():
    x = leaf(1.0, 2.0)
    said = r"DoubledBackward returned a complex gradient \(complex128\) for argument 0.*real \(float64\).*real part"
    with pytest.raises(RuntimeError, match=said):
        function_with(lambda g: g * 1j).apply(x).sum().backward()
    assert x.grad is None


def test_a_function_may_return_a_real_gradient_for_a_complex_input():
    z = leaf(1 + 1j)
    y = function_with(lambda g: g.real).apply(z)
    y.backward(pb.ones_like(y))
    assert z.grad.dtype == pb.complex128
    assert z.grad.item() == 1


# -- parts and views -------------------------------------------------------------------------------------------------


def test_real_and_imaginary_parts_are_views():
    z = pb.tensor([1 + 2j, 3 + 4j])
    assert z.real._base is z
    assert z.imag._base is z
    z.real.mul_(10)
    assert z.tolist() == [10 + 2j, 30 + 4j]


def test_writing_into_a_part_is_differentiated():
    z = leaf(1 + 2j, 3 + 4j)
    w = z * 1
    w.real.mul_(3)
    w.imag.copy_(w.real)
    (w.real + 10 * w.imag).sum().backward()
    assert z.grad.tolist() == [33, 33]


def test_assigning_to_a_part_writes_into_it():
    z = pb.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    v = pb.tensor([5.0, 6.0], requires_grad=True)
    w = z * 1
    w.real = v
    w.imag += 1
    assert w.tolist() == [5 + 3j, 6 + 5j]
    (w * w.conj()).real.sum().backward()
    assert z.grad.tolist() == [6j, 10j]
    assert v.grad.tolist() == [10, 12]
    x = pb.ones(2)
    x.real = 3.0
    assert x.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="no imaginary part"):
        x.imag = 1.0
    with pytest.raises(RuntimeError, match="leaf Variable"):
        z.real = 0.0


def test_a_real_tensor_is_its_own_real_part_and_conjugate():
    x = leaf(1.0)
    assert x.real is x
    assert pb.real(x) is x
    assert x.conj() is x
    assert x.resolve_conj() is x
    assert x.resolve_neg() is x
    with pytest.raises(RuntimeError, match=r"imag.*float64.*zeros_like"):
        _ = x.imag


def test_conjugates_are_computed_at_once():
    z = leaf(1 + 2j)
    w = z.conj()
    assert not w.is_conj()
    assert not w.is_neg()
    assert w.resolve_conj() is not w  # a copy to write into
    assert w.grad_fn.name() == "ConjPhysicalBackward0"
    assert pb.view_as_real(w).tolist() == [[1, -2]]  # which PyTorch refuses to a lazy conjugate


def test_questions_about_the_dtype():
    assert pb.is_complex(leaf(1j))
    assert not pb.is_complex(leaf(1.0))
    assert pb.is_floating_point(leaf(1.0))
    assert not pb.is_floating_point(leaf(1j))
    with pytest.raises(TypeError, match=r"is_complex.*Tensor"):
        pb.is_complex(1j)


def test_view_as_real_and_back():
    z = leaf(1 + 2j, 3 - 1j)
    r = pb.view_as_real(z)
    assert r._base is z
    assert r.grad_fn.name() == "ViewAsRealBackward0"
    w = pb.view_as_complex(r * 2)
    w.backward(pb.tensor([1 + 1j, 1j]))
    assert z.grad.tolist() == [2 + 2j, 2j]
    with pytest.raises(RuntimeError, match=r"view_as_real.*complex.*float64"):
        pb.view_as_real(leaf(1.0))
    with pytest.raises(RuntimeError, match=r"view_as_complex.*last dimension of 2.*\(3,\)"):
        pb.view_as_complex(leaf(1.0, 2.0, 3.0))
    with pytest.raises(RuntimeError, match=r"view_as_complex.*neighbours in memory"):
        pb.view_as_complex(pb.ones(2, 3).t())


# -- in place --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x.add_(pb.tensor([1j])),
        lambda x: x.mul_(1j),
        lambda x: x.sub_(1j),
        lambda x: x.div_(pb.tensor([2j])),
        lambda x: x.pow_(1j),
        lambda x: x.addcmul_(x, pb.tensor([1j])),
        lambda x: x.fill_(1j),
        lambda x: x.__setitem__(0, 1j),
        lambda x: x.__setitem__(0, pb.tensor(1j)),
        lambda x: x.__setitem__(slice(0, 1), x * 1j),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_complex_values_are_not_written_into_real_tensors(operation, requires_grad):
    x = pb.tensor([2.0], requires_grad=requires_grad) * 1
    version, before = x._version, x.grad_fn
    with pytest.raises(RuntimeError, match=r"complex.*float64"):
        operation(x)
    assert x.tolist() == [2.0]
    assert x._version == version
    assert x.grad_fn is before


def test_copy_drops_the_imaginary_part_with_a_warning():
    z, x = leaf(1 + 2j), pb.zeros(1)
    with pytest.warns(UserWarning, match="discards the imaginary part: complex128 becomes float64"):
        x.copy_(z)
    x.backward()
    assert z.grad.item() == 1


def test_real_values_are_written_into_complex_tensors():
    x, z = leaf(2.0), leaf(1 + 1j)
    w = z * 1
    w.mul_(x)
    w.add_(x)
    w.backward(pb.tensor([1j]))
    assert x.grad.dtype == pb.float64
    assert x.grad.item() == (np.conj(1 + 1j) * 1j).real
    assert z.grad.item() == 2j


# -- accumulation ------------------------------------------------------------------------------------------------------


def test_gradients_from_real_and_complex_paths_meet_in_a_real_leaf():
    x = leaf(1.0, 2.0)
    total = (x * x).sum() + (x * (1 + 2j)).abs().sum() + (x * 1j).imag.sum()
    total.backward()
    assert x.grad.dtype == pb.float64
    assert np.allclose(x.grad.numpy(), 2 * np.array([1.0, 2.0]) + 5**0.5 + 1)


def test_second_derivatives_through_complex_numbers_are_real_for_real_inputs():
    x = leaf(0.3, 0.7)
    (g,) = pb.autograd.grad(pb.exp(x * 1j).real.sum(), x, create_graph=True)
    (h,) = pb.autograd.grad(g.sum(), x)
    assert h.dtype == pb.float64
    assert np.allclose(h.numpy(), -np.cos([0.3, 0.7]))


@pytest.mark.parametrize(
    "alias",
    [
        lambda c: c.detach(),
        lambda c: c.detach()[:1],
        lambda c: c[:1].detach(),
        lambda c: c.data,
        lambda c: c.T.detach(),
    ],
)
def test_no_alias_of_a_conjugate_is_written_into(alias):
    c = pb.tensor([1 + 2j, 3j]).conj()
    with pytest.raises(RuntimeError, match=r"conj\(\) computes at once here and gives a copy"):
        alias(c).mul_(2)
    assert c.tolist() == [1 - 2j, -3j]
    assert alias(c).clone().mul_(2).tolist() == (alias(c) * 2).tolist()
