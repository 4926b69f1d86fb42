"""Writes a function as C11 that needs nothing but itself.

api.py        what users call
recording.py  the function's steps, or an error that says why C cannot have them
files.py      the two files
names.py      the names of arguments and results
command.py    `python -m pullback export`
"""
