"""Causal criticality: what the model loses without each head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from resolvent.evidence.stages.ablation import ablation_shards
from resolvent.evidence.views.tables import HeadTables, layer_labels, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class Ablation:
    """The loss rise of each head, heads numbered layer by layer. Fixture `ablation`.

    layer        (heads,)
    by_text      (texts, heads) rise of the text's mean cross-entropy, nats
    criticality  (heads,) rise of the mean cross-entropy over all texts, nats: all texts have one length
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts", "repeat"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        (state,) = states(protocol)
        return ablation_shards(
            subject,
            texts=range(int(protocol["texts"])),
            state=state,
            length=int(protocol["length"]),
            repeat=repeat_of(state, protocol),
        )

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        tables = HeadTables(subject, self.shards(subject, subjects, protocol), load, int(protocol["texts"]))
        self.layer = layer_labels(subject)
        self.by_text = tables["criticality"]
        self.criticality = self.by_text.mean(axis=0)
