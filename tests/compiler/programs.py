"""Random programs of both faces, compiled and called again and again, beside the same programs in eager mode.

`python -m tests.compiler.programs 1000 7` runs a thousand of them, from seed 7, and prints those that differ.
"""

import contextlib
import random
import sys
import warnings
from collections import Counter

import numpy as np

import pullback as pb
from pullback.compiler import api, plan
from pullback.core import slots
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor

BOTH = """
n = xp.sin(a)
n = xp.tanh(a) * c
n = xp.exp(-a * a)
n = a + b
n = a * b
n = a - c
n = a / (1.5 + b * b)
n = xp.where(a > c, a, b)
n = xp.where(a > 0, xp.sqrt(abs(a)), b)
n = xp.maximum(a, b)
n = a.sum()
n = a.sum(0)
n = a.mean(-1)
n = xp.amax(a, 0)
n = a.max()
n = xp.cumsum(a, 0)
n = xp.stack([a, a * c])
n = xp.stack([a, b])[1:]
n = a @ b
n = a[1:]
n = a[:2]
n = a[::2]
n = a[..., 0]
n = a[-1]
n = a[None]
n = a.T
n = a.reshape(-1)
n = a[[1, 0, 1]]
n = a[i]
n = a[m]
n = a[a > c]
n = a[a > c].sum()
n = xp.where(m, a, c)
n = a[xp.argsort(b)]
n = a[xp.argmax(b)]
n = xp.zeros(3)
n = xp.ones((3, 3))
n = xp.ones_like(a)
n = xp.zeros(3) + a.sum()
n = (a > b) * c
w[1:] = c
w[0] = a
w[0] = b.sum()
w[:2] = a
w[...] = a
w[w > c] = d
w[m] = c
w[m] = a
w[i] = a
w[i[0]] = c
w[::2] += a
w[1:] = w[:-1]
w[w < 0] *= -1
w += a
w *= c
w -= a * b
w[-1] += a.sum()
if a.sum() > c:|    w[0] = b|else:|    w *= 0.5
if (a > c).any():|    w[1:] += d
n = a * 2 if b.max() > c else a - 1
for k in range(3):|    w[k] = a.sum() * k
for k in range(2):|    n = a * 0.5 + b|    w += n
n = a|while (n * n).sum() > 2:|    n = n * 0.5
n = xp.zeros(a.shape)|for k in range(len(a)):|    n[k] = a[k] * b.sum()
n = xp.zeros((3, 3))|n[1] = a|n[:, 2] = b
n = a|n = n * 1|n[0] = c
"""
ARRAYS = """
np.add(a, b, out=w)
np.multiply(a, c, out=w)
n = a.copy()
n = np.empty_like(a)|n[...] = b
n = np.linspace(0, 1, 3) * a
n = a * int((b > 0).sum())
n = a.astype(np.float32) * 2
n = np.sort(a)
n = np.diff(a)
n = np.outer(a, b)
n = np.concatenate([a, b])
n = np.clip(a, -c, c)
n = a[::-1]
n = np.flip(a)
n = np.broadcast_to(a, (2, *a.shape))
n = np.add.reduce(a, axis=0)
n = np.einsum("...i,i->...", a, b)
n = a.ravel()
n = np.unique(np.round(a))
w.fill(c)
w.sort()
w[::-1] = a
np.copyto(w, a)
"""
TENSORS = """
w.add_(a)
w.mul_(a)
w.sub_(a, alpha=2)
w.zero_()
w.copy_(a)
w.masked_fill_(w > c, d)
w.clamp_(-1, 1)
w.relu_()
w.exp_().mul_(0.25)
w[1:].mul_(c)
w.select(0, 1).fill_(c)
w.t().add_(a)
w.index_add_(0, i, a)
w.index_fill_(0, i, c)
w.addcmul_(a, b, value=0.5)
n = a.clone()
n = a.detach()
n = a.view(-1)
n = a.transpose(0, -1)
n = a.unsqueeze(-1)
n = a.expand(2, *a.shape)
n = a.narrow(0, 1, 2)
n = a.diagonal()
n, p = a.sort(0)
n = a.flip(0)
n = pb.cat([a, b])
n = a.softmax(-1)
n = a.logsumexp(0)
n = a.index_select(0, i)
n = a.norm()
n = a.unbind(0)[1]
"""


def templates(text):
    return [line.replace("|", "\n") for line in text.strip().split("\n")]


TEMPLATES = {"array": templates(BOTH) + templates(ARRAYS), "tensor": templates(BOTH) + templates(TENSORS)}
NUMBERS = [-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 2.0]


