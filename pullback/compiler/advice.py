"""Says what to write instead, where a function runs eagerly."""

from __future__ import annotations

# (a part of the reason, the remedy), the first that fits.
_REMEDIES = (
    ("random numbers", "draw with pullback's own functions (pb.rand, pb.randn, dropout), or pass the numbers in"),
    ("clock", "read the clock outside, and pass the time in"),
    ("is asked for an attribute whose name", "write the attribute's name in the code"),
    ("finds attributes by code", "read the attribute outside, and pass it in"),
    ("finds its attributes by code", "read the attribute outside, and pass it in"),
    ("what is outside the program", "do it outside, and pass in what the function needs"),
    ("changes the state of a library", "do it once, outside the function"),
    ("would be compared at each call", "pass it in, or make an ndarray of it"),
    (
        "the item 'lr' of",
        "give the optimizer lr=pb.tensor(...), which calls read and schedulers write into",
    ),
    ("places that may change", "pass in what the function needs of it"),
    ("moves on when it is read", "make a list or an ndarray of it, or pass it in"),
    ("holds what no watch can look at", "pass in what the function needs of it"),
    ("in which no watch can look", "pass in what the function needs of it"),
    ("it changes what it reads", "return the new value, and let the caller store it"),
    (" found ", "choose with np.where, or pass the number in as a Python number"),
    ("no two of", "return what changes from call to call, or pass it in"),
    ("whose contents nothing tells", "pass its arrays in a dict, list or tuple; pb.utils.pytree registers classes"),
    ("is set, which", "return the new value, and let the caller store it"),
    ("is a hook", "put the hook on what the compiled function gives or takes, outside of it"),
    ("container among its arguments", "return the new values"),
    ("another view of its memory", "use the out-of-place form (t = t.t() for t.t_())"),
    ("its results require grad", "write into a clone() of the argument"),
    ("gives an argument other data", "write into it in place (t.copy_(y) for t.data = y)"),
    ("text of numbers", "print what the compiled function gives"),
    ("type or the identity", "ask np.ndim, np.iscomplexobj and their like, which a recording follows"),
    ("of which that is a part", "pass in a copy (x.clone())"),
    ("outcomes", "choose with np.where, or compile what comes before and after the choice"),
)


def remedy(why: str) -> str:
    """The text that says what to write instead, "" where nothing is known."""
    return next((text for part, text in _REMEDIES if part in why), "")
