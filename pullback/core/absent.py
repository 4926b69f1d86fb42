"""Names that PyTorch has at its top and pullback has not, with what to write instead."""

from __future__ import annotations

_BFLOAT = "NumPy has no such dtype; use float32 or float16"
_DEVICE = "there is one device, 'cpu': leave devices out"
_LAYOUT = "the order of memory is that of NumPy's strides: leave formats and layouts out"

INSTEAD = {
    "bfloat16": _BFLOAT,
    "complex32": "NumPy has no such dtype; use complex64",
    "cuda": _DEVICE,
    "mps": _DEVICE,
    "xpu": _DEVICE,
    "set_default_device": _DEVICE,
    "channels_last": _LAYOUT,
    "channels_last_3d": _LAYOUT,
    "strided": _LAYOUT,
    "Size": "a shape is a tuple; t.numel() counts the elements",
    "Generator": "use numpy.random.Generator, which every random operator takes as generator=",
    "Storage": "tensors are NumPy arrays without storages apart; see t.numpy()",
    "save": "use pickle, or numpy.save of t.detach().numpy()",
    "load": "use pickle, or from_numpy of what numpy.load gives",
    "seed": "call manual_seed(numpy.random.SeedSequence().entropy)",
    "set_printoptions": "numpy.set_printoptions is what counts",
    "get_num_threads": "set OMP_NUM_THREADS or use threadpoolctl: NumPy's linear algebra decides",
    "set_num_threads": "set OMP_NUM_THREADS or use threadpoolctl: NumPy's linear algebra decides",
}


def said_of_absent(name: str) -> str:
    """What to append to the error about a missing name: '' where there is nothing to say."""
    if name.endswith("Tensor"):
        return ": make tensors with pullback.tensor(data, dtype=...)"
    return f": {INSTEAD[name]}" if name in INSTEAD else ""
