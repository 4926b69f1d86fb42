"""linear_cross_entropy, whose scores may be made in chunks of rows, and the options that say so."""

import warnings

import numpy as np

from pullback.core.annotations import DTypeLike
from pullback.core.cuts import frames_to_user
from pullback.core.loss_arguments import check_reduction
from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.nn.losses import cross_entropy


class LinearCrossEntropyOptions:
    """How `nn.functional.linear_cross_entropy` makes its scores: in chunks of rows, never all (N, C) of them.

    Worth it where there are many more classes C than features F. Forward and backward then need memory for the scores
    of one chunk beside what they return; backward makes the scores again. (A second derivative keeps them all.)

    Parameters
    ----------
    allow_retain_graph : bool
        Taken for PyTorch's sake and without effect: a graph can always be retained here.
    batch_chunk_size : int, optional
        Rows of a chunk.
    chunking_method : str or None
        How to choose the rows where batch_chunk_size is not given. "aspect_ratio" (what "auto" means): so many that
        their scores take about the memory of the input, that is N F / C, rounded up to a power of two;
        "aspect_ratio:2" half as many, and so on. None: all in one chunk.
    acc_policy : str
        "auto", "accurate", "balanced" or "compact"; taken for PyTorch's sake: all of a chunk is computed in acc_dtype
        here, which is what PyTorch calls "accurate".
    acc_dtype : dtype, optional
        The floating dtype to compute in, by default that of the input.

    Raises
    ------
    ValueError
        One of them is none of the above.

    Examples
    --------
    >>> x, weight = pb.ones((6, 2), requires_grad=True), pb.arange(16.0).reshape(8, 2) / 16
    >>> options = pb.nn.LinearCrossEntropyOptions(batch_chunk_size=4)
    >>> labels = pb.tensor([0, 1, 2, 3, 4, 5])
    >>> round(pb.nn.functional.linear_cross_entropy(x, weight, labels, options=options).item(), 12)
    2.488278091577
    """

    __slots__ = ("acc_dtype", "acc_policy", "allow_retain_graph", "batch_chunk_size", "chunking_method")

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: "DTypeLike | None" = None,
    ) -> None:
        if batch_chunk_size is not None and not (isinstance(batch_chunk_size, int) and batch_chunk_size > 0):
            raise ValueError(f"batch_chunk_size must be a positive int or None, got {batch_chunk_size!r}")
        if acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"acc_policy must be 'auto', 'accurate', 'balanced' or 'compact', got {acc_policy!r}")
        if acc_dtype is not None and np.dtype(acc_dtype).kind != "f":
            raise ValueError(f"acc_dtype must be a floating-point dtype or None, got {acc_dtype!r}")
        self.allow_retain_graph, self.acc_policy = allow_retain_graph, acc_policy
        self.batch_chunk_size, self.chunking_method = batch_chunk_size, chunking_method
        self.acc_dtype = None if acc_dtype is None else np.dtype(acc_dtype)
        self._parts_of_input()

    def __repr__(self):
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({given})"

    def _parts_of_input(self):
        """Into how many parts of the size of the input the method cuts the scores; None without one."""
        if self.chunking_method is None:
            return None
        name, _, number = str(self.chunking_method).partition(":")
        if name == "auto" and not number:
            return 1
        if name != "aspect_ratio" or not (number or "1").isdigit() or int(number or 1) < 1:
            raise ValueError(
                "chunking_method must be 'auto', 'aspect_ratio', 'aspect_ratio:N' with N at least 1, or None, got "
                f"{self.chunking_method!r}"
            )
        return int(number or 1)

    def rows(self, count, features, classes):
        """The rows of a chunk for an input (count, features) and so many classes.

        Parameters
        ----------
        count, features, classes : int

        Returns
        -------
        int

        Raises
        ------
        ValueError
            `batch_chunk_size` and `chunking_method` contradict each other.

        Examples
        --------
        >>> pb.nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio").rows(1000, 64, 6400)
        16
        """
        given, parts = self.batch_chunk_size, self._parts_of_input()
        if parts is None or (given is not None and self.chunking_method == "auto"):
            return max(min(given or count, count), 1)
        wanted = -(-count // -(-classes // max(features, 1))) if classes else count
        rows = max(min((1 << max(wanted - 1, 0).bit_length()) // parts, count), 1)
        if given is not None and given != rows:
            raise ValueError(
                f"batch_chunk_size={given} and chunking_method={self.chunking_method!r}, which gives {rows} rows, "
                "contradict each other; give one of them"
            )
        return rows


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
    ops,
):
    """cross_entropy of linear(input, linear_weight, linear_bias); dimensions of the weight between follow classes."""
    require_arrays("linear_cross_entropy", input=input, linear_weight=linear_weight, target=target)
    check_linear(input, linear_weight, linear_bias)
    between = linear_weight.shape[1:-1]
    shape = (*input.shape[:-1], linear_weight.shape[0], *between)
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("linear_cross_entropy(): ignore_index means nothing where target holds probabilities.")
    if options is not None and not isinstance(options, LinearCrossEntropyOptions):
        raise TypeError(
            f"linear_cross_entropy(): options must be nn.LinearCrossEntropyOptions, but got {type(options).__name__}."
        )
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None and _can_be_chunked(between, label_smoothing, target):
        return _chunked(input, linear_weight, target, linear_bias, weight, reduction, ignored, options, ops)
    if between:
        linear_weight = ops.reshape(linear_weight, (-1, input.shape[-1]))
        linear_bias = None if linear_bias is None else ops.reshape(linear_bias, (-1,))
    scores = ops.reshape(ops.linear(input, linear_weight, linear_bias), shape)
    how = {"reduction": reduction, "ignore_index": ignored, "label_smoothing": label_smoothing}
    return cross_entropy(scores, target, weight, **how, ops=ops)


def check_linear(input, linear_weight, linear_bias):
    """Refuse shapes that linear_cross_entropy has no meaning for."""
    if input.ndim not in (1, 2) or linear_weight.ndim < 2 or input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "linear_cross_entropy(): input must have shape (N, F) or (F,) and linear_weight (C, ..., F), but they have "
            f"{input.shape} and {linear_weight.shape}."
        )
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(linear_weight.shape[:-1]):
        raise RuntimeError(
            f"linear_cross_entropy(): linear_bias must have shape {linear_weight.shape[:-1]}, but has "
            f"{linear_bias.shape}."
        )
    if linear_weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"linear_cross_entropy(): linear_weight of shape {linear_weight.shape} needs input (N, F), but it has "
            f"{input.shape}."
        )


