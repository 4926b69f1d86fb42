"""`export`: a function, and its derivatives, as C that needs nothing but itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pullback.compiler.compiled import Compiled
from pullback.compiler.errors import ExportError
from pullback.compiler.native.program import Target
from pullback.compiler.to_c.files import Files, Parameter
from pullback.compiler.to_c.names import in_c, is_identifier, paths_of_arguments
from pullback.compiler.to_c.recording import ExportKernels, Recorder, is_array
from pullback.core.errors import with_article
from pullback.core.pytree import flatten, paths_of

_MOST_BYTES = 1 << 20  # of constants
_WIDTHS = (0, 16, 32, 64)


def export(
    function: Callable[..., Any], args: Sequence[Any], path: str | os.PathLike[str], *, vector_bytes: int = 0
) -> tuple[Path, Path]:
    """Write a function as C11: a source and a header, which need neither Python nor a library.

    The function runs twice and is recorded, derivatives included. Each operator becomes loops. The C function takes
    pointers to arguments, results and a workspace; it allocates nothing and has no variables outside. The header says
    in which order, of which shapes and types. docs/guide/export.md tells more.

    Parameters
    ----------
    function : callable
        Of arrays and trees of them: `f`, or ``pb.func.value_and_grad(f)``. What it reads besides is written into the
        file as it is now.
    args : tuple
        Its arguments, whose arrays have the shapes and dtypes of later ones. Arrays, Tensors and NumPy's numbers are
        arguments in C. Python's numbers, strings and None are the same at each call: give ``np.float64(0.5)``, not 0.5,
        for a number that varies.
    path : path-like
        Without a suffix: "build/model" writes build/model.c and build/model.h, with a function `model`.
    vector_bytes : {0, 16, 32, 64}, default 0
        0 writes C11 as the standard has it. Another number writes vectors of so many bytes, as gcc and clang know them:
        the width of the machine's registers.

    Returns
    -------
    tuple of (Path, Path)
        The source and the header.

    Raises
    ------
    ExportError
        There is something in it that C cannot have: an operator without a form in C, a choice by numbers
        (``if x.sum() > 0``), random numbers, a write into an argument. The text names the operators, the lines, and
        what to write instead.
    TypeError, ValueError
        `args` is no tuple, or `path` has no name that a function of C may have.

    Examples
    --------
    >>> import tempfile
    >>> def f(x):
    ...     return np.sum(np.sin(x) ** 2)
    >>> source, header = pb.compiler.export(pb.func.value_and_grad(f), (np.zeros(3),), f"{tempfile.mkdtemp()}/model")
    >>> next(line for line in header.read_text().splitlines() if line.startswith("int model"))
    'int model(const double *x, double *out_0, double *out_1, void *workspace);'
    """
    name = _checked(function, args, path, vector_bytes)
    function = function._function if type(function) is Compiled else function
    recording = Recorder(function, check=False, pure=False).record(tuple(args))
    kernels = ExportKernels(
        recording.graph, recording.inputs, recording.steps, recording.results, Target(vector_bytes, blas=False)
    )
    if (size := sum(x.nbytes for x in kernels.constants)) > _MOST_BYTES:
        raise ExportError(
            f"export({_name(function)}): it reads {size:,} bytes of arrays, and a file may have {_MOST_BYTES:,}: "
            "make the large ones arguments."
        )
    leaves, _ = flatten(tuple(args))
    paths = paths_of_arguments(function, args)
    arrays = [*map(is_array, leaves)]
    fixed = [f"{at} = {x!r}" for at, x, is_array in zip(paths, leaves, arrays, strict=True) if not is_array]
    given = [at for at, is_array in zip(paths, arrays, strict=True) if is_array]
    outs = [f"result{at}" for at in paths_of(recording.structure)]
    fixed += [f"{at} = {x!r}" for at, x in zip(outs, recording.leaves, strict=True) if x is not None]
    outs = [at for at, x in zip(outs, recording.leaves, strict=True) if x is None]
    own = kernels.own_names
    if name in own:
        raise ValueError(f"export: {name!r} is the name of another function of the file: give it another one.")
    names = in_c([*given, *(at.replace("result", "out", 1) for at in outs)], taken=(name, *own))
    found = [
        Parameter(c, at, x)
        for c, at, x in zip(names, [*given, *outs], [*recording.inputs, *recording.results], strict=True)
    ]
    files = Files(name, _name(function), kernels, found[: len(given)], found[len(given) :], fixed)
    source, header = (Path(path).with_name(f"{name}{suffix}") for suffix in (".c", ".h"))
    source.write_text(files.source, encoding="ascii", errors="backslashreplace")
    header.write_text(files.header, encoding="ascii", errors="backslashreplace")
    return source, header


def _checked(function: Any, args: Any, path: Any, vector_bytes: Any) -> str:
    """The name of the function in C."""
    if not callable(function):
        raise TypeError(f"export: expected a function, got {with_article(function)}.")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"export: args must be a tuple of the arguments, got {with_article(args)}: write (x,) for one.")
    if vector_bytes not in _WIDTHS:
        raise ValueError(f"export: vector_bytes must be 0, 16, 32 or 64, got {vector_bytes!r}.")
    name = Path(path).name
    if not is_identifier(name):
        raise ValueError(
            f"export: {name!r} cannot be the name of a function in C: write letters, digits and _, such as "
            "'build/model', without a suffix."
        )
    return name


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
