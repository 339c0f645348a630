"""What the plugin knows of a pytest item that is a claim × subject."""

from __future__ import annotations

from typing import Any

import pytest

needs_key: pytest.StashKey[Any] = pytest.StashKey()
"""The evidence that a claim item needs: list[Shard], or the ResolventError met when asking for it."""


def is_claim_item(item: pytest.Item) -> bool:
    """Whether an item is a claim × subject."""
    return "claim" in getattr(getattr(item, "callspec", None), "params", {})


def claim_and_subject(item: pytest.Item) -> tuple[str, str]:
    """Claim and subject of a claim item."""
    function: Any = item
    return function.originalname.removeprefix("test_"), function.callspec.params["claim"]
