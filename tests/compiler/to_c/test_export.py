"""What `export` writes is C11 without a warning, gives what eager mode gives, and touches no memory but its own."""

import math
import re
import subprocess
from itertools import pairwise

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import ExportError
from tests.compiler.to_c import built

F = pb.nn.functional
RNG = np.random.default_rng(0)
W = RNG.standard_normal((4, 4))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def network(params, x, y):
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    return np.mean((x @ w + b - y) ** 2)


def cell(x, h, c, w):
    parts = np.concatenate([x, h]) @ w
    i, f, o, new = (parts[4 * k : 4 * k + 4] for k in range(4))
    c = c / (1 + np.exp(-f)) + np.tanh(new) / (1 + np.exp(-i))
    return np.tanh(c) / (1 + np.exp(-o)), c


def attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    return np.sum((parts / parts.sum(-1, keepdims=True) @ v) ** 2)


def kalman(x, p, z, f, h, q, r):
    """One step of a filter: the estimate, and its covariance."""
    x, p = f @ x, f @ p @ f.T + q
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
    return x + gain @ (z - h @ x), (np.eye(len(x)) - gain @ h) @ p


def log_density(x, mean, covariance):
    root = np.linalg.cholesky(covariance)
    part = np.linalg.solve(root, x - mean)
    return -0.5 * np.sum(part**2) - np.sum(np.log(np.diag(root))) + np.linalg.slogdet(covariance)[1]


def images(x, w, v):
    y = F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2).flatten(1)
    return y.square().sum() + F.avg_pool2d(F.conv_transpose2d(x, v, stride=2), 3).sum()


def running(x):
    return np.sum(np.cumsum(x, 0) ** 2) + np.sum(np.cumprod(x, 1)) + np.prod(x) + np.std(x) + np.max(x)


def of_all_kinds(x, i, flag):
    return {"chosen": x[i], "signs": [x > 0, np.where(flag, x.T, 1.0)], "three": 3, "sums": (x.sum(0), x.T @ W)}


def many_steps(x):
    for k in range(40):
        x = np.sin(W @ x) * (1 + 0.001 * k)
    return np.sum(x)


def params(*sizes):
    return [(RNG.standard_normal((m, n)), RNG.standard_normal(n)) for m, n in pairwise(sizes)]


DIFFERENTIATED = {
    "rosenbrock": (pb.func.value_and_grad(rosenbrock), (np.linspace(-1.2, 1.0, 10),)),
    "hessian": (pb.func.hessian(rosenbrock), (np.linspace(-1.0, 1.0, 6),)),
    "network": (
        pb.func.value_and_grad(network),
        (params(5, 16, 12, 3), RNG.standard_normal((20, 5)), RNG.standard_normal((20, 3))),
    ),
    "cell": (cell, (*(RNG.standard_normal(n) for n in (3, 4, 4)), RNG.standard_normal((7, 16)))),
    "attention": (
        pb.func.grad(attention, argnums=(0, 1, 2)),
        (*(RNG.standard_normal((2, n, 4)) for n in (6, 7)), RNG.standard_normal((2, 7, 5))),
    ),
    "filter": (
        pb.func.grad(lambda *args: sum(map(np.sum, kalman(*args))), argnums=(0, 1, 3)),
        (RNG.standard_normal(4), np.eye(4), RNG.standard_normal(2), W, W[:2], 2 * np.eye(4), 3 * np.eye(2)),
    ),
    "log_density": (
        pb.func.value_and_grad(log_density, argnums=(0, 2)),
        (RNG.standard_normal(4), RNG.standard_normal(4), W @ W.T + np.eye(4)),
    ),
    "images": (
        pb.func.value_and_grad(images, argnums=(0, 1, 2)),
        tuple(pb.tensor(RNG.standard_normal(n)) for n in ((2, 3, 8, 8), (4, 3, 3, 3), (3, 2, 2, 2))),
    ),
    "running": (pb.func.value_and_grad(running), (RNG.standard_normal((3, 4)),)),
    "all kinds": (of_all_kinds, (RNG.standard_normal((4, 4)), np.array([2, -1, 0]), np.array(True))),
    "many steps": (pb.func.value_and_grad(many_steps), (RNG.standard_normal(4),)),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_c_gives_what_eager_mode_gives_under_the_sanitizers(name, tmp_path):
    built.check(*DIFFERENTIATED[name], tmp_path, built.SANITIZERS)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_vectors_give_the_same(vector_bytes, tmp_path):
    x = RNG.standard_normal(1003).astype(np.float32)
    f = pb.func.value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x / 2) + np.log(np.abs(x) + 1)))
    source = built.check(f, (x,), tmp_path, built.SANITIZERS, vector_bytes)
    assert "vector_size" in source.read_text()


