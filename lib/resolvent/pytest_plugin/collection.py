"""Collection: claim × subject items, and the missing evidence as items ahead of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.claim_item import claim_and_subject, is_claim_item, needs_key
from resolvent.pytest_plugin.shard_item import ShardItem
from resolvent.pytest_plugin.study_run import StudyRun

if TYPE_CHECKING:
    from resolvent.evidence.plan import Plan
    from resolvent.evidence.shards import Shard
    from resolvent.registry import Claim

# Parametrisation of a claim that applies to no chosen subject: the item is dropped again.
_NOBODY = "not-applicable"


class Collection:
    """Parametrises claim tests and prepends missing shards.

    Every process runs it on the controller's snapshot, so that all collect the same items in the same order.
    Registered in pytest_sessionstart: an earlier plugin's wrapper would stand inside that of `--lf`, which then
    drops the shards.

    planned  the evidence plan of the surviving claims, once collected
    """

    def __init__(self, run: StudyRun) -> None:
        self.run = run
        self.planned: Plan | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        from resolvent.evidence.views import VIEWS

        try:
            self.run.load_views([VIEWS, *session.config.hook.pytest_resolvent_views()])
        except ResolventError as error:
            raise pytest.UsageError(str(error)) from None
        from resolvent.pytest_plugin.claim_fixture import register_fixtures

        register_fixtures(session, self.run)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "claim" not in metafunc.fixturenames or not self._in_claims(metafunc.definition.path):
            return
        try:
            claim = self._claim_of(metafunc)
            names = [name for name in self.run.chosen if claim.applicable(self.run.subject(name).attributes())]
        except ResolventError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        metafunc.parametrize("claim", names or [None], indirect=True, ids=names or [_NOBODY])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        from resolvent.evidence.plan import plan

        nobody = [item for item in items if _applies_to_nobody(item)]
        items[:] = [item for item in items if not _applies_to_nobody(item)]
        result = yield
        if nobody and session.config.option.collectonly:
            session.config.hook.pytest_deselected(items=nobody)  # else they count as collected, and are not shown
        shards: list[Shard] = []
        for item in items:
            if not is_claim_item(item):
                continue
            try:
                item.stash[needs_key] = self._needs(item)
            except ResolventError as error:
                item.stash[needs_key] = error
                continue
            if claim_and_subject(item)[1] not in self.run.unavailable:
                shards += item.stash[needs_key]
        try:
            self.planned = plan(self.run.engine, shards)
        except ResolventError as error:
            raise pytest.UsageError(str(error)) from None
        self._check_store(session.config)
        items[:0] = [ShardItem.of(session, self.run.engine, shard) for shard in self.planned.missing]
        return result

    def _check_store(self, config: pytest.Config) -> None:
        """Raises pytest.UsageError where evidence is missing and the store can't take it.

        Not in workers: xdist shows an error of theirs as one of its own, and there each shard says it.
        """
        assert self.planned is not None
        if self.run.options.plan_only or config.option.collectonly or hasattr(config, "workerinput"):
            return
        reason = self.run.engine.store.why_not_writable() if self.planned.missing else None
        if reason is not None:
            raise pytest.UsageError(
                f"{reason}, and {len(self.planned.missing)} shards of evidence are missing from it; "
                "name another folder with --evidence-dir=DIR"
            )

    def _in_claims(self, path: Path) -> bool:
        return self.run.claims_folder in path.parents

    def _claim_of(self, metafunc: pytest.Metafunc) -> Claim:
        """The claim that a test function is named after, its protocol checked against the views it uses."""
        from resolvent.evidence.views import allowed_keys, allowed_nulls
        from resolvent.registry import check_protocol

        name = metafunc.definition.originalname.removeprefix("test_")
        claim = self.run.claim(name)
        views = list(self._views(metafunc.fixturenames))
        if claim.protocol and not views:
            asked = ", ".join(other for other in metafunc.fixturenames if other not in ("claim", "request"))
            raise ResolventError(
                f"test_{name}: asks for no view of the evidence (its arguments beside claim: {asked or 'none'}); "
                f"there are {', '.join(sorted(self.run.views))}"
            )
        check_protocol(claim, allowed_keys(views), allowed_nulls(views))
        return claim

    def _views(self, fixturenames: list[str]) -> Iterator[Any]:
        return (self.run.views[name] for name in fixturenames if name in self.run.views)

    def _needs(self, item: pytest.Item) -> list[Shard]:
        name, subject = claim_and_subject(item)
        protocol = self.run.protocol(self.run.claim(name))
        try:
            return [
                shard
                for view in self._views(item.fixturenames)  # type: ignore[attr-defined]
                for shard in view.shards(self.run.subject(subject), self.run.subjects, protocol)
            ]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, KeyError) and error.args[0] not in protocol:
                raise ResolventError(f"prereg/{name}.yaml: protocol: missing key {error}") from None
            raise ResolventError(
                f"prereg/{name}.yaml: protocol: no evidence can be planned of it ({type(error).__name__}: {error})"
            ) from error


def _applies_to_nobody(item: pytest.Item) -> bool:
    return is_claim_item(item) and claim_and_subject(item)[1] is None
