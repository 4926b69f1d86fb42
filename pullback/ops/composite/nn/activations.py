"""The activations of `nn.functional` made of other operators, and those that write over their input.

Where an activation has two branches, the branch not taken is computed at a harmless point (`where` before the risky
function, and again after it), so that no overflow there becomes 0 * inf in a derivative.
"""

from pullback.ops.composite.checks import require_arrays
from pullback.ops.composite.nn.dropouts import rrelu

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
FAR = 100  # where softplus goes over to the identity: log(1 + exp(-100)) is lost beside 100 in double precision


def activated(function, input, inplace, ops):
    """function(input); if `inplace`, written over input, of which it then sees a copy, so that what it saves stays."""
    if not inplace:
        return function(input)
    input[...] = function(ops.clone(input))
    return input


def relu_functional(input, inplace=False, *, ops):
    """max(x, 0)."""
    if not inplace:
        return ops.relu(input)
    input[...] = ops.relu(input)  # relu saves its result, not its input: no copy is needed
    return input


def sigmoid_functional(input, *, ops):
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(input)


def tanh_functional(input, *, ops):
    """tanh(x)."""
    return ops.tanh(input)


def exp_branch(x, scale, alpha, ops):
    """x where positive, else alpha (exp(x / scale) - 1)."""
    positive = ops.gt(x, 0)
    return ops.where(positive, x, alpha * ops.expm1(ops.where(positive, 0.0, x) / scale))


def logsigmoid(input, *, ops):
    """-log(1 + exp(-x))."""
    return -ops.softplus(-input, 1, FAR)


def leaky_relu(input, negative_slope=0.01, inplace=False, *, ops):
    """x where positive, else negative_slope x."""
    return activated(lambda x: ops.where(ops.gt(x, 0), x, x * negative_slope), input, inplace, ops)


def prelu(input, weight, *, ops):
    """x where positive, else weight x."""
    require_arrays("prelu", input=input, weight=weight)
    if weight.ndim > 1:
        raise RuntimeError(f"prelu(): weight must be 0-d or 1-d, but has shape {weight.shape}.")
    if weight.size != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if input.ndim == 0 or weight.size != channels:
            raise RuntimeError(
                f"prelu(): weight must have one element or one a channel, but weight has shape {weight.shape} and "
                f"input {input.shape} ({channels if input.ndim else 'no'} channels)."
            )
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = weight.size
    return ops.where(ops.gt(input, 0), input, ops.reshape(weight, shape) * input)


def elu(input, alpha=1.0, inplace=False, *, ops):
    """x where positive, else alpha (exp(x) - 1)."""
    return activated(lambda x: exp_branch(x, 1.0, alpha, ops), input, inplace, ops)


def selu(input, inplace=False, *, ops):
    """A scaled elu."""
    return activated(lambda x: SELU_SCALE * exp_branch(x, 1.0, SELU_ALPHA, ops), input, inplace, ops)


