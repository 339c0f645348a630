"""The BOS-mass law is the Kreiss constant of its two-by-two matrix and a lower bound for every head with that mass."""

import numpy as np
import pytest

from resolvent.errors import ResolventError
from resolvent.operators.bos_mass_law import kreiss_from_bos_mass
from resolvent.operators.kreiss_general import kreiss_constant_general


def deviation(p: float, rest: np.ndarray) -> np.ndarray:
    """A_dev of a head with mass p on BOS in every row i ≥ 1 and the rest of it spread as the rows of `rest` say."""
    n = len(rest) + 1
    A_dev = np.zeros((n, n))
    A_dev[1:, 0] = p - 1.0
    A_dev[1:, 1:] = (1.0 - p) * rest
    return A_dev


def supremum_on_a_fine_grid(p: float, n: int) -> float:
    x = np.logspace(-12, 6, 300_001)
    q, b = 1.0 - p, (1.0 - p) * np.sqrt(n - 1.0)
    r, d = 1.0 + x, x + p
    norm = (np.sqrt((r + d) ** 2 + b**2) + q * np.sqrt(n)) / (2.0 * r * d)
    return max(1.0, float((x * norm).max()))


def test_the_sink_mixture_has_the_published_value() -> None:
    """Mass 0.1 on BOS and 0.9 on the diagonal at n = 128 is a reference matrix."""
    assert kreiss_from_bos_mass(0.1, 128) == pytest.approx(5.90851942, abs=5e-9)


@pytest.mark.parametrize("p", [0.0, 1e-13, 1e-9, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.83, 0.95, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 16, 128, 1024])
def test_it_is_the_supremum_over_the_real_axis(p: float, n: int) -> None:
    """The closed form must agree with the definition it was derived from."""
    assert kreiss_from_bos_mass(p, n) == pytest.approx(supremum_on_a_fine_grid(p, n), rel=2e-9)


@pytest.mark.parametrize("n", [2, 5, 128])
def test_it_is_exactly_one_from_the_threshold_on(n: int) -> None:
    """K = 1 if and only if the numerical radius (1−p)(1+√n)/2 is at most 1; noise above 1 turns into signs."""
    threshold = 1.0 - 2.0 / (1.0 + np.sqrt(n))
    assert np.all(kreiss_from_bos_mass(np.linspace(threshold + 1e-12, 1.0, 50), n) == 1.0)
    assert kreiss_from_bos_mass(threshold - 1e-4, n) > 1.0


def test_no_bos_mass_means_root_n() -> None:
    """Without a leak to BOS nothing is ever killed."""
    np.testing.assert_allclose(kreiss_from_bos_mass(0.0, [1, 2, 64, 128]), np.sqrt([1, 2, 64, 128]), rtol=1e-14)


def test_more_bos_mass_never_means_more_reserve() -> None:
    """A chain killed faster survives less at every step."""
    assert np.all(np.diff(kreiss_from_bos_mass(np.linspace(0, 1, 2001), 128)) <= 1e-13)


def test_masses_and_lengths_broadcast() -> None:
    """A table of masses by lengths is one call."""
    table = kreiss_from_bos_mass(np.array([[0.1], [0.5]]), np.array([16, 128]))
    assert table.shape == (2, 2)
    assert table[1, 0] == kreiss_from_bos_mass(0.5, 16)


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("kind", ["spread", "gathered", "previous"])
def test_it_bounds_every_head_with_even_bos_mass(p: float, kind: str) -> None:
    """span{e0, 1} is invariant under A_dev, so the two-by-two block is a restriction of it."""
    n, rng = 12, np.random.default_rng(5)
    rest = np.zeros((n - 1, n - 1))
    if kind == "spread":
        rest = np.tril(rng.exponential(size=(n - 1, n - 1)))
        rest /= rest.sum(axis=1, keepdims=True)
    elif kind == "gathered":
        rest[:, 0] = 1.0
    else:
        rest[0, 0] = 1.0
        rest[np.arange(1, n - 1), np.arange(n - 2)] = 1.0
    bound = float(kreiss_from_bos_mass(p, n))
    assert bound * (1 - 1e-9) <= kreiss_constant_general(deviation(p, rest)) < np.sqrt(2.0) * bound + 1.0


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3])
def test_it_is_attained_where_the_rest_stays_on_the_diagonal(p: float) -> None:
    """There A_dev acts as (1−p) times the identity off the invariant subspace, which adds nothing."""
    assert kreiss_constant_general(deviation(p, np.eye(11))) == pytest.approx(kreiss_from_bos_mass(p, 12), rel=1e-8)


@pytest.mark.parametrize(("p", "n"), [(-0.1, 8), (1.1, 8), (np.nan, 8), (0.5, 0), (0.5, 2.5)])
def test_what_is_no_mass_or_length_is_refused(p: float, n: float) -> None:
    """A NaN that came through would be read as a law that holds."""
    with pytest.raises(ResolventError):
        kreiss_from_bos_mass(p, n)
