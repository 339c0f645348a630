"""Compiled searches along the real axis r = 1 + x: K by branch and bound, ρ_ε by a safeguarded Newton iteration.

Both read and extend one list of evaluated points, kept in order of x:
    x          r − 1
    low, high  bounds on log F, F(x) = x ‖((1 + x)I − N)^{-1}‖
    slope      d log(r g) / ds, s = −log r; at least 0 and growing with s, because log(r g) is convex in s
    v          right singular vector, the start of the next evaluation nearby
"""

import math

import numba
import numpy as np
from numpy import ndarray

from resolvent.operators._resolvent_norm import (
    column_share,
    interval_bound,
    numerical_abscissa,
    sag,
    scaled_resolvent_norm,
    weighted_end,
)
from resolvent.operators._triangular import killed_chain

EVALUATION_BUDGET = 500
GAP = 8e-7  # of log K between the two bounds; leaves room below the 1e-6 promised
POINT_GAP = 1e-7  # of log F at the points that carry the maximum
POINT_LOOSE = 2.5e-7  # the same at the other points, unless they are well below
CLIMBING_GAP = 1e-4  # on the way to the maximum, where only a slope is needed
FIRST_GAP = 1e-3
CLIMBED = 0.5  # a point is on a slope while its parabola promises half of this times GAP more
MOST_CLIMBING_STEPS = 24
SMALLEST_X = 1e-295  # stands for x → 0+
ABSORBING_BELOW = 1e-285  # a smaller leak counts as none: the reciprocals of x + leak must stay finite
FIRST_NEWTON_GAP = 1e-2  # a first guess needs no more
NEWTON_GAP = 2e-7  # of log g at the root; the Rayleigh quotient itself is far closer
LAST_NEWTON_STEP = 2e-5  # the next one is far smaller, if convergence is quadratic by now:
NEXT_NEWTON_STEP = 1e-10  # what moved³ / before² has to fall below
MOST_NEWTON_STEPS = 80


@numba.njit(cache=True, nogil=True)
def _insert(
    points: ndarray, vectors: ndarray, count: int, x: float, low: float, high: float, slope: float, v: ndarray
) -> int:
    """Put a point in its place; returns its index. Row 4 of `points` holds the interval bound right of the point."""
    k = count
    while k > 0 and points[k - 1, 0] > x:
        for field in range(6):
            points[k, field] = points[k - 1, field]
        k -= 1
    points[k, 0] = x
    points[k, 1] = low
    points[k, 2] = high
    points[k, 3] = slope
    points[k, 4] = points[k - 1, 4] if k > 0 else np.inf
    points[k, 5] = count  # which row of `vectors`
    for i in range(v.size):
        vectors[count, i] = v[i]
    return k


@numba.njit(cache=True, nogil=True)
def _start(points: ndarray, vectors: ndarray, count: int, x: float, v: ndarray) -> None:
    """A starting vector at x: the polynomial in log x through the vectors of the (at most three) nearest points.

    Where it falls below a tenth of the nearest vector, a tenth of that: any positive start will do.
    """
    n = v.size
    if count == 0:
        return  # v holds the vector of the numerical abscissa
    k = 0
    while k < count and points[k, 0] < x:
        k += 1
    low = k  # the points low..high − 1 are nearest
    high = k
    while high - low < 3 and (low > 0 or high < count):
        if high == count or (low > 0 and x / points[low - 1, 0] < points[high, 0] / x):
            low -= 1
        else:
            high += 1
    nearest = low
    for a in range(low, high):
        if abs(math.log(points[a, 0] / x)) < abs(math.log(points[nearest, 0] / x)):
            nearest = a
    row = int(points[nearest, 5])
    for i in range(n):
        v[i] = 0.0
    for a in range(low, high):
        weight = 1.0
        for b in range(low, high):
            if b != a:
                weight *= math.log(x / points[b, 0]) / math.log(points[a, 0] / points[b, 0])
        other = int(points[a, 5])
        for i in range(n):
            v[i] += weight * vectors[other, i]
    for i in range(n):
        v[i] = max(v[i], 0.1 * vectors[row, i])


