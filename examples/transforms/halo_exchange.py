"""A heated rod that is cut among ranks: which source explains its temperatures? Gradients go through halo exchanges.

python examples/transforms/halo_exchange.py               runs the ranks as four threads
mpiexec -n 4 python examples/transforms/halo_exchange.py  as processes, which needs mpi4py and an MPI
"""

import os

import numpy as np

import pullback as pb
from pullback.distributed import on_threads, shift

CELLS, TIMES = 48, 16


def heated(comm, source):
    """The temperatures of the cells of this rank in the end; the rod is cold at first, and at its ends always."""
    u = 0 * source
    for _ in range(TIMES):
        before, after = shift(u[-1:], comm, 1, wrap=False), shift(u[:1], comm, -1, wrap=False)
        whole = np.concatenate((before, u, after))
        u = u + 0.4 * (whole[2:] - 2 * u + whole[:-2]) + source
    return u


def misfit(source, comm, measured):
    """The part of this rank in the sum of squares."""
    return np.sum((heated(comm, source) - measured) ** 2)


def true_source(comm):
    """The source that is to be found, on the cells of this rank."""
    x = np.array_split(np.linspace(0, 1, CELLS), comm.Get_size())[comm.Get_rank()]
    return 0.02 * np.exp(-(((x - 0.3) / 0.08) ** 2)) + 0.01 * (np.abs(x - 0.7) < 0.1)


def fit(comm, steps=15):
    """(the source found, the true one, the misfit before each step), of this rank, by conjugate gradients."""
    truth = true_source(comm)
    measured = heated(comm, truth)
    # What is differentiated is the sum over ranks: each gets the gradient by its own part of the source.
    value_and_gradient = pb.func.value_and_grad(misfit)
    source, direction, length, losses = np.zeros_like(truth), 0.0, np.inf, []
    for _ in range(steps):
        value, gradient = value_and_gradient(source, comm, measured)
        before, length = length, comm.allreduce(gradient @ gradient)
        direction = length / before * direction - gradient
        image = heated(comm, direction)  # which is linear in the source
        source = source + length / comm.allreduce(2 * image @ image) * direction
        losses.append(comm.allreduce(value))
    return source, truth, losses


def main(ranks=4):
    """(the source found, the true one, the misfits) of the whole rod, by threads."""
    parts = on_threads(fit, ranks)
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), parts[0][2]


if __name__ == "__main__":
    if {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & set(os.environ):  # started by mpiexec
        from mpi4py import MPI

        found, truth, losses = fit(MPI.COMM_WORLD)
        where = f"rank {MPI.COMM_WORLD.Get_rank()} of {MPI.COMM_WORLD.Get_size()}"
    else:
        (found, truth, losses), where = main(), "4 threads"
    print(
        f"{where}: the misfit went from {losses[0]:.1e} to {losses[-1]:.1e}; "
        f"the source is right to {np.abs(found - truth).max():.1e} of {np.abs(truth).max():.1e}",
        flush=True,
    )
