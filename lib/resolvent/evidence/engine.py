"""Whoever needs evidence requires it: what is missing is computed here or waited for, and never twice."""

from __future__ import annotations

import importlib
import random
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.evidence.allocator import keep_freed_memory
from resolvent.evidence.fingerprint import Fingerprints
from resolvent.evidence.keys import Keys, source_names
from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.slots import footprint_bytes, try_slot
from resolvent.evidence.store import CorruptShard, Store
from resolvent.evidence.threads import one_thread

if TYPE_CHECKING:
    from resolvent.models.subjects import StudySubjects
    from resolvent.study import Study

# How long to sleep when all that is missing is in progress elsewhere: short at first, for fake stages; a shard of the
# study takes seconds, and 128 waiting workers must not take a core.
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5


class ShardFailed(ResolventError):
    """A shard failed earlier in this run, here or in another process.

    failure  its first traceback; of a ResolventError, which says all there is to know, the message alone
    """

    def __init__(self, shard_id: str, failure: str) -> None:
        separator = "\n" if "\n" in failure else " "
        super().__init__(f"{shard_id} failed earlier in this run:{separator}{failure}")
        self.shard_id, self.failure = shard_id, failure


class EvidenceWarning(UserWarning):
    """Evidence was damaged and is computed again."""


class Engine:
    """One process's access to the evidence of a study.

    run_id       names the run: failures are remembered for as long as it lasts
    present      keys that were complete when the run began: equal in all its processes, so that all plan alike
    _complete    keys seen complete since
    _used        key -> (shard id, seconds if computed by this process, else None)
    _functions   stage functions imported so far
    _set_aside   keys that this process has found damaged once
    """

    def __init__(
        self,
        study: Study,
        subjects: StudySubjects,
        *,
        run_id: str,
        fingerprints: Fingerprints | None = None,
        device: str = "cpu",
        present: Iterable[str] | None = None,
        identities: Mapping[str, Any] | None = None,
    ) -> None:
        self.study = study
        self.subjects = subjects
        self.run_id = run_id
        self.device = device
        self.fingerprints = fingerprints or Fingerprints.at_start()
        self.store = Store(study.evidence)
        self._keys = Keys(self.fingerprints, subjects, device=device, identities=identities)
        self._complete: set[str] = set()
        self._used: dict[str, tuple[str, float | None]] = {}
        self._functions: dict[Stage, Callable[[Call], Result]] = {}
        self._set_aside: set[str] = set()
        if present is not None:
            self.present = frozenset(present)

    @cached_property
    def present(self) -> frozenset[str]:
        return frozenset(self.store.keys())

    def snapshot(self, subject_names: Iterable[str] = ()) -> dict[str, Any]:
        """What every process of the run must agree on, in plain types.

        The identities of the named subjects are worked out here, so that no worker reads a local model's files for it.
        """
        return {
            "run_id": self.run_id,
            "device": self.device,
            "fingerprints": self.fingerprints.to_json(),
            "present": sorted(self.present),
            "identities": {name: self._keys.identity(name) for name in subject_names},
        }

    @classmethod
    def from_snapshot(cls, study: Study, subjects: StudySubjects, snapshot: Mapping[str, Any]) -> Engine:
        return cls(
            study,
            subjects,
            run_id=snapshot["run_id"],
            device=snapshot["device"],
            fingerprints=Fingerprints.from_json(snapshot["fingerprints"]),
            present=snapshot["present"],
            identities=snapshot["identities"],
        )

    def key(self, shard: Shard) -> str:
        return self._keys(shard)

    def complete(self, shard: Shard) -> bool:
        """Whether the store has it now."""
        key = self.key(shard)
        if key not in self._complete and self.store.has(key):
            self._complete.add(key)
        return key in self._complete

    def require(self, shards: Iterable[Shard]) -> None:
        """Returns when all are complete.

        Computes what nobody else is computing, inputs first, and only then waits; takes over where a holder died.
        Raises what a stage raised here; ShardFailed where a shard had failed before in this run.
        """
        wanted = list(shards)
        missing = self._missing(wanted)
        pause = FIRST_PAUSE
        while missing:
            computed = False
            for shard in missing:
                try:
                    computed |= self.compute(shard)
                except CorruptShard as damage:
                    self._replace(damage)
                    computed = True
            missing = self._missing(wanted)
            if missing and not computed:
                time.sleep(pause * random.uniform(0.7, 1.0))  # so that waiting workers don't ask all at once
                pause = min(LONGEST_PAUSE, 1.5 * pause)
            else:
                pause = FIRST_PAUSE
        for shard in wanted:
            self._used.setdefault(self.key(shard), (shard.id, None))

    def compute(self, shard: Shard) -> bool:
        """One attempt, without waiting: True where this process has computed it now.

        False where it is complete, its inputs aren't, another process has it, or no memory slot is free.
        Raises what the stage raises; ShardFailed where it or one of its inputs failed before; CorruptShard of an input.
        """
        if self.complete(shard):
            return False
        key = self.key(shard)
        self._raise_failure(shard, key)
        if not all(self.complete(given) for given in shard.inputs):
            return False
        with ExitStack() as held:
            if not held.enter_context(self.store.lock(key)):
                return False
            # Again, under the lock: its last holder may have finished or failed in between.
            if self.complete(shard):
                return False
            self._raise_failure(shard, key)
            if shard.stage.loads_model:
                bytes_needed = footprint_bytes(self.study, self.subjects.subject(shard.subject), shard.params)
                if not held.enter_context(try_slot(bytes_needed)):
                    return False
            try:
                self._run(shard, key)
            except CorruptShard:
                raise
            except Exception as error:
                error.add_note(f"in evidence shard {shard.id}")
                told = str(error) if isinstance(error, ResolventError) else traceback.format_exc()
                self.store.write_failure(self.run_id, key, shard, told)
                raise
        return True

    def load(self, shard: Shard) -> Result:
        """The result, computed first where it is missing, and again, with an EvidenceWarning, where it is damaged.

        Raises as `require` does; CorruptShard where the store can't be written or the same shard is damaged again.
        """
        while True:
            self.require((shard,))
            try:
                return self.store.read(self.key(shard), shard)
            except CorruptShard as damage:
                self._replace(damage)

    def account(self) -> dict[str, dict[str, Any]]:
        """What this process has used, in plain types: `computed` {key: [id, seconds]}, `cached` {key: id}.

        What a killed worker computed is in nobody's account; its sidecars name the run.
        """
        return {
            "computed": {key: [name, seconds] for key, (name, seconds) in self._used.items() if seconds is not None},
            "cached": {key: name for key, (name, seconds) in self._used.items() if seconds is None},
        }

    def _missing(self, wanted: Iterable[Shard]) -> list[Shard]:
        """The incomplete ones among the wanted and the inputs of incomplete ones, inputs first."""
        found: dict[str, Shard] = {}

        def visit(shard: Shard) -> None:
            if self.key(shard) not in found and not self.complete(shard):
                for given in shard.inputs:
                    visit(given)
                found[self.key(shard)] = shard

        for shard in wanted:
            visit(shard)
        return list(found.values())

    def _run(self, shard: Shard, key: str) -> None:
        keep_freed_memory()
        function = self._function(shard.stage)
        began = time.perf_counter()
        call = Call(
            study=self.study,
            subject=self.subjects.subject(shard.subject),
            params=shard.params,
            inputs=tuple(self.store.read(self.key(given), given) for given in shard.inputs),
            seed=self.subjects.seed,
            device=self.device,
        )
        with one_thread():
            result = function(call)
        if not isinstance(result, Result):
            raise TypeError(f"{shard.stage.function} returned {type(result).__name__}, not a Result")
        seconds = time.perf_counter() - began
        self.store.write(
            key,
            shard,
            result,
            inputs=[self.key(given) for given in shard.inputs],
            code=self._keys.code(shard.stage),
            seconds=seconds,
            run=self.run_id,
        )
        self._complete.add(key)
        self._used[key] = (shard.id, seconds)

    def _function(self, stage: Stage) -> Callable[[Call], Result]:
        if stage not in self._functions:
            self.fingerprints.check_unchanged(source_names(stage))
            module, _, name = stage.function.partition(":")
            self._functions[stage] = getattr(importlib.import_module(module), name)
        return self._functions[stage]

    def _raise_failure(self, shard: Shard, key: str) -> None:
        failure = self.store.failure(self.run_id, key)
        if failure is not None:
            raise ShardFailed(shard.id, failure)

    def _replace(self, damage: CorruptShard) -> None:
        """Sets a damaged shard aside, so that it is computed again. Raises the damage at the second time."""
        key = self.key(damage.shard)
        if key in self._set_aside:
            raise damage
        with ExitStack() as held:
            while not held.enter_context(self.store.lock(key, seconds=LONGEST_PAUSE)):
                pass  # another process is computing it, having found the same damage
            self._complete.discard(key)
            if self.store.set_aside(damage, key):
                self._set_aside.add(key)
                warnings.warn(f"{damage}. It is computed again.", EvidenceWarning, stacklevel=3)


def merge_accounts(accounts: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """One account of several processes: what any has computed is not cached."""
    merged: dict[str, dict[str, Any]] = {"computed": {}, "cached": {}}
    for account in accounts:
        merged["computed"].update(account["computed"])
        merged["cached"].update(account["cached"])
    merged["cached"] = {key: name for key, name in merged["cached"].items() if key not in merged["computed"]}
    return merged
