"""A claim on planted data: supported where the effect is planted, and not where it isn't. Done before it is frozen."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.claim_fixture import ClaimUnderTest
from resolvent.pytest_plugin.options import DEFAULT_COHORT, RunOptions
from resolvent.pytest_plugin.study_run import StudyRun

if TYPE_CHECKING:
    from resolvent.models.subjects import Subject
    from resolvent.registry import Claim
    from resolvent.report.verdict_line import VerdictLine
    from resolvent.study import Study

EFFECT, NULL = "effect", "null"


class RehearsalError(ResolventError):
    """A claim that can't be tried, or that fails where it must not."""


@dataclass(frozen=True)
class Rehearsal:
    """The verdicts of one claim on its planted examples."""

    effect: VerdictLine
    null: VerdictLine

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps the claim from being frozen; empty where nothing does."""
        found = []
        if self.effect.judgement.verdict != "supported":
            found.append(f"where the effect is planted the claim is {self.effect.judgement.verdict}, not supported")
        if self.null.judgement.verdict == "supported":
            found.append("where nothing is planted the claim is supported too")
        return tuple(found)


def planted_file(study: Study, claim: str) -> Path:
    """Where the planted examples of a claim stand."""
    return study.root / "claims" / "planted" / f"{claim}.py"


def rehearse(study: Study, name: str) -> Rehearsal:
    """Runs a claim's test on claims/planted/<name>.py, whose `effect(rng)` and `null(rng)` return maps by state.

    The subject has the shape of the maps and the attributes that the file's ATTRIBUTES names (default: trained, RMS
    norm, rotary positions). Raises RehearsalError where test or examples are missing or unfit, and whatever the test
    raises.
    """
    from resolvent.registry import load_claim

    path = study.prereg / f"{name}.yaml"
    if not path.is_file():
        raise RehearsalError(f"no claim '{name}': {path} is missing")
    claim = load_claim(path)
    with _importing(study.root, study.root / "claims"):
        test = _test(study, name)
        views = _views(study)
        examples = _module(planted_file(study, name), f"no planted examples of '{name}'; resolvent new-claim shows how")
        lines = {which: _verdict(study, claim, test, views, examples, which) for which in (EFFECT, NULL)}
    return Rehearsal(effect=lines[EFFECT], null=lines[NULL])


def _verdict(
    study: Study,
    claim: Claim,
    test: Callable[..., None],
    views: Mapping[str, Any],
    examples: ModuleType,
    which: str,
) -> VerdictLine:
    from resolvent.evidence.planted import PlantedEvidence
    from resolvent.evidence.views import TooFewTexts, allowed_keys, allowed_nulls
    from resolvent.keyed_random import generator
    from resolvent.models.subjects import load_subjects
    from resolvent.registry import check_protocol

    seed = load_subjects(study).seed
    maps = _maps(examples, which, generator(seed, "planted", claim.name, which))
    subject = _subject(next(iter(maps.values())).shape, getattr(examples, "ATTRIBUTES", {}))
    if not claim.applicable(subject.attributes()):
        facts = ", ".join(f"{key} {value}" for key, value in subject.attributes().items())
        raise RehearsalError(f"{examples.__file__}: '{claim.name}' does not apply to the planted subject ({facts})")
    run = _run(study, subject, seed)
    evidence = PlantedEvidence(study, subject, maps, seed=seed)
    bound = ClaimUnderTest(run, claim, subject)
    wanted = [name for name in inspect.signature(test).parameters if name != "claim"]
    unknown = [name for name in wanted if name not in views]
    if unknown:
        raise RehearsalError(f"test_{claim.name} takes {', '.join(unknown)}; allowed: claim, {', '.join(views)}")
    asked = [views[name] for name in wanted]
    check_protocol(claim, allowed_keys(asked), allowed_nulls(asked))
    try:
        made = {name: views[name](subject, run.subjects, bound.protocol, evidence.load) for name in wanted}
        test(claim=bound, **made)
    except TooFewTexts as error:
        bound.too_few_texts(error.found, error.asked)
    if bound.line is None:
        raise RehearsalError(f"test_{claim.name} returned without calling claim.judge: no verdict")
    return bound.line


def _maps(examples: ModuleType, which: str, rng: Any) -> Mapping[str, Any]:
    function = getattr(examples, which, None)
    if not callable(function):
        raise RehearsalError(f"{examples.__file__}: no function {which}(rng)")
    maps = function(rng)
    shapes = [getattr(array, "shape", ()) for array in maps.values()] if isinstance(maps, Mapping) else []
    if not shapes or any(len(shape) != 5 for shape in shapes):
        raise RehearsalError(
            f"{examples.__file__}: {which}(rng) must return maps by state, each of shape (texts, layers, heads, n, n)"
        )
    return maps


def _subject(shape: tuple[int, ...], attributes: Mapping[str, Any]) -> Subject:
    from resolvent.models.subjects import Subject

    facts = {"trained": True, "norm": "rmsnorm", "positions": "rope", "checkpoints": 0, **attributes}
    return Subject(
        name="planted",
        entry={},
        source="local",
        bos=0,
        corpus="planted",
        layers=shape[1],
        heads=shape[2],
        frozen=False,
        **facts,
    )


def _run(study: Study, subject: Subject, seed: int) -> StudyRun:
    """A run of nothing but the planted subject, in which nothing is registered: no verdict of it counts."""
    from resolvent.evidence.engine import Engine
    from resolvent.models.subjects import StudySubjects

    subjects = StudySubjects(seed=seed, texts={}, cohorts={}, subjects={subject.name: subject})
    nobody: frozenset[str] = frozenset()
    return StudyRun(
        study=study,
        options=RunOptions((), DEFAULT_COHORT, None, None, None, False, "cpu"),
        subjects=subjects,
        chosen=(subject.name,),
        cohort=(),
        registered=nobody,
        registered_subjects=nobody,
        recorded={},
        unavailable={},
        amended=nobody,
        engine=Engine(study, subjects, run_id="rehearsal"),
    )


def _test(study: Study, name: str) -> Callable[..., None]:
    from resolvent.report.rerun import claim_tests

    place = claim_tests(study.root / "claims").get(name)
    if place is None:
        raise RehearsalError(f"no test_{name}(claim, …) in {study.root / 'claims'}")
    test: Callable[..., None] = getattr(_module(study.root / place.partition("::")[0], ""), f"test_{name}")
    return test


def _views(study: Study) -> dict[str, Any]:
    """The views by name: the library's, and those that the study's conftest.py hands over."""
    from resolvent.evidence.views import VIEWS, view_class

    entries = dict(VIEWS)
    conftest = study.root / "conftest.py"
    if conftest.is_file():
        given = getattr(_module(conftest, ""), "pytest_resolvent_views", None)
        entries |= given() if given else {}
    return {name: view_class(name, place) for name, place in entries.items()}


def _module(file: Path, missing: str) -> ModuleType:
    """A file as a module that no other import sees."""
    if not file.is_file():
        raise RehearsalError(f"{file}: {missing}")
    specification = importlib.util.spec_from_file_location(f"_rehearsed_{file.stem}", file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@contextmanager
def _importing(*folders: Path) -> Iterator[None]:
    """With folders on the path, as pytest has them."""
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = before
