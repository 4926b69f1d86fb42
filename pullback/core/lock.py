"""The lock for lazy creation: what a shared tensor or node has only one of is made, and `.grad` added to, under it.

One lock for everything: with several, a finaliser that the garbage collector runs while one is held could take
another in the wrong order. Re-entrant for the same reason. No user's code runs under it but such finalisers.
"""

from __future__ import annotations

import os
import threading

one_thread = threading.RLock()

if hasattr(os, "register_at_fork"):
    # A fork waits until no other thread holds the lock: the child, in which those threads are gone, finds it free and
    # every gradient whole.
    os.register_at_fork(
        before=one_thread.acquire, after_in_parent=one_thread.release, after_in_child=one_thread.release
    )
