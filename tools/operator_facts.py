"""Finds out by trials what an operator does on its records: shapes, dtypes, errors, limits, and an example."""

import ast
import dataclasses
import io
import re
import warnings
from contextlib import redirect_stderr
from itertools import accumulate

import numpy as np

import pullback as pb
from pullback.codegen.emit_docs import Found
from pullback.codegen.naming import parameter
from pullback.core.dtypes import promote_types
from pullback.core.tensor import Tensor
from pullback.testing.opinfo.calls import REFUSALS, function_of
from pullback.testing.opinfo.core import Input, Plain, map_arrays
from tests.opinfo.records import OPINFOS

F8, F4, I8, I1, B1, C16, C8 = (np.dtype(code) for code in ("f8", "f4", "i8", "i1", "?", "c16", "c8"))
MANY = 14  # samples of a record and dtype that are tried
LONG = 100  # characters of a line of an example
REFUSED = 3  # calls that are refused, in the documentation of an operator
REASON = 160  # characters of such a call, and of the reason
# What errors say, and what documentation says of all such calls in other words.
_SAID = {
    "must match the size of tensor": "broadcast", "Dimension out of range": "out of range", "complex": "complex",
    "not defined for": "complex", "floating": "whole numbers",
}  # fmt: skip
NUMBERS = ((-1, "negative"), (-1000, "out of range"))  # what is tried of an int
WRONG = ("IndexError", "ValueError", "RuntimeError")  # what says that it is an argument's value
DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "axis", "axis0", "axis1", "dimension", "start_dim", "end_dim", "source",
        "destination")  # fmt: skip


def records():
    """The OpInfo records of every operator, by dotted name: the one place that knows where they are."""
    found = {}
    for info in OPINFOS:
        found.setdefault(info.name, []).append(info)
    return found


@dataclasses.dataclass
class Call:
    """One call that worked: what was given by parameter, the tensors in it, and what came."""

    given: dict
    dtype: np.dtype
    tensors: list
    result: object