@numba.njit(cache=True, nogil=True)
def _chord(x1: float, log_f1: float, x2: float, log_f2: float) -> tuple[float, float]:
    """Upper bound on log F over [x1, x2] from upper bounds at its ends, and the x where the bound is attained.

    log(r g) lies below its chord in s; the chord's slope m and log((r − 1)/r) add up to a concave function of s,
    largest at x = 1/m.
    """
    width = math.log1p(x2) - math.log1p(x1)
    f1 = log_f1 - math.log(x1) + math.log1p(x1)
    f2 = log_f2 - math.log(x2) + math.log1p(x2)
    m = (f1 - f2) / width
    top = x2 if m * x2 <= 1.0 else 1.0 / m
    top = max(top, x1)
    share = (math.log1p(top) - math.log1p(x1)) / width
    return f1 + share * (f2 - f1) + math.log(top) - math.log1p(top), top


@numba.njit(cache=True, nogil=True)
def _evaluate(
    chain: ndarray,
    leak: ndarray,
    points: ndarray,
    vectors: ndarray,
    count: int,
    x: float,
    gap: float,
    low_enough: float,
    work: ndarray,
) -> int:
    """Evaluate at x and insert; returns the index."""
    v, u, z, inverse = work[0], work[1], work[2], work[3]
    _start(points, vectors, count, x, v)
    low, high, alignment, _ = scaled_resolvent_norm(chain, leak, x, x, gap, low_enough, v, u, z, inverse)
    slope = (1.0 + x) / x * math.exp(low) * alignment - 1.0
    return _insert(points, vectors, count, x, low, high, slope, v)


@numba.njit(cache=True, nogil=True)
def _tighten(
    chain: ndarray,
    leak: ndarray,
    points: ndarray,
    vectors: ndarray,
    k: int,
    gap: float,
    low_enough: float,
    work: ndarray,
) -> None:
    """Go on with the power iteration of point k, in place, until its gap is smaller."""
    v, u, z, inverse = work[0], work[1], work[2], work[3]
    x = points[k, 0]
    row = int(points[k, 5])
    for i in range(v.size):
        v[i] = vectors[row, i]
    low, high, alignment, _ = scaled_resolvent_norm(chain, leak, x, x, gap, low_enough, v, u, z, inverse)
    points[k, 1] = max(low, points[k, 1])
    points[k, 2] = min(high, points[k, 2])
    points[k, 3] = (1.0 + x) / x * math.exp(low) * alignment - 1.0
    for i in range(v.size):
        vectors[row, i] = v[i]


@numba.njit(cache=True, nogil=True)
def _rise(points: ndarray, k: int) -> float:
    """d log F / d log x at point k: 1 − F uᵀv, from the stored slope."""
    x = points[k, 0]
    return 1.0 - x / (1.0 + x) * (points[k, 3] + 1.0)


@numba.njit(cache=True, nogil=True)
def _model_top(c: float, delta: float) -> float:
    """The x that maximises x √(c²/r² + 1)/(x + delta): F of [[0, 0], [c, 1 − delta]] but for one small entry."""
    low = -20.0
    high = 1.2  # without a maximum in the model start here: real ones lie further left, but for K next to 1
    for _ in range(26):
        middle = 0.5 * (low + high)
        x = math.exp(middle)
        if _model_fall(c, x) + x / (x + delta) < 1.0:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


@numba.njit(cache=True, nogil=True)
def _model_fall(c: float, x: float) -> float:
    """−d log √(c²/r² + 1) / d log x."""
    r = 1.0 + x
    return x * c * c / (r * (c * c + r * r))


