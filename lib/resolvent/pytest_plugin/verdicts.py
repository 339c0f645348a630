"""From a judged test to pytest's report: outcome, letter, word, and the verdict line that travels on it.

Everything set on a report is a plain string or list: a numpy scalar would end the whole session under xdist.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.claim_fixture import claim_key
from resolvent.pytest_plugin.claim_item import is_claim_item, needs_key
from resolvent.pytest_plugin.outcomes import ClaimTestError, Unavailable
from resolvent.pytest_plugin.shard_item import ShardItem
from resolvent.pytest_plugin.study_run import StudyRun
from resolvent.report.verdict_words import UNAVAILABLE

if TYPE_CHECKING:
    from resolvent.evidence.shards import Shard


class Verdicts:
    """Runs in every process.

    Attributes set on reports, read by the controller:
      resolvent_verdict   the line of verdicts.jsonl
      resolvent_shown     [category, letter, word, colour]
      resolvent_evidence  keys that a claim × subject rests on
      resolvent_matrices  matrices analysed by a shard item
    """

    def __init__(self, run: StudyRun) -> None:
        self.run = run

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """A view that finds too few texts settles the pair; the test is then not called."""
        from resolvent.evidence.views import TooFewTexts

        try:
            return (yield)
        except TooFewTexts as error:
            if claim_key not in item.stash:
                raise
            item.stash[claim_key].too_few_texts(error.found, error.asked)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        settled = is_claim_item(pyfuncitem) and pyfuncitem.stash[claim_key].line is not None
        return True if settled else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """A claim test judges exactly once, and what `judge` raised can't be swallowed."""
        from resolvent.evidence.views import TooFewTexts

        if not is_claim_item(item):
            return (yield)
        claim = item.stash[claim_key]
        try:
            yield
        except TooFewTexts as error:
            claim.too_few_texts(error.found, error.asked)
        if claim.line is None:
            raise ClaimTestError(f"test_{claim.name} returned without calling claim.judge: no verdict")
        if claim.ending is not None:
            raise claim.ending
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report: Any = yield
        raised = call.excinfo.value if call.excinfo else None
        if isinstance(item, ShardItem):
            if report.when == "call":
                report.resolvent_matrices = int(item.shard.matrices)
            if isinstance(raised, ResolventError):
                report.longrepr = f"{raised}\nA shard can't be run by its id: rerun with pytest -k CLAIM or pytest --lf"
        elif is_claim_item(item):
            self._claim_report(item, report, raised)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str | tuple[str, Mapping[str, bool]]] | None:
        if report.outcome == "rerun":
            return "rerun", "r", ("RERUN", {"yellow": True})
        shown = getattr(report, "resolvent_shown", None)
        if shown is None:
            return None
        category, letter, word, colour = shown
        return category, letter, (word, {colour: True})

    def _keys(self, shards: Iterable[Shard]) -> set[str]:
        """Of the shards and all that they were made from."""
        found: set[str] = set()
        for shard in shards:
            found |= {self.run.engine.key(shard), *self._keys(shard.inputs)}
        return found

    def _claim_report(self, item: pytest.Item, report: Any, raised: BaseException | None) -> None:
        from resolvent.report.criteria_table import criteria_table

        claim = item.stash.get(claim_key, None)
        line = claim.line if claim is not None else None
        # A bug after judging leaves no verdict: only the ending itself, or a passing call, does.
        if claim is not None and line is not None and raised is claim.ending and report.when == "call":
            shown = line.shown
            table = criteria_table(line)
            report.resolvent_verdict = line.to_json_line()
            report.resolvent_shown = [shown.category, shown.letter, shown.word, shown.colour]
            report.resolvent_evidence = sorted(self._keys(item.stash[needs_key]))
            if shown.category == "skipped":
                path, number, _ = item.reportinfo()
                report.longrepr = (str(path), (number or 0) + 1, table)
            elif shown.category != "passed":
                report.longrepr = table
        elif isinstance(raised, Unavailable):
            report.resolvent_shown = list(UNAVAILABLE)
            report.longrepr = str(raised)
        elif isinstance(raised, ResolventError):
            report.longrepr = f"{type(raised).__name__}: {raised}"
        elif report.skipped:
            report.outcome = "failed"
            report.longrepr = f"a claim test may not skip or xfail: it judges, or it fails ({raised})"
            vars(report).pop("wasxfail", None)
