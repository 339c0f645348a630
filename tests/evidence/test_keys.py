"""A key changes with everything that determines the result, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from counting_stages import NUMBERS
from evidence_builders import HANSARD, build_subjects, numbers, total

from resolvent.errors import ResolventError
from resolvent.evidence.fingerprint import Fingerprints
from resolvent.evidence.keys import Keys, text_identity
from resolvent.evidence.shards import Shard, Stage


def key(
    shard: Shard | None = None,
    *,
    fingerprints: Fingerprints | None = None,
    device: str = "cpu",
    **subjects: Any,
) -> str:
    keys = Keys(fingerprints or Fingerprints(), build_subjects(**subjects), device=device)
    return keys(shard or numbers(state="corpus"))


def with_stage(**changes: Any) -> Shard:
    stage: Stage = replace(NUMBERS, **changes)
    return numbers(state="corpus", stage=stage)


def test_equal_shards_have_equal_keys() -> None:
    """Every process builds its own shard objects, and all must find the same file."""
    assert key() == key()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda: key(with_stage(version=2)), id="stage version"),
        pytest.param(lambda: key(with_stage(name="other")), id="stage name"),
        pytest.param(lambda: key(with_stage(sources=("counting_stages", "resolvent.errors"))), id="sources"),
        pytest.param(lambda: key(with_stage(packages=("numpy", "pytest"))), id="packages"),
        pytest.param(lambda: key(numbers(state="corpus", size=9)), id="a parameter"),
        pytest.param(lambda: key(numbers(state="corpus", dtype="bfloat16")), id="dtype"),
        pytest.param(lambda: key(numbers(state="repeat_probe")), id="state"),
        pytest.param(lambda: key(seed=8), id="seed"),
        pytest.param(lambda: key(entry={"hub": {"model": "toy", "revision": "1" * 40}}), id="model revision"),
        pytest.param(lambda: key(corpus_entry={**HANSARD, "minimum_characters": 1}), id="corpus entry"),
        pytest.param(lambda: key(device="cuda:1"), id="device kind"),
        pytest.param(
            lambda: key(fingerprints=Fingerprints(sources={"counting_stages": "edited"})), id="source of the function"
        ),
        pytest.param(lambda: key(fingerprints=Fingerprints(packages={"numpy": "0"})), id="package version"),
    ],
)
def test_each_ingredient_counts(changed: Any) -> None:
    """A result computed otherwise must never be taken for this one."""
    assert changed() != key()


def test_the_module_of_the_function_counts_undeclared() -> None:
    """Forgetting to list a stage's own module must not freeze its evidence."""
    stage = replace(NUMBERS, sources=())
    edited = Fingerprints(sources={"counting_stages": "edited"})
    assert key(numbers(stage=stage), fingerprints=edited) != key(numbers(stage=stage))


def test_inputs_count_by_their_keys() -> None:
    """A result changes with whatever its inputs change with, at any depth."""
    deep = [total(total(numbers("a", size=size))) for size in (8, 9)]
    assert key(deep[0]) != key(deep[1])
    assert key(total(numbers("a"), numbers("b"))) != key(total(numbers("b"), numbers("a")))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda: key(repeat_entry={"generated": "random"}), id="a text it doesn't read"),
        pytest.param(lambda: key(entry={**build_subjects().subjects["toy"].entry, "corpus": "lee"}), id="corpus name"),
        pytest.param(lambda: key(numbers(state="corpus", matrices=99)), id="count of matrices"),
    ],
)
def test_nothing_else_counts(changed: Any) -> None:
    """Evidence that takes minutes must not be lost to a change that can't alter it."""
    assert changed() == key()


def test_cards_of_one_kind_share_evidence() -> None:
    """cuda:0 and cuda:1 are one kind of device."""
    assert key(device="cuda:0") == key(device="cuda:1") == key(device="cuda")


def test_text_of_a_state() -> None:
    """`corpus` stands for the subject's own; a probe for itself; no state for no text."""
    subjects = build_subjects()
    toy = subjects.subjects["toy"]
    assert text_identity(subjects, toy, "corpus") == ["hansard", HANSARD]
    assert text_identity(subjects, toy, "repeat_probe") == ["repeat_probe", {"generated": "repeat"}]
    assert text_identity(subjects, toy, None) is None
    with pytest.raises(ResolventError, match=r"'poem'.*allowed: corpus, hansard, repeat_probe"):
        text_identity(subjects, toy, "poem")


def test_params_without_a_plain_form_are_refused() -> None:
    """An object whose text form holds an address would give every process another key."""
    with pytest.raises(TypeError, match="plain values only"):
        key(numbers(size=object()))
    with pytest.raises(ValueError, match="JSON compliant"):
        key(numbers(size=float("nan")))