class Facts:
    """Finds what can be said of one operator."""

    def __init__(self, name, overloads, infos, own):
        self.name, self.overloads, self.own = name, overloads, own
        # Records with a call of their own, or of the form in place, try something else.
        leaf = name.rpartition(".")[2]
        own = [info for info in infos if info.call is None and (not info.name.endswith("_") or leaf.endswith("_"))]
        self.infos = [dataclasses.replace(info, observe=None) for info in own]
        self.is_free = any(info.observe is not None for info in own)  # to choose signs or phases
        self.schema = overloads[0].schema
        tensors = [parameter(arg.name) for arg in self.schema.args if arg.type.is_tensor]
        self.main = "input" if "input" in tensors else next(iter(tensors), "")
        self.calls = [call for info in self.infos for call in self._calls(info)]
        self.probes = [probe for call in self.calls for probe in self._probes(call)]

    def found(self):
        """Everything."""
        return Found(
            dtypes=self._dtypes(), returns=self._returns(), raises=self._raises(), limits=self._limits(),
            differentiable=self._differentiable(), example=self._example(), inplace_example=self._inplace_example(),
        )  # fmt: skip

    def _calls(self, info):
        function = function_of(info)
        calls = []
        for dtype in info.dtypes:
            for sample in info.samples_for(dtype)[:MANY]:
                arguments = map_arrays(_tensor, (sample.args, sample.kwargs))
                tensors = [t for t in _flat(arguments) if isinstance(t, Tensor)]
                names = [parameter(arg.name) for arg in self.schema.args]
                given = dict(zip(names, arguments[0], strict=False)) | arguments[1]
                try:
                    with np.errstate(all="ignore"):
                        result = function(*arguments[0], **arguments[1])
                except REFUSALS:  # a sample for other dtypes, or for other checks
                    continue
                calls.append(Call(given, dtype, tensors, result))
        return calls

    def _probes(self, call):
        """The call as no record has it: a first tensor of less precision or shorter, small whole numbers.

        What they give counts where the dtype of the result is told.
        """
        main = call.given.get(self.main)
        if not isinstance(main, Tensor) or main.dtype not in (F8, I8) or main.dtype != call.dtype:
            return
        if main.dtype == F8:
            changes = [{self.main: F4}] if len(call.tensors) > 1 else []
            dtypes = {np.dtype(dtype) for info in self.infos for dtype in info.dtypes}
            changes += [dict.fromkeys(call.given, dtype) for dtype in (F4, I8) if dtype not in dtypes]
        else:
            changes = [dict.fromkeys(call.given, I1)]
            if not any(type(x) in (int, float) for x in call.given.values()):  # with which a bool promotes
                changes.append(dict.fromkeys(call.given, B1))
        several = call.dtype == F8 and main.ndim and sum(t.shape == main.shape for t in call.tensors) > 1
        trials = [call.given | {self.main: main[:1]}] if several else []  # does it broadcast?
        for change in changes:
            given = {
                k: x.to(change[k]) if k in change and isinstance(x, Tensor) and x.dtype == call.dtype else x
                for k, x in call.given.items()
            }
            trials.append(given)
        for given in trials:
            try:
                with np.errstate(all="ignore"):
                    result = self._function()(**given)
            except REFUSALS:
                continue
            yield Call(given, given[self.main].dtype, [t for t in _flat(given) if isinstance(t, Tensor)], result)

    # -- dtypes, shapes --------------------------------------------------------------------------------------
    def _dtypes(self):
        if not self.calls or not any(call.tensors for call in self.calls):
            return ""
        tried = [*self.calls, *(probe for probe in self.probes if probe.dtype == I8)]
        tensors = [call.given.get(self.main) for call in tried if isinstance(call.given.get(self.main), Tensor)]
        first = {t.dtype for t in tensors or [call.tensors[0] for call in self.calls if call.tensors]}
        if not first & {F8, C16}:
            return "whole numbers or bools" if first <= {I8, np.dtype(bool)} else ""
        if I8 in first:
            return "real or complex" if C16 in first else "real"
        return "floating or complex" if C16 in first else "floating"

    def _returns(self):
        calls = [*self.calls, *self.probes]
        results = [call.result for call in calls]
        if not results:
            return {}
        if all(isinstance(result, Tensor) for result in results):
            pairs = [(call, call.result) for call in calls]
            return {"": self._said(pairs, shapes=len(self.overloads) == 1 or "pointwise" in self.overloads[0].tags)}
        if all(isinstance(result, tuple) and not hasattr(result, "_fields") for result in results):
            pairs = [(call, out) for call in calls for out in call.result if isinstance(out, Tensor)]
            return {"": self._said(pairs, shapes=False).replace("It is a view: it shares", "Views: they share")}
        named = [call for call in calls if hasattr(call.result, "_fields")]
        if named:
            fields = named[0].result._fields
            return {f: self._said([(call, getattr(call.result, f)) for call in named]) for f in fields}
        return {}

    def _said(self, pairs, shapes=True):
        """Shape, dtype and memory of a result, as far as one sentence is true of all calls."""
        shape = self._shape(pairs) if shapes else ""
        dtype = _dtype_text(pairs, self.main)
        floating = _dtype_text([pair for pair in pairs if pair[0].dtype.kind in "fc"], self.main)
        if not dtype and floating.startswith("the dtype"):
            dtype = f"{floating} where that is floating"
        own = f"the dtype of `{self.main}`"
        if shape == f"the shape of `{self.main}`" and dtype.startswith(own):
            text = f"Of {shape} and its dtype{dtype.removeprefix(own)}."
        else:
            text = " and ".join(filter(None, [shape, dtype]))
            text = f"Of {text}." if text else ""
        view = self._memory(pairs) if self.overloads[0].is_view else ""
        return " ".join(filter(None, [text, view]))

    def _shape(self, pairs):
        if any(native.area in ("random", "creation") for native in self.overloads) and not pairs[0][0].tensors:
            return "the shape `size`" if "size" in {arg.name for arg in self.schema.args} else ""
        if self.schema.arg("dim") and self.schema.arg("keepdim"):
            right = all(out.shape == _reduced(call) for call, out in pairs)
            optional = self.schema.arg("dim").default is None
            whole = " (all dimensions by default)" if optional else ""
            return f"the shape of `input` without `dim`{whole}, or with 1 there if `keepdim`," if right else ""
        if len({out.ndim for _, out in pairs}) == 1 and all(out.ndim == 0 for _, out in pairs):
            return "shape ()" if any(t.ndim for call, _ in pairs for t in call.tensors) else ""
        first = parameter(self.schema.args[0].name) if self.schema.args else ""
        if all(
            isinstance(call.given.get(first), Tensor) and call.given[first].shape == out.shape for call, out in pairs
        ):
            return f"the shape of `{first}`"
        if all(call.tensors and out.shape == _broadcast(call.tensors) for call, out in pairs):
            return "the shape to which the arguments broadcast"
        return ""

    def _memory(self, pairs):
        if any("clones" in call.given for call, _ in pairs):
            return ""
        tried = [(call, out) for call, out in pairs if out.numel() and call.tensors]
        shared = [np.shares_memory(call.tensors[0].detach().numpy(), out.detach().numpy()) for call, out in tried]
        if shared and all(shared):
            return f"It is a view: it shares the memory of `{self.main}`."
        return f"It shares the memory of `{self.main}` where it can, and is a copy elsewhere." if any(shared) else ""

    def _differentiable(self):
        known = None
        if self.overloads[0].is_mutating:
            return None
        for call in self.calls:
            for out in _flat(call.result):
                if isinstance(out, Tensor) and call.tensors and call.dtype.kind in "fc":
                    known = False
        for info in self.infos:
            for dtype in (d for d in info.dtypes if d.kind in "fc"):
                for sample in info.samples_for(dtype)[:3]:
                    arguments = map_arrays(_leaf, (sample.args, sample.kwargs))
                    if not any(t.requires_grad for t in _flat(arguments) if isinstance(t, Tensor)):
                        continue
                    known = bool(known)
                    try:
                        result = function_of(info)(*arguments[0], **arguments[1])
                    except REFUSALS:
                        continue
                    if any(out.requires_grad for out in _flat(result) if isinstance(out, Tensor)):
                        return True
        return known

    # -- errors ----------------------------------------------------------------------------------------------
    def _raises(self):
        """(class, text) for each way to go wrong that was tried and is refused."""
        found = [*self._refused_dims(), *self._refused_dtypes()]
        several = [arg for arg in self.schema.args if arg.type.is_tensor and not arg.kwarg_only]
        broadcasts = "pointwise" in self.overloads[0].tags and len(several) == 2
        if broadcasts and not self.overloads[0].is_mutating:
            given = {parameter(a.name): pb.ones(n) for a, n in zip(several, (2, 3), strict=True)}
            if (error := _error(self._function(), given)) == "RuntimeError":
                found.append((error, "The shapes do not broadcast."))
        elif "pointwise" not in self.overloads[0].tags:
            found += [*self._refused_shapes(), *self._refused_values()]
        found += self._refused_out()
        return [*found, *self._refused_calls([text for _, text in found]), *self._refused_types()]

    def _refused_dims(self):
        """Errors for dimensions that the first tensor does not have."""
        found = []
        for arg in (arg for arg in self.schema.args if arg.name in DIMS and "int" in str(arg.type)):
            call = next((call for call in self.calls if call.tensors and call.tensors[0].ndim), None)
            if call is not None:
                usual = call.given.get(arg.name, arg.default)
                several = isinstance(usual, (list, tuple)) and usual
                outside = tuple(range(97, 97 + len(usual))) if several else 97
                error = _error(self._function(), call.given | {arg.name: outside})
                error = "IndexError" if error == "AxisError" else error  # NumPy's kind of it
                if error in WRONG:
                    found.append((error, f"`{arg.name}` is out of range."))
        return found

    def _refused_shapes(self):
        """Errors for a first tensor of no dimension or of many, and for others that are longer in each dimension."""
        call = next((c for c in self.calls if c.dtype == F8 and isinstance(c.given.get(self.main), Tensor)), None)
        if call is None or self.overloads[0].is_mutating:
            return []
        found, main, run = [], call.given[self.main], self._function()
        if main.ndim and main.numel() and not {"size", "shape", "sizes"} & {arg.name for arg in self.schema.args}:
            element = main.reshape(-1)[0]
            error = _error(run, call.given | {self.main: element})
            if error == "RuntimeError":
                found.append((error, f"`{self.main}` has too few dimensions."))
        if _error(run, call.given | {self.main: main[(None,) * 5]}) == "RuntimeError":
            found.append(("RuntimeError", f"`{self.main}` has too many dimensions."))
        others = [k for k, x in call.given.items() if isinstance(x, Tensor) and x.ndim and x.numel() and k != self.main]
        for other in others:
            longer = np.pad(np.asarray(call.given[other].detach()), 3, mode="edge")
            error = _error(run, call.given | {other: pb.tensor(longer)})
            if error in WRONG:
                found.append((error, f"The shapes of `{self.main}` and `{other}` do not fit together."))
        return found

    def _refused_values(self):
        """Errors for words that are not known, and for numbers below zero."""
        call = next((call for call in self.calls if call.dtype == F8), next(iter(self.calls), None))
        if call is None or self.overloads[0].is_mutating:
            return []
        found = []
        for arg in self.schema.args:
            name, kind = parameter(arg.name), str(arg.type)
            trials = [("no such word", f"`{name}` is not a known word.")] if kind.startswith("str") else []
            if kind.startswith("int") and arg.name not in DIMS:
                usual = call.given.get(name, arg.default)
                count = len(usual) if isinstance(usual, (list, tuple)) else 0
                trials = [((n,) * count if count else n, f"`{name}` is {what}.") for n, what in NUMBERS]
            given = call.given.get(name)
            if isinstance(given, Tensor) and given.dtype.kind == "i" and call.dtype != given.dtype:
                trials = [(pb.full_like(given, -1000), f"`{name}` holds numbers that are out of range.")]
            for trial, text in trials:
                if (error := _error(self._function(), call.given | {name: trial})) in WRONG:
                    found.append((error, text))
                    break
        return found

    def _refused_types(self):
        """The error for something that is none of the types of the first argument."""
        call = next(iter(self.calls), None)
        if call is None or not self.schema.args:
            return []
        first = parameter(self.schema.args[0].name)
        error = _error(self._function(), call.given | {first: object()})
        return [(error, "An argument is of another type than those above.")] if error == "TypeError" else []

    def _refused_calls(self, said):
        """Calls that the records have as refused, in the words of their errors, but for those of which all is said."""
        found = {}
        for info in self.infos:
            for refusal in info.errors:
                args, kwargs = map_arrays(_tensor, (refusal.args, refusal.kwargs))
                try:
                    with np.errstate(all="ignore"):
                        function_of(info)(*args, **kwargs)
                except refusal.error as error:
                    call, reason = _told(str(error), self.name)
                    if call and not any(key in reason and any(text in t for t in said) for key, text in _SAID.items()):
                        found.setdefault(reason, (_class_name(error), f"`{call}`: {reason}."))
        return sorted(found.values(), key=lambda pair: len(pair[1]))[:REFUSED]

    def _refused_out(self):
        """The error for an `out` through which a gradient would have to flow."""
        takes_out = "out" in self.overloads[0].variants and len(self.schema.returns) == 1
        call = next((call for call in self.calls if isinstance(call.result, Tensor)), None)
        if not takes_out or self.schema.returns_list or call is None or call.result.dtype not in (F8, C16):
            return []
        leaf = pb.zeros(call.result.shape, dtype=call.result.dtype, requires_grad=True)
        error = _error(self._function(), call.given | {"out": leaf})
        text = "`out` requires grad while gradients are recorded."
        return [(error, text)] if error == "RuntimeError" else []

    def _refused_dtypes(self):
        """Errors for dtypes of the first tensor that no record has."""
        call = next((call for call in self.calls if isinstance(call.given.get("input"), Tensor)), None)
        tried = {call.given["input"].dtype for call in self.calls if isinstance(call.given.get("input"), Tensor)}
        if call is None or F8 not in tried or self.overloads[0].is_mutating:
            return []
        found = []
        for dtype, text in ((C16, "`input` is complex."), (I8, "`input` holds whole numbers.")):
            if dtype not in tried:
                given = {
                    k: x.to(dtype) if isinstance(x, Tensor) and x.dtype == call.dtype else x
                    for k, x in call.given.items()
                }
                error = _error(self._function(), given)
                found += [(error, text)] if error in ("TypeError", "RuntimeError", "ValueError") else []
        return found

    def _function(self):
        return function_of(self.infos[0])

    # -- limits ----------------------------------------------------------------------------------------------
    def _limits(self):
        texts, reasons = [], set()
        names = [parameter(arg.name) for arg in self.schema.args]
        for limit in (limit for info in self.infos for limit in info.limits):
            at = ", ".join(f"{n} = {_brief(x)}" for n, x in zip(names, limit.at, strict=False))
            at += "".join(f", {n} = {_brief(x)}" for n, x in limit.kwargs.items())
            said = [f"value {_brief(limit.value)}"] if limit.value is not None else []
            said += [f"gradient {_brief(limit.grad[0] if len(limit.grad) == 1 else limit.grad)}"] if limit.grad else []
            text = f"{at}: {', '.join(said)}. {_capital(limit.because)}"
            text += "" if text.endswith(".") else "."
            if said and len(text) <= 240 and limit.because not in reasons and len(texts) < 5:
                reasons.add(limit.because)
                texts.append(re.sub(r"\bself\b", "input", text))
        return texts

    # -- examples --------------------------------------------------------------------------------------------
    def _example(self):
        if "example" in self.own:
            return run_example(self.own["example"])
        if self.is_free:
            return ""
        candidates = (example for info in self.infos for example in self._candidates(info))
        return min(candidates, key=_plainness, default="")

    def _inplace_example(self):
        """An example of the form that writes into its first argument, made of one that does not."""
        if not any("inplace" in native.variants for native in self.overloads):
            return ""
        only = all(native.variants <= {"inplace"} for native in self.overloads)
        if own := self.own.get("inplace_example") or (self.own.get("example") if only else None):
            return run_example(own)
        others = (example for info in self.infos for example in self._candidates(info))
        for example in sorted([self._example()] * (not self.is_free), key=_plainness) + sorted(others, key=_plainness):
            source = "\n".join(line[4:] for line in example.splitlines() if line.startswith((">>> ", "... ")))
            if (changing := _in_place(source, self.name)) is None:
                continue
            try:
                return run_example(changing, quiet=True)
            except REFUSALS:  # the result has another shape or dtype
                continue
        return ""

    def _candidates(self, info):
        ending = ".shape" if info.random and not info.repeatable else ""
        dtypes = [d for d in (F8, I8, np.dtype(bool), C16) if d in info.dtypes]
        samples = [sample for dtype in dtypes[:1] for sample in info.samples_for(dtype)]
        for sample in samples[:12]:
            source = self._source(info, sample)
            if source is None:
                continue
            try:
                text = run_example(source + ending, quiet=True)
            except Exception:  # noqa: BLE001, S112 - such an example is not taken
                continue
            if text.count("\n") < 24 and "nan" not in text:
                yield text

    def _source(self, info, sample):
        """The statements of a call with this sample, its numbers made short; None where that cannot be written."""
        method = not self.overloads[0].variants & {"function"}
        arrays = [a for a in _flat((sample.args, sample.kwargs)) if isinstance(a, np.ndarray)]
        if any(a.size == 0 or a.size > 36 for a in arrays) or sum(a.size for a in arrays) > 48:
            return None
        lines, names = [], iter("xyzuvw")
        arguments = []
        for key, value in [*((None, v) for v in sample.args), *sample.kwargs.items()]:
            text = _literal(value)
            if text is None:
                return None
            if isinstance(value, np.ndarray) and value.size > 1:
                name = next(names)
                lines.append(f"{name} = {text}")
                text = name
            arguments.append(text if key is None else f"{key}={text}")
        if method and not arguments:
            return None
        call = f"pb.{self.name}({', '.join(arguments)})"
        if method:
            call = f"{arguments[0]}.{self.name}({', '.join(arguments[1:])})"
        if info.random:
            lines.insert(0, "_ = pb.manual_seed(0)")
        return "\n".join([*lines, call])


