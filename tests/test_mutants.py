"""The faults that tools/mutants.py plants still have their places in the code."""

import ast
from pathlib import Path

import yaml

from tools.mutants import MUTANTS

ROOT = Path(__file__).parents[1]


def test_each_fault_has_its_place_and_is_no_slip_of_syntax():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) == 20
    for mutant in MUTANTS:
        text = mutant.planted(ROOT)
        assert yaml.safe_load(text) if mutant.file.endswith(".yaml") else ast.parse(text)
