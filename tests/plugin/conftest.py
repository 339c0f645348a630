"""Fixtures of the plugin's tests."""

import pytest
from mini_study import MiniStudy


@pytest.fixture
def study(tmp_path):
    """An empty study in miniature."""
    return MiniStudy(tmp_path)
