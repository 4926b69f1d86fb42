"""How SciPy's functions take our tensors, area by area. An area is imported when one of its functions first meets one.

face.py      what `pullback.scipy.linalg` and its kin have in common
<area>/      rules by topic; where compiled code needs a derivative of its own: declarations.yaml, from which
             operators.py is generated (`make codegen`), kernels.py and formulas.py
"""
