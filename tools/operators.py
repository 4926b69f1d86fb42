"""Write docs/operators.md from the declarations and the OpInfo records: what there is, and how it differentiates.

python tools/operators.py [--check]
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import yaml  # noqa: E402 - with what follows, the checkout's, now that it can be found

from pullback.arrays.batched.indexing import BY_VALUES  # noqa: E402
from pullback.arrays.batched.kernels import find_rule  # noqa: E402
from pullback.codegen.generate import own_registry  # noqa: E402
from pullback.codegen.model import AREAS, Marker  # noqa: E402
from pullback.codegen.naming import public_name  # noqa: E402
from pullback.core.tensor import Tensor  # noqa: E402
from pullback.dispatch.operator import BY_KERNEL  # noqa: E402
from tests.opinfo.records import OPINFOS  # noqa: E402

PAGE = ROOT / "docs" / "operators.md"
ABSENT = ROOT / "docs" / "operators_absent.yaml"
DIFFERENCES = ROOT / "docs" / "operators_differences.yaml"
INTRODUCTION = """\
# Operators

Each table lists the operators of one area. The last two sections say where pullback differs from PyTorch, and which of
PyTorch's operators it lacks. `python tools/operators.py` writes this page, from `native_functions.yaml`,
`derivatives.yaml`, the OpInfo records, `docs/operators_differences.yaml` and `docs/operators_absent.yaml`.

- *kind*: a `primitive` has a kernel, and a formula if it is differentiable. A `composite` is made of other operators,
  and differentiates through them.
- *orders*: how many times the tests differentiate it. 0 means that it has no derivative.
- *complex*: whether it is tested with complex inputs.
- *batching*: how it runs under `vmap`. `pointwise` and `reduction` follow from its tag, `view` moves dimensions,
  `parts` batches each part of a composite, `random` draws anew for each element, `rule` has a rule written for it, and
  `none` takes no arrays. Refused are operators without a rule, and those whose result's shape depends on the values.
- *formulas*: the gradient of each input. `grad` is the gradient of the output.
"""


def records():
    """The OpInfo records of every operator, by dotted name."""
    found = {}
    for info in OPINFOS:
        found.setdefault(info.name, []).append(info)
    return found


def dotted(native):
    """The name below `pullback`."""
    home = native.python_module
    return f"{home}.{public_name(native.name, home)}" if home else native.name


def batching(native):
    """The category of its batching rule."""
    if native.is_composite:
        return "parts"
    if native.kernel in BY_VALUES:
        return "refused: by values"
    if "random" in native.tags:
        return "random"
    if not any(arg.type.is_tensor for arg in native.schema.args):
        return "none"
    if all(find_rule(op.kernel, op.arity) is None for op in BY_KERNEL[native.kernel].values()):
        return "refused: no rule"
    for tag in ("pointwise", "reduction"):
        if tag in native.tags:
            return tag
    return "view" if native.is_view else "rule"


def formulas(native, registry):
    """The formulas of one primitive, as a reader of the YAML sees them."""
    derivative = registry.derivatives.get(native.schema.unique_name)
    if native.is_composite or derivative is None:
        return ""
    parts = []
    for given in derivative.formulas:
        text = given.formula.value if isinstance(given.formula, Marker) else f"`{given.formula.text}`"
        parts.append(f"{', '.join(given.inputs)}: {text}")
    return "; ".join(parts).replace("|", "\\|")


def records_of(native, known):
    """The records of an operator: by its name, an alias, or the name of its form in place or out of place."""
    names = [dotted(native), native.name, *native.aliases]
    names += [f"{name.rstrip('_')}{mark}" for mark in ("", "_") for name in names]
    return next((known[name] for name in names if name in known), [])


def row(native, registry, known):
    """One line of the table."""
    infos = records_of(native, known)
    orders = max((info.order for info in infos), default=0) if infos else "-"
    number = "yes" if any(info.complex for info in infos) else "no"
    overload = f".{native.schema.overload}" if native.schema.overload else ""
    cells = [
        f"`{dotted(native)}{overload}`", "composite" if native.is_composite else "primitive", str(orders), number,
        batching(native), formulas(native, registry),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def differences(public):
    """The section of the operators that give something else than PyTorch's."""
    known = {dotted(native) for native in public} | {f"Tensor.{name}" for name in dir(Tensor)}
    lines = [
        "## Where pullback differs from PyTorch\n",
        "| operators | what differs | why | who is right |",
        "|" + "---|" * 4,
    ]
    for entry in yaml.safe_load(DIFFERENCES.read_text(encoding="utf-8")):
        if unknown := set(entry["operators"]) - known:
            raise SystemExit(f"{DIFFERENCES.name} names operators that do not exist: {', '.join(sorted(unknown))}")
        names = ", ".join(f"`{name}`" for name in entry["operators"])
        right = {"pullback": "pullback", "convention": "either, by convention"}[entry["right"]]
        lines.append(f"| {names} | {entry['differs']} | {entry['reason']} | {right} |")
    return [*lines, ""]


def page():
    """The whole text."""
    registry, known = own_registry(), records()
    public = [native for native in registry.natives if not native.is_internal]
    primitives = sum(not native.is_composite for native in public)
    lines = [INTRODUCTION]
    lines.append(f"{len({dotted(n) for n in public})} operators in {len(public)} call forms, {primitives} primitive.\n")
    for area in AREAS:
        natives = [native for native in public if native.area == area]
        if natives:
            columns = ("operator", "kind", "orders", "complex", "batching", "formulas")
            lines += [f"## {area}\n", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
            lines += [row(native, registry, known) for native in natives]
            lines.append("")
    lines += differences(public)
    absent = yaml.safe_load(ABSENT.read_text(encoding="utf-8"))
    lines += ["## What PyTorch has and pullback has not\n", "| operators | reason |", "|---|---|"]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" for reason, names in absent.items()]
    return "\n".join(lines) + "\n"


def main():
    """Write the page, or with --check say whether it is as it should be."""
    text = page()
    if "--check" in sys.argv:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if current != text:
            print("docs/operators.md is out of date; write it with: python tools/operators.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