@numba.njit(cache=True, nogil=True)
def _two_state_model(chain: ndarray, leak: ndarray) -> tuple[float, float]:
    """(c, δ) of the killed chain seen as one surviving state: c = ‖B·1‖ and 1 − δ = ‖B²·1‖ / ‖B·1‖."""
    n = leak.size
    first = 0.0
    second = 0.0
    for i in range(1, n):
        s = chain[i, i] * chain[i, 0]
        for j in range(1, i):
            s += chain[i, j] * chain[j, 0]
        first += chain[i, 0] * chain[i, 0]
        second += s * s
    if first == 0.0:
        return 0.0, 1.0
    return math.sqrt(first), max(1.0 - math.sqrt(second / first), 1e-8)


@numba.njit(cache=True, nogil=True)
def _climb(chain: ndarray, leak: ndarray, points: ndarray, vectors: ndarray, work: ndarray) -> int:
    """Find a local maximum of log F by a bracketed secant iteration on its derivative in t = log x; returns the count.

    The first two points come from the two-state model, the second with δ fitted to the slope found at the first.
    """
    c, delta = _two_state_model(chain, leak)
    x = _model_top(c, delta)
    left = -np.inf  # t where log F still rises
    right = np.inf  # t where it falls
    before_t = np.nan
    before_rise = np.nan
    gap = FIRST_GAP
    for count in range(1, MOST_CLIMBING_STEPS + 1):
        k = _evaluate(chain, leak, points, vectors, count - 1, x, gap, -np.inf, work)
        t = math.log(x)
        rise = _rise(points, k)
        if rise > 0.0:
            left = max(left, t)
        else:
            right = min(right, t)
        curvature = 0.25
        if count > 1 and t != before_t:
            curvature = (before_rise - rise) / (t - before_t)
        if rise * rise <= 0.2 * POINT_GAP * abs(curvature) or abs(t - before_t) < 1e-7:
            break
        if count == 1:
            share = 1.0 - rise - _model_fall(c, x)
            if 0.0 < share < 1.0:
                target = math.log(_model_top(c, x * (1.0 - share) / share))
            else:
                target = t + (1.0 if rise > 0.0 else -1.0)
        else:
            target = t + rise / curvature if curvature > 0.0 else (t + 2.0 if rise > 0.0 else t - 2.0)
        target = min(max(target, t - 2.0), t + 2.0)
        if not left < target < right:
            bracketed = left > -np.inf and right < np.inf
            target = 0.5 * (left + right) if bracketed else t + (1.0 if rise > 0.0 else -1.0)
        if target > 14.0 or target < -28.0:
            break
        gap = POINT_GAP if abs(target - t) < 0.05 else CLIMBING_GAP
        before_t, before_rise = t, rise
        x = math.exp(target)
    return count


@numba.njit(cache=True, nogil=True)
def _fast_share(chain: ndarray, leak: ndarray, x1: float, x: float, v: ndarray) -> float:
    """d log‖S C‖ / d sag at C = 1: how much of the top pair at x sits on fast columns."""
    r = 1.0 + x
    total = 0.0
    square = 0.0
    for b in range(1, leak.size):
        total += column_share(x1, leak[b]) * v[b] * (v[b] + chain[b, 0] * v[0] / r)
        square += v[b] * v[b]
    return total / (square + v[0] * v[0])


@numba.njit(cache=True, nogil=True)
def _pieces(near: float, far: float, ratio: float) -> float:
    """Where to cut the stretch from `near` to `far`, distances from the peak in t, into pieces of growing width."""
    pieces = max(math.ceil(math.log(far / near) / math.log(ratio)), 2.0)
    return near * (far / near) ** (1.0 / pieces)


