"""``python -m pullback``: demos, the lab, reports of functions, functions as C, pages on errors, code for operators."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status. Without a command, show which there are."""
    words = sys.argv[1:] if argv is None else argv
    if not words:
        parser().print_help(sys.stderr)
        return 2
    options = parser().parse_args(words)
    status: int = options.run(options)
    return status


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="pullback", description="PyTorch's autograd for NumPy arrays.")
    top.add_argument("--version", action=Version)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run a demo and write its pictures")
    demo.add_argument(
        "name",
        nargs="?",
        choices=("digits", "fit", "all"),
        default="digits",
        help="digits: train a classifier (the default); fit: least squares with exact Hessians; all: both",
    )
    demo.add_argument("-o", "--output", type=Path, default=Path("demo"), help="folder for the pictures (default: demo)")
    demo.set_defaults(run=run_demo)

    codegen = commands.add_parser("codegen", help="write Python code for the operators that a YAML file declares")
    codegen.add_argument("yaml", type=Path, help="the declarations, as pullback.ops.load reads them")
    codegen.add_argument("-o", "--output", type=Path, required=True, help="the Python file to write")
    codegen.set_defaults(run=run_codegen)

    check = commands.add_parser("check", help="report on a function's derivatives; exit status 1: something is wrong")
    check.add_argument("function", help="module:function, or file.py:function")
    check.add_argument(
        "args",
        nargs="*",
        default=[],
        help="its arguments: Python literals (lists become arrays: '[1.0, 2.0]'), the name of a .npy file, or a shape "
        "such as 3x4 (3x for one dimension), for random normal numbers; a number below zero after --",
    )
    check.set_defaults(run=run_check)

    export = commands.add_parser(
        "export", help="write a function, and its derivative, as C that needs nothing but itself"
    )
    export.add_argument("function", help="module:function, or file.py:function")
    export.add_argument(
        "--args",
        nargs="*",
        default=[],
        metavar="ARG",
        help="its arguments, as `check` takes them: arrays give shapes and dtypes, other literals stay as they are",
    )
    derived = export.add_mutually_exclusive_group()
    for name in ("grad", "value-and-grad"):
        derived.add_argument(
            f"--{name}", dest="derived", action="store_const", const=name, help=f"{name} of it, by its first argument"
        )
    export.add_argument("-o", "--output", type=Path, help="path of the files without suffix (default: the name)")
    export.add_argument(
        "--vector-bytes",
        type=int,
        default=0,
        help="vectors of so many bytes, as gcc and clang know them (default: none)",
    )
    export.set_defaults(run=run_export)

    explain = commands.add_parser("explain", help="say more about a class of errors, with an example and what to write")
    explain.add_argument(
        "name", nargs="?", help="the class, such as DetachingError; without it, all of them are listed"
    )
    explain.set_defaults(run=run_explain)

    lab = commands.add_parser("lab", help="a course of sixteen exercises: write formulas and rules, have them checked")
    lab.add_argument(
        "words", nargs="*", metavar="[check] [N]", help="show exercise N or check it (default: the next one)"
    )
    lab.add_argument("--hint", action="store_true", help="one more hint; the last one is a solution")
    lab.add_argument("--list", action="store_true", help="the exercises, and which are solved")
    lab.add_argument(
        "--reset", action="store_true", help="begin anew (with N: that exercise); your files are kept as .old"
    )
    lab.add_argument(
        "--folder", type=Path, default=Path("pullback-lab"), help="where your files are (default: pullback-lab)"
    )
    lab.set_defaults(run=run_lab)
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
    from pullback.core.extras import MissingExtraError
    from pullback.demo import digits, fit
    from pullback.demo.summary import summary

    demos = {"digits": digits, "fit": fit}
    chosen = list(demos) if options.name == "all" else [options.name]
    try:
        for name in chosen:
            demos[name].main(options.output)
    except MissingExtraError as missing:
        print(missing, file=sys.stderr)
        return 1
    print(summary(options.output, chosen))
    return 0


def run_codegen(options: argparse.Namespace) -> int:
    """The subcommand `codegen`."""
    from pullback.codegen import third_party

    if not sys.flags.safe_path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the modules that the file names are found by both
    return third_party.main(options.yaml, options.output)


def run_check(options: argparse.Namespace) -> int:
    """The subcommand `check`."""
    from pullback.checkup import command

    return command.main(options.function, options.args)


def run_export(options: argparse.Namespace) -> int:
    """The subcommand `export`."""
    from pullback.compiler.to_c import command

    return command.main(options.function, options.args, options.output, options.derived, options.vector_bytes)


def run_explain(options: argparse.Namespace) -> int:
    """The subcommand `explain`."""
    pages = {page.stem: page for page in sorted((Path(__file__).parent / "explanations").glob("*.md"))}
    if options.name is None:
        print("\n".join(pages))
        print("\nThe page on one of them: python -m pullback explain DetachingError", file=sys.stderr)
        return 0
    name = options.name.rpartition(".")[2]
    if name not in pages:
        near = difflib.get_close_matches(name, pages, 1)
        print(f"there is no page on {name!r}; {f'did you mean {near[0]}?' if near else 'there are:'}", file=sys.stderr)
        if not near:
            print("\n".join(pages), file=sys.stderr)
        return 1
    text = pages[name].read_text(encoding="utf-8")
    links = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(docs/[\w/]+\.md)[^)]*\)")  # which lead from the page, not from here
    print(links.sub(r"\1 (\2)", text), end="")
    if links.search(text):
        print("\ndocs/ is a folder of the source, and the site that `make docs` builds there.")
    return 0


def run_lab(options: argparse.Namespace) -> int:
    """The subcommand `lab`."""
    from pullback.lab import terminal

    return terminal.main(options.words, options.folder, options.hint, options.list, options.reset)


if __name__ == "__main__":
    sys.exit(main())
