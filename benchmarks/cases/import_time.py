"""The first import in a fresh process, without the start of the interpreter."""

from __future__ import annotations

from benchmarks.case import ProcessCase
from benchmarks.contenders import MODULES

SCRIPT = """
import json, sys, time
now = {{"wall": time.perf_counter, "cpu": time.process_time}}[sys.argv[1]]
start = now()
import {module}
print(json.dumps({{"seconds": now() - start}}))
"""

CASE = ProcessCase(
    name="import",
    title="import in a fresh process",
    command={name: ["-c", SCRIPT.format(module=module)] for name, (module, _) in MODULES.items()},
    goals={"numpy": 2.0},
    rounds=7,
)
