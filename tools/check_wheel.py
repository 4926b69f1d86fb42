"""Build the distributions and try the wheel where nothing else is: what a user gets by `pip install pullback`.

python tools/check_wheel.py [-o FOLDER]

The source distribution is built, the wheel from what that unpacks to, and the wheel is installed in two fresh
environments: with the newest NumPy and SciPy, and with the oldest that pyproject.toml allows. In both every example of
README.md and docs/ runs.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEED_AN_EXTRA = {"array_api.md"}  # pages whose examples import more than the dependencies

# Runs the examples of the pages it is given, and says where pullback came from.
# Some show plans of NumPy's kernels: no machine code is made, as in the tests of the pages.
EXAMPLES = """
import doctest, importlib.metadata, os, re, sys
os.environ["PULLBACK_COMPILER"] = "none"
import numpy, scipy, pullback
from pathlib import Path

pages = sys.argv[1:]
failed = tried = 0
for page in pages:
    text = "\\n".join(re.findall(r"^```python\\n(.*?)^```$", Path(page).read_text(encoding="utf-8"), re.M | re.S))
    if ">>>" in text:
        test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
        done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
        failed, tried = failed + done.failed, tried + done.attempted
print(f"pullback {pullback.__version__} of {Path(pullback.__file__).parent}, NumPy {numpy.__version__},",
      f"SciPy {scipy.__version__}: {tried} examples, {failed} failed")
assert tried > 300
sys.exit(bool(failed))
"""


def main() -> None:
    """Build, install, try."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("-o", "--output", type=Path, help="keep the distributions in this folder")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source, wheel = build(given.output or work / "dist")
        print(f"{source.name}: {source.stat().st_size >> 10} KiB; {wheel.name}: {wheel.stat().st_size >> 10} KiB")
        pages = unpacked_pages(source, work)
        program = work / "examples.py"
        notes = (ROOT / "tests" / "whole_errors.py").read_text(encoding="utf-8")
        program.write_text(notes + EXAMPLES, encoding="utf-8")
        for name, requirements in (("newest", []), ("oldest", oldest())):
            run(environment(work / name, wheel, requirements), program, *pages, cwd=work)


def build(output: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel made of it."""
    run(sys.executable, "-m", "build", "--quiet", "--outdir", output, ROOT)
    (source,), (wheel,) = output.glob("*.tar.gz"), output.glob("*.whl")
    return source, wheel


def unpacked_pages(source: Path, work: Path) -> list[Path]:
    """README and documentation, as the source distribution has them."""
    with tarfile.open(source) as archive:
        archive.extractall(work, filter="data")
    (top,) = (path for path in work.iterdir() if path.name.startswith("pullback-"))
    pages = [top / "README.md", *sorted((top / "docs").rglob("*.md"))]
    return [page for page in pages if page.name not in NEED_AN_EXTRA]


def oldest() -> list[str]:
    """The least versions of the dependencies, as requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.sub(r">=([\d.]+)", r"==\1.*", requirement) for requirement in project["dependencies"]]


def environment(folder: Path, wheel: Path, requirements: list[str]) -> Path:
    """The Python of a fresh environment that has the wheel and what it needs."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", wheel, *requirements)
    return python


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command that must succeed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
