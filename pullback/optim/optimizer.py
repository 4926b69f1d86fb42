"""The common part of all optimizers: groups of parameters, their states, and steps that write into Tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from itertools import count
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, program_run
from pullback.core.array_type import numbers_of
from pullback.core.errors import UnsupportedError, type_name
from pullback.core.modes import enable_grad, no_grad
from pullback.core.tensor import Tensor, ndarray
from pullback.core.version import bump
from pullback.explain.calls import shown
from pullback.func.rules.calls import is_recorded
from pullback.graph.journal import note_write
from pullback.optim import recorded
from pullback.optim.functional import FunctionalOptimizer, begun
from pullback.optim.options import check_options, checked, shown_dict
from pullback.optim.rules import Rule, State

Group = dict[str, Any]
Params = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
_BLOCK = 1 << 16  # elements, whose temporaries stay in the cache


class Optimizer:
    """Base of all optimizers: `param_groups`, `state`, `zero_grad`, `add_param_group`, `state_dict`.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts
        What is optimised. A dict has the Tensors of a group as "params", and options that hold for them alone.
    defaults : dict
        The options of groups that name none of their own.

    Attributes
    ----------
    param_groups : list of dicts
        Each with "params" and every option. Options may be changed between steps.
    state : dict
        By parameter: a dict with "step" and the arrays that the optimizer keeps.

    Raises
    ------
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.
    TypeError
        Something to be optimised is not a Tensor, or an option has an unknown name.

    Notes
    -----
    A subclass of one's own overrides `step`.

    Examples
    --------
    >>> class Signs(pb.optim.Optimizer):  # moves by the sign of the gradient
    ...     def step(self, closure=None):
    ...         with pb.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     p.sub_(p.grad.sign(), alpha=group["lr"])
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = Signs([x], {"lr": 0.5})
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([ 0.5, -1.5])
    """

    _numbers: tuple[str, ...] = ()  # what a rule keeps once for a parameter, and not for each of its entries

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("pullback.optim"):
            cls.__init__ = checked(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: Mapping[str, Any]) -> None:
        if not isinstance(params, Iterable):
            raise TypeError(
                f"{type(self).__name__}: params is a list of Tensors or of dicts, got {shown(params)}: write [tensor]"
            )
        if isinstance(params, Tensor | ndarray):
            raise TypeError(
                f"{type(self).__name__}: params is a list of Tensors or of dicts, not one {type_name(params)}: "
                "write [tensor]"
            )
        if isinstance(params, set | frozenset):
            raise TypeError(
                f"{type(self).__name__}: params is a list and not a set, whose order state_dict cannot keep"
            )
        if isinstance(params, Mapping):
            raise TypeError(
                f"{type(self).__name__}: params is a list of Tensors or of dicts, not one dict: write "
                '[{"params": [...], ...}] for a group, list(tensors.items()) for Tensors by name, '
                f"or {type(self).__name__}.functional() for trees of arrays"
            )
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.state: ByIdentity = ByIdentity()
        self._run = program_run.get()
        given: list[Any] = list(params)
        if not given:
            raise ValueError(f"{type(self).__name__}: there is no parameter to optimise")
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    def __repr__(self) -> str:
        lines = [
            f"  group {i}: {len(group['params'])} parameters"
            + "".join(f", {name}={value!r}" for name, value in group.items() if name != "params")
            for i, group in enumerate(self.param_groups)
        ]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Optimise further Tensors: a dict with "params" and options of their own.

        Parameters
        ----------
        param_group : dict
            "params", a Tensor or an iterable of these, and options.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            Something to be optimised is not a Tensor, or an option has an unknown name.
        ValueError
            A parameter is there already, or is not a leaf; an option is out of its range.

        Examples
        --------
        >>> x, y = pb.zeros(2, requires_grad=True), pb.zeros(3, requires_grad=True)
        >>> optimizer = pb.optim.SGD([x], lr=0.1)
        >>> optimizer.add_param_group({"params": [y], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        name = type(self).__name__
        if not isinstance(param_group, Mapping):
            raise TypeError(
                f'{name}: a group is a dict with its Tensors as "params", got {shown(param_group)}: '
                'write {"params": [...]}'
            )
        group = dict(param_group)
        if "params" not in group:
            raise TypeError(f'{name}: a group is a dict with its Tensors as "params"; this one has {", ".join(group)}')
        params = group["params"]
        if not isinstance(params, Iterable):
            raise TypeError(f'{name}: "params" of a group is a Tensor or a list of these, got {shown(params)}')
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and all(isinstance(p, tuple) for p in params):
            names, params = map(list, zip(*params, strict=True))
            group["param_names"] = names
        group["params"] = params
        present = {id(p) for other in self.param_groups for p in other["params"]}
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"{name}: a parameter is a Tensor and not a {type_name(p)}; "
                    f"for trees of arrays there is {name}.functional()"
                )
            if not p.is_leaf:
                raise ValueError(f"{name}: a parameter is a leaf; this one was computed, by {p.grad_fn.name()}")
            if p.requires_grad and type(p._array) is ndarray and not p._array.flags.writeable:
                raise ValueError(
                    f"{name}: a step writes into the memory of a parameter, and that of one of shape {p.shape} is "
                    "read-only: give a copy, pullback.tensor(array, requires_grad=True)"
                )
            if id(p) in present:
                raise ValueError(f"{name}: a parameter of shape {p.shape} is there twice")
            present.add(id(p))
        check_options(name, group, self.defaults)
        self.param_groups.append({**group, **{o: v for o, v in self.defaults.items() if o not in group}})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Let go of the gradients, or fill them with zeros.

        Parameters
        ----------
        set_to_none : bool, default True
            False fills the gradients with zeros instead.

        Returns
        -------
        None

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> optimizer = pb.optim.SGD([x], lr=0.1)
        >>> x.sum().backward()
        >>> optimizer.zero_grad()
        >>> x.grad is None
        True
        """
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p.grad is None:
                    p.grad = None
                else:
                    p.grad = p.grad.detach()
                    p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient, in place.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and the gradients anew. It is called first.

        Returns
        -------
        What `closure` returned, or None.

        Raises
        ------
        TypeError
            `closure` cannot be called: a loss is not given to `step`.
        ValueError, KeyError
            An option of a group was changed to what it cannot be, or taken away.
        NotImplementedError
            A subclass does not say how it moves a parameter.

        Examples
        --------
        >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = pb.optim.SGD([x], lr=0.25)
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (x * x).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        5.0
        >>> x.detach()
        tensor([ 0.5, -1. ])
        """
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(
                    f"{type(self).__name__}.step: closure is a function that computes the loss, got {shown(closure)}: "
                    "call backward() before step(), which takes no loss"
                )
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    try:
                        self._move(p, group)
                    except (TypeError, KeyError):
                        self._check_changed(group)
                        raise
        return loss

    def _check_changed(self, group: Group) -> None:
        """Say which option of a group was taken away, or given another kind of value, since it was checked."""
        name = f"{type(self).__name__}.step"
        for option, default in self.defaults.items():
            if option not in group:
                raise KeyError(f"{name}: a group has lost its option {option!r}; by default it is {default!r}")
        check_options(name, group, self.defaults)

    def state_dict(self) -> dict[str, Any]:
        """The states and options, parameters being numbered: built as PyTorch's, of numbers and arrays.

        The arrays are those of the optimizer, not copies.

        Returns
        -------
        dict
            Of "state", by the numbers of the parameters, and "param_groups".

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> optimizer = pb.optim.SGD([x], lr=0.1, momentum=0.9)
        >>> x.sum().backward()
        >>> optimizer.step()
        >>> optimizer.state_dict()["state"]
        {0: {'step': 1, 'momentum_buffer': array([1., 1.])}}
        """
        numbers = {id(p): n for n, p in enumerate(self._params())}
        next_number = count()
        return {
            "state": {numbers[id(p)]: recorded.plain(kept) for p, kept in self.state.items()},
            "param_groups": [
                {**group, "params": [next(next_number) for _ in group["params"]]} for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from where `state_dict()` was taken, in this or another optimizer of the same parameters.

        PyTorch's own dict may be given too, with its tensors turned into arrays.

        Parameters
        ----------
        state_dict : dict
            From `state_dict()`.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            It is not such a dict.
        ValueError
            The groups, or the shapes of the parameters, are others.

        Examples
        --------
        >>> x = pb.ones(2, requires_grad=True)
        >>> optimizer = pb.optim.SGD([x], lr=0.1, momentum=0.9)
        >>> x.sum().backward()
        >>> optimizer.step()
        >>> again = pb.optim.SGD([x], lr=0.5, momentum=0.9)
        >>> again.load_state_dict(optimizer.state_dict())
        >>> again.param_groups[0]["lr"], again.state[x]["momentum_buffer"]
        (0.1, array([1., 1.]))
        """
        name = type(self).__name__
        groups = _groups_of(state_dict, name)
        if [len(g["params"]) for g in groups] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                f"{name}.load_state_dict: there are groups of {[len(g['params']) for g in groups]} parameters, "
                f"and this optimizer has groups of {[len(g['params']) for g in self.param_groups]}"
            )
        numbers = [n for group in groups for n in group["params"]]
        states = ByIdentity()
        for n, p in zip(numbers, self._params(), strict=True):
            kept = state_dict["state"].get(n, {})
            if kept := {key: self._own(key, value, p) for key, value in kept.items() if value is not None}:
                states[p] = kept
        self.state = states
        for mine, theirs in zip(self.param_groups, groups, strict=True):
            mine.update({o: v for o, v in theirs.items() if (o in mine or o == "initial_lr") and o != "params"})

    @classmethod
    def functional(cls, **options: Any) -> FunctionalOptimizer:
        """The same optimizer for parameters in a tree of arrays, which stay as they are: new ones are returned.

        Parameters
        ----------
        **options
            Those of the class.

        Returns
        -------
        FunctionalOptimizer

        Raises
        ------
        TypeError
            An option has an unknown name.
        ValueError
            An option is out of its range.
        UnsupportedError
            The optimizer looks at all parameters together, as LBFGS does.

        Examples
        --------
        >>> optimizer = pb.optim.SGD.functional(lr=0.5)
        >>> params, state = optimizer.update({"w": 3.0}, {"w": 2.0}, optimizer.init({"w": 3.0}))
        >>> params
        {'w': 2.0}
        """
        raise UnsupportedError(
            f"{cls.__name__}.functional: {cls.__name__} has no rule for one array at a time. Step it on "
            'Tensors, or write pullback.optimize.minimize(f, tree, method="L-BFGS-B").'
        )

    def _own(self, key: str, value: Any, p: Tensor) -> Any:
        """A copy of an entry of a state that is loaded."""
        if key == "step":
            return int(np.asarray(numbers_of(value)))
        values = np.array(numbers_of(value))
        if key in self._numbers:
            return float(values)
        if np.iscomplexobj(values):
            values = np.stack([values.real, values.imag])
        if values.shape[values.ndim - p.ndim :] != p.shape:
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: {key} has shape {values.shape}, its parameter {p.shape}"
            )
        return values

    def _params(self) -> Iterator[Tensor]:
        return (p for group in self.param_groups for p in group["params"])

    @staticmethod
    def rule(p: Any, g: Any, state: State, options: Group, t: int) -> Any:
        """New parameters, with the new state stored in `state`; see `pullback.optim.rules`.

        Parameters
        ----------
        p, g : array
            The parameter and its gradient.
        state : dict
            The arrays that are kept for it; replaced here by new ones.
        options : dict
        t : int
            The number of the step, from 1 on.

        Returns
        -------
        array
            The new parameter.

        Raises
        ------
        NotImplementedError
            The optimizer looks at all parameters together, as LBFGS does.

        Examples
        --------
        >>> options = pb.optim.SGD([pb.ones(1, requires_grad=True)], lr=0.5).defaults
        >>> pb.optim.SGD.rule(3.0, 2.0, {}, options, 1)
        2.0
        """
        raise NotImplementedError("rule: this optimizer has none; its step moves all parameters together")

    def _kept(self, options: Group) -> Mapping[str, float]:
        """The arrays that are kept for a parameter, and what they are filled with at first."""
        name = type(self).__name__
        raise NotImplementedError(
            f"{name}.step: {name} does not say how it moves a parameter: write step(self, closure=None) in it, which "
            'goes through self.param_groups and writes into each of group["params"] under pullback.no_grad()'
        )

    def _state_of(self, p: Tensor, values: ndarray, options: Group) -> State:
        """The state of a parameter, with every array that the options of now need: they may have changed."""
        kept, state = self._kept(options), self.state.setdefault(p, {"step": 0})
        missing = {key: value for key, value in kept.items() if key not in state}
        if missing and len(missing) == len(kept):  # nothing was kept so far
            if others := state.keys() - {"step"}:
                raise ValueError(
                    f"{type(self).__name__}.step: the state of a parameter has {', '.join(sorted(others))} and not "
                    f"{', '.join(kept)}: it was loaded from another optimizer"
                )
            state["step"] = 0
        state.update(begun(values, missing, self._numbers))
        return state

    def _move(self, p: Tensor, options: Group) -> None:
        name, gradient = type(self).__name__, p.grad
        plain = type(p._array) is ndarray and type(gradient._array) is ndarray  # type: ignore[union-attr]
        if not plain and (is_recorded(p) or is_recorded(gradient)):
            state = self._state_of(p, np.zeros(p.shape, p.dtype), options)
            with no_grad():
                recorded.step(name, p, gradient, state, options, type(self).rule, self._run is program_run.get())
            return
        values, grad = memory_of(p, name), memory_of(gradient, name)
        if np.iscomplexobj(values):  # each part is a parameter, as in PyTorch
            values, grad = (np.stack([x.real, x.imag]) for x in (values, grad))
        state = self._state_of(p, values, options)
        if isinstance(state.get("step"), Tensor):
            state.update(recorded.plain(state))
        t = state["step"] = int(state.get("step", 1)) + 1
        with writing(p, f"{name}.step") as target:
            if np.iscomplexobj(target):
                new = type(self).rule(values, grad, state, options, t)
                target[...] = new[0] + 1j * new[1]
            else:
                _by_blocks(type(self).rule, target, grad, state, options, t)


