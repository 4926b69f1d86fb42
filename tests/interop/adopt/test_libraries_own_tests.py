"""NumPy's and SciPy's own tests, which their wheels bring, pass under `adopt()` as they do without it.

PULLBACK_LONG=1 runs all of them, which takes more than an hour. To run those of one package, or of one module:
PULLBACK_LONG=1 pytest tests/interop/adopt/test_libraries_own_tests.py -k scipy.optimize
PULLBACK_LONG=1 pytest tests/interop/adopt/test_libraries_own_tests.py -k scipy.optimize.tests.test_minpack
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import scipy

LONG = os.environ.get("PULLBACK_LONG") == "1"
HERE = Path(__file__).parent
# Compiles extensions, measures what a process allocates or how it is built, loads data, or runs all of another again.
LEFT_OUT = (
    "distutils", "f2py", "typing", "_pyinstaller", "datasets", "test_cython", "test_extending", "test_limited_api",
    "test_mem_policy", "test_simd", "test_64bit",
)  # fmt: skip
_TYPES = "compare the type of an object with a class by `is`"
_MODULES = "compare a module with a view of it, or functions in both, by `is`"
# What docs/adopt.md says of identity, and what looks at frames, references and private methods: why, and which tests.
DIFFERENT = {
    "numpy.tests.test_public_api": (
        _MODULES,
        "test_numpy_namespace", "test_array_api_entry_point",
        "test___qualname___and___module___attribute",
    ),
    "numpy.tests.test_reloading": ("reload a view", "test_numpy_reloading"),
    "scipy._lib.tests.test_bunch": ("make a class for the module of the caller's frame", "test_module", "test_pickle"),
    "scipy.io.tests.test_mmio": ("read what SciPy has set in a module after the view was made", "test_threadpoolctl"),
    "scipy.signal.tests.test_short_time_fft": ("call a private method", "test_fft_func_roundtrip"),
    "scipy.sparse.linalg._dsolve.tests.test_linsolve": ("count references to the factors", "test_lu_refcount"),
    "scipy.sparse.tests.test_base": (_TYPES, "test_spmatrix_subscriptable", "test_sparray_subscriptable"),
    "scipy.sparse.tests.test_coo": (_TYPES, "test_tensordot"),
    "scipy.sparse.tests.test_csc": (_TYPES, "test_csc_getrow", "test_csc_getcol"),
    "scipy.sparse.tests.test_csr": (_TYPES, "test_csr_rowslice", "test_csr_getrow", "test_csr_getcol"),
    "scipy.sparse.tests.test_matrix_io": (
        _TYPES, "test_save_and_load_random", "test_save_and_load_empty", "test_save_and_load_one_entry",
    ),
    "scipy.spatial.transform.tests.test_rotation": (_MODULES, "test_cython_backend_selection"),
}  # fmt: skip


def modules():
    for library in (np, scipy):
        home = Path(library.__file__).parent
        for file in sorted(home.rglob("tests/test_*.py")):
            parts = file.relative_to(home).with_suffix("").parts
            if not any(part.startswith(LEFT_OUT) for part in parts):
                yield ".".join([library.__name__, *parts])


def run(module, tmp_path, *options):
    """How each test of a module ends."""
    report = tmp_path / "report.xml"
    # Without those that are marked as slow, as `scipy.test()` runs them.
    command = [sys.executable, "-m", "pytest", "-m", "not slow", "-p", "no:cacheprovider", f"--junitxml={report}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[2])])}
    done = subprocess.run(
        [*command, *options, "--pyargs", module],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not report.exists():
        return {"the run": done.stdout + done.stderr}
    return {
        f"{case.get('classname')}::{case.get('name')}": next((part.tag for part in case), "passed")
        for case in ET.parse(report).iter("testcase")
    }


def differing(module, tmp_path):
    """How tests end within `adopt()`, and without, where that is not the same."""
    without, within = run(module, tmp_path), run(module, tmp_path, "-p", "adopting")
    ends = {name: (within.get(name), without.get(name)) for name in {**within, **without}}
    _, *known = DIFFERENT.get(module, ("",))
    return {
        name: end
        for name, end in ends.items()
        if end[0] != end[1] and name.rpartition("::")[2].partition("[")[0] not in known
    }


@pytest.mark.skipif(not LONG, reason="takes an hour: PULLBACK_LONG=1")
@pytest.mark.parametrize("module", list(modules()) if LONG else ["of NumPy or SciPy"])
def test_they_end_as_without_adopt(module, tmp_path):
    if found := differing(module, tmp_path):  # some draw random numbers without a seed, and fail now and then
        again = differing(module, tmp_path)
        found = {name: end for name, end in found.items() if name in again}
    assert found == {}
