"""Several results have the names that are declared, whether a kernel or a composite computes them."""

import pickle
import sys
import types

import numpy as np
import pytest

import pullback as pb
from pullback.ops import extension

X = pb.tensor([[3.0, 1.0], [1.0, 2.0]])
CALLS = {
    "min max": lambda: pb.aminmax(X),
    "hist bin_edges": lambda: pb.histogram(X, 3),
    "P L U": lambda: pb.lu_unpack(*pb.linalg.lu_factor(X)),
    "LU pivots": lambda: pb.linalg.lu_factor(X),
    "sign logabsdet": lambda: pb.slogdet(X),
    "solution residuals rank singular_values": lambda: pb.linalg.lstsq(X, X),
    "values indices": lambda: pb.sort(X),
    "U S V": lambda: pb.svd_lowrank(X, 1),
}


@pytest.mark.parametrize("names", CALLS)
def test_results_have_names_and_unpack(names):
    found = CALLS[names]()
    assert isinstance(found, tuple)
    assert list(found._fields) == names.split()
    assert all(getattr(found, name) is item for name, item in zip(names.split(), found, strict=True))


def test_they_keep_their_names_under_transforms_in_pickles_and_as_methods():
    assert pb.vmap(lambda row: pb.aminmax(row).max)(X).tolist() == [3.0, 2.0]
    assert X.aminmax(dim=0).min.tolist() == [1.0, 1.0]
    assert pb.func.grad(lambda x: pb.aminmax(x).max * 2)(np.array([1.0, 5.0])).tolist() == [0.0, 2.0]
    assert pickle.loads(pickle.dumps(pb.aminmax(X))).min.item() == 1.0


def test_those_of_a_third_partys_composite_too_and_another_number_is_refused(monkeypatch):
    module = types.ModuleType("named_results_composites")
    module.halves = lambda x, *, ops: (x * 0.5, ops.neg(x) * 0.5)
    module.rows = lambda x, *, ops: x  # two rows are not two results
    monkeypatch.setitem(sys.modules, module.__name__, module)
    declared = "namespace: named_results\ncomposites: named_results_composites\nnative_functions:\n"
    monkeypatch.setattr("pullback.codegen.third_party.look_up", lambda key, name, where: {})  # a module without a file
    for name in ("halves", "rows"):
        declared += f"  - func: {name}(Tensor self) -> (Tensor plus, Tensor minus)\n"
    mine = pb.ops.load(declared)
    try:
        assert mine.halves(X).minus.tolist() == [[-1.5, -0.5], [-0.5, -1.0]]
        with pytest.raises(TypeError, match="the composite returned a Tensor, declared are plus, minus"):
            mine.rows(X)
    finally:
        extension._entered.pop("named_results").withdraw()
