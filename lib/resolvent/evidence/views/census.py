"""The census: every head's battery on the corpus, against nulls of the same matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resolvent.errors import ResolventError
from resolvent.evidence.stages.battery import battery_shard, null_shard
from resolvent.evidence.stages.common import FINAL, REAL, Block, blocks
from resolvent.evidence.views import TooFewTexts
from resolvent.evidence.views.tables import (
    GROWTH_RATIO,
    HEAD_NULLS,
    HeadTables,
    head_count,
    layer_labels,
    repeat_of,
    states,
)

if TYPE_CHECKING:
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject
    from resolvent.statistics import SignedClasses


OPEN_GAP = 1e-5
"""Relative gap between the bounds on K above which a null counts as open: its plateau outlasted the budget."""

BOUND_ATTAINED = 0.9
"""K_dev over sup_k from which the Kreiss bound counts as nearly attained (prereg/interior_growth.yaml, `says`)."""

GROWING_NULLS = 0.05
"""Largest share of a growing head's own nulls that may grow too (the same place)."""


def state_shards(
    subject: Subject, protocol: Mapping[str, Any], state: str, kinds: Mapping[str, int], checkpoint: str = FINAL
) -> dict[str, list[list[Shard]]]:
    """By "real" and by null kind: for each draw, the shards of the blocks of texts."""
    heads, length, repeat = head_count(subject), int(protocol["length"]), repeat_of(state, protocol)
    ratio = float(protocol.get("growth_ratio", GROWTH_RATIO))
    cut = list(blocks(0, int(protocol["texts"])))

    def null(block: Block, kind: str, draw: int) -> Shard:
        return null_shard(
            subject.name,
            heads,
            block,
            state=state,
            length=length,
            repeat=repeat,
            kind=kind,
            draw=draw,
            growth_ratio=ratio,
            checkpoint=checkpoint,
        )

    real = [
        battery_shard(subject.name, heads, block, state=state, length=length, repeat=repeat, checkpoint=checkpoint)
        for block in cut
    ]
    nulls = {kind: [[null(block, kind, draw) for block in cut] for draw in range(n)] for kind, n in kinds.items()}
    return {REAL: [real], **nulls}


class StateCensus:
    """Battery and nulls of one state: arrays (texts, heads), heads numbered layer by layer."""

    def __init__(
        self,
        subject: Subject,
        protocol: Mapping[str, Any],
        state: str,
        kinds: Mapping[str, int],
        load: Callable[[Shard], Result],
        checkpoint: str = FINAL,
    ) -> None:
        parts = state_shards(subject, protocol, state, kinds, checkpoint)
        self.texts = int(protocol["texts"])
        self.layer = layer_labels(subject)
        self.real = HeadTables(subject, parts[REAL][0], load, self.texts)
        self._nulls = {kind: [HeadTables(subject, draw, load, self.texts) for draw in parts[kind]] for kind in kinds}

    def median(self, name: str) -> np.ndarray:
        """Per head the median over texts of a battery column."""
        return self.real.median(name)

    def null(self, kind: str, name: str) -> np.ndarray:
        """A column of the null draws, (draws, texts, heads)."""
        if not self._nulls.get(kind):
            raise ResolventError(f"the protocol draws no null '{kind}'; it has: {', '.join(self._nulls) or 'none'}")
        return np.stack([table[name] for table in self._nulls[kind]])

    def excess(self, kind: str) -> np.ndarray:
        """Per head the median over texts of log2 K(A_dev) minus its mean over the null draws, bits."""
        bits = np.log2(self.real["kreiss"]) - np.log2(self.null(kind, "kreiss")).mean(axis=0)
        return np.median(bits, axis=0)

    def radius_difference(self, kind: str) -> np.ndarray:
        """Per head the median over texts of rho_0.01 minus its mean over the null draws."""
        return np.median(self.real["rho_eps_1e-2"] - self.null(kind, "rho_eps_1e-2").mean(axis=0), axis=0)

    def null_kreiss(self, kind: str) -> np.ndarray:
        """Per head the median over texts and draws of the nulls' K_dev."""
        values = self.null(kind, "kreiss")
        return np.median(values.reshape(-1, values.shape[-1]), axis=0)

    def certificate_gaps(self) -> dict[str, float]:
        """How far the bounds on K stay apart: worst relative gap of the real heads, and the share of open nulls."""
        real = self.real["kreiss_upper"] / self.real["kreiss"] - 1
        gaps = {"largest_kreiss_gap": float(real.max())}
        if self._nulls:
            nulls = np.concatenate(
                [(self.null(k, "kreiss_upper") / self.null(k, "kreiss") - 1).reshape(-1) for k in self._nulls]
            )
            gaps["open_null_fraction"] = float((nulls > OPEN_GAP).mean())
        return gaps


