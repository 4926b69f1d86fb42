"""PyTorch's functions inside our graph, and ours inside PyTorch's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.errors import GradientError
from pullback.core.extras import need
from pullback.core.pytree import flatten
from pullback.core.tensor import ndarray
from pullback.exchange.guests import as_guest, check_callable
from pullback.exchange.hosts import derivative, host, results

Function = Callable[..., Any]


def torch_function(function: Function) -> Function:
    """A function of PyTorch's tensors as one of ndarrays, differentiable here by PyTorch's own derivatives.

    Parameters
    ----------
    function : callable
        Takes and returns PyTorch's tensors, trees of these (lists, tuples, dicts) and anything else. Ndarrays and
        NumPy's numbers are handed to it as tensors on the CPU, copied; Python's numbers as they are.

    Returns
    -------
    callable
        Takes the same arguments, with ndarrays or our tensors for PyTorch's. Every transform takes it: its vjp, its jvp
        and what vmap makes of it are PyTorch's, and so are theirs. Parameters that the function holds are constants
        here: give them as arguments (`torch.func.functional_call`).

    Raises
    ------
    MissingExtraError
        PyTorch is not installed.
    RuntimeError
        In backward: the result does not depend on the arguments for PyTorch, which lost it by `detach()` or NumPy.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> softplus = pb.torch_function(torch.nn.functional.softplus)  # doctest: +SKIP
    >>> pb.func.grad(lambda x: softplus(x).sum())(np.array([0.0, 1.0]))  # doctest: +SKIP
    array([0.5       , 0.73105858])
    """
    check_callable("torch_function", function)
    torch = need("torch", "torch_function", "torch")
    library, name = _Torch(torch), getattr(function, "__name__", type(function).__name__)

    def called(*args: object, **kwargs: object) -> object:
        return as_guest(library, _Repeatable(torch, function), args, kwargs, name)

    called.__name__ = called.__qualname__ = name
    return called


class _Repeatable:
    """A function that draws the same random numbers each time: its derivatives belong to the value that was given."""

    def __init__(self, torch: Any, function: Function) -> None:
        self.torch, self.function = torch, function
        self.known = False
        self.before: list[Any] | None = None

    def __call__(self, *args: object, **kwargs: object) -> object:
        if not self.known:
            before = self._state()
            found = self.function(*args, **kwargs)
            drawn = any(not self.torch.equal(a, b) for a, b in zip(before, self._state(), strict=False))
            self.known, self.before = True, before if drawn else None
            return found
        if self.before is None:
            return self.function(*args, **kwargs)
        after = self._state()
        self._set(self.before)
        try:
            return self.function(*args, **kwargs)
        finally:
            self._set(after)

    def _state(self) -> list[Any]:
        """Those of the CPU's generator and, if CUDA is in use, of each of its devices."""
        cuda = self.torch.cuda
        return [self.torch.get_rng_state(), *(cuda.get_rng_state_all() if cuda.is_initialized() else ())]

    def _set(self, states: list[Any]) -> None:
        self.torch.set_rng_state(states[0])
        if states[1:]:
            self.torch.cuda.set_rng_state_all(states[1:])


def for_torch(function: Function) -> Function:
    """A function of ndarrays as one of PyTorch's tensors, differentiable there by our derivatives.

    Parameters
    ----------
    function : callable
        Takes ndarrays, trees of these and anything else, and returns an ndarray, a number or a tree: what `func.vjp`
        can differentiate, plain NumPy code for one.

    Returns
    -------
    callable
        Takes the same arguments, with PyTorch's tensors on the CPU for ndarrays. It takes part in PyTorch's graph by a
        `torch.autograd.Function`, whose backward is such a function again: to any order.

    Raises
    ------
    TypeError
        `function` cannot be called.
    MissingExtraError
        PyTorch is not installed.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> f = pb.for_torch(lambda x: np.sum(np.sin(x)))  # doctest: +SKIP
    >>> x = torch.zeros(2, requires_grad=True)  # doctest: +SKIP
    >>> torch.autograd.grad(f(x), x)  # doctest: +SKIP
    (tensor([1., 1.]),)
    """
    check_callable("for_torch", function)
    torch = need("torch", "for_torch", "torch")
    library = _Torch(torch)
    return host(function, lambda x: isinstance(x, torch.Tensor), functools.partial(_recorded, torch, library))


