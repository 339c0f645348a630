"""The key of a shard: the SHA-256 of everything that determines its result."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError

if TYPE_CHECKING:
    from resolvent.evidence.fingerprint import Fingerprints
    from resolvent.evidence.shards import Shard, Stage
    from resolvent.models.subjects import StudySubjects, Subject

# Raised when the meaning of a stored file changes; every key changes with it.
FORMAT = 1


class Keys:
    """Shard -> key, each computed once.

    identities   subject name -> what determines the model's content, from `Subject.identity()` or handed over by the
                 process that started the run (hashing a local model's files is slow)
    device_kind  `cpu` or `cuda`: a second card of the same machine is not another device
    """

    def __init__(
        self,
        fingerprints: Fingerprints,
        subjects: StudySubjects,
        *,
        device: str,
        identities: Mapping[str, Any] | None = None,
    ) -> None:
        self.fingerprints = fingerprints
        self.subjects = subjects
        self.device_kind = device.partition(":")[0]
        self._identities = dict(identities or {})
        self._keys: dict[int, tuple[Shard, str]] = {}  # by object; the shard is kept, so that its address stays taken
        self._code: dict[Stage, dict[str, Any]] = {}
        self._texts: dict[tuple[str, str | None], Any] = {}

    def __call__(self, shard: Shard) -> str:
        known = self._keys.get(id(shard))
        if known is None:
            known = (shard, hashlib.sha256(self._ingredients(shard).encode()).hexdigest())
            self._keys[id(shard)] = known
        return known[1]

    def identity(self, name: str) -> Any:
        if name not in self._identities:
            self._identities[name] = self.subjects.subject(name).identity()
        return self._identities[name]

    def code(self, stage: Stage) -> dict[str, Any]:
        """Stage, source hashes and package versions, as the key and the sidecar hold them."""
        if stage not in self._code:
            self._code[stage] = {
                "stage": [stage.name, stage.version],
                "sources": {name: self.fingerprints.source(name) for name in source_names(stage)},
                "packages": {name: self.fingerprints.package(name) for name in stage.packages},
            }
        return self._code[stage]

    def _ingredients(self, shard: Shard) -> str:
        state = shard.params.get("state")
        if (shard.subject, state) not in self._texts:
            self._texts[shard.subject, state] = text_identity(
                self.subjects, self.subjects.subject(shard.subject), state
            )
        return canonical_json(
            {
                "format": FORMAT,
                **self.code(shard.stage),
                "params": shard.params,
                # The name too: random draws are keyed by it.
                "subject": [shard.subject, self.identity(shard.subject)],
                "text": self._texts[shard.subject, state],
                "seed": self.subjects.seed,
                "dtype": shard.params.get("dtype", "float32"),
                "device": self.device_kind,
                "inputs": [self(given) for given in shard.inputs],
            }
        )


def text_identity(subjects: StudySubjects, subject: Subject, state: str | None) -> Any:
    """Name and entry of the text that a state names: the subject's own corpus for `corpus`, else that of its own name.

    None where a shard reads no text. Raises ResolventError for a state that the study has no text for.
    """
    if state is None:
        return None
    name = subject.corpus if state == "corpus" else state
    if name not in subjects.texts:
        allowed = ", ".join(["corpus", *sorted(subjects.texts)])
        raise ResolventError(f"{subject.name}: no text for state {state!r} ({name!r}); allowed: {allowed}")
    return [name, subjects.texts[name].entry]


def source_names(stage: Stage) -> tuple[str, ...]:
    """The module of the stage function and the declared sources."""
    return tuple(sorted({stage.function.partition(":")[0], *stage.sources}))


def canonical_json(value: Any) -> str:
    """Keys sorted, no spaces; dataclasses as their fields.

    Raises TypeError for what has no plain form, ValueError for NaN.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} can't be part of a key: plain values only")
