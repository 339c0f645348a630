"""Compiled bounds on ‖(rI − N)^{-1}‖₂ at one r, and on (r − 1)‖(rI − N)^{-1}‖₂ over an interval of r.

All iterations are power iterations with S ≥ 0 on SᵀS: the Rayleigh quotient of a positive vector is a lower bound on
the largest eigenvalue and Collatz–Wielandt, max_i (SᵀS v)_i / v_i, an upper bound, so both ends of every value here are
proved up to rounding (a few n ulps, because no solve cancels).
"""

import math

import numba
import numpy as np
from numpy import ndarray

from resolvent.operators._triangular import REORDER, shifted_diagonal, solve, solve_transposed

# A positive vector may be raised anywhere and Collatz–Wielandt still bounds; this keeps its quotients defined.
SMALLEST_ENTRY = 1e-290
MOST_ITERATIONS = 400


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def _dot(a: ndarray, b: ndarray) -> float:
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@numba.njit(cache=True, nogil=True)
def _largest_quotient(z: ndarray, v: ndarray) -> float:
    largest = 0.0
    for i in range(z.size):
        if z[i] > largest * v[i]:
            largest = z[i] / v[i]
    return largest


@numba.njit(cache=True, nogil=True)
def _step(z: ndarray, largest: float, diagonal: float, v: ndarray) -> None:
    """v ← (SᵀS − shift) v of unit length, entries kept positive, from z = SᵀS v.

    Where r is large or next to nothing leaves BOS, S is nearly a multiple of I, and only what is left after a shift
    tells vectors apart. `largest` is about λ_max(SᵀS), `diagonal` at most its smallest diagonal entry. The shift is at
    most `diagonal`, so what is iterated stays non-negative; and since λ_min ≥ max(0, 2·diagonal − λ_max), small enough
    that no eigenvalue left below 0 has more than a third of the size of the largest.
    """
    shift = min(diagonal, 0.25 * largest + 0.75 * max(2.0 * diagonal - largest, 0.0))
    square = 0.0
    for i in range(z.size):
        left = max(z[i] - shift * v[i], 0.0)
        v[i] = left
        square += left * left
    if square > 0.0:
        size = 1.0 / math.sqrt(square)
        for i in range(z.size):
            v[i] = max(v[i] * size, SMALLEST_ENTRY)
        return
    for i in range(z.size):  # S is a multiple of I, to rounding: any vector will do
        v[i] = 1.0 / math.sqrt(z.size)


@numba.njit(cache=True, nogil=True)
def _smallest(a: ndarray) -> float:
    least = np.inf
    for i in range(a.size):
        least = min(least, a[i])
    return least


@numba.njit(cache=True, nogil=True)
def scaled_resolvent_norm(
    chain: ndarray,
    leak: ndarray,
    x: float,
    scale: float,
    gap: float,
    low_enough: float,
    v: ndarray,
    u: ndarray,
    z: ndarray,
    inverse: ndarray,
) -> tuple[float, float, float, int]:
    """Bounds on log(scale · ‖((1 + x)I − N)^{-1}‖): (lower, upper, uᵀv, iterations).

    `v` holds a positive start and receives the right singular vector, `u` the left one; z and inverse are work space.
    Stops when upper − lower ≤ gap, or when upper is below `low_enough` by ten times their difference. If the norm
    overflows, lower is inf (and v is left as it was).
    """
    n = leak.size
    shifted_diagonal(leak, x, inverse)
    diagonal = (scale * _smallest(inverse)) ** 2
    lower = -np.inf
    upper = np.inf
    alignment = 0.0
    size = math.sqrt(_dot(v, v))
    for i in range(n):
        v[i] /= size
    for iteration in range(1, MOST_ITERATIONS + 1):
        solve(chain, inverse, v, u)
        for i in range(n):
            u[i] *= scale
            z[i] = u[i]
        length = math.sqrt(_dot(u, u))
        solve_transposed(chain, inverse, z)
        for i in range(n):
            z[i] *= scale
        norm = math.sqrt(_dot(z, z))
        if not (length > 0.0 and norm > 0.0 and math.isfinite(norm) and math.isfinite(length)):
            return np.inf, np.inf, 0.0, iteration
        alignment = _dot(u, v) / length
        lower = math.log(norm / length)
        upper = min(upper, 0.5 * math.log(_largest_quotient(z, v)))
        _step(z, (norm / length) ** 2, diagonal, v)
        difference = upper - lower
        if difference <= gap or upper + 10.0 * difference <= low_enough:
            break
    for i in range(n):
        u[i] /= length
    return lower, max(upper, lower), alignment, iteration


