"""OpInfo: one record an operator, from which every check of it is made.

The records of pullback's operators are lists `OPINFOS` in the files of `tests/opinfo/<area>/`; the suite in
`tests/ops/` runs the checks of `pullback.testing.opinfo.checks` over them all. Authors of operators elsewhere run them
on their own records with `pullback.testing.check_operator(info)`. Typical records:

    OpInfo("sin", np.sin, unary(), complex=True),
    OpInfo("atan2", np.arctan2, broadcasting_pairs(),
           limits=[Limit(at=(0.0, 0.0), grad=(0.0, 0.0), because="no direction at the origin: 0 by convention")],
           errors=[Raises(RuntimeError, naming=("atan2", "(2,)", "(3,)"), args=(ones(2), ones(3)))]),
    OpInfo("sum", by_axis(np.sum), reductions(), complex=True),
    OpInfo("flip", by_axis(np.flip), cases(on((2, 3), [0]), on((2, 3), [0, 1]), on((0, 2), [1])), complex=True),
    OpInfo("argmax", by_axis(np.argmax), reductions(distinct=True, many_dims=False), order=0),
    OpInfo("nn.functional.relu", lambda x: np.maximum(x, 0), unary(away_from=0)),
    OpInfo("rand", None, cases(on(None, 3)), random=True, because="random: shape and dtype only"),

Rules for samples:

* every ndarray in the arguments (in lists, tuples and dicts too) becomes a Tensor; wrap it as `Plain(array)` to pass
  the ndarray itself. The reference sees ndarrays always;
* arrays that come from `make(...)`, and what arithmetic and views make of them, are *inputs*: they have the dtype under
  test and require grad in gradient checks. `np.array(...)` of one, or `make.constant(...)`, is a constant;
* keep shapes small: a gradient check calls the operator twice for each number in the inputs.

The sample makers (`unary`, `broadcasting_pairs`, `reductions`, `cases` with `on`) are in `samples.py`.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self, TypeAlias, TypedDict, Unpack, get_args

import numpy as np

from pullback.arrays.numpy.dtypes import in_common
from pullback.core.annotations import DTypeLike, IntOrInts
from pullback.core.pytree import tree_map
from pullback.core.tensor import ndarray
from pullback.testing.arrays import random_array
from pullback.testing.opinfo.of_pytorch import instead_of_field

__all__ = [
    "CHECK_NAMES",
    "FLOATS",
    "DecorateInfo",
    "How",
    "Input",
    "Limit",
    "Make",
    "OpInfo",
    "Plain",
    "Raises",
    "Sample",
    "Samples",
    "Skip",
    "Values",
    "by_axis",
    "map_arrays",
    "weakly",
]

FLOATS = (np.float64, np.float32)
DEFAULT_DTYPES = (np.float64, np.float32, np.int64)
CheckName: TypeAlias = Literal[
    "forward", "gradient", "second", "tangent", "backward", "inplace", "out", "layouts", "tags", "vmap", "aliases",
    "errors", "limits",
]  # fmt: skip
CHECK_NAMES = get_args(CheckName)


class Values(TypedDict, total=False):
    """Which values an input has: the arguments of `random_array` that say it."""

    low: float | None
    high: float | None
    away_from: float | Sequence[float]
    distance: float
    exclude_zero: bool
    distinct: bool


class How(Values, total=False):
    """How an input is drawn: its values, and their layout in memory."""

    noncontiguous: bool


class Input(np.ndarray[Any, Any]):
    """An ndarray that is an input of the operator under test; arithmetic and views keep the mark."""


@dataclasses.dataclass(frozen=True)
class Plain:
    """An ndarray that the operator gets as it is, not as a Tensor.

    Parameters
    ----------
    array : ndarray

    Examples
    --------
    >>> from pullback.testing import Plain, Sample
    >>> Sample(np.ones(2), Plain(np.array([0, 1])))
    sample(float64[2], Plain(int64[2]))
    """

    array: ndarray


class Sample:
    """The arguments of one call: `Sample(x, 1, keepdim=True)`; `.named("...")` gives it a name for reports.

    Parameters
    ----------
    *args, **kwargs
        The operator's arguments.

    Attributes
    ----------
    args : tuple
    kwargs : dict
        The operator's arguments, by position and by name.
    name : str
        What is special about the call, for reports; "" where nothing is.

    Examples
    --------
    >>> from pullback.testing import Sample
    >>> Sample(np.ones((2, 3)), 1, keepdim=True).named("a row")
    a row(float64[2, 3], 1, keepdim=True)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs, self.name = args, kwargs, ""

    def named(self, name: str) -> Self:
        """Itself, with a name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Sample

        Examples
        --------
        >>> from pullback.testing import Sample
        >>> Sample(np.ones(2)).named("two")
        two(float64[2])
        """
        self.name = name
        return self

    def __repr__(self) -> str:
        parts = [brief(a) for a in self.args] + [f"{k}={brief(v)}" for k, v in self.kwargs.items()]
        return f"{self.name or 'sample'}({', '.join(parts)})"


