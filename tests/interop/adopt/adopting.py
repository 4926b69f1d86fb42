"""A plugin of pytest that adopts the tests of NumPy and SciPy, which `adopt()` leaves alone: -p adopting."""

import pullback as pb
from pullback.interop.adopt import switch

_is_reached = switch.is_reached
switch.is_reached = lambda namespace: ".tests." in str(namespace.get("__name__")) or _is_reached(namespace)
pb.adopt()
