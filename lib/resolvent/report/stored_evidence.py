"""What a report may read of the evidence: what lies in the store, and of a run only what that run rested on."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from resolvent.evidence.engine import Engine
    from resolvent.evidence.shards import Result, Shard
    from resolvent.models.subjects import StudySubjects, Subject


class EvidenceGone(ResolventError):
    """Evidence that a figure needs is not in the store, or is not what the run rested on."""


class StoredEvidence:
    """Reads shards and views; computes nothing.

    engine   of the study; its keys say what the code as it stands would read
    keys     of the evidence that the reported run rested on; None: any
    _views   (view, subject, relevant protocol) -> view
    """

    def __init__(self, engine: Engine, keys: Iterable[str] | None = None) -> None:
        self.engine = engine
        self.keys = None if keys is None else frozenset(keys)
        self._views: dict[tuple[str, str, str], Any] = {}

    @property
    def subjects(self) -> StudySubjects:
        return self.engine.subjects

    def load(self, shard: Shard) -> Result:
        """The stored result. Raises EvidenceGone, and CorruptShard for damaged evidence."""
        key = self._key(shard)
        return self.engine.store.read(key, shard)

    def metadata(self, shard: Shard) -> dict[str, str]:
        """Its metadata alone. Raises as `load` does."""
        key = self._key(shard)
        return self.engine.store.metadata(key, shard)

    def view(self, name: str, subject: Subject, protocol: Mapping[str, Any]) -> Any:
        """A view of the evidence as a claim with this protocol has it. Raises EvidenceGone, TooFewTexts."""
        from resolvent.evidence.views import VIEWS

        if name not in VIEWS:
            raise EvidenceGone(f"there is no view '{name}'; known are {', '.join(VIEWS)}")
        module, _, attribute = VIEWS[name].partition(":")
        view = getattr(importlib.import_module(module), attribute)
        relevant = {key: value for key, value in protocol.items() if key in view.protocol_keys}
        key = (name, subject.name, json.dumps(relevant, sort_keys=True))
        if key not in self._views:
            self._views[key] = view(subject, self.subjects, protocol, self.load)
        return self._views[key]

    def _key(self, shard: Shard) -> str:
        key = self.engine.key(shard)
        if self.keys is not None and key not in self.keys:
            raise EvidenceGone(f"the run did not rest on {shard.id} as the code now makes it")
        if not self.engine.complete(shard):
            raise EvidenceGone(f"{shard.id} is not in the store")
        return key


def run_keys(facts: Mapping[str, Any]) -> frozenset[str]:
    """The evidence keys in a run's provenance."""
    evidence = facts.get("evidence", {})
    return frozenset({*evidence.get("computed", {}), *evidence.get("cached", {})})
