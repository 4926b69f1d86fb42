"""Every declared operator has a record, and every record and declared variant exists."""

import importlib
import inspect
from importlib import resources

import pytest
import yaml

import pullback as pb
from pullback.ops.tables import OPERATORS
from pullback.testing.opinfo import OPINFOS
from pullback.testing.opinfo.calls import function_of

DECLARED = [
    entry | {"area": area}
    for area, entries in yaml.safe_load(
        resources.files("pullback.ops").joinpath("native_functions.yaml").read_text(encoding="utf-8")
    ).items()
    for entry in entries or ()
]
RECORDED = {info.name for info in OPINFOS}


def words(text):
    """The items of a comma list."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def name_of(entry):
    """The operator's name, without overload."""
    return entry["func"].split("(")[0].split(".")[0].strip()


def public_name(entry, name=None):
    """The dotted name below pullback."""
    module = entry.get("python_module")
    return f"{module}.{name or name_of(entry)}" if module else name or name_of(entry)


def public_object(dotted):
    """What a user finds under that name, or None."""
    *modules, leaf = dotted.split(".")
    return getattr(importlib.import_module(".".join(["pullback", *modules])), leaf, None)


def covered(entry):
    """Whether a record checks this operator, by its name or an alias, or as the derivative of one that is checked."""
    name = name_of(entry)
    if name.startswith("_") and not name.startswith("__"):
        return True  # not public: checked through the operators that are made of it
    if name.endswith("_backward"):
        base = name.removesuffix("_backward")
        return any(info.name.split(".")[-1] == base and info.order >= 2 for info in OPINFOS)
    spellings = [name, name.rstrip("_") if not name.startswith("__") else name, *words(entry.get("alias"))]
    return any(public_name(entry, spelling) in RECORDED or spelling in RECORDED for spelling in spellings)


def test_every_declared_operator_has_a_record():
    missing = sorted({public_name(entry) for entry in DECLARED if not covered(entry)})
    assert not missing, f"{len(missing)} operators without an OpInfo in pullback/testing/opinfo/: {', '.join(missing)}"


@pytest.mark.parametrize("info", OPINFOS, ids=lambda info: info.full_name)
def test_every_record_names_something_that_exists(info):
    assert callable(function_of(info))


def test_records_have_names_of_their_own():
    names = [info.full_name for info in OPINFOS]
    assert sorted({n for n in names if names.count(n) > 1}) == [], "give one of them variant=..."


@pytest.mark.parametrize("entry", DECLARED, ids=lambda entry: entry["func"].split("(")[0])
def test_declared_variants_and_aliases_exist(entry):
    name, variants = name_of(entry), words(entry.get("variants", "function"))
    if name.startswith("_"):
        pytest.skip("not public")
    for spelling in (name, *words(entry.get("alias"))):
        function = public_object(public_name(entry, spelling))
        if "function" in variants:
            assert callable(function), f"pullback.{public_name(entry, spelling)} is missing"
        if "method" in variants:
            assert callable(getattr(pb.Tensor, spelling, None)), f"Tensor.{spelling} is missing"
        if "inplace" in variants:
            assert callable(getattr(pb.Tensor, spelling + "_", None)), f"Tensor.{spelling}_ is missing"
        if "out" in variants and "function" in variants:
            forms = [overload.function for overload in OPERATORS[name]]
            assert any("out" in inspect.signature(form).parameters for form in forms), f"{spelling} takes no out="
