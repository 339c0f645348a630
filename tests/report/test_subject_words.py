"""What a subject is, wherever it is shown."""

import sys
from pathlib import Path

import pytest
from builders import verdict_line

sys.path.insert(0, str(Path(__file__).parents[1] / "plugin"))
from mini_study import MiniStudy

from resolvent.models.subjects import load_subjects
from resolvent.report.subject_words import law_words, subject_words, weights_words
from resolvent.study import open_study

REPOSITORY = Path(__file__).parents[2]


def test_the_study_s_own_model_is_called_what_it_is():
    """SmolLM2-135M is neither the base model nor in full precision."""
    subject = load_subjects(open_study(REPOSITORY)).subjects["smollm2-135m"]
    assert weights_words(subject.entry["weights"]) == "instruct-tuned, dequantised from Q4_1"


@pytest.fixture
def subjects(tmp_path):
    return load_subjects(open_study(MiniStudy(tmp_path).root))


def test_not_blind_is_counted(subjects):
    """A reader must see for how many claims the data were known."""
    lines = [verdict_line(claim="a", seen=True), verdict_line(claim="b"), verdict_line(claim="c", subject="bell")]
    ada, bell = subject_words(subjects, lines, {})
    assert ada.seen.startswith("Not blind for 1 of 2 claims")
    assert bell.seen.startswith("Blind")
    assert "untrained" in bell.what


def test_the_law_is_said_or_its_absence(subjects):
    """The numbers come from the run's provenance."""
    numbers = {"predicted_kreiss": 2.0, "measured_kreiss": 2.5, "within_quarter_bit": 0.75}
    (ada,) = subject_words(subjects, [verdict_line()], {"bos_mass_law": {"ada": numbers}})
    assert (
        ada.law == "BOS mass alone predicts a median K_dev of 2 (2.5 measured) and 75 % of heads to a quarter of a bit"
    )
    assert "not measured" in law_words(None)


def test_a_subject_that_is_gone_is_still_named(subjects):
    """An old run's report is made from its provenance."""
    facts = {"subjects": {"gone": {"entry": {"weights": {"tuned": "chat"}}}}}
    (words,) = subject_words(subjects, [verdict_line(subject="gone")], facts)
    assert words.what == "chat-tuned"
