"""The one hook that a study may implement in its conftest.py."""

from __future__ import annotations

import pytest


@pytest.hookspec
def pytest_resolvent_views() -> dict[str, str]:  # type: ignore[empty-body]
    """Further views, by fixture name: `{"census": "package.module:Class"}`. A name given twice is an error."""
