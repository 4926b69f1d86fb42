"""Fast paths for large arrays, each with the plain way whose result it reproduces."""