def _recorded(torch: Any, library: _Torch, function: Function, tensors: list[Any]) -> tuple[list[Any], Any]:
    """The leaves of what `function` gives for the tensors as nodes of PyTorch's graph, and their structure."""
    forms = []

    class Ours(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*tensors: object) -> tuple[object, ...]:
            given = [np.array(library.leave(x)) for x in tensors]  # which the function may write into
            leaves, form = results(function(*given))
            forms.append(form)
            return tuple(map(library.enter, leaves))

        @staticmethod
        def setup_context(ctx: Any, inputs: Sequence[object], output: Sequence[Any]) -> None:
            ctx.save_for_backward(*inputs)
            ctx.mark_non_differentiable(*[y for y in output if not _floating(y)])
            ctx.differentiable = [_floating(y) for y in output]

        @staticmethod
        def backward(ctx: Any, *cotangents: object) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            moving = [i for i, x in enumerate(tensors) if _floating(x)]
            given = [*tensors, *[g for g, does in zip(cotangents, ctx.differentiable, strict=True) if does]]
            gradients = _recorded(torch, library, derivative(function, moving, len(tensors)), given)[0]
            found = dict(zip(moving, gradients, strict=True))
            return tuple([found.get(i) for i in range(len(tensors))])

    return list(Ours.apply(*tensors)), forms[-1]


def _floating(x: Any) -> bool:
    return bool(x.is_floating_point() or x.is_complex())


class _Torch:
    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def enter(self, x: object) -> object:
        return self.torch.from_numpy(np.array(x)) if issubclass(type(x), (ndarray, np.generic)) else x

    def leave(self, x: Any) -> object:
        return x.detach().resolve_conj().cpu().numpy() if isinstance(x, self.torch.Tensor) else x

    def plain(self, f: Function) -> Function:
        return self.torch.no_grad()(f)  # type: ignore[no-any-return]

    def vjp(self, f: Function) -> Function:
        torch = self.torch

        def outputs_of(*xs: Any) -> tuple[Any, ...]:
            copies = [x.clone() for x in xs]  # which the function may write into
            return tuple([y for y in flatten(f(*copies))[0] if isinstance(y, torch.Tensor) and _floating(y)])

        @torch.enable_grad()  # type: ignore[untyped-decorator]
        def vjp(cotangents: Sequence[Any], *xs: Any) -> object:
            try:
                xs = tuple([x if x.requires_grad else x.detach().requires_grad_() for x in xs])
            except RuntimeError:  # inside of a torch.func.jvp, where a tensor takes no such mark
                return torch.func.vjp(outputs_of, *xs)[1](tuple(cotangents))
            outputs = outputs_of(*xs)
            if not any(y.requires_grad for y in outputs):
                raise GradientError(
                    "torch_function: for PyTorch the result does not depend on the arguments (detach(), no_grad() or a "
                    "way through NumPy inside the function?), so there is no gradient."
                )
            pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if y.requires_grad]
            ys, gs = zip(*pairs, strict=True)
            found = torch.autograd.grad(ys, xs, gs, create_graph=True, allow_unused=True)
            return [torch.zeros_like(x) if g is None else g for x, g in zip(xs, found, strict=True)]

        return vjp  # type: ignore[no-any-return]

    def jvp(self, f: Function) -> Function:
        return lambda tangents, *xs: self.torch.func.jvp(f, xs, tangents)[1]

    def vmap(self, f: Function, in_dims: Sequence[int | None]) -> Function:
        return self.torch.func.vmap(f, in_dims)  # type: ignore[no-any-return]
