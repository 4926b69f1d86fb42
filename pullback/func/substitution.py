"""functional_call and stop_gradient: what a function differentiates, and what it holds constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pullback.core.array_face import ARRAYS
from pullback.core.errors import with_article
from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor
from pullback.func.held_arrays import with_arrays


@named("func.functional_call")
def functional_call(
    module: Any,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Call an object with other arrays in the place of some that it holds, so that these can be differentiated.

    Parameters
    ----------
    module : callable object, or a bound method of one
        Holds its parameters in attributes: its own, or those of objects, dicts and lists in them.
    parameters : dict of str to array, or sequence of such dicts
        By where they are, "weight" or "layers.0.weight": names, keys and positions.
    args : tuple, or any other single argument
    kwargs : dict, optional

    Returns
    -------
    What the call gives. The object itself stays as it is: the call goes to a shallow copy of it, and of all that leads
    from it to the parameters: by attributes, items, back references, bound methods. An array that is held at several
    places is replaced at all of them.

    Raises
    ------
    TypeError
        `module` cannot be called, `parameters` is not a dict with names, or a function in the object captures it.
    AttributeError
        The object has nothing of that name.
    ValueError
        Two dicts give the same name, or one gives a name and another a part of it; an array is given by two paths.

    Examples
    --------
    >>> import numpy as np
    >>> class Line:
    ...     def __init__(self):
    ...         self.slope, self.offset = np.array(2.0), np.array(1.0)
    ...
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> gradient = pb.func.grad(lambda p: np.sum(pb.func.functional_call(line, p, np.array([1.0, 2.0]))))
    >>> {name: float(g) for name, g in gradient({"slope": 5.0, "offset": 0.0}).items()}
    {'slope': 3.0, 'offset': 2.0}
    >>> float(line.slope)
    2.0
    """
    given: dict[str, Any] = {}
    for found in [parameters] if isinstance(parameters, Mapping) else parameters:
        if not isinstance(found, Mapping):
            raise TypeError(
                f"func.functional_call: parameters must be a dict of names to arrays, or a sequence of such dicts, got "
                f"{with_article(found)}."
            )
        if twice := given.keys() & found.keys():
            raise ValueError(f"func.functional_call: several dicts give {', '.join(map(repr, sorted(twice)))}.")
        given.update(found)
    owner = getattr(module, "__self__", None)
    method = getattr(module, "__func__", None)
    if not callable(module):
        raise TypeError(
            f"func.functional_call: the first argument must be a callable object that holds its parameters, or a bound "
            f"method of one, got {with_article(module)}."
        )
    whole = module if method is None else owner
    substituted = with_arrays(whole, given)
    function: Callable[..., Any] = substituted if method is None else method.__get__(substituted)
    return function(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


@named("func.stop_gradient")
def stop_gradient(tree: Any) -> Any:
    """The same arrays as constants: no derivative of any transform around flows through them.

    Parameters
    ----------
    tree : array, number or tree (dict, list, tuple, registered class)

    Returns
    -------
    Of the same structure: each Tensor detached, sharing its memory; an Array (given by transforms of ndarrays) as a
    detached copy, which may be written into; everything else itself.

    Examples
    --------
    >>> import numpy as np
    >>> pb.func.grad(lambda x: np.sum(pb.func.stop_gradient(x) * x))(np.array([2.0, 3.0]))
    array([2., 3.])
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [_held_constant(x) for x in leaves])


def _held_constant(x: Any) -> Any:
    if type(x) in ARRAYS:
        return x.detach().clone()
    return x.detach() if isinstance(x, Tensor) else x
