"""Helpers of the formulas of connectionist temporal classification."""

__all__ = ["ctc_loss_product"]


def ctc_loss_product(x, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank, *, ops):
    """The derivative of each row's loss along x: the sum of the row's gradient times x."""
    ones = ops.ones_like(losses)
    slope = ops.ctc_loss_rows_backward(
        ones, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank
    )
    return ops.sum(slope * x, (0, 2))
