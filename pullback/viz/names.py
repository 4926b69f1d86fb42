"""The names of tensors in a drawing: those that were given, and the variables of the code that asked for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from pullback.core.errors import type_name, with_article
from pullback.core.tensor import Tensor

# Of a leaf its identity and 0, of what was computed the identity of its node and the number of the output.
Names = dict[tuple[int, int], str]

_DEPTH = 4  # containers in containers that are searched for leaves


def names_of(params: Mapping[str, Any] | None, asker: str = "graph") -> Names:
    """The names that somebody gave.

    A tensor of two names (tied weights) has both. An empty name is none.
    """
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise TypeError(f'{asker}: params is a dict of Tensors by name, {{"w": w}}, got {with_article(params)}.')
    names: Names = {}
    for name, tensor in params.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{asker}: params[{name!r}] must be a Tensor, got {type_name(tensor)}.")
        node = tensor.grad_fn
        key = (id(tensor), 0) if node is None else (id(node), tensor.output_nr)
        names[key] = ", ".join(filter(None, [names.get(key), str(name)]))
    return {key: name for key, name in names.items() if name}


def names_of_leaves(nodes: Sequence[Any], given: Names, frame: FrameType) -> Names:
    """The names that were given, and one for each leaf without: its variable's in `frame`, or a number."""
    names = {**_names_in(frame), **given}
    used_first = sorted(nodes, key=lambda node: node._sequence_nr)
    met = [getattr(source, "variable", None) for node in used_first for source, _ in node.next_functions]
    unnamed = dict.fromkeys(key for leaf in met if leaf is not None if (key := (id(leaf), 0)) not in names)
    for number, key in enumerate(unnamed, 1):
        names[key] = f"leaf {number}" if len(unnamed) > 1 else "leaf"
    return names


def _names_in(frame: FrameType) -> Names:
    """The names of leaves in the variables of a frame and of its module, where there is one name alone.

    A container's leaves are all named by their place in it, unless each is a variable too: after
    `for W in weights: ...` the last is weights[3] like the others, and not W.
    """
    names: Names = {}
    for scope in (frame.f_locals, frame.f_globals):
        variables: dict[tuple[int, int], list[str]] = {}
        containers = []
        for name, value in list(scope.items()):
            found = [] if name.startswith("_") else [(key, name + path) for path, key in _leaves(value, _DEPTH)]
            if isinstance(value, Tensor):
                for key, text in found:
                    variables.setdefault(key, []).append(text)
            else:
                containers.append(found)
        places: dict[tuple[int, int], list[str]] = {}
        for found in containers:
            if not all(key in variables for key, _ in found):
                for key, text in found:
                    places.setdefault(key, []).append(text)
        for key, texts in {**variables, **places}.items():
            names.setdefault(key, texts[0] if len(texts) == 1 else "")
    return {key: name for key, name in names.items() if name}


def _leaves(value: Any, depth: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The way to each leaf in a Tensor, dict, list or tuple, and the leaf's key."""
    if isinstance(value, Tensor):
        if value.grad_fn is None:
            yield "", (id(value), 0)
    elif depth and isinstance(value, (dict, list, tuple)):
        for key, part in list(value.items()) if isinstance(value, dict) else enumerate(value):
            for path, leaf in _leaves(part, depth - 1):
                yield f"[{key!r}]{path}", leaf
