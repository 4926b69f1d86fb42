"""autograd.functional refuses by name: bad inputs, bad v, bad outputs, and with strict=True what is independent."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

X = np.array([1.0, 2.0])
ALL = [vjp, jvp, vhp, hvp, jacobian, hessian]
ONE_ELEMENT = [vhp, hvp, hessian]


def run(function, func, inputs, **kwargs):
    """Any of the six, with the ones that it needs for v."""
    if function in (jacobian, hessian):
        return function(func, inputs, **kwargs)
    if function is vjp:
        outputs = func(*map(pb.asarray, inputs)) if isinstance(inputs, tuple) else func(pb.asarray(inputs))
        v = tuple(pb.ones(y.shape) for y in outputs) if isinstance(outputs, tuple) else pb.ones(outputs.shape)
    else:
        v = tuple(np.ones(np.shape(x)) for x in inputs) if isinstance(inputs, tuple) else np.ones(np.shape(inputs))
    return function(func, inputs, v, **kwargs)


# -- inputs ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", ALL)
def test_bad_inputs(function):
    name = function.__name__
    with pytest.raises(TypeError, match=rf"the inputs of {name}\(\) must be .*got list.*tuple"):
        function(lambda x: x.sum(), [X])
    with pytest.raises(TypeError, match=rf"entry 1 of the inputs of {name}\(\).*got str"):
        function(lambda x, y: x.sum(), (X, "1.0"))
    with pytest.raises(RuntimeError, match=rf"{name}\(\) cannot differentiate.*input 1.*int64.*astype\(float\)"):
        function(lambda x, y: x.sum(), (X, np.array([1, 2])))
    with pytest.raises(RuntimeError, match=rf"{name}\(\) are an empty tuple"):
        function(lambda: pb.tensor(1.0), ())


@pytest.mark.parametrize("function", ALL)
def test_inference_mode_is_refused_instead_of_giving_zeros(function):
    with (
        pb.inference_mode(),
        pytest.raises(RuntimeError, match=rf"{function.__name__}\(\).*inference_mode.*inference_mode\(False\)"),
    ):
        function(lambda x: x.sum(), X)


# -- outputs ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(("bad", "found"), [(np.ones(2), "ndarray"), (3.0, "float"), (None, "NoneType"), ([], "list")])
def test_outputs_must_be_tensors(function, bad, found):
    v = () if function in (jacobian, hessian) else (X,)
    with pytest.raises(TypeError, match=rf"outputs of the function given to {function.__name__}\(\).*got {found}"):
        function(lambda x: bad, X, *v)
    with pytest.raises(TypeError, match=rf"entry 1 of the outputs .*got {found}"):
        function(lambda x: (x, bad), X, *v)


@pytest.mark.parametrize("function", ONE_ELEMENT)
def test_a_hessian_is_of_one_output_of_one_element(function):
    with pytest.raises(RuntimeError, match=rf"{function.__name__}\(\) must return a single Tensor.*shape \(2,\).*sum"):
        run(function, lambda x: x * 2, X)
    with pytest.raises(RuntimeError, match=rf"{function.__name__}\(\) must return a single Tensor.*tuple of 1"):
        run(function, lambda x: (x.sum(),), X)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_no_outputs(strategy):
    with pytest.raises(RuntimeError, match=r"given to jacobian\(\) returned an empty tuple"):
        jacobian(lambda x: (), X, strategy=strategy)
    with pytest.raises(TypeError, match=r"outputs of the function given to jacobian\(\).*got float"):
        jacobian(lambda x: 3.0, X, strategy=strategy)


def test_complex_outputs():
    with pytest.raises(RuntimeError, match=r"output 1 .* jacobian\(\) is complex.*view_as_real.*vectorize=True"):
        jacobian(lambda x: (x, x * 1j), X)
    with pytest.raises(RuntimeError, match=r"the gradient with respect to input 0 .* hessian\(\) is complex"):
        hessian(lambda z: (z * z.conj()).real.sum(), X * 1j)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        hvp(lambda z: (z * z).sum(), X * 1j, X * 1j)


# -- v ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [vjp, jvp, vhp, hvp])
def test_bad_v(function):
    name, whose = function.__name__, "output" if function is vjp else "input"

    def f(x):
        return x * 2 if function in (vjp, jvp) else (x * x).sum()

    with pytest.raises(RuntimeError, match=rf"{name}\(\) needs v: .* the {whose} of the function .*\(2,\) float64"):
        function(f, X)
    with pytest.raises(RuntimeError, match=rf"v given to {name}\(\) must be a single Tensor, .* 2 entries"):
        function(f, X, (X, X))
    with pytest.raises(RuntimeError, match=rf"the v given to {name}\(\) has shape \(3,\), but {whose} 0 .*\(2,\)"):
        function(f, X, np.ones(3))
    with pytest.raises(
        RuntimeError, match=rf"v given to {name}\(\) has dtype complex128, but {whose} 0 .*float64.*v\.real"
    ):
        function(f, X, X * 1j)
    with pytest.raises(TypeError, match=rf"the v of {name}\(\).*got list"):
        function(f, X, [1.0, 2.0])


def test_a_real_v_for_a_complex_output():
    with pytest.raises(RuntimeError, match=r"v given to vjp\(\) has dtype float64, but output 0 .*complex128.*v \+ 0j"):
        vjp(lambda x: x * 1j, X, X)


def test_bad_v_among_several():
    with pytest.raises(RuntimeError, match=r"v given to jvp\(\) must be a tuple of 2, as the input .* 1 entries"):
        jvp(lambda x, y: x, (X, X), (X,))
    with pytest.raises(RuntimeError, match=r"v\[1\] given to vjp\(\) has shape \(1,\), but output 1 .*\(2,\)"):
        vjp(lambda x: (x, x), X, (X, X[:1]))
    with pytest.raises(RuntimeError, match=r"vjp\(\) needs v: .*\(\) float64, \(\) float64"):
        vjp(lambda x: (x.sum(), x.sum()), X)
    with pytest.raises(RuntimeError, match=r"jvp\(\) needs v: .*single real.*complex128"):
        jvp(lambda x: x, 1j)


# -- options ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("function", "argument"), [(jacobian, "strategy"), (hessian, "outer_jacobian_strategy")])
def test_strategies(function, argument):
    name = function.__name__
    with pytest.raises(ValueError, match=rf"{argument} must be 'reverse-mode' or 'forward-mode', got 'sideways'"):
        function(lambda x: x.sum(), X, **{argument: "sideways"})
    with pytest.raises(RuntimeError, match=rf"{name}\(\) cannot combine strict=True with {argument}='forward-mode'"):
        function(lambda x: x.sum(), X, strict=True, **{argument: "forward-mode"})
    with pytest.raises(RuntimeError, match=rf"{name}\(\) cannot combine strict=True with vectorize=True"):
        function(lambda x: x.sum(), X, strict=True, vectorize=True)


# -- strict ----------------------------------------------------------------------------------------------------------
def cubes(x, y):
    return (x**3).sum() + (y**3).sum()


@pytest.mark.parametrize("function", ALL)
def test_strict_accepts_what_depends(function):
    if function is not hessian:
        run(function, cubes, (X, X), strict=True, create_graph=function is not jacobian)
    run(function, lambda x: (x**3).sum(), X, strict=True, create_graph=True)


@pytest.mark.parametrize("function", ALL)
def test_strict_refuses_a_detached_output(function):
    with pytest.raises(RuntimeError, match=rf"output 0 .*{function.__name__}\(\) does not require grad.*strict"):
        run(function, lambda x: x.detach().sum(), X, strict=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (vjp, "no output depends on input 1"),
        (jvp, "every output .* is independent of input 1"),
        (vhp, "the output .* is independent of input 1"),
        (hvp, "the output .* is independent of input 1"),
        (jacobian, "output 0 .* is independent of input 1"),
        (hessian, "the output .* is independent of input 1"),
    ],
)
def test_strict_refuses_an_unused_input(function, message):
    with pytest.raises(RuntimeError, match=rf"{message}.*strict=True refuses"):
        run(function, lambda x, y: (x**3).sum(), (X, X), strict=True)
    run(function, lambda x, y: (x**3).sum(), (X, X))


def test_strict_jacobian_names_the_pair():
    with pytest.raises(RuntimeError, match=r"output 1 .*jacobian\(\) is independent of input 0"):
        jacobian(lambda x, y: (x * y, y**2), (X, X), strict=True)
    with pytest.raises(RuntimeError, match=r"output 1 .*does not require grad: .*detached"):
        jacobian(lambda x: (x, pb.ones(2)), X, strict=True)


@pytest.mark.parametrize("function", ONE_ELEMENT)
def test_strict_refuses_a_linear_function(function):
    with pytest.raises(RuntimeError, match=r"the gradient with respect to input 0 .* is independent of every input"):
        run(function, lambda x: x.sum(), X, strict=True)


def test_strict_hessian_names_the_pair():
    with pytest.raises(RuntimeError, match=r"gradient with respect to input 0 .*hessian\(\) is independent of input 1"):
        hessian(cubes, (X, X), strict=True)


@pytest.mark.parametrize("function", ALL)
def test_strict_with_create_graph_refuses_a_constant_derivative(function):
    f = (lambda x: (x**2).sum()) if function in ONE_ELEMENT else (lambda x: x.sum())
    run(function, f, X, strict=True)
    with pytest.raises(RuntimeError, match=rf"(derivative|product).*{function.__name__}\(\).*strict=True refuses"):
        run(function, f, X, strict=True, create_graph=True)
