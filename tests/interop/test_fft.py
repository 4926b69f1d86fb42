"""np.fft's transforms of several dimensions on Tensors: NumPy's values, and gradients."""

import numpy as np
import pytest

import pullback as pb

NAMES = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
HOW = (
    {},
    {"axes": (1, 0)},
    {"axes": [0]},
    {"s": (3, 5)},
    {"s": (5, 2), "axes": (0, 2)},
    {"s": (-1, 4), "axes": (0, 1)},
    {"norm": "ortho"},
    {"norm": "forward", "s": [4, 4], "axes": (1, -1)},
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", HOW, ids=str)
def test_values_and_gradients(name, how):
    function = getattr(np.fft, name)
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    t = pb.tensor(x, requires_grad=True)
    if how.get("s") and len(how["s"]) == 2 and "axes" not in how:
        how = {**how, "axes": (-2, -1)}
    assert np.allclose(function(t, **how).detach().numpy(), function(x, **how))
    assert pb.autograd.gradcheck(lambda t: function(t, **how), t, fast_mode=True)
    if not name.startswith("r"):
        z = x + 1j * x[::-1]
        assert np.allclose(function(pb.tensor(z), **how).numpy(), function(z, **how))


def test_out_is_written_into():
    t = pb.tensor(np.arange(4.0).reshape(2, 2))
    out = pb.zeros((2, 2), dtype=complex)
    assert np.fft.fft2(t, out=out) is out
    assert np.array_equal(out.numpy(), np.fft.fft2(t.numpy()))
