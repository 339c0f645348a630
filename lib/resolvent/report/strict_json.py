"""JSON that every reader takes: infinities as ±1e999, which reads back as infinity, NaN as null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def strict_json(value: Any) -> str:
    """`value` on one line; floats read back to the same bits.

    Plain types only: a numpy scalar that is no Python number raises TypeError.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {strict_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(strict_json, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "null" if math.isnan(value) else ("1e999" if value > 0 else "-1e999")
    return json.dumps(value, ensure_ascii=False)