def _can_be_chunked(between, label_smoothing, target):
    """True if chunks are possible; if not, a warning says why the options have no effect."""
    reasons = {
        f"linear_weight has dimensions {tuple(between)} between classes and features": bool(between),
        f"label_smoothing is {label_smoothing}, not 0": label_smoothing != 0,
        f"target holds {target.dtype}, not class indices": target.dtype.kind not in "iu",
    }
    meant = [reason for reason, holds in reasons.items() if holds]
    if meant:
        message = f"linear_cross_entropy(): options are left out of account and all scores made at once: {meant[0]}."
        warnings.warn(message, stacklevel=frames_to_user())
    return not meant


def _chunked(input, linear_weight, target, linear_bias, weight, reduction, ignored, options, ops):
    check_reduction("linear_cross_entropy", reduction)
    single, dtype = input.ndim == 1, input.dtype
    if tuple(target.shape) != tuple(input.shape[:-1]):
        raise ValueError(
            f"linear_cross_entropy(): for input of shape {input.shape} target must have shape {input.shape[:-1]}, but "
            f"it has {target.shape}."
        )
    if single:
        input, target = ops.unsqueeze(input, 0), ops.unsqueeze(target, 0)
    rows = options.rows(*input.shape, linear_weight.shape[0])
    parts = [input, linear_weight, linear_bias, weight]
    if options.acc_dtype is not None:
        parts = [x if x is None else ops.to(x, options.acc_dtype) for x in parts]
    input, linear_weight, linear_bias, weight = parts
    loss = ops.linear_cross_entropy_rows(input, linear_weight, target, linear_bias, weight, ignored, rows)
    if reduction == "none":
        loss = ops.squeeze(loss, 0) if single else loss
    elif reduction == "sum":
        loss = ops.sum(loss)
    else:
        loss = ops.sum(loss) / _total_weight(target, weight, ignored, loss.dtype, ops)
    return loss if options.acc_dtype is None else ops.to(loss, dtype)


def _total_weight(target, weight, ignored, dtype, ops):
    """The divisor of the mean: the weights of the rows that are not ignored."""
    left_out = ops.eq(target, ignored)
    if weight is None:
        return ops.sum(ops.logical_not(left_out), dtype=dtype)
    return ops.sum(ops.where(left_out, 0.0, ops.take(weight, ops.where(left_out, 0, target))), dtype=dtype)
