"""The fixtures of a claim test: `claim`, and one per view."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.claim_item import claim_and_subject, needs_key
from resolvent.pytest_plugin.outcomes import ClaimTestError, Unavailable, ending
from resolvent.pytest_plugin.study_run import StudyRun

if TYPE_CHECKING:
    import numpy as np

    from resolvent.models.subjects import Subject
    from resolvent.registry import Claim, Judgement
    from resolvent.report.verdict_line import VerdictLine
    from resolvent.statistics import Interval

# Claims of one family follow each other and share their views; more would hold tables that nobody asks for again.
_KEPT_VIEWS = 6

claim_key: pytest.StashKey[ClaimUnderTest] = pytest.StashKey()


class ClaimUnderTest:
    """What a claim test is given as `claim`.

    name, title, subject   of the pair under test
    protocol   the frozen protocol as this run follows it
    line       the verdict, once judged
    ending     the exception with which the test must end, once judged; None where it passes
    """

    def __init__(self, run: StudyRun, claim: Claim, subject: Subject) -> None:
        self._run = run
        self._claim = claim
        self.name = claim.name
        self.title = claim.title
        self.subject = subject
        self.protocol: Mapping[str, Any] = run.protocol(claim)
        self.line: VerdictLine | None = None
        self.ending: BaseException | None = None

    def judge(self, **metrics: float | bool | int | Interval) -> None:
        """Compares the metrics with the frozen predicates and ends the test as the verdict demands.

        Returns where the verdict passes; else raises Refuted, Undecided or Flipped, or pytest's own xfail (a recorded
        negative) and skip (inestimable). Raises ClaimTestError where the pair was judged before, MetricError for a
        metric that is missing, unknown or NaN.
        """
        from resolvent.registry import judge

        self._settle(judge(self._claim, self.subject.name, self.subject.attributes(), metrics))
        if self.ending is not None:
            raise self.ending

    def verdict(self, **metrics: float | bool | int | Interval) -> str:
        """The verdict that these metrics would get; settles nothing. For what another reading of a definition changes.

        Raises MetricError as `judge` does.
        """
        from resolvent.registry import judge

        return judge(self._claim, self.subject.name, self.subject.attributes(), metrics).verdict

    def too_few_texts(self, found: int, asked: int) -> None:
        """Settles the pair as inestimable: the corpus has fewer texts of full length than the protocol asks for."""
        from resolvent.registry import inestimable

        self._settle(inestimable(self._claim, self.subject.name, "texts", found, f">= {asked}"))

    def interval(self, metric: str, statistic: Callable[..., Any], *columns: np.ndarray, layer: np.ndarray) -> Interval:
        """Bootstrap interval of `statistic(*columns)` over heads, by the rule of the metric's criterion.

        columns  each (heads, …), resampled together
        layer    (heads,) the layer of each head

        Raises ClaimTestError where the claim asks for no bootstrap interval of `metric`.
        """
        import numpy as np

        from resolvent.keyed_random import generator
        from resolvent.statistics import bootstrap

        rule = self._claim.interval_rule(metric)
        if rule is None or rule.draws is None or rule.method != "bootstrap":
            raise ClaimTestError(f"prereg/{self.name}.yaml asks for no bootstrap interval of '{metric}'")
        labels = {"heads": np.arange(len(layer)), "layers": np.asarray(layer)}
        seed = self._run.subjects.seed
        return bootstrap(
            lambda rows: float(statistic(*(column[rows] for column in columns))),
            groups={over: labels[over] for over in rule.groups},
            level=rule.level,
            draws=rule.draws,
            rngs={over: generator(seed, "bootstrap", self.name, self.subject.name, over) for over in rule.groups},
        )

    def proportion(self, metric: str, successes: int, trials: int) -> Interval:
        """Clopper–Pearson interval of a proportion, at the level of the metric's criterion."""
        from resolvent.statistics import clopper_pearson

        rule = self._claim.interval_rule(metric)
        if rule is None or rule.method != "clopper_pearson":
            raise ClaimTestError(f"prereg/{self.name}.yaml asks for no Clopper–Pearson interval of '{metric}'")
        return clopper_pearson(successes, trials, rule.level)

    def _settle(self, judgement: Judgement) -> None:
        from resolvent.report.criteria_table import criteria_table
        from resolvent.report.verdict_line import VerdictLine

        if self.line is not None:
            raise ClaimTestError(f"test_{self.name} called claim.judge twice; a claim × subject has one verdict")
        pair = (self.name, self.subject.name)
        self.line = VerdictLine(
            judgement=judgement,
            recorded=self._run.recorded.get(pair),
            kind=self._run.kind(self._claim),
            title=self._claim.title,
            seen=not self._claim.blind(self.subject.name),
            exploratory=self._run.exploratory_reasons(self._claim, self.subject.name),
        )
        shown = self.line.shown
        self.ending = ending(shown.category, shown.word, criteria_table(self.line))


def register_fixtures(session: pytest.Session, run: StudyRun) -> None:
    """Makes `claim` and every view of the run a fixture. Done by hand: which views there are is known only now."""

    def claim(request: pytest.FixtureRequest) -> ClaimUnderTest:
        name, subject = claim_and_subject(request.node)
        bound = ClaimUnderTest(run, run.claim(name), run.subject(subject))
        request.node.stash[claim_key] = bound
        if subject in run.unavailable:
            raise Unavailable(run.unavailable[subject])
        needs = request.node.stash[needs_key]
        if isinstance(needs, ResolventError):
            raise needs
        # All at once, so that a worker that comes too early computes what is missing in the plan's order.
        run.engine.require(needs)
        return bound

    pytest.register_fixture(name="claim", func=claim, node=session)
    cache: OrderedDict[tuple[str, str, str], Any] = OrderedDict()
    for name in run.views:
        pytest.register_fixture(name=name, func=_view_fixture(run, name, cache), node=session)


def _view_fixture(
    run: StudyRun, name: str, cache: OrderedDict[tuple[str, str, str], Any]
) -> Callable[[ClaimUnderTest], Any]:
    view: Any = run.views[name]

    def fixture(claim: ClaimUnderTest) -> Any:
        relevant = {key: value for key, value in claim.protocol.items() if key in view.protocol_keys}
        key = (name, claim.subject.name, json.dumps(relevant, sort_keys=True))
        if key not in cache:
            cache[key] = view(claim.subject, run.subjects, claim.protocol, run.engine.load)
        cache.move_to_end(key)
        while len(cache) > _KEPT_VIEWS:
            cache.popitem(last=False)
        return cache[key]

    return fixture
