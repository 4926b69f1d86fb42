"""The kernel of a product of matrices, which is one step."""

from __future__ import annotations

from pullback.compiler.native import matrices
from pullback.compiler.native.code import Code, Type
from pullback.compiler.native.kernel import Place
from pullback.compiler.native.nodes import Node, Window, contiguous


class Product:
    """A step that multiplies matrices, as a Kernel is one that runs over a nest.

    Attributes
    ----------
    form
        Equal for equal functions.
    buffers : dict
        Empty: it needs no memory of a row.
    """

    def __init__(self, node: Node, lanes: int, blas: bool) -> None:
        self._node, self._blas, self.buffers = node, blas, dict[int, int]()
        self.form = Type("f", 8 * node.dtype.itemsize, lanes)

    def write(self) -> Code:
        """The function."""
        return matrices.kernel(self.form, matrices.large_or_small if self._blas else matrices.by_blocks)

    def data(self, places: dict[object, Place]) -> list[int]:
        """The row of data: see `matrices`."""
        node, size = self._node, self._node.dtype.itemsize

        def lies(x: Window) -> matrices.Matrices:
            place = places[x.node.number]
            return matrices.Matrices(
                place.base, place.offset + x.offset * size, x.shape, tuple(s * size for s in x.strides)
            )

        attr = node.attr
        shape = (*attr.batch, attr.m, attr.n)
        result = Window(node, shape, contiguous(shape), 0)
        a, b = node.windows()
        return matrices.data(lies(a), lies(b), lies(result), node.dtype, blas=self._blas)
