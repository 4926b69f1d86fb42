"""Calls that a type checker refuses; each line says with which error: see test_typing.py. Never run."""

import numpy as np

import pullback as pb
import pullback.nn.functional as F
from pullback.autograd import gradcheck

x = pb.ones(2, 2)
labels = pb.tensor([0, 1])

pb.sinn(x)  # error: attr-defined
pb.linalg.svdd(x)  # error: attr-defined
x.summ()  # error: attr-defined
x.grad_function  # error: attr-defined
pb.sin("x")  # error: arg-type
pb.sin(x, x)  # error: call-arg
pb.sin(x, outt=x)  # error: call-arg
pb.sin()  # error: call-arg
pb.logsumexp(x)  # error: call-overload
pb.logsumexp(x, dim="0")  # error: arg-type
pb.logsumexp(x, 0, keepdim="yes")  # error: call-overload
pb.logsumexp(x, 0, True, x)  # error: call-overload
x.sum(dim=1.5)  # error: arg-type
x.sum(axes=0)  # error: call-arg
x.mean(keepdim=None)  # error: arg-type
pb.max(x, 0).value  # error: attr-defined
values, indices, more = pb.max(x, 0)  # error: misc
number: float = pb.sum(x)  # error: assignment
x.add(x, alpha="2")  # error: call-overload
x.add_("1")  # error: call-overload
x + "1"  # error: operator
x @ 2  # error: operator
x < "a"  # error: operator
x["a"] = "b"  # error: assignment
pb.zeros("2")  # error: arg-type
pb.zeros(2, dtype=3)  # error: arg-type
pb.zeros(2, requires_gradd=True)  # error: call-arg
pb.cat([x], dimm=0)  # error: call-arg
pb.cat([x, "y"])  # error: list-item
pb.where(x > 0, x, "0")  # error: arg-type
x.masked_fill(x > 0)  # error: call-arg
x.reshape("2")  # error: arg-type
x.permute()  # error: call-arg
x.expand()  # error: call-arg
x.repeat()  # error: call-arg
x.view()  # error: call-overload
pb.linspace("0", 1, 5)  # error: arg-type
pb.nonzero(x, as_tuple=True).shape  # error: attr-defined
pb.unique(x, return_counts=True).shape  # error: attr-defined
pb.unique(x, return_count=True)  # error: call-overload
x.size("0")  # error: call-overload
x.stride(0).shape  # error: attr-defined
x.transpose(0)  # error: call-arg
x.transpose(0, "1")  # error: arg-type
x.shape = (4,)  # error: misc
x.requires_grad_("yes")  # error: arg-type
x.backward(retain_graph="yes")  # error: arg-type
x.register_hook(3)  # error: arg-type
x.to(pb.float32, copies=True)  # error: call-overload
pb.linalg.solve(x)  # error: call-arg
pb.linalg.svd(x, full_matrices="no")  # error: arg-type
pb.linalg.svd(x).V  # error: attr-defined
pb.fft.fft(x, n="2")  # error: arg-type
pb.special.zeta(x)  # error: call-arg
F.cross_entropy(x)  # error: call-arg
F.cross_entropy(x, labels, reduction=1)  # error: arg-type
F.conv2d(x, x, groups="2")  # error: arg-type
F.layer_norm(x, 2)  # error: arg-type
pb.no_grad(3)  # error: call-overload
pb.autograd.grad(x, retain=True)  # error: call-overload
pb.autograd.gradd(x)  # error: attr-defined
pb.autograd.functional.hessiann(x)  # error: attr-defined
pb.autograd.grad(x, x).shape  # error: attr-defined
gradcheck(pb.sin)  # error: call-arg
pb.func.grad(3)  # error: arg-type
pb.tensor([1.0], require_grad=True)  # error: arg-type
pb.asarray([1.0], requires_gradd=True)  # error: arg-type
pb.func.jvp(np.sin, (1.0,))  # error: call-arg
pb.testing.assert_close(x)  # error: call-arg
pb.testing.OpInfo("sin", np.sin)  # error: call-arg
pb.testing.Skip("layout", "the name of the check is layouts")  # error: arg-type
pb.testing.check_operator("sin")  # error: arg-type
