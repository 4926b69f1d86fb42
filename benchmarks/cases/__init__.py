"""All cases, in the order of the table."""

from benchmarks.cases import digits_mlp, fused, import_time, large_mlp, million_nodes, rosenbrock, small_ops

ALL = [
    *small_ops.CASES,
    rosenbrock.CASE,
    digits_mlp.CASE,
    large_mlp.CASE,
    *fused.CASES,
    million_nodes.CASE,
    import_time.CASE,
]