@numba.njit(cache=True, nogil=True)
def _cut(
    chain: ndarray, leak: ndarray, points: ndarray, vectors: ndarray, count: int, k: int, best_k: int, top: float
) -> float:
    """The x at which to cut the open interval k: wide where the bound has room, narrow next to the peak."""
    x1 = points[k, 0]
    x2 = points[k + 1, 0]
    t1 = math.log(x1)
    t2 = math.log(x2)
    width = t2 - t1
    if best_k < 0 or (k != best_k and k + 1 != best_k and _rise(points, k) > 0.0 and _rise(points, k + 1) < 0.0):
        return min(max(top, x1 * math.exp(0.05 * width)), x2 * math.exp(-0.05 * width))
    x = points[best_k, 0]
    t = math.log(x)
    # Curvatures at the peak, in t: of log F (fall), of log(r g) (chords), of the weighted bound (fast).
    a = max(best_k - 1, 0)
    b = min(best_k + 1, count - 1)
    span = math.log(points[b, 0] / points[a, 0])
    fall = max((_rise(points, a) - _rise(points, b)) / span, 1e-12)
    bend = max((points[a, 3] - points[b, 3]) * x / (1.0 + x) / span, 1e-12)
    row = int(points[best_k, 5])
    fast = max(_fast_share(chain, leak, x, x, vectors[row]), 1e-12)
    if k == best_k or k + 1 == best_k:
        rise = _rise(points, best_k)
        inwards = (rise > 0.0) == (k == best_k)
        if inwards and rise * rise > CLIMBED * GAP * fall:  # a slope, not the peak: go up, far if it is straight
            step = min(max(abs(rise) / fall, 0.02 * width), 0.5 * width)
            return x1 * math.exp(step) if k == best_k else x2 * math.exp(-step)
        step = max(min(math.sqrt(5.6 * GAP / min(bend, fast)), 0.5 * width), 1e-4 * width)
        return x1 * math.exp(step) if k == best_k else x2 * math.exp(-step)
    rho = fall / bend
    ratio = max(1.5, 0.9 * (1.0 + 2.0 * rho + 2.0 * math.sqrt(rho * rho + rho)), 0.9 + 1.8 * math.sqrt(fall / fast))
    if x < x1:
        return x * math.exp(_pieces(t1 - t, t2 - t, ratio))
    return x * math.exp(-_pieces(t - t2, t - t1, ratio))


