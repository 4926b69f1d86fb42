"""Operators of third parties under vmap: by their category, or one element after the other with a warning."""

import sys
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.batched import fallback
from pullback.func import grad, vmap
from pullback.ops import extension

FILE = """
namespace: batching
kernels: batching_kernels
native_functions:
  - func: halved(Tensor self) -> Tensor
    kernel: halved
    tags: pointwise
  - func: ends(Tensor self) -> (Tensor low, Tensor high)
    kernel: ends
  - func: centred(Tensor self) -> Tensor
    kernel: centred
  - func: total(Tensor[] xs) -> Tensor
    kernel: sum
derivatives:
  - name: centred(Tensor self) -> Tensor
    self: grad - mean(grad)
"""
KERNELS = """
def halved(x): return x / 2
def ends(x): return x.min(), x.max()
def centred(x): return x - x.mean()
sum = sum
"""
V = np.random.default_rng(0).standard_normal((3, 4))


@pytest.fixture
def ops(tmp_path, monkeypatch):
    (tmp_path / "batching_kernels.py").write_text(KERNELS)
    monkeypatch.delitem(sys.modules, "batching_kernels", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    fallback._warned.clear()
    yield pb.ops.load(FILE)
    extension._entered.pop("batching").withdraw()


def test_a_category_is_enough(ops):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(vmap(ops.halved)(pb.tensor(V)).numpy(), V / 2)


def test_what_has_none_is_looped_over_and_says_so_once(ops):
    with pytest.warns(UserWarning, match=r"batching\.ends has no batching rule"):
        low, high = vmap(ops.ends)(pb.tensor(V))
    np.testing.assert_allclose(np.stack([low.numpy(), high.numpy()]), [V.min(1), V.max(1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(ops.ends)(pb.tensor(V))


def test_its_derivative(ops):
    weight = np.arange(4.0)
    with pytest.warns(UserWarning, match="centred"):
        found = vmap(grad(lambda x: (ops.centred(x) * weight).sum()))(pb.tensor(V))
    np.testing.assert_allclose(found.numpy(), np.stack([weight - weight.mean()] * 3))


def test_what_takes_a_list_is_not_told_to_give_a_category(ops):
    with pytest.warns(UserWarning, match="slow. Make it a composite; of custom_op"):
        found = vmap(lambda x, y: ops.total([x, y]))(pb.tensor(V), pb.tensor(V))
    np.testing.assert_allclose(found.numpy(), 2 * V)
