"""Parameters in safetensors' files; where safetensors is installed."""

import pytest

import pullback as pb

numpy = pytest.importorskip("safetensors.numpy")


def test_parameters_are_written_and_read(tmp_path):
    parameters = {"weight": pb.randn(2, 3, requires_grad=True), "bias": pb.zeros(2, requires_grad=True)}
    numpy.save_file({name: p.detach().numpy() for name, p in parameters.items()}, tmp_path / "model.safetensors")
    read = {
        name: pb.tensor(x, requires_grad=True) for name, x in numpy.load_file(tmp_path / "model.safetensors").items()
    }
    assert read.keys() == parameters.keys()
    for name, p in parameters.items():
        assert pb.equal(read[name].detach(), p.detach())


def test_tensors_themselves_are_not_written_as_something_else(tmp_path):
    with pytest.raises(Exception, match=r"ctypes|numpy|grad"):
        numpy.save_file({"weight": pb.ones(2, requires_grad=True)}, tmp_path / "model.safetensors")
