"""The reference matrices: values of a slow search that uses no real-axis theorem."""

import json
from pathlib import Path

import numpy as np
import pytest

from resolvent.operators import battery, kreiss_constant

DATA = Path(__file__).parent / "data"
VALUES = json.loads((DATA / "causal_values.json").read_text())
COLUMNS = {
    "kreiss": "kreiss",
    "transient": "transient_supremum",
    "spectral_radius": "spectral_radius",
    "operator_norm": "operator_norm",
    "departure": "henrici",
    "bos_mass": "bos_mass",
    "diagonal_mass": "diagonal_mass",
    "previous_token_mass": "previous_token_mass",
    "row_entropy": "row_entropy_nats",
    "normalised_entropy": "normalised_row_entropy",
    "dobrushin": "dobrushin",
}


@pytest.fixture(scope="module")
def matrices():
    with np.load(DATA / "causal_matrices.npz") as file:
        return dict(file)


@pytest.mark.parametrize("name", VALUES)
def test_agrees_with_the_reference_to_one_in_a_million(matrices, name):
    """Two roads to one number: certified bounds on the real axis, a dense search over the plane."""
    expected = VALUES[name]
    values = battery(matrices[name])
    for column, key in COLUMNS.items():
        if key in expected:
            assert values[column] == pytest.approx(expected[key], rel=1e-6, abs=1e-12), column
    for eps, rho in expected["rho_eps"].items():
        assert values[f"rho_eps_1e-{-int(np.log10(float(eps)))}"] == pytest.approx(rho, rel=1e-6)
    argmax = expected["transient_argmax"]
    assert values["k_sup"] == (np.inf if argmax is None else argmax)


@pytest.mark.parametrize("name", VALUES)
def test_the_certificate_closes_on_every_reference_matrix(matrices, name):
    """A plateau or a second peak must not leave a gap."""
    K = kreiss_constant(matrices[name])
    assert K.upper / K.lower - 1.0 <= 1e-6
    assert K.lower <= VALUES[name]["kreiss"] * (1.0 + 1e-6)
    assert K.upper >= VALUES[name]["kreiss"] * (1.0 - 1e-8)
