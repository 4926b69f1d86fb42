"""Where PyTorch raises for the same reason, our error holds its well-known phrase and can be caught as PyTorch's.

Each line was provoked in PyTorch 2.13 too; the phrase is what people search for, and what their tests match.
"""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.utils import checkpoint

F = pb.nn.functional


def leaf(*shape, dtype=None):
    return pb.ones(*(shape or (3,)), dtype=dtype, requires_grad=True)


class Base(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


class WrongCount(Base):
    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class WrongShape(Base):
    @staticmethod
    def backward(ctx, grad):
        return pb.ones(2)


class OldStyle(pb.autograd.Function):
    def forward(self, x):
        return x


def called(function):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = function()
    made(leaf())


class NoBackward(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


class View(Base):
    @staticmethod
    def forward(ctx, x):
        return x.view(3)


class SavesANumber(Base):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(1)
        return x * 2


class DirtyButNotReturned(Base):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.add_(1)
        return x * 2


class Triple(Base):
    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def modified():
    x = leaf()
    y = x.exp()
    y += 1
    y.sum().backward()


def twice():
    y = (leaf() ** 2).sum()
    y.backward()
    y.backward()


def viewed_under_no_grad():
    y = leaf() * 1
    with pb.no_grad():
        v = y[:2]
    v.mul_(2)


def inference():
    with pb.inference_mode():
        return pb.ones(3)


def nan_in_backward():
    with pb.autograd.detect_anomaly():
        ((leaf() * 0).sqrt() * 0).sqrt().sum().backward()


def hooked(hook):
    x = leaf()
    x.register_hook(hook)
    x.sum().backward()


def node_hooked(register, hook):
    y = leaf() * 2
    getattr(y.grad_fn, register)(hook)
    y.sum().backward()


def dual(*args):
    with forward_ad.dual_level():
        return forward_ad.make_dual(*args)


def dual_of_dual():
    with forward_ad.dual_level():
        forward_ad.make_dual(pb.ones(3), forward_ad.make_dual(pb.ones(3), pb.ones(3)))


def applied_to_dual(function):
    with forward_ad.dual_level():
        return function(forward_ad.make_dual(pb.ones(3), pb.ones(3)))


def wrong_level():
    forward_ad.enter_dual_level()
    try:
        forward_ad.exit_dual_level(level=2)
    finally:
        forward_ad.exit_dual_level()


def changing():
    calls = []

    def function(x):
        calls.append(1)
        return x * x if len(calls) == 1 else pb.cat([x, x]) * pb.cat([x, x])

    checkpoint.checkpoint(function, leaf(), use_reentrant=False).sum().backward()


def hooks_twice():
    saved = (leaf() ** 2).grad_fn._raw_saved_self
    saved.register_hooks(lambda x: x, lambda x: x)
    saved.register_hooks(lambda x: x, lambda x: x)


def unpacked_as(value):
    with pb.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: value):
        y = leaf() ** 2
    y.sum().backward()


grad, functional = pb.autograd.grad, pb.autograd.functional
RuntimeAndType = (RuntimeError, TypeError)
GRAPHS = [
    (modified, "one of the variables needed for gradient computation has been modified by an inplace operation"),
    (twice, "Trying to backward through the graph a second time"),
    (lambda: pb.ones(3).sum().backward(), "element 0 of tensors does not require grad and does not have a grad_fn"),
    (lambda: leaf().backward(), "grad can be implicitly created only for scalar outputs"),
    (lambda: leaf(dtype=pb.complex128).sum().backward(), "grad can be implicitly created only for real scalar outputs"),
    (lambda: grad(leaf().sum(), pb.ones(3)), "One of the differentiated Tensors does not require grad"),
    (
        lambda: grad(leaf().sum(), leaf()),
        "One of the differentiated Tensors appears to not have been used in the graph",
    ),
    (lambda: grad(leaf().sum(), leaf()), "The differentiated Tensor at index 0 appears to not have been used"),
    (lambda: grad(leaf().sum(), []), "`inputs` argument to `grad()` cannot be empty"),
    (lambda: (leaf() * 2).backward(pb.ones(2)), "Mismatch in shape: grad_output[0] has a shape of"),
    (lambda: (leaf() * 2).backward("a"), "gradients can be either Tensors or None, but got str", TypeError),
    (lambda: leaf().add_(1), "a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda: leaf()[:2].add_(1), "a view of a leaf Variable that requires grad is being used in an in-place operation"),
    (lambda: (leaf() * 1).unbind(0)[0].add_(1), "is a view and is being modified inplace"),
    (lambda: (leaf() * 1).split(2)[0].add_(1), "Output 0 of split is a view and is being modified inplace"),
    (lambda: View.apply(leaf() * 1).add_(1), "is a view and is being modified inplace"),
    (viewed_under_no_grad, "A view was created in no_grad mode and is being modified inplace with grad mode enabled"),
    (lambda: pb.ones(1).expand(3).add_(1), "more than one element of the written-to tensor refers to a single memory"),
    (lambda: leaf().resize_(2), "cannot resize variables that require grad"),
    (lambda: leaf().numpy(), "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead"),
    (lambda: pb.maximum(pb.tensor([1j]), pb.tensor([1j])), "not implemented for complex tensors"),
    (lambda: pb.linalg.inv(pb.ones(2, 3)), "A must be batches of square matrices, but they are 2 by 3 matrices"),
    (lambda: pb.linalg.inv(pb.zeros(2, 2)), "The diagonal element 1 is zero, the inversion could not be completed"),
    (lambda: pb.linalg.solve(pb.ones(2, 2), pb.ones(3)), "Incompatible shapes of A and B for the equation AX = B"),
    (lambda: pb.linalg.solve(pb.zeros(2, 2), pb.ones(2)), "The solver failed because the input matrix is singular"),
    (lambda: pb.linalg.cholesky(-pb.eye(2)), "The factorization could not be completed because the input is not"),
    (lambda: pb.meshgrid(pb.ones(2), pb.ones(2, 2)), "Expected 0D or 1D tensor in the tensor list"),
    (lambda: pb.meshgrid(pb.ones(2), pb.tensor([1])), "meshgrid expects all tensors to have the same dtype"),
    (lambda: pb.meshgrid(pb.ones(2), indexing="ab"), 'indexing must be one of "xy" or "ij", but received: ab'),
    (lambda: pb.ones(4).split(-1), "split expects split_size be non-negative, but got split_size=-1"),
    (lambda: pb.ones(4).split(0), "split_size can only be 0 if dimension size is 0"),
    (lambda: pb.ones(4).split([1, 2]), "split_with_sizes expects split_sizes to sum exactly to 4"),
    (lambda: pb.ones(4).split([-1, 5]), "split_with_sizes expects split_sizes have only non-negative entries"),
    (lambda: pb.stack([pb.ones(2), pb.ones(3)]), "stack expects each tensor to be equal size, but got [2] at entry 0"),
    (lambda: pb.ones(2).expand(3), "The expanded size of the tensor (3) must match the existing size (2)"),
    (lambda: pb.ones(2, 2).expand(2), "the number of sizes provided (1) must be greater or equal to the number of"),
    (lambda: pb.ones(2, 3).T.view(6), "view size is not compatible with input tensor's size and stride"),
    (lambda: pb.ones(3).topk(5), "selected index k out of range"),
    (lambda: pb.ones(3).masked_fill(pb.ones(3), 0), "only supports boolean masks"),
    (lambda: pb.multinomial(pb.ones(3), 5), "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
    (lambda: np.asarray(leaf()), "Can't call numpy() on Tensor that requires grad"),
    (lambda: (leaf() * 2).requires_grad_(False), "you can only change requires_grad flags of leaf variables"),
    (lambda: pb.tensor([1]).requires_grad_(), "Only Tensors of floating point and complex dtype can", RuntimeAndType),
    (lambda: pb.tensor([1], requires_grad=True), "floating point and complex dtype can require", RuntimeAndType),
    (lambda: setattr(leaf(), "grad", pb.ones(2)), "attempting to assign a gradient of size '[2]' to a tensor of size"),
    (lambda: setattr(leaf(), "grad", 1), "assigned grad expected to be a Tensor or None but got grad of", TypeError),
    (lambda: hooked(lambda g: 1), "expected Variable, but hook returned 'int'", TypeError),
    (lambda: hooked(lambda g: pb.ones(2)), "has changed the size of value"),
    (lambda: node_hooked("register_prehook", lambda g: 1), "expected tuple, but hook returned 'int'", TypeError),
    (
        lambda: node_hooked("register_prehook", lambda g: (g, g)),
        "has returned an incorrect number of values (got 2, but",
    ),
    (nan_in_backward, "returned nan values in its 0th output"),
    (hooks_twice, "Calling register_hooks on a saved tensor whose hooks have already been set"),
    (lambda: unpacked_as(1), "Output of saved tensor unpack_hook expected to be a Tensor but got result of", TypeError),
    (lambda: inference().add_(1), "Inplace update to inference tensor outside InferenceMode is not allowed"),
    (
        lambda: inference().requires_grad_(),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not",
    ),
]
FUNCTIONS = [
    (
        lambda: WrongCount.apply(leaf()).sum().backward(),
        "returned an incorrect number of gradients (expected 1, got 2)",
    ),
    (
        lambda: WrongShape.apply(leaf()).sum().backward(),
        "WrongShapeBackward returned an invalid gradient at index 0 - got [2] but expected shape compatible with [3]",
    ),
    (lambda: called(OldStyle), "Legacy autograd function with non-static forward method is deprecated", TypeError),
    (
        lambda: NoBackward.apply(leaf()).sum().backward(),
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with",
        NotImplementedError,
    ),
    (
        lambda: SavesANumber.apply(leaf()),
        "save_for_backward can only save variables, but argument 0 is of type",
        TypeError,
    ),
    (lambda: DirtyButNotReturned.apply(leaf() * 1), "Some elements marked as dirty during the forward method were not"),
    (
        lambda: dual(pb.ones(3), pb.ones(2)),
        "Trying to set a forward gradient that has a different size than that of the",
    ),
    (
        lambda: forward_ad.make_dual(pb.ones(3), pb.ones(3)),
        "Trying to create a dual Tensor for forward AD but no level",
    ),
    (dual_of_dual, "Setting a forward grad that itself has a forward gradient at the same level"),
    (wrong_level, "Trying to exit a forward AD level that was not the last one that was created"),
    (lambda: forward_ad.exit_dual_level(), "Dual level must be a positive number"),
    (
        lambda: applied_to_dual(Base.apply),
        "You must implement the jvp function for custom autograd.Function to use it with forward mode AD",
        NotImplementedError,
    ),
    (
        lambda: applied_to_dual(lambda x: pb.add(x, x, out=pb.ones(3))),
        "Trying to use forward AD with add_out that does",
    ),
    (lambda: pb.autograd.gradcheck(Triple.apply, leaf()), "Jacobian mismatch for output 0 with respect to input 0"),
    (
        lambda: pb.autograd.gradcheck(Base.apply, pb.ones(3)),
        "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True",
        ValueError,
    ),
    (
        lambda: functional.hessian(lambda x: x, pb.ones(2)),
        "The Tensor returned by the function given to hessian should",
    ),
    (lambda: functional.vjp(lambda x: x, pb.ones(2)), "The vector v can only be None if the user-provided function"),
    (lambda: functional.jacobian(lambda x: x, pb.tensor([1])), "floating point and complex dtype", RuntimeAndType),
    (
        lambda: functional.jacobian(lambda x: pb.ones(2), pb.ones(2), strict=True),
        "Output 0 of the user-provided function does not require gradients",
    ),
    (lambda: pb.func.grad(lambda x: x.sum())(pb.tensor([1])), "Tensors of floating point dtype can", RuntimeAndType),
    (changing, "Recomputed values for the following tensors have different metadata than during the forward pass"),
    (
        lambda: grad(checkpoint.checkpoint(pb.sin, x := leaf(), use_reentrant=True).sum(), x),
        "is incompatible with .grad() or passing an `inputs` parameter to .backward()",
    ),
]
OPERATORS = [
    (
        "pb.ones(2) + pb.ones(3)",
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    (
        "pb.ones(2, 3) * pb.ones(4)",
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
    ),
    ("pb.ones(2).maximum(pb.ones(3))", "The size of tensor a (2) must match the size of tensor b (3)"),
    ("pb.ones(2, 3) @ pb.ones(2, 3)", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    ("pb.mm(pb.ones(2, 3), pb.ones(2, 3))", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    ("pb.addmm(pb.ones(2), pb.ones(2, 3), pb.ones(2, 3))", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    ("pb.mv(pb.ones(2, 3), pb.ones(2))", "size mismatch, got input (2), mat (2x3), vec (2)"),
    (
        "pb.dot(pb.ones(2), pb.ones(3))",
        "inconsistent tensor size, expected tensor [2] and src [3] to have the same number",
    ),
    (
        "pb.bmm(pb.ones(2, 2, 3), pb.ones(2, 2, 3))",
        "Expected size for first two dimensions of batch2 tensor to be: [2, 3]",
    ),
    ("pb.ones(2, 3).reshape(4)", "shape '[4]' is invalid for input of size 6"),
    ("pb.ones(2, 3).view(-1, -1)", "only one dimension can be inferred"),
    ("pb.ones(2).sum(2)", "Dimension out of range (expected to be in range of [-1, 0], but got 2)", IndexError),
    (
        "pb.ones(2, 3).unsqueeze(5)",
        "Dimension out of range (expected to be in range of [-3, 2], but got 5)",
        IndexError,
    ),
    ("pb.ones(2, 3).transpose(0, 2)", "Dimension out of range (expected to be in range of [-2, 1], but", IndexError),
    ("pb.ones(2, 3).sum((0, 0))", "appears multiple times in the list of dims"),
    ("pb.ones(3)[5]", "index 5 is out of bounds for dimension 0 with size 3", IndexError),
    ("pb.ones(3)[pb.tensor([5])]", "index 5 is out of bounds for dimension 0 with size 3", IndexError),
    ("pb.ones(3)[0, 0]", "too many indices for tensor of dimension 1", IndexError),
    ("pb.tensor(1.0)[0]", "invalid index of a 0-dim tensor", IndexError),
    ("pb.cat([pb.ones(2, 2), pb.ones(2, 3)])", "Sizes of tensors must match except in dimension"),
    ("pb.cat([pb.ones(2, 2), pb.ones(2)])", "Tensors must have same number of dimensions: got 2 and 1"),
    ("bool(pb.ones(3))", "Boolean value of Tensor with more than one value is ambiguous"),
    ("bool(pb.ones(0))", "Boolean value of Tensor with no values is ambiguous"),
    ("pb.ones(3).item()", "a Tensor with 3 elements cannot be converted to Scalar"),
    ("float(pb.ones(3))", "only one element tensors can be converted to Python scalars", (RuntimeError, ValueError)),
    ("pb.ones(-1)", "Trying to create tensor with negative dimension"),
    ("pb.tensor([1, 2]).mean()", "could not infer output dtype. Input dtype must be either a floating", RuntimeAndType),
    ("pb.tensor([1, 2]).std()", "std and var only support floating point and complex dtypes", RuntimeAndType),
    ("pb.tensor([1, 2]).add_(0.5)", "can't be cast to the desired output type", RuntimeAndType),
    ("pb.tensor([True]) - pb.tensor([True])", "Subtraction, the `-` operator, with two bool tensors", RuntimeAndType),
    ("-pb.tensor([True])", "Negation, the `-` operator, on a bool tensor is not supported", RuntimeAndType),
    ("pb.tensor([1.0]) & pb.tensor([1.0])", "not defined for the dtypes", RuntimeAndType),
]


def check(provoke, phrase, classes=RuntimeError):
    with pytest.raises(Exception, match=r"(?s).") as raised:
        provoke()
    for kind in classes if isinstance(classes, tuple) else (classes,):
        assert isinstance(raised.value, kind), repr(raised.value)
    assert phrase in str(raised.value)


@pytest.mark.parametrize("case", [*GRAPHS, *FUNCTIONS], ids=lambda case: case[1][:50])
def test_the_phrase_of_pytorch(case):
    check(*case)


@pytest.mark.parametrize("case", OPERATORS, ids=lambda case: case[0])
def test_the_phrase_of_an_operator(case):
    code, *expected = case
    check(lambda: eval(code, {"pb": pb}), *expected)


o, i = pb.ones, pb.tensor
LAYERS = [
    (lambda: F.linear(o(2, 3, 4), o(5, 3)), "mat1 and mat2 shapes cannot be multiplied (6x4 and 3x5)"),
    (lambda: F.linear(o(2, 3), o(4, 3), o(5)), "The size of tensor a (4) must match the size of tensor b (5)"),
    (lambda: o(2, 3, 4) @ o(3, 4, 5), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton"),
    (lambda: pb.bmm(o(2, 3, 4), o(3, 4, 4)), "batch2 tensor to be: [2, 4] but got: [3, 4]"),
    (lambda: pb.bmm(o(3, 4), o(3, 4, 4)), "batch1 must be a 3D tensor"),
    (lambda: pb.mm(o(2, 3), o(4)), "mat2 must be a matrix"),
    (lambda: pb.mm(o(2), o(4, 4)), "self must be a matrix"),
    (lambda: pb.mv(o(2), o(4)), "vector + matrix @ vector expected, got 1, 1, 1"),
    (lambda: pb.dot(o(2, 2), o(4)), "1D tensors expected, but got 2D and 1D tensors"),
    (lambda: pb.outer(o(2, 2), o(4)), "outer: Expected 1-D argument self, but got 2-D"),
    (lambda: pb.trace(o(2)), "trace: expected a matrix, but got tensor with dim 1"),
    (lambda: pb.einsum("ij,jk", o(2, 3)), "fewer operands were provided than specified in the equation"),
    (lambda: pb.einsum("ij", o(2, 3), o(2, 3)), "more operands were provided than specified in the equation"),
    (
        lambda: pb.einsum("ijk->i", o(2, 3)),
        "the number of subscripts in the equation (3) does not match the number of dimensions (2) for operand 0",
    ),
    (lambda: pb.einsum("i1->i", o(2, 3)), "invalid subscript given at index 1 in the equation string, subscripts must"),
    (lambda: pb.einsum("ij,jk->ik", o(2, 3), o(4, 5)), "subscript j has size 4 for operand 1 which does not broadcast"),
    (lambda: pb.einsum("ij->k", o(2, 3)), "output subscript k does not appear in the equation for any input operand"),
    (lambda: pb.einsum("ij->ii", o(2, 3)), "output subscript i appears more than once"),
    (
        lambda: F.conv2d(o(1, 3, 5, 5), o(2, 4, 3, 3)),
        "Given groups=1, weight of size [2, 4, 3, 3], expected input[1, 3, 5, 5] to have 4 channels, but got",
    ),
    (lambda: F.conv_transpose2d(o(1, 3, 5, 5), o(2, 4, 3, 3)), "Given transposed=1, weight of size [2, 4, 3, 3]"),
    (
        lambda: F.conv2d(o(3, 5), o(2, 3, 3, 3)),
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input",
    ),
    (
        lambda: F.conv2d(o(1, 3, 2, 2), o(2, 3, 3, 3)),
        "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than",
    ),
    (
        lambda: F.conv2d(o(1, 3, 5, 5), o(2, 3, 3, 3), o(3)),
        "expected bias to be 1-dimensional with 2 elements, but got",
    ),
    (lambda: F.conv2d(o(1, 3, 5, 5), o(2, 3, 3, 3), stride=0), "non-positive stride is not supported"),
    (lambda: F.conv2d(o(1, 3, 5, 5), o(2, 3, 3, 3), groups=0), "non-positive groups is not supported"),
    (
        lambda: F.conv2d(o(1, 3, 5, 5), o(2, 3, 3, 3), dilation=0),
        "dilation should be greater than zero, but got [0, 0]",
    ),
    (lambda: F.conv2d(o(1, 4, 5, 5), o(3, 2, 3, 3), groups=2), "expected weight to be divisible by 2 at dimension 0"),
    (lambda: F.conv2d(o(1, 3, 5, 5), o(2, 3, 3, 3), padding="foo"), "Invalid padding string: 'foo'"),
    (lambda: F.max_pool2d(o(1, 3, 5, 5), 2, padding=2), "pad should be at most half of effective kernel size"),
    (lambda: F.max_pool2d(o(1, 3, 1, 1), 3), "Output size is too small"),
    (lambda: F.max_pool2d(o(5, 5), 2), "non-empty 3D or 4D (batch mode) tensor expected for input"),
    (lambda: F.avg_pool2d(o(1, 3, 5, 5), 0), "stride should not be zero"),
    (lambda: F.avg_pool2d(o(1, 3, 5, 5), 2, divisor_override=0), "divisor must be not zero"),
    (lambda: F.adaptive_avg_pool2d(o(5, 5), 2), "Expected 3D or 4D tensor, but got [5, 5]"),
    (
        lambda: F.layer_norm(o(2, 3), (4,)),
        "Given normalized_shape=[4], expected input with shape [*, 4], but got input",
    ),
    (lambda: F.layer_norm(o(2, 3), (3,), o(4)), "Expected weight to be of same shape as normalized_shape, but got"),
    (lambda: F.group_norm(o(2, 3), 2), "Expected number of channels in input to be divisible by num_groups"),
    (lambda: F.group_norm(o(2, 4), 2, o(3)), "Expected weight to be a vector of size equal to the number of channels"),
    (lambda: F.batch_norm(o(2, 3), o(4), o(3)), "running_mean should contain 3 elements not 4"),
    (lambda: pb.cdist(o(2, 3), o(2, 4)), "X1 and X2 must have the same number of columns. X1: 3 X2: 4"),
    (lambda: pb.cdist(o(3), o(2, 4)), "cdist only supports at least 2D tensors, X1 got: 1D"),
    (lambda: pb.cdist(o(2, 3), o(2, 3), p=-1), "cdist only supports non-negative p values"),
    (lambda: pb.cdist(i([[1]]), i([[1]])), "cdist only supports floating-point dtypes, X1 got: Long"),
    (lambda: F.nll_loss(o(2, 3), i([0, 5])), "Target 5 is out of bounds.", IndexError),
    (lambda: F.cross_entropy(o(2, 3), i([0, 5])), "Target 5 is out of bounds.", IndexError),
    (lambda: F.nll_loss(o(2, 3), i([0, 1, 2])), "Expected input batch_size (2) to match target batch_size (3)."),
    (lambda: F.nll_loss(o(2, 3), i([[0], [1]])), "0D or 1D target tensor expected, multi-target not supported"),
    (lambda: F.nll_loss(o(2, 3), o(2)), "expected target dtype to be Long or Byte, but got Double"),
    (lambda: F.nll_loss(o(2, 3), i([0, 1]), o(4)), "weight tensor should be defined either for all 3 classes or no"),
    (lambda: pb.trapezoid(o(2, 3), o(4)), "trapezoid: There must be one `x` value for each sample point"),
    (
        lambda: o(3, 2).index_add(0, i([0, 1]), o(3, 2)),
        "Number of indices (2) should be equal to source.size(dim): (3)",
    ),
    (
        lambda: o(3, 2).index_add(0, i([0, 1]), o(2, 3)),
        "source tensor shape must match self tensor shape, excluding the",
    ),
    (
        lambda: o(3, 2).index_add(0, i([0, 1]), o(2, 2, dtype=pb.float32)),
        "self (Double) and source (Float) must have the same scalar type",
    ),
    (lambda: o(3, 2).index_select(0, i([9])), "index out of range in self", IndexError),
    (lambda: o(3, 2).index_select(0, o(1)), "Expected dtype int32 or int64 for index"),
    (
        lambda: o(3, 2).gather(0, i([[0, 0, 0]])),
        "expected index [1, 3] to be no larger than self [3, 2] apart from dim",
    ),
    (lambda: pb.take(o(3), i([7])), "out of range: tried to access index 7 on a tensor of 3 elements.", IndexError),
    (lambda: o(3) & o(3), "not implemented for 'Double'"),
    (lambda: pb.atan2(o(3) * 1j, o(3)), "not implemented for 'ComplexDouble'"),
    (lambda: F.gelu(i([1])), "not implemented for 'Long'"),
    (lambda: F.softmax(i([1]), 0), "not implemented for 'Long'"),
]


FUNCTIONS_OF_ARRAYS = [
    (lambda: pb.quantile(o(3), 1.5), "quantile() q must be in the range [0, 1] but got 1.5"),
    (lambda: o(2, 3).repeat(2), "Number of dimensions of repeat dims can not be smaller than number of dimensions of"),
    (lambda: pb.diag(o(2, 2, 2)), "diag(): Supports 1D or 2D tensors. Got 3D"),
    (lambda: pb.tril(o(3)), "tril: input tensor must have at least 2 dimensions"),
    (lambda: pb.triu(o(3)), "triu: input tensor must have at least 2 dimensions"),
    (lambda: pb.cov(o(2, 2, 2)), "cov(): expected input to have two or fewer dimensions but got an input with 3 dim"),
    (lambda: pb.tensordot(o(2, 3), o(2, 3), dims=1), "contracted dimensions need to match, but first has size 3 in"),
    (lambda: pb.searchsorted(o(2, 3), o(3, 2)), "boundaries tensor should be 1 dimension or the first N-1 dimensions"),
    (lambda: pb.bucketize(o(3), o(2, 3)), "boundaries tensor must be 1 dimension, but got dim(2)"),
    (lambda: pb.rot90(o(2, 3), 1, (0,)), "expected total rotation dims == 2, but got dims = 1"),
    (lambda: pb.cross(o(2, 3), o(2, 2)), "linalg.cross: inputs dimension 1 must have length 3. Got 3 and 2"),
    (lambda: pb.fft.fft(o(3), norm="x"), 'Invalid normalization mode: "x"'),
    (lambda: pb.bincount(i([-1, 2])), "bincount only supports 1-d non-negative integral inputs."),
    (lambda: F.glu(o(2, 3)), "Halving dimension must be even, but dimension 1 is size 3"),
    (lambda: F.pad(o(2, 3), (1,)), "Padding length must be divisible by 2"),
    (lambda: F.pad(o(2), (1, 1, 1, 1)), "Padding length should be less than or equal to two times the input dim"),
    (lambda: F.fold(o(2, 3), (4, 4), (2, 2)), "Expected size of input's dimension 1 to be divisible by the product"),
    (lambda: F.grid_sample(o(2, 3), o(2, 3)), "grid_sampler(): expected 4D or 5D input and grid with same number of"),
    (lambda: F.prelu(o(2, 3), o(2)), "Found parameter numbers = 2 and channel size = 3."),
    (lambda: F.pixel_shuffle(o(1, 3, 2, 2), 2), "input.size(-3)=3 is not divisible by 4"),
    (lambda: F.embedding(o(2), o(2, 3)), "Expected tensor for argument #1 'indices' to have one of the following"),
    (lambda: F.one_hot(o(2)), "one_hot is only applicable to index tensor of type LongTensor."),
    (lambda: F.one_hot(i([5]), 2), "Class values must be smaller than num_classes."),
]


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case[1][:50])
def test_the_phrase_of_a_layer(case):
    check(*case)


@pytest.mark.parametrize("case", FUNCTIONS_OF_ARRAYS, ids=lambda case: case[1][:50])
def test_the_phrase_of_a_function_of_arrays(case):
    check(*case)


def test_a_phrase_that_does_not_fit_the_call_is_left_out():
    check(lambda: pb.dot(o(2, 3), 1.5), "dot(input: float64(2, 3), tensor: 1.5): ")


def test_the_error_still_names_culprit_and_operands():
    with pytest.raises(RuntimeError, match=r"add\(input: float64\(2,\), other: float64\(3,\)\): The size of tensor a"):
        pb.ones(2) + pb.ones(3)
