"""SciPy's half of `adopt()`.

calls.py   SciPy's functions and classes, as adopted modules see them
ways.py    what a function of SciPy may do with our tensors besides a rule of its own
clones.py  NumPy's and SciPy's own Python for our tensors
"""
