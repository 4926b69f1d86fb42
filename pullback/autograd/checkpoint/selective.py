"""Selective checkpointing: a policy says which operators' results are kept, the others are computed again."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from pullback.autograd.checkpoint.frame import PartOfCheckpoint
from pullback.autograd.checkpoint.randomness import States, generator_states, restore
from pullback.core.array_type import is_array
from pullback.core.errors import GradientError, with_article
from pullback.core.modes import Modes
from pullback.core.tensor import Tensor
from pullback.core.version import Counter, counter_of
from pullback.dispatch.operator import OPERATORS
from pullback.graph.view import shares_memory

WHY = (
    "The function ran other operators when it was recomputed than at first: nothing in it may depend on what has "
    "changed since."
)


class CheckpointPolicy(enum.Enum):
    """Says what to do with the result of an operator: keep it for the recomputation, or compute it again.

    `MUST_...` and `PREFER_...` do the same here; they tell a compiler whether it may decide otherwise.

    Examples
    --------
    >>> from pullback.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE.name
    'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """The context that a policy is given along with the operator and its arguments.

    Parameters
    ----------
    is_recompute : bool
    op_output : Tensor or tuple of Tensor, optional

    Attributes
    ----------
    op_output : Tensor or tuple of Tensor
        What the operator returned.
    is_recompute : bool
        Always False: policies are asked in forward alone.

    Examples
    --------
    >>> from pullback.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
    >>> def policy(ctx, op, *args):  # ctx is a SelectiveCheckpointContext
    ...     small = ctx.op_output.numel() < 100
    ...     return CheckpointPolicy.MUST_SAVE if small else CheckpointPolicy.PREFER_RECOMPUTE
    >>> x = pb.ones(3, requires_grad=True)
    >>> contexts = lambda: create_selective_checkpoint_contexts(policy)
    >>> checkpoint(lambda x: x.exp().sum(), x, context_fn=contexts).backward()
    >>> x.grad.round(decimals=4)
    tensor([2.7183, 2.7183, 2.7183])
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


Policy: TypeAlias = Callable[..., CheckpointPolicy | bool]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Two context managers for `checkpoint(context_fn=...)`: results that the policy chooses are not computed again.

    Parameters
    ----------
    policy_fn_or_list : callable or list
        `policy_fn(ctx, op, *args)` takes a SelectiveCheckpointContext, the name of the operator ("matmul", "max.dim"
        for an overload) and its arguments by position, and returns a CheckpointPolicy. It is asked once for each
        primitive operator that computes something: not for views, in-place operators and custom Functions, which always
        run again. A list of names and functions (`["matmul", pb.exp]`) stands for the policy that saves their results.
    allow_cache_entry_mutation : bool, default False
        Do not raise where a kept result was modified in place.

    Returns
    -------
    tuple of two context managers
        Around the function, and around its recomputation.

    Raises
    ------
    TypeError, ValueError
        Not a callable or list, or something in the list is not a primitive operator. In forward: the policy returned
        something else than a CheckpointPolicy.
    RuntimeError
        In backward: a kept result was modified in place, or the recomputation runs other operators.

    Examples
    --------
    >>> from functools import partial
    >>> from pullback.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = pb.ones(2, 2, requires_grad=True)
    >>> keep_products = partial(create_selective_checkpoint_contexts, [pb.matmul])
    >>> y = checkpoint(lambda x: (x @ x).sigmoid().exp(), x, context_fn=keep_products)
    >>> y.sum().backward()  # runs sigmoid and exp again, and no matmul
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    elif isinstance(policy_fn_or_list, (list, tuple, set, frozenset)):
        policy = _saving({_primitive(op) for op in policy_fn_or_list})
    else:
        raise TypeError(
            "create_selective_checkpoint_contexts takes a policy function or a list of operators, got "
            f"{type(policy_fn_or_list).__name__}."
        )
    results: _Results = defaultdict(list)
    return _Choosing(policy, results), _Replaying(results, allow_cache_entry_mutation)


def _primitive(op: Any) -> str:
    """The name of an operator given by name or as its function."""
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    if name not in OPERATORS and not any(k.partition(".")[0] == name for k in OPERATORS):
        raise ValueError(
            f"{op!r} is not a primitive operator, so its result cannot be kept. A composite one is seen as the "
            "operators that it calls: name these (a policy function that prints its `op` shows them)."
        )
    return name