@numba.njit(cache=True, nogil=True)
def interval_bound(
    chain: ndarray,
    leak: ndarray,
    x1: float,
    x2: float,
    enough: float,
    v: ndarray,
    u: ndarray,
    z: ndarray,
    inverse: ndarray,
    weight: ndarray,
    border: ndarray,
) -> tuple[float, int]:
    """An upper bound on log((r − 1)‖(rI − N)^{-1}‖) for all r − 1 in [x1, x2], x1 > 0: (bound, iterations).

    With G = (rI − B)^{-1}, G_ab = H_ab G_bb: the discounted hitting probability H falls with x and
    x G_bb = x / (x + c_b) rises, so x G_ab ≤ H_ab(x1) x2 / (x2 + c_b). The survival column x G 1 rises too.
    Tight where S = x G hardly depends on x (plateaus); first order in the width elsewhere.
    Stops early once the bound is at most `enough` or provably cannot get there.
    """
    n = leak.size
    shifted_diagonal(leak, x2, inverse)
    for i in range(n):
        border[i] = 1.0
    border[0] = 0.0
    solve(chain, inverse, border, border)
    least = x1 / (1.0 + x1)
    for i in range(n):
        border[i] = max(x2 * border[i] - least, 0.0)
        weight[i] = x2 / (x2 + leak[i]) * (x1 + leak[i])
    border[0] = x2 / (1.0 + x2)
    weight[0] = 0.0
    diagonal = border[0] * border[0]  # no leak is above 1
    shifted_diagonal(leak, x1, inverse)
    size = math.sqrt(_dot(v, v))
    for i in range(n):
        v[i] /= size
    upper = np.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        for i in range(n):
            u[i] = weight[i] * v[i]
        solve(chain, inverse, u, u)
        first = v[0]
        for i in range(n):
            u[i] += border[i] * first
            z[i] = u[i]
        length = math.sqrt(_dot(u, u))
        first = _dot(border, u)
        z[0] = 0.0
        solve_transposed(chain, inverse, z)
        for i in range(n):
            z[i] *= weight[i]
        z[0] = first
        norm = math.sqrt(_dot(z, z))
        if not (length > 0.0 and norm > 0.0 and math.isfinite(norm) and math.isfinite(length)):
            return np.inf, iteration
        lower = math.log(norm / length)
        upper = min(upper, 0.5 * math.log(_largest_quotient(z, v)))
        if upper <= enough or lower > enough or upper - lower <= 1e-9:
            break
        _step(z, (norm / length) ** 2, diagonal, v)
    return upper, iteration


@numba.njit(cache=True, nogil=True)
def sag(x1: float, x2: float) -> float:
    """The largest distance of log x above its chord, linear in x, over [x1, x2]."""
    ratio = x2 / x1
    slope = math.log(ratio) / (ratio - 1.0)
    return slope - 1.0 - math.log(slope)


@numba.njit(cache=True, nogil=True)
def column_share(x1: float, leak: float) -> float:
    """k with log x/(x + leak) at most k · sag above its chord on [x1, ·]: near 0 for slow states, 1 for fast ones."""
    stays = x1 / (x1 + leak)
    return (1.0 - stays) * (1.0 + stays)


