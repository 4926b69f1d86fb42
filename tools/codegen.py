"""Run the code generator without importing the package, whose generated files may be missing or broken.

python tools/codegen.py [--check]
"""

import sys
import types
from pathlib import Path

package = types.ModuleType("pullback")
package.__path__ = [str(Path(__file__).resolve().parent.parent / "pullback")]
sys.modules["pullback"] = package

from pullback.codegen.__main__ import main  # noqa: E402 - only now can the stand-in be found

if __name__ == "__main__":
    sys.exit(main())