def _groups_of(state_dict: Any, name: str) -> list[Any]:
    """The groups of what `state_dict()` gave, which is refused where it is something else."""
    try:
        groups = list(state_dict["param_groups"])
        whole = isinstance(state_dict["state"], Mapping) and all("params" in group for group in groups)
    except (TypeError, KeyError, LookupError):
        whole = False
    if not whole:
        raise TypeError(
            f'{name}.load_state_dict: give what {name}.state_dict() returned, a dict of "state" and "param_groups", '
            f"not {shown_dict(state_dict)}"
        )
    return groups


class ByIdentity(MutableMapping[Tensor, State]):
    """A dict whose keys are tensors, of which Arrays have no hash."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[Tensor, State]] = {}

    def __getitem__(self, p: Tensor) -> State:
        return self._items[id(p)][1]

    def __setitem__(self, p: Tensor, state: State) -> None:
        self._items[id(p)] = p, state

    def __delitem__(self, p: Tensor) -> None:
        del self._items[id(p)]

    def __iter__(self) -> Iterator[Tensor]:
        return (p for p, _ in self._items.values())

    def __len__(self) -> int:
        return len(self._items)


class writing:
    """The memory of a tensor, to be written into under the name of who writes."""

    def __init__(self, p: Tensor, culprit: str) -> None:
        self.p, self.culprit = p, culprit

    def __enter__(self) -> ndarray:
        if type(self.p) in ARRAYS:  # nodes that saved it get what was in it before
            note_write(self.p)
        return memory_of(self.p, self.culprit)

    def __exit__(self, *error: object) -> None:
        bump(self.p, self.culprit)


def memory_of(p: Any, name: str) -> ndarray:
    """The numbers of a tensor that is neither a dual number nor a batch."""
    values = p._array if isinstance(p, Tensor) else p
    if type(values) is not ndarray:
        raise UnsupportedError(
            f"{name}: a parameter or its gradient carries derivatives of a transform, or a batch: "
            f"it moves ndarrays alone. Inside of transforms there is {name.partition('.')[0]}.functional()"
        )
    return values


def _by_blocks(rule: Rule, p: ndarray, g: ndarray, state: State, options: Group, t: int) -> None:
    """Apply a rule in place. What is large goes through the cache block by block: a rule makes some ten arrays."""
    kept = [key for key in state if type(state[key]) is ndarray]
    numbers = {key: value for key, value in state.items() if key not in kept and key != "step"}
    arrays = [p, g, *(state[key] for key in kept)]
    if p.size < 2 * _BLOCK or not all(x.flags.c_contiguous for x in arrays):
        p[...] = rule(p, g, state, options, t)
        return
    flat = [x.reshape(-1) for x in arrays]
    for start in range(0, p.size, _BLOCK):
        q, h, *rest = (x[start : start + _BLOCK] for x in flat)
        part = {**numbers, **dict(zip(kept, rest, strict=True))}
        q[...] = rule(q, h, part, options, t)
        for key, old in zip(kept, rest, strict=True):
            old[...] = part[key]
    state.update({key: part[key] for key in numbers})