@dataclasses.dataclass(frozen=True)
class Limit:
    """Says what value and gradient must be at a delicate point, to the last digits.

    Parameters
    ----------
    at : tuple
        The arguments: numbers become 0-d float64 or complex128 Tensors, lists and arrays Tensors; the array in a
        `Plain`, str, bool and None are passed on.
    grad : tuple, optional
        The gradient of the sum of the result: one entry for each argument in `at` (an array, or a number for all of
        it), or one for each single number in the arguments that take a gradient; None where it is not to be looked at.
    value : number, array, or tuple of these for several results; optional
    second : tuple, optional
        The gradient of the sum of the first gradients, given as `grad` is.
    because : str
        The reason why this is the right limit. It must be given.
    kwargs : dict
        Further arguments, by name; ndarrays become Tensors that do not require grad.
    rtol, atol : float
        The tolerance of all these comparisons.

    Examples
    --------
    >>> from pullback.testing import Limit
    >>> limit = Limit((0.0,), grad=(1.0,), value=0.0, because="sin(x) / x goes to 1.")
    """

    at: tuple[Any, ...]
    grad: tuple[Any, ...] | None = None
    value: Any = None
    second: tuple[Any, ...] | None = None
    because: str = ""
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    rtol: float = 1e-12
    atol: float = 0.0

    def __post_init__(self) -> None:
        if not self.because:
            raise ValueError(f"Limit(at={self.at}) needs because=: the reason why this is the right limit.")


@dataclasses.dataclass(frozen=True)
class Raises:
    """A call that must be refused in words that help.

    Parameters
    ----------
    error : class of exception, or tuple of these
        What must be raised.
    naming : sequence of str
        What the message must contain: the operator, the argument, what was found.
    args : tuple
    kwargs : dict
        The arguments of the call; ndarrays become Tensors.

    Examples
    --------
    >>> from pullback.testing import Raises
    >>> wrong = Raises(RuntimeError, ["add", "(2,)", "(3,)"], args=(np.ones(2), np.ones(3)))
    """

    error: type[Exception] | tuple[type[Exception], ...]
    naming: Sequence[str] = ()
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


def refused(
    error: type[Exception] | tuple[type[Exception], ...], naming: Sequence[str], *args: Any, **kwargs: Any
) -> Raises:
    """The refusal of one call."""
    return Raises(error, naming, args, kwargs)


