"""run.py runs what is here, on tests that are fetched: none of it is for pytest."""

collect_ignore_glob = ["*.py"]