class Census(StateCensus):
    """The corpus census of a subject. Fixture `census`."""

    protocol_keys: ClassVar[frozenset[str]] = frozenset(
        {
            "text",
            "length",
            "texts",
            "nulls",
            "test",
            "mass_range",
            "tolerance_bits",
            "strong_sink",
            "growth_ratio",
            "previous_token_score",
            "headroom",
        }
    )
    null_kinds: ClassVar[frozenset[str]] = HEAD_NULLS

    @classmethod
    def shards(cls, subject: Subject, subjects: StudySubjects, protocol: Mapping[str, Any]) -> list[Shard]:
        """Battery and null shards of the protocol's one state."""
        (state,) = states(protocol)
        by_kind = state_shards(subject, protocol, state, protocol.get("nulls", {}))
        return [shard for draws in by_kind.values() for blocks_ in draws for shard in blocks_]

    def __init__(
        self,
        subject: Subject,
        subjects: StudySubjects,
        protocol: Mapping[str, Any],
        load: Callable[[Shard], Result],
    ) -> None:
        (state,) = states(protocol)
        super().__init__(subject, protocol, state, protocol.get("nulls", {}), load)
        self._protocol = protocol

    def signed(self, kind: str) -> SignedClasses:
        """The heads that `within_text_rank` against every draw sets apart, at the level of the protocol's `test`.

        Raises TooFewTexts where no data could reach the level.
        """
        from resolvent.statistics import signed_classes, within_text_rank

        draws = np.log2(self.null(kind, "kreiss"))
        level = self._reachable_level(len(draws))
        return signed_classes(within_text_rank(np.log2(self.real["kreiss"]), draws), level)

    def signed_one_draw(self, kind: str) -> SignedClasses:
        """The paper's reading: a signed-rank test of each head against draw 0 only. Raises TooFewTexts likewise."""
        from resolvent.statistics import signed_classes, wilcoxon_one_draw

        draw = np.log2(self.null(kind, "kreiss")[0])
        level = self._reachable_level(draws=1)
        return signed_classes(wilcoxon_one_draw(np.log2(self.real["kreiss"]), draw), level)

    def _reachable_level(self, draws: int) -> float:
        from resolvent.statistics import texts_needed

        level = float(self._protocol["test"]["level"])
        needed = texts_needed(draws, level)
        if self.texts < needed:
            raise TooFewTexts(self.texts, needed, f"{draws} null draws a text can't reach the level {level} with fewer")
        return level

    @cached_property
    def law_error(self) -> np.ndarray:
        """Per head the median over texts of |log2 K_dev - log2 K(p)| at the text's BOS mass p, bits."""
        from resolvent.operators import kreiss_from_bos_mass

        law = kreiss_from_bos_mass(self.real["bos_mass"], int(self._protocol["length"]))
        return np.median(np.abs(np.log2(self.real["kreiss"]) - np.log2(law)), axis=0)

    @cached_property
    def growing(self) -> np.ndarray:
        """The heads with interior growth that their own row-permutation nulls do not show, bool (heads,).

        Median k_sup of at least 2, median sup_k/||A_dev|| of at least the protocol's growth_ratio, median K_dev/sup_k
        of at least BOUND_ATTAINED, and at most GROWING_NULLS of their own nulls growing.
        """
        transient = self.real["transient"]
        ratio = np.median(transient / self.real["operator_norm"], axis=0)
        attained = np.median(self.real["kreiss"] / transient, axis=0)
        null_growth = self.null("row_permutation", "grows").astype(np.float64).mean(axis=(0, 1))
        grows = (self.median("k_sup") >= 2) & (ratio >= float(self._protocol["growth_ratio"]))
        return grows & (attained >= BOUND_ATTAINED) & (null_growth <= GROWING_NULLS)
