"""What the values of a protocol may be: told when a claim is read, not by a traceback out of the stage that meets them.

Which keys a claim may have, and which nulls, the views that its test asks for declare; here stands what else each known
key may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

STATES = ("corpus", "repeat_probe", "random_probe")
LONGEST = 128
MOST_TEXTS = 1024
MOST_DRAWS = 1024

Check = Callable[[Any], str | None]
"""What is wrong with a value as written, or None."""


def protocol_problems(protocol: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(path, what is wrong) for every value that no stage could follow; keys that are unknown here pass."""
    found = [(f"protocol.{key}", CHECKS[key](value)) for key, value in protocol.items() if key in CHECKS]
    found.append(("protocol.repeat", _missing_repeat(protocol)))
    return [(where, problem) for where, problem in found if problem]


def whole(least: int, most: int) -> Check:
    """A whole number from `least` to `most`."""

    def check(value: Any) -> str | None:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return None
        return f"found {value!r}; allowed: a whole number from {least} to {most}"

    return check


def _text(value: Any) -> str | None:
    given = value if isinstance(value, list) else [value]
    allowed = f"allowed: {', '.join(STATES)}, or a list of different ones"
    if not given or any(not isinstance(state, str) or state not in STATES for state in given):
        return f"found {value!r}; {allowed}"
    return None if len(set(given)) == len(given) else f"found {value!r}, one of them twice; {allowed}"


def _nulls(value: Any) -> str | None:
    if not isinstance(value, dict) or not value:
        return f"found {value!r}; allowed: draws by kind of null, as in {{row_permutation: 4}}"
    for kind, draws in value.items():
        problem = whole(1, MOST_DRAWS)(draws)
        if problem:
            return f"{kind}: {problem}"
    return None


def _missing_repeat(protocol: Mapping[str, Any]) -> str | None:
    text = protocol.get("text")
    given = text if isinstance(text, list) else [text]
    if "repeat" in protocol or not any(isinstance(state, str) and state.endswith("_probe") for state in given):
        return None
    return "missing; a probe needs the number of tokens that it repeats"


CHECKS: Mapping[str, Check] = {
    "text": _text,
    "length": whole(2, LONGEST),
    "texts": whole(1, MOST_TEXTS),
    "select_texts": whole(1, MOST_TEXTS),
    "score_texts": whole(1, MOST_TEXTS),
    "criticality_texts": whole(1, MOST_TEXTS),
    "repeat": whole(1, (LONGEST - 1) // 2),
    "nulls": _nulls,
    "random_controls": whole(1, MOST_DRAWS),
    "dims": whole(1, MOST_DRAWS),
}
