"""Our own stand-in for torch.testing._internal.common_dtype: named groups of dtypes."""

import torch


def _types(*names):
    return tuple(getattr(torch, n) for n in names)


_INT = ("uint8", "int8", "int16", "int32", "int64")


def integral_types():
    return _types(*_INT)


def floating_types():
    return _types("float32", "float64")


def complex_types():
    return _types("complex64", "complex128")


def floating_and_complex_types():
    return floating_types() + complex_types()


def all_types():
    return floating_types() + integral_types()


def all_types_and_complex():
    return all_types() + complex_types()


def floating_types_and(*more):
    return floating_types() + more


def floating_and_complex_types_and(*more):
    return floating_and_complex_types() + more


def all_types_and(*more):
    return all_types() + more


def all_types_and_complex_and(*more):
    return all_types_and_complex() + more


def get_all_fp_dtypes(include_half=True, include_bfloat16=True):
    names = ["float32", "float64"] + ["float16"] * include_half + ["bfloat16"] * include_bfloat16
    # A library that has no bfloat16, for which a placeholder stands, is tested without it.
    return [dtype for dtype in _types(*names) if isinstance(getattr(dtype, "itemsize", None), int)]
