"""The killed-chain identities, over real matrices and their nulls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.chain import chain_shard
from resolvent.evidence.stages.common import REAL, blocks
from resolvent.evidence.views.tables import HeadTables, head_count, repeat_of, states

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class Chain:
    """Violations of the killed-chain theorems. Fixture `chain`.

    bracket_violation, ceiling_ratio, floor_ratio   (matrices,)
    off_axis_excess                                 (off_axis_matrices,): those whose key has the smallest hash
    """

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {"text", "length", "texts", "nulls", "angles", "radii", "off_axis_matrices", "off_axis_choice"}
    )
    null_kinds: ClassVar[frozenset[str]] = frozenset({"row_permutation"})

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        return [shard for part in cls._parts(subject, protocol) for shard in part]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        if protocol["off_axis_choice"] != "smallest_hash":
            raise ResolventError(
                f"protocol: off_axis_choice {protocol['off_axis_choice']} is unknown; allowed: smallest_hash"
            )
        tables = [HeadTables(subject, part, load, int(protocol["texts"])) for part in self._parts(subject, protocol)]

        def everywhere(name: str) -> np.ndarray:
            return np.concatenate([table[name].reshape(-1) for table in tables])

        self.bracket_violation = everywhere("bracket_violation")
        self.ceiling_ratio = everywhere("ceiling_ratio")
        self.floor_ratio = everywhere("floor_ratio")
        chosen = np.argsort(everywhere("hash"), kind="stable")[: int(protocol["off_axis_matrices"])]
        self.off_axis_excess = everywhere("off_axis_excess")[chosen]

    @staticmethod
    def _parts(subject: Subject, protocol: Mapping[str, Any]) -> list[list[Shard]]:
        (state,) = states(protocol)
        length, repeat = int(protocol["length"]), repeat_of(state, protocol)
        off_axis = {
            "angles": protocol["angles"],
            "radii": protocol["radii"],
            "matrices": protocol["off_axis_matrices"],
            "draws": protocol["nulls"].get("row_permutation"),
        }
        if set(protocol["nulls"]) != {"row_permutation"}:
            raise ResolventError(f"protocol: the chain takes nulls of row_permutation, found {protocol['nulls']}")
        kinds = [(REAL, 0), *(("row_permutation", draw) for draw in range(protocol["nulls"]["row_permutation"]))]
        return [
            [
                chain_shard(
                    subject.name,
                    head_count(subject),
                    block,
                    state=state,
                    length=length,
                    repeat=repeat,
                    kind=kind,
                    draw=draw,
                    off_axis=off_axis,
                )
                for block in blocks(0, int(protocol["texts"]))
            ]
            for kind, draw in kinds
        ]
