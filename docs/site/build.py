"""Build the site: `make docs`.

The source of the site is a mirror of the repository's own Markdown, so that links between pages are the same there as
on a code host, with index.md of this folder in front and the reference, which is made from the live objects.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
BUILD = ROOT / "build" / "docs"
MIRRORED = (
    "docs/**/*.md", "docs/**/*.svg", "docs/**/*.png", "examples/*/README.md", "examples/**/*.png", "*.md",
    "pullback/explanations/*.md",
)  # fmt: skip


def mirror(source: Path) -> None:
    """Copy what has changed; remove what is gone."""
    wanted = {}
    for pattern in MIRRORED:
        for path in ROOT.glob(pattern):
            if SITE not in path.parents:
                wanted[source / path.relative_to(ROOT)] = path
    for path in SITE.glob("*.md"):
        wanted[source / path.name] = path
    for copy, path in wanted.items():
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    made = {source / "reference", source / "gallery"}
    for old in source.rglob("*.*"):
        if old.is_file() and old not in wanted and not made & {*old.parents}:
            old.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", default="auto")
    parser.add_argument("--browser", action="store_true", help="try the pages in headless Chromium")
    args = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(SITE)]
    import check
    import gallery
    import reference
    from sphinx.cmd.build import main as sphinx

    source = BUILD / "source"
    (source / "reference").mkdir(parents=True, exist_ok=True)
    mirror(source)
    print(f"{reference.write(source / 'reference')} pages of reference", flush=True)
    print(f"{gallery.write(source / 'gallery', BUILD / 'pictures')} pictures in the gallery", flush=True)
    options = [
        "-b",
        "html",
        "-c",
        str(SITE),
        "-d",
        str(BUILD / "doctrees"),
        "-E",
        "-j",
        args.jobs,
        "-W",
        "--keep-going",
        "-q",
    ]
    html = BUILD / "html"
    if status := sphinx([*options, str(source), str(html)]):
        return int(status)
    wrong = [f"broken link in {link}" for link in check.broken_links(html)]
    if args.browser:
        wrong += check.failures_in_browser(html)
    print("\n".join([*wrong, f"open {(html / 'index.html').relative_to(ROOT)}"]))
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
