"""OpInfo records of the operators of the area indexing."""

OPINFOS = []
