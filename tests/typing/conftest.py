"""The file of wrong calls cannot be imported."""

collect_ignore = ["wrong_calls.py"]
