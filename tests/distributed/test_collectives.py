"""Collectives by threads and by mpiexec: derivatives of the sum over ranks; errors where ranks would wait for ever."""

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.core.errors import GradientError, OperatorError
from pullback.distributed import (
    allgather,
    allreduce,
    alltoall,
    bcast,
    collectives_order,
    on_threads,
    reduce_scatter,
    shift,
)
from tests.distributed.collective_programs import error, expected, on_rank

ALL = {
    "allreduce": allreduce, "allgather": allgather, "bcast": bcast, "reduce_scatter": reduce_scatter,
    "alltoall": alltoall, "shift": shift,
    "shift without wrapping": lambda x, comm: shift(x, comm, -1, wrap=False),
}  # fmt: skip
MPIEXEC = Path(sys.executable).with_name("mpiexec")
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or not (MPIEXEC.exists() or shutil.which("mpiexec")),
    reason="needs mpi4py and an MPI: pip install pullback[mpi]",
)


def mpiexec(ranks, *arguments, program=None):
    """Run Python on so many ranks; returns the completed process."""
    command = [MPIEXEC if MPIEXEC.exists() else "mpiexec", "-n", str(ranks), sys.executable, *arguments]
    environment = {
        **os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }  # fmt: skip
    given = [*command, "-c", program] if program else command
    return subprocess.run(given, capture_output=True, text=True, check=False, env=environment, timeout=200)


# -- numbers ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("check_order", [False, True])
@pytest.mark.parametrize("ranks", [3, 4])
def test_derivatives_on_threads_are_those_of_one_process(ranks, check_order):
    found = on_threads(lambda comm: on_rank(comm, check_order=check_order), ranks)
    assert max(map(error, found, expected(ranks))) < 1e-14


@needs_mpi
def test_derivatives_under_mpiexec_are_those_of_one_process():
    done = mpiexec(3, "-m", "tests.distributed.collective_programs")
    assert done.returncode == 0, done.stderr
    errors = [float(line.split(": ")[1]) for line in done.stdout.splitlines()]
    assert len(errors) == 6
    assert max(errors) < 1e-14


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", ALL)
def test_gradcheck_on_one_rank(name, dtype):
    x = pb.tensor(np.arange(3.0).reshape(1, 3) + 1, dtype=dtype, requires_grad=True)

    def checked(comm):
        f = lambda x: ALL[name](x, comm)  # noqa: E731
        options = {"check_batched_grad": True, "check_forward_ad": True}
        return gradcheck(f, x, **options) and gradgradcheck(f, x, check_fwd_over_rev=True)

    assert on_threads(checked, 1) == [True]


