"""The decisive contest on a subject: features and target of every head, and the contest between families on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.common import blocks
from resolvent.evidence.stages.powers import survival_shard
from resolvent.evidence.stages.weights import weights_shard
from resolvent.evidence.threads import one_thread
from resolvent.evidence.views.census import StateCensus, state_shards
from resolvent.evidence.views.contest_targets import CORPUS, target_shards, target_values
from resolvent.evidence.views.tables import HeadTables, head_count, layer_labels, one_row_a_head, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.statistics import Interval
    from resolvent.statistics.contest import ContestResult, ContestRule

NULL = "row_permutation"
"""The null of the excess features (transient-reserves, section 8)."""


class Contest:
    """One row a head. Fixture `contest`.

    layer     (heads,)
    columns   every feature of the claim's families, by name, each (heads,): medians over the corpus texts, and those of
              the weights as they are; may be infinite
    target    (heads,); −inf where a logarithm is of zero
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {
            "target",
            "add_to_family_e",
            "exclude_features",
            "criticality_texts",
            "features_from",
            "text",
            "repeat",
            "length",
            "texts",
            "nulls",
            "model",
            "folds",
            "preprocessing",
            "score",
            "interval",
        }
    )
    null_kinds: ClassVar[frozenset[str]] = frozenset({NULL})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        rule = _rule(protocol)
        attention = state_shards(subject, protocol, CORPUS, protocol["nulls"])
        return [
            *(shard for draws in attention.values() for part in draws for shard in part),
            *(_survival_shards(subject, protocol) if rule.add_to_family_e else ()),
            *target_shards(rule.target, subject, protocol),
            weights_shard(subject.name, head_count(subject)),
        ]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        from resolvent.statistics.contest import BATTERY_COLUMNS, NULL_COLUMNS, attention_features

        self.rule = _rule(protocol)
        self.layer = layer_labels(subject)
        self._subject = subject
        self._seed = subjects.seed
        corpus = StateCensus(subject, protocol, CORPUS, protocol["nulls"], load)
        self.columns = attention_features(
            {name: corpus.real[name] for name in BATTERY_COLUMNS},
            {name: corpus.null(NULL, name) for name in NULL_COLUMNS},
        )
        self.columns |= one_row_a_head(subject, load(weights_shard(subject.name, head_count(subject))))
        if self.rule.add_to_family_e:
            self.columns |= _survival(subject, protocol, corpus.real["bos_mass"], load)
        self.target = target_values(self.rule.target, subject, protocol, load)

    def result(self, claim: str, *, rule: ContestRule | None = None) -> ContestResult:
        """The contest under the claim's own folds and resamples, equal to the bit however many workers there are.

        rule  in place of the protocol's: fewer repeats are the first of them
        Raises TooFewHeads where the subject has fewer heads, or layers, than the folds need.
        """
        from resolvent.statistics.contest import ContestGenerators, contest

        generators = ContestGenerators(self._seed, claim, self._subject.name)
        with one_thread():
            return contest(self.columns, self.target, self.layer, rule or self.rule, generators)

    def metrics(self, claim: str) -> dict[str, float | Interval]:
        """What the claims require, and every number of `reported_metrics`: without those where heads are too few."""
        from resolvent.statistics.contest import TooFewHeads, distinct_values, reported_metrics

        counted: dict[str, float | Interval] = {
            "total_heads": len(self.target),
            "layers": int(self._subject.layers),
            "target_distinct_values": distinct_values(self.target),
        }
        try:
            return counted | reported_metrics(self.result(claim))
        except TooFewHeads:
            return counted


def _rule(protocol: Mapping[str, Any]) -> ContestRule:
    """The rule of the protocol. Raises InvalidRule, and ResolventError for texts or nulls that features can't be of."""
    from resolvent.statistics.contest import ContestRule

    if CORPUS not in states(protocol):
        raise ResolventError(f"protocol: the contest's features are those of {CORPUS}; found text {protocol['text']}")
    if set(protocol["nulls"]) != {NULL}:
        raise ResolventError(f"protocol: the contest takes nulls of {NULL}, found {protocol['nulls']}")
    return ContestRule.of_protocol(protocol)


def _survival_shards(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    from resolvent.statistics.contest import SURVIVAL_POWERS

    return [
        survival_shard(
            subject.name,
            head_count(subject),
            block,
            state=CORPUS,
            length=int(protocol["length"]),
            repeat=None,
            powers=SURVIVAL_POWERS,
        )
        for block in blocks(0, int(protocol["texts"]))
    ]


def _survival(
    subject: Subject, protocol: Mapping[str, Any], bos_mass: np.ndarray, load: Callable[[Shard], Result]
) -> dict[str, np.ndarray]:
    """The features of both additions to family E; which of them enters is the rule's."""
    from resolvent.statistics.contest import SHORT_POWERS, SURVIVAL_POWERS, survival_features, survival_short_features

    table = HeadTables(subject, _survival_shards(subject, protocol), load, int(protocol["texts"]))
    length = int(protocol["length"])

    def log10(powers: tuple[int, ...]) -> np.ndarray:
        return np.stack([table[f"log10_survival_{power}"] for power in powers], axis=-1)

    return survival_features(log10(SURVIVAL_POWERS), length) | survival_short_features(
        log10(SHORT_POWERS), bos_mass, length
    )
