"""OpInfo: what a record of an operator says (`core`), samples for it, and the checks that are made from it."""
