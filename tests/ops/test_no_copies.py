"""Operators that are declared to give views share the memory of their input, in every sample of their records.

The static half, that no kernel walks through elements in Python, is `test_loops.py`; both are told of in
docs/design/kernels.md.
"""

import numpy as np
import pytest

import pullback as pb
from pullback.testing.opinfo.calls import accepted, flat_tensors, function_of, to_tensors
from tests.declared import declared
from tests.opinfo.records import OPINFOS

CONJUGATES = {"adjoint": lambda x: x.adjoint(), "mH": lambda x: x.mH, "matrix_H": lambda x: x.H}
# Where the result cannot always be a view of the input, and why. Each of these must still be one in some sample.
SOMETIMES = {
    "contiguous": "rows are put in order where they are not",
    "flatten": "dimensions that do not follow each other in memory cannot become one",
    "ravel": "as flatten",
    "reshape": "as flatten",
    "reshape_as": "as flatten",
    "to": "another dtype needs other memory",
} | dict.fromkeys(CONJUGATES, "NumPy has no lazy conjugate: that of complex numbers is another array")
# Views that records do not reach by that name, and what does.
UNRECORDED = {
    "_real": "the real part of a complex tensor, behind pullback.real",
    "_strided_view": "a view by its geometry, behind as_strided and the views of bases",
    "linalg_diagonal": "linalg.diagonal",
}
# Operators that PyTorch declares as copies or as composites, and that give views all the same.
BESIDES = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "moveaxis",
    "swapaxes",
    "swapdims",
    "linalg.diagonal",
]


def declared_views():
    """Names of operators that are tagged view, or whose schema says that a result is one."""
    names = set()
    for entry in declared():
        tags = [tag.strip() for tag in (entry.get("tags") or "").split(",")]
        if "view" in tags or "(a)" in entry["func"]:
            names.add(entry["func"].split("(")[0].split(".")[0].strip())
    return names


VIEWS = sorted(declared_views() | set(BESIDES))
RECORDS = [info for info in OPINFOS if info.name in VIEWS]


def copied_and_shared(info):
    """(samples with an output on memory of its own, number of the others); samples without elements do not count."""
    copied, shared = [], 0
    for dtype in info.grad_dtypes:
        for sample in accepted(info, dtype):
            args, kwargs = to_tensors((sample.args, sample.kwargs))
            inputs = [t.numpy() for t in flat_tensors((args, kwargs))]
            outputs = [t.numpy() for t in flat_tensors(function_of(info)(*args, **kwargs)) if t.numel()]
            if all(any(np.shares_memory(out, x) for x in inputs) for out in outputs):
                shared += bool(outputs)
            else:
                copied.append(sample)
    return copied, shared


@pytest.mark.parametrize("name", sorted({info.name for info in RECORDS}))
def test_a_view_copies_nothing(name):
    found = [copied_and_shared(info) for info in RECORDS if info.name == name]
    assert sum(shared for _, shared in found)
    if name not in SOMETIMES:
        assert not [sample for copied, _ in found for sample in copied]


@pytest.mark.parametrize("name", CONJUGATES)
def test_the_adjoint_of_a_real_matrix_is_a_view(name):
    x = pb.from_numpy(np.arange(6.0).reshape(2, 3))
    assert np.shares_memory(CONJUGATES[name](x).numpy(), x.numpy())


def test_every_declared_view_is_looked_at():
    assert {info.name for info in RECORDS} | set(UNRECORDED) >= declared_views()
    assert set(SOMETIMES) <= set(VIEWS)


def test_a_reshape_copies_only_what_it_must():
    x = pb.from_numpy(np.arange(24.0).reshape(2, 3, 4))
    for view in (x.reshape(6, 4), x.reshape(-1), x.transpose(0, 1).reshape(3, 2, 2, 2), x[:, 1:].reshape(2, 8)):
        assert np.shares_memory(view.numpy(), x.numpy())
    assert not np.shares_memory(x.transpose(0, 2).reshape(-1).numpy(), x.numpy())
