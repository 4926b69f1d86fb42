"""The entries of native_functions.yaml as they are written, read once for all tests."""

import functools
from importlib import resources

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # LibYAML's, where PyYAML has it, is ten times as fast


@functools.cache
def by_area():
    """The entries of each area."""
    text = resources.files("pullback.ops").joinpath("native_functions.yaml").read_text(encoding="utf-8")
    return {area: entries or () for area, entries in yaml.load(text, LOADER).items()}


def declared():
    """All entries."""
    return [entry for entries in by_area().values() for entry in entries]
