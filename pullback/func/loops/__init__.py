"""Loops as one differentiable function: backward keeps what goes from step to step, and runs each step again."""
