"""How splines run inside of vmap: their operators broadcast the dimensions in front of grids, places and values."""

from __future__ import annotations

from pullback.arrays.batched.rules import on_slices, rule

_VALUES, _SPREAD = "scipy_ndimage.spline_values", "scipy_ndimage.spline_spread"
rule(_VALUES)(on_slices(_VALUES, (0, 1), lambda args: [len(args[4]), 2]))
rule(_SPREAD)(on_slices(_SPREAD, (0, 1), lambda args: [1, 2]))
