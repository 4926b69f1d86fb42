"""Channels to pixels and back: changes of shape and order alone."""

from pullback.ops.composite.memory import in_own_memory
from pullback.ops.composite.spatial.arguments import integer, refuse, require_arrays


def pixel_shuffle(self, upscale_factor, *, ops):
    """(*, C r r, H, W) -> (*, C, H r, W r)."""
    r = _factor("pixel_shuffle", self, "upscale_factor", upscale_factor)
    *lead, channels, height, width = self.shape
    if channels % (r * r):
        raise refuse("pixel_shuffle", f"the {channels} channels must be a multiple of {r} * {r} ({tuple(self.shape)})")
    k = len(lead)
    apart = ops.reshape(self, (*lead, channels // (r * r), r, r, height, width))
    mixed = ops.permute(apart, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return in_own_memory(ops.reshape(mixed, (*lead, channels // (r * r), height * r, width * r)), self, ops=ops)


def pixel_unshuffle(self, downscale_factor, *, ops):
    """(*, C, H r, W r) -> (*, C r r, H, W)."""
    r = _factor("pixel_unshuffle", self, "downscale_factor", downscale_factor)
    *lead, channels, height, width = self.shape
    if height % r or width % r:
        raise refuse("pixel_unshuffle", f"height and width of {tuple(self.shape)} must be multiples of {r}")
    k = len(lead)
    apart = ops.reshape(self, (*lead, channels, height // r, r, width // r, r))
    mixed = ops.permute(apart, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return in_own_memory(ops.reshape(mixed, (*lead, channels * r * r, height // r, width // r)), self, ops=ops)


def channel_shuffle(self, groups, *, ops):
    """(N, groups * n, ...) -> (N, n * groups, ...), channels in turn from each group."""
    require_arrays("channel_shuffle", input=self)
    groups = integer("channel_shuffle", "groups", groups)
    if self.ndim < 3:
        raise refuse("channel_shuffle", f"input must have at least 3 dimensions, but has the shape {tuple(self.shape)}")
    if groups <= 0 or self.shape[1] % groups:
        raise refuse("channel_shuffle", f"the {self.shape[1]} channels must be a multiple of groups, {groups}")
    count, channels, *size = self.shape
    mixed = ops.transpose(ops.reshape(self, (count, groups, channels // groups, *size)), 1, 2)
    return in_own_memory(ops.reshape(mixed, self.shape), self, ops=ops)


def _factor(name, self, argument, given):
    require_arrays(name, input=self)
    factor = integer(name, argument, given)
    if self.ndim < 3:
        raise refuse(name, f"input must have at least 3 dimensions, but has the shape {tuple(self.shape)}")
    if factor <= 0:
        raise refuse(name, f"{argument} must be positive, but got {factor}")
    return factor
