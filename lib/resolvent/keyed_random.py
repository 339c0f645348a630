"""Random generators keyed by what is drawn, never by the order of computation (prereg/subjects.yaml, `seed`)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def key_string(*fields: str | int) -> str:
    """The fields joined by `|`, integers in decimal."""
    return "|".join(str(field) for field in fields)


def generator(seed: int, *fields: str | int) -> np.random.Generator:
    """Generator(PCG64(SeedSequence([seed, w0, w1, w2, w3]))).

    w0..w3 are the first four big-endian 32-bit words of the SHA-256 of the UTF-8 key string of `fields`.
    """
    import numpy as np

    digest = hashlib.sha256(key_string(*fields).encode("utf-8")).digest()
    words = [int.from_bytes(digest[4 * i : 4 * i + 4], "big") for i in range(4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
