"""The generated tangents against differences, for every operator.

A small array type, `Dual`, carries a tangent beside its primal; its kernels are NumPy's for the primals and the
generated tangent functions for the tangents. So composites are checked through the primitives that they call.
"""

import inspect

import numpy as np
import pytest

from pullback.codegen.generate import own_registry
from pullback.core.dispatch import NUMPY, register_array_type
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor, wrap
from pullback.ops.generated.tangents import TANGENTS
from pullback.testing import assert_close
from pullback.testing.opinfo.calls import accepted, flat_tensors, function_of, sampling, seeded, to_tensors
from pullback.testing.opinfo.core import Input, Plain, map_arrays

EPS = 1e-6
REGISTRY = own_registry()


class Dual:
    """A primal and its tangent: as much of an array as operators need."""

    base = None  # never a view, so tensors around it are none either

    def __init__(self, primal, tangent):
        self.primal, self.tangent = np.asarray(primal), np.asarray(tangent)
        assert self.tangent.shape == self.primal.shape, "a tangent has the shape of its primal"
        assert self.tangent.dtype.kind == self.primal.dtype.kind, "a tangent is real or complex as its primal is"

    def __getattr__(self, name):
        return getattr(self.primal, name)


class DualKernels(dict):
    """Kernels of every primitive on Duals, made when first asked for."""

    def __missing__(self, kernel):
        natives = [n for n in REGISTRY.natives if n.kernel == kernel]

        def run(*args):
            return run_with_tangents(next(n for n in natives if len(n.schema.args) == len(args)), args)

        return self.setdefault(kernel, run)


class DualTable:
    """The table of operators on Duals."""

    kernels = DualKernels()


register_array_type(Dual, DualTable())


def primal_of(x):
    """The primal in one argument of a kernel, or in each of a list."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(primal_of, x))
    return x.primal if isinstance(x, Dual) else x


def tangent_of(x):
    """The tangent in one argument of a kernel, or in each of a list; None where there is none."""
    return [tangent_of(y) for y in x] if isinstance(x, (list, tuple)) else x.tangent if isinstance(x, Dual) else None


def run_with_tangents(native, args):
    """What a primitive gives for these arguments, with tangents on its differentiable outputs."""
    schema, derivative = native.schema, REGISTRY.derivatives.get(native.schema.unique_name)
    assert not native.is_mutating, f"{schema.full_name} modifies its argument"
    result = NUMPY.kernels[native.kernel](*primal_of(args))
    if derivative is None:
        return result
    outputs = (result,) if len(schema.output_names) == 1 else result
    values = dict(zip(schema.output_names, outputs, strict=True))
    for arg, x in zip(schema.args, args, strict=True):
        number = arg.type.is_tensor and isinstance(x, (bool, int, float, complex))
        values[f"{arg.name}_p"], values[f"{arg.name}_t"] = np.asarray(x) if number else primal_of(x), tangent_of(x)
    function = TANGENTS[schema.unique_name]
    wanted = inspect.signature(function).parameters.keys() - {"ops"}
    tangents = dict(zip(derivative.tangents, function(**{k: values[k] for k in wanted}, ops=NUMPY), strict=True))
    if schema.returns_list:
        return [Dual(p, t) for p, t in zip(result, tangents[schema.output_names[0]], strict=True)]
    made = tuple(Dual(values[n], tangents[n]) if n in tangents else values[n] for n in schema.output_names)
    return made if len(made) > 1 else made[0]


def with_directions(tree, directions, step):
    """Arguments of a sample as tensors: moved along the directions by a number, or paired with them (step None)."""
    directions = iter(directions)

    def convert(x):
        if isinstance(x, Input) and x.dtype.kind in "fc":
            primal, direction = x.view(np.ndarray), next(directions)
            return wrap(Dual(primal, direction)) if step is None else from_numpy(np.asarray(primal + step * direction))
        return to_tensors(x if isinstance(x, Plain) else x.view(np.ndarray))

    return map_arrays(convert, tree)


def random_directions(sample):
    """A random direction for every differentiable input."""
    rng, directions = np.random.default_rng(0), []

    def draw(x):
        if isinstance(x, Input) and x.dtype.kind in "fc":
            v = rng.standard_normal(x.shape)
            directions.append(np.asarray(v + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else v))

    map_arrays(draw, (sample.args, sample.kwargs))
    return directions


def raw_results(info, sample, directions, step):
    """The arrays in the results of one call."""
    args, kwargs = with_directions((sample.args, sample.kwargs), directions, step)
    seeded(info)
    results = flat_tensors(function_of(info)(*args, **kwargs))
    return [r._array for r in results if r.dtype.kind in "fc"]


@pytest.mark.check("tangent")
def test_tangent_agrees_with_differences(info, dtype):
    for sample in accepted(info, dtype):
        directions = random_directions(sample)
        if not directions:
            continue
        with sampling(info, sample, dtype):
            duals = raw_results(info, sample, directions, None)
            above, below = (raw_results(info, sample, directions, step) for step in (EPS, -EPS))
            for dual, up, down in zip(duals, above, below, strict=True):
                assert not isinstance(dual, Tensor)
                tangent = dual.tangent if isinstance(dual, Dual) else np.zeros_like(dual)
                assert_close(tangent, (up - down) / (2 * EPS), rtol=1e-4, atol=1e-5, check_dtype=False)
