"""Differentiable functions of paramagnetism, for pullback."""

from paramagnet.operators import arc_langevin, brillouin, inverse_langevin, langevin, langevin_, magnetization

__all__ = ["arc_langevin", "brillouin", "inverse_langevin", "langevin", "langevin_", "magnetization"]
