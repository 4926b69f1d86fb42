"""Write the tables of constants and helpers in docs/declarations.md from the code.

python tools/declarations.py [--check]
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pullback.codegen.generate import own_registry  # noqa: E402 - the checkout's, now that it can be found
from pullback.codegen.whitelist import CONSTANTS  # noqa: E402
from pullback.ops import constants  # noqa: E402
from pullback.ops.formulas import STABLE  # noqa: E402

PAGE = ROOT / "docs" / "declarations.md"


def table(heads, rows):
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def constants_table():
    """Every constant with its definition and value."""
    rows = [[f"`{name}`", definition, repr(getattr(constants, name))] for name, definition in CONSTANTS.items()]
    return table(["name", "is", "value"], rows)


def helpers_table(stable):
    """The helpers that are stable, or the others, as formulas call them, with the first line of what they say."""
    rows = []
    for name, module in own_registry().helper_modules.items():
        if (name in STABLE) == stable:
            function = getattr(importlib.import_module(module), name)
            signature = inspect.signature(function)
            taken = [parameter for parameter in signature.parameters.values() if parameter.name != "ops"]
            rows.append([f"`{name}{signature.replace(parameters=taken)}`", inspect.getdoc(function).splitlines()[0]])
    return table(["call", "gives"], sorted(rows))


def page():
    """The page with its tables as they should be."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {
        "constants": constants_table(),
        "stable helpers": helpers_table(True),
        "other helpers": helpers_table(False),
    }
    for name, made in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        text = re.sub(f"(?s)(?<={re.escape(begin)}).*(?={re.escape(end)})", lambda _, made=made: f"\n{made}\n\n", text)
    return text


def main():
    """Write the tables, or with --check say whether they are as they should be."""
    text = page()
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != text:
            print("docs/declarations.md is out of date; write it with: python tools/declarations.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
