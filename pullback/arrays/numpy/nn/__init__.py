"""Kernels of the area nn: layers, losses and activations of neural networks."""

from pullback.arrays.numpy.nn.ctc import ctc_loss_rows, ctc_loss_rows_backward, ctc_loss_rows_double_backward
from pullback.arrays.numpy.nn.embedding_bags import bag_argmax, bag_of_each
from pullback.arrays.numpy.nn.layers import (
    causal_mask, embedding_rows, embedding_rows_backward, gelu, gelu_backward, linear, log_softmax,
    log_softmax_backward,
    native_dropout, one_hot, softmax, softmax_backward, softplus, softsign,
)
from pullback.arrays.numpy.nn.linear_losses import linear_cross_entropy_rows
from pullback.arrays.numpy.nn.losses import (
    binary_cross_entropy_elements, binary_cross_entropy_logit_elements, cross_entropy_loss,
    cross_entropy_loss_backward, lifted_variance, mse_loss, nll_loss, nll_loss_backward,
)
from pullback.arrays.numpy.nn.normalisations import _layer_norm
