"""scipy.spatial.transform: SciPy's own Python for arrays of any library, which SciPy has from 1.17 on."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.clones import copy_of
from pullback.interop.adopt.scipy.ways import classes_run_as_they_stand

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation, Slerp

_SMALL = 1e-6  # squares of angles below which series are exact to the last digit

if find_spec("scipy.spatial.transform._rotation_xp") is not None:
    classes_run_as_they_stand(
        "scipy.spatial.transform._rotation",
        "scipy.spatial.transform.Rotation",
        "scipy.spatial.transform.Slerp",
        always=False,  # their compiled code is another for plain arrays
    )


def _ours(rotation: Rotation) -> Rotation:
    """A plain rotation as one that meets tensors."""
    return RULES["scipy.spatial.transform.Rotation"].from_quat(rotation.as_quat())  # type: ignore[attr-defined]


@scipy_rule("scipy.spatial.transform._methods.apply")
def apply(rotation: Rotation, vectors: ArrayLike, inverse: bool = False) -> AnyArray:
    """Vectors turned."""
    return _ours(rotation).apply(vectors, inverse)


@scipy_rule("scipy.spatial.transform._methods.__mul__")
def multiply(rotation: Rotation, other: Rotation) -> AnyArray:
    """One after the other."""
    return _ours(rotation) * other


@scipy_rule("scipy.spatial.transform._methods.__call__")
def interpolate(slerp: Slerp, times: ArrayLike) -> AnyArray:
    """Between plain rotations, at times that are differentiated."""
    made = copy_of(slerp)
    made.rotations = _ours(slerp.rotations)
    return made(times)


# Both maps are smooth at the identity, where SciPy's take the root of a square of 0: these are functions of the square.
@scipy_rule("scipy.spatial.transform._rotation_xp.from_rotvec")
def from_rotvec(rotvec: AnyArray, degrees: bool = False) -> AnyArray:
    """(sin(a / 2) / a v, cos(a / 2)) with a = |v|."""
    if rotvec.shape[-1] != 3:
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {tuple(rotvec.shape)}")
    rotvec = np.deg2rad(rotvec) if degrees else rotvec
    square = np.sum(rotvec * rotvec, -1, keepdims=True)
    small = square < _SMALL
    angle = np.sqrt(np.where(small, 1.0, square))
    scale = np.where(small, 0.5 - square / 48 + square**2 / 3840, np.sin(angle / 2) / angle)
    real = np.where(small, 1 - square / 8 + square**2 / 384 - square**3 / 46080, np.cos(angle / 2))
    return np.concatenate([rotvec * scale, real], -1)


@scipy_rule("scipy.spatial.transform._rotation_xp.as_rotvec")
def as_rotvec(quat: AnyArray, degrees: bool = False) -> AnyArray:
    """2 atan(|q| / w) / |q| q, of the quaternion with w >= 0."""
    quat = np.where(quat[..., 3:] < 0, -quat, quat)
    imaginary, real = quat[..., :3], quat[..., 3:]
    square = np.sum(imaginary * imaginary, -1, keepdims=True)
    small = square < _SMALL
    length = np.sqrt(np.where(small, 1.0, square))
    ratio = np.where(small, square / np.where(small, real, 1.0) ** 2, 0.0)
    series = 2 / np.where(small, real, 1.0) * (1 - ratio / 3 + ratio**2 / 5 - ratio**3 / 7)
    rotvec = imaginary * np.where(small, series, 2 * np.arctan2(length, real) / length)
    return np.rad2deg(rotvec) if degrees else rotvec
