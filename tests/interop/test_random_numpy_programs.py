"""Random programs in plain NumPy that write, swap, view and mask: values, first and second derivatives."""

import os

import numpy as np
import pytest

import pullback as pb

PROGRAMS = int(os.environ.get("PULLBACK_NUMPY_PROGRAMS", "60"))
SIZE = 4


def _index(rng):
    """An index of a row of SIZE numbers, and how many it selects; 0 for a single number."""
    kind = rng.integers(7)
    i, j = (int(k) for k in rng.integers(-SIZE, SIZE, 2))
    if kind == 0:
        return repr(i), 0
    if kind == 1:
        return "1:3", 2
    if kind == 2:
        return "::2", 2
    if kind == 3:
        return "::-1", SIZE
    if kind == 4:
        i, j = (int(k) for k in rng.permutation(SIZE)[:2])
        return f"[{i}, {j}]", 2
    if kind == 5:
        return "...", SIZE
    return f"np.array([{i % SIZE}, {(i + 1) % SIZE}])", 2


def _unary(rng, x):
    function = rng.choice(["np.sin({})", "np.tanh({})", "np.exp(-{} * {})", "0.5 * {}", "({} + 0.3)", "{} ** 2", "-{}"])
    return function.replace("{}", x)


def program(seed):  # noqa: C901 - one line for each kind of statement
    """The text of a function of x."""
    rng = np.random.default_rng(seed)
    arrays = {"a": SIZE, "b": SIZE}
    numbers = ["s"]
    lines = ["a = np.sin(x)", "b = x.copy()", "s = x[0] * 0.5", "total = 0.0"]

    def array(size):
        names = [name for name, n in arrays.items() if n == size]
        if names:
            return str(rng.choice(names))
        whole = str(rng.choice([name for name, n in arrays.items() if n == SIZE]))
        return f"{whole}[1:3]" if size == 2 else whole

    def value(size):
        """An expression of that size; 0 for a number."""
        if size == 0:
            k = rng.integers(4)
            if k == 0:
                return str(rng.choice(numbers))
            return (
                f"{array(SIZE)}[{int(rng.integers(SIZE))}]",
                f"np.sum({array(SIZE)}) * 0.2",
                f"{array(SIZE)}.mean()",
            )[k - 1]
        k = rng.integers(4)
        if k == 0:
            return _unary(rng, array(size))
        if k == 1:
            return f"{array(size)} * {array(size)}"
        if k == 2:
            return f"{array(size)} - {value(0)} * 0.3"
        return f"np.where({array(size)} > 0.1, {array(size)}, {_unary(rng, array(size))})"

    for n in range(int(rng.integers(6, 16))):
        k = rng.integers(11)
        target = array(SIZE)
        index, size = _index(rng)
        if k == 0:
            lines.append(f"{target}[{index}] = {value(size)}")
        elif k == 1:
            operation = rng.choice(["+=", "-=", "*="])
            lines.append(f"{target}[{index}] {operation} {value(size)}")
        elif k == 2:
            lines.append(f"{target} {rng.choice(['+=', '*=', '-='])} {value(SIZE)}")
        elif k == 3:
            i, j = (int(k) for k in rng.permutation(SIZE)[:2])
            lines.append(f"{target}[{i}], {target}[{j}] = {target}[{j}], {target}[{i}]")
        elif k == 4:
            lines.append(f"{target}[{target} > {rng.normal():.2f}] *= 0.7")
        elif k == 5:
            arrays[f"v{n}"] = SIZE if rng.integers(2) else 2
            lines.append(f"v{n} = {target}[{'::-1' if arrays[f'v{n}'] == SIZE else '2:'}]")
        elif k == 6:
            lines.append(f"c{n} = {value(SIZE)}")
            arrays[f"c{n}"] = SIZE
        elif k == 7:
            lines.append(f"s{n} = {value(0)}")
            numbers.append(f"s{n}")
            lines.append(f"s{n} {rng.choice(['+=', '*='])} {value(0)}")
        elif k == 8:
            lines.append(f"x[{index}] = {value(size)}")
        elif k == 9:
            lines.append(f"if {array(SIZE)}.sum() > {value(0)}:\n        {target}[{index}] = {value(size)}")
        else:
            lines.append(f"total += np.sum({value(SIZE)} * {value(SIZE)})")
    lines.append(f"return total + np.sum({value(SIZE)} * {array(SIZE)}) + {value(0)} + np.sum(x * b)")
    return "def f(x):\n    " + "\n    ".join(lines)


def differences(f, x, step=1e-6):
    """The gradient by central differences, and whether another step gives the same: there may be a kink nearby."""

    def slopes(h):
        return np.array([(f(x + d) - f(x - d)) / (2 * h) for d in h * np.eye(len(x))])

    with np.errstate(all="ignore"):
        fine, coarse = slopes(step), slopes(10 * step)
    return fine, np.allclose(fine, coarse, rtol=1e-4, atol=1e-6)


def untouched(f):
    return lambda x: f(np.array(x))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed):
    text = program(seed)
    names = {"np": np}
    exec(text, names)
    f = untouched(names["f"])
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=SIZE), rng.normal(size=SIZE)
    expected, smooth = differences(f, x)
    if not smooth or not np.all(np.isfinite(expected)) or np.max(np.abs(expected)) > 1e4:
        pytest.skip("a kink, or numbers too large for differences")
    value, gradient = pb.func.value_and_grad(names["f"])(x)
    scale = max(1.0, np.max(np.abs(expected)))
    np.testing.assert_allclose(value, f(x), rtol=1e-12, atol=1e-12, err_msg=text)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * scale, err_msg=text)
    forward = pb.func.jvp(names["f"], (x,), (v,))[1]
    np.testing.assert_allclose(forward, np.dot(expected, v), rtol=1e-5, atol=1e-5 * scale, err_msg=text)

    def slope(x):
        return np.sum(pb.func.grad(names["f"])(x) * v)

    expected, smooth = differences(slope, x)
    if not smooth:
        return
    scale = max(1.0, np.max(np.abs(expected)))
    np.testing.assert_allclose(pb.func.grad(slope)(x), expected, rtol=1e-4, atol=1e-4 * scale, err_msg=text)
    forward = pb.func.jvp(pb.func.grad(names["f"]), (x,), (v,))[1]
    np.testing.assert_allclose(forward, expected, rtol=1e-4, atol=1e-4 * scale, err_msg=text)

    def pushed(x):
        return pb.func.jvp(names["f"], (x,), (v,))[1]

    np.testing.assert_allclose(pb.func.grad(pushed)(x), expected, rtol=1e-4, atol=1e-4 * scale, err_msg=text)
    forward = pb.func.jvp(pushed, (x,), (v,))[1]
    np.testing.assert_allclose(forward, np.dot(expected, v), rtol=1e-4, atol=1e-4 * scale, err_msg=text)
    if seed % 5:
        return
    third = pb.func.jvp(pb.func.grad(slope), (x,), (v,))[1]  # of the kinds of third order the others agree with it
    for inner in (slope, pushed):
        for found in (
            pb.func.grad(lambda x: np.sum(pb.func.grad(inner)(x) * v))(x),  # noqa: B023 - called at once
            pb.func.grad(lambda x: pb.func.jvp(inner, (x,), (v,))[1])(x),  # noqa: B023
            pb.func.jvp(pb.func.grad(inner), (x,), (v,))[1],
        ):
            np.testing.assert_allclose(found, third, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(third).max()), err_msg=text)
