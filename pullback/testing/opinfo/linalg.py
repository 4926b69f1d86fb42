"""OpInfo records of the operators of the area linalg."""

OPINFOS = []
