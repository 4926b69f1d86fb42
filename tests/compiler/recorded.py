"""An operator's record as a program: traced at one point with its derivatives, run there and at another one."""

import numpy as np

from pullback.arrays.traced.array import TracedArray
from pullback.arrays.traced.graph import Graph
from pullback.compiler.program import Program
from pullback.compiler.tracing import AS_IT_IS, TENSOR, Trace
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, wrap


def like(x):
    """An array of zeros with the strides of `x`, which may have gaps or be negative or 0."""
    low, high = np.lib.array_utils.byte_bounds(x)
    start = x.__array_interface__["data"][0] - low
    return np.ndarray(x.shape, x.dtype, np.zeros(high - low, np.uint8), start if x.size else 0, x.strides)


def copied(x):
    """The same numbers and strides, in memory of its own."""
    found = like(x)
    found[...] = x
    return found


def moved(x):
    """Other numbers of the same form: in the reverse order along each axis, floating ones a little nearer to 0.

    So indices stay indices, masks choose as many, and symmetric matrices stay symmetric and positive.
    """
    found = like(x)
    found[...] = np.flip(x)
    if x.dtype.kind in "fc":
        found *= np.array(0.9375, x.dtype)
    return found


class Recorder:
    """Makes traced arrays, the inputs of one program."""

    def __init__(self):
        self.graph, self.examples = Graph(), []

    def array(self, x):
        """A traced array with these numbers."""
        x = copied(x)
        self.examples.append(x)
        return TracedArray(self.graph.input(x), x)

    def tensor(self, t):
        """A Tensor around a traced array with the numbers of `t`; it requires grad if `t` does."""
        return wrap(self.array(t.numpy(force=True))).requires_grad_(t.requires_grad)

    def program(self, result):
        """The program of what has been computed, which gives the arrays of the Tensors in `result`."""
        made = Trace(self.graph)
        leaves, made.structure = flatten(result)
        made.outputs = [(TENSOR, self.placed(x._array)) if isinstance(x, Tensor) else (AS_IT_IS, x) for x in leaves]
        made.inputs = self.graph.inputs
        return Program(made)

    def placed(self, array):
        """The value of an array that has come out."""
        return array.at if type(array) is TracedArray else self.graph.constant(array)

    def spoil(self):
        """Write rubbish over all numbers with which the function ran: what a program has kept of them shows."""
        for x in self.examples:
            x[...] = np.nan if x.dtype.kind in "fc" else 7


def arrays_of(result):
    """The ndarrays of the Tensors in a result."""
    return [x.numpy(force=True) for x in flatten(result)[0] if isinstance(x, Tensor)]
