"""Compares a compiled program with eager mode, call by call: results, what is written, derivatives, errors."""

import contextlib
import warnings

import numpy as np

import pullback as pb
from pullback.core import slots
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor


class Call:
    """What a call has given.

    Attributes
    ----------
    error : type or None
        The class of the exception.
    found, written : list
        The leaves of the result, and of the arguments afterwards.
    looks : list
        The types of the leaves of the result, and whether they require grad.
    pulled : list
        Gradients of results that require grad, and theirs.
    """

    def __init__(self, function, args, how, mixed="", kinds=()):
        self.error, self.found, self.looks, self.pulled = None, [], [], []
        self.derived = "plain" not in how
        self.eps = np.finfo(np.float32 if "f4" in kinds else np.float64).eps
        given = [*args]
        if "leaves" in how:
            given[:2] = [x.requires_grad_() if isinstance(x, Tensor) else x for x in args[:2]]
        if how == "no leaves":
            given[:2] = [x * 1 for x in given[:2]]
        try:
            result, form = flatten(function(*given))
        except Exception as error:  # noqa: BLE001 - it is compared
            self.error, self.text = type(error), f"{type(error).__name__}: {str(error)[:300]}"
        else:
            # Beside Tensors a transform of an ndarray gives either, where a result depends on no argument.
            free = mixed and how not in ("plain", "plain again", "leaves", "leaves again", "no leaves")
            self.looks = ["" if free else _look(x, how) for x in result] + [_shape_of(form)]
            self.found = leaves(result)
            if "leaves" in how:
                self.pulled = pulled(result, [x for x in args[:2] if isinstance(x, Tensor)])
        self.written = leaves(given)
        self.found = [x.copy() if isinstance(x, np.ndarray) and "leaves" in how else x for x in self.found]

    def differs(self, other):
        """How another call differs from this one, in words."""
        if self.error or other.error:
            if self.error is other.error:
                same = all(map(agree, self.written, other.written))
                return "" if same else f"writes {other.written}, not {self.written}"
            return f"{other.text if other.error else other.found}\nfor\n{self.text if self.error else self.found}"
        if len(self.looks) != len(other.looks) or not all(map(_looks_like, self.looks, other.looks)):
            return f"{other.looks}\nfor\n{self.looks}"
        for what in ("found", "written", "pulled"):
            mine, others = getattr(self, what), getattr(other, what)
            size, derived = max(map(largest, mine), default=0.0), self.derived and what != "written"
            if len(mine) != len(others) or not all(
                agree(a, b, size, derived, self.eps) for a, b in zip(mine, others, strict=True)
            ):
                return f"{what}:\n{others}\nfor\n{mine}"
        if shares(other.found, other.found) > shares(self.found, self.found):
            return "results share memory"
        shared = shares(other.found, other.written) > shares(self.found, self.written)
        return "shares memory with an argument" if shared else ""


def _look(x, how):
    if isinstance(x, np.ndarray) and not x.ndim and "plain" not in how:
        return type(x[()])  # transforms give both as numbers
    return (type(x), x.requires_grad) if isinstance(x, Tensor) and "leaves" in how else type(x)


def _looks_like(a, b):
    return a == b or (a is float and b is np.float64)  # a number that varies, which became an input of the program


def _shape_of(form):
    if isinstance(form, (int, type(None))):
        return form
    _, kind, parts = form
    parts = {key: _shape_of(x) for key, x in parts.items()} if isinstance(parts, dict) else [*map(_shape_of, parts)]
    return kind if isinstance(kind, type) else getattr(kind, "kind", None), parts


def leaves(result):
    """The ndarrays and numbers in a result."""
    return [x.numpy(force=True) if isinstance(x, Tensor) else x for x in flatten(result)[0]]


