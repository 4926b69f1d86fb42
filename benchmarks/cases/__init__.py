"""All cases, in the order of the table."""

from benchmarks.case import Case
from benchmarks.cases import digits_mlp, fused, import_time, large_mlp, million_nodes, operators, rosenbrock, small_ops

ALL = [
    *small_ops.CASES,
    rosenbrock.CASE,
    digits_mlp.CASE,
    large_mlp.CASE,
    *fused.CASES,
    million_nodes.CASE,
    import_time.CASE,
    operators.TABLE,
]


def named(name: str) -> Case:
    """The case of that name, a line of a table included."""
    cases = {one.name: one for one in ALL if isinstance(one, Case)}
    cases |= {one.name: one for pair in operators.TABLE.rows.values() for one in pair}
    return cases[name]
