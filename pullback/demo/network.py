"""The digits demo's classifier: its layers and its loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import pullback as pb
from pullback import Tensor
from pullback.nn import functional

WIDTHS = (64, 128, 64, 10)  # 64 pixels in, ten digits out


class Network:
    """Linear layers with GELU between them.

    Parameters
    ----------
    widths : sequence of int
        Numbers in and out of the layers.
    seed : int
        Of the initial weights: He's normal initialisation, biases zero.
    dtype : dtype
        Of the parameters.
    """

    def __init__(self, widths: tuple[int, ...] = WIDTHS, *, seed: int = 0, dtype: type = np.float32) -> None:
        rng = np.random.default_rng(seed)
        self.parameters: dict[str, Tensor] = {}
        for layer, (inputs, outputs) in enumerate(pairwise(widths), start=1):
            weight = rng.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs)
            self.parameters[f"weight {layer}"] = pb.from_numpy(weight.astype(dtype)).requires_grad_()
            self.parameters[f"bias {layer}"] = pb.from_numpy(np.zeros(outputs, dtype)).requires_grad_()

    def logits(self, x: Tensor, *parameters: Tensor) -> Tensor:
        """Log-probabilities of the classes, up to a constant; by the network's own parameters unless others come."""
        parameters = parameters or tuple(self.parameters.values())
        *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
        for weight, bias in hidden:
            x = functional.gelu(functional.linear(x, weight, bias))
        return functional.linear(x, *last)

    def loss(self, x: Tensor, labels: Tensor, *parameters: Tensor) -> Tensor:
        """Mean cross-entropy of a batch."""
        return functional.cross_entropy(self.logits(x, *parameters), labels)
