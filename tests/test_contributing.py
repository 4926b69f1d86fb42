"""CONTRIBUTING.md, followed to the letter in a copy of the package, gives an operator that passes its tests."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pullback as pb

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = re.split(r"\n(?=\*\*\d\. )", TEXT.partition("\n## Where things are")[0])[1:]
LEFT_OUT = shutil.ignore_patterns(".git", ".*cache", ".hypothesis", ".venv", "__pycache__", "build", "dist", "*.ipynb")
# Of `make test` these files: its other tests of an operator cost more and say no more here.
FILES = ["tests/test_documentation.py", "tests/test_public_names.py"]
FILES += [f"tests/ops/test_{name}.py" for name in ("completeness", "forward", "gradients", "inplace", "limits", "out")]


def block(step):
    """The piece of code that a step shows, without the line of its language."""
    (found,) = re.findall(r"^```(?:python|yaml)\n(.*?)^```", step, re.MULTILINE | re.DOTALL)
    return found


def place(step, folder):
    """The file, named in a step, into which its piece of code goes."""
    return folder / re.search(r"`([\w/]+/\w+\.(?:py|yaml))`", step)[1]


def edit(path, change):
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before, f"nothing to change in {path.name}"
    path.write_text(after, encoding="utf-8")


def follow(folder):
    """Take the steps that change files."""
    kernel, schema, formula, record, _ = STEPS
    imports, _, function = block(kernel).partition("\n\n\n")
    new = [line for line in imports.splitlines() if line not in place(kernel, folder).read_text(encoding="utf-8")]
    numpy = "import numpy as np\n"
    imported = "".join([numpy, *(f"{line}\n" for line in new)])
    edit(place(kernel, folder), lambda text: f"{text.replace(numpy, imported, 1).rstrip()}\n\n\n{function}")
    name = re.search(r"^def (\w+)", function, re.MULTILINE)[1]
    package = ".".join(place(kernel, Path()).with_suffix("").parts)
    edit(place(kernel, folder).with_name("__init__.py"), lambda text: f"{text}from {package} import {name}\n")
    edit(place(schema, folder), lambda text: text.replace("\npointwise:\n", f"\npointwise:\n{block(schema)}", 1))
    edit(place(formula, folder), lambda text: f"{text.rstrip()}\n\n{block(formula)}")
    entry = block(record).partition("RECORD = ")[2].rstrip()
    edit(place(record, folder), lambda text: text.replace("\nOPINFOS = [\n", f"\nOPINFOS = [\n{entry},\n", 1))


def commands(folder):
    """The commands of the last step, those of make by their recipes; of the tests FILES are run."""
    makefile = (folder / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"`((?:make|\.venv/bin/python) [^`]+)`", STEPS[-1].partition("\n\nYou need none")[0]):
        program, *arguments = shlex.split(command)
        if program != "make":
            yield arguments
            continue
        target, given = arguments[0], dict(argument.split("=", 1) for argument in arguments[1:])
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
        for line in recipe.replace("$(RUN)", "python").splitlines():
            for variable in re.findall(r"\$\((\w+)\)", line):
                line = line.replace(f"$({variable})", given.get(variable, ""))
            yield [*shlex.split(line)[1:], *(FILES if target == "test" else ())]


@pytest.mark.slow
def test_following_the_steps_to_the_letter_gives_an_operator_that_passes_its_tests(tmp_path):
    if hasattr(pb, "lambertw"):
        declared = (ROOT / "pullback/ops/derivatives.yaml").read_text(encoding="utf-8")
        assert block(STEPS[2]) in declared, "CONTRIBUTING.md's example exists by now: choose another"
        pytest.skip("the steps have been followed in this tree")
    folder = tmp_path / "pullback"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    follow(folder)
    env = os.environ | {"PYTHONPATH": str(folder), "PYTEST_ADDOPTS": "-q -p no:cacheprovider", "MPLBACKEND": "Agg"}
    ran = []
    for arguments in commands(folder):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        ran.append(done.stdout)
    assert int(re.search(r"(\d+) passed", ran[-1])[1]) > 10
    assert "lambertw" in (folder / "tests/public_names.txt").read_text(encoding="utf-8")
