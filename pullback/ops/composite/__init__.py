"""Composite operators: Python over other operators, which autograd sees instead."""
