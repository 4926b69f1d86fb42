"""Fit a classifier to data that stay in files, and watch the memory: `python larger_than_memory.py [workers]`.

The columns of the data have different scales, so the loss normalises each by its mean and deviation over all data. That
is no plain sum over the data, and its gradient goes through both sums.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from pullback import optimize

COLUMNS = 20
SCALES = 10.0 ** np.linspace(-2, 2, COLUMNS)
WEIGHTS = np.linspace(-1, 1, COLUMNS)  # by which the data are labelled


def write(folder: Path, files: int, rows: int) -> list[Path]:
    """Write files of labelled points: the label is the last column."""
    found = []
    for k in range(files):
        rng = np.random.default_rng(k)
        z = rng.standard_normal((rows, COLUMNS))
        label = np.sign(z @ WEIGHTS + rng.standard_normal(rows))
        np.save(folder / f"{k}.npy", np.column_stack([z * SCALES + 3 * SCALES, label]))
        found.append(folder / f"{k}.npy")
    return found


def moments(log_scale: Any, data: Any) -> Any:
    """How many points there are, and the sums of their columns and of the squares, where large values are drawn in."""
    x = squeezed(log_scale, data)
    return {"n": len(x), "sum": np.sum(x, axis=0), "squares": np.sum(x * x, axis=0)}


def squeezed(log_scale: Any, data: Any) -> Any:
    """The columns, drawn in by a function whose width is fitted."""
    return np.arcsinh(data[:, :-1] / SCALES * np.exp(log_scale))


def likelihood(w: Any, log_scale: Any, mean: Any, deviation: Any, data: Any) -> Any:
    """The negative log-likelihood of the labels."""
    x = (squeezed(log_scale, data) - mean) / deviation
    return np.sum(np.logaddexp(0.0, -data[:, -1] * (x @ w)))


def loss_over(paths: list[Path], workers: Any = None) -> Any:
    """The mean loss over all files, as a function of the parameters: two passes over the data, and two backward."""
    data = [Loaded(path) for path in paths]
    of_moments = pb.distributed.sum_over(moments, data, workers)
    of_likelihood = pb.distributed.sum_over(likelihood, data, workers)

    def loss(p: Any) -> Any:
        found = of_moments(p["log_scale"])
        mean = found["sum"] / found["n"]
        deviation = np.sqrt(found["squares"] / found["n"] - mean**2)
        return of_likelihood(p["w"], p["log_scale"], mean, deviation) / found["n"] + 1e-3 * np.sum(p["w"] ** 2)

    return loss


class Loaded:
    """The data in a file, which a worker loads."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> Any:
        """Return the array."""
        return np.load(self.path)


def fit(loss: Any, steps: int) -> Any:
    """The parameters after so many steps of BFGS."""
    start = {"w": np.zeros(COLUMNS), "log_scale": 0.0}
    return optimize.minimize(loss, start, options={"maxiter": steps}, compile=False)


@contextlib.contextmanager
def watched() -> Iterator[list[tuple[float, float]]]:
    """A list of (seconds, megabytes that this process has in memory), which grows in the block."""
    found: list[tuple[float, float]] = []
    over, began = threading.Event(), time.perf_counter()

    def watch() -> None:
        while not over.wait(0.005):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            found.append((time.perf_counter() - began, pages * os.sysconf("SC_PAGE_SIZE") / 1e6))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def main(workers: int | None = None, files: int = 16, rows: int = 50_000, steps: int = 3) -> tuple[Any, float, float]:
    """Fit, and return (the result, the megabytes of the data, those that the fit took)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), files, rows)
        size = sum(path.stat().st_size for path in paths) / 1e6
        with watched() as memory:
            found = fit(loss_over(paths, workers), steps)
    start, most = memory[0][1], max(used for _, used in memory)
    print(f"{files} files, {size:.0f} MB: loss {found.fun:.4f} after {found.nfev} values and gradients")
    print(f"memory of this process: {start:.0f} MB at the start, {most:.0f} MB at most")
    return found, size, most - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else None)
