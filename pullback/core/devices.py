"""Devices: which there are, and the one refusal of all others."""

from __future__ import annotations

from pullback.core.errors import UnsupportedError

AVAILABLE = ("cpu",)
# What PyTorch calls devices: a text that begins so is meant for one, and no dtype.
_KINDS = frozenset({
    "cpu", "cuda", "fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "meta", "mkldnn", "mps", "mtia", "opencl",
    "opengl", "privateuseone", "ve", "vulkan", "xla", "xpu",
})  # fmt: skip


def names_device(text: object) -> bool:
    """Whether a text such as 'cuda:1' names a device, available or not."""
    return isinstance(text, str) and text.split(":")[0] in _KINDS


def device_name(device: object) -> str:
    """The canonical name of an available device ('cpu:0' is 'cpu'); an UnsupportedError for any other."""
    name = str(device)
    name = "cpu" if name == "cpu:0" else name
    if name not in AVAILABLE:
        raise UnsupportedError(
            f"device {device!r} is not available: this version computes on 'cpu' alone. Leave the device out, or "
            "pass 'cpu'."
        )
    return name
