"""A training step of the size of the digits demo: many operators, small matrices."""

from benchmarks.case import Case
from benchmarks.mlp import Shape, contenders

CASE = Case(
    name="digits-mlp",
    title="training step, batch 64, 64-64-10, float32: forward, backward, SGD update",
    build=contenders(Shape(batch=64, inputs=64, hidden=64, classes=10)),
    goals={"torch": 0.9},
    rtol=1e-4,
)