@numba.njit(cache=True, nogil=True)
def kreiss_search(
    chain: ndarray, leak: ndarray, omega: float, budget: int, points: ndarray, vectors: ndarray, work: ndarray
) -> tuple[float, float, float, int, int]:
    """Certify K: (log lower, log upper, x where the lower bound is attained, evaluations, number of points).

    `omega` is an upper bound on the numerical abscissa; x = inf stands for K = 1 at infinity. work is 6 × n.
    """
    n = leak.size
    if n == 1 or omega <= 1.0:
        return 0.0, 0.0, np.inf, 0, 0
    v, u, z, inverse, weight, border = work[0], work[1], work[2], work[3], work[4], work[5]
    count = _climb(chain, leak, points, vectors, work)
    evaluations = count
    least = leak.min()
    slowest = np.inf  # the smallest leak above 0; nothing changes far below it
    for i in range(n):
        if leak[i] > 0.0:
            slowest = min(slowest, leak[i])
    limit = -np.inf  # log F as x → 0+
    if least == 0.0:
        row = int(points[0, 5])
        for i in range(n):
            v[i] = vectors[row, i]
        limit = scaled_resolvent_norm(chain, leak, SMALLEST_X, SMALLEST_X, POINT_GAP, -np.inf, v, u, z, inverse)[0]
        evaluations += 1
    left_end = np.inf  # bound on log F for x below the first point
    left_tries = 0

    while True:
        best = 0.0
        at = np.inf
        best_k = -1
        for k in range(count):
            if points[k, 1] > best:
                best = points[k, 1]
                at = points[k, 0]
                best_k = k
        if limit >= best:
            best = limit
            at = 0.0
        enough = best + GAP
        if evaluations < budget and best_k >= 0 and points[best_k, 2] > enough - 0.8 * GAP:
            before = points[best_k, 2]
            _tighten(chain, leak, points, vectors, best_k, POINT_GAP, -np.inf, work)
            evaluations += 1
            if points[best_k, 2] < before:
                continue

        # The interval with the largest bound: −1 is (0, first], count − 1 is [last, ∞).
        worst = -1
        worst_bound = left_end
        top = 0.0
        for k in range(count - 1):
            bound, where = _chord(points[k, 0], points[k, 2], points[k + 1, 0], points[k + 1, 2])
            bound = min(bound, points[k, 4])
            if bound > worst_bound:
                worst, worst_bound, top = k, bound, where
        last = points[count - 1, 0]
        tail = np.inf
        if 1.0 + last > omega:
            tail = max(math.log(last / (1.0 + last - omega)), 0.0)
        if tail > worst_bound:
            worst, worst_bound = count - 1, tail
        if worst_bound <= enough or evaluations >= budget:
            ceiling = 0.5 * math.log(2.0 * (n - 1.0))
            return best, max(min(worst_bound, ceiling), best), at, evaluations, count

        if worst == -1:
            first = points[0, 0]
            if left_tries > 0 or first < 0.2 * at:
                row = int(points[0, 5])
                for i in range(n):
                    v[i] = vectors[row, i]
                left_end, _ = interval_bound(chain, leak, SMALLEST_X, first, enough, v, u, z, inverse, weight, border)
                evaluations += 1
                if left_end <= enough:
                    continue
            excess = left_end - enough
            left_tries += 1
            if left_end == np.inf:
                x = 0.06 * first
            elif left_tries == 4 and slowest < first:
                x = 0.1 * slowest
            elif least == 0.0:
                x = first * max(0.7 * (enough - limit) / (left_end - limit), 1e-8)
            else:
                x = first * math.exp(-max(1.5, min(1.3 * excess, 8.0)))
            _evaluate(chain, leak, points, vectors, count, x, POINT_LOOSE, best, work)
            points[0, 4] = np.inf
            left_end = np.inf
            count += 1
            evaluations += 1
            continue
        if worst == count - 1:
            x = 1e3 * last
            if best > 0.0:
                x = min(max(2.0 * last, (omega - 1.0) * (1.0 + 1.02 / math.expm1(best))), x)
            _evaluate(chain, leak, points, vectors, count, x, POINT_LOOSE, best, work)
            points[count - 1, 4] = np.inf
            count += 1
            evaluations += 1
            continue

        # An end whose own upper bound is loose keeps every interval next to it open: tighten before cutting.
        loose = worst
        if points[worst + 1, 2] - points[worst + 1, 1] > points[worst, 2] - points[worst, 1]:
            loose = worst + 1
        before = points[loose, 2]
        if before - points[loose, 1] > max(0.3 * GAP, 0.15 * (best - points[loose, 1])):
            _tighten(chain, leak, points, vectors, loose, 0.1 * GAP, best, work)
            evaluations += 1
            if points[loose, 2] < before:
                continue

        if points[worst, 4] == np.inf:
            points[worst, 4] = _plateau_bound(chain, leak, points, vectors, worst, enough, work)
            if points[worst, 4] < np.inf:
                evaluations += 2
                if points[worst, 4] <= enough:
                    continue
        x = _cut(chain, leak, points, vectors, count, worst, best_k, top)
        k = _evaluate(chain, leak, points, vectors, count, x, POINT_LOOSE, best, work)
        points[k, 4] = np.inf
        points[k - 1, 4] = np.inf
        count += 1
        evaluations += 1


