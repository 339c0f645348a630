"""What the contest predicts: one value a head, from the evidence that each target rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.ablation import ablation_shards
from resolvent.evidence.stages.battery import battery_shard
from resolvent.evidence.stages.behaviour import behaviour_shard
from resolvent.evidence.stages.common import blocks
from resolvent.evidence.stages.powers import persistence_shard
from resolvent.evidence.views.tables import HeadTables, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import Subject

CORPUS, PROBE = "corpus", "repeat_probe"


@dataclass(frozen=True)
class Target:
    """One target: which table it is read from, and how a head's rows become one number."""

    state: str
    """The text it is measured on; it must be among the protocol's."""
    shards: Callable[[Subject, Mapping[str, Any]], list[Shard]]
    per_head: Callable[[HeadTables], np.ndarray]
    texts: str = "texts"
    """The protocol's key for how many texts it is measured on."""


def target_shards(name: str, subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    """The evidence of a target. Raises ResolventError where the protocol lacks the text it is measured on."""
    target = TARGETS[name]
    if target.state not in states(protocol):
        raise ResolventError(f"protocol: target {name} needs the text {target.state}; found {protocol['text']}")
    if target.texts not in protocol:
        raise ResolventError(f"protocol: target {name} needs `{target.texts}`, on how many texts it is measured")
    return target.shards(subject, protocol)


def target_values(
    name: str, subject: Subject, protocol: Mapping[str, Any], load: Callable[[Shard], Result]
) -> np.ndarray:
    """The target of every head, (heads,); −inf where a logarithm is of zero. Raises TooFewTexts."""
    target = TARGETS[name]
    shards = target_shards(name, subject, protocol)
    return target.per_head(HeadTables(subject, shards, load, int(protocol[target.texts])))


def half_depth(subject: Subject) -> int:
    """⌈L/2⌉: the power at which persistence is measured."""
    return -(-int(subject.layers) // 2)


def _persistence(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    return _on_corpus(persistence_shard, subject, protocol, power=half_depth(subject))


def _battery(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    return _on_corpus(battery_shard, subject, protocol)


def _behaviour(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    repeat = repeat_of(PROBE, protocol)
    assert repeat is not None  # a probe has one
    cut = blocks(0, int(protocol["texts"]))
    return [behaviour_shard(subject.name, head_count(subject), block, repeat=repeat) for block in cut]


def _ablation(subject: Subject, protocol: Mapping[str, Any]) -> list[Shard]:
    texts = range(int(protocol["criticality_texts"]))
    return ablation_shards(subject, texts=texts, state=CORPUS, length=int(protocol["length"]), repeat=None)


def _on_corpus(make: Callable[..., Shard], subject: Subject, protocol: Mapping[str, Any], **more: Any) -> list[Shard]:
    return [
        make(
            subject.name, head_count(subject), block, state=CORPUS, length=int(protocol["length"]), repeat=None, **more
        )
        for block in blocks(0, int(protocol["texts"]))
    ]


def _median(column: str) -> Callable[[HeadTables], np.ndarray]:
    return lambda table: table.median(column)


def _criticality(table: HeadTables) -> np.ndarray:
    """Rise of the mean cross-entropy over all texts, which have one length."""
    return table["criticality"].mean(axis=0)


def _interior_growth(table: HeadTables) -> np.ndarray:
    """Median over texts of log2(sup_k ||A_dev^k|| / ||A_dev||), 0 where k_sup is 1."""
    grows = table["k_sup"] > 1
    ratio = np.divide(table["transient"], table["operator_norm"], out=np.ones(grows.shape), where=grows)
    return np.median(np.log2(ratio), axis=0)


TARGETS: dict[str, Target] = {
    "persistence": Target(CORPUS, _persistence, _median("log10_persistence")),
    "previous_token": Target(CORPUS, _battery, _median("previous_token_mass")),
    "induction": Target(PROBE, _behaviour, _median("induction_score")),
    "duplicate_token": Target(PROBE, _behaviour, _median("duplicate_token_score")),
    "criticality": Target(CORPUS, _ablation, _criticality, texts="criticality_texts"),
    "interior_growth": Target(CORPUS, _battery, _interior_growth),
}
"""By the names of `statistics.contest.TARGETS`."""
