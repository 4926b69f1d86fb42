"""Problem: what gradcheck checks: a function, the inputs that require grad, and their memory, which it perturbs."""

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError, OutputsChangeError, OutputsDetachError
from pullback.core.errors import DetachingError
from pullback.core.tensor import Tensor

__all__ = ["Problem", "as_tuple", "jacobian_dtype", "real_coordinates", "values_of"]


@dataclasses.dataclass
class Problem:
    """A function at a point, with the tolerances of the check.

    The inputs are perturbed in place, in their own memory and past their version counters: a function that ignores its
    arguments and reads the same tensors elsewhere (the parameters of a model) is checked as well.
    """

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    input_names: Sequence[str] = ()
    output_names: Sequence[str] = ()
    layout: list[str] = dataclasses.field(init=False, default_factory=list)  # of every output, at the point
    chosen: list[int] = dataclasses.field(init=False, default_factory=list)  # positions of differentiable outputs

    def __post_init__(self) -> None:
        self.wrt = [i for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]
        if not self.wrt:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True. "
                f"Got {', '.join(map(_describe, self.inputs)) or 'no inputs'}. Create it with requires_grad=True."
            )
        self.arrays = [_memory_of(i, self.inputs[i]) for i in self.wrt]
        _refuse_shared_memory(self.wrt, self.inputs, self.arrays)
        for i, array in zip(self.wrt, self.arrays, strict=True):
            _warn_about_precision(i, array.dtype)

    @property
    def checked(self) -> tuple[Tensor, ...]:
        """The inputs that require grad."""
        return tuple(self.inputs[i] for i in self.wrt)

    def run(self) -> list[Tensor]:
        """The differentiable outputs at the point, with their graph; remembers which outputs these are.

        Where no output requires grad, all floating and complex outputs are returned, and `chosen` stays empty.
        """
        try:
            outputs = self._called()
        except DetachingError as error:
            diagnosis = Diagnosis(
                "missing_gradient",
                f"func loses the gradient of an input: {error}",
                "Keep Tensors on the way from the inputs to the outputs; detach what is a constant outside of func.",
            )
            raise OutputsDetachError(
                f"Numerical gradient for function expected to be zero: gradcheck: {diagnosis.text}\n"
                f"  {diagnosis.advice}",
                diagnosis=diagnosis,
            ) from error
        nested = [o for o in outputs if isinstance(o, (list, tuple, dict))]
        if nested or (outputs and not any(isinstance(o, Tensor) for o in outputs)):
            kinds = ", ".join(_describe(o) for o in nested or outputs)
            raise TypeError(f"gradcheck: func must return a Tensor or a tuple of Tensors, but it returned {kinds}.")
        self.layout = [_layout(o) for o in outputs]
        self.chosen = [k for k, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
        return [outputs[k] for k in self.positions(outputs)]

    def positions(self, outputs: tuple[Any, ...]) -> list[int]:
        """Which outputs are looked at: those that require grad, or else all that could."""
        if self.chosen:
            return self.chosen
        return [k for k, o in enumerate(outputs) if isinstance(o, Tensor) and values_of(o).dtype.kind in "fc"]

    def outputs(self, inputs: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """The outputs of func for the present inputs (or for other arguments), laid out as at the point."""
        outputs = self._called(inputs)
        found = [_layout(o) for o in outputs]
        if found != self.layout:
            raise self._changed(found)
        return outputs

    def _called(self, inputs: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Call func; refuse it if it writes into the inputs, and restore them."""
        before = [array.copy() for array in self.arrays]
        outputs = as_tuple(self.func(*(self.inputs if inputs is None else inputs)))
        for number, array, old in zip(self.wrt, self.arrays, before, strict=True):
            if array.tobytes() != old.tobytes():
                for a, o in zip(self.arrays, before, strict=True):
                    a[...] = o
                raise GradcheckError(
                    f"gradcheck: func modifies {self.name_input(number)} in place, so differences have no point to "
                    "start from. Work on a clone() inside the function.",
                    input_index=number,
                    diagnosis=Diagnosis(
                        "modified_input",
                        "the function writes into its input.",
                        "Work on x.clone() inside the function.",
                    ),
                )
        return outputs

    def _changed(self, found: list[str]) -> GradcheckError:
        """The error for outputs that are not laid out as those at the point itself."""
        number, text = None, f"func returns {len(self.layout)} outputs at the inputs, and {len(found)}"
        if len(found) == len(self.layout):
            number = next(k for k, (a, b) in enumerate(zip(self.layout, found, strict=True)) if a != b)
            text = f"{self.name_output(number)} is {self.layout[number]} at the inputs, and {found[number]}"
        text += f" in another call, with an element moved by eps={self.eps:g} or none."
        shapes = {tuple(layout.partition(" of ")[2] for layout in layouts) for layouts in (self.layout, found)}
        what = "dtype" if len(shapes) == 1 else "shape"
        advice = (
            "A shape, dtype or number of outputs that depends on the values (a branch, a mask, unique) has no "
            "derivative where it changes: move the inputs away from there, or remove the state that changes it."
        )
        diagnosis = Diagnosis("changing_outputs", text, advice)
        return OutputsChangeError(
            f"gradcheck: func must return outputs with the same {what} when inputs are perturbed: {text} {advice}",
            output_index=number,
            diagnosis=diagnosis,
        )

    def evaluate(self) -> list[np.ndarray]:
        """Values of the same outputs where the inputs' memory is now, as real vectors that share no memory with it."""
        outputs = self.outputs()
        return [real_coordinates(outputs[k].detach().numpy()) for k in self.positions(outputs)]

    def name_input(self, number: int) -> str:
        """Words for the input of that position."""
        extra = self.input_names[number] if self.input_names else ""
        return f"input {number}" + (f" ({extra})" if extra else "")

    def name_output(self, number: int) -> str:
        """Words for the output of that position."""
        extra = self.output_names[number] if self.output_names else ""
        return f"output {number}" + (f" ({extra})" if extra else "")


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A tuple of the elements of a list or tuple; of anything else, a tuple of it alone."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def real_coordinates(array: np.ndarray) -> np.ndarray:
    """The numbers of an array as one float64 vector; of a complex one all real parts, then all imaginary parts."""
    flat = np.asarray(array).ravel()
    if flat.dtype.kind == "c":
        flat = np.concatenate([flat.real, flat.imag])
    real: np.ndarray = flat.astype(np.float64)
    return real


def values_of(tensor: Tensor) -> np.ndarray:
    """The ndarray under a tensor, sharing its memory."""
    array: np.ndarray = tensor.detach().numpy()
    return array


def jacobian_dtype(array: np.ndarray) -> type:
    """The dtype of a Jacobian with respect to this input."""
    return np.complex128 if array.dtype.kind == "c" else np.float64


def _layout(output: Any) -> str:
    """Shape and dtype of an output, in words; the type of what is no Tensor."""
    if isinstance(output, Tensor):
        return f"{output.dtype} of shape {tuple(output.shape)}"
    return f"of type {type(output).__name__}"


def _memory_of(number: int, tensor: Tensor) -> np.ndarray:
    """The writeable ndarray under an input, refused where perturbing one element would move others."""
    array = values_of(tensor)
    if _overlaps_itself(array):
        raise RuntimeError(
            f"gradcheck: elements of input {number} share memory (shape {array.shape}, strides {array.strides}), so "
            "none of them can be perturbed alone. Pass a copy: "
            "x = x.detach().clone().requires_grad_(), and expand inside the function."
        )
    if not array.flags.writeable:
        raise RuntimeError(
            f"gradcheck: the memory of input {number} is read-only, and differences need to perturb it. "
            "Pass a copy: x.detach().clone().requires_grad_()."
        )
    if array.size and not np.may_share_memory(array, values_of(tensor)):
        raise RuntimeError(f"gradcheck: input {number} gives no access to its memory; pass a tensor over an ndarray.")
    return array


def _overlaps_itself(array: np.ndarray) -> bool:
    """True if two indices of the array mean the same memory."""
    extents = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    if array.size == 0 or not extents:
        return False
    reach = array.itemsize
    for stride, size in extents:  # enough in the usual case: each stride steps over all that lies below it
        if stride < reach:
            break
        reach += stride * (size - 1)
    else:
        return False
    offsets = np.zeros(1, dtype=np.int64)
    for stride, size in extents:
        offsets = (offsets[:, None] + stride * np.arange(size)).ravel()
    return bool((np.diff(np.sort(offsets)) < array.itemsize).any())


def _refuse_shared_memory(wrt: list[int], inputs: tuple[Any, ...], arrays: list[np.ndarray]) -> None:
    """Two different inputs over one memory cannot be told apart by perturbing it."""
    for a in range(len(wrt)):
        for b in range(a):
            if inputs[wrt[a]] is not inputs[wrt[b]] and _share(arrays[a], arrays[b]):
                raise RuntimeError(
                    f"gradcheck: inputs {wrt[b]} and {wrt[a]} share memory, so neither can be perturbed alone. "
                    "Pass clones, or build one from the other inside the function."
                )


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays have memory in common; where that is too hard to tell, no."""
    try:
        return np.may_share_memory(a, b) and np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


def _warn_about_precision(number: int, dtype: np.dtype) -> None:
    """Finite differences need double precision."""
    if np.finfo(dtype).eps > np.finfo(np.float64).eps:
        warnings.warn(
            f"gradcheck: input {number} has dtype {dtype}; the default eps and tolerances suit float64 and "
            "complex128, and this check will likely fail. Use a double precision input.",
            stacklevel=5,
        )


def _describe(value: Any) -> str:
    """A short text for an input or output of the wrong kind."""
    if isinstance(value, Tensor):
        return f"a Tensor of shape {tuple(value.shape)} (requires_grad={value.requires_grad})"
    return f"{type(value).__name__} {value!r}"[:60]
