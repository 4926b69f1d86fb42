"""Measures pullback against PyTorch, HIPS autograd and JAX; run by ``python -m benchmarks``.

``cases/`` holds what is measured, ``contenders.py`` the libraries, ``clock.py`` how time is read, ``worker.py`` the
process that times a case in interleaved rounds, ``runner.py`` starts it, ``report.py`` writes table and JSON file.
"""
