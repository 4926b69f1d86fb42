"""Write pullback/scipy/rules/<area>/operators.py from the declarations.yaml beside it.

An area of functions of numbers has slopes.yaml, one entry a function, from which its declarations are written.

python tools/scipy_operators.py [--check]
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import yaml  # noqa: E402 - with what follows, the checkout's, now that it can be found

from pullback.codegen.third_party import generate_third_party  # noqa: E402

SIGNATURE = re.compile(r"(\w+)\(([^)]*)\)(?: -> (.*))?")
WORDS = ("not_implemented", "non_differentiable")
HEADER = "# Written by tools/scipy_operators.py from slopes.yaml; edit there.\n"


def expanded(path):
    """The declarations that a file of slopes stands for: operators of numbers, vjp and jvp of each from its slopes.

    An entry is `name(x, y, int n): {x: slope, y: slope}`, or for several outputs `name(x) -> u, v: {x: [of u, of v]}`.
    A slope may be `not_implemented` or `non_differentiable`. `kernel` and `doc` are the name and SciPy's, if not given.
    `solves: f(result), p` says that the result solves f(result) = p: where SciPy's search ended at a bound the slopes
    are 0, and where it found no solution nan.
    """
    source = yaml.safe_load(path.read_text(encoding="utf-8"))
    lines = [HEADER + "".join(f"{key}: {source[key]}\n" for key in ("namespace", "kernels", "helpers"))]
    natives, derivatives = ["native_functions:"], ["\nderivatives:"]
    for signature, slopes in source["functions"].items():
        native, derivative = declared(signature, dict(slopes))
        natives += native
        derivatives += derivative
    return "\n".join([*lines, *natives, *derivatives, ""])


def declared(signature, slopes):
    """The lines of both entries of a function."""
    found = SIGNATURE.fullmatch(signature)
    if found is None:
        raise ValueError(f"slopes.yaml: {signature!r} is no signature such as `name(x, y, int n) -> u, v`.")
    name, given, outputs = found[1], found[2].split(", "), found[3]
    arguments = [text if " " in text else f"Tensor {text}" for text in given]
    tensors = [text for text in given if " " not in text]
    results = outputs.split(", ") if outputs else ["result"]
    gives = f"({', '.join(f'Tensor {r}' for r in results)})" if outputs else "Tensor"
    kernel = slopes.pop("kernel", name)
    solves = slopes.pop("solves", None)
    doc = slopes.pop("doc", f"scipy.special.{kernel}.")
    if list(slopes) != tensors:
        raise ValueError(f"slopes.yaml: {signature!r} needs slopes for {tensors}, in this order.")
    func = f"{name}({', '.join(arguments)}) -> {gives}"
    derivative, terms = [f"  - name: {func}"], [[] for _ in results]
    for x, of_all in slopes.items():
        if of_all in WORDS:
            derivative.append(f"    {x}: {of_all}")
            continue
        each = of_all if isinstance(of_all, list) else [of_all]
        if len(each) != len(results):
            raise ValueError(f"slopes.yaml: {signature!r} needs {len(results)} slopes in {x}.")
        each = [f"solved({slope}, result, {solves})" if solves else slope for slope in each]
        for of_one, slope in zip(terms, each, strict=True):
            of_one.append(f"{x}_t * ({primals(slope, tensors)})")
        pulled = f"weighed_slopes(grads, {', '.join(each)})" if outputs else f"grad * conj({each[0]})"
        derivative.append(f"    {x}: {quoted(pulled)}")
    if any(terms):
        derivative += [f"    {r}: {quoted(' + '.join(of_one))}" for r, of_one in zip(results, terms, strict=True)]
    tags = "pointwise, floating, undefined" if outputs else "pointwise, floating"
    native = [f"  - func: {func}", f"    kernel: {kernel}", f"    tags: {tags}", f"    doc: {quoted(doc)}"]
    return native, derivative


def primals(slope, names):
    """The slope in terms of primals, as tangents have it."""
    return re.sub(rf"\b({'|'.join(names)})\b(?!\()", r"\1_p", slope)


def quoted(text):
    """The text for YAML."""
    return '"' + text.replace('"', '\\"') + '"'


def main(check: bool) -> int:
    """Write what differs, or with `check` only name it; the exit status is then 1."""
    stale = []

    def bring(target: Path, text: str) -> None:
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(target)
            if not check:
                target.write_text(text, encoding="utf-8")

    for slopes in sorted(ROOT.glob("pullback/scipy/rules/*/slopes.yaml")):
        bring(slopes.with_name("declarations.yaml"), expanded(slopes))
    for declarations in sorted(ROOT.glob("pullback/scipy/rules/*/declarations.yaml")):
        bring(declarations.with_name("operators.py"), generate_third_party(declarations, compact=True))
    for target in stale:
        print(f"{'out of date' if check else 'wrote'}: {target.relative_to(ROOT)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
