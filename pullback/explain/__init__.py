"""Layer 2: messages of errors that were raised: in terms of the call that failed, and in PyTorch's phrases.

Nothing here runs in a call that succeeds. The core, which is below, comes here through `slots`.
"""

from pullback.core import slots
from pullback.core.late import calling

slots.explained_call = calling(f"{__name__}.calls", "explained_call")
slots.call_site = calling(f"{__name__}.call_site", "call_site")
