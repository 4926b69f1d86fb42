"""Write the operators' documentation and the stubs of what is public, from declarations, records and trials.

python tools/documentation.py [--check]

It needs the package, whose code must be generated first: `python tools/codegen.py` does both.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import yaml  # noqa: E402 - with what follows, the checkout's, now that it can be found
from operator_facts import Facts, records  # noqa: E402
from stubs import stubs  # noqa: E402

from pullback.codegen.emit_docs import Found, Page, Vocabulary  # noqa: E402
from pullback.codegen.generate import GENERATED, OPS, own_registry  # noqa: E402
from pullback.codegen.model import AREAS  # noqa: E402
from pullback.codegen.user_signature import merged_parameters, signature_text  # noqa: E402

FOLDER = GENERATED / "docs"


def vocabulary():
    """Return what documentation.yaml and the helpers' docstrings say."""
    given = yaml.safe_load((OPS / "documentation.yaml").read_text(encoding="utf-8"))
    helpers = {}
    for path in sorted((OPS / "formulas").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
                helpers[node.name] = " ".join(ast.get_docstring(node).split("\n\n")[0].split())
    return Vocabulary(given["parameters"], given["operators"], helpers)


def operators(registry):
    """The overloads of every operator, by public home and name."""
    found = {}
    for native in registry.natives:
        found.setdefault((native.python_module or "", native.name), []).append(native)
    return found


def records_of(page, known):
    """The records of an operator: by its name, an alias, or those of its form in place."""
    names = [page.called, page.first.name, *(alias for native in page.overloads for alias in native.aliases)]
    return next((known[name] for name in names if name in known), [])


def pages(registry):
    """The text of each area's file: a page an operator, between form feeds.

    `pullback.ops.documentation` reads them, and says what a page is.
    """
    words, known = vocabulary(), records()
    texts = {area: [] for area in AREAS}
    named = {Page(overloads, registry, words, Found()).called for overloads in operators(registry).values()}
    if unknown := sorted(set(words.operators) - named):
        raise SystemExit(f"documentation.yaml: there are no operators {', '.join(unknown)}.")
    for (home, name), overloads in operators(registry).items():
        page = Page(overloads, registry, words, Found())
        pieces = [f"{home}:{name}", "\n".join(str(native.schema) for native in overloads)]
        if not all(native.is_internal for native in overloads):
            found = Facts(page.called, overloads, records_of(page, known), page.own).found()
            page = Page(overloads, registry, words, found)
            page.check()
            pieces += [signature_text(page.parameters), page.text()]
            if changing := [native for native in overloads if "inplace" in native.variants]:
                signature = signature_text(merged_parameters(changing, registry, inplace=True))
                pieces += [signature, page.inplace_text()]
        texts[overloads[0].area].append("\n\v\n".join(pieces))
    return {f"{area}.txt": "\n\f\n".join(given) + "\n" for area, given in texts.items() if given}


def write(files, check):
    """Write what has changed; return the names of the files concerned."""
    FOLDER.mkdir(exist_ok=True)
    changed = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale = [path for path in FOLDER.iterdir() if path not in files and path.is_file()]
    if not check:
        for path in changed:
            path.write_text(files[path], encoding="utf-8")
        for path in stale:
            path.unlink()
    return sorted([*changed, *stale])


def main():
    """Write or check the files; the exit status is 1 when one is out of date."""
    check = "--check" in sys.argv[1:]
    registry = own_registry()
    files = {FOLDER / name: text for name, text in pages(registry).items()}
    files |= stubs(list(operators(registry).values()), registry)
    changed = write(files, check)
    for path in changed:
        print(f"{'out of date' if check else 'wrote'}: {path.relative_to(ROOT)}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
