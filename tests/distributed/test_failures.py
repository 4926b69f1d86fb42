"""What fails in a worker, and what is left behind: nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.distributed import sum_over
from tests.distributed.workers import WORKERS

ROOT = Path(__file__).parents[2]
W = np.array([0.1, 0.2])


class Strange(ValueError):
    """An error that pickle cannot load again."""

    def __init__(self, row, what):
        super().__init__(f"row {row} is {what}")


def failing(w, x):
    if x == 3:
        raise Strange(17, "empty")
    return np.sum(w * x)


def plain_failing(w, x):
    if x == 3:
        raise KeyError("weights")
    return np.sum(w * x)


def killing(w, x, flag, times):
    """Sum of sines; the process that computes partition 5 is killed so many times."""
    if x == 5 and len(list(Path(flag).iterdir())) < times:
        (Path(flag) / str(time.monotonic_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return np.sum(np.sin(w * x))


def sines(w, x):
    return np.sum(np.sin(w * x))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["map", "threads", "own processes", "dask"])
def test_an_error_arrives_once_with_the_number_of_its_partition(kind, workers):
    for function, error in ((failing, "row 17 is empty"), (plain_failing, "weights")):
        with pytest.raises(Exception, match=error) as caught:
            pb.func.grad(sum_over(function, range(6), workers(kind)))(W)
        assert [note for note in caught.value.__notes__ if "partition" in note] == ["in partition 3"]


def test_an_error_of_another_process_shows_where_it_came_from():
    with pytest.raises(KeyError) as caught:
        sum_over(plain_failing, range(6), 2)(W)
    assert "in plain_failing" in str(caught.value.__cause__)


@pytest.mark.parametrize("kind", ["own processes", "ProcessPoolExecutor", "loky"])
@pytest.mark.filterwarnings("ignore:.*worker stopped", "ignore::ResourceWarning")
def test_a_killed_worker_costs_its_partitions_alone(kind, tmp_path):
    parts = [(x, str(tmp_path), 1) for x in range(12)]
    told = pytest.warns(RuntimeWarning, match="given as `workers` has lost a process")
    with WORKERS[kind]() as workers, contextlib.nullcontext() if kind == "own processes" else told:
        assert sum_over(killing, parts, workers)(W) == sum_over(sines, range(12))(W)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.filterwarnings("ignore")
def test_dask_computes_lost_partitions_again(tmp_path, workers):
    total = sum_over(killing, [(x, str(tmp_path), 1) for x in range(8)], workers("dask"))
    assert total(W) == sum_over(sines, range(8))(W)


def test_a_partition_that_kills_each_time_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"lost 3 times while it computed one of the partitions .*5"):
        sum_over(killing, [(x, str(tmp_path), 9) for x in range(8)], 2)(W)


def test_a_partition_is_tried_again_as_often_as_is_said():
    left = [2]

    def flaky(w, x):
        if x == 1 and left[0]:
            left[0] -= 1
            raise OSError("no connection")
        return np.sum(w * x)

    assert sum_over(flaky, [1, 2], retries=2)(W) == sum_over(lambda w, x: np.sum(w * x), [1, 2])(W)
    left[0] = 2
    with pytest.raises(OSError, match="no connection"):
        sum_over(flaky, [1, 2], retries=1)(W)


@pytest.fixture
def without_cloudpickle(monkeypatch):
    from pullback.workers import shipping

    shipping._dumps.cache_clear()
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    yield
    shipping._dumps.cache_clear()


def test_what_cannot_be_pickled_is_named_with_its_line(without_cloudpickle):
    total = sum_over(lambda w, x: np.sum(w * x), [1.0], 1)
    line = f"{__file__}:{sys._getframe().f_lineno - 1}"
    with pytest.raises(RuntimeError, match="cannot be sent to another process") as caught:
        total(W)
    assert line in str(caught.value)
    assert "pip install cloudpickle" in str(caught.value)


def test_a_captured_lock_is_named():
    lock = threading.Lock()

    def guarded(w, x):
        with lock:
            return np.sum(w * x)

    with pytest.raises(RuntimeError, match=r"'lock' in .*guarded \(.*test_failures.py:\d+\) is a") as caught:
        sum_over(guarded, [1.0], 1)(W)
    assert "ThreadPoolExecutor" in str(caught.value)
    with ThreadPoolExecutor(1) as threads:
        assert sum_over(guarded, [1.0], threads)(W) == sum_over(guarded, [1.0])(W)


def test_data_that_cannot_be_pickled_are_named():
    with pytest.raises(RuntimeError, match="data of partition 0"):
        sum_over(sines, [threading.Lock()], 1)(W)


def test_lambdas_are_sent_where_cloudpickle_is_installed():
    pytest.importorskip("cloudpickle")
    factor = 2.0
    assert sum_over(lambda w, x: factor * np.sum(w * x), [1.0, 2.0], 1)(np.ones(2)) == 12.0


# -- programs of their own, whose processes are counted afterwards -----------------------------------------------------
SLEEPY = """
import os, sys, time
import numpy as np
import pullback as pb

