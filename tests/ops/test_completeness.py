"""Every declared operator has a record, and every record and declared variant exists."""

import importlib
import inspect

import numpy as np

import pullback as pb
from pullback.codegen import naming
from pullback.codegen.generate import own_registry
from pullback.codegen.naming import node_class
from pullback.core.array_type import TENSOR
from pullback.ops.late import load_all
from pullback.ops.tables import OPERATORS
from pullback.testing.opinfo.calls import accepted, flat_tensors, function_of, to_tensors
from tests.declared import by_area
from tests.opinfo.records import OPINFOS

load_all()
DECLARED = [entry | {"area": area} for area, entries in by_area().items() for entry in entries]
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
    name = name or name_of(entry)
    if "." in name:
        return name  # an alias in another home
    return f"{module}.{naming.public_name(name, module)}" if module else name


def public_object(dotted):
    """What a user finds under that name, or None."""
    *modules, leaf = dotted.split(".")
    return getattr(importlib.import_module(".".join(["pullback", *modules])), leaf, None)


def covered(entry):
    """Whether a record checks this operator, by its name or an alias."""
    name = name_of(entry)
    if name.startswith("_") and not name.startswith("__"):
        return True  # internal: checked through the operators that are made of it
    if name.endswith("_backward"):
        return True  # checked as a derivative: test_every_derivative_is_reached_by_a_record
    aliases = words(entry.get("alias"))
    spellings = [name, f"{name}_", *aliases]
    if not name.startswith("__"):
        spellings += [spelling.rstrip("_") for spelling in (name, *aliases)]
    return any(public_name(entry, spelling) in RECORDED or spelling in RECORDED for spelling in spellings)


def test_every_declared_operator_has_a_record():
    missing = sorted({public_name(entry) for entry in DECLARED if not covered(entry)})
    assert not missing, f"{len(missing)} operators without an OpInfo in tests/opinfo/: {', '.join(missing)}"


def test_every_record_names_something_that_exists():
    assert all(callable(function_of(info)) for info in OPINFOS)


def test_records_have_names_of_their_own():
    names = [info.full_name for info in OPINFOS]
    assert sorted({n for n in names if names.count(n) > 1}) == [], "give one of them variant=..."


def test_declared_variants_and_aliases_exist():
    wrong = [problem for entry in DECLARED for problem in problems_of(entry)]
    assert not wrong, "\n".join(wrong)


def problems_of(entry):
    """What an entry declares and users do not find."""
    name, variants = name_of(entry), words(entry.get("variants", "function"))
    if "internal" in words(entry.get("tags")):
        if public_object(public_name(entry)) is not None or name not in vars(TENSOR):
            yield f"{name} is internal: {public_name(entry)} must not be public, and formulas must find ops.{name}"
        return
    for spelling in (name, *words(entry.get("alias"))):
        if "function" in variants and not callable(public_object(public_name(entry, spelling))):
            yield f"pullback.{public_name(entry, spelling)} is missing"
        if "." in spelling:
            continue
        if "method" in variants and not callable(getattr(pb.Tensor, spelling, None)):
            yield f"Tensor.{spelling} is missing"
        if "inplace" in variants and not callable(getattr(pb.Tensor, spelling + "_", None)):
            yield f"Tensor.{spelling}_ is missing"
        if "out" in variants and "function" in variants:
            forms = [overload.function for overload in OPERATORS[name]]
            if not any("out" in inspect.signature(form).parameters for form in forms):
                yield f"{spelling} takes no out="


def nodes_reached():
    """Names of all nodes in the graphs of all samples, and of the gradients of these."""
    names = set()
    for info in OPINFOS:
        for dtype in info.grad_dtypes:
            for sample in accepted(info, dtype):
                args, kwargs = to_tensors((sample.args, sample.kwargs), requires_grad=True)
                inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
                outputs = [o for o in flat_tensors(function_of(info)(*args, **kwargs)) if o.requires_grad]
                if not outputs:
                    continue
                grads = outputs
                if info.order >= 2:
                    ones = [pb.from_numpy(np.ones(o.shape, o.dtype)).requires_grad_() for o in outputs]
                    grads = pb.autograd.grad(outputs, inputs, ones, create_graph=True, allow_unused=True)
                names |= names_below([t.grad_fn for t in (*outputs, *grads) if t is not None])
    return names


def names_below(nodes):
    """Names of these nodes and of all that they lead to."""
    seen, waiting = set(), [n for n in nodes if n is not None]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [edge[0] for edge in node.next_functions if edge[0] is not None]
    return {node.name() for node in seen}


def test_every_derivative_goes_forward_too():
    missing = [
        derivative.native.schema.full_name
        for derivative in own_registry().derivatives.values()
        if any(tangent is None for tangent in derivative.tangents.values())
    ]
    assert not missing, f"{len(missing)} entries of derivatives.yaml without `result:`: {', '.join(missing)}"


def test_every_derivative_is_reached_by_a_record():
    with np.errstate(all="ignore"):
        reached = nodes_reached()
    registry = own_registry()
    declared = {
        node_class(derivative.native, registry): derivative.native.schema.full_name
        for derivative in registry.derivatives.values()
        if not derivative.native.is_mutating and not set(derivative.native.tags) & {"random", "nondifferentiable"}
    }
    missing = sorted(name for node, name in declared.items() if node not in reached)
    assert not missing, f"{len(missing)} call forms whose backward no sample runs: {', '.join(missing)}"
