"""A signal's exception (Ctrl-C), whenever it comes, leaves no mode on and no gradient half added."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.core import modes
from tests.autograd.interrupted import PROGRAMS, every_instant, leaf, left_over, random_instants

pytestmark = [
    # What comes in the callback of a weak reference is shown by the interpreter and lost.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX"),
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="handlers run in the main thread alone"
    ),
]


# One instant in so many, begun at random: PULLBACK_LONG has every one.
STEP = 1 if os.environ.get("PULLBACK_LONG") else 3
STEPS = {"trace_nans": 11, "detect_anomaly": 11}  # which look at the source, at thousands of instants


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_leaves_nothing(name):
    instants = 0
    for instant in every_instant(lambda: PROGRAMS[name], STEPS.get(name, STEP)):
        found = left_over()
        modes.restore(modes.Modes())
        assert not found, f"event {instant} of {name}"
        instants += 1
    assert instants * STEPS.get(name, STEP) > 5


def test_random_interrupts_leave_nothing():
    assert not random_instants(int(os.environ.get("PULLBACK_INTERRUPTS", "300")))


def test_gradients_are_added_to_all_leaves_or_to_none():
    """In place or not, hooked or not; a retained gradient too."""
    seen = set()
    leaves: list[pb.Tensor] = []
    bucket = pb.zeros(0)
    result = bucket

    def prepare():
        nonlocal bucket, result
        leaves[:] = [leaf() for _ in range(5)]
        bucket = pb.zeros(8)
        leaves[0].grad, leaves[1].grad = bucket[:4], bucket[4:]
        (leaves[2] * 1).sum().backward()  # held by nobody else: added to in place
        leaves[3].register_hook(lambda g: g)
        result = leaves[0] * 1
        result.retain_grad()
        loss = sum((x * (i + 2)).sum() for i, x in enumerate([result, *leaves[1:]]))
        return loss.backward

    for instant in every_instant(prepare):
        assert not left_over()
        found = tuple(None if x.grad is None else x.grad[0].item() for x in [*leaves, result])
        assert found in {(0, 0, 1, None, None, None), (2, 3, 5, 5, 6, 2)}, instant
        assert bucket.tolist() == [found[0]] * 4 + [found[1]] * 4
        seen.add(found)
    assert len(seen) == 2


def test_an_interrupted_call_by_hand_and_by_an_exit_stack_is_left_by_whoever_entered():
    for block in (pb.no_grad, pb.autograd.detect_anomaly, pb.inference_mode):
        with contextlib.ExitStack() as stack:
            stack.enter_context(block())
            assert left_over()
        assert not left_over()
        mode = block()
        mode.__enter__()
        assert left_over()
        mode.__exit__(None, None, None)
        assert not left_over()


def test_a_block_lets_exceptions_pass_and_its_object_serves_again():
    mode = pb.no_grad()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), mode, mode:
            1 / 0
        assert not left_over()


def test_a_sum_of_inf_and_minus_inf_in_a_bucket_is_nan():
    """inf - inf in the adding would call a function of Python's, in which a signal's exception could come."""
    x = pb.ones(2, requires_grad=True)
    x.grad = pb.tensor([-np.inf, 1.0])
    (x * pb.tensor([np.inf, 1.0])).sum().backward()
    assert np.isnan(x.grad[0].item())
    assert not left_over()


FIRST_USE = """
import sys
import numpy as np
import pullback as pb

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
f = pb.func.grad(lambda x: np.sum(np.sin(x) * x))
try:
    f(np.zeros(2))
except KeyboardInterrupt:
    print(f(np.zeros(2)))
"""


@pytest.mark.parametrize("module", ["pullback.interop.ufuncs", "pullback.interop.adapters.reductions"])
def test_an_interrupt_in_what_a_first_use_imports_comes_through(module):
    """NumPy drops what is raised while it looks for `__array_ufunc__`, and would take the Tensor for a sequence."""
    run = subprocess.run([sys.executable, "-c", FIRST_USE.format(module=module)], capture_output=True, text=True)
    assert run.stdout == "[0. 0.]\n", run.stderr
