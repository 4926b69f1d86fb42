"""Importing pullback changes nothing in the process: each test starts a Python of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(code, *arguments, **environment):
    """What a program prints that is run by a fresh Python."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


STATE = """
import atexit, builtins, codecs, copyreg, decimal, gc, json, locale, logging, os, random, resource, signal, socket, sys
import threading, warnings
import numpy as np, numpy.lib.introspect, yaml, scipy

allowed = ()  # on sys.meta_path

def state():
    drawn = np.random.get_state()
    return {
        "floating-point errors": (np.geterr(), np.geterrcall(), np.getbufsize()),
        "print options": repr(np.get_printoptions()),
        "numpy": {n: id(v) for n, v in vars(np).items() if n not in ("random", "fft", "linalg", "ma", "testing")},
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning, warnings._defaultaction),
        "signals": [signal.getsignal(s) for s in sorted(signal.valid_signals())],
        "locale": locale.setlocale(locale.LC_ALL),
        "random": random.getstate(),
        "numpy.random": (drawn[0], drawn[1].tolist(), *drawn[2:]),
        "hooks": (sys.excepthook, sys.displayhook, sys.breakpointhook, sys.unraisablehook, sys.gettrace(),
                  sys.getprofile(), sys.get_asyncgen_hooks(), threading.excepthook, threading.gettrace(),
                  [f for f in sys.meta_path if f not in allowed], list(sys.path_hooks), list(sys.path)),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(),
                   socket.getdefaulttimeout(),
                   *(resource.getrlimit(getattr(resource, n)) for n in dir(resource) if "RLIMIT_" in n)),
        "threads": [t.ident for t in threading.enumerate()],
        "native threads": os.listdir("/proc/self/task") if os.path.exists("/proc/self/task") else None,
        "garbage collector": (gc.get_threshold(), gc.isenabled(), list(gc.callbacks), gc.get_freeze_count(),
                              gc.get_debug()),
        "builtins": {n: id(v) for n, v in vars(builtins).items() if n != "_"},
        "exit": atexit._ncallbacks(),
        "decimal": repr(decimal.getcontext()),
        "logging": (logging.root.level, list(logging.root.handlers), logging.getLogRecordFactory(), logging.lastResort),
        "environment": (dict(os.environ), os.getcwd(), os.umask(os.umask(0))),
        "copyreg": dict(copyreg.dispatch_table),
    }
"""


def test_the_process_is_as_before():
    # `import scipy` and `yaml` are in STATE: what they change is not pullback's.
    changed = run(
        STATE
        + """
before = state()
import pullback
first, last = allowed = sys.meta_path[0], sys.meta_path[-1]
# The last to be asked knows only of `pullback.optim` and the like, the first of backends of einops and the like.
assert (first.__module__, last.__module__) == ("pullback.interop.backends", "pullback.explain.missing_names")
assert last.find_spec("optim") is last.find_spec("torch.optim") is first.find_spec("einops") is None
assert "einops" not in sys.modules
after = state()
print([name for name in before if before[name] != after[name]])
"""
    )
    assert changed == "[]\n"


def test_a_change_would_be_seen():
    changed = run(
        STATE
        + """
before = state()
np.seterr(all="ignore"), signal.signal(signal.SIGUSR1, lambda *_: None), random.random(), np.random.rand()
warnings.simplefilter("ignore"), atexit.register(print), gc.set_threshold(5)
after = state()
print(*[name for name in before if before[name] != after[name]], sep=", ", flush=True)
atexit.unregister(print)
"""
    )
    assert changed == ("floating-point errors, warnings, signals, random, numpy.random, garbage collector, exit\n")


# What NumPy has under names of its own may go in any version. Without them everything runs, by public names.
@pytest.mark.parametrize("gone", ["_extobj_contextvar", "_make_extobj"])
def test_without_private_names_of_numpy_everything_runs(gone):
    out = run(f"""
import numpy as np, numpy._core.umath
del numpy._core.umath.{gone}
import pullback as pb
x = pb.tensor([0.0, 1.0], requires_grad=True)
y = x.sqrt().sum()
np.seterr(divide="call"), np.seterrcall(print)
y.backward()
print(x.grad.tolist(), np.geterr()["divide"], np.geterrcall() is print)
""")
    assert out == "[inf, 0.5] call True\n"


LATE = ["pullback.ops.generated.pointwise", "pullback.arrays.numpy.pointwise", "pullback.interop.conversion"]
LATE += ["numpy.random", "difflib", "scipy", "yaml", "ast"]
LATE += ["pullback.codegen", "pullback.autograd.gradcheck.checks", "pullback.func"]


@pytest.mark.parametrize("module", LATE)
def test_what_takes_long_is_imported_when_it_is_wanted(module):
    """Some of these take longer than all of pullback."""
    code = (
        "import sys, numpy; before = set(sys.modules); import pullback; print(sys.argv[1] in set(sys.modules) - before)"
    )
    assert run(code, module) == "False\n"
