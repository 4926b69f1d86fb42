"""An operator by YAML, with its record of checks.

The operators of pullback are declared, not programmed. A kernel computes on ndarrays; one line of YAML gives the
formula of the backward. In the formula stand the arguments by their names, `grad`, `result` for the output, and other
operators (`cos(self)`). What it names is saved. Broadcasting, dtypes, in-place forms and the rest come by themselves.

The operator is the Gudermannian function, gd(x) = 2 atan(tanh(x / 2)): the latitude on a Mercator map. Its derivative
is 1 / cosh(x).

Complete DECLARED, then INFO: an OpInfo names the operator, a reference on ndarrays by another way (here
arcsin(tanh(x))), and samples. check_operator(INFO) then checks values, gradients, tangents and second derivatives.
"""

from typing import Any

import numpy as np

from pullback.extend import check_operator
from pullback.lab.judge import Answer, check_function, inputs, refuse, running

TEMPLATE = '''\
import numpy as np
from pullback.testing import OpInfo
from pullback.testing.opinfo.samples import unary


def gd(x):
    """The kernel, on ndarrays."""
    return 2 * np.arctan(np.tanh(x / 2))


DECLARED = """
namespace: lab_declared
kernels: answer
native_functions:
  - func: gd(Tensor self) -> Tensor
    kernel: gd
    tags: pointwise, floating
    doc: The Gudermannian function.
derivatives:
  - name: gd(Tensor self) -> Tensor
    self: grad
    result: auto_element_wise
"""


def reference(x):
    """The same function by another way."""
    return x  # replace this


INFO = OpInfo("gd", reference, unary(), dtypes=(np.float64,))
'''

HINTS = (
    "`kernels: answer` means this file. Only the line `self: grad` of DECLARED must change.",
    "The formula is grad times the derivative; `cosh` is an operator, its argument is called `self`.",
    "self: grad / cosh(self). The reference is np.arcsin(np.tanh(x)).",
)

SOLUTION = '''\
import numpy as np
from pullback.testing import OpInfo
from pullback.testing.opinfo.samples import unary


def gd(x):
    return 2 * np.arctan(np.tanh(x / 2))


DECLARED = """
namespace: lab_declared
kernels: answer
native_functions:
  - func: gd(Tensor self) -> Tensor
    kernel: gd
    tags: pointwise, floating
    doc: The Gudermannian function.
derivatives:
  - name: gd(Tensor self) -> Tensor
    self: grad / cosh(self)
    result: auto_element_wise
"""


def reference(x):
    return np.arcsin(np.tanh(x))


INFO = OpInfo("gd", reference, unary(), dtypes=(np.float64,))
'''


def check(answer: Answer) -> None:
    """The formula by gradcheck first, for its diagnosis; then all that the record asks."""
    operators = answer.loaded("DECLARED")
    if not hasattr(operators, "gd"):
        refuse("DECLARED", "missing_name", "it declares no operator gd.", "Keep the signature of the template.")
    check_function("the formula of gd", operators.gd, inputs((4,)), check_forward_ad=True)
    info = answer["INFO"]
    _refuse_kernel(answer, info.reference)
    info.call = operators.gd
    info.inplace = info.out = False
    with running("INFO"):
        check_operator(info)


def _refuse_kernel(answer: Answer, reference: Any) -> None:
    """A reference that is the kernel, or calls it, agrees with every kernel."""
    kernel = answer["gd"]
    names = getattr(reference, "__globals__", {})
    called = []

    def watched(x: Any) -> Any:
        called.append(x)
        return kernel(x)

    names["gd"] = watched
    try:
        with running("INFO"):
            reference(np.array([0.5, 1.0]))
    finally:
        names["gd"] = kernel
    if called or reference is kernel:
        refuse(
            "INFO",
            "own_reference",
            "the reference is the kernel itself, so the check would accept every kernel.",
            "Compute the function by another way: arcsin(tanh(x)).",
        )
