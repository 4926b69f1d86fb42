"""einops' functions and opt_einsum's on tensors; where these are installed."""

import subprocess
import sys

import numpy as np
import pytest

import pullback as pb

einops, opt_einsum = pytest.importorskip("einops"), pytest.importorskip("opt_einsum")
X = np.arange(6.0).reshape(2, 3) + 1
CALLS = {
    "rearrange": lambda x: einops.rearrange(x, "a b -> b a"),
    "rearrange a list": lambda x: einops.rearrange([x, x * 2], "n a b -> b (n a)"),
    "split an axis": lambda x: einops.rearrange(x, "a (b c) -> c a b", c=3),
    "sum": lambda x: einops.reduce(x, "a b -> a", "sum"),
    "mean": lambda x: einops.reduce(x, "a b -> b", "mean"),
    "max": lambda x: einops.reduce(x, "a b -> a", "max"),
    "min of several axes": lambda x: einops.reduce(x, "a b ->", "min"),
    "prod": lambda x: einops.reduce(x, "a b -> b", "prod"),
    "repeat": lambda x: einops.repeat(x, "a b -> (a c) b", c=2),
    "einsum": lambda x: einops.einsum(x, x, "a b, c b -> a c"),
    "pack": lambda x: einops.pack([x, x * 2], "* b")[0],
    "unpack": lambda x: einops.unpack(x, [[1], [2]], "a *")[1],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions_of_einops_are_differentiated(call):
    x = pb.tensor(X, requires_grad=True)
    found = call(x)
    assert type(found) is pb.Tensor
    np.testing.assert_allclose(found.detach().numpy(), call(X))
    assert pb.autograd.gradcheck(call, (x,))
    np.testing.assert_allclose(pb.func.jacrev(call)(X), pb.func.jacfwd(call)(pb.tensor(X)).numpy())


def test_einops_makes_no_plain_array_of_what_requires_grad():
    with pytest.raises(RuntimeError, match="requires grad"):
        einops.asnumpy(pb.tensor(X, requires_grad=True))
    assert einops.parse_shape(pb.tensor(X), "a b") == {"a": 2, "b": 3}
    assert einops.rearrange(X, "a b -> b a").base is X


def test_einops_functions_of_the_standard_take_tensors_without_adopt():
    functions = pytest.importorskip("einops.array_api")
    x = pb.tensor(X, requires_grad=True)
    functions.reduce(functions.rearrange(x, "a b -> b a"), "b a -> b", "sum")[1].backward()
    assert x.grad.tolist() == [[0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize("order", ["einops, opt_einsum, pullback", "pullback, einops, opt_einsum"])
def test_the_libraries_may_be_imported_before_pullback_or_after_it(order):
    program = f"""
import {order}
x = pullback.tensor([[1.0, 2.0]], requires_grad=True)
(einops.rearrange(x, "a b -> b a") * 2).sum().backward()
opt_einsum.contract("ab,ab,ab->", x, x, x).backward()
print(x.grad.tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[[5.0, 14.0]]\n", "")


@pytest.mark.parametrize("subscripts", ["ab,cb,cd->ad", "ab,cb->ac", "ab,ab->", "ab,cb,cd,ed->ea"])
def test_opt_einsum_contracts_tensors(subscripts):
    contract = opt_einsum.contract
    operands = [X] * (subscripts.count(",") + 1)
    tensors = [pb.tensor(x, requires_grad=True) for x in operands]
    found = contract(subscripts, *tensors)
    np.testing.assert_allclose(found.detach().numpy(), np.einsum(subscripts, *operands))
    assert pb.autograd.gradcheck(lambda *given: contract(subscripts, *given), tensors)