def celu(input, alpha=1.0, inplace=False, *, ops):
    """x where positive, else alpha (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise RuntimeError("celu(): alpha must not be 0.")
    return activated(lambda x: exp_branch(x, alpha, alpha, ops), input, inplace, ops)


def silu(input, inplace=False, *, ops):
    """x sigmoid(x)."""
    return activated(lambda x: x * ops.sigmoid(x), input, inplace, ops)


def mish(input, inplace=False, *, ops):
    """x tanh(softplus(x))."""
    return activated(lambda x: x * ops.tanh(ops.softplus(x)), input, inplace, ops)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False, *, ops):
    """x between min_val and max_val; gradient 0 at both."""
    if min_val > max_val:
        raise ValueError(f"hardtanh(): min_val ({min_val}) must not be greater than max_val ({max_val}).")

    def cut_off(x):  # full_like keeps integers integers
        high = ops.where(ops.ge(x, max_val), ops.full_like(x, max_val), x)
        return ops.where(ops.le(x, min_val), ops.full_like(x, min_val), high)

    return activated(cut_off, input, inplace, ops)


def relu6(input, inplace=False, *, ops):
    """x between 0 and 6."""
    return hardtanh(input, 0, 6, inplace, ops=ops)


def hardsigmoid(input, inplace=False, *, ops):
    """x / 6 + 1/2 between 0 and 1."""
    return activated(
        lambda x: ops.where(ops.le(x, -3), 0.0, ops.where(ops.ge(x, 3), 1.0, x / 6 + 0.5)), input, inplace, ops
    )


def hardswish(input, inplace=False, *, ops):
    """x hardsigmoid(x)."""
    return activated(
        lambda x: ops.where(ops.le(x, -3), 0.0, ops.where(ops.ge(x, 3), x, x * (x / 6 + 0.5))), input, inplace, ops
    )


def tanhshrink(input, *, ops):
    """x - tanh(x)."""
    return input - ops.tanh(input)


def softshrink(input, lambd=0.5, *, ops):
    """x moved towards 0 by lambd, 0 within it."""
    if lambd < 0:
        raise RuntimeError(f"softshrink(): lambd must not be negative, but got {lambd}.")
    moved = ops.where(ops.gt(input, 0), input - lambd, input + lambd)  # NaN stays NaN, with gradient 1
    return ops.where(ops.le(ops.abs(input), lambd), 0, moved)


def hardshrink(input, lambd=0.5, *, ops):
    """x, 0 within lambd of 0."""
    return ops.where(ops.logical_and(ops.ge(input, -lambd), ops.le(input, lambd)), 0.0, input)


def threshold(input, threshold, value, inplace=False, *, ops):
    """x where above threshold, else value."""
    return activated(lambda x: ops.where(ops.le(x, threshold), ops.full_like(x, value), x), input, inplace, ops)


def celu_(input, alpha=1.0, *, ops):
    """celu over its input."""
    return celu(input, alpha, True, ops=ops)


def elu_(input, alpha=1.0, *, ops):
    """elu over its input."""
    return elu(input, alpha, True, ops=ops)


def hardtanh_(input, min_val=-1.0, max_val=1.0, *, ops):
    """hardtanh over its input."""
    return hardtanh(input, min_val, max_val, True, ops=ops)


def leaky_relu_(input, negative_slope=0.01, *, ops):
    """leaky_relu over its input."""
    return leaky_relu(input, negative_slope, True, ops=ops)


def relu_functional_(input, *, ops):
    """relu over its input."""
    return relu_functional(input, True, ops=ops)


def rrelu_(input, lower=1 / 8, upper=1 / 3, training=False, *, ops):
    """rrelu over its input."""
    return rrelu(input, lower, upper, training, True, ops=ops)


def selu_(input, *, ops):
    """selu over its input."""
    return selu(input, True, ops=ops)


def threshold_(input, threshold, value, *, ops):
    """threshold over its input."""
    return ops.threshold(input, threshold, value, True)


def glu(input, dim=-1, *, ops):
    """The first half times the sigmoid of the second."""
    require_arrays("glu", input=input)
    if input.ndim == 0:
        raise RuntimeError("glu(): a 0-d input has no dimension to halve.")
    length = input.shape[dim]
    if length % 2:
        raise RuntimeError(f"glu(): dimension {dim} must have even length, but it is {length} (shape {input.shape}).")
    half = length // 2
    return ops.narrow(input, dim, 0, half) * ops.sigmoid(ops.narrow(input, dim, half, half))


def softmax_functional(input, dim, dtype=None, *, ops):
    """softmax(x) along dim."""
    return ops.softmax(input, dim, dtype=dtype)


def log_softmax_functional(input, dim, dtype=None, *, ops):
    """log(softmax(x)) along dim."""
    return ops.log_softmax(input, dim, dtype=dtype)


def softmin(input, dim, dtype=None, *, ops):
    """softmax(-x)."""
    return ops.softmax(-input, dim, dtype=dtype)


def _softplus_slope(x, beta, threshold, *, ops):
    """sigmoid(beta x), and 1 above the threshold."""
    scaled = x * beta
    return ops.where(ops.gt(scaled, threshold), 1.0, ops.logistic(scaled))
