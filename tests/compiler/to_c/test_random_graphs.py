"""Random graphs of all areas as C, under the sanitizers, compared with NumPy's kernels."""

import os
import warnings
from math import prod

import numpy as np
import pytest

from pullback.compiler.native.lowering import Lowering
from pullback.compiler.native.program import Target, load_rules
from pullback.compiler.to_c.files import Files, Parameter
from pullback.compiler.to_c.recording import ExportKernels, ExportLowering, close_together
from tests.compiler.native import graphs
from tests.compiler.to_c import built


def in_c(program, folder, vector_bytes):
    """The source for a program; None where a step of it has no form in C."""
    load_rules()
    plan = program.plan
    lowering = ExportLowering(plan.graph, plan.results)
    for value in plan.inputs:
        lowering.input(value)
    if not all(map(lowering.take, plan.steps)) or not all(prod(x.shape) for x in plan.inputs):
        return None
    plan.graph.constants[:] = [(value, close_together(x), live) for value, x, live in plan.graph.constants]
    kernels = ExportKernels(plan.graph, plan.inputs, plan.steps, plan.results, Target(vector_bytes, blas=False))
    given = [Parameter(f"x{nr}", f"x{nr}", x) for nr, x in enumerate(plan.inputs)]
    found = [Parameter(f"y{nr}", f"y{nr}", x) for nr, x in enumerate(plan.results)]
    files = Files("model", "a random graph", kernels, given, found, [])
    source = folder / "model.c"
    source.write_text(files.source)
    (folder / "model.h").write_text(files.header)
    return source


def as_it_lies(x, value):
    """A result, which lies in memory as its value says."""
    strides = [s * x.itemsize for s in Lowering.layout(value)]
    return np.lib.stride_tricks.as_strided(x, x.shape, strides)


def check(seed, folder, monkeypatch):
    monkeypatch.setattr(graphs, "ordered", lambda rng, x: np.ascontiguousarray(x))
    vector_bytes = (0, 16, 32, 64)[seed % 4]
    graph = graphs.made(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if (source := in_c(graph.program, folder, vector_bytes)) is None:
            return False
        for strange in (False, True):
            given = graph.elsewhere(strange) if strange else graph.inputs
            expected = [np.asarray(x) for x in graph.program.plan.call(*given)]
            found = built.run(source, given, expected, built.SANITIZERS)
            for x, y, value in zip(found, expected, graph.program.plan.results, strict=True):
                assert graphs.near(as_it_lies(x, value), y, graph.tolerance) or strange, graphs.described(graph, seed)
    return True


@pytest.mark.parametrize("seed", range(3))
def test_a_random_graph(seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch)


@pytest.mark.skipif("PULLBACK_LONG" not in os.environ, reason="takes ten minutes: PULLBACK_LONG=1")
@pytest.mark.parametrize("part", range(10))
def test_many_more_random_graphs(part, tmp_path, monkeypatch):
    done = [check(seed, tmp_path, monkeypatch) for seed in range(1000 + 100 * part, 1100 + 100 * part)]
    assert sum(done) > 20
