"""Random programs of NumPy: views, writes and swaps of whatever there is, in any order.

A line is tried on plain arrays before it is taken, so a program runs and stays away from kinks. `python -m
tests.interop.faces.random_programs 500 900` judges these and prints what is wrong, with all needless lines left out.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from tests.interop.faces.comparison import SAMPLES, WRONG, Idiom, judge

ARGUMENTS = ("x", "A", "C", "s")
NEW = (
    "{a}[{i}]", "{a}[{i}]", "{a}[{i}]", "{a}.T", "{a}.reshape(-1)", "{a}.ravel()", "{a}.copy()", "{a}[::-1]",
    "{a}[{i}].copy()", "np.sin({a})", "np.exp(-{a}**2)", "{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} @ {b}",
    "{a} / (1 + {b}**2)", "{a} * 0.5", "1.5 - {a}", "{a}.sum()", "{a}.mean(axis=0)", "{a}.sum(axis=-1)", "{a}.std()",
    "np.cumsum({a})", "np.sort({a})", "{a}.max()", "np.where({a} > 0, {a}, {b})", "np.maximum({a}, {b})",
    "{a}[{a} > 0]", "np.concatenate([{a}.ravel(), {b}.ravel()])", "np.stack([{a}, {b}])", "np.zeros_like({a})", "+{a}",
    "-{a}", "{a}[None]", "{a}.squeeze()", "np.diag({a})", "{a}.flatten()", "{a}.swapaxes(0, -1)", "np.tanh({a}).sum()",
    "{a}", "np.asarray({a})", "{a}.astype(float, copy=False)", "np.roll({a}, 1)",
    "np.broadcast_to({a}, (2, *{a}.shape)).sum(axis=0)", "np.expand_dims({a}, 0)", "{a}[()]", "{a}[...]", "np.abs({a})",
)  # fmt: skip
WRITES = (
    "{a}[{i}] = {b}", "{a}[{i}] = {b}[{j}]", "{a}[{i}] = 0.25", "{a}[{i}] += {b}", "{a}[{i}] *= 0.5",
    "{a}[{i}] -= {a}[{j}]", "{a}[{i}], {a}[{j}] = {a}[{j}], {a}[{i}]", "{a} += {b}", "{a} *= {b}", "{a} -= {b} * 0.5",
    "{a} /= 1 + {b}**2", "{a} **= 2", "{a}[:] = {b}", "{a}[...] = np.cos({a})", "{a}.fill(0.75)", "{a}.sort()",
    "{a}[{a} > 0] *= -1", "{a}[{i}] = np.sin({a}[{i}])", "np.multiply({a}, {b}, out={a})", "np.sin({a}, out={b})",
    "{a}.flat[{n}] = {b}.flat[{m}]", "{a}[{i}] = {b}.sum()", "{a}[{i}] /= 2", "{a} = {a} * {b}", "{a}, {b} = {b}, {a}",
    "np.copyto({a}, {b})",
)  # fmt: skip
_INDICES = (
    "0", "1", "-1", "2", ":", "1:", ":-1", "::2", "::-1", "0, 1", "1, -1", ":, 0", "0, :", "1:, :2", "[0, 2]", "[2, 0]",
    ":, [0, 2]", "[0, 1], [1, 0]", "..., 0", "None", "1, ...", "np.array([1, 0])",
)  # fmt: skip


def program(seed: int, lines: int = 14) -> Idiom:
    """The random program of this seed."""
    rng = random.Random(seed)
    names, taken = list(ARGUMENTS), []
    for _ in range(40 * lines):
        fresh = rng.random() < 0.5
        choose = {"a": rng.choice(names), "b": rng.choice(names), "i": rng.choice(_INDICES), "j": rng.choice(_INDICES)}
        line = rng.choice(NEW if fresh else WRITES).format(**choose, n=rng.randrange(6), m=rng.randrange(6))
        if fresh:
            line = f"v{len(names)} = {line}"
        if _is_smooth([*taken, line]):
            taken.append(line)
            names += [f"v{len(names)}"] * fresh
        if len(taken) == lines:
            break
    return written(taken, f"seed {seed}")


def _is_smooth(lines: list[str]) -> bool:
    """Whether the program runs, gives numbers of moderate size, and is far from jumps and kinks (ties, for sort)."""
    function, results = written(lines, "").function, []
    with np.errstate(all="ignore"):
        try:
            results = [function(*(_moved(SAMPLES[name], shift) for name in ARGUMENTS)) for shift in (0, 1e-6, -1e-6)]
        except Exception:  # noqa: BLE001 - then its last line is not taken
            return False
    return all(
        isinstance(x, (np.ndarray, np.float64)) and np.size(x) <= 24 and np.all(np.abs(x) < 50)
        and np.shape(x) == np.shape(y) == np.shape(z)
        and np.allclose(y, x, atol=1e-3) and np.allclose(y + z, 2 * x, 0, 1e-8)
        for x, y, z in zip(*results, strict=True)
    )  # fmt: skip


def _moved(x: Any, shift: float) -> Any:
    return x + shift * np.sin(1.0 + np.arange(np.size(x))).reshape(np.shape(x))[()]


def written(lines: list[str], name: str) -> Idiom:
    """The function of these lines, which gives all the arrays that it has."""
    body = "\n    ".join([*lines, "return list(locals().values())"])
    space: dict[str, Any] = {"np": np}
    exec(f"def program({', '.join(ARGUMENTS)}):\n    {body}", space)
    return Idiom(name, "; ".join(lines), space["program"], ARGUMENTS)


def shortened(idiom: Idiom) -> Idiom:
    """The same program without the lines that it is wrong without, too."""
    lines = idiom.name.split("; ")
    for line in reversed(list(lines)):
        fewer = [other for other in lines if other is not line]
        if fewer and judge(written(fewer, idiom.theme)).verdict == WRONG:
            lines = fewer
    return written(lines, idiom.theme)


if __name__ == "__main__":
    for seed in range(*map(int, sys.argv[1:])):
        found = program(seed)
        if judge(found).verdict == WRONG:
            short = shortened(found)
            print(short, *judge(short).notes, sep="\n    ")
