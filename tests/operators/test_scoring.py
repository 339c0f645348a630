"""Weight-space features of a head from its thin factors, against the full d_model × d_model matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolvent.operators.scoring import ScoringOperatorError, scoring_operator


def factors(seed: int, d_head: int = 4, d_model: int = 11) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d_head, d_model)), rng.standard_normal((d_head, d_model))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_features_are_those_of_the_full_matrix(seed: int) -> None:
    """The thin computation must agree with what the definitions say of M itself."""
    query, key = factors(seed)
    full = query.T @ key
    found = scoring_operator(query, key)
    values, vectors = np.linalg.eig(full)
    big = np.abs(values) > 1e-9 * np.abs(values).max()
    energy = np.abs(values[big]) ** 2
    sizes = np.linalg.svd(full, compute_uv=False)[: len(query)]
    shares = sizes / sizes.sum()
    assert found.spectral_radius == pytest.approx(np.abs(values).max(), rel=1e-9)
    off_axis = np.abs(values[big].imag) > 1e-9 * np.abs(values[big])
    assert found.rotational_fraction == pytest.approx(energy[off_axis].sum() / energy.sum(), abs=1e-9)
    assert found.mean_angle == pytest.approx(np.abs(np.angle(values[big])).mean(), abs=1e-9)
    assert found.effective_rank == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-9)
    departure = np.sqrt((full**2).sum() - energy.sum()) / np.linalg.norm(full)
    assert found.relative_departure == pytest.approx(departure, rel=1e-6)
    kernel = np.linalg.svd(full)[2][len(query) :].T
    everything = np.concatenate([vectors[:, big], kernel], axis=1)
    assert found.log10_eigenvector_condition == pytest.approx(np.log10(np.linalg.cond(everything)), abs=1e-7)


def test_a_normal_operator_has_no_departure() -> None:
    """W_Q = W_K gives a symmetric M: real spectrum, orthogonal eigenvectors."""
    query, _ = factors(1)
    found = scoring_operator(query, query)
    assert found.relative_departure == pytest.approx(0, abs=1e-6)
    assert found.log10_eigenvector_condition == pytest.approx(0, abs=1e-6)
    assert found.rotational_fraction == found.mean_angle == 0


def test_a_rotation_lies_off_the_axis() -> None:
    """A quarter turn has all its energy at ±i."""
    query = np.eye(2, 5)
    found = scoring_operator(query, np.array([[0.0, -1, 0, 0, 0], [1, 0, 0, 0, 0]]))
    assert found.rotational_fraction == 1
    assert found.mean_angle == pytest.approx(np.pi / 2)
    assert found.effective_rank == pytest.approx(2)


def test_a_zero_operator_has_no_features() -> None:
    """0/0 is NaN, not a crash."""
    assert np.isnan(scoring_operator(np.zeros((2, 5)), np.ones((2, 5))).spectral_radius)


@pytest.mark.parametrize("shapes", [((2, 5), (3, 5)), ((6, 5), (6, 5)), ((5,), (5,))])
def test_other_shapes_are_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Transposed weights would give another operator."""
    with pytest.raises(ScoringOperatorError, match="d_head"):
        scoring_operator(*(np.ones(shape) for shape in shapes))