def _in_place(source, name):
    """The statements with the last, a call of the operator on a variable, in place; None if it is none."""
    *statements, last = ast.parse(source).body
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Name):
        return None
    home, _, leaf = name.rpartition(".")
    leaf = leaf if leaf.endswith("_") else f"{leaf}_"
    arguments = [ast.get_source_segment(source, part) for part in call.args]
    arguments += [f"{given.arg}={ast.get_source_segment(source, given.value)}" for given in call.keywords]
    text = f"pb.{home}.{leaf}({', '.join(arguments)})" if home else f"{arguments[0]}.{leaf}({', '.join(arguments[1:])})"
    return "\n".join([*(ast.get_source_segment(source, part) for part in statements), text])


def run_example(source, quiet=False):
    """Statements -> the text of a session, with what each of them shows."""
    names, lines = {"pb": pb, "np": np}, []
    for node in ast.parse(source).body:
        text = ast.get_source_segment(source, node)
        if isinstance(node, ast.Assign) and len(text) > LONG:
            text = _broken(text)
        first, *rest = text.splitlines()
        lines += [f">>> {first}", *(f"... {line}" for line in rest)]
        if isinstance(node, ast.Expr):
            with np.errstate(all="ignore"), redirect_stderr(io.StringIO()):
                value = eval(text, names)  # noqa: S307 - our own examples
            if value is not None:
                lines += [line or "<BLANKLINE>" for line in repr(value).splitlines()]
        else:
            exec(text, names)  # noqa: S102 - our own examples
    return "\n".join(lines)


