"""A tiny random model of every family, made once a module."""

import pytest
import tiny_models


@pytest.fixture(scope="module", params=tiny_models.NAMES)
def any_family(request, tmp_path_factory):
    return tiny_models.load(tmp_path_factory.mktemp("model"), request.param)
