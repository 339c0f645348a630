"""D_head: the rotation of a head's scoring operator against operators with the same singular values, freely turned."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from resolvent.operators.scoring import ScoringOperatorError

LEAST_FRACTION = 2.0**-20
"""Fractions of energy are not told apart below this."""


def rotational_fraction(matrix: Float[np.ndarray, "d d"]) -> float:
    """Σ|λ|² over the eigenvalues off the real axis, over Σ|λ|² of all; 0 where every eigenvalue is zero."""
    values = np.linalg.eigvals(matrix)
    energy = np.abs(values) ** 2
    total = float(energy.sum())
    return float(energy[values.imag != 0].sum()) / total if total > 0 else 0.0


def haar_orthogonal(d: int, rng: np.random.Generator) -> Float[np.ndarray, "d d"]:
    """A Haar-random orthogonal matrix: Q of the QR factors of standard_normal((d, d)), columns times R's signs.

    Source: Mezzadri (2007), Notices of the AMS 54, 592–604.
    """
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


def rotational_deficit(
    query: Float[np.ndarray, "d_head d_model"],
    key: Float[np.ndarray, "d_head d_model"],
    rngs: Sequence[np.random.Generator],
) -> float:
    """D_head in log2: the rotational energy fraction of M = queryᵀ key over its median under random turns.

    rngs  one generator a draw U Σ Vᵀ, U drawn before V; Σ holds the d_head singular values of M, and U and V are
          d_head × d_head: the width in which the non-zero spectrum of M is computed (ours)
    Each fraction is floored at LEAST_FRACTION. Negative: less rotation than the singular values leave room for; NaN for
    M = 0.
    Raises ScoringOperatorError for other shapes or values that are not finite.
    Source: definitions of the study §8 (ours), after the weight-space measure of transient-reserves §6.
    """
    query, key = np.asarray(query, dtype=np.float64), np.asarray(key, dtype=np.float64)
    if query.ndim != 2 or query.shape != key.shape or not 0 < query.shape[0] <= query.shape[1]:
        raise ScoringOperatorError(
            f"query {query.shape} and key {key.shape}: needed are two arrays (d_head, d_model), d_head <= d_model"
        )
    if not (np.isfinite(query).all() and np.isfinite(key).all()):
        raise ScoringOperatorError("query and key weights must be finite")
    # queryᵀ key = Q_q (R_q R_kᵀ) Q_kᵀ has the singular values of the middle factor.
    sizes = np.linalg.svd(np.linalg.qr(query.T)[1] @ np.linalg.qr(key.T)[1].T, compute_uv=False)
    if sizes[0] == 0:
        return float("nan")
    found = rotational_fraction(key @ query.T)
    drawn = [_turned(sizes, rng) for rng in rngs]
    floored = np.maximum(np.array([found, *drawn]), LEAST_FRACTION)
    return float(np.log2(floored[0]) - np.log2(np.median(floored[1:])))


def _turned(sizes: np.ndarray, rng: np.random.Generator) -> float:
    left, right = haar_orthogonal(len(sizes), rng), haar_orthogonal(len(sizes), rng)
    return rotational_fraction((left * sizes) @ right.T)
