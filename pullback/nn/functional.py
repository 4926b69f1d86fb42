"""torch.nn.functional's names: activations, losses, linear, dropout."""

from pullback.ops.tables import PUBLIC as _PUBLIC

globals().update(_PUBLIC["nn.functional"])
__all__ = list(_PUBLIC["nn.functional"])
