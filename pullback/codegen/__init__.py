"""Reads the operators' declarations (YAML), checks them, and writes the code of `ops/generated/`.

Nothing here imports the rest of the package: the generator stands beside the layers, and needs only PyYAML.
"""
