"""The OpInfo records of all operators: `OPINFOS`, from the lists of that name in the files of each area's folder.

`pullback.testing.opinfo.core` says how to write a record.
"""

from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
FILES = sorted(path.relative_to(FOLDER).with_suffix("").parts for path in FOLDER.glob("*/*.py"))
MODULES = [import_module(f"tests.opinfo.{area}.{name}") for area, name in FILES]
OPINFOS = [info for module in MODULES for info in getattr(module, "OPINFOS", [])]
