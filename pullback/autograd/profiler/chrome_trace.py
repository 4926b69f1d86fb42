"""A profile in the Trace Event Format, which chrome://tracing and ui.perfetto.dev show."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pullback.autograd.profiler.event import FunctionEvent


def write(events: Sequence[FunctionEvent], path: str | Path) -> Path:
    """Write the events of a profile as JSON; returns the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"traceEvents": _trace(events), "displayTimeUnit": "ms"}), encoding="utf-8")
    return path


def _trace(events: Sequence[FunctionEvent]) -> list[dict[str, Any]]:
    process = os.getpid()
    threads = {name: number for number, name in enumerate(dict.fromkeys(event.thread for event in events))}
    trace: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": {"name": name}}
        for name, number in threads.items()
    ]
    forward = {e.sequence_nr: e for e in events if e.kind == "operator" and e.sequence_nr >= 0}
    for event in events:
        place = {"pid": process, "tid": threads[event.thread]}
        trace.append(
            {
                "ph": "X", "name": event.name, "cat": event.kind, "ts": event.start_us, "dur": event.cpu_time_total,
                **place, "args": _details(event),
            }
        )  # fmt: skip
        source = forward.get(event.sequence_nr) if event.kind == "backward" else None
        if source is not None:
            trace += _arrow(source, event, process, threads)
    return trace


def _details(event: FunctionEvent) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if event.sequence_nr >= 0:
        details["Sequence number"] = event.sequence_nr
    if event.input_shapes:
        details["Input dims"] = [list(shape) for shape in event.input_shapes]
    if event.self_cpu_memory_usage:
        details["Bytes"] = event.self_cpu_memory_usage
    if event.args is not None:
        details["args"] = event.args
    return details


def _arrow(source: FunctionEvent, target: FunctionEvent, process: int, threads: dict[str, int]) -> list[dict[str, Any]]:
    """From the operator that recorded a node to the node's backward."""
    common = {"name": "fwdbwd", "cat": "fwdbwd", "id": source.sequence_nr, "pid": process}
    return [
        {**common, "ph": "s", "ts": source.start_us, "tid": threads[source.thread]},
        {**common, "ph": "f", "bp": "e", "ts": target.start_us, "tid": threads[target.thread]},
    ]
