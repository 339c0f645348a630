"""What a grid over the complex plane costs: the two usual ways to K and ρ_ε, in vectorised numpy and LAPACK."""

import numpy as np
import scipy.linalg

RADII = 40
ANGLES = 60  # over the half plane; the other half is its mirror image
BLOCK = 16
INVERSE_STEPS = 6  # of inverse iteration per point: enough for about three digits on most of the grid


def polar_grid() -> np.ndarray:
    """RADII × ANGLES points z with |z| from 1 + 1e-3 to 11, in the closed upper half plane."""
    x = np.geomspace(1e-3, 10.0, RADII)
    return ((1.0 + x)[:, None] * np.exp(1j * np.linspace(0.0, np.pi, ANGLES))[None, :]).ravel()


def deflated(A: np.ndarray) -> np.ndarray:
    """A − 1 e0ᵀ."""
    B = A.copy()
    B[:, 0] -= 1.0
    return B


def kreiss_by_dense_svd(A: np.ndarray, z: np.ndarray) -> float:
    """Largest (|z| − 1)/σ_min(zI − A_dev) over the points: an SVD a point."""
    B = deflated(A)
    identity = np.eye(len(B))
    return max((abs(p) - 1.0) / np.linalg.svd(p * identity - B, compute_uv=False)[-1] for p in z)


def kreiss_by_schur(A: np.ndarray, z: np.ndarray) -> float:
    """The same by one Schur form and inverse iteration on all points at once.

    Substitution by blocks of rows, the rest of the triangle as one matrix product over all points.
    """
    T = scipy.linalg.schur(deflated(A).astype(complex), output="complex")[0]
    n = len(T)
    diagonal = z[None, :] - np.diag(T)[:, None]
    rng = np.random.default_rng(0)
    v = rng.standard_normal((n, z.size)) + 1j * rng.standard_normal((n, z.size))
    v /= np.linalg.norm(v, axis=0)
    norm = np.ones(z.size)
    starts = range(0, n, BLOCK)
    for _ in range(INVERSE_STEPS):
        for start in reversed(starts):
            end = min(start + BLOCK, n)
            v[start:end] += T[start:end, end:] @ v[end:]
            for i in range(end - 1, start - 1, -1):
                v[i] = (v[i] + T[i, i + 1 : end] @ v[i + 1 : end]) / diagonal[i]
        for start in starts:
            end = min(start + BLOCK, n)
            v[start:end] += T[:start, start:end].conj().T @ v[:start]
            for i in range(start, end):
                v[i] = (v[i] + T[start:i, i].conj() @ v[start:i]) / diagonal[i].conj()
        norm = np.linalg.norm(v, axis=0)
        v /= norm
    return float(np.max((np.abs(z) - 1.0) * np.sqrt(norm)))