@numba.njit(cache=True, nogil=True)
def _plateau_bound(
    chain: ndarray, leak: ndarray, points: ndarray, vectors: ndarray, k: int, enough: float, work: ndarray
) -> float:
    """A bound on log F over interval k that is not its chord's; inf where none is likely to reach `enough`."""
    v, u, z, inverse, weight, border = work[0], work[1], work[2], work[3], work[4], work[5]
    n = leak.size
    x1 = points[k, 0]
    x2 = points[k + 1, 0]
    bend = sag(x1, x2)
    hopeful = True
    for end in (k, k + 1):
        row = int(points[end, 5])
        fast = _fast_share(chain, leak, x1, points[end, 0], vectors[row])
        hopeful = hopeful and points[end, 1] + fast * bend < enough
    if hopeful:
        bound = -np.inf
        for end in (k, k + 1):
            row = int(points[end, 5])
            for i in range(n):
                v[i] = vectors[row, i]
            end_bound, _ = weighted_end(chain, leak, x1, x2, points[end, 0], enough, v, u, z, inverse, weight)
            bound = max(bound, end_bound)
            if bound > enough:
                break
        return bound
    drift = 0.5 * math.log(x2 / x1) * (abs(_rise(points, k)) + abs(_rise(points, k + 1)))
    if max(points[k, 1], points[k + 1, 1]) + drift <= enough:
        row = int(points[k, 5])
        for i in range(n):
            v[i] = vectors[row, i]
        return interval_bound(chain, leak, x1, x2, enough, v, u, z, inverse, weight, border)[0]
    return np.inf


@numba.njit(cache=True, nogil=True)
def pseudospectral_radius_search(
    chain: ndarray, leak: ndarray, epsilon: float, omega: float, y: float, v: ndarray, work: ndarray
) -> tuple[float, float, int]:
    """log(ρ_ε − ρ), the y with ε ‖(rI − N)^{-1}‖ = 1 at r = ρ + e^y: (y, −d log g / dy there, evaluations).

    ρ_ε lies in [ρ + ε, ω + ε]. Newton on log(ε g) in y, where g falls like a power; a step that leaves the bracket is
    replaced by its middle. `y` is the first guess and v its starting vector; v receives the last one. `omega` is an
    upper bound on the numerical abscissa.
    """
    u, z, inverse = work[1], work[2], work[3]
    least = leak.min()  # 1 − ρ
    left = math.log(epsilon)
    right = max(math.log(max(omega - 1.0 + least, 0.0) + epsilon), left)
    y = min(max(y, left), right)
    gap = FIRST_NEWTON_GAP
    fall = 1.0
    moved = 1.0
    evaluations = 0
    while evaluations < MOST_NEWTON_STEPS:
        evaluations += 1
        # At y = log ε the sum ε − least keeps digits that exp(log ε) loses.
        x = epsilon - least if y == left else math.exp(y) - least
        log_g, _, alignment, _ = scaled_resolvent_norm(chain, leak, x, epsilon, gap, -np.inf, v, u, z, inverse)
        if log_g == np.inf:
            left = y
            y = 0.5 * (left + right)
            continue
        fall = math.exp(y + log_g) / epsilon * alignment
        step = log_g / fall if fall > 0.0 else np.inf
        if log_g >= 0.0:
            left = max(left, y)
        elif gap == NEWTON_GAP:
            right = min(right, y)
        target = y + step
        if not left <= target <= right:
            target = min(max(target, left), right) if right - left < 1e-6 else 0.5 * (left + right)
        before, moved = moved, abs(target - y)
        y = target
        quadratic = moved <= LAST_NEWTON_STEP and moved**3 <= NEXT_NEWTON_STEP * before**2
        if gap == NEWTON_GAP and (quadratic or moved <= NEXT_NEWTON_STEP or right - left <= 1e-12):
            break
        gap = NEWTON_GAP
    return y, fall, evaluations


@numba.njit(cache=True, nogil=True)
def _first_guess(points: ndarray, vectors: ndarray, count: int, least: float, log_g: float, v: ndarray) -> float:
    """y = log(r − ρ) where log g is expected to have the value asked for, from evaluated points; v its start."""
    n = v.size
    k = 0
    while k < count and points[k, 1] - math.log(points[k, 0]) > log_g:
        k += 1
    near = min(k, count - 1)
    near_row = int(points[near, 5])
    if 0 < k < count:
        before = points[k - 1, 1] - math.log(points[k - 1, 0])
        after = points[k, 1] - math.log(points[k, 0])
        share = (before - log_g) / max(before - after, 1e-300)
        left = int(points[k - 1, 5])
        for i in range(n):
            v[i] = (1.0 - share) * vectors[left, i] + share * vectors[near_row, i]
        return (1.0 - share) * math.log(points[k - 1, 0] + least) + share * math.log(points[k, 0] + least)
    for i in range(n):
        v[i] = vectors[near_row, i]
    x = points[near, 0]
    fall = (x + least) * (points[near, 3] + 1.0) / (1.0 + x)
    return math.log(x + least) + (points[near, 1] - math.log(x) - log_g) / max(fall, 1e-3)


