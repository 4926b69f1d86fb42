"""A program of all collectives on the arrays of each rank, and the same without ranks; run by threads or by mpiexec.

`mpiexec -n 3 python -m tests.distributed.collective_programs` prints the largest error of each rank.
"""

import numpy as np

import pullback as pb
from pullback.distributed import allgather, allreduce, alltoall, bcast, reduce_scatter, shift


def data(rank, size):
    """(w, v, x) of one rank: of the first two there are derivatives."""
    rng = np.random.default_rng([rank, size])
    return [rng.standard_normal(shape) for shape in ((size, 3), (3,), (size, 3))]


def program(comm, w, v, x, **options):
    """Each rank: its part of a field, mixed with those of others in every way; its part of the loss."""
    rank = comm.Get_rank()
    u = np.sin(w * x)
    u = u + 0.5 * shift(u, comm, 1, **options) * shift(u, comm, -1, wrap=False, **options)
    field = allgather(u, comm, **options)  # all of it, on every rank
    mean = allreduce(np.sum(u), comm, **options)
    mine = reduce_scatter(u * v, comm, **options)
    turned = alltoall(np.exp(0.1 * u) * v, comm, **options)
    b = bcast(v, comm, 1, **options)
    return np.sum((field[rank] * np.sum(field, 0) - mean * b + mine * turned) ** 2) * (1 + rank)


def loss_of(rank, ws, vs, xs):
    """The loss of one rank, in one process."""
    size = len(ws)
    us = [np.sin(w * x) for w, x in zip(ws, xs, strict=True)]
    after = [*us[1:], 0.0]
    us = [us[r] + 0.5 * us[r - 1] * after[r] for r in range(size)]
    mean, total = sum(np.sum(u) for u in us), sum(us)
    mine = sum(u[rank] * v for u, v in zip(us, vs, strict=True))
    turned = np.stack([np.exp(0.1 * u[rank]) * v for u, v in zip(us, vs, strict=True)])
    return np.sum((us[rank] * total - mean * vs[1] + mine * turned) ** 2) * (1 + rank)


def on_rank(comm, **options):
    """Gradients and second derivatives of one rank, by Tensors, by transforms, and in forward mode."""
    w, v, x = data(comm.Get_rank(), comm.Get_size())
    tensors = [pb.tensor(a, requires_grad=True) for a in (w, v)]
    loss = program(comm, *tensors, x, **options)
    first = pb.autograd.grad(loss, tensors, create_graph=True)
    second = pb.autograd.grad((first[0] * first[0]).sum() + (first[1] ** 3).sum(), tensors)
    f = lambda w, v: program(comm, w, v, x, **options)  # noqa: E731
    by_func = pb.func.grad(f, argnums=(0, 1))(w, v)
    squares = lambda w, v: sum(np.sum(g**n) for g, n in zip(pb.func.grad(f, (0, 1))(w, v), (2, 3), strict=True))  # noqa: E731
    again = pb.func.grad(squares, argnums=(0, 1))(w, v)
    forward = pb.func.jvp(f, (w, v), (np.cos(w), np.sin(v)))[1]
    over = pb.func.jvp(lambda *args: pb.func.grad(f, argnums=(0, 1))(*args), (w, v), (np.cos(w), np.sin(v)))[1]
    batch = pb.func.vmap(pb.func.grad(f, argnums=(0, 1)))(np.stack([w, 2 * w]), np.stack([v, v]))
    return [np.asarray(g.detach() if isinstance(g, pb.Tensor) else g) for g in (
        *first, *second, *by_func, *again, forward, *over, *batch)]  # fmt: skip


def expected(size):
    """The same for each rank, from one process."""
    ws, vs, xs = zip(*[data(rank, size) for rank in range(size)], strict=True)
    given, places = (*ws, *vs), tuple(range(2 * size))
    along = (*map(np.cos, ws), *map(np.sin, vs))

    def one(rank):
        return lambda *args: loss_of(rank, args[:size], args[size:], xs)

    def gradients(*args):
        return pb.func.grad(lambda *args: sum(one(rank)(*args) for rank in range(size)), places)(*args)

    def squares(*args):
        return sum(np.sum(g ** (2 if i < size else 3)) for i, g in enumerate(gradients(*args)))

    first, second = gradients(*given), pb.func.grad(squares, places)(*given)
    over = pb.func.jvp(gradients, given, along)[1]
    doubled = gradients(*[2 * w for w in ws], *vs)
    found = []
    for r in range(size):
        of_rank = [x for these in 2 * [first, second] for x in (these[r], these[size + r])]
        forward = pb.func.jvp(one(r), given, along)[1]
        batch = [np.stack([first[i], doubled[i]]) for i in (r, size + r)]
        found.append([*of_rank, forward, over[r], over[size + r], *batch])
    return found


def error(found, wanted):
    """The largest difference, as a part of the largest number of each array."""
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, wanted, strict=True))


if __name__ == "__main__":
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for check_order in (False, True):
        largest = error(on_rank(world, check_order=check_order), expected(world.Get_size())[world.Get_rank()])
        print(f"rank {world.Get_rank()} of {world.Get_size()}: {largest:.1e}", flush=True)