def slow(w, x):
    time.sleep(60 if x == 9 else 0.01)
    return np.sum(w * x)

def failing(w, x):
    if x == 3:
        raise ValueError("row 17")
    return np.sum(w * x)

if __name__ == "__main__":
    pb.distributed.sum_over(slow, [1, 2], 2)(np.ones(2))
    if sys.argv[1] == "fails":
        pb.distributed.sum_over(failing, range(8), 2)(np.ones(2))
    print("ready", flush=True)
    try:
        pb.distributed.sum_over(slow, range(20), 2)(np.ones(2))
    except KeyboardInterrupt:
        print(pb.distributed.sum_over(slow, [1, 2], 2)(np.ones(2)), flush=True)
"""


def processes_of(session):
    """Those of a session, as Linux tells them, that are not about to end."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, *rest = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        if int(rest[2]) == session and state != "Z":
            found.append(command)
    return found


@pytest.fixture
def sleepy(tmp_path):
    """Start the program, and kill what is left of it in the end."""
    started = []

    def start(mode):
        (tmp_path / "sleepy.py").write_text(SLEEPY)
        command, environment = [sys.executable, tmp_path / "sleepy.py", mode], os.environ | {"PYTHONPATH": str(ROOT)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
        started.append(subprocess.Popen(command, env=environment, **pipes))
        return started[0]

    yield start
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started[0].pid, signal.SIGKILL)
    started[0].stdout.close()
    started[0].stderr.close()


def nothing_left(program):
    deadline = time.monotonic() + 20
    while found := processes_of(program.pid):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return True


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted by /proc")


@linux
@pytest.mark.parametrize("sign", [
    pytest.param("SIGINT", marks=pytest.mark.skipif("PULLBACK_LONG" not in os.environ, reason="wants an idle machine")),
    "SIGKILL",
])  # fmt: skip
def test_no_process_outlives_a_program_that_is_interrupted(sleepy, sign):
    program = sleepy("runs")
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.5)
    if sign == "SIGINT":
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does: to the workers too
        assert program.stdout.readline() == "6.0\n", program.stderr.read()
        program.wait(60)
    else:
        program.kill()
        program.wait(60)
    assert nothing_left(program)


@linux
def test_no_process_outlives_a_program_that_fails(sleepy):
    program = sleepy("fails")
    _, said = program.communicate(timeout=60)
    assert said.rstrip().endswith("ValueError: row 17\nin partition 3")
    assert nothing_left(program)


def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path):
    (tmp_path / "bare.py").write_text(
        "import numpy as np, pullback as pb\nprint(pb.distributed.sum_over(np.dot, [np.ones(2)], 2)(np.ones(2)))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, tmp_path / "bare.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


def test_no_engine_is_imported_before_it_is_used():
    code = (
        "import sys, numpy as np, pullback as pb; ours = {'pullback.distributed', 'pullback.workers'} & {*sys.modules};"
        "pb.distributed.sum_over(np.dot, [np.ones(2)])(np.ones(2));"
        "print(ours, {'dask', 'distributed', 'joblib', 'loky', 'mpi4py', 'ray', 'xarray'} & {*sys.modules})"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.stdout == b"set() set()\n", done.stderr