@numba.njit(cache=True, nogil=True)
def real_axis_kernel(
    A: ndarray,
    kreiss_wanted: bool,
    epsilons: ndarray,
    budget: int,
    chain: ndarray,
    leak: ndarray,
    points: ndarray,
    vectors: ndarray,
    work: ndarray,
    radii: ndarray,
) -> tuple[float, float, float, int]:
    """K and every ρ_ε of one matrix: (lower, upper, r at the maximum, evaluations of K); ρ_ε go to `radii`.

    `epsilons` fall from the largest. Work space as `axis_work_space` makes it for the same budget.
    """
    n = A.shape[0]
    if n == 1:
        for e in range(epsilons.size):
            radii[e] = epsilons[e]
        return 1.0, 1.0, np.inf, 0
    killed_chain(A, chain, leak)
    for i in range(n):
        if leak[i] < ABSORBING_BELOW:
            leak[i] = 0.0
            chain[i, 1:i] = 0.0
    _, omega = numerical_abscissa(chain, 1.0, work[0], work[1])
    low = 0.0
    high = 0.0
    at = np.inf
    evaluations = 0
    count = 0
    if kreiss_wanted:
        low, high, at, evaluations, count = kreiss_search(chain, leak, omega, budget, points, vectors, work)
    least = leak.min()
    v = work[0]
    y = math.log(max(omega - 1.0 + least, 0.0) + epsilons[0]) if epsilons.size > 0 else 0.0
    fall = 1.0
    for e in range(epsilons.size):
        epsilon = epsilons[e]
        if count > 0 and points[count - 1, 1] - math.log(points[count - 1, 0]) < -math.log(epsilon):
            if e == 0 or points[0, 1] - math.log(points[0, 0]) > -math.log(epsilon):
                y = _first_guess(points, vectors, count, least, -math.log(epsilon), v)
            else:
                y -= math.log(epsilons[e - 1] / epsilon) / max(fall, 1e-3)
        elif e > 0:
            y -= math.log(epsilons[e - 1] / epsilon) / max(fall, 1e-3)
        y, fall, _ = pseudospectral_radius_search(chain, leak, epsilon, omega, y, v, work)
        radii[e] = 1.0 + (math.exp(y) - least)
    return math.exp(low), math.exp(high), 1.0 + at, evaluations


def evaluate_axis(
    A: ndarray, kreiss_wanted: bool, epsilons: tuple[float, ...], *, budget: int = EVALUATION_BUDGET
) -> tuple[float, float, float, int, ndarray]:
    """`real_axis_kernel` with work space of its own: (lower, upper, at, evaluations, radii) of one checked matrix."""
    n = A.shape[0]
    radii = np.empty(len(epsilons))
    lower, upper, at, evaluations = real_axis_kernel(
        A, kreiss_wanted, np.array(epsilons, dtype=np.float64), budget, *axis_work_space(n, budget), radii
    )
    return lower, upper, at, evaluations, radii


def axis_work_space(n: int, budget: int) -> tuple[ndarray, ndarray, ndarray, ndarray, ndarray]:
    """(chain, leak, points, vectors, work) for matrices of size n; pages that no search touches cost nothing.

    n × n, n, capacity × 6, capacity × n, 6 × n: every evaluation adds at most one point, and a search climbs before it
    counts.
    """
    capacity = max(budget, 0) + MOST_CLIMBING_STEPS + 2
    return np.empty((n, n)), np.empty(n), np.empty((capacity, 6)), np.empty((capacity, n)), np.empty((6, n))
