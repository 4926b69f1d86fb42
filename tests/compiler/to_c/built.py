"""Builds what `export` has written, with a main in C, and runs it."""

import re
import shutil
import subprocess
from math import prod

import numpy as np
import pytest

import pullback as pb
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor

STRICT = ("-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static void *read_in(size_t size) {{
    void *found = malloc(size);
    if (found == NULL || fread(found, 1, size, stdin) != size) exit(2);
    return found;
}}

int main(void) {{
    {arguments}
    {results}
    char *workspace = malloc({NAME}_WORKSPACE);
    int status = {name}({names}, workspace);
    if (status) return 10 + status;
    {written}
    free(workspace);
    {freed}
    return 0;
}}
"""


def compiler():
    """A compiler of C; without one the test is left out."""
    if (found := next(filter(shutil.which, ("cc", "gcc", "clang")), None)) is None:
        pytest.skip("there is no C compiler")
    return found


def run(source, args, like, options=(), strict=STRICT):
    """The results of the C function for these arguments, as arrays in the form of `like`."""
    name = source.stem
    header = source.with_suffix(".h").read_text()
    rows = re.findall(r"^   (argument|result) +([\w ]+?) (\w+)\[(\d+)\]", header, re.MULTILINE)
    kinds = {how: [row for row in rows if row[0] == how] for how in ("argument", "result")}
    given = [x.detach().numpy() if isinstance(x, Tensor) else x for x in flatten(tuple(args))[0]]
    given = [np.asarray(x) for x in given if isinstance(x, (np.ndarray, np.generic))]
    assert [int(row[3]) for row in kinds["argument"]] == [x.size for x in given]
    main = MAIN.format(
        name=name, NAME=name.upper(), names=", ".join(row[2] for row in rows),
        arguments="\n    ".join(f"{t} *{n} = read_in({c} * sizeof({t}));" for _, t, n, c in kinds["argument"]),
        results="\n    ".join(f"{t} *{n} = malloc({c} * sizeof({t}));" for _, t, n, c in kinds["result"]),
        written="\n    ".join(f"fwrite({n}, sizeof({t}), {c}, stdout);" for _, t, n, c in kinds["result"]),
        freed="\n    ".join(f"free({n});" for *_, n, _ in rows),
    )  # fmt: skip
    file, program = source.with_name(f"{name}_main.c"), source.with_name(f"{name}_main")
    file.write_text(main)
    command = [compiler(), *strict, *options, str(file), str(source), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    done = subprocess.run([program], input=b"".join(x.tobytes() for x in given), capture_output=True, check=False)
    assert not done.returncode, (done.returncode, done.stderr.decode())
    found, begin = [], 0
    for x in like:
        size = prod(x.shape) * x.dtype.itemsize
        found.append(np.frombuffer(done.stdout[begin : begin + size], x.dtype).reshape(x.shape))
        begin += size
    assert begin == len(done.stdout)
    return found


def arrays_of(result):
    """The arrays of a result, in order."""
    leaves = [x.detach().numpy() if isinstance(x, Tensor) else x for x in flatten(result)[0]]
    return [np.asarray(x) for x in leaves if isinstance(x, (np.ndarray, np.generic))]


def check(function, args, folder, options=(), vector_bytes=0, others=(), strict=STRICT, tolerance=1e-11):
    """Export a function, build it, and compare its results with eager ones, also for other arguments."""
    source, _ = pb.compiler.export(function, args, folder / "model", vector_bytes=vector_bytes)
    for given in (args, *others):
        with np.errstate(all="ignore"):
            expected = arrays_of(function(*given))
        found = run(source, given, expected, options, strict)
        for x, y in zip(found, expected, strict=True):
            near = 2e-4 if y.dtype == np.float32 else tolerance
            np.testing.assert_allclose(x, y, rtol=near, atol=near)
    return source
