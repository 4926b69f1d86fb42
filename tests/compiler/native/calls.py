"""How tests call machine code."""

import ctypes

_TYPES = {"q": ctypes.c_int64, "d": ctypes.c_double, "f": ctypes.c_float, "p": ctypes.c_void_p, "v": None}


def called(library, name, signature):
    """A function of a library; the signature's letters are those of the result and of the arguments."""
    result, *args = (_TYPES[letter] for letter in signature)
    function = ctypes.CFUNCTYPE(result, *args)(library.address(name))
    function.library = library  # which lives as long
    return function
