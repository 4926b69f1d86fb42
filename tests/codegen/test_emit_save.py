"""A node keeps what the formulas read that will run, for each subset of the inputs, and nothing else."""

from itertools import chain, combinations
from types import SimpleNamespace

import pullback as pb
from pullback.codegen.emit_save import words_of
from pullback.codegen.formula import Formula
from pullback.codegen.generate import own_registry
from pullback.codegen.node_layout import NodeLayout
from pullback.graph.saving import kept_of, question


def subsets(inputs):
    return chain.from_iterable(combinations(inputs, n) for n in range(1, len(inputs) + 1))


def wrongly_kept(layout):
    """The values that the words keep for some subset of the inputs, or do not, against what the formulas read."""
    for needed in subsets(layout.inputs):
        edges = [arg if arg in needed else None for arg in layout.inputs]
        node = SimpleNamespace(_nexts=edges, **{f"_next{i}": edge for i, edge in enumerate(edges)})
        runs = [f.formula for f in layout.formulas if set(f.inputs) & {arg.name for arg in needed}]
        read = {name for formula in runs if isinstance(formula, Formula) for name in formula.uses}
        for kept in chain.from_iterable(kept_of(words_of(layout))):
            if len(kept.slots) == 2 and not layout.is_wrapped(kept.name):  # those: see test_joint_formulas
                asked = "" if kept.form else question(kept.edges, layout.in_slots)
                if (not asked or eval(asked, {"node": node})) != (kept.name in read):
                    yield layout.schema.name, kept.name, needed


def test_no_operator_keeps_what_no_needed_formula_reads():
    registry = own_registry()
    layouts = [NodeLayout(derivative, registry) for derivative in registry.derivatives.values()]
    assert [wrong for layout in layouts for wrong in wrongly_kept(layout)] == []


def test_what_two_of_three_formulas_read_is_kept_for_either():
    for position, kept in ((0, True), (1, True), (2, False)):
        args = [pb.tensor([1.0, 2.0], requires_grad=i == position) for i in range(3)]
        y = pb.lerp(*args)
        assert hasattr(y.grad_fn, "saved_weight") == kept
        assert (y.grad_fn._saved_weight is not None) == kept
        y.sum().backward()
        assert args[position].grad is not None
