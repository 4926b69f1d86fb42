"""vjp, jvp, vhp, hvp: products of a vector with a Jacobian or a Hessian that is never formed."""

from __future__ import annotations

from typing import Any

from pullback.autograd.functional.arguments import Arrays, Function, Gradients, Point
from pullback.autograd.functional.strict import check_gradient, check_outputs, filled
from pullback.core.named import named


@named("autograd.functional.vjp", "callable func")
def vjp(
    func: Function, inputs: Arrays, v: Arrays | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of a vector and the Jacobian of a function: v^T J.

    Parameters
    ----------
    func : callable
        Takes the inputs as Tensors; returns a Tensor or a tuple of Tensors.
    inputs : Tensor, ndarray or float, or tuple of these; floating or complex
        Where to differentiate.
    v : like the outputs of `func`, optional
        The vector, of their shapes. May be left out for a single real output of one element (1 is used).
    create_graph : bool, default False
        Return results that are themselves differentiable, with respect to inputs that require grad, to `v` and to what
        `func` captures.
    strict : bool, default False
        Raise where an output does not depend on the inputs or an input is not used, instead of giving zeros.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        What `func` returned.
    vjp : Tensor or tuple of Tensor
        One for each input, of its shape and dtype: conj(J)^T v, as `pullback.autograd.grad` gives it.

    Raises
    ------
    RuntimeError
        `v` is missing or of the wrong shape or number, an input is of an integer dtype, or `strict` refuses.
    TypeError
        An input or `v` is not an array, or `func` returned something other than Tensors.

    Examples
    --------
    >>> inputs = np.ones(2), np.array([3.0, 4.0])
    >>> outputs, product = pb.autograd.functional.vjp(lambda x, y: 2 * x + y**2, inputs, v=np.array([1.0, 10.0]))
    >>> product
    (tensor([ 2., 20.]), tensor([ 6., 80.]))
    """
    point = Point("vjp", inputs, create_graph=create_graph, strict=strict)
    with point.recording():
        outputs = point.evaluate(func)
        check_outputs(point, outputs.tensors)
        cotangents = point.vector(v, outputs, "output")
        found = point.gradients(outputs.tensors, point.inputs.tensors, cotangents, create_graph=point.create_graph)
        product = filled(
            point,
            found,
            point.inputs.tensors,
            missing="no output depends on input {}",
            constant="the product with respect to input {} depends neither on the inputs nor on v",
        )
    return outputs.like_this(point.finished(outputs.tensors)), point.inputs.like_this(point.finished(product))


@named("autograd.functional.jvp", "callable func")
def jvp(
    func: Function, inputs: Arrays, v: Arrays | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of the Jacobian of a function and a vector: J v, the derivative along v.

    Parameters
    ----------
    func, inputs
        As for `vjp`.
    v : like `inputs`, optional
        The direction, of their shapes. May be left out for a single real input of one element (1 is used).
    create_graph, strict : bool, default False
        As for `vjp`.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        What `func` returned.
    jvp : Tensor or tuple of Tensor
        One for each output, of its shape and dtype.

    Raises
    ------
    RuntimeError, TypeError
        As for `vjp`.

    Notes
    -----
    By two backwards: u -> J^T u is linear in u, and its transpose, the backward of the backward, is v -> J v. Operators
    must be twice differentiable for it. u is zero: a linear map has the same transpose everywhere.

    Examples
    --------
    >>> outputs, product = pb.autograd.functional.jvp(np.sin, np.array([0.0, np.pi]), v=np.array([1.0, 2.0]))
    >>> product
    tensor([ 1., -2.])
    """
    point = Point("jvp", inputs, create_graph=create_graph, strict=strict)
    with point.recording():
        direction = point.vector(v, point.inputs, "input")
        outputs = point.evaluate(func)
        check_outputs(point, outputs.tensors)
        cotangents = point.zero_cotangents(outputs.tensors)
        gradient = point.gradients(outputs.tensors, point.inputs.tensors, cotangents, create_graph=True)
        check_gradient(point, gradient, "every output")
        tangents = _transposed(point, gradient, cotangents, direction)
        product = filled(
            point,
            tangents,
            outputs.tensors,
            missing="the derivative of output {} does not reach the inputs",
            constant="the derivative of output {} depends neither on the inputs nor on v",
        )
    return outputs.like_this(point.finished(outputs.tensors)), outputs.like_this(point.finished(product))


@named("autograd.functional.vhp", "callable func")
def vhp(
    func: Function, inputs: Arrays, v: Arrays | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of a vector and the Hessian of a scalar function: v^T H, the gradient of (gradient . v).

    Parameters
    ----------
    func : callable
        Takes the inputs as Tensors; returns a Tensor of one element.
    inputs : Tensor, ndarray or float, or tuple of these; floating or complex
    v : like `inputs`, optional
        The vector, of their shapes. May be left out for a single real input of one element (1 is used).
    create_graph, strict : bool, default False
        As for `vjp`; strict also refuses a gradient that does not depend on the inputs (a linear function).

    Returns
    -------
    output : Tensor
        What `func` returned.
    vhp : Tensor or tuple of Tensor
        One for each input, of its shape and dtype.

    Raises
    ------
    RuntimeError, TypeError
        As for `vjp`, or `func` returned several Tensors or elements.

    See Also
    --------
    hvp : H v, which is the same where the Hessian is symmetric, and takes a third backward.

    Examples
    --------
    >>> x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    >>> output, product = pb.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
    >>> product
    tensor([  6., 120.])
    """
    point = Point("vhp", inputs, create_graph=create_graph, strict=strict)
    with point.recording():
        vector = point.vector(v, point.inputs, "input")
        output = point.evaluate_scalar(func)
        check_outputs(point, (output,))
        gradient = point.gradients((output,), point.inputs.tensors, create_graph=True)
        check_gradient(point, gradient, "the output")
        found = point.gradients(gradient, point.inputs.tensors, vector, create_graph=point.create_graph)
        product = filled(
            point,
            found,
            point.inputs.tensors,
            missing="the gradient does not depend on input {}",
            constant="the product with respect to input {} depends neither on the inputs nor on v",
        )
    return point.finished((output,))[0], point.inputs.like_this(point.finished(product))


@named("autograd.functional.hvp", "callable func")
def hvp(
    func: Function, inputs: Arrays, v: Arrays | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of the Hessian of a scalar function and a vector: H v, the derivative of the gradient along v.

    Parameters
    ----------
    func, inputs, v, create_graph, strict
        As for `vhp`.

    Returns
    -------
    output : Tensor
        What `func` returned.
    hvp : Tensor or tuple of Tensor
        One for each input, of its shape and dtype.

    Raises
    ------
    RuntimeError, TypeError
        As for `vhp`.

    Notes
    -----
    A jvp of the gradient, by the two backwards that `jvp` describes; with that of the gradient, three. Where the second
    derivatives are continuous the Hessian is symmetric and `vhp` gives the same numbers for two.

    Examples
    --------
    >>> x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    >>> output, product = pb.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
    >>> product
    tensor([  6., 120.])
    """
    point = Point("hvp", inputs, create_graph=create_graph, strict=strict)
    with point.recording():
        direction = point.vector(v, point.inputs, "input")
        output = point.evaluate_scalar(func)
        check_outputs(point, (output,))
        gradient = point.gradients((output,), point.inputs.tensors, create_graph=True)
        check_gradient(point, gradient, "the output")
        cotangents = point.zero_cotangents(point.inputs.tensors)
        second = point.gradients(gradient, point.inputs.tensors, cotangents, create_graph=True)
        tangents = _transposed(point, second, cotangents, direction)
        product = filled(
            point,
            tangents,
            point.inputs.tensors,
            missing="the gradient with respect to input {} has no derivative that reaches the inputs",
            constant="the derivative of the gradient with respect to input {} depends neither on the inputs nor on v",
        )
    return point.finished((output,))[0], point.inputs.like_this(point.finished(product))


def _transposed(point: Point, gradient: Gradients, cotangents: Gradients, v: Gradients) -> Gradients:
    """The gradient, linear in the cotangents, transposed and applied to v; None where there is no connection."""
    variables = [u for u in cotangents if u is not None]
    if not variables:
        return (None,) * len(cotangents)
    found = iter(point.gradients(gradient, variables, v, create_graph=point.create_graph))
    return tuple(None if u is None else next(found) for u in cotangents)
