"""Write the notebooks of the lab, lab/*.ipynb, from its exercises; with `--check` fail if they differ instead."""

import argparse
import sys
from pathlib import Path

from pullback.lab.course import COURSE
from pullback.lab.notebooks import notebook

FOLDER = Path(__file__).resolve().parents[1] / "lab"


def main() -> int:
    """Write or compare; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = {FOLDER / e.file.replace(".py", ".ipynb"): notebook(e) for e in COURSE}
    stale = [p for p in sorted(FOLDER.glob("*.ipynb")) if p not in wanted]
    stale += [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    if check:
        for path in stale:
            print(f"{path} is not what tools/notebooks.py writes; run it.", file=sys.stderr)
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for path in stale:
        path.unlink(missing_ok=True)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
