"""Make a release: check that everything is said and clean, build the distributions, try them, tag the commit.

python tools/release.py [-o FOLDER]

Nothing is uploaded: the distributions lie in FOLDER (default: dist), the tag is in the local repository.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Check, build, try, tag."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="folder for the distributions")
    output = options.parse_args().output
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if faults := [*unsaid(version), *unclean(version)]:
        sys.exit("no release:\n" + "\n".join(f"  {fault}" for fault in faults))
    for command in ("lint", "codegen CODEGEN_ARGS=--check", "test"):
        subprocess.run(["make", *command.split()], cwd=ROOT, check=True)  # noqa: S607 - the developer's own
    subprocess.run([sys.executable, ROOT / "tools" / "check_wheel.py", "-o", output], check=True)
    git("tag", "--annotate", f"v{version}", "--message", f"pullback {version}")
    print(f"tagged v{version}; the distributions are in {output}")


def unsaid(version: str) -> list[str]:
    """Return what does not say this version, or says it of another day."""
    today = datetime.now(UTC).date().isoformat()
    wanted = {
        "pullback/__init__.py": f'__version__ = "{version}"',
        "CITATION.cff": f"version: {version}",
        "CHANGELOG.md": f"## {version} ({today})",
    }
    return [f"{name} does not say {text!r}" for name, text in wanted.items() if text not in (ROOT / name).read_text()]


def unclean(version: str) -> list[str]:
    """Return what is wrong with the repository."""
    faults = ["there are changes that are not committed"] if git("status", "--porcelain") else []
    if git("tag", "--list", f"v{version}"):
        faults.append(f"the tag v{version} is there already")
    if re.search(r"//[\w.-]*\bexample/", (ROOT / "pyproject.toml").read_text(encoding="utf-8")):
        faults.append("[project.urls] in pyproject.toml has the reserved name that leads nowhere")
    return faults


def git(*command: str) -> str:
    """Return what a git command prints."""
    done = subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    return done.stdout.strip()


if __name__ == "__main__":
    main()
