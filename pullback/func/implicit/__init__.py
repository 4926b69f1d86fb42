"""Derivatives of what is found by a solver: roots, fixed points, minima, linear systems, solutions of ODEs."""
