"""The BOS-mass law: the Kreiss constant that an even BOS mass implies, whatever else a head attends to."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from resolvent.errors import ResolventError


class BosMassError(ResolventError):
    """A BOS mass outside [0, 1], or a length that is no positive whole number."""


def kreiss_from_bos_mass(p: ArrayLike, n: ArrayLike) -> Float64[np.ndarray, ...]:
    """K of [[0, 0], [(1−p)√(n−1), 1−p]], a lower bound on K(A_dev) of any head whose rows i ≥ 1 all put mass p on BOS.

    p and n broadcast. Exactly 1.0 where the numerical radius (1−p)(1+√n)/2 is at most 1; √n at p = 0. Equality holds
    where the rest of each row stays on the diagonal. Raises BosMassError for p outside [0, 1] or NaN, and for an n that
    is no whole number ≥ 1.

    Closed form (ours). With q = 1−p, s = 1+p, b = q√(n−1), r > 1 and y = r + (r−q), the norm of the 2 × 2 resolvent
    gives (r−1)g(r) = (y−s) / (√(y²+b²) − q√n). Its derivative vanishes where b² + sy = q√n·√(y²+b²), a quadratic in y
    of which one root exceeds s if q√n > s, and none otherwise. There (r−1)g = √(y²+b²)/y = √(1+(b/y)²), and
    b/y = (q²n − s²) / (q(s√(n−1) + 2√(np))). Why it is a bound: span{e0, 1} is invariant under A_dev.
    """
    mass, length = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not np.all((mass >= 0.0) & (mass <= 1.0)):
        raise BosMassError(f"BOS mass must lie in [0, 1]; found {mass[~((mass >= 0.0) & (mass <= 1.0))].flat[0]}")
    if not np.all((length >= 1.0) & (length == np.floor(length)) & np.isfinite(length)):
        raise BosMassError("the length n must be a whole number of at least 1")
    q, s, root = 1.0 - mass, 1.0 + mass, np.sqrt(length)
    numerator = (q * root - s) * (q * root + s)
    damped = numerator <= 0.0
    denominator = q * (s * np.sqrt(length - 1.0) + 2.0 * np.sqrt(length * mass))
    slope = np.divide(numerator, denominator, out=np.zeros_like(q), where=~damped)
    return np.asarray(np.where(damped, 1.0, np.hypot(1.0, slope)))
