"""A training step that is mostly matrix products: how close to BLAS it comes."""

from benchmarks.case import Case
from benchmarks.mlp import Shape, contenders

CASE = Case(
    name="large-mlp",
    title="training step, batch 512, 1024-2048-1024, float32: forward, backward, SGD update",
    build=contenders(Shape(batch=512, inputs=1024, hidden=2048, classes=1024)),
    goals={"torch": 1.15},
    rtol=1e-4,
)
