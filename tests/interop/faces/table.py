"""All idioms, by theme: one module of `idioms/` each."""

from tests.interop.faces.comparison import from_module
from tests.interop.faces.idioms import arithmetic, functions, indexing, methods, python, views, writing

THEMES = (indexing, writing, views, arithmetic, python, functions, methods)
IDIOMS = [idiom for module in THEMES for idiom in from_module(module)]
