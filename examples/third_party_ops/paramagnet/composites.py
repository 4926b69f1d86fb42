"""Operators that call others: autograd differentiates what they call, so they need no formula."""

from scipy.constants import Boltzmann, physical_constants

# Energy of one Bohr magneton in one tesla, as a temperature: 0.672 K.
_KELVIN_PER_TESLA = physical_constants["Bohr magneton"][0] / Boltzmann


def magnetization(field, temperature, spin, g, *, ops):
    """g spin B(g spin mu_B field / (k_B temperature), spin), in Bohr magnetons."""
    saturation = g * spin
    return saturation * ops.paramagnet.brillouin(saturation * _KELVIN_PER_TESLA * field / temperature, spin)
