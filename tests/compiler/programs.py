"""Random programs of both faces, compiled and called again and again, beside the same programs in eager mode.

    python -m tests.compiler.programs 1000 7 --jobs 2

runs a thousand of them, from seed 7, in two processes, and prints those that differ.
"""

import argparse
import contextlib
import itertools
import math
import multiprocessing
import random
import re
from collections import Counter

import numpy as np

import pullback as pb
from pullback.compiler import backward, program, writer
from pullback.core import slots
from pullback.core.tensor import Tensor
from tests.compiler.beside import Call, differences
from tests.compiler.statements import OTHERWISE_OF_BOOLS, TEMPLATES, substituted

NUMBERS = [-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 2.0]
ARGUMENTS = "x, y, i, m, s, e, q, k"
KINDS = {"f8": np.float64, "f4": np.float32, "c16": np.complex128}
ORDERS = ["C"] * 6 + ["F", "steps", "row of y"]
STRANGE = 4  # the point with NaN and infinities
WAYS = [(0, 0, 1, 2, 3, STRANGE), (0, 1, 2, 0, 3, 2, STRANGE), (1, 1, 2, 2, 0, 0, 3)]  # the points of the calls


class Program:
    """A random program: its text, and the function that runs it.

    Parameters
    ----------
    seed : int
        Two programs of one seed are the same.

    Attributes
    ----------
    face : str
        Whether it is given ndarrays, "array", or Tensors, "tensor".
    how : str
        The transform of it that is compiled.
    function : callable
        The transform, of arguments as `point` gives them.
    way : tuple of int
        The points at which it is to be called.
    """

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.face = self.rng.choice(["array", "tensor"])
        self.xp = np if self.face == "array" else pb
        self.how = self.rng.choice([name for name, (_, _, faces) in TRANSFORMS.items() if self.face in faces])
        self.kinds = [self.rng.choice(["f8", "f8", "f8", "f8", "f4", "c16"]) for _ in "xy"]
        self.order, self.way = self.rng.choice(ORDERS), self.rng.choice(WAYS)
        if self.how in TWICE:  # second derivatives of NaN are 0 or NaN, by what is known to be 0
            self.way = [at for at in self.way if at != STRANGE]
        self.mixed = self.rng.choice(["", "", "", "", "", "x", "y", "g"])  # what is an ndarray in a program of Tensors
        self.varies = self.rng.random() < 0.25  # whether its numbers of Python do
        self.moves = self.rng.random() < 0.2  # whether what it reads of itself changes
        self.lines, self.count = [], 0
        self.names = {
            "__name__": "random_program",
            "xp": self.xp,
            "np": np,
            "pb": pb,
            "math": math,
            "g": self._wrapped(self._numbers(self.rng, (3,)), "g"),
        }
        self._state = self._run_again()
        for _ in range(self.rng.randint(4, 14)):
            self._add()
        self._return()
        inside = "\n".join(self.lines).replace("\n", "\n    ")
        self.text = f"def f({ARGUMENTS}):\n    {inside}\n"
        exec(self.text, self.names)
        self.function = TRANSFORMS[self.how][0](self.names["f"], self)
        if Call(self.function, self.point(0), self.how).error:  # the transform does not know what it does
            self.how, self.function = "plain", self.names["f"]

    # -- arguments -----------------------------------------------------------------------------------------------------
    def point(self, seed):
        """Arguments: numbers in which equal ones occur, and 0."""
        rng = random.Random(seed)
        x, y = (self._numbers(rng, shape, kind) for shape, kind in zip([(3,), (3, 3)], self.kinds, strict=True))
        if seed == STRANGE:
            x[rng.randrange(3)], y[1, rng.randrange(3)] = rng.choice([np.nan, np.inf]), np.nan
        if self.order == "F":
            y = np.asfortranarray(y)
        elif self.order == "steps":
            x, y = np.repeat(x, 2)[::2], np.repeat(y, 2, 1)[:, ::2]
        elif self.order == "row of y":
            x = y[1]
        i = np.array([rng.randrange(3) for _ in range(3)])
        m = np.array([rng.random() < 0.6 for _ in range(3)])
        s, e = self._numbers(rng, ()), np.zeros((0, 3))
        arrays = [self._wrapped(z, name) for z, name in zip((x, y, i, m, s, e), "xyimse", strict=True)]
        return [*arrays, *((rng.choice(NUMBERS), 1 + seed % 2) if self.varies else (0.75, 2))]

    def _numbers(self, rng, shape, kind="f8"):
        made = np.array([rng.choice(NUMBERS) for _ in range(math.prod(shape))]).reshape(shape).astype(KINDS[kind])
        return made + 1j * made[::-1] if kind == "c16" else made

    def _wrapped(self, x, name):
        return x if self.face == "array" or name == self.mixed else pb.from_numpy(x)

    def move(self, at):
        """Change what the program reads besides its arguments."""
        if self.moves:
            g = self.names["g"]
            (g.numpy() if isinstance(g, Tensor) else g)[...] = self._numbers(random.Random(at // 2), (3,))

    # -- statements ----------------------------------------------------------------------------------------------------
    def _arrays(self, kinds="f"):
        """Names of arrays of numbers of these kinds, which are not too large."""
        found = []
        for name, x in self._state.items():
            if name in ("xp", "np", "pb", "math", "g"):
                continue
            if isinstance(x, (np.ndarray, Tensor, np.generic)) and x.dtype.kind in kinds and np.size(x) < 40:
                found.append(name)
        return found

    def _add(self):
        """Another statement that works at the first point."""
        names = self._arrays(self.rng.choice(["f", "f", "fc", "fcbiu"]))
        names = [name for name in names if name != "e" or not self.rng.randrange(4)] or ["x"]
        for _ in range(20):
            new = f"v{self.count}"
            words = {letter: self.rng.choice(names) for letter in "abw"} | {"n": new, "p": "p"}
            words |= {letter: repr(self.rng.choice(NUMBERS)) for letter in "cd"}
            line = substituted(template := self.rng.choice(TEMPLATES[self.face]), words)
            if self._is_known(template, [self._state[words[letter]] for letter in "abw"]):
                continue
            try:
                with np.errstate(all="ignore"):
                    exec(line, self._state)
                    good = all(small(self._state.get(name)) for name in {*names, new})
            except Exception:  # noqa: BLE001 - a statement that does not fit here
                good = False
            if good:
                self.count += 1
                self.lines.append(line)
                return
            self._state = self._run_again()  # it may have written something

    def _is_known(self, template, arrays):
        """True if the statement is one that is known to do something else in a compiled function."""
        if any(x.dtype.kind == "b" for x in arrays) and any(part in template for part in OTHERWISE_OF_BOOLS):
            return True
        return "bernoulli" in template and "leaves" in self.how  # draws are not known to batches of cotangents

    def _run_again(self):
        """The state after the lines so far."""
        state = {name: x for name, x in self.names.items() if name != "g"}
        g = self.names["g"]
        state.update(zip(ARGUMENTS.split(", "), self.point(0), strict=True), g=g * 1)
        with np.errstate(all="ignore"):
            exec("\n".join(self.lines), state)
        return state

    def _return(self):
        scalar = TRANSFORMS[self.how][1]
        own = self._arrays("f" if scalar and not self.rng.randrange(3) else "fcbiu")
        found = [name for name in own if name not in ARGUMENTS] or ["x"]
        chosen = self.rng.sample(found, min(len(found), 3))
        if scalar:
            real = "({0} * {0}).sum()", "abs({0} * {0}).sum()"
            total = " + ".join(real[self._state[name].dtype.kind != "f"].format(name) for name in chosen)
            self.lines.append(f"return {total}")
        else:
            chosen = [*chosen, self.rng.choice(["x", "y", "y[0]", "k", "q", "None", "'text'", chosen[0], "g", "m"])]
            shape = self.rng.choice(["{},", "{},", "{},", "[{}]", "({}, [{}])", "{{'p': ({}), 'q': {{'r': [{}]}}}}"])
            self.lines.append("return " + shape.format(", ".join(chosen), chosen[0]))


def small(x):
    """True of numbers with which one can go on."""
    if not isinstance(x, (np.ndarray, np.generic, Tensor)):
        return True
    x = x.numpy(force=True) if isinstance(x, Tensor) else np.asarray(x)
    return x.dtype.kind != "O" and (x.dtype.kind not in "fc" or bool((np.isfinite(x) & (abs(x) < 1e3)).all()))


# -- transforms --------------------------------------------------------------------------------------------------------
def _backward(f, program):
    def run(x, y, *rest):
        p, q = x.clone().requires_grad_(), y.clone().requires_grad_()
        loss = f(p.clone(), q.clone(), *rest)
        return loss, *pb.autograd.grad(loss, [p, q], allow_unused=True)

    return run if program.face == "tensor" else pb.func.value_and_grad(f, argnums=(0, 1))


def _twice(f, program):
    def run(x, y, *rest):
        p = x.clone().requires_grad_()
        (first,) = pb.autograd.grad(f(p.clone(), y.clone(), *rest), p, create_graph=True, allow_unused=True)
        if first is None or not first.requires_grad:
            return first
        return first, pb.autograd.grad((first * first).sum(), p, allow_unused=True)

    return run if program.face == "tensor" else pb.func.grad(lambda x, *rest: (pb.func.grad(f)(x, *rest) ** 2).sum())


def _along(f, program):
    return lambda x, y, *rest: pb.func.jvp(lambda x, y: f(x, y, *rest), (x, y), (x * 0.5, y * 0.5))


def _pulled(f, program):
    def run(x, y, *rest):
        out, pull = pb.func.vjp(lambda x, y: f(x, y, *rest), x, y)
        return out, pull(out)

    return run


def _batched(f, program):
    return lambda x, y, *rest: pb.func.vmap(lambda x: f(x, y + 0, *rest))(y)


def _plain(f, program):
    return f


BOTH = ("array", "tensor")
# name -> (transform of (function, program), whether it takes a function with one number as its result, faces)
TRANSFORMS = {
    "plain": (_plain, False, BOTH),
    "plain again": (_plain, False, BOTH),
    "leaves": (_plain, False, ("tensor",)),  # its Tensors require grad, and are differentiated from outside
    "leaves again": (_plain, False, ("tensor",)),
    "no leaves": (_plain, False, ("tensor",)),  # of computed Tensors
    "grad": (lambda f, program: pb.func.grad(f), True, BOTH),
    "value_and_grad": (lambda f, program: pb.func.value_and_grad(f, argnums=(0, 1)), True, BOTH),
    "backward": (_backward, True, BOTH),
    "twice": (_twice, True, BOTH),
    "jvp": (_along, False, BOTH),
    "vjp": (_pulled, True, BOTH),
    "vmap": (_batched, False, BOTH),
    "hessian": (lambda f, program: pb.func.hessian(f), True, BOTH),
    "jacfwd(jacrev)": (lambda f, program: pb.func.jacfwd(pb.func.jacrev(f)), True, BOTH),
    "vmap(grad)": (lambda f, program: _batched(pb.func.grad(f), program), True, BOTH),
}


TWICE = ("twice", "hessian", "jacfwd(jacrev)")


# -- many of them ------------------------------------------------------------------------------------------------------
def run(seeds):
    """(how each of the programs differs, why they run eagerly): of these seeds."""
    for kind in (program.Program, backward.DifferentiableProgram):
        kind.look = 1 << 30  # nobody compares its results but we
    wrong, reasons = [], Counter()
    with slots.adopt_meanwhile() or contextlib.nullcontext(), np.errstate(all="ignore"):
        for nr in seeds:
            writer._REUSED = nr % 2 * 2048 + 1  # small arrays too are written over, or none
            random_program = Program(nr)
            how, why = differences(random_program)
            text = why.partition("runs eagerly: ")[2]
            reasons[re.sub(r"\(.*|'.*|[0-9<].*", "", text)[:60]] += 1
            if how:
                wrong.append(
                    f"--- {nr}, {random_program.face}, {random_program.how}\n{random_program.text}\n{how}\n{why}"
                )
    return wrong, reasons


def main():
    """Run so many programs, and print those that differ."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    seeds = iter(range(options.seed, options.seed + options.count))
    wrong, reasons = 0, Counter()
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=20) as pool:
        for found, why in pool.imap(run, iter(lambda: list(itertools.islice(seeds, 100)), [])):
            wrong, reasons = wrong + len(found), reasons + why
            for text in found:
                print(text, flush=True)
    print(wrong, "differ;", reasons.most_common(40))


if __name__ == "__main__":
    main()