class Program:
    """A random program: its text, and the function that runs it.

    Parameters
    ----------
    seed : int
        Two programs of one seed are the same.
    """

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.face = self.rng.choice(["array", "tensor"])
        self.xp = np if self.face == "array" else pb
        self.how = self.rng.choice(sorted(TRANSFORMS))
        self.lines, self.count = [], 0
        self._state = dict(zip("xyim", self.point(0), strict=True))
        self._state.update(xp=self.xp, np=np, pb=pb)
        for _ in range(self.rng.randint(4, 14)):
            self._add()
        found = [name for name in self._arrays() if name not in "xy"] or ["x"]
        chosen = self.rng.sample(found, min(len(found), 3))
        total = " + ".join(f"({name} * {name}).sum()" for name in chosen)
        self.lines.append(f"return {total}" if TRANSFORMS[self.how][1] else f"return {', '.join(chosen)},")
        inside = "\n".join(self.lines).replace("\n", "\n    ")
        self.text = f"def f(x, y, i, m):\n    {inside}\n"
        names = {"xp": self.xp, "np": np, "pb": pb}
        exec(self.text, names)
        self.function = TRANSFORMS[self.how][0](names["f"], self)

    def point(self, seed):
        """Arguments: numbers in which equal ones occur, and 0."""
        rng = random.Random(seed)
        arrays = [
            np.array([rng.choice(NUMBERS) for _ in range(3)]),
            np.array([[rng.choice(NUMBERS) for _ in range(3)] for _ in range(3)]),
            np.array([rng.randrange(3) for _ in range(3)]),
            np.array([rng.random() < 0.6 for _ in range(3)]),
        ]
        return arrays if self.face == "array" else [pb.tensor(x) for x in arrays]

    def _arrays(self):
        """Names of arrays of floating numbers, which are not too large."""
        found = []
        for name, x in self._state.items():
            if name in ("xp", "np", "pb", "i", "m"):
                continue
            if isinstance(x, (np.ndarray, Tensor, np.floating)) and x.dtype.kind == "f" and 0 < x.size < 40:
                found.append(name)
        return found

    def _add(self):
        """Another statement that works at the first point."""
        for _ in range(20):
            names = self._arrays()
            new = f"v{self.count}"
            words = {k: self.rng.choice(names) for k in "abw"} | {"n": new, "p": "p"}
            words |= {k: repr(self.rng.choice(NUMBERS)) for k in "cd"}
            line = substituted(self.rng.choice(TEMPLATES[self.face]), words)
            state = self._copied()
            try:
                with np.errstate(all="ignore"):
                    exec(line, state)
                    large = any(not small(state[name]) for name in [*names, *[new] * (new in state)])
            except Exception:  # noqa: BLE001 - a statement that does not fit here
                continue
            if not large:
                self._state, self.count = state, self.count + 1
                self.lines.append(line)
                return

    def _copied(self):
        """The state after the lines so far, run again, as arrays share memory."""
        state = dict(zip("xyim", self.point(0), strict=True))
        state.update(xp=self.xp, np=np, pb=pb)
        with np.errstate(all="ignore"):
            exec("\n".join(self.lines), state)
        return state


def small(x):
    """True of numbers with which one can go on."""
    x = x.numpy(force=True) if isinstance(x, Tensor) else np.asarray(x)
    return x.dtype.kind != "f" or bool((np.isfinite(x) & (abs(x) < 1e3)).all())


def substituted(template, words):
    """The template with names for its letters that stand alone."""
    out, word = [], ""
    for ch in template + " ":
        if ch.isalnum() or ch in "_.":
            word += ch
            continue
        first, dot, rest = word.partition(".")
        out.append(words.get(first, first) + dot + rest if word else "")
        out.append(ch)
        word = ""
    return "".join(out)[:-1]


def _backward(f, program):
    def run(x, y, i, m):
        p, q = x.clone().requires_grad_(), y.clone().requires_grad_()
        loss = f(p.clone(), q.clone(), i, m)
        return loss, *pb.autograd.grad(loss, [p, q], allow_unused=True)

    return run if program.face == "tensor" else pb.func.value_and_grad(f, argnums=(0, 1))


def _twice(f, program):
    def run(x, y, i, m):
        p = x.clone().requires_grad_()
        (first,) = pb.autograd.grad(f(p.clone(), y.clone(), i, m), p, create_graph=True, allow_unused=True)
        if first is None or not first.requires_grad:
            return first
        return first, pb.autograd.grad((first * first).sum(), p, allow_unused=True)

    return run if program.face == "tensor" else pb.func.grad(lambda x, *rest: (pb.func.grad(f)(x, *rest) ** 2).sum())


