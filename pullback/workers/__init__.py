"""Other threads, processes and machines that compute for this one: the argument `workers=`, whatever a user has.

`engines` is the one door, `spread` gives work to an engine and takes the results, `shipping` sends what it needs.
"""
