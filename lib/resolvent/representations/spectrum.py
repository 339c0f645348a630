"""The spectrum of a representation, and the bounds that one token of large norm puts on it.

A representation X is T × d, rows = tokens, not centred; p_j = σ_j² / ‖X‖_F².
Source: the compression-valley paper, §3; definitions §7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Float64


@dataclass(frozen=True)
class Spectrum:
    """Of a stack (…, T, d), one array of shape (…) each. NaN where X = 0.

    entropy_bits   −Σ p_j log2 p_j
    entropy_share  the same over log2 min(T, d), in [0, 1]; the paper does not say which. NaN where min(T, d) = 1
    anisotropy     p_1
    """

    entropy_bits: Float64[np.ndarray, " ..."]
    entropy_share: Float64[np.ndarray, " ..."]
    anisotropy: Float64[np.ndarray, " ..."]


@dataclass(frozen=True)
class SpectrumBounds:
    """What token 0 forces of the spectrum of a stack (…, T, d), one array of shape (…) each.

    norm_ratio      c = ‖x_0‖² / Σ_{i≠0} ‖x_i‖²; infinite where the other tokens are zero
    alignment       α = Σ_{i≠0} ‖x_i‖² cos² θ_i / Σ_{i≠0} ‖x_i‖², θ_i the angle to x_0; NaN where the others are zero
    largest_square  σ_1² is at least this
    dominance       σ_1² / Σ_{j≥2} σ_j² is at least this; infinite for α = 1 or where the other tokens are zero
    anisotropy      p_1 is at least this
    entropy_bits    the matrix entropy is at most this
    All but norm_ratio are NaN where x_0 = 0: there is no angle to it.
    """

    norm_ratio: Float64[np.ndarray, " ..."]
    alignment: Float64[np.ndarray, " ..."]
    largest_square: Float64[np.ndarray, " ..."]
    dominance: Float64[np.ndarray, " ..."]
    anisotropy: Float64[np.ndarray, " ..."]
    entropy_bits: Float64[np.ndarray, " ..."]


def spectrum(states: Float[np.ndarray, "... T d"]) -> Spectrum:
    """Matrix entropy and anisotropy of every representation of a stack, in float64."""
    X = _rescaled(states)
    rank = min(X.shape[-2:])
    # The smaller Gram matrix: a p_j is then right to 1e-16, which moves the entropy by less than 1e-13.
    gram = X @ X.swapaxes(-1, -2) if X.shape[-2] == rank else X.swapaxes(-1, -2) @ X
    squares = np.maximum(np.linalg.eigvalsh(gram), 0.0)
    total = squares.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = squares / total[..., None]
        entropy = -np.where(p == 0, 0.0, p * np.log2(np.where(p == 0, 1.0, p))).sum(axis=-1)
        share = entropy / np.log2(rank) if rank > 1 else np.full_like(entropy, np.nan)
    return Spectrum(entropy_bits=entropy + 0.0, entropy_share=share, anisotropy=p.max(axis=-1, initial=-np.inf))


def spectrum_bounds(states: Float[np.ndarray, "... T d"]) -> SpectrumBounds:
    """The bounds that the norm of token 0 and the others' alignment with it put on the spectrum, in float64.

    σ_1² ≥ M + αR, σ_1²/Σ_{j≥2} σ_j² ≥ (c + α)/(1 − α), p_1 ≥ p = (c + α)/(c + 1), and
    H ≤ −p log2 p − (1 − p) log2((1 − p)/(r − 1)) with r = min(T, d), which for p < 1/r is replaced by log2 r.
    """
    X = _rescaled(states)
    scale = _scale(states)[..., 0, 0].astype(np.float64)
    first, rest = X[..., 0, :], X[..., 1:, :]
    M, R = (first**2).sum(axis=-1), (rest**2).sum(axis=(-1, -2))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        direction = first / np.sqrt(M)[..., None]
        along = np.einsum("...td,...d->...t", rest, direction)
        aligned = (along**2).sum(axis=-1)
        # By subtraction 1 − α would be lost where all tokens are nearly parallel.
        across = ((rest - along[..., None] * direction[..., None, :]) ** 2).sum(axis=(-1, -2))
        p = (M + aligned) / (M + aligned + across)
        dominance = (M + aligned) / across
        return SpectrumBounds(
            norm_ratio=M / R,
            alignment=aligned / (aligned + across),
            largest_square=(M + aligned) * scale**2,
            dominance=dominance,
            anisotropy=p,
            entropy_bits=_entropy_bound(p, across / (M + aligned + across), min(X.shape[-2:])),
        )


def _entropy_bound(p: np.ndarray, rest: np.ndarray, rank: int) -> np.ndarray:
    """−p log2 p − q log2(q/(r − 1)) with q = 1 − p; log2 r for p < 1/r; 0 at q = 0."""
    if rank < 2:
        return np.where(np.isnan(p), np.nan, 0.0)
    spread = np.where(rest > 0, -rest * np.log2(rest / (rank - 1)), 0.0)
    bound = -p * np.log2(p) + spread
    return np.where(np.isnan(p), np.nan, np.where(p < 1 / rank, np.log2(rank), bound)) + 0.0


def _scale(states: np.ndarray) -> np.ndarray:
    """Largest magnitude of each representation, (…, 1, 1); 1 where it is zero."""
    largest = np.abs(states).max(axis=(-1, -2), keepdims=True, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


def _rescaled(states: np.ndarray) -> np.ndarray:
    """In float64 and of largest magnitude 1, so that no square overflows or vanishes."""
    return np.asarray(states, dtype=np.float64) / _scale(states)
