"""A result is a view of an input only where the operator says so: whatever the arguments, and at sizes of 0 and 1."""

import contextlib

import numpy as np
import pytest

import pullback as pb
from pullback.testing.opinfo.calls import flat_tensors, function_of, sampling, seeded, to_tensors
from pullback.testing.opinfo.core import Input, Plain, map_arrays
from tests.opinfo.records import OPINFOS

# Views, besides those that test_no_copies.py finds; and what gives an input itself, or a view of it, as PyTorch does.
VIEWS = {
    "__getitem__", "adjoint", "alias", "as_strided", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors",
    "broadcast_to", "chunk", "conj", "contiguous", "detach", "diagonal", "dsplit", "einsum", "expand", "expand_as",
    "flatten", "hsplit", "imag", "linalg.diagonal", "mH", "mT", "matrix_H", "meshgrid", "moveaxis", "movedim", "narrow",
    "numpy_T", "permute", "positive", "ravel", "real", "reshape", "reshape_as", "resolve_conj", "resolve_neg", "select",
    "slice_view", "split", "split_with_sizes", "squeeze", "sum_to_size", "swapaxes", "swapdims", "t", "tensor_split",
    "to", "transpose", "type_as", "unbind", "unflatten", "unfold", "unsafe_chunk", "unsafe_split", "unsqueeze", "view",
    "view_as", "view_as_complex", "view_as_real", "vsplit",
}  # fmt: skip
ITSELF = {
    "conjugate": "of what is real",
    "cartesian_prod": "the product of one vector",
    "nn.functional.alpha_dropout": "nothing is dropped outside training",
    "nn.functional.dropout": "as alpha_dropout",
    "nn.functional.dropout1d": "as alpha_dropout",
    "nn.functional.dropout2d": "as alpha_dropout",
    "nn.functional.dropout3d": "as alpha_dropout",
    "nn.functional.feature_alpha_dropout": "as alpha_dropout",
    "nn.functional.local_response_norm": "of no elements",
}
COPIES = [info for info in OPINFOS if info.name not in VIEWS and (info.name.endswith("__") or info.name[-1] != "_")]


def cut(size, *dims):
    """The arguments with dimensions of inputs cut to a size."""

    def cutter(x):
        if isinstance(x, Plain):
            return x
        return x[tuple(slice(size) if d in dims else slice(None) for d in range(x.ndim))].copy().view(type(x))

    return lambda tree: map_arrays(cutter, tree)


def whole(number):
    """The arguments with another whole number for each of theirs."""

    def replace(tree):
        if type(tree) is int:
            return number
        if isinstance(tree, dict):
            return {k: replace(v) for k, v in tree.items()}
        if isinstance(tree, (list, tuple)) and not hasattr(tree, "_fields"):
            return type(tree)(replace(v) for v in tree)
        return tree

    return replace


def scalar(tree):
    """The arguments with the first element of each array, without dimensions."""
    return map_arrays(lambda x: x.ravel()[0:1].reshape(()).copy().view(type(x)) if is_input(x) and x.size else x, tree)


def is_input(x):
    return isinstance(x, Input)


def alone(tree):
    """The arguments with one of each list."""
    args, kwargs = tree
    return tuple(x[:1] if isinstance(x, list) else x for x in args), kwargs


CHANGES = {
    "as recorded": lambda tree: tree,
    "1 long": cut(1, 0, 1, 2, 3, 4),
    "first 1 long": cut(1, 0),
    "second 1 long": cut(1, 1),
    "last ones 1 long": cut(1, 1, 2, 3, 4),
    "empty": cut(0, 0),
    "second empty": cut(0, 1),
    "numbers 0": whole(0),
    "numbers 1": whole(1),
    "1 long, numbers 0": lambda tree: whole(0)(cut(1, 0, 1, 2, 3, 4)(tree)),
    "1 long, numbers 1": lambda tree: whole(1)(cut(1, 0, 1, 2, 3, 4)(tree)),
    "no dimensions": scalar,
    "one of a list": alone,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", COPIES, ids=lambda info: info.full_name)
def test_what_is_no_view_has_memory_of_its_own(info):
    function = info.call or function_of(info)
    for sample in info.samples_for(info.dtypes[0]):
        for name, change in CHANGES.items() if is_public(info.name) else [*CHANGES.items()][:1]:
            with contextlib.suppress(Exception), sampling(info, sample):  # many of these calls are refused
                args, kwargs = to_tensors(map_arrays(copied, change((sample.args, sample.kwargs))))
                seeded(info)
                results = flat_tensors(function(*args, **kwargs))
                inputs = flat_tensors((args, kwargs))
                bad = [fault for out in results for fault in faults(info, out, inputs)]
                if bad:
                    pytest.fail(f"{sample!r}, {name}: {', '.join(bad)}")


def is_public(name):
    """Whether users call it: an internal operator may trust its arguments."""
    home = pb
    for part in name.split("."):
        home = getattr(home, part, None)
    return home is not None or hasattr(pb.Tensor, name)


def copied(x):
    return x if isinstance(x, Plain) else x.copy()


def faults(info, out, inputs):
    if any(out is x for x in inputs):
        return [] if info.name in ITSELF else ["gives its input itself"]
    shared = out.numel() and any(np.may_share_memory(out.numpy(force=True), x.numpy(force=True)) for x in inputs)
    return ["lies in the memory of an input"] * bool(shared) + ["is read-only"] * (not out._array.flags.writeable)


def test_writing_into_a_result_leaves_the_input_alone():
    x = pb.ones(3, 1)
    y = x.repeat_interleave(2, 1)
    x.mul_(5)
    assert y.tolist() == [[1, 1]] * 3
    y.mul_(3)
    image = pb.ones(1, 1, 2, 2)
    for shuffle in (pb.pixel_shuffle, pb.pixel_unshuffle, pb.channel_shuffle):
        y = shuffle(image, 1)
        y.mul_(3)
    y = pb.nn.functional.avg_pool2d(image, 1)
    y.mul_(3)
    assert image.tolist() == [[[[1, 1], [1, 1]]]]
