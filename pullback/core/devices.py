"""Devices: there is 'cpu'; any other raises the one error defined here."""

from __future__ import annotations

from typing import Self

from pullback.core.errors import UnsupportedError

AVAILABLE = ("cpu",)
# What PyTorch calls devices: a text that begins so is meant for one, and no dtype.
_KINDS = frozenset({
    "cpu", "cuda", "fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "meta", "mkldnn", "mps", "mtia", "opencl",
    "opengl", "privateuseone", "ve", "vulkan", "xla", "xpu",
})  # fmt: skip


def names_device(text: object) -> bool:
    """True if a text such as 'cuda:1' names a device, available or not."""
    return isinstance(text, str) and text.split(":")[0] in _KINDS


def device_name(device: object, called: str = "") -> str:
    """The canonical name of an available device ('cpu:0' is 'cpu'); an UnsupportedError for any other.

    `called` is the function that was given the device, for the error.
    """
    name = str(device)
    name = "cpu" if name == "cpu:0" else name
    if name not in AVAILABLE:
        where = f"{called}(): " if called else ""
        raise UnsupportedError(
            f"{where}device {device!r} is not available: this version supports only 'cpu'. Leave the device out, "
            "or pass 'cpu'."
        )
    return name


class device(str):
    """The name of a device, checked: PyTorch's programs make one where pullback takes and gives plain texts.

    Parameters
    ----------
    type : str or device
        "cpu", or "cpu:0".
    index : int, optional

    Raises
    ------
    RuntimeError
        There is no such device.

    Examples
    --------
    >>> here = pb.device("cpu")
    >>> pb.ones(2, device=here).device == here, here.type, here.index
    (True, 'cpu', None)
    """

    __slots__ = ()

    def __new__(cls, type: object, index: int | None = None) -> Self:
        return super().__new__(cls, device_name(type if index is None else f"{type}:{index}"))

    @property
    def type(self) -> str:
        """The kind of device: 'cpu'."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> None:  # type: ignore[override]  # PyTorch's meaning of the name, not that of texts
        """None: there is one CPU."""
        return

    def __repr__(self) -> str:
        return f"device(type={self.type!r})"
