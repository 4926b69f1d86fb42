"""OpInfo records of the operators of the area joining."""

OPINFOS = []
