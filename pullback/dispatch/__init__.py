"""Layer 3: how an operator runs: out of place, in place, into `out=`."""
