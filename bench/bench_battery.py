"""Speed of the battery on one core: heads and nulls of sinks apart, by size and by quantity, against two baselines."""

import os
import platform
import time
from collections.abc import Callable

import numpy as np
from bench.baselines import kreiss_by_dense_svd, kreiss_by_schur, polar_grid
from bench.synthetic_heads import sink_nulls, synthetic_heads
from threadpoolctl import threadpool_limits

from resolvent.operators import QUANTITIES, battery, row_permutation, warm_up

SIZES = {64: 100, 128: 200, 256: 60, 512: 20}  # n: matrices timed
NULL_COLUMNS = ("kreiss", "kreiss_upper", "rho_eps_1e-2", "grows")
GROUPS = {
    "K": ("kreiss", "kreiss_upper"),
    "K, rho_eps": ("kreiss", "kreiss_upper", "rho_eps_1e-1", "rho_eps_1e-2", "rho_eps_1e-3"),
    "transient": ("transient", "transient_upper", "k_sup"),
    "operator norm": ("operator_norm",),
    "departure": ("departure",),
    "condition": ("log10_condition",),
    "structure": QUANTITIES[-7:],
}
BASELINE_MATRICES = 2
SVD_POINTS = 120  # of the 2400 of the grid; the time is scaled up, and the table says so


def microseconds(matrices: np.ndarray, quantities: tuple[str, ...]) -> np.ndarray:
    """Time per matrix, the check included; each matrix is a call of its own."""
    times = np.empty(len(matrices))
    battery(matrices[:1], quantities)
    for index in range(len(matrices)):
        start = time.perf_counter()
        battery(matrices[index : index + 1], quantities)
        times[index] = 1e6 * (time.perf_counter() - start)
    return times


def line(label: str, times: np.ndarray, total: float | None = None) -> None:
    """One row of the table."""
    share = "" if total is None else f"{100 * times.mean() / total:6.0f} %"
    print(
        f"  {label:26s}{np.median(times):10.0f}{times.mean():10.0f}{np.percentile(times, 95):10.0f}"
        f"{1e6 / times.mean():12.0f}{share}"
    )


def seconds(function: Callable[[np.ndarray, np.ndarray], float], matrices: np.ndarray, z: np.ndarray) -> float:
    """Mean time of a baseline."""
    start = time.perf_counter()
    for A in matrices:
        function(A, z)
    return (time.perf_counter() - start) / len(matrices)


def main() -> None:
    """Print the tables."""
    with threadpool_limits(1):
        warm_up()
        print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, one used; microseconds a matrix")
        medians = {}
        for n, count in SIZES.items():
            for kind, matrices in (("heads", synthetic_heads(count, n)), ("nulls of sinks", sink_nulls(count, n))):
                print(f"\nn = {n}, {count} {kind}\n{'median':>38}{'mean':>10}{'p95':>10}{'per second':>12}  share")
                times = microseconds(matrices, QUANTITIES)
                line("whole battery", times)
                medians[n, kind, "all"] = float(np.median(times))
                for name, quantities in GROUPS.items():
                    part = microseconds(matrices, quantities)
                    line(name, part, times.mean())
                    medians[n, kind, name] = float(np.median(part))
                line("K, rho_0.01, grows", microseconds(matrices, NULL_COLUMNS))
                values = battery(matrices, ("kreiss", "kreiss_upper"))
                gap = values["kreiss_upper"] / values["kreiss"] - 1.0
                print(
                    f"  gap of K: largest {gap.max():.1e}; "
                    f"above 1e-6: {np.sum(gap > 1e-6)}, above 1e-5: {np.sum(gap > 1e-5)}"
                )

        n = 128
        head = synthetic_heads(1, n)[0]
        rng = np.random.default_rng(0)
        start = time.perf_counter()
        for _ in range(50):
            row_permutation(head, rng)
        print(f"\na row-permutation draw at n = {n}: {(time.perf_counter() - start) / 50 * 1e6:.0f} microseconds")

        z = polar_grid()
        print(f"\nBaselines at n = {n}, {z.size} points of the upper half plane")
        for kind, matrices in (
            ("heads", synthetic_heads(6, n)[-BASELINE_MATRICES:]),
            ("nulls of sinks", sink_nulls(2, n)),
        ):
            schur = seconds(kreiss_by_schur, matrices, z)
            svd = seconds(kreiss_by_dense_svd, matrices[:1], z[:: z.size // SVD_POINTS]) * z.size / SVD_POINTS
            print(f"  {kind}: Schur + vectorised inverse iteration {schur * 1e3:.0f} ms ({len(matrices)} matrices);")
            print(f"  {'':{len(kind)}}  dense SVD {svd * 1e3:.0f} ms (1 matrix, {SVD_POINTS} points, scaled up)")
            for name in ("all", "K"):
                own = medians[n, kind, name] * 1e-6
                label = "whole battery" if name == "all" else "K alone"
                print(f"  {'':{len(kind)}}  {label}: {schur / own:.0f} and {svd / own:.0f} times faster (medians)")


if __name__ == "__main__":
    main()
