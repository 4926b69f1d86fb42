"""Backwards of many cotangents at once: a batch of them, or one for each sample of a loss."""
