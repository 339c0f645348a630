"""Probes: BOS + r + r and BOS + r + r', random ordinary tokens from keyed generators (prereg/subjects.yaml)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from resolvent.errors import ResolventError
from resolvent.keyed_random import generator

if TYPE_CHECKING:
    from jaxtyping import Int64


class ProbeError(ResolventError):
    """A probe that the tokenizer has too few ordinary ids for."""


def ordinary_token_ids(tokenizer: Any) -> Int64[np.ndarray, " ordinary"]:
    """Ids 0..len(base vocabulary)-1 in ascending order, without special ids and added tokens.

    tokenizer  a transformers tokenizer: `vocab_size`, `all_special_ids` and `added_tokens_decoder` are read
    """
    left_out = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    return np.array([token for token in range(tokenizer.vocab_size) if token not in left_out], dtype=np.int64)


def repeat_probe(
    ordinary: Int64[np.ndarray, " ordinary"], rng: np.random.Generator, repeat: int, bos: int
) -> Int64[np.ndarray, " positions"]:
    """BOS + r + r, 2·repeat + 1 ids; r = rng.choice(ordinary, repeat, replace=False)."""
    r = _draw(ordinary, rng, repeat)
    return np.concatenate(([bos], r, r)).astype(np.int64)


def random_probe(
    ordinary: Int64[np.ndarray, " ordinary"],
    first_half: Int64[np.ndarray, " repeat"],
    rng: np.random.Generator,
    bos: int,
) -> Int64[np.ndarray, " positions"]:
    """BOS + r + r'; r = `first_half`, r' as many ids from those of `ordinary` that are not in r, in ascending order."""
    rest = np.setdiff1d(ordinary, first_half)
    return np.concatenate(([bos], first_half, _draw(rest, rng, len(first_half)))).astype(np.int64)


def probe_token_ids(
    ordinary: Int64[np.ndarray, " ordinary"],
    *,
    generated: Literal["repeat", "random"],
    seed: int,
    subject: str,
    indices: range,
    repeat: int,
    bos: int,
) -> Int64[np.ndarray, "probes positions"]:
    """The probes of a subject with the given indices, 2·repeat + 1 ids each.

    The generator of r is keyed by `probe | repeat_probe | subject | index`, that of r' by
    `probe | random_probe | subject | index`; so both kinds share r at the same index.
    """
    rows = []
    for index in indices:
        row = repeat_probe(ordinary, generator(seed, "probe", "repeat_probe", subject, index), repeat, bos)
        if generated == "random":
            rng = generator(seed, "probe", "random_probe", subject, index)
            row = random_probe(ordinary, row[1 : repeat + 1], rng, bos)
        rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(len(rows), 2 * repeat + 1)


def _draw(ids: Int64[np.ndarray, " ids"], rng: np.random.Generator, count: int) -> Int64[np.ndarray, " count"]:
    if count > len(ids):
        raise ProbeError(f"a probe needs {count} different ordinary token ids, the tokenizer has {len(ids)}")
    return rng.choice(ids, count, replace=False)
