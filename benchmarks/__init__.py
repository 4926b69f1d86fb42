"""Measures pullback against PyTorch, HIPS autograd, JAX and MyGrad; run by ``python -m benchmarks``.

``cases/`` holds one case a file, ``contenders.py`` the libraries, ``clock.py`` how time is read, ``worker.py`` the
processes that time, ``runner.py`` the interleaved rounds, ``report.py`` the table and the JSON file.
"""
