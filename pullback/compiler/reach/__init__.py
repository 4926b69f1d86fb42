"""Functions and what they read besides their arguments, which is watched, so that no program is run that is stale."""