@pytest.mark.parametrize("name", ALL)
def test_complex_gradients_are_those_of_the_transposed_map(name):
    """The sum over ranks of <g, A x> is that of <A* g, x>."""
    rng = np.random.default_rng(0)
    xs, gs = (rng.standard_normal((2, 3, 3, 2)) @ [1, 1j] for _ in range(2))

    def on_one(comm):
        rank = comm.Get_rank()
        x = pb.tensor(xs[rank][:2].copy(), requires_grad=True)
        y = ALL[name](x, comm)
        g = np.resize(gs[rank], y.shape)
        y.backward(pb.tensor(g))
        return np.vdot(g, y.detach().numpy()), np.vdot(x.grad.numpy(), x.detach().numpy())

    forward, backward = np.sum(on_threads(on_one, 2), axis=0)
    np.testing.assert_allclose(forward, backward, rtol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_a_batch_on_every_rank_is_that_of_each_sample(name):
    xs = np.random.default_rng(0).standard_normal((2, 5, 2, 3))
    f = ALL[name]
    batch = on_threads(lambda comm: pb.func.vmap(lambda x: f(x, comm))(xs[comm.Get_rank()]), 2)
    for k in range(5):
        one = on_threads(lambda comm: f(xs[comm.Get_rank()][k], comm), 2)  # noqa: B023
        for rank in range(2):
            np.testing.assert_array_equal(batch[rank][k], one[rank])


def test_nodes_have_the_names_of_the_collectives():
    x = pb.ones(1, 2, requires_grad=True)
    names = on_threads(lambda comm: [f(x, comm).grad_fn.name() for f in ALL.values()], 1)[0]
    assert names[:6] == [
        "AllReduceBackward", "AllGatherBackward", "BroadcastBackward", "ReduceScatterBackward", "AllToAllBackward",
        "ShiftBackward",
    ]  # fmt: skip


def test_what_a_rank_receives_is_its_own():
    def on_one(comm):
        x = np.ones(3)
        y, z = bcast(x, comm), shift(x, comm)
        y.add_(comm.Get_rank())
        z.mul_(5)
        comm.barrier()
        return x.tolist(), y.tolist()

    assert on_threads(on_one, 2) == [([1.0] * 3, [1.0] * 3), ([1.0] * 3, [2.0] * 3)]


# -- what would hang ----------------------------------------------------------------------------------------------
def other_order(comm, check_order):
    x = pb.ones(2, requires_grad=True)
    for f in (allreduce, allgather) if comm.Get_rank() else (allgather, allreduce):
        f(x, comm, check_order=check_order)


def unused_result(comm, check_order):
    x = pb.ones(2, requires_grad=True)
    y = allreduce(x, comm, check_order=check_order)
    (y if comm.Get_rank() else x).sum().backward()


def other_shape(comm, check_order):
    allgather(np.ones(2 + comm.Get_rank()), comm, check_order=check_order)


def one_that_requires_grad(comm, check_order):
    allreduce(pb.ones(2, requires_grad=comm.Get_rank() == 1), comm, check_order=check_order)


WRONG = {
    other_order: ["call different methods", "rank 0: allgather, float64 \\(2,\\), requires grad\n *rank 1: allreduce"],
    unused_result: ["rank 0 has returned", "rank 0 has returned"],
    other_shape: ["must have one shape and dtype on all ranks", "rank 1: allgather, float64 \\(3,\\)"],
    one_that_requires_grad: [None, "rank 0: allreduce, float64 \\(2,\\)\n *rank 1: allreduce, .* requires grad"],
}  # fmt: skip


@pytest.mark.parametrize("check_order", [False, True])
@pytest.mark.parametrize("program", WRONG)
def test_what_would_hang_on_threads_is_an_error(program, check_order):
    match, before = WRONG[program][check_order], threading.active_count()
    if match is None:
        on_threads(lambda comm: program(comm, check_order), 2)
    else:
        with pytest.raises(RuntimeError, match=match) as caught:
            on_threads(lambda comm: program(comm, check_order), 2)
        assert caught.value.__notes__[0].startswith("on rank ")
    assert threading.active_count() == before


class Late:
    """A communicator like mpi4py's, on which nobody else comes."""

    def __init__(self, inside):
        self.inside = inside

    def __getattr__(self, name):
        return getattr(self.inside, name)

    def Ibarrier(self):
        return self

    def Test(self):
        return False


def test_ranks_that_do_not_come_are_an_error_after_a_while(monkeypatch):
    monkeypatch.setattr(collectives_order, "PATIENCE", 0.05)
    with pytest.raises(
        GradientError, match=r"has waited 0\.05 s for others that do not come to shift 1, float64 \(2,\)"
    ):
        on_threads(lambda comm: shift(np.ones(2), Late(comm), check_order=True), 1)


HANGS = """
from mpi4py import MPI
from pullback.distributed import collectives_order
from tests.distributed.test_collectives import other_order, unused_result
try:
    other_order(MPI.COMM_WORLD, True)
except RuntimeError as error:
    print(error, flush=True)
collectives_order.PATIENCE = 2.0
unused_result(MPI.COMM_WORLD, True)
"""


@needs_mpi
def test_what_would_hang_under_mpiexec_is_an_error():
    done = mpiexec(2, program=HANGS)
    assert done.returncode != 0
    assert done.stdout.count("rank 0: allgather, float64 (2,), requires grad\n  rank 1: allreduce") == 2
    assert "rank 1 of 2 has waited 2 s for others that do not come to backward of allreduce" in done.stderr


# -- other mistakes -----------------------------------------------------------------------------------------------
def test_an_error_of_one_rank_ends_the_others_and_is_raised():
    def on_one(comm):
        if comm.Get_rank() == 1:
            raise KeyError("mine")
        allreduce(np.ones(2), comm)

    with pytest.raises(KeyError, match="mine") as caught:
        on_threads(on_one, 3)
    assert caught.value.__notes__ == ["on rank 1 of 3"]


def test_ranks_start_from_the_modes_of_the_caller():
    x = pb.ones(2, requires_grad=True)
    with pb.no_grad():
        assert on_threads(lambda comm: allreduce(x, comm).requires_grad, 2) == [False, False]


def test_bad_arguments_are_refused():
    comm = on_threads(lambda comm: comm, 1)[0]
    with pytest.raises(TypeError, match=r"allreduce: comm must be a communicator .*; int has no method Get_rank"):
        allreduce(np.ones(2), 3)
    with pytest.raises(ValueError, match="bcast: root must be one of the ranks 0 to 0, got 1"):
        bcast(np.ones(2), comm, 1)
    for f in (reduce_scatter, alltoall):
        for shape in ((), (2, 3)):
            with pytest.raises(OperatorError, match="one entry for each of the 1 ranks, got an array of shape"):
                on_threads(lambda comm: f(np.ones(shape), comm), 1)  # noqa: B023
    for wrong in (0, True, 1.5):
        with pytest.raises((ValueError, TypeError), match="on_threads: ranks must be"):
            on_threads(lambda comm: None, wrong)
    with pytest.raises(TypeError, match="f must be a function of a communicator, got int"):
        on_threads(3, 2)