@dataclasses.dataclass(frozen=True)
class Skip:
    """A check that is left out, and why.

    Parameters
    ----------
    check : str
        "forward", "gradient", "second", "tangent", "backward", "inplace", "out", "layouts", "tags", "vmap", "aliases",
        "errors" or "limits".
    because : str
        The reason, which reports show.
    dtypes : sequence of dtype
        The dtypes for which it is left out; none (default) means all.

    Examples
    --------
    >>> from pullback.testing import Skip
    >>> skip = Skip("second", because="the second derivative is zero everywhere")
    """

    check: CheckName
    because: str
    dtypes: Sequence[DTypeLike] = ()

    def __post_init__(self) -> None:
        _refuse_unknown_check("Skip", self.check)
        if not self.because:
            raise ValueError(f"Skip({self.check!r}) needs because=: the reason why the check is left out.")

    def is_active(self, check: str, dtype: DTypeLike | None) -> bool:
        """True if it is of that check, in that dtype.

        Parameters
        ----------
        check : str
        dtype : dtype or None
            None: of a check that has no dtype, or in any.

        Returns
        -------
        bool

        Examples
        --------
        >>> from pullback.testing import Skip
        >>> skip = Skip("second", because="too coarse", dtypes=[np.float32])
        >>> skip.is_active("second", np.float32), skip.is_active("second", np.float64)
        (True, False)
        """
        return self.check == check and _is_of(self.dtypes, dtype)


class DecorateInfo:
    """Decorators of a check: what a context, an expected failure or another wrapper does, by check and dtype.

    Parameters
    ----------
    decorators : callable or sequence of callables
        Each is given the check, a function of (info, dtype), and returns what runs in its place.
        `unittest.expectedFailure` and `unittest.skip` are understood.
    test_name : str, optional
        The check, one of those of `Skip`. None means all.
    dtypes : sequence of dtype, optional
        None means all.
    active_if : bool, default True
        False: it does nothing.

    Examples
    --------
    >>> import unittest
    >>> from pullback.testing import DecorateInfo
    >>> known = DecorateInfo(unittest.expectedFailure, "second", dtypes=[np.complex128])
    >>> known.is_active("second", np.complex128), known.is_active("second", np.float64)
    (True, False)
    """

    def __init__(
        self,
        decorators: Callable[..., Any] | Sequence[Callable[..., Any]],
        test_name: str | None = None,
        *,
        dtypes: Sequence[DTypeLike] | None = None,
        active_if: bool = True,
    ) -> None:
        self.decorators = list(decorators) if isinstance(decorators, Sequence) else [decorators]
        self.test_name, self.dtypes, self.active_if = test_name, dtypes, active_if
        if test_name is not None:
            _refuse_unknown_check("DecorateInfo", test_name)
        for decorator in self.decorators:
            if hasattr(decorator, "mark"):  # it marks a test for pytest, and a check is none
                raise TypeError(
                    f"DecorateInfo: pytest.mark.{decorator.mark.name} has no effect on a check. Write "
                    "skips=[Skip(check, because=...)], or decorate with unittest.expectedFailure."
                )
            if not callable(decorator):
                raise TypeError(f"DecorateInfo: a decorator must be callable, got {decorator!r}.")

    def is_active(self, check: str, dtype: DTypeLike | None) -> bool:
        """True if it decorates that check, in that dtype.

        Parameters
        ----------
        check : str
        dtype : dtype or None

        Returns
        -------
        bool

        Examples
        --------
        >>> from pullback.testing import DecorateInfo
        >>> DecorateInfo(lambda check: check, "tangent").is_active("gradient", np.float64)
        False
        """
        return self.active_if and self.test_name in (None, check) and _is_of(self.dtypes or (), dtype)


def _is_of(dtypes: Sequence[DTypeLike], dtype: DTypeLike | None) -> bool:
    return not dtypes or dtype is None or np.dtype(dtype) in [np.dtype(d) for d in dtypes]


def _refuse_unknown_check(what: str, name: str) -> None:
    if name not in CHECK_NAMES:
        raise ValueError(f"{what}: there is no check {name!r}. Write one of: {', '.join(CHECK_NAMES)}.")