def test_scalars_are_c_as_the_standard_has_it(tmp_path):
    source, header = pb.compile.export(pb.func.hessian(rosenbrock), (np.ones(4),), tmp_path / "model")
    text = source.read_text() + header.read_text()
    known_to_gcc = re.compile(r"#if defined __GNUC__.*?#else", re.DOTALL)
    assert not re.search(r"__(attribute|builtin)|\b[cm]alloc\b", known_to_gcc.sub("", text))
    assert set(re.findall(r"#include (.*)", text)) <= {'"model.h"', "<stdint.h>", "<string.h>", "<math.h>"}
    outside = [line for line in text.splitlines() if line.startswith("static") and "(" not in line]
    assert outside
    assert all(line.startswith("static const ") for line in outside)


def test_the_header_says_what_is_what(tmp_path):
    _, header = pb.compiler.export(
        lambda params, X, n: {"y": params["w"] * X + n, "n": n, "x": X},
        ({"w": np.ones(3)}, np.ones((2, 3), np.float32), 2), tmp_path / "model",
    )  # fmt: skip
    text = header.read_text()
    declared = "int model(const double *params_w, const float *x, float *out_x, double *out_y, void *workspace);"
    assert declared in text
    assert re.search(r"argument +double params_w\[3\] +params\['w'\] +float64 \(3,\)", text)
    assert re.search(r"result +float out_x\[6\] +result\['x'\] +float32 \(2, 3\)", text)
    assert "n = 2\n" in text
    assert "result['n'] = 2\n" in text


def test_a_wrong_index_ends_the_run(tmp_path):
    source, _ = pb.compiler.export(lambda x, i: x[i] * 2, (np.ones(3), np.array([0, 1])), tmp_path / "model")
    expected = [np.array([2.0, 2.0])]
    np.testing.assert_array_equal(built.run(source, (np.ones(3), np.array([-3, 2])), expected), expected)
    for wrong in (3, -4):
        with pytest.raises(AssertionError, match="11"):
            built.run(source, (np.ones(3), np.array([0, wrong])), expected)


def test_a_singular_matrix_ends_the_run(tmp_path):
    source, _ = pb.compiler.export(np.linalg.inv, (np.eye(2),), tmp_path / "model")
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(built.run(source, (a,), [a])[0], np.linalg.inv(a), rtol=1e-14)
    with pytest.raises(AssertionError, match="11"):
        built.run(source, (np.ones((2, 2)),), [a])


def test_captured_tensors_and_modules_are_constants(tmp_path):
    weight = pb.tensor(W, requires_grad=True)
    args = (pb.tensor(RNG.standard_normal((3, 4))),)
    built.check(lambda x: pb.softmax(x @ weight, 1).detach(), args, tmp_path, tolerance=1e-12)
    assert weight.grad is None


def test_names_of_the_file_are_not_those_of_arguments(tmp_path):
    built.check(
        lambda kernel0, rows, bases: np.sin(kernel0) + rows * bases, (np.ones(2), np.ones(2), np.ones(2)), tmp_path
    )
    with pytest.raises(ValueError, match="another function of the file"):
        pb.compiler.export(np.sin, (np.ones(2),), tmp_path / "kernel0")


def test_many_kernels_are_called_by_a_table(tmp_path):
    source, _ = pb.compiler.export(*DIFFERENTIATED["many steps"], tmp_path / "model")
    assert "steps[k].run(" in source.read_text()


def test_arguments_are_distinct_though_they_are_one_array(tmp_path):
    x = np.ones(2)
    built.check(lambda a, b: a - b, (x, x), tmp_path, others=[(x, 3 * x)])


