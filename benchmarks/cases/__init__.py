"""All cases, in the order of the table."""

from benchmarks.case import Case, Table
from benchmarks.cases import (
    calls,
    chains,
    compiled,
    fused,
    gmm,
    million_nodes,
    networks,
    node_bytes,
    numpy_face,
    operators,
    package,
    rosenbrock,
    scipy_calls,
    spatial,
    training,
    transforms,
)

ALL = [
    *chains.CASES,
    rosenbrock.CASE,
    *training.CASES,
    gmm.CASE,
    *networks.CASES,
    *transforms.CASES,
    *fused.CASES,
    *calls.TABLES,
    numpy_face.TABLE,
    scipy_calls.TABLE,
    *package.CASES,
    million_nodes.CASE,
    *node_bytes.CASES,
    operators.TABLE,
    spatial.TABLE,
    compiled.TABLE,
]


def named(name: str) -> Case:
    """The case of that name, one of a table included."""
    rows = [row for one in ALL for row in (one.rows if isinstance(one, Table) else [[one]])]
    return {case.name: case for row in rows for case in row if isinstance(case, Case)}[name]
