"""`opcheck`: tries whether an operator of one's own keeps what its declaration and its rules say."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.api import grad
from pullback.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from pullback.core.array_type import NUMPY
from pullback.core.errors import type_name
from pullback.core.factory import from_numpy
from pullback.core.pytree import tree_leaves, tree_map
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.operator import OPERATORS, Operator, parameters_of
from pullback.dispatch.tangent_rules import rule_for
from pullback.func.batching import vmap
from pullback.graph.undifferentiable import DerivativeNotImplementedError
from pullback.library.custom_op import CustomOp
from pullback.testing.close import assert_close
from pullback.testing.opinfo.calls import check_subsets, headed
from pullback.testing.opinfo.core import Input, OpInfo, Sample
from pullback.testing.opinfo.tag_checks import check_tags, kernel_arguments


class OpCheckError(AssertionError):
    """An operator does not keep what its declaration, or one of its rules, says.

    Examples
    --------
    >>> issubclass(pb.library.OpCheckError, AssertionError)
    True
    """


class Skipped(Exception):  # noqa: N818 - no error
    """A test has nothing to test; the message says why."""


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Try an operator of your own on some arguments: what it declares, and each of its rules against differences.

    Parameters
    ----------
    op : CustomOp, or a function of `pb.ops.<namespace>`
    args : sequence
    kwargs : dict, optional
        The arguments of a call. Arrays of floating-point numbers are checked in double precision. Gradients are looked
        at for the Tensors that require them or, if none does, for all arrays of such numbers.
    test_utils : str or sequence of str, optional
        Which tests; all by default. "test_schema": no argument is changed but those that are declared to be, and the
        same call gives the same again. "test_aliasing": no result is, or shares memory with, an argument or another
        result. "test_autograd_registration": there is a derivative. "test_gradcheck", "test_tangent",
        "test_gradgradcheck": backward, forward mode and second derivatives agree with differences. "test_batched":
        vmap gives for a batch what each sample gives, gradients too. "test_tags": the tags keep their promises.
    raise_exception : bool, default True
        Raise the first error. With False the errors are in what is returned.
    atol, rtol : float, optional
        The tolerances of the comparisons.

    Returns
    -------
    dict
        For each test "SUCCESS", "SKIPPED: " and why, or "FAILED: " and what is wrong.

    Raises
    ------
    OpCheckError
        A test has failed.
    TypeError
        `op` is not an operator of your own.
    ValueError
        `test_utils` names a test that does not exist.

    Examples
    --------
    >>> @pb.library.custom_op("doc_opcheck::cube", mutates_args=())
    ... def cube(x: pb.Tensor) -> pb.Tensor:
    ...     return x**3
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    >>> def backward(ctx, grad):
    ...     return grad * 2 * ctx.saved_tensors[0] ** 2
    >>> _ = cube.register_autograd(backward, setup_context=setup_context)
    >>> found = pb.library.opcheck(cube, (np.array([1.0, 2.0]),), raise_exception=False)
    >>> found["test_schema"], found["test_tangent"]
    ('SUCCESS', 'SKIPPED: no tangent is registered.')
    >>> found["test_gradcheck"].splitlines()[0]
    'FAILED: doc_opcheck::cube, test_gradcheck: the backward is wrong. Correct what register_autograd was given.'
    """
    operator = _operator(op)
    names = tuple(TESTS) if test_utils is None else (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    for name in names:
        if name not in TESTS:
            raise ValueError(f"opcheck: there is no test {name!r}. Write some of: {', '.join(TESTS)}.")
    tolerance = {key: given for key, given in (("atol", atol), ("rtol", rtol)) if given is not None}
    call = Call(op, operator, tuple(args), dict(kwargs or {}), tolerance)
    found = {}
    for name in names:
        try:
            with np.errstate(all="ignore"):
                TESTS[name](call)
            found[name] = "SUCCESS"
        except Skipped as skipped:
            found[name] = f"SKIPPED: {skipped}"
        except Exception as error:
            said = f"{call.name}, {name}: {error}"
            if raise_exception:
                raise OpCheckError(said) from error
            found[name] = f"FAILED: {said}"
    return found


def _operator(op: Any) -> Operator:
    if isinstance(op, CustomOp):
        return op._operator
    module = sys.modules.get(getattr(op, "__module__", ""))
    package, _, namespace = getattr(module, "__name__", "").rpartition(".")
    found: Operator | None = (
        OPERATORS.get(f"{namespace}.{getattr(op, '__name__', '')}") if package == "pullback.ops.loaded" else None
    )
    if found is None:
        raise TypeError(
            f"opcheck takes what custom_op has made, or a function of pb.ops.<namespace> that has a kernel, got "
            f"{type_name(op)}. Check a function with pullback.autograd.gradcheck."
        )
    return found


class Call:
    """An operator with the arguments to try it on."""

    def __init__(
        self,
        op: Callable[..., Any],
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tolerance: dict[str, float],
    ) -> None:
        self.op, self.operator, self.tolerance = op, operator, tolerance
        self.name = operator.name.replace(".", "::", 1)
        arrays = [x for x in tree_leaves((args, kwargs)) if isinstance(x, (Tensor, ndarray))]
        chosen = any(isinstance(x, Tensor) and x.requires_grad for x in arrays)
        self.differentiated: list[bool] = []
        values = []
        for x in arrays:
            value = np.array(x.numpy(force=True) if isinstance(x, Tensor) else x)
            if value.dtype.kind in "fc":
                value = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
            values.append(value)
            wanted = x.requires_grad if chosen and isinstance(x, Tensor) else not chosen
            self.differentiated.append(wanted and value.dtype.kind in "fc")
        self.values: list[ndarray] = values
        self.tree = args, kwargs

    def arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these in the places of the arrays."""
        left = iter(arrays)
        args, kwargs = tree_map(lambda x: next(left) if isinstance(x, (Tensor, ndarray)) else x, self.tree)
        return args, kwargs

    def of_inputs(self) -> tuple[Callable[..., Any], list[ndarray]]:
        """A function of the arrays by which is differentiated that gives the results as a tuple, and these arrays."""
        if self.operator.mutates:
            raise Skipped("it writes into its argument, so it has no derivative.")
        places = [i for i, wanted in enumerate(self.differentiated) if wanted]
        if not places:
            raise Skipped("no argument is an array of floating-point numbers.")

        def function(*given: Any) -> Any:
            arrays: list[Any] = [from_numpy(x.copy()) for x in self.values]
            for i, x in zip(places, given, strict=True):
                arrays[i] = x
            args, kwargs = self.arguments(arrays)
            return tuple(x for x in tree_leaves(self.op(*args, **kwargs)) if x.dtype.kind in "fc")

        if not function(*[from_numpy(self.values[i].copy()) for i in places]):
            raise Skipped("no result is an array of floating-point numbers.")
        return function, [self.values[i] for i in places]

    def tensors(self) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
        """The same, with Tensors that require grad."""
        function, values = self.of_inputs()
        return function, tuple(from_numpy(x.copy()).requires_grad_() for x in values)


def test_schema(call: Call) -> None:
    """No argument is changed that is not declared to be, and the results are those of a second call."""
    results = []
    for _ in range(2):
        arrays = [from_numpy(x.copy()) for x in call.values]
        args, kwargs = call.arguments(arrays)
        found = call.op(*args, **kwargs)
        results.append([x.numpy(force=True).copy() for x in tree_leaves(found)])
        names = dict(zip(map(id, arrays), range(len(arrays)), strict=True))
        for x, before in zip(arrays, call.values, strict=True):
            if not np.array_equal(x.numpy(), before, equal_nan=before.dtype.kind in "fc"):
                if call.operator.mutates and x is args[0]:
                    continue
                raise OpCheckError(
                    f"it changes its array argument number {names[id(x)]}, which it does not declare. Name it in "
                    "mutates_args, or let the function work on a copy."
                )
    if "random" not in call.operator.tags:
        for first, second in zip(*results, strict=True):
            if not np.array_equal(first, second, equal_nan=first.dtype.kind in "fc"):
                raise OpCheckError("a second call with the same arguments gives another result. Tag it random.")


def test_aliasing(call: Call) -> None:
    """The kernel itself, without the copy that is made for it, returns memory of its own."""
    if call.operator.mutates or call.operator.view:
        raise Skipped("it is declared to return its argument, or a view of it.")
    kernel = NUMPY.kernels[call.operator.kernel]
    kernel = getattr(kernel, "__wrapped__", kernel)
    args, kwargs = call.arguments([from_numpy(x.copy()) for x in call.values])
    for raws in kernel_arguments(lambda: call.op(*args, **kwargs)).get(call.operator.name, ()):
        given = [x for x in tree_leaves(raws) if issubclass(type(x), ndarray)]
        results = _listed(kernel(*raws))
        for nr, x in enumerate(results):
            where = f"result {nr}" if len(results) > 1 else "the result"
            if any(np.shares_memory(x, y) for y in given):
                raise OpCheckError(
                    f"{where} is an argument, or a view of one, so it must be copied at each call. Return a copy: "
                    "x.copy()."
                )
            if any(np.shares_memory(x, y) for y in results[:nr]):
                raise OpCheckError(f"{where} shares memory with another result. Return a copy of one of them.")
        if any(np.shares_memory(x, y) for x in results for y in _listed(kernel(*raws))):
            raise OpCheckError(
                "it returns the same memory at each call, so a call changes what the call before has returned. Return "
                "a copy, or make a new array."
            )


def _listed(found: Any) -> list[ndarray]:
    return [np.asarray(x) for x in (found if isinstance(found, (list, tuple)) else [found])]


def test_autograd_registration(call: Call) -> None:
    """A derivative is there: a backward reaches the arguments."""
    function, inputs = call.tensors()
    results = function(*inputs)
    roots = [y for y in results if y.requires_grad]
    if not roots:
        raise OpCheckError("no result requires grad, though an argument does.")
    try:
        grad(roots, inputs, [from_numpy(np.ones(y.shape, y.dtype)) for y in roots], allow_unused=True)
    except DerivativeNotImplementedError as error:
        raise OpCheckError(f"no backward is registered: {error}") from error


def test_gradcheck(call: Call) -> None:
    """The backward agrees with differences, and gives the same whichever inputs require grad."""
    _check_against_differences(gradcheck, call, "the backward is wrong", "Correct what register_autograd was given")
    check_subsets(*call.of_inputs())


def test_tangent(call: Call) -> None:
    """The tangent agrees with differences."""
    rule = rule_for(call.operator.kernel, len(parameters_of(call.operator)))
    registered = call.op._derivative.tangent if isinstance(call.op, CustomOp) else rule and rule.function
    if registered is None:
        raise Skipped("no tangent is registered.")
    switches = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False}
    remedy = "Correct what register_tangent was given"
    _check_against_differences(gradcheck, call, "the tangent is wrong", remedy, **switches)


def test_gradgradcheck(call: Call) -> None:
    """The derivative of the backward agrees with differences."""
    remedy = "The backward must be made of differentiable operations, and save the arguments that it depends on"
    _check_against_differences(gradgradcheck, call, "the second derivative is wrong", remedy)


def _check_against_differences(check: Any, call: Call, wrong: str, remedy: str, **switches: bool) -> None:
    function, inputs = call.tensors()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(function, inputs, **call.tolerance, **switches)
        except GradcheckError as error:
            raise OpCheckError(f"{wrong}. {remedy}.\n{error}") from error


def test_batched(call: Call) -> None:
    """Under vmap the results and gradients are those of each sample: all arguments batched, and each one alone."""
    function, values = call.of_inputs()
    pair = (values, [np.flip(x).copy() for x in values])  # the same numbers in other places lie in the domain too
    ways = {(0,) * len(values)} | {tuple(0 if i == j else None for i in range(len(values))) for j in range(len(values))}
    for in_dims in sorted(ways, key=str):
        samples = [[pair[n if dim == 0 else 0][i] for i, dim in enumerate(in_dims)] for n in (0, 1)]
        alone = [_with_gradients(function, sample) for sample in samples]
        if len({tuple(x.shape for x in found) for found in alone}) > 1:
            raise Skipped("the shape of a result depends on numbers.")
        stacked = [
            np.stack([s[i] for s in samples]) if dim == 0 else x
            for i, (dim, x) in enumerate(zip(in_dims, values, strict=True))
        ]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="vmap: .* has no batching rule")
            got = _with_gradients(vmap(function, in_dims), stacked)
        count = len(got) - len(values)
        expected = [np.stack(both) for both in zip(*alone, strict=True)]
        expected = [x if nr < count or in_dims[nr - count] == 0 else x.sum(0) for nr, x in enumerate(expected)]
        rtol, atol = call.tolerance.get("rtol", 1e-7), call.tolerance.get("atol", 1e-9)
        for nr, (x, y) in enumerate(zip(got, expected, strict=True)):
            what = f"result {nr}" if nr < count else f"the gradient of array argument {nr - count}"
            words = (
                f"under vmap with in_dims={in_dims} {what} is not that of each sample. Correct what register_vmap was "
                "given"
            )
            assert_close(x, y, rtol=rtol, atol=atol, equal_nan=True, msg=headed(words))


def _with_gradients(function: Callable[..., Any], arrays: list[ndarray]) -> list[ndarray]:
    """The results, and the gradient of their sum to each array if there is a derivative."""
    inputs = [from_numpy(x.copy()).requires_grad_() for x in arrays]
    results = function(*inputs)
    roots = [y for y in results if y.requires_grad]
    ones = [from_numpy(np.ones(y.shape, y.dtype)) for y in roots]
    try:
        grads = grad(roots, inputs, ones, allow_unused=True) if roots else ()
    except DerivativeNotImplementedError:
        grads = ()
    found = [y.numpy(force=True) for y in results]
    zeros = [np.zeros_like(x) for x in arrays]
    return [
        *found,
        *(z if g is None else g.numpy(force=True) for g, z in zip(grads or [None] * len(arrays), zeros, strict=True)),
    ]


def test_tags(call: Call) -> None:
    """The operator keeps what its tags promise."""

    def samples(make: Any) -> list[Sample]:
        args, kwargs = call.arguments(
            [x.view(Input) if wanted else x for x, wanted in zip(call.values, call.differentiated, strict=True)]
        )
        return [Sample(*args, **kwargs)]

    dtypes = [np.float64] if any(call.differentiated) and not call.operator.mutates else []
    check_tags(
        OpInfo(
            call.name, None, samples, dtypes=[np.float64], grad_dtypes=dtypes, call=call.op, because="opcheck has none"
        )
    )


TESTS: dict[str, Callable[[Call], None]] = {
    test.__name__: test
    for test in (
        test_schema, test_aliasing, test_autograd_registration, test_gradcheck, test_tangent, test_gradgradcheck,
        test_batched, test_tags,
    )
}  # fmt: skip