class Make:
    """`make(shape, **how)` draws an input of the dtype under test; `how` is that of `random_array`.

    Attributes
    ----------
    dtype : numpy.dtype
        The dtype under test.
    rng : numpy.random.Generator
        The source of all that is drawn.
    """

    def __init__(self, dtype: DTypeLike, seed: int = 0) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.rng = np.random.default_rng(seed)

    def __call__(self, shape: IntOrInts, dtype: DTypeLike | None = None, **how: Unpack[How]) -> Input:
        """A random input (marked); low=, high=, away_from=, distinct=, exclude_zero=, noncontiguous=."""
        return random_array(shape, dtype or self.dtype, rng=self.rng, **how).view(Input)

    def constant(self, shape: IntOrInts, dtype: DTypeLike | None = None, **how: Unpack[How]) -> ndarray:
        """The same, not marked: never requires grad."""
        return random_array(shape, dtype or self.dtype, rng=self.rng, **how)

    def index(self, shape: IntOrInts, size: int) -> ndarray:
        """Random int64 indices of a dimension of `size`."""
        return self.rng.integers(0, size, shape)

    def mask(self, shape: IntOrInts) -> ndarray:
        """A random bool array."""
        return self.constant(shape, bool)

    def of(self, values: Any) -> Input:
        """The given values as an input of the dtype under test."""
        return np.array(values).astype(self.dtype).view(Input)


Samples: TypeAlias = Callable[[Make], Iterable[Sample]]  # what draws the samples of a record


