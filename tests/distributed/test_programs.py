import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from tests.distributed.programs import PROGRAMS, W, X, Y, derivatives
from tests.distributed.workers import WORKERS

ROOT = Path(__file__).parents[2]


def whole(function):
    """The sum over all data, in one piece."""
    return lambda *args: function(*args, X, Y)


def parted(workers):
    """The same over partitions of unequal sizes."""
    parts = pb.distributed.rows(X, Y, size=17)
    return lambda function: pb.distributed.sum_over(function, parts, workers)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_over_partitions_are_exact_to_second_order(name):
    for found, expected in zip(
        derivatives(PROGRAMS[name], parted(None)), derivatives(PROGRAMS[name], whole), strict=True
    ):
        assert np.max(np.abs(found - expected)) <= 1e-13 * np.max(np.abs(expected))


def some(workers):
    """Numbers of three programs, to the last bit: of a tuple, a tree with a whole number, and a scalar."""
    names = ("normalised columns", "contrastive", "log of a sum")
    return [np.asarray(x).tobytes() for name in names for x in derivatives(PROGRAMS[name], parted(workers))]


# Libraries of others warn of ports, of processes that fork and of what they close late.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WORKERS)
def test_every_kind_of_worker_gives_the_same_bits(kind, workers):
    assert some(workers(kind)) == some(None)


@pytest.mark.skipif("PULLBACK_LONG" not in os.environ, reason="takes a minute: PULLBACK_LONG=1")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WORKERS)
def test_every_program_has_the_same_bits_on_every_kind_of_worker(kind, workers):
    for name, loss in PROGRAMS.items():
        found, expected = (derivatives(loss, parted(x)) for x in (workers(kind), None))
        assert all(map(np.array_equal, found, expected)), name


OF_MPI = """
from mpi4py.futures import MPIPoolExecutor
from tests.distributed.test_programs import some
if __name__ == "__main__":
    with MPIPoolExecutor() as workers:
        assert some(workers) == some(None)
    print("equal")
"""


def test_mpi_gives_the_same_bits(tmp_path):
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    pytest.importorskip("mpi4py")
    if mpiexec is None:
        pytest.skip("no mpiexec")
    (tmp_path / "of_mpi.py").write_text(OF_MPI)
    as_root = {f"{kind}_ALLOW_RUN_AS_ROOT{more}": "1" for kind in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
    command = [mpiexec, "-n", "2", sys.executable, "-m", "mpi4py.futures", tmp_path / "of_mpi.py"]
    environment = (
        os.environ | as_root | {"PYTHONPATH": str(ROOT), "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    )
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "equal\n", done.stderr


BATCH = np.stack([W, W / 2])
TRANSFORMS = {
    "jacfwd": pb.func.jacfwd,
    "hessian": pb.func.hessian,
    "reverse over reverse": lambda f: pb.func.jacrev(pb.func.jacrev(f)),
    "reverse over forward": lambda f: pb.func.grad(lambda w: pb.func.jvp(f, (w,), (W / 3,))[1]),
    "forward over reverse": lambda f: lambda w: pb.func.jvp(pb.func.grad(f), (w,), (W / 3,))[1],
    "linearize": lambda f: lambda w: pb.func.linearize(pb.func.grad(f), w)[1](W / 3),
    "jet": lambda f: lambda w: pb.func.jet(f, (w,), ((W / 3, W / 5),))[1][1],
    "vmap of grad": lambda f: lambda w: pb.func.vmap(pb.func.grad(f))(BATCH),
    "grad of vmap": lambda f: lambda w: pb.func.grad(lambda ws: np.sum(pb.func.vmap(f)(ws)))(BATCH),
    "third order": lambda f: pb.func.grad(lambda w: np.sum(pb.func.hessian(f)(w))),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", ["normalised columns", "contrastive"])
def test_a_sum_has_the_derivatives_of_every_transform(name, transform):
    found, expected = (
        TRANSFORMS[transform](functools.partial(PROGRAMS[name], total))(W) for total in (parted(None), whole)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
