"""The identities that the causal mask forces, over real and null matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.common import REAL, blocks
from resolvent.evidence.stages.mask import mask_shard
from resolvent.evidence.views.tables import HEAD_NULLS, HeadTables, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class Mask:
    """Errors of the mask's identities. Fixture `mask`.

    saturation_error, power_identity_error, absorbing   (matrices,): real matrices and nulls of every kind together
    product_identity_error                              (texts, heads): of the real stack
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset({"text", "length", "texts", "nulls", "stack"})
    null_kinds: ClassVar[frozenset[str]] = HEAD_NULLS

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return [shard for part in cls._parts(subject, protocol).values() for shard in part]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        if protocol["stack"] != "head_mean":
            raise ResolventError(f"protocol: stack {protocol['stack']} is unknown; allowed: head_mean")
        texts = int(protocol["texts"])
        tables = {
            key: HeadTables(subject, shards, load, texts) for key, shards in self._parts(subject, protocol).items()
        }

        def everywhere(name: str) -> np.ndarray:
            return np.concatenate([table[name].reshape(-1) for table in tables.values()])

        self.saturation_error = everywhere("saturation_error")
        self.power_identity_error = everywhere("power_identity_error")
        self.absorbing = everywhere("absorbing_rows") > 0
        self.product_identity_error = tables[REAL, 0]["product_identity_error"]

    @staticmethod
    def _parts(subject: Subject, protocol: Mapping[str, Any]) -> dict[tuple[str, int], list[Shard]]:
        (state,) = states(protocol)
        length, repeat = int(protocol["length"]), repeat_of(state, protocol)
        kinds = [(REAL, 0), *((kind, draw) for kind, draws in protocol["nulls"].items() for draw in range(draws))]
        return {
            (kind, draw): [
                mask_shard(
                    subject.name,
                    head_count(subject),
                    block,
                    state=state,
                    length=length,
                    repeat=repeat,
                    kind=kind,
                    draw=draw,
                )
                for block in blocks(0, int(protocol["texts"]))
            ]
            for kind, draw in kinds
        }
