"""The scoring operator M = W_Qᵀ W_K of a head: its spectrum and its non-normality, from its two thin factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from jaxtyping import Float


class ScoringOperatorError(ResolventError):
    """Query and key weights that are no pair of thin factors."""


@dataclass(frozen=True)
class ScoringOperator:
    """Features of one M, (d_model, d_model) of rank at most d_head; all NaN where M is zero.

    spectral_radius          largest |λ|
    rotational_fraction      share of Σ|λ|² that lies off the real axis
    mean_angle               mean |arg λ| over the non-zero eigenvalues, radians
    effective_rank           exp of the Shannon entropy of the singular values over their sum (ours)
    relative_departure       Henrici departure (‖M‖_F² − Σ|λ|²)^½ over ‖M‖_F
    log10_eigenvector_condition  of unit-norm eigenvectors, those of the kernel orthonormal
    """

    spectral_radius: float
    rotational_fraction: float
    mean_angle: float
    effective_rank: float
    relative_departure: float
    log10_eigenvector_condition: float


def scoring_operator(
    query: Float[np.ndarray, "d_head d_model"], key: Float[np.ndarray, "d_head d_model"]
) -> ScoringOperator:
    """Features of M = queryᵀ key, without forming M: everything happens in the 2·d_head dimensions it acts in.

    Biases, norms and rotary phases are left out. The non-zero eigenvalues of M are those of the d_head × d_head matrix
    key queryᵀ. Raises ScoringOperatorError for other shapes or values that are not finite.
    Source: definitions of the study (ours), after the companion paper of transient-reserves.
    """
    query, key = np.asarray(query, dtype=np.float64), np.asarray(key, dtype=np.float64)
    if query.ndim != 2 or query.shape != key.shape or not 0 < query.shape[0] <= query.shape[1]:
        raise ScoringOperatorError(
            f"query {query.shape} and key {key.shape}: needed are two arrays (d_head, d_model), d_head <= d_model"
        )
    if not (np.isfinite(query).all() and np.isfinite(key).all()):
        raise ScoringOperatorError("query and key weights must be finite")
    basis = np.linalg.qr(np.concatenate([query, key]).T)[0]  # M acts within, and maps into, these columns
    inner = (basis.T @ query.T) @ (key @ basis)
    sizes = np.linalg.svd(inner, compute_uv=False)
    if sizes[0] == 0:
        return ScoringOperator(*[float("nan")] * 6)
    values, right = np.linalg.eig(key @ query.T)
    energy = np.abs(values) ** 2
    nonzero = np.abs(values) > 1e-12 * sizes[0]
    square = float((sizes**2).sum())
    shares = sizes[sizes > 0] / sizes.sum()
    return ScoringOperator(
        spectral_radius=float(np.abs(values).max()),
        rotational_fraction=float(energy[values.imag != 0].sum() / energy.sum()) if energy.sum() else 0.0,
        mean_angle=float(np.abs(np.angle(values[nonzero])).mean()) if nonzero.any() else 0.0,
        effective_rank=float(np.exp(-(shares * np.log(shares)).sum())),
        relative_departure=float(np.sqrt(max(square - energy.sum(), 0.0) / square)),
        log10_eigenvector_condition=_log10_condition(basis.T @ query.T @ right, key @ basis),
    )


def _log10_condition(images: np.ndarray, key: np.ndarray) -> float:
    """Of the eigenvectors W_Qᵀ y of M together with an orthonormal basis of its kernel; inf where they don't span."""
    norms = np.linalg.norm(images, axis=0)
    if (norms == 0).any():
        return float("inf")
    kernel = np.linalg.svd(key)[2][np.linalg.matrix_rank(key) :]
    vectors = np.concatenate([images / norms, kernel.conj().T], axis=1)
    if vectors.shape[0] != vectors.shape[1]:
        return float("inf")
    # Outside the subspace the kernel's basis is orthonormal and orthogonal to it: singular values of 1.
    sizes = np.append(np.linalg.svd(vectors, compute_uv=False), 1.0)
    return float(np.log10(sizes.max() / sizes.min())) if sizes.min() > 0 else float("inf")