@numba.njit(cache=True, nogil=True)
def weighted_end(
    chain: ndarray,
    leak: ndarray,
    x1: float,
    x2: float,
    at: float,
    enough: float,
    v: ndarray,
    u: ndarray,
    z: ndarray,
    inverse: ndarray,
    weight: ndarray,
) -> tuple[float, int]:
    """An upper bound on log‖S(at) C‖, S = x G and `at` x1 or x2; the larger of both ends bounds log F on [x1, x2].

    H_ab(x) is log-convex in x, and x G_bb = x/(x + c_b) is at most C_b times its log-linear interpolation, C_b =
    exp(k_b sag). So x G_ab(x) ≤ C_b S_ab(x1)^{1−θ} S_ab(x2)^θ, the border, a sum over b of such terms, likewise
    (Hölder), and ‖X^{(1−θ)} ∘ Y^{(θ)}‖ ≤ ‖X‖^{1−θ} ‖Y‖^θ for non-negative X, Y. Second order in the width with a small
    constant on plateaus, where the fast columns, of large C_b, hardly matter. Stops early as `interval_bound` does.
    """
    n = leak.size
    bend = sag(x1, x2)
    for i in range(n):
        weight[i] = math.exp(column_share(x1, leak[i]) * bend)
        v[i] *= weight[i]  # from the top vector of S to nearly that of S C
        weight[i] *= at
    shifted_diagonal(leak, at, inverse)
    size = math.sqrt(_dot(v, v))
    for i in range(n):
        v[i] /= size
    r = 1.0 + at
    diagonal = (at / r) ** 2  # no leak is above 1, no weight below
    upper = np.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        first = v[0] / r
        for i in range(n):
            u[i] = weight[i] * (v[i] + chain[i, 0] * first)
        u[0] = 0.0
        solve(chain, inverse, u, u)
        u[0] = weight[0] * first
        for i in range(n):
            z[i] = u[i]
        length = math.sqrt(_dot(u, u))
        z[0] = 0.0
        solve_transposed(chain, inverse, z)
        first = weight[0] * u[0]
        for i in range(1, n):
            z[i] *= weight[i]
            first += chain[i, 0] * z[i]
        z[0] = first / r
        norm = math.sqrt(_dot(z, z))
        if not (length > 0.0 and norm > 0.0 and math.isfinite(norm) and math.isfinite(length)):
            return np.inf, iteration
        lower = math.log(norm / length)
        upper = min(upper, 0.5 * math.log(_largest_quotient(z, v)))
        if upper <= enough or lower > enough or upper - lower <= 1e-9:
            break
        _step(z, (norm / length) ** 2, diagonal, v)
    return upper, iteration


@numba.njit(cache=True, nogil=True, fastmath=REORDER)
def numerical_abscissa(chain: ndarray, decided_below: float, v: ndarray, u: ndarray) -> tuple[float, float]:
    """Bounds (lower, upper) on ω = λ_max((N + Nᵀ)/2), until upper ≤ decided_below or 5 % of what is above it.

    Collatz–Wielandt and Rayleigh again; ½ is added to the diagonal because the spectrum of a non-negative symmetric
    matrix may be symmetric about 0, where power iteration would oscillate.
    """
    n = v.size
    lower = 0.0
    upper = np.inf
    for i in range(n):
        v[i] = 1.0
    for _ in range(60):
        for i in range(n):
            u[i] = (1.0 + chain[i, i]) * v[i]
        for i in range(n):
            s = 0.0
            t = v[i]
            for j in range(i):
                s += chain[i, j] * v[j]
                u[j] += chain[i, j] * t
            u[i] += s
        square = 0.0
        product = 0.0
        largest = 0.0
        for i in range(n):
            half = 0.5 * (u[i] + chain[i, i] * v[i])
            u[i] = half
            square += v[i] * v[i]
            product += half * v[i]
            if half > largest * v[i]:
                largest = half / v[i]
        lower = max(lower, product / square - 0.5)
        upper = min(upper, largest - 0.5)
        near = max(0.05 * (lower - decided_below), 1e-6)
        if upper <= decided_below or (lower > decided_below and upper - lower <= near):
            break
        size = math.sqrt(square)
        for i in range(n):
            v[i] = max(u[i] / size, SMALLEST_ENTRY)
    return lower, upper
