"""The first texts of a corpus that a tokenizer can fill, as token ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Int64

LENGTH = 128
"""Positions of every text, BOS among them; shorter claims take the leading block of the attention at this length."""


@dataclass(frozen=True)
class Selection:
    """Texts chosen for one tokenizer.

    ids          of the chosen texts, in order
    token_ids    (texts, length) int64, BOS at position 0
    passed_over  (id, reason) of every text that stood before the last chosen one and was not taken
    """

    ids: tuple[str, ...]
    token_ids: Int64[np.ndarray, "texts length"]
    passed_over: tuple[tuple[str, str], ...]


def select_texts(
    texts: Iterable[tuple[str, str]],
    encode: Callable[[str], Sequence[int]],
    *,
    bos: int,
    special_ids: Iterable[int],
    length: int = LENGTH,
    count: int,
) -> Selection:
    """The first `count` texts as `bos` + their first `length - 1` ids.

    texts        (id, cleaned text) in order
    encode       whole text -> ids, without special tokens added
    special_ids  of the tokenizer; a text that contains one of them, or `bos`, anywhere is passed over
    A text with fewer than `length - 1` ids is passed over too. Fewer than `count` texts may come back: the caller
    decides. Encodes no text after the last one chosen.
    """
    forbidden = {bos, *special_ids}
    chosen_ids: list[str] = []
    chosen: list[list[int]] = []
    passed_over: list[tuple[str, str]] = []
    for id_, text in texts:
        if len(chosen) == count:
            break
        token_ids = list(encode(text))
        special = next((token for token in token_ids if token in forbidden), None)
        if len(token_ids) < length - 1:
            passed_over.append((id_, f"{len(token_ids)} token ids, {length - 1} are needed"))
        elif special is not None:
            name = "the BOS id" if special == bos else "the special id"
            passed_over.append((id_, f"contains {name} {special}"))
        else:
            chosen_ids.append(id_)
            chosen.append([bos, *token_ids[: length - 1]])
    matrix = np.array(chosen, dtype=np.int64).reshape(len(chosen), length)
    return Selection(ids=tuple(chosen_ids), token_ids=matrix, passed_over=tuple(passed_over))
