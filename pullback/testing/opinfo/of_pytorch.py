"""The fields of PyTorch's OpInfo that ours does not have: what to write instead, or why there is none."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

# PyTorch's field -> what says the same here.
_OURS: Final = MappingProxyType({
    "ref": "reference=, which takes the arguments of a sample",
    "op": "call=",
    "variant_test_name": "variant=",
    "sample_inputs_func": "samples=, a function of a Make that gives Samples",
    "reference_inputs_func": "reference_inputs=, a function of a Make that gives Samples",
    "error_inputs_func": "error_inputs=, a function of a Make that gives Raises, or errors=[Raises(...)]",
    "supports_autograd": "order=0 where there is no derivative",
    "supports_gradgrad": "order=1 where there is no second derivative",
    "supports_fwgrad_bwgrad": "gradcheck={'check_fwd_over_rev': True}",
    "supports_out": "out=",
    "inplace_variant": "inplace=True or False",
    "supports_inplace_autograd": "inplace=False where there is no in-place form to differentiate",
    "gradcheck_wrapper": "observe=, which takes what the operator returned",
    "gradcheck_nondet_tol": "gradcheck={'nondet_tol': ...}",
    "gradcheck_fast_mode": "gradcheck={'fast_mode': True}",
    "has_nondeterministic_output": "random=True",
    "check_inplace_batched_forward_grad": "check_batched_forward_grad=, with call= the in-place form on a clone",
})  # fmt: skip

# PyTorch's field, or how such fields begin -> why there is nothing to write.
_ABSENT: Final = MappingProxyType({
    "promotes_int_to_float": "The operator's tag 'floating' says it, and the check 'tags' tries it.",
    "is_factory_function": "The operator's tag 'creation' says it, and the check 'tags' tries it.",
    "method_variant": "A method is the function itself: there is nothing to compare.",
    "operator_variant": "Python's operators have tests of their own; for one, write call=operator.add.",
    "inplace_operator_variant": "Python's operators have tests of their own; for one, write call=operator.add.",
    "supports_varargs": "Write a Sample for each form of the call.",
    "test_conjugated_samples": "A conjugate is an array like others here: there are no lazy ones. Leave it out.",
    "test_neg_view": "A negative is an array like others here: there are no lazy ones. Leave it out.",
    "dtypesIf": "Operators run on the CPU: write dtypes=.",
    "backward_dtypesIf": "Operators run on the CPU: write backward_dtypes=.",
    "sample_inputs_sparse": "There are no sparse Tensors: sparse matrices are SciPy's. Leave it out.",
    "error_inputs_sparse": "There are no sparse Tensors: sparse matrices are SciPy's. Leave it out.",
    "supports_sparse": "There are no sparse Tensors: sparse matrices are SciPy's. Leave it out.",
    "supports_njt": "There are no nested Tensors. Leave it out.",
    "supports_cow_input": "Arrays are not copied on write. Leave it out.",
    "allow_cow_input": "Arrays are not copied on write. Leave it out.",
    "skip_cow_input": "Arrays are not copied on write. Leave it out.",
    "supports_scripting": "There is no TorchScript. Leave it out.",
    "supports_tracing": "There is no TorchScript. Leave it out.",
    "assert_": "There is no TorchScript. Leave it out.",
    "autodiff_": "There is no TorchScript. Leave it out.",
    "aten_": "An operator has one name. Leave it out.",
    "decomp_aten_name": "An operator has one name. Leave it out.",
    "supports_expanded_weight": "Gradients of each sample are vmap(grad(f)). Leave it out.",
    "skip_correctness_check_compile": "There is nothing that is compiled to compare with. Leave it out.",
})  # fmt: skip


def instead_of_field(name: str) -> str | None:
    """Return what to write instead of a field of PyTorch's; None for a name that is none of those."""
    if name in _OURS:
        return f"Write {_OURS[name]}."
    return next((why for start, why in _ABSENT.items() if name.startswith(start)), None)