def _broken(text):
    """An assignment of nested lists in several lines."""
    return re.sub(r"\], \[", "],\n    [", text)


def _plainness(example):
    """Small first: few lines, but a result with more than one number."""
    return (
        "[]" in example,
        example.count("\n") > 12,
        "tensor([" not in example,
        len(example) > 420,
        example.count(">>> ") > 4,
    )


def _tensor(array):
    return array.array if isinstance(array, Plain) else pb.tensor(np.asarray(array))


def _leaf(array):
    if isinstance(array, Plain):
        return array.array
    wanted = isinstance(array, Input) and array.dtype.kind in "fc"
    return pb.tensor(np.asarray(array), requires_grad=wanted)


def _flat(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in _flat(item)]
    return [tree]


def _reduced(call):
    """The shape of a reduction of the first tensor."""
    shape, dim = call.tensors[0].shape, call.given.get("dim")
    dims = range(len(shape)) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    dims = {d % max(len(shape), 1) for d in dims}
    if call.given.get("keepdim"):
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def _broadcast(tensors):
    try:
        return np.broadcast_shapes(*(t.shape for t in tensors))
    except ValueError:
        return None


def _dtype_text(pairs, main):
    """The rule for the dtype that all these results follow, or ""."""
    given = [(call, out.dtype) for call, out in pairs]
    chosen = any(call.given.get("dtype") is not None for call, _ in given)
    if chosen:
        given = [(call, dtype) for call, dtype in given if call.given.get("dtype") is None]
    kinds = {dtype for _, dtype in given}
    if not any(call.tensors for call, _ in given):
        return "dtype float64, unless `dtype` says otherwise" if chosen and kinds == {F8} else ""
    if len(kinds) == 1 and (kinds <= {np.dtype(bool)} or len({call.dtype for call, _ in given}) > 1):
        return f"dtype {kinds.pop()}"
    one = [(call.given.get(main), dtype) for call, dtype in given]
    if all(isinstance(x, Tensor) for x, _ in one):
        text = _changes([(x.dtype, dtype) for x, dtype in one])
        if text is not None:
            return f"the dtype of `{main}`{text}"
    several = [(_promoted(call), dtype) for call, dtype in given]
    if all(start is not None for start, _ in several):
        text = _changes(several)
        if text is not None:
            return f"the dtype to which theirs promote{text}"
    return ""


