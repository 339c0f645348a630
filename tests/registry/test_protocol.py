"""A protocol that no stage could follow is refused when the claim is read."""

from typing import Any

import pytest

from resolvent.registry.protocol import protocol_problems


@pytest.mark.parametrize(
    ("protocol", "where", "says"),
    [
        ({"texts": "many"}, "texts", "whole number from 1"),
        ({"texts": 0}, "texts", "whole number"),
        ({"texts": -8}, "texts", "whole number"),
        ({"texts": 1.5}, "texts", "whole number"),
        ({"texts": True}, "texts", "whole number"),
        ({"texts": None}, "texts", "whole number"),
        ({"texts": 99999}, "texts", "to 1024"),
        ({"length": "long"}, "length", "whole number from 2 to 128"),
        ({"length": 0}, "length", "whole number"),
        ({"length": 100000}, "length", "to 128"),
        ({"text": "nosuchtext"}, "text", "corpus, repeat_probe, random_probe"),
        ({"text": []}, "text", "list of different ones"),
        ({"text": 3}, "text", "list of different ones"),
        ({"text": ["corpus", "corpus"]}, "text", "twice"),
        ({"text": "repeat_probe"}, "repeat", "missing"),
        ({"nulls": 4}, "nulls", "draws by kind"),
        ({"nulls": {"row_permutation": -1}}, "nulls", "row_permutation: found -1"),
        ({"nulls": {"row_permutation": 2.5}}, "nulls", "whole number"),
    ],
)
def test_what_cannot_be_followed_is_named(protocol: dict[str, Any], where: str, says: str) -> None:
    ((found, problem),) = protocol_problems(protocol)
    assert found == f"protocol.{where}"
    assert says in problem


def test_sound_protocols_pass() -> None:
    """Keys that only a view knows are its own."""
    protocol = {"text": ["corpus", "repeat_probe"], "repeat": 60, "length": 121, "texts": 32, "nulls": {"dirichlet": 1}}
    assert protocol_problems(protocol | {"a view's own key": "anything"}) == []
