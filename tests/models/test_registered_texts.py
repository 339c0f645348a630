"""The texts of the embedded study, where they are fetched: the bits that every implementation must get."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from resolvent.models.fetch import corpus_bytes
from resolvent.models.load import encode, load_tokenizer
from resolvent.models.subjects import load_subjects
from resolvent.study import open_study
from resolvent.texts.corpora import ordered_texts
from resolvent.texts.selection import select_texts

STUDY = open_study(Path(__file__).parents[2])
SUBJECTS = load_subjects(STUDY)
SUBJECT = SUBJECTS.subject("smollm2-135m")


@pytest.mark.skipif(SUBJECTS.available(STUDY, SUBJECT) is not None, reason="not fetched (resolvent fetch)")
def test_the_first_forty_texts_are_known_to_the_bit():
    """Ids, order and token ids of the corpus that the registered claims are measured on."""
    corpus = SUBJECTS.corpus_of(SUBJECT)
    texts = ordered_texts(corpus, corpus_bytes(STUDY, corpus))
    tokenizer = load_tokenizer(STUDY, SUBJECT)
    selection = select_texts(
        texts,
        lambda text: encode(tokenizer, text),
        bos=SUBJECT.bos,
        special_ids=tokenizer.all_special_ids,
        count=40,
    )
    assert len(texts) == 313
    assert selection.ids[:5] == ("1866921", "1163622", "409045", "65651", "1169896")
    assert selection.passed_over == ()
    assert selection.token_ids[0, :6].tolist() == [0, 57, 5603, 982, 28, 2390]
    assert (
        hashlib.sha256(selection.token_ids.astype("<i8").tobytes()).hexdigest()
        == "32435c804b933c618f9d673a6ac0b5203698ee2aeed04a1281fa39984e390ec6"
    )
