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

from resolvent.operators._resolvent_norm import interval_bound, numerical_abscissa, scaled_resolvent_norm
from resolvent.operators._triangular import killed_chain

CAPACITY = 512  # points of one search
EVALUATION_BUDGET = 500
GAP = 8e-7  # of log K between the two bounds; leaves room below the 1e-6 promised
POINT_GAP = 1e-7  # of log F at the points that carry the maximum
SMALLEST_X = 1e-250  # stands for x → 0+
FIRST_NEWTON_GAP = 1e-2  # a first guess needs no more
NEWTON_GAP = 2e-7  # of log g at the root; the Rayleigh quotient itself is far closer
LAST_NEWTON_STEP = 2e-5  # convergence is quadratic: even for ‖·‖ ~ r^-128 the next step would be below 1e-8
MOST_NEWTON_STEPS = 80


@numba.njit(cache=True, nogil=True)
def _insert(points, vectors, count, x, low, high, slope, v):
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
def _start(points, vectors, count, x, v):
    """A starting vector at x: interpolated between the neighbours in log x, or that of the nearest point."""
    n = v.size
    if count == 0:
        for i in range(n):
            v[i] = 1.0
        return
    k = 0
    while k < count and points[k, 0] < x:
        k += 1
    if k == 0 or k == count:
        row = int(points[min(k, count - 1), 5])
        for i in range(n):
            v[i] = vectors[row, i]
        return
    left = int(points[k - 1, 5])
    right = int(points[k, 5])
    share = math.log(x / points[k - 1, 0]) / math.log(points[k, 0] / points[k - 1, 0])
    for i in range(n):
        v[i] = (1.0 - share) * vectors[left, i] + share * vectors[right, i]