def _saving(names: set[str]) -> Policy:
    def policy(ctx: SelectiveCheckpointContext, op: str, *args: Any) -> CheckpointPolicy:
        chosen = op in names or op.partition(".")[0] in names
        return CheckpointPolicy.MUST_SAVE if chosen else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


class _Result:
    """A cached result of a kernel, with the versions of the tensors made of it and the random numbers drawn since."""

    __slots__ = ("drawn", "raw", "versions")

    def __init__(self, raw: Any, tensors: Sequence[Tensor], drawn: States) -> None:
        self.raw, self.drawn = raw, drawn
        self.versions: list[tuple[Counter, int]] = [(counter := counter_of(t), counter.n) for t in tensors]


# For each operator its calls in order; None where the result is to be computed again.
_Results: TypeAlias = defaultdict[str, list[_Result | None]]


def _is_nested(raws: Sequence[Any]) -> bool:
    """True if the kernel runs on Tensors of a lower level, where the call is seen again."""
    return any(isinstance(x, Tensor) for raw in raws for x in (raw if isinstance(raw, (list, tuple)) else (raw,)))


class _Choosing(PartOfCheckpoint):
    """Around the function: keeps the results that the policy chooses."""

    watches_operators = watches_kernels = True

    def __init__(self, policy: Policy, results: _Results) -> None:
        self.policy, self.results = policy, results
        self.computed: tuple[Any, States] | None = None  # by the operator that runs now

    def run_kernel(self, name: str, raws: Sequence[Any], run: Callable[[], Any]) -> Any:
        if _is_nested(raws):
            return run()
        before = generator_states(raws)
        result = run()
        self.results[name].append(None)
        arrays = [raw for raw in raws if is_array(raw)]
        if not any(shares_memory(r, a) for r in _several(result) for a in arrays):  # a view is made again in no time
            drawn = [now for now, was in zip(generator_states(raws), before, strict=True) if now[1] != was[1]]
            self.computed = result, drawn
        return result

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        self._take()
        out = run()
        computed = self._take()  # None after an operator of a lower level, which was seen itself
        tensors = [x for x in _several(out) if isinstance(x, Tensor)]
        if computed is not None and tensors and self._keeps(name, args, out):
            self.results[name][-1] = _Result(computed[0], tensors, computed[1])
        return out

    def _take(self) -> tuple[Any, States] | None:
        computed, self.computed = self.computed, None
        return computed

    def _keeps(self, name: str, args: Sequence[Any], out: Any) -> bool:
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), name, *args)
        if isinstance(policy, bool):
            return policy
        if not isinstance(policy, CheckpointPolicy):
            raise TypeError(
                f"the policy function returned {with_article(policy)} for {name}; expected a CheckpointPolicy, for "
                "example CheckpointPolicy.PREFER_RECOMPUTE."
            )
        return policy in {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE}


class _Replaying(PartOfCheckpoint):
    """Around the recomputation: gives the kept results instead of computing them."""

    watches_kernels = True

    def __init__(self, results: _Results, allow_mutation: bool) -> None:
        self.results, self.allow_mutation = results, allow_mutation
        self.counts: defaultdict[str, int] = defaultdict(int)

    def _changed(self, modes: Modes) -> Modes:
        # Each recomputation counts for itself; another thread may be at one too.
        return modes.with_observer(_Replaying(self.results, self.allow_mutation))

    def kept(self) -> Iterable[Any]:
        return (x for results in self.results.values() for r in results if r is not None for x in _several(r.raw))

    def run_kernel(self, name: str, raws: Sequence[Any], run: Callable[[], Any]) -> Any:
        if _is_nested(raws):
            return run()
        nr = self.counts[name]
        self.counts[name] += 1
        if nr >= len(self.results[name]):
            raise GradientError(
                f"the recomputation calls {name} more often than the forward, which called it {nr} times. {WHY}"
            )
        result = self.results[name][nr]
        if result is None:
            return run()
        for counter, version in result.versions:
            if counter.n != version and not self.allow_mutation:
                raise GradientError(
                    f"a tensor cached during selective activation checkpoint has been mutated: the result of {name}, "
                    f"by {counter.culprit}. Use the out-of-place form, recompute {name}, or pass "
                    "allow_cache_entry_mutation=True if the values do not matter."
                )
        restore(result.drawn)
        return result.raw


def _several(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (list, tuple)) else (result,)
