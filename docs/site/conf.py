"""Sphinx's settings for the site. `make docs` builds it; see build.py beside this file."""

from __future__ import annotations

from typing import Any

from docutils import nodes

import pullback as pb

project = "pullback"
author = "The pullback developers"
copyright = author
version = release = pb.__version__

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "literal"
exclude_patterns: list[str] = []
templates_path = ["templates"]
nitpicky = True
add_module_names = False
toc_object_entries = False
python_display_short_literal_types = True

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin with its own level of headings

html_theme = "pydata_sphinx_theme"
html_title = f"pullback {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "collapse_navigation": True,
    "show_nav_level": 1,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"reference/pullback*": ["neighbours.html"], "gallery/index": []}
html_show_sourcelink = False
html_copy_source = False
pygments_style = "default"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Any) -> None:
    """Show examples without the empty line at their end, by which doctest tells where output ends."""
    app.connect("doctree-read", _trim_examples)


def _trim_examples(app: Any, document: nodes.document) -> None:
    for block in document.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        block.children = [nodes.Text(text)]
        block.rawsource = text
