"""Every kind of worker, for tests: `WORKERS[name]` is a context manager that gives what `workers=` takes."""

import contextlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

_SPAWN = multiprocessing.get_context("spawn")


@contextlib.contextmanager
def _loky():
    loky = pytest.importorskip("loky")
    executor = loky.get_reusable_executor(max_workers=1)
    yield executor
    executor.shutdown(wait=True)


@contextlib.contextmanager
def _joblib():
    joblib = pytest.importorskip("joblib")
    yield lambda f, xs: joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(f)(x) for x in xs)


@contextlib.contextmanager
def _client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@contextlib.contextmanager
def _pool_map():
    with _SPAWN.Pool(1) as pool:
        yield pool.map


WORKERS = {
    "map": lambda: contextlib.nullcontext(map),
    "threads": lambda: ThreadPoolExecutor(2),
    "own processes": lambda: contextlib.nullcontext(2),
    "ProcessPoolExecutor": lambda: ProcessPoolExecutor(1, mp_context=_SPAWN),
    "Pool.map": _pool_map,
    "loky": _loky,
    "joblib": _joblib,
    "dask": _client,
}
