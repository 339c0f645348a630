"""Transient growth of A_dev: its largest power norm, single power norms, and survival.

All of them are read off the killed chain: ‖A_dev^k‖ = ‖[B^k·1, B^k]‖, and what follows uses x_k = B^k·1 (never
increasing in k), s_k = ‖x_k‖ and the hitting probabilities H. The supremum is searched in three stages; each prunes
powers by bounds that hold for *all* powers of a range:

1. vectors: x_k and 1ᵀB^k by matrix–vector products. Settles most trained heads in a few steps.
2. squares B^(2^i), until a bound for all later powers falls below the largest norm found.
3. branch and bound between squares. Over [k, k+d] a norm is at most the larger of its two ends plus d²/8 times the
   largest second difference; every second difference there is N^k (N−I)² times a power, whose Frobenius norm is at
   most √2 times the norm of the row sums of |B^k (I−B)²|. Where rounding hides it, what an entry can be at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numba import njit
from numpy import ndarray

from resolvent.errors import ResolventError
from resolvent.operators import _killed_chain as chain
from resolvent.operators.causal import check_causal_stochastic, check_one_matrix

# Ranges whose bound is within this of the largest norm found are closed; the bound becomes part of `upper`.
CLOSED = 1e-10
# k_sup is the smallest k whose norm is within this of the supremum.
SAME = 1e-12
# Powers 1, …, 2^VECTOR_SQUARES are looked at one by one.
VECTOR_SQUARES = 3
# Powers among them at which the sharper bound on all later ones is worth its price.
TAIL_STEPS = (3, 6)
# Bisections of stage 3; at n = 128 about 0.3 ms each.
BISECTIONS = 400
# B^(2^i) is stationary to rounding long before this, unless a leak is subnormal.
MOST_SQUARES = 1000
# Its error at least halves with each step where B^m H sums to x, so these reach CLOSED.
COLLATZ_STEPS = 40
# Rounding of one entry of B^k (I−B)², relative to the terms it is a sum of.
ROUNDING = 1e-15


class PowerError(ResolventError):
    """A power that is not a whole number of at least 1."""


@dataclass(frozen=True)
class TransientSupremum:
    """sup_{k≥1} ‖A_dev^k‖₂.

    lower, upper   bounds on the supremum; equal to 1e-9 where a stopping rule fired
    k_sup          the smallest k with ‖A_dev^k‖ ≥ (1 − 1e-12)·lower; infinite where the supremum is only a limit
    """

    lower: float
    upper: float
    k_sup: float


@njit(cache=True, nogil=True)
def _log_stay(a: ndarray, leaks: ndarray) -> ndarray:
    """log a_ii of every state, from the leak where that is the smaller of the two."""
    out = np.empty(leaks.size)
    for i in range(leaks.size):
        if leaks[i] < 0.5:
            out[i] = np.log1p(-leaks[i])
        elif a[i + 1, i + 1] > 0.0:
            out[i] = np.log(a[i + 1, i + 1])
        else:
            out[i] = -np.inf
    return out


@njit(cache=True, nogil=True)
def _square(power: ndarray, dead: ndarray, k: float, log_stay: ndarray) -> tuple[ndarray, ndarray]:
    """B^k and the mass dead by k, from those of k/2, with every row of A^k summing to 1.

    The diagonal is exact and the rest of a row is scaled to what leaves it, so rounding does not grow with k.
    """
    m = dead.size
    out = np.empty((m, m))
    chain.product(power, power, out)
    gone = np.empty(m)
    chain.times(power, dead, gone)
    for i in range(m):
        gone[i] += dead[i]
        left = gone[i]
        for j in range(i):
            left += out[i, j]
        scale = 0.0
        if left > 0.0:
            scale = -np.expm1(k * log_stay[i]) / left
        for j in range(i):
            out[i, j] *= scale
        gone[i] *= scale
        out[i, i] = np.exp(k * log_stay[i])
    return out, gone


@njit(cache=True, nogil=True)
def _digits(squares: list[ndarray], k: float) -> list[ndarray]:
    """The squares whose product is B^k."""
    factors = [squares[0]]
    factors.pop()
    left = k
    for i in range(len(squares) - 1, -1, -1):
        if left >= 2.0**i:
            factors.append(squares[i])
            left -= 2.0**i
    return factors


@njit(cache=True, nogil=True)
def _norm_of_product(factors: list[ndarray], u: ndarray) -> float:
    """‖N^k‖ for B^k = Π factors; u receives the top left vector."""
    m = u.size
    x = np.ones(m)
    spare = np.empty(m)
    for i in range(len(factors) - 1, -1, -1):
        chain.times(factors[i], x, spare)
        x, spare = spare, x
    return chain.extended_norm(factors, x, u)


@njit(cache=True, nogil=True)
def _tail_bound(factors: list[ndarray], moves: ndarray, leaks: ndarray, x: ndarray, wanted: float) -> float:
    """Upper bound on ‖[x, B^m H]‖ ≥ sup_{k≥m} ‖N^k‖, by Collatz–Wielandt; stops once it is ≤ wanted or cannot be."""
    m = x.size
    u = x.copy()
    back = np.empty(m)
    spare = np.empty(m)
    best = np.inf
    for _ in range(COLLATZ_STEPS):
        back[:] = u
        for i in range(len(factors)):
            chain.times_transposed(factors[i], back, spare)
            back, spare = spare, back
        chain.hit_transposed(moves, leaks, back)
        along = chain.dot(x, u, m)
        if along * along + chain.dot(back, back, m) > wanted * wanted * chain.dot(u, u, m):
            return best
        chain.hit(moves, leaks, back)
        for i in range(len(factors) - 1, -1, -1):
            chain.times(factors[i], back, spare)
            back, spare = spare, back
        ratio = 0.0
        largest = 0.0
        for i in range(m):
            image = back[i] + along * x[i]
            if u[i] > 0.0:
                ratio = max(ratio, image / u[i])
            elif image > 0.0:
                ratio = np.inf
            u[i] = image
            largest = max(largest, image)
        best = min(best, np.sqrt(ratio))
        if best <= wanted or largest == 0.0:
            return best
        for i in range(m):
            u[i] /= largest
    return best


@njit(cache=True, nogil=True)
def _squared_generator(moves: ndarray, leaks: ndarray) -> tuple[ndarray, ndarray]:
    """(I−B)² and |I−B|², the size of the terms that its entries are sums of; the diagonal of I−B is the leaks."""
    m = leaks.size
    generator = -moves
    for i in range(m):
        generator[i, i] = leaks[i]
    squared = np.empty((m, m))
    chain.product(generator, generator, squared)
    terms = np.empty((m, m))
    generator = np.abs(generator)
    chain.product(generator, generator, terms)
    return squared, terms


@njit(cache=True, nogil=True)
def _curvature(power: ndarray, generator2: ndarray, sizes: ndarray, work: ndarray) -> tuple[float, float]:
    """Bound on the second differences of N^j, j ≥ k, from B^k, and the share of it that is allowance for rounding.

    `sizes` are the row sums of the terms of (I−B)².
    """
    chain.product(power, generator2, work)
    total = 0.0
    rounding = 0.0
    for i in range(sizes.size):
        lost = ROUNDING * chain.dot(power[i], sizes, i + 1)
        row = lost
        for j in range(i + 1):
            row += abs(work[i, j])
        total += row * row
        rounding += lost * lost
    return np.sqrt(2.0 * total), np.sqrt(2.0 * rounding)


@njit(cache=True, nogil=True)
def _entrywise_bound(
    power: ndarray,
    width: float,
    left: float,
    right: float,
    generator2: ndarray,
    terms: ndarray,
    moves: ndarray,
    leaks: ndarray,
    x: ndarray,
    work: ndarray,
    rounded: ndarray,
) -> float:
    """Bound on ‖N^j‖, k ≤ j ≤ k + width, from B^k, x = B^k·1 and the norms at both ends; where rates lie further apart
    than rounding lets their balance be seen.

    A state that gains at most I a step and keeps 1 − c of what it has never holds more than it does now or I/c, nor
    more than it does now and width·I. From that the largest value of each entry, so two bounds: the norm at k and what
    the entries can gain; the larger end and how far the entries can leave their chords, where an entry counts with
    width²/8 times its second difference if that is less.
    """
    chain.product(power, generator2, work)
    chain.product(power, terms, rounded)
    m = leaks.size
    inflow = np.empty(m)
    gained = 0.0
    bent = 0.0
    for i in range(m):
        inflow[: i + 1] = 0.0
        row = 0.0
        for j in range(i, -1, -1):
            now = power[i, j]
            most = now
            if inflow[j] > 0.0:
                most = min(x[i], now + width * inflow[j])
                if inflow[j] < most * leaks[j]:
                    most = inflow[j] / leaks[j]
                most = max(most, now)
            for b in range(j):
                inflow[b] += most * moves[j, b]
            gained += (most - now) ** 2
            row += min(0.125 * width * width * (abs(work[i, j]) + ROUNDING * rounded[i, j]), most)
        bent += row * row
    return min(left + np.sqrt(gained), max(left, right) + np.sqrt(2.0 * bent))


@njit(cache=True, nogil=True)
def _smallest_above(powers: list[float], norms: list[float], level: float) -> tuple[float, float]:
    """The smallest k looked at whose norm reaches the level, and the largest one below it (0 if none)."""
    first = np.inf
    for i in range(len(powers)):
        if norms[i] >= level:
            first = min(first, powers[i])
    before = 0.0
    for i in range(len(powers)):
        if powers[i] < first:
            before = max(before, powers[i])
    return first, before


@njit(cache=True, nogil=True)
def _climb(
    squares: list[ndarray], start: float, value: float, powers: list[float], norms: list[float]
) -> tuple[float, float]:
    """From a power to the top of its hill by halved steps: the power there and its norm."""
    u = np.empty(squares[0].shape[0])
    k = start
    step = max(1.0, 2.0 ** np.floor(np.log2(start) - 1.0))
    most = 2.0 ** len(squares)
    while step >= 1.0 and k + step != k:
        moved = False
        for sign in (1.0, -1.0):
            trial = k + sign * step
            if trial < 1.0 or trial >= most:
                continue
            norm = _norm_of_product(_digits(squares, trial), u)
            powers.append(trial)
            norms.append(norm)
            if norm > value:
                k, value, moved = trial, norm, True
                break
        if not moved:
            step *= 0.5
    return k, value


@njit(cache=True, nogil=True)
def transient_kernel(a: ndarray, growth_ratio: float) -> tuple[float, float, float]:
    """lower, upper, k_sup of one matrix.

    With growth_ratio > 0 it runs only as far as needed to decide whether k_sup ≥ 2 and the supremum is at least
    growth_ratio · ‖A_dev‖; k_sup is then infinite for yes and 1 for no.
    """
    m = a.shape[0] - 1
    if m == 0:
        return 0.0, 0.0, 1.0
    moves = chain.killed_moves(a)
    x = np.empty(m)
    u = np.empty(m)
    chain.row_sums(moves, x)
    first = chain.extended_norm([moves], x, u)
    if first <= 1.0:
        return first, first * (1.0 + chain.NORM_ACCURACY), 1.0
    deciding = growth_ratio > 0.0
    target = first * max(growth_ratio, 1.0 + 2.0 * SAME) if deciding else 0.0
    best = first
    upper = first * (1.0 + chain.NORM_ACCURACY)
    powers = [1.0]
    norms = [first]

    # Stage 1
    columns = np.ones(m)
    spare = np.empty(m)
    leaks = np.empty(0)
    factors = [moves]
    settled = False
    shrinking = False
    vector_powers = 2**VECTOR_SQUARES
    for step in range(2, vector_powers + 1):
        chain.times(moves, x, spare)
        x, spare = spare, x
        s = chain.length(x)
        closed = max(target, best)
        if np.sqrt(2.0) * s <= closed:
            settled = True
            break
        if leaks.size == 0:
            leaks = chain.killed_leaks(a)
            chain.times_transposed(moves, columns, spare)
            columns, spare = spare, columns
            shrinking = columns.max() <= 1.0  # then no column sum of a later power is larger than now
        chain.times_transposed(moves, columns, spare)
        columns, spare = spare, columns
        spare[:] = columns
        if not shrinking:
            chain.hit_transposed(moves, leaks, spare)
        if np.sqrt(s * s + x.max() * spare.max()) <= closed:
            settled = True
            break
        factors.append(moves)
        if step == vector_powers:
            break
        if step in TAIL_STEPS:
            bound = _tail_bound(factors, moves, leaks, x, closed)
            if bound <= closed:
                settled = True
                break
        if np.sqrt(s * s + x.max() * columns.max()) > closed:
            if deciding:
                if chain.norm_reaches(factors, x, u, target):
                    return target, np.inf, np.inf
                continue
            norm = chain.extended_norm(factors, x, u)
            powers.append(float(step))
            norms.append(norm)
            best = max(best, norm)
            upper = max(upper, norm * (1.0 + chain.NORM_ACCURACY))
            if norm <= 1.0:
                settled = True
                break
    if settled and deciding:
        return best, target, 1.0
    if settled:
        return best, upper, _smallest_above(powers, norms, (1.0 - SAME) * best)[0]

    # Stage 2
    limit = 0.0
    if leaks.min() == 0.0:
        limit = _norm_of_product([chain.limit_power(moves, leaks)], u)
    if deciding and limit >= target:
        return limit, np.inf, np.inf
    supremum = max(best, limit)
    log_stay = _log_stay(a, leaks)
    squares = [moves]
    square_norms = [first]
    dead = a[1:, 0].copy()
    k_square = 1.0
    best_k = 1.0
    for i in range(len(powers)):
        if norms[i] == best:
            best_k = powers[i]
            break
    last = 0
    for i in range(1, MOST_SQUARES):
        k_square *= 2.0
        square, dead = _square(squares[i - 1], dead, k_square, log_stay)
        squares.append(square)
        chain.row_sums(square, x)
        norm = chain.extended_norm([square], x, u)
        square_norms.append(norm)
        powers.append(k_square)
        norms.append(norm)
        if norm > best:
            best, best_k = norm, k_square
            supremum = max(best, limit)
            if deciding and best >= target:
                return best, np.inf, np.inf
        if i < VECTOR_SQUARES:
            continue
        last = i
        closed = max(target, supremum * (1.0 + CLOSED))
        bound = min(np.sqrt(2.0) * chain.length(x), _tail_bound([square], moves, leaks, x, closed))
        if norm <= 1.0:
            bound = 0.0
        if bound <= closed:
            upper = max(upper, bound)
            break
        if i == MOST_SQUARES - 1:
            upper = max(upper, bound)
    if best_k > vector_powers / 2 and not deciding:
        best_k, best = _climb(squares, best_k, best, powers, norms)
        supremum = max(best, limit)

    # Stage 3
    generator2, terms = _squared_generator(moves, leaks)
    sizes = np.empty(m)
    chain.row_sums(terms, sizes)
    work = np.empty((m, m))
    rounded = np.empty((0, 0))
    bisections = 0
    for i in range(VECTOR_SQUARES, last):
        curvature, rounding = _curvature(squares[i], generator2, sizes, work)
        nodes = [(2.0**i, 2.0**i, square_norms[i], square_norms[i + 1], curvature, rounding, 0, 0)]
        slots = [squares[i]]
        while len(nodes) > 0:
            k, width, left, right, curvature, rounding, slot, depth = nodes.pop()
            closed = max(target, supremum * (1.0 + CLOSED))
            bound = max(left, right) + 0.125 * width * width * curvature
            if width > 1.0 and bound > closed and 0.125 * width * width * rounding > 0.1 * CLOSED * supremum:
                if rounded.size == 0:
                    rounded = np.empty((m, m))
                chain.row_sums(slots[slot], x)
                entrywise = _entrywise_bound(
                    slots[slot], width, left, right, generator2, terms, moves, leaks, x, work, rounded
                )
                bound = min(bound, entrywise)
            if width <= 1.0 or bound <= closed:
                upper = max(upper, bound if width > 1.0 else max(left, right) * (1.0 + chain.NORM_ACCURACY))
                continue
            if bisections >= BISECTIONS:
                chain.row_sums(slots[slot], x)
                upper = max(upper, min(bound, np.sqrt(2.0) * chain.length(x)))
                continue
            bisections += 1
            half = 0.5 * width
            level = int(np.log2(half))
            depth += 1
            if len(slots) == depth:
                slots.append(np.empty((m, m)))
            # the left half, finished before the right one, reads the same slot as its parent and writes only deeper
            # ones
            middle = slots[depth]
            chain.product(slots[slot], squares[level], middle)
            chain.row_sums(middle, x)
            s = chain.length(x)
            norm = chain.extended_norm([middle], x, u)
            powers.append(k + half)
            norms.append(norm)
            if norm > best:
                best, best_k = norm, k + half
                supremum = max(best, limit)
                if deciding and best >= target:
                    return best, np.inf, np.inf
            if np.sqrt(2.0) * s > max(target, supremum):
                later, lost = _curvature(middle, generator2, sizes, work)
                nodes.append((k + half, half, norm, right, later, lost, depth, depth))
            nodes.append((k, half, left, norm, curvature, rounding, slot, depth))
    upper = max(upper, supremum * (1.0 + chain.NORM_ACCURACY))
    if deciding:
        return supremum, max(upper, target), 1.0

    if best > norms[0] and best_k > vector_powers / 2:
        best_k, best = _climb(squares, best_k, best, powers, norms)
        supremum = max(best, limit)
        upper = max(upper, supremum * (1.0 + chain.NORM_ACCURACY))
    settles = True
    for i in range(m):
        settles = settles and (leaks[i] == 0.0 or moves[i, i] == 0.0)
    level_norm = (1.0 - SAME) * supremum
    if first < level_norm and limit >= (1.0 - SAME) * best and not settles:
        return supremum, upper, np.inf
    k_sup, before = _smallest_above(powers, norms, level_norm)
    while k_sup - before > 1.0 and before >= vector_powers:
        middle_k = np.floor(0.5 * (before + k_sup))
        if middle_k <= before or middle_k >= k_sup:
            break
        if _norm_of_product(_digits(squares, middle_k), u) >= level_norm:
            k_sup = middle_k
        else:
            before = middle_k
    return supremum, upper, k_sup


@njit(cache=True, nogil=True)
def grows_kernel(a: ndarray, growth_ratio: float) -> bool:
    """Whether k_sup ≥ 2 and sup_k ‖A_dev^k‖ ≥ growth_ratio · ‖A_dev‖, decided as early as the bounds allow."""
    return transient_kernel(a, max(growth_ratio, 1.0))[2] > 1.0


@njit(cache=True, nogil=True)
def operator_norm_kernel(a: ndarray) -> float:
    """‖A_dev‖₂."""
    m = a.shape[0] - 1
    if m == 0:
        return 0.0
    return _norm_of_product([chain.killed_moves(a)], np.empty(m))


@njit(cache=True, nogil=True)
def spectral_radius_kernel(a: ndarray) -> float:
    """ρ(A_dev): the largest diagonal entry but the first."""
    largest = 0.0
    for i in range(1, a.shape[0]):
        largest = max(largest, a[i, i])
    return largest


@njit(cache=True, nogil=True)
def power_norm_kernel(a: ndarray, k: int) -> float:
    """log10 ‖A_dev^k‖₂."""
    m = a.shape[0] - 1
    if m == 0:
        return -np.inf
    matrix, exponent = chain.power(chain.killed_moves(a), k)
    norm = _norm_of_product([matrix], np.empty(m))
    if norm == 0.0:
        return -np.inf
    return np.log10(norm) + exponent * np.log10(2.0)


@njit(cache=True, nogil=True)
def survival_kernel(a: ndarray, powers: ndarray, out: ndarray) -> None:
    """log10 ‖B^k·1‖ for every k of `powers` (ascending), by matrix–vector products while no entry is near underflow."""
    m = a.shape[0] - 1
    moves = chain.killed_moves(a)
    x = np.ones(m)
    spare = np.empty(m)
    k = 0
    safe = m > 0
    for index in range(powers.size):
        while safe and k < powers[index]:
            chain.times(moves, x, spare)
            x, spare = spare, x
            k += 1
            for i in range(m):
                safe = safe and (x[i] == 0.0 or x[i] > 1e-280)
        if safe:
            s = chain.length(x)
            out[index] = np.log10(s) if s > 0.0 else -np.inf
            continue
        out[index] = -np.inf
        if m > 0:
            matrix, exponent = chain.power(moves, powers[index])
            chain.row_sums(matrix, spare)
            s = chain.length(spare)
            if s > 0.0:
                out[index] = np.log10(s) + exponent * np.log10(2.0)


def _whole_powers(powers: int | Sequence[int] | ndarray) -> ndarray:
    given = np.asarray(powers)
    if given.dtype.kind not in "iu" or (given.size and given.min() < 1):
        raise PowerError(f"powers are whole numbers of at least 1, not {powers!r}")
    return given.astype(np.int64)


def transient_supremum(A: Float[ndarray, "n n"]) -> TransientSupremum:
    """The largest power norm of A_dev and where it is attained.

    One causal stochastic matrix. The bounds are relative to rounding of about 1e-14. Raises `CausalStochasticError`.
    Source: transient-reserves §4 for the quantity; bounds from the killed chain (ours).
    """
    return TransientSupremum(*transient_kernel(check_one_matrix(A), 0.0))


def grows(A: Float[ndarray, "n n"], growth_ratio: float = 1.05) -> bool:
    """Whether k_sup ≥ 2 and sup_k ‖A_dev^k‖₂ ≥ growth_ratio · ‖A_dev‖₂, for one causal stochastic matrix.

    False where the search's budget ends undecided. Raises `CausalStochasticError`.
    """
    return bool(grows_kernel(check_one_matrix(A), growth_ratio))


def operator_norm(A: Float[ndarray, "n n"]) -> float:
    """‖A_dev‖₂ of one causal stochastic matrix. Raises `CausalStochasticError`."""
    return float(operator_norm_kernel(check_one_matrix(A)))


def spectral_radius(A: Float[ndarray, "n n"]) -> float:
    """ρ(A_dev) of one causal stochastic matrix: the largest diagonal entry but the first.

    Raises `CausalStochasticError`.
    """
    return float(spectral_radius_kernel(check_one_matrix(A)))


def deviation_power_norms(
    A: Float[ndarray, "... n n"], powers: int | Sequence[int] | ndarray
) -> Float[ndarray, "... powers"]:
    """log10 ‖A_dev^k‖₂ for every k of `powers`; −inf where the power is exactly 0, else finite however small it is.

    Any stack of causal stochastic matrices; the shape of `powers` (also none) comes after that of the stack.
    Raises `CausalStochasticError`, and `PowerError` for a k below 1.
    """
    checked, wanted = check_causal_stochastic(A), _whole_powers(powers)
    out = np.empty(checked.shape[:-2] + wanted.shape)
    for index in np.ndindex(checked.shape[:-2]):
        for place in np.ndindex(wanted.shape):
            out[index + place] = power_norm_kernel(checked[index], wanted[place])
    return out


def survival(A: Float[ndarray, "... n n"], powers: int | Sequence[int] | ndarray) -> Float[ndarray, "... powers"]:
    """log10 ‖B^k·1‖₂ for every k of `powers`: how much of the chain is alive after k steps; −inf where nothing is.

    Shapes and errors as `deviation_power_norms`; at k = 0 it would be log10 √(n−1).
    """
    checked, wanted = check_causal_stochastic(A), _whole_powers(powers)
    flat = wanted.ravel()
    order = np.argsort(flat, kind="stable")
    out = np.empty((*checked.shape[:-2], flat.size))
    ascending = np.empty(flat.size)
    for index in np.ndindex(checked.shape[:-2]):
        survival_kernel(checked[index], flat[order], ascending)
        out[(*index, order)] = ascending
    return out.reshape(checked.shape[:-2] + wanted.shape)
