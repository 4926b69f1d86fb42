"""Strided, reversed, Fortran-ordered and offset inputs."""

import pytest

from pullback.testing.opinfo.checks import check_layouts


@pytest.mark.check("layouts")
def test_memory_layout_makes_no_difference(info, dtype):
    check_layouts(info, dtype)