def _along(f, program):
    return lambda x, y, i, m: pb.func.jvp(lambda x, y: f(x, y, i, m), (x, y), (y[0], y * 0.5))


def _batched(f, program):
    return lambda x, y, i, m: pb.func.vmap(lambda x: f(x, y + 0, i, m))(y)


# name -> (transform of (function, program), whether it takes a function with one number as its result)
TRANSFORMS = {
    "plain": (lambda f, program: f, False),
    "plain again": (lambda f, program: f, False),
    "grad": (lambda f, program: pb.func.grad(f), True),
    "value_and_grad": (lambda f, program: pb.func.value_and_grad(f, argnums=(0, 1)), True),
    "backward": (_backward, True),
    "twice": (_twice, True),
    "jvp": (_along, False),
    "vmap": (_batched, False),
    "hessian": (lambda f, program: pb.func.hessian(f), True),
    "jacfwd(jacrev)": (lambda f, program: pb.func.jacfwd(pb.func.jacrev(f)), True),
    "vmap(grad)": (lambda f, program: _batched(pb.func.grad(f), program), True),
}


def leaves(result):
    """The ndarrays and numbers in a result."""
    return [x.numpy(force=True) if isinstance(x, Tensor) else x for x in flatten(result)[0]]


def call(function, args):
    """(leaves of the result or the class of what was raised, arguments afterwards)."""
    try:
        found = leaves(function(*args))
    except Exception as error:  # noqa: BLE001 - it is compared
        return type(error), leaves(args)
    return found, leaves(args)


def agree(a, b):
    """True if two leaves are the same, to rounding."""
    if isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)):
        same = np.shape(a) == np.shape(b) and a.dtype == b.dtype
        return same and np.allclose(a, b, rtol=1e-5 if a.dtype == np.float32 else 1e-9, atol=1e-9, equal_nan=True)
    return type(a) is type(b) and a == b


def shares(arrays, others):
    """True if an array lies in the memory of another one."""
    arrays = [x for x in arrays if isinstance(x, np.ndarray)]
    others = [x for x in others if isinstance(x, np.ndarray)]
    return any(np.may_share_memory(a, b) for a in arrays for b in others if a is not b)


def differences(program, calls=7):
    """How a compiled program differs from eager mode, in words; and the reason why it runs eagerly, if it does."""
    with warnings.catch_warnings(record=True), slots.adopt_meanwhile() or contextlib.nullcontext():
        return _differences(program, calls)


def _differences(program, calls):
    compiled = pb.compile(program.function)
    why = ""
    for nr in range(calls):
        at = 0 if nr < 2 else nr % 5
        args, others = program.point(at), program.point(at)
        expected, wrote = call(program.function, args)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found, written = call(compiled, others)
        why = next((str(w.message) for w in said if issubclass(w.category, pb.compiler.CompileWarning)), why)
        if isinstance(expected, type):
            return "", "it fails"
        if isinstance(found, type):
            return f"call {nr}: {found}", why
        if len(found) != len(expected) or not all(map(agree, found, expected)):
            return f"call {nr}:\n{found}\nfor\n{expected}", why
        if shares(found, found) > shares(expected, expected) or shares(found, written) > shares(expected, wrote):
            return f"call {nr} shares memory", why
        if not all(map(agree, written, wrote)):
            return f"call {nr} has written\n{written}\nfor\n{wrote}", why
        for x in found:  # what is the caller's own may be written into
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = 7
    if not why and not any(x.programs for x in compiled._by_signature.values()):
        why = "runs eagerly: no program"
    return "", why


def main(count, seed):
    """Run so many programs, and print those that differ."""
    api._TIMED = 0  # what is compared, and found slow, is replaced
    reasons, wrong = Counter(), 0
    for nr in range(seed, seed + count):
        plan._REUSED = nr % 2 * 2048 + 1  # small arrays too are written over, or none
        program = Program(nr)
        with np.errstate(all="ignore"):
            how, why = differences(program)
        reasons[why.partition("runs eagerly: ")[2][:70]] += 1
        if how or "its program gave" in why:
            wrong += 1
            print(f"--- {nr}, {program.face}, {program.how}\n{program.text}\n{how}\n{why}", flush=True)
    print(wrong, "differ;", reasons.most_common(12))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