def test_two_functions_live_in_one_program(tmp_path):
    for name in ("first", "second"):
        pb.compiler.export(lambda x: np.sin(x), (np.ones(2),), tmp_path / name)
    main = tmp_path / "main.c"
    main.write_text(
        '#include "first.h"\n#include "second.h"\n'
        "int main(void) { double x[2] = {1, 2}, y[2], z[2]; char work[FIRST_WORKSPACE + SECOND_WORKSPACE];\n"
        "return first(x, y, work) || second(y, z, work + FIRST_WORKSPACE); }\n"
    )
    command = [built.compiler(), *built.STRICT, *map(str, tmp_path.glob("*.c")), "-o", str(tmp_path / "main"), "-lm"]
    subprocess.run(command, check=True)
    subprocess.run([tmp_path / "main"], check=True)


# -- what cannot be ----------------------------------------------------------------------------------------------------
def looks_at_numbers(x):
    if x.sum() > 0:
        return x
    return -x


def sorts(x):
    return np.sort(x) + np.linalg.svd(np.outer(x, x))[1]


def draws(x):
    return x + pb.rand(3)


def writes(x):
    x[0] = 1.0
    return x * 2


@pb.custom_vjp
def opaque(x):
    return np.sort(x)


opaque.defvjp(lambda cotangent, y, x: cotangent)
COUNT = [0]


def counts(x):
    COUNT[0] += 1
    return x * COUNT[0]


@pytest.mark.parametrize(
    ("function", "args", "said"),
    [
        (looks_at_numbers, (np.ones(3),), [r"bool\(\).* True \(test_export.py:\d+, `if x.sum\(\) > 0:`\)", "where"]),
        (sorts, (np.ones(3),), [r"sort \(test_export.py:\d+", "svd", "pass it in"]),
        (draws, (pb.ones(3),), ["rand.*draws random numbers: pass the numbers in"]),
        (writes, (np.ones(3),), ["writes into its arguments", "return the new values"]),
        (lambda x: opaque(x) * 2, (np.ones(3),), ["opaque", "runs in Python"]),
        (counts, (np.ones(3),), ["changes what it reads|no two of its runs"]),
        (lambda x: x * 2, (np.ones(3, complex),), ["complex128", "real and imaginary parts"]),
        (lambda x: x[:0], (np.ones(3),), ["without elements"]),
        (lambda x: x.astype(np.int8) + 1, (np.ones(3),), ["int8", "the dtypes in C"]),
        (lambda x: 3, (np.ones(3),), ["gives no array"]),
        (lambda x: pb.func.fori_loop(0, 3, lambda i, c: c * 2, x), (np.ones(3),), ["loop as Python's `for`"]),
        (lambda x: math.sin(x) * 2, (np.float64(1.0),), ["numbers are checked", "NumPy's functions"]),
        (lambda x: x + np.random.default_rng(0).normal(), (np.ones(3),), ["draw"]),
    ],
)  # fmt: skip
def test_what_c_cannot_have_is_named_with_what_to_write_instead(function, args, said, tmp_path):
    with pytest.raises(ExportError) as error:
        pb.compiler.export(function, args, tmp_path / "model")
    for part in said:
        assert re.search(part, str(error.value)), str(error.value)
    assert not list(tmp_path.iterdir())


def test_many_numbers_are_an_argument(tmp_path):
    table = RNG.standard_normal(200_000)
    with pytest.raises(ExportError, match=r"1,600,000 bytes.*arguments"):
        pb.compiler.export(lambda x: np.sum(table * x), (np.float64(2.0),), tmp_path / "model")


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda p: pb.compiler.export(3, (), p / "model"), TypeError, "expected a function"),
        (lambda p: pb.compiler.export(np.sin, np.ones(3), p / "model"), TypeError, r"write \(x,\)"),
        (lambda p: pb.compiler.export(np.sin, (np.ones(3),), p / "model.c"), ValueError, "without a suffix"),
        (lambda p: pb.compiler.export(np.sin, (np.ones(3),), p / "double"), ValueError, "cannot be the name"),
        (lambda p: pb.compiler.export(np.sin, (np.ones(3),), p / "f", vector_bytes=8), ValueError, "0, 16, 32 or 64"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_was_expected(call, error, said, tmp_path):
    with pytest.raises(error, match=said):
        call(tmp_path)
