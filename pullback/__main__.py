"""``python -m pullback``: the demos, and the generator for operators of your own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    options = parser().parse_args(argv)
    return options.run(options)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="pullback", description="PyTorch's autograd for NumPy arrays.")
    top.add_argument("--version", action=Version)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run a demo and write its pictures")
    demo.add_argument(
        "name",
        nargs="?",
        choices=("digits", "fit"),
        default="digits",
        help="digits: train a classifier (the default); fit: least squares with exact Hessians",
    )
    demo.add_argument("-o", "--output", type=Path, default=Path("demo"), help="folder for the pictures (default: demo)")
    demo.set_defaults(run=run_demo)

    codegen = commands.add_parser("codegen", help="write Python code for the operators that a YAML file declares")
    codegen.add_argument("yaml", type=Path, help="the declarations, as pullback.ops.load reads them")
    codegen.add_argument("-o", "--output", type=Path, required=True, help="the Python file to write")
    codegen.set_defaults(run=run_codegen)
    return top


class Version(argparse.Action):
    """Print the version and stop; pullback is imported only then."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Called by argparse."""
        from pullback import __version__

        print(f"pullback {__version__}")
        parser.exit()


def run_demo(options: argparse.Namespace) -> int:
    """The subcommand `demo`."""
    from pullback.demo import digits, fit
    from pullback.demo.extras import MissingExtraError

    try:
        return {"digits": digits, "fit": fit}[options.name].main(options.output)
    except MissingExtraError as missing:
        print(missing, file=sys.stderr)
        return 1


def run_codegen(options: argparse.Namespace) -> int:
    """The subcommand `codegen`."""
    from pullback.codegen import third_party

    if not sys.flags.safe_path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the modules that the file names are found by both
    return third_party.main(options.yaml, options.output)


if __name__ == "__main__":
    sys.exit(main())
