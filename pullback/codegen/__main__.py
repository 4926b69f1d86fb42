"""python -m pullback.codegen [--check]: write ops/generated/, or fail when it is out of date."""

from __future__ import annotations

import argparse
import sys

from pullback.codegen.errors import DeclarationError
from pullback.codegen.generate import write


def main() -> int:
    """Run the generator; the exit status is 1 when files are out of date (--check) or a declaration is refused."""
    parser = argparse.ArgumentParser(prog="python -m pullback.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if something would change")
    options = parser.parse_args()
    try:
        changed = write(check=options.check)
    except DeclarationError as error:
        print(error, file=sys.stderr)
        return 1
    for name in changed:
        print(f"{'out of date' if options.check else 'wrote'}: pullback/ops/generated/{name}")
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