@numba.njit(cache=True, nogil=True)
def _chord(x1, log_f1, x2, log_f2):
    """Upper bound on log F over [x1, x2] from upper bounds at its ends, and the x where the bound is attained.

    log(r g) lies below its chord in s; the chord's slope m and log((r − 1)/r) add up to a concave function of s, largest
    at x = 1/m.
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
def _evaluate(chain, leak, points, vectors, count, x, gap, low_enough, work):
    """Evaluate at x and insert; returns the index."""
    v, u, z, inverse = work[0], work[1], work[2], work[3]
    _start(points, vectors, count, x, v)
    low, high, alignment, _ = scaled_resolvent_norm(chain, leak, x, x, gap, low_enough, v, u, z, inverse)
    slope = (1.0 + x) / x * math.exp(low) * alignment - 1.0
    return _insert(points, vectors, count, x, low, high, slope, v)


@numba.njit(cache=True, nogil=True)
def _tighten(chain, leak, points, vectors, k, gap, low_enough, work):
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
def _rise(points, k):
    """d log F / d log x at point k: 1 − F uᵀv, from the stored slope."""
    x = points[k, 0]
    return 1.0 - x / (1.0 + x) * (points[k, 3] + 1.0)


@numba.njit(cache=True, nogil=True)
def _climb(chain, leak, points, vectors, count, budget, work):
    """Find a local maximum of log F in log x by a bracketed secant iteration on its derivative; returns the count.

    Starts from the only point there is. Stops when the next step would gain less than the tolerance of K.
    """
    left = -1.0  # x where log F still rises
    right = -1.0  # x where it falls
    left_rise = 0.0
    right_rise = 0.0
    x = points[0, 0]
    rise = _rise(points, 0)
    step = 1.0
    for _ in range(budget):
        if rise > 0.0:
            left, left_rise = x, rise
        else:
            right, right_rise = x, rise
        if left > 0.0 and right > 0.0:
            width = math.log(right / left)
            share = left_rise / (left_rise - right_rise)
            curvature = (left_rise - right_rise) / width
            if min(left_rise, -right_rise) ** 2 <= 0.2 * POINT_GAP * curvature:
                break
            share = min(max(share, 0.02), 0.98)
            x = left * math.exp(share * width)
        elif left > 0.0:
            if left_rise**2 <= 0.05 * POINT_GAP or x > 1e6:
                break
            x = left * math.exp(step)
            step *= 1.6
        else:
            if right_rise**2 <= 0.05 * POINT_GAP or x < 1e-12:
                break
            x = right * math.exp(-step)
            step *= 1.6
        k = _evaluate(chain, leak, points, vectors, count, x, 1e-4, -np.inf, work)
        count += 1
        rise = _rise(points, k)
    return count


@numba.njit(cache=True, nogil=True)
def kreiss_search(chain, leak, omega, budget, points, vectors, work):
    """Certify K: (log lower, log upper, x where the lower bound is attained, evaluations, number of points).

    `omega` is an upper bound on the numerical abscissa; x = inf stands for K = 1 at infinity. work is 6 × n.
    """
    n = leak.size
    if n == 1 or omega <= 1.0:
        return 0.0, 0.0, np.inf, 0, 0
    v, u, z, inverse, weight, border = work[0], work[1], work[2], work[3], work[4], work[5]

    for i in range(n):
        v[i] = 1.0
    x = 0.5
    count = 0
    _evaluate(chain, leak, points, vectors, count, x, 1e-3, -np.inf, work)
    count = 1
    count = _climb(chain, leak, points, vectors, count, 30, work)
    evaluations = count
    left_end = np.inf  # bound on log F for x below the first point

    while True:
        best = 0.0
        at = np.inf
        best_k = -1
        for k in range(count):
            if points[k, 1] > best:
                best = points[k, 1]
                at = points[k, 0]
                best_k = k
        enough = best + GAP
        if evaluations < budget and best_k >= 0 and points[best_k, 2] - points[best_k, 1] > 1.5 * POINT_GAP:
            # The peak itself was found with a loose tolerance: tighten it in place.
            _tighten(chain, leak, points, vectors, best_k, POINT_GAP, -np.inf, work)
            evaluations += 1
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
        upper = max(worst_bound, best)
        if best_k >= 0:
            upper = max(upper, points[best_k, 2])
        if worst_bound <= enough or evaluations >= budget or count >= CAPACITY - 1:
            return best, upper, at, evaluations, count

        if worst == -1:
            first = points[0, 0]
            row = int(points[0, 5])
            for i in range(n):
                v[i] = vectors[row, i]
            bound, _ = interval_bound(chain, leak, SMALLEST_X, first, enough, v, u, z, inverse, weight, border)
            evaluations += 1
            left_end = bound
            if bound > enough:
                x = first * 0.05
                k = _evaluate(chain, leak, points, vectors, count, x, 0.3 * GAP, best, work)
                count += 1
                evaluations += 1
                points[0, 4] = np.inf
                left_end = np.inf
            continue
        if worst == count - 1:
            x = 10.0 * last
            if best > 0.0:
                x = max(x, omega - 1.0 + 1.1 * (omega - 1.0) / math.expm1(best))
            x = min(x, 1e4 * last)
            _evaluate(chain, leak, points, vectors, count, x, 0.3 * GAP, best, work)
            points[count - 1, 4] = np.inf
            count += 1
            evaluations += 1
            continue

        # An end whose own upper bound is loose keeps every interval next to it open: tighten before splitting.
        loose = worst
        for k in (worst, worst + 1):
            if points[k, 2] - points[k, 1] > points[loose, 2] - points[loose, 1]:
                loose = k
        if points[loose, 2] - points[loose, 1] > max(0.3 * GAP, 0.15 * (best - points[loose, 1])):
            _tighten(chain, leak, points, vectors, loose, 0.1 * GAP, best, work)
            evaluations += 1
            continue
        x1 = points[worst, 0]
        x2 = points[worst + 1, 0]
        width = math.log(x2 / x1)
        drift = 0.5 * width * (abs(_rise(points, worst)) + abs(_rise(points, worst + 1)))
        if points[worst, 4] == np.inf and max(points[worst, 1], points[worst + 1, 1]) + drift <= enough:
            row = int(points[worst, 5])
            for i in range(n):
                v[i] = vectors[row, i]
            bound, _ = interval_bound(chain, leak, x1, x2, enough, v, u, z, inverse, weight, border)
            evaluations += 1
            points[worst, 4] = bound
            if bound <= enough:
                continue
        # Curvature of log(r g) over the interval says how wide the chord next to the maximum may be.
        if worst == best_k or worst + 1 == best_k:
            span = math.log1p(x2) - math.log1p(x1)
            bend = max(points[worst, 3] - points[worst + 1, 3], 1e-300)
            share = math.sqrt(6.0 * GAP / (bend * span))
            share = min(max(share, 1e-4), 0.5)
            x = x1 * math.exp(share * width) if worst == best_k else x2 * math.exp(-share * width)
        elif _rise(points, worst) > 0.0 and _rise(points, worst + 1) < 0.0:
            x = min(max(top, x1 * math.exp(0.05 * width)), x2 * math.exp(-0.05 * width))
        elif at < x1:
            near = math.log(x1 / at)
            x = at * math.exp(math.sqrt(near * (near + width)))
        else:
            near = math.log(at / x2)
            x = at * math.exp(-math.sqrt(near * (near + width)))
        before = points[worst, 4]
        k = _evaluate(chain, leak, points, vectors, count, x, 0.3 * GAP, best, work)
        points[k, 4] = before if before <= enough else np.inf
        if before > enough:
            points[worst, 4] = np.inf
        count += 1
        evaluations += 1


@numba.njit(cache=True, nogil=True)
def pseudospectral_radius_search(chain, leak, epsilon, omega, y, v, work):
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
    for evaluations in range(1, MOST_NEWTON_STEPS + 1):
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
        moved = abs(target - y)
        y = target
        if gap == NEWTON_GAP and (moved <= LAST_NEWTON_STEP or right - left <= 1e-12):
            break
        gap = NEWTON_GAP
    return y, fall, evaluations


@numba.njit(cache=True, nogil=True)
def _first_guess(points, vectors, count, least, log_g, v):
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
def real_axis_kernel(A, kreiss_wanted, epsilons, budget, chain, leak, points, vectors, work, radii):
    """K and every ρ_ε of one matrix: (lower, upper, r at the maximum, evaluations of K); ρ_ε go to `radii`.

    `epsilons` fall from the largest. Work space: chain n × n, leak n, points CAPACITY × 6, vectors CAPACITY × n,
    work 6 × n.
    """
    n = A.shape[0]
    if n == 1:
        for e in range(epsilons.size):
            radii[e] = epsilons[e]
        return 1.0, 1.0, np.inf, 0
    killed_chain(A, chain, leak)
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


def evaluate_axis(A, kreiss_wanted, epsilons, *, budget=EVALUATION_BUDGET):
    """`real_axis_kernel` with work space of its own: (lower, upper, at, evaluations, radii) of one checked matrix."""
    n = A.shape[0]
    radii = np.empty(len(epsilons))
    lower, upper, at, evaluations = real_axis_kernel(
        A, kreiss_wanted, np.array(epsilons, dtype=np.float64), budget, *axis_work_space(n), radii
    )
    return lower, upper, at, evaluations, radii


def axis_work_space(n):
    """(chain, leak, points, vectors, work) for matrices of size n; pages that no search touches cost nothing."""
    return np.empty((n, n)), np.empty(n), np.empty((CAPACITY, 6)), np.empty((CAPACITY, n)), np.empty((6, n))