@dataclasses.dataclass
class OpInfo:
    """Everything that is checked of one operator.

    Parameters
    ----------
    name : str
        Public dotted name below `pullback`, such as "mul" or "nn.functional.gelu"; where the package has no such
        function, the Tensor method of that name is meant, or the operator that is tagged internal.
    reference : callable or None
        The same function on ndarrays, called with the sample's arguments (`by_axis` translates dim and keepdim). None
        needs `because`.
    samples : callable(Make) -> iterable of Sample
        Draws the calls that are checked, in the dtype of the Make; a sample maker gives one.
    dtypes : sequence of dtype
        Those of the forward check; default float64, float32, int64. A tuple of numpy.dtype afterwards.
    grad_dtypes : sequence of dtype or None
        Those of the gradient checks; None (default): float64 and complex128, where they are in `dtypes`, and none if
        `order` is 0. A tuple of numpy.dtype afterwards.
    backward_dtypes : sequence of dtype or None
        Those in which gradients are compared with the gradients in double precision; None (default): the others of
        `dtypes` that are floating or complex, and none if `order` is 0. A tuple of numpy.dtype afterwards.
    complex : bool or None
        True adds complex128 to `dtypes`. None (default): `check_operator` adds it where neither `dtypes` nor
        `grad_dtypes` are given and the operator takes complex samples, gives complex results for them and has
        gradients. False: the operator is for real numbers. True afterwards if complex128 is in `dtypes`.
    order : int
        Highest derivative that is checked against differences: 0 (not differentiable), 1 or 2.
    inplace, out : bool or None
        Whether `x.name_(...)` and `out=` exist; None (default): as native_functions.yaml says. `inplace="view"`: the
        in-place form writes nothing, but makes x itself that view.
    limits : sequence of Limit
        Delicate points, where value and derivatives are known.
    errors : sequence of Raises
        Calls that must be refused.
    skips : sequence of Skip
        Checks that are left out.
    decorators : sequence of DecorateInfo
        What wraps a check, by check and dtype.
    aliases : sequence of str
        Other public names, which must give the same results and gradients.
    reference_inputs : callable(Make) -> iterable of Sample, optional
        Further calls, which are compared with the reference alone: many, large, or of extreme values.
    error_inputs : callable(Make) -> iterable of Raises, optional
        Calls that must be refused, drawn in each of `dtypes`.
    supports_forward_ad : bool, default True
        False: forward mode must be refused, in an error.
    check_batched_grad, check_batched_gradgrad, check_batched_forward_grad : bool, default True
        Whether gradients, second derivatives and tangents are also computed for a batch of cotangents (tangents) at
        once, under vmap, and compared with those of each.
    call : callable, optional
        What to call instead of the public name, for operators with a call form of their own.
    observe : callable, optional
        Applied to the result before anything is compared or differentiated: takes out a freedom (a sign, a phase).
    random : bool
        Results are random: forward checks look at shape and dtype only, gradient checks run under a fixed seed.
    repeatable : bool, default True
        Of a random operator: whether one seed gives the same values twice. (Uninitialised memory does not.)
    numbers : tuple of two floats, optional
        rtol, atol of the comparison with the reference, by default as the dtype suggests.
    check_dtype : bool, default True
        Whether result and reference must agree in dtype.
    gradcheck : dict
        Further arguments for gradcheck and gradgradcheck (atol, eps, fast_mode, check_batched_grad, ...). Each check
        takes those that it knows.
    variant : str
        Tells several records of one operator apart.
    because : str
        Why there is no reference.

    Examples
    --------
    >>> from pullback.testing import OpInfo, Sample, check_operator
    >>> info = OpInfo("sin", np.sin, lambda make: [Sample(make((2, 3)))], order=2)
    >>> check_operator(info)
    """

    name: str
    reference: Callable[..., Any] | None
    samples: Samples
    _: dataclasses.KW_ONLY
    dtypes: Sequence[DTypeLike] = DEFAULT_DTYPES
    grad_dtypes: Sequence[DTypeLike] | None = None
    backward_dtypes: Sequence[DTypeLike] | None = None
    complex: bool | None = None
    order: int = 2
    inplace: bool | Literal["view"] | None = None
    out: bool | None = None
    limits: Sequence[Limit] = ()
    errors: Sequence[Raises] = ()
    skips: Sequence[Skip] = ()
    decorators: Sequence[DecorateInfo] = ()
    aliases: Sequence[str] = ()
    reference_inputs: Samples | None = None
    error_inputs: Callable[[Make], Iterable[Raises]] | None = None
    supports_forward_ad: bool = True
    check_batched_grad: bool = True
    check_batched_gradgrad: bool = True
    check_batched_forward_grad: bool = True
    call: Callable[..., Any] | None = None
    observe: Callable[[Any], Any] | None = None
    random: bool = False
    repeatable: bool = True
    numbers: tuple[float, float] | None = None
    check_dtype: bool = True
    gradcheck: dict[str, Any] = dataclasses.field(default_factory=dict)
    variant: str = ""
    because: str = ""

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Refuse PyTorch's names for what has another name, or none, here."""
        for name in fields:
            if (instead := instead_of_field(name)) is not None:
                raise TypeError(f"OpInfo has no field {name!r}, which PyTorch's has. {instead}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for field, kind in (("skips", Skip), ("decorators", DecorateInfo)):
            for x in getattr(self, field):
                if not isinstance(x, kind):
                    example = "Skip('second', because=...)" if kind is Skip else "DecorateInfo(decorator, 'second')"
                    raise TypeError(
                        f"OpInfo({self.name!r}): {field} takes {kind.__name__}s, got {x!r}. Write {example}."
                    )
        if self.reference is None and not self.because:
            raise ValueError(f"OpInfo({self.name!r}) has no reference; say why with because=.")
        if self.complex and np.complex128 not in self.dtypes:
            self.dtypes = (*self.dtypes, np.complex128)
        self.dtypes = tuple(np.dtype(d) for d in self.dtypes)
        if np.dtype(np.complex128) in self.dtypes:
            self.complex = True
        elif self.dtypes != tuple(map(np.dtype, DEFAULT_DTYPES)) or self.grad_dtypes is not None:
            self.complex = False
        if self.grad_dtypes is None:
            self.grad_dtypes = tuple(d for d in self.dtypes if d in (np.float64, np.complex128)) if self.order else ()
        self.grad_dtypes = tuple(np.dtype(d) for d in self.grad_dtypes)
        if self.backward_dtypes is None:
            others = [d for d in self.dtypes if np.dtype(d).kind in "fc" and d not in self.grad_dtypes]
            self.backward_dtypes = tuple(others) if self.order else ()
        self.backward_dtypes = tuple(np.dtype(d) for d in self.backward_dtypes)

    @property
    def full_name(self) -> str:
        """The name that tests show."""
        return f"{self.name}.{self.variant}" if self.variant else self.name

    def samples_for(self, dtype: DTypeLike) -> list[Sample]:
        """The samples in that dtype: the same ones in every run.

        Parameters
        ----------
        dtype : dtype

        Returns
        -------
        list of Sample

        Examples
        --------
        >>> from pullback.testing import OpInfo, Sample
        >>> info = OpInfo("exp", np.exp, lambda make: [Sample(make((3,)))])
        >>> info.samples_for(np.float64)
        [sample(float64[3])]
        """
        return list(self.samples(self.make(dtype)))

    def make(self, dtype: DTypeLike) -> Make:
        """Return what draws inputs in that dtype: the same ones in every run.

        Parameters
        ----------
        dtype : dtype

        Returns
        -------
        Make

        Examples
        --------
        >>> from pullback.testing import OpInfo, Sample
        >>> OpInfo("exp", np.exp, lambda make: [Sample(make((3,)))]).make(np.float32).dtype
        dtype('float32')
        """
        return Make(dtype, zlib.crc32(f"{self.full_name} {np.dtype(dtype).name}".encode()))

    def differentiable(self, dtype: DTypeLike) -> bool:
        """True if gradients in that dtype are checked.

        Parameters
        ----------
        dtype : dtype

        Returns
        -------
        bool

        Examples
        --------
        >>> from pullback.testing import OpInfo, Sample
        >>> info = OpInfo("exp", np.exp, lambda make: [Sample(make((3,)))])
        >>> info.differentiable(np.float64), info.differentiable(np.int64)
        (True, False)
        """
        return self.order >= 1 and np.dtype(dtype) in (self.grad_dtypes or ())

    def skip(self, check: str, dtype: DTypeLike | None = None) -> Skip | None:
        """The reason not to run that check, if there is one.

        Parameters
        ----------
        check : str
        dtype : dtype, optional

        Returns
        -------
        Skip or None

        Examples
        --------
        >>> from pullback.testing import OpInfo, Sample, Skip
        >>> skips = [Skip("inplace", "there is no such form")]
        >>> info = OpInfo("exp", np.exp, lambda make: [Sample(make((3,)))], skips=skips)
        >>> info.skip("inplace").because, info.skip("forward")
        ('there is no such form', None)
        """
        return next((skip for skip in self.skips if skip.is_active(check, dtype)), None)


def by_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function that takes dim, keepdim, by position or name, where NumPy says axis, keepdims."""

    def reference(x: Any, *args: Any, **kwargs: Any) -> Any:
        names = {"dim": "axis", "keepdim": "keepdims", "dims": "axis"}
        kwargs |= dict(zip(("dim", "keepdim"), args, strict=False))
        kwargs = {names.get(k, k): tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
        return function(x, **kwargs)

    return reference


def weakly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy, for which Python's numbers are not weak beside arrays as they are for NumPy."""
    return lambda *args: function(*in_common(*args))


def map_arrays(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with `function` applied to every ndarray and Plain in it."""
    return tree_map(lambda x: function(x) if isinstance(x, (np.ndarray, Plain)) else x, tree)


def brief(value: Any) -> str:
    """A short text for one argument of a sample."""
    if isinstance(value, Plain):
        return f"Plain({brief(value.array)})"
    if isinstance(value, np.ndarray):
        layout = "" if value.flags.c_contiguous else ", non-contiguous"
        return f"{value.dtype}{list(value.shape)}{layout}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(brief(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)
