"""Calls of scipy.fft."""

import numpy as np
from scipy import fft

from tests.scipy.calls import M

CALLS = {
    f"scipy.fft.{name}": [
        *(
            lambda x, name=name, t=t, norm=norm: getattr(fft, name)(x, t, norm=norm)
            for t in (1, 2, 3, 4)
            for norm in (None, "ortho", "forward")
        ),
        lambda x, name=name: getattr(fft, name)(x, 2, norm="ortho", orthogonalize=False),
        lambda x, name=name: getattr(fft, name)(x, 1, norm="backward", orthogonalize=True),
        lambda x, name=name: getattr(fft, name)(M(x), 3, n=5, axis=0, workers=1),
        lambda x, name=name: getattr(fft, name)(M(x) * (1 + 0.5j), 2, n=1),
        lambda x, name=name: getattr(fft, name)([x[0], 1.0, x[1]]),
    ]
    for name in ("dct", "idct", "dst", "idst")
}
CALLS |= {
    f"scipy.fft.{name}": [
        lambda x, name=name: getattr(fft, name)(M(x)),
        lambda x, name=name: getattr(fft, name)(M(x), 3, norm="ortho"),
        lambda x, name=name: getattr(fft, name)(M(x), 1, s=(3, 4), norm="forward"),
        lambda x, name=name: getattr(fft, name)(M(x), 4, axes=[0], orthogonalize=True),
    ]
    for name in ("dctn", "idctn", "dstn", "idstn")
}
CALLS |= {
    f"scipy.fft.{name}": [
        lambda x, name=name: getattr(fft, name)(x),
        lambda x, name=name: getattr(fft, name)(M(x), 3, 0, "ortho"),
        lambda x, name=name: getattr(fft, name)(x, 6, norm="forward", workers=1),
        lambda x, name=name: getattr(fft, name)([x[0], 1.0, x[1]]),
    ]
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
}
CALLS |= {
    f"scipy.fft.{name}": [
        lambda x, name=name: getattr(fft, name)(M(x)),
        lambda x, name=name: getattr(fft, name)(M(x), (3, 5), norm="ortho"),
        lambda x, name=name: getattr(fft, name)(M(x), axes=(1, 0), norm="forward"),
    ]
    for name in (
        "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn",
    )
}  # fmt: skip
CALLS |= {
    "scipy.fft.fftshift": [lambda x: fft.fftshift(x), lambda x: fft.fftshift(M(x), axes=0)],
    "scipy.fft.ifftshift": [lambda x: fft.ifftshift(x), lambda x: fft.ifftshift(np.append(x, x[0]))],
}
for _name in ("fft", "ifft", "hfft", "irfft"):
    CALLS[f"scipy.fft.{_name}"].append(lambda x, name=_name: getattr(fft, name)(x * (1 + 0.3j) + 1j))
CALLS |= {
    f"scipy.fft.{name}": [
        lambda x, name=name: getattr(fft, name)(x, 0.1, 0.3),
        lambda x, name=name: getattr(fft, name)(M(x), 0.1 * x[0], 0.3 * x[1], offset=x[2], bias=0.1 * x[3]),
    ]
    for name in ("fht", "ifht")
}
CALLS |= {
    "scipy.fft.fhtoffset": [lambda x: fft.fhtoffset(x[0], 0.3 * x[1])],
    "scipy.fft.fftfreq": [lambda x: fft.fftfreq(5, x[0])],
    "scipy.fft.rfftfreq": [lambda x: fft.rfftfreq(5, x[0])],
}
