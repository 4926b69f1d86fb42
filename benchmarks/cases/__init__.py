"""All cases, in the order of the table."""

from benchmarks.case import Case, Table
from benchmarks.cases import (
    digits_mlp,
    fused,
    import_time,
    large_mlp,
    million_nodes,
    operators,
    rosenbrock,
    small_ops,
    spatial,
)

ALL = [
    *small_ops.CASES,
    rosenbrock.CASE,
    digits_mlp.CASE,
    large_mlp.CASE,
    *fused.CASES,
    million_nodes.CASE,
    import_time.CASE,
    operators.TABLE,
    spatial.TABLE,
]


def named(name: str) -> Case:
    """The case of that name, a line of a table included."""
    cases = {one.name: one for one in ALL if isinstance(one, Case)}
    tables = [one for one in ALL if isinstance(one, Table)]
    cases |= {one.name: one for table in tables for pair in table.rows.values() for one in pair}
    return cases[name]
