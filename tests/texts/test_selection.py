"""Selection: which texts are taken, which passed over and why."""

from __future__ import annotations

import numpy as np

from resolvent.texts.selection import Selection, select_texts


def chosen(lengths: list[int], *, count: int, special: dict[int, tuple[int, int]] | None = None) -> Selection:
    """Texts t0, t1, … with so many ids, all 50 + position; `special` puts (position, id) into a text."""
    ids = {f"t{number}": [50 + position for position in range(length)] for number, length in enumerate(lengths)}
    for number, (position, token) in (special or {}).items():
        ids[f"t{number}"][position] = token
    return select_texts(
        [(name, name) for name in ids], lambda text: ids[text], bos=0, special_ids=(1, 2), length=8, count=count
    )


def test_rows_are_bos_and_the_first_ids():
    """Position 0 is BOS by construction; the rest is the beginning of the text."""
    selection = chosen([7, 30], count=2)
    assert selection.token_ids.dtype == np.int64
    assert selection.token_ids.tolist() == [[0, *range(50, 57)]] * 2


def test_a_text_with_exactly_the_ids_needed_is_taken_and_one_fewer_is_not():
    """127 ids fill 128 positions; 126 do not, and nothing is padded."""
    selection = chosen([6, 7], count=2)
    assert selection.ids == ("t1",)
    assert selection.passed_over == (("t0", "6 token ids, 7 are needed"),)


def test_a_special_id_anywhere_in_the_text_passes_it_over():
    """Also behind the part that is used: the rule speaks of the text."""
    selection = chosen([20, 20, 20], count=3, special={0: (19, 2), 1: (0, 0)})
    assert selection.ids == ("t2",)
    assert [reason for _, reason in selection.passed_over] == ["contains the special id 2", "contains the BOS id 0"]


def test_no_text_behind_the_last_chosen_one_is_looked_at():
    """What was passed over is the record up to the last chosen text, whatever stands behind."""
    assert chosen([9, 3, 9, 3], count=2).passed_over == (("t1", "3 token ids, 7 are needed"),)


def test_fewer_texts_than_asked_come_back_as_they_are():
    """Too few is the caller's verdict (inestimable), with the numbers."""
    selection = chosen([3, 3], count=5)
    assert selection.ids == ()
    assert selection.token_ids.shape == (0, 8)