def pulled(result, args):
    """Gradients of the results with respect to the arguments: one by one, of batches, and twice."""
    outs = [x for x in result if isinstance(x, Tensor) and x.requires_grad]
    if not outs:
        return []
    rng = np.random.default_rng(0)
    given = [pb.from_numpy(np.asarray(rng.standard_normal(x.shape)).astype(x.dtype)) for x in outs]

    def pull(outs, given, wrt=args, **how):
        return pb.autograd.grad(outs, wrt, given, allow_unused=True, retain_graph=True, **how)

    found = []
    try:
        found += pull(outs, given)
        found += pull(outs, [pb.stack([g, g * 2]) for g in given], is_grads_batched=True)
        moving = [g.requires_grad_() for g in given]
        first = [x for x in pull(outs, moving, create_graph=True) if x is not None and x.requires_grad]
        found += first
        if first:
            twice = pull(first, [x.detach() + 1 for x in first], [*args, *moving])
            found += [
                np.zeros(x.shape, x.dtype) if g is None else g for g, x in zip(twice, [*args, *moving], strict=True)
            ]
    except Exception as error:  # noqa: BLE001 - it is compared
        found.append(type(error).__name__)
    return leaves(found)


def largest(x):
    """The largest of the finite numbers in an array."""
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "fc":
        return 0.0
    return float(np.abs(x[np.isfinite(x)]).max(initial=0.0))


def agree(a, b, size=1.0, derived=False, eps=0.0):
    """True if two leaves are the same, to the rounding of numbers of this size.

    A sum of n terms in another order differs by (n - 1) eps times the sum of their absolute values at most. Arrays here
    have fewer than 40 elements, so 64 eps times the largest of the numbers is allowed, and no more.

    Of derivatives `b` may have 0 where `a` has NaN: there 0 times NaN is left out where the 0 is known to be one.
    """
    if isinstance(a, (np.ndarray, np.generic)) and isinstance(b, (np.ndarray, np.generic)):
        if np.shape(a) != np.shape(b) or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc":
            return bool((a == b).all())
        near = 64 * max(np.finfo(a.dtype).eps, eps)
        if derived:
            b = np.where(np.isnan(a) & (b == 0), a, b)
        with np.errstate(all="ignore"):
            return np.allclose(a, b, rtol=near, atol=near * max(size, 1.0), equal_nan=True)
    return _looks_like(type(a), type(b)) and (a == b or a != a)


def shares(arrays, others):
    """True if an array lies in the memory of another one."""
    arrays = [x for x in arrays if isinstance(x, np.ndarray)]
    others = [x for x in others if isinstance(x, np.ndarray)]
    return any(np.may_share_memory(a, b) for a in arrays for b in others if a is not b)


def differences(program):
    """How a compiled program differs from eager mode, in words; and the reason why it runs eagerly, if it does."""
    with warnings.catch_warnings(record=True), slots.adopt_meanwhile() or contextlib.nullcontext():
        return _differences(program)


def _differences(program):
    compiled = pb.compile(program.function)
    single = "float32" in program.text or ".float()" in program.text
    why, kinds = "", [*program.kinds, *["f4"] * single]
    for nr, at in enumerate(program.way):
        program.move(at)
        expected = Call(program.function, program.point(at), program.how, program.mixed, kinds)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = Call(compiled, program.point(at), program.how, program.mixed, kinds)
        why = next((str(w.message) for w in said if issubclass(w.category, pb.compiler.CompileWarning)), why)
        if "without machine code" in why:
            return f"call {nr}, at {at}: {why}", why
        if expected.error and "NaN to integer" in expected.text:  # NumPy says so of a number, not of an array
            continue
        if program.mixed and expected.error is AttributeError:  # an ndarray has not the methods of Tensors
            continue
        if how := expected.differs(found):
            return f"call {nr}, at {at}: {how}", why
        if expected.error and nr == 0:
            return "", "runs eagerly: it fails"
        for x in found.found:  # what is the caller's own may be written into
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = 7
    if not why and not any(x.programs for x in compiled._by_signature.values()):
        why = "runs eagerly: no program"
    return "", why
