"""Layer 4: how an operator runs: out of place, in place, into `out=`."""