# What becomes of one dtype where another stays, and what to say of it.
_CHANGES = {
    (I8, F8): "float64 for whole numbers", (C16, F8): "real for complex numbers", (F8, C16): "complex for real numbers",
    (I8, C16): "complex for real numbers",
    (I1, F8): "float64 for whole numbers", (B1, F8): "float64 for whole numbers",
    (I1, C16): "complex for real numbers", (B1, C16): "complex for real numbers",
    (I1, I8): "int64 for bools and small whole numbers", (B1, I8): "int64 for bools",
    (B1, I1): "int8 for bools",
}  # fmt: skip
_SMALLER = frozenset({(F4, C8)})  # what goes with such a change


def _changes(pairs):
    """Return what a result's dtype is where it is not the one given, in words; None where there is no rule."""
    becomes = {}
    for start, end in pairs:
        if becomes.setdefault(start, end) != end:
            return None
    if not becomes.keys() & {F8, C16}:
        return None
    other = {pair for pair in becomes.items() if pair[0] != pair[1]} - _SMALLER
    if (I1, I8) in other:
        other -= {(B1, I8)}
    if not other <= _CHANGES.keys():
        return None
    return "".join(dict.fromkeys(f"; {text}" for pair, text in _CHANGES.items() if pair in other))


def _promoted(call):
    """The dtype that the floating tensors given promote to; the kinds of others do not tell."""
    by_kind = [[t for t in call.tensors if t.dtype.kind in kinds] for kinds in ("fc", "iu", "b")]
    tensors = next(filter(None, by_kind), [])
    found = tensors[0].dtype if tensors else None
    for t in tensors[1:]:
        found = promote_types(found, t.dtype)
    return found


