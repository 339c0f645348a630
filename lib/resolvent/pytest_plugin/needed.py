"""Which evidence the claims of a study rest on as they stand: asked of pytest's own collection."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.claim_item import claim_and_subject, is_claim_item, needs_key

if TYPE_CHECKING:
    from resolvent.evidence.shards import Shard
    from resolvent.study import Study


class _Recorder:
    """Takes the keys of every claim item's evidence, and of what that was made from."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.collected = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        collection: Any = session.config.pluginmanager.get_plugin("resolvent-collection")
        for item in session.items:
            if is_claim_item(item):
                needs = item.stash[needs_key]
                if isinstance(needs, ResolventError):
                    raise needs
                try:
                    self.keys.update(collection.run.engine.key(shard) for shard in _with_inputs(needs))
                except ResolventError:
                    # A local model without weights has no key, and so no evidence.
                    if claim_and_subject(item)[1] not in collection.run.unavailable:
                        raise
        self.collected = True


def needed_keys(study: Study, subjects: Iterable[str]) -> set[str]:
    """The keys of all evidence of all claim tests on these subjects, whether it is there or not.

    Raises ResolventError, with pytest's own output, where a claim test can't be collected.
    """
    recorder = _Recorder()
    output = io.StringIO()
    arguments = [
        f"--rootdir={study.root}",
        "--resolvent-plan",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--evidence-dir={study.evidence}",
        f"--subject={','.join(subjects)}",
        str(study.root / "claims"),
    ]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main(arguments, plugins=[recorder])
    if not recorder.collected or status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise ResolventError(f"the claims can't be collected, so nothing is known to be unneeded:\n{output.getvalue()}")
    return recorder.keys


def _with_inputs(shards: Iterable[Shard]) -> Iterator[Shard]:
    for shard in shards:
        yield shard
        yield from _with_inputs(shard.inputs)
