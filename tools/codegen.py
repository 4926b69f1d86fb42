"""Write what is generated: the code, SciPy's operators, then the documentation and the stubs, which need that code.

python tools/codegen.py [--check]

The code generator runs without importing the package, whose generated files may be missing or broken.
"""

import subprocess
import sys
import types
from pathlib import Path

package = types.ModuleType("pullback")
package.__path__ = [str(Path(__file__).resolve().parent.parent / "pullback")]
sys.modules["pullback"] = package

from pullback.codegen.__main__ import main  # noqa: E402 - only now can the stand-in be found

FURTHER = ("scipy_operators.py", "documentation.py")

if __name__ == "__main__":
    status = main()
    for name in FURTHER:
        further = [sys.executable, "-W", "ignore", str(Path(__file__).with_name(name)), *sys.argv[1:]]
        status = status or subprocess.run(further, check=False).returncode
    sys.exit(status)
