"""Memory for compute: a function, or a long loop, of which backward computes most again."""
