"""What convolution, pooling and resampling say of arguments that they refuse."""

import numpy as np
import pytest

import pullback as pb

F = pb.nn.functional


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: F.max_pool2d(x, None), TypeError, r"max_pool2d.*kernel_size.* must be an int or a tuple.*None"),
        (lambda x: F.max_pool2d(x, 3, 1, 2, 2), RuntimeError, r"max_pool2d.*padding.*half.*\(2, 2\)"),
        (lambda x: F.avg_pool2d(x, 9), RuntimeError, r"avg_pool2d.*kernel_size \(9, 9\).*\(4, 4\)"),
        (lambda x: F.avg_pool2d([1.0], 2), TypeError, r"avg_pool2d.*'input' must be a Tensor.*\[1.0\]"),
        (lambda x: F.adaptive_avg_pool2d(x, 1.5), TypeError, r"adaptive_avg_pool2d.*output_size.*1.5"),
        (lambda x: F.lp_pool2d(x, 0, 2), RuntimeError, r"lp_pool2d.*norm_type.*0"),
        (lambda x: F.interpolate(x, "2"), TypeError, r"interpolate.*size.*'2'"),
        (lambda x: F.interpolate(x, scale_factor="2"), TypeError, r"interpolate.*scale_factor.*'2'"),
        (lambda x: F.upsample_bilinear(x, -1), RuntimeError, r"upsample_bilinear.*-1"),
        (lambda x: F.pad(x, [-5, 3]), RuntimeError, r"-5.*\(1, 4, 4, 4\)"),
        (lambda x: F.pad(x, 1), TypeError, r"pad.*tuple of integers.*1"),
        (lambda x: F.pad(x, [-4, 0, -4, 0], "replicate"), RuntimeError, r"pad.*nothing"),
        (lambda x: F.pad(x, [1, -4, 0, 0], "circular"), RuntimeError, r"pad.*\(1, -4\).*nothing to repeat"),
        (lambda x: F.pixel_shuffle(x, 2.0), TypeError, r"pixel_shuffle.*upscale_factor.*2.0"),
        (lambda x: F.grid_sample(x, np.ones((1, 1, 1, 2), int)), RuntimeError, r"grid_sample.*int64"),
        (
            lambda x: F.conv_transpose2d(x, np.ones((4, 1, 1, 1)), padding=2),
            RuntimeError,
            r"conv_transpose2d.*\(0, 0\)",
        ),
        (lambda x: F.bilinear(x, np.float64(1), np.ones((1, 4, 1))), RuntimeError, "bilinear.*one dimension"),
        (lambda x: F.roi_align(x, np.zeros((1, 5)), 1.5), TypeError, r"roi_align.*output_size.*1.5"),
    ],
)
def test_errors_name_operator_argument_and_value(call, error, words):
    x = np.ones((1, 4, 4, 4))
    with pytest.raises(error, match=words):
        call(x)