def _error(function, given):
    """The name of the class of the error that a call raises; None for none."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function(**given)
    except Exception as error:  # noqa: BLE001 - its class is what is asked for
        return _class_name(error)
    return None


def _class_name(error):
    """That of the class which users know: Python's or NumPy's."""
    return next(kind.__name__ for kind in type(error).__mro__ if not kind.__module__.startswith("pullback"))


def _told(message, name):
    """The call and the reason in an error's text; empty where it names no call, or at length."""
    message = message.partition("\n")[0]
    if not message.startswith(f"{name}(") or message.startswith(f"{name}()"):
        return "", ""
    depths = list(accumulate((letter in "([") - (letter in ")]") for letter in message))
    end = depths.index(0, message.index("(")) + 1
    call, reason = message[:end], message[end:].removeprefix(": ").removeprefix(f"{name}: ").rstrip(".")
    if len(reason) > REASON:  # PyTorch's phrase, and then NumPy's
        reason = reason.partition(": ")[0].rstrip(".")
    return (call, reason) if len(call) <= REASON and len(reason) <= REASON else ("", "")


def _literal(value):
    """An argument as one would write it, floats with few digits; None where that is no good."""
    if isinstance(value, Plain):
        return None
    if isinstance(value, np.ndarray):
        plain = np.asarray(value)
        if plain.dtype.kind in "fc":
            plain = np.round(plain, 1) + 0.0
            text = str(plain.tolist())
            return f"pb.tensor({text})" if len(np.unique(plain)) == plain.size or plain.size > 3 else None
        return f"pb.tensor({plain.tolist()})"
    if isinstance(value, (list, tuple)):
        items = [_literal(item) for item in value]
        if any(item is None for item in items):
            return None
        inside = ", ".join(items)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(items) == 1 else ''})"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(round(value, 2) if isinstance(value, float) else value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return f"pb.{np.dtype(value)}"
    return None


def _capital(text):
    """The text with a capital, unless it begins with a name."""
    word = re.match(r"(?:a|[a-z]{2,})(?![\w(*])", text)
    is_name = word is None or word[0] == "nan" or isinstance(getattr(np, word[0].replace("equal", ""), None), np.ufunc)
    return text if is_name else text[:1].upper() + text[1:]


def _brief(value):
    """A value of a limit, with as many digits as it needs to be that value."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_brief, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value or np.isnan(value) else repr(value)
    return repr(value) if not isinstance(value, Plain) else _brief(value.array)
