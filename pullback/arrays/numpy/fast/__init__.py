"""Ways that are taken for speed, each beside the plain way of which it gives the result."""
