"""The pictures of this folder, for the gallery of the site."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import larger_than_memory
import numpy as np

from pullback.demo.plots import BLUE, GREY, ORANGE, figure


def memory() -> Any:
    """Memory over time: a fit over files, one partition after the other, and one with all data at once."""
    drawing = figure(figsize=(7, 3.6))
    axes = drawing.subplots()
    with tempfile.TemporaryDirectory() as folder:
        paths = larger_than_memory.write(Path(folder), files=16, rows=25_000)
        size = sum(path.stat().st_size for path in paths) / 1e6
        with larger_than_memory.watched() as parted:
            larger_than_memory.fit(larger_than_memory.loss_over(paths), steps=1)
        whole = Path(folder) / "whole.npy"
        np.save(whole, np.concatenate([np.load(path) for path in paths]))
        with larger_than_memory.watched() as at_once:
            larger_than_memory.fit(larger_than_memory.loss_over([whole]), steps=1)
    for used, colour, name in ((parted, BLUE, "file by file"), (at_once, ORANGE, "all data at once")):
        axes.plot([t for t, _ in used], [m - used[0][1] for _, m in used], color=colour, label=name)
    axes.axhline(size, color=GREY, linestyle="--", label=f"the data, {size:.0f} MB")
    axes.set(xlabel="seconds", ylabel="MB above the start", title="values and gradients of a loss over all data")
    axes.legend()
    return drawing


PICTURES = (memory,)
