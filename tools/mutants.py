"""Plant faults in the package, one at a time, and see whether the tests find them.

python tools/mutants.py [--tier sample|all] [--only NAME ...] [-n WORKERS] [PYTEST_ARGS ...]

Each fault goes into a copy of the tree, never into the tree itself. First run the tests of its part of the
package, then all of the tier, up to the first failure. A fault counts as found if that test fails with it when it runs
alone, and passes without it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIERS = {"sample": ["--sample"], "all": []}
# What writes files from the declarations; a fault in a declaration is planted in these files too.
WRITERS = ("codegen", "operators", "declarations")
NOT_COPIED = (".git", ".venv", "build", "dist", "demo", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault: `old`, which occurs once in `file` of the package, becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    breaks: str

    def planted(self, root: Path) -> str:
        """The text of the file with the fault; ValueError if the code has moved on."""
        text = (root / "pullback" / self.file).read_text(encoding="utf-8")
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: {self.old!r} occurs {found} times in {self.file}; look for a new place.")
        return text.replace(self.old, self.new)


MUTANTS = (
    Mutant(
        "wrong_sign",
        "ops/derivatives.yaml",
        "over_square_norm(other_p, self_p, other_p) - other_t *",
        "over_square_norm(other_p, self_p, other_p) + other_t *",
        "the tangent of atan2 in its second argument",
    ),
    Mutant(
        "missing_factor",
        "ops/formulas/reductions/reductions.py",
        "return 2.0 / freedom if",
        "return 1.0 / freedom if",
        "the gradients of variances",
    ),
    Mutant(
        "lost_conjugate",
        "ops/formulas/reductions/reductions.py",
        "* others.conjugate()",
        "* others",
        "the gradient of a product of complex numbers",
    ),
    Mutant(
        "wrong_axis",
        "ops/formulas/reductions/reductions.py",
        "sorted(range(x.ndim), key=order.__getitem__)",
        "order",
        "the gradient of a product over several dimensions: an order in place of its inverse",
    ),
    Mutant(
        "broken_view_rule",
        "graph/view_geometry.py",
        "(self.indices().reshape(-1),), row, True)",
        "(self.indices().reshape(-1),), row, False)",
        "the gradient of a view that shows an element twice",
    ),
    Mutant(
        "version_not_bumped",
        "dispatch/pipeline.py",
        '        bump(target, f"{op.shown}(out=...)")\n',
        "",
        "the check of a saved tensor that out= has overwritten",
    ),
    Mutant(
        "contents_not_compared",
        "graph/saved.py",
        "return self.sums == _hash_of_sums(x)",
        "return True",
        "the error for a large ndarray that changes before backward",
    ),
    Mutant(
        "unreleased_saved_value",
        "autograd/engine/plain_loop.py",
        "        if not run.keep_graph:\n            node.release()\n    if extra is not None and extra.post_hooks:",
        "    if extra is not None and extra.post_hooks:",
        "the release of what a node with a hook has saved",
    ),
    Mutant(
        "lost_hook",
        "autograd/engine/accumulate.py",
        "for hook in list(hooks.values() if hooks else ()):",
        "for hook in list(hooks.values() if hooks else ())[:1]:",
        "every hook but the first that runs after a leaf's gradient",
    ),
    Mutant(
        "leak",
        "autograd/multi_grad_hooks.py",
        "return weakref.ref(tensor.grad_fn)",
        "return lambda node=tensor.grad_fn: node",
        "the end of a graph whose tensors share a hook",
    ),
    Mutant(
        "lost_history",
        "autograd/engine/accumulate.py",
        "_copied(grad) if held is None else held + grad), *replace]",
        "_copied(grad) if held is None else held.detach() + grad), *replace]",
        "the history of a .grad that a second backward with create_graph adds to",
    ),
    Mutant(
        "wrong_mask",
        "arrays/masks.py",
        "return reduce(or_, masks) if",
        "return reduce(np.logical_and, masks) if",
        "which elements of a sum of two gradients were touched",
    ),
    Mutant(
        "error_swallowed",
        "autograd/engine/accumulate.py",
        "        if variable._fn is not None:\n",
        "        if variable._fn is not None and run.level:\n",
        "the error for a leaf that was moved into the graph, whose gradient nobody would find",
    ),
    Mutant(
        "state_not_restored",
        "autograd/checkpoint/randomness.py",
        "for g, s in now))",
        "for g, s in now[:1]))",
        "the generators after a checkpointed function has run again, all but one",
    ),
    Mutant(
        "stale_tangent",
        "arrays/dual/elements.py",
        "dual.tangent[index] = 0 if moved is None else moved",
        "dual.tangent[index] = dual.tangent[index] if moved is None else moved",
        "the tangent of an element that a constant overwrites",
    ),
    Mutant(
        "batch_dimension_misplaced",
        "arrays/batched/boundary.py",
        "movedim(values, 0, dim)",
        "movedim(values, dim, 0)",
        "vmap's out_dims beyond 1",
    ),
    Mutant(
        "lost_dtype",
        "interop/adapters/calculus.py",
        'np.ravel(cast(array(to_end), ary.dtype, "ediff1d"))',
        "np.ravel(array(to_end))",
        "the dtype of np.ediff1d with an end of another dtype",
    ),
    Mutant(
        "swapped_gradients",
        "scipy/rules/special/slopes.yaml",
        '{a: "-result * digamma_difference(a, b, 0)", b: "-result * digamma_difference(b, a, 0)"}',
        '{a: "-result * digamma_difference(b, a, 0)", b: "-result * digamma_difference(a, b, 0)"}',
        "scipy.special.beta",
    ),
    Mutant(
        "wrong_border",
        "scipy/rules/ndimage/borders.py",
        '"grid-mirror": "reflect"',
        '"grid-mirror": "mirror"',
        "scipy.ndimage's filters with the mode grid-mirror",
    ),
    Mutant(
        "optimizers_factor",
        "optim/rules.py",
        "((1 - beta2**t) * rectified) ** 0.5",
        "rectified**0.5",
        "RAdam's correction for the start of the average",
    ),
)


class Copy:
    """A copy of the tree in which faults are planted and tests run."""

    def __init__(self, where: Path, workers: str, more: list[str]) -> None:
        self.root, self.workers, self.more = where / "tree", workers, more
        self.environment = {**os.environ, "PYTHONPATH": str(self.root), "MPLBACKEND": "Agg"}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would parse and rewrite all tests again
        self.restore()

    def restore(self) -> None:
        """Put the tree's own files in place."""
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)

    def plant(self, mutant: Mutant) -> None:
        """Write the fault, and anew what is generated from its file."""
        (self.root / "pullback" / mutant.file).write_text(mutant.planted(self.root), encoding="utf-8")
        if mutant.file.endswith(".yaml"):
            for tool in WRITERS:
                self.run(f"tools/{tool}.py").check_returncode()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def failed(self, *arguments: str) -> list[str]:
        """The tests that fail in a run that ends at the first failure."""
        # That each fault still has its place is no claim about what the fault breaks.
        options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", "--ignore=tests/test_mutants.py"]
        run = self.run("-m", "pytest", *options, *arguments)
        found = re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
        if run.returncode not in (0, 1, 2) or bool(run.returncode) != bool(found):
            raise RuntimeError(f"pytest ended with {run.returncode}:\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
        return found

    def finds(self, mutant: Mutant, tier: list[str]) -> str | None:
        """The test that finds the fault; None if all pass."""
        near = f"tests/{mutant.file.partition('/')[0]}"
        parts = [[near], []] if (ROOT / near).is_dir() else [[]]  # a part of the tier, then all of it
        try:
            self.plant(mutant)
            found = next(filter(None, (self.first_failure([*part, *tier]) for part in parts)), None)
        finally:
            self.restore()
        if found and self.failed(found):
            raise RuntimeError(f"{found} fails without a fault too.")
        return found

    def first_failure(self, which: list[str]) -> str | None:
        """The first of these tests that fails, also where it runs alone; what fails by chance is passed over."""
        spread = ["-n", self.workers, "--dist", "worksteal"] if self.workers != "0" else []
        left_out: list[str] = []
        while found := self.failed(*which, *spread, *self.more, *left_out):
            if self.failed(found[0]):
                return found[0]
            left_out.append(f"--deselect={found[0]}")
        return None


def main() -> int:
    """Run the tier on each mutant, and say which it finds; the exit status is 1 if it misses one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=TIERS, default="sample", help="the sample that `make test` runs, or all")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[m.name for m in MUTANTS], help="these faults")
    parser.add_argument("-n", dest="workers", default="auto", help="how many processes run the tests; 0: this one")
    given, more = parser.parse_known_args()
    chosen = [m for m in MUTANTS if given.only is None or m.name in given.only]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), given.workers, more)
        for mutant in chosen:
            start = time.perf_counter()
            found = copy.finds(mutant, TIERS[given.tier])
            missed += found is None
            took = f"{time.perf_counter() - start:4.0f} s"
            told = f"found by {found}" if found else f"NOT FOUND: {mutant.breaks}"
            print(f"{mutant.name:26} {took}  {told}", flush=True)
    print(f"found {len(chosen) - missed} of {len(chosen)}")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
