"""The rule of a contest, as a claim's protocol states it, and the generators its draws are keyed by."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.errors import ResolventError
from resolvent.keyed_random import generator
from resolvent.statistics.contest.features import ADDITIONS, EXCLUSIONS

if TYPE_CHECKING:
    from jaxtyping import Float

GROUPINGS = ("head", "layer")
"""What is never on both sides of a fold: the decision needs both, one set of folds each."""
PREPROCESSINGS = ("standardised", "rank_normal")
TARGETS = ("persistence", "previous_token", "induction", "duplicate_token", "criticality", "interior_growth")


class InvalidRule(ResolventError):
    """A protocol that no contest here carries out; the message names the key, what was found and what is allowed."""


@dataclass(frozen=True)
class ContestRule:
    """One contest: which features, which model, which folds, which interval."""

    target: str
    """One of TARGETS."""
    add_to_family_e: tuple[str, ...] = ()
    """Of ADDITIONS."""
    exclude_features: tuple[str, ...] = ()
    """Of EXCLUSIONS."""
    lowest_penalty: float = 1e-2
    highest_penalty: float = 1e4
    penalties: int = 25
    """Their number; spaced evenly in the logarithm."""
    inner_folds: int = 5
    outer_folds: int = 5
    repeats: int = 20
    preprocessing: tuple[str, ...] = PREPROCESSINGS
    over: tuple[str, ...] = ("heads", "layers")
    """What the bootstrap resamples; the wider interval is kept."""
    level: float = 0.975
    draws: int = 4000

    def penalty_grid(self) -> Float[np.ndarray, " penalties"]:
        """The penalties, ascending; each multiplies the squared norm of the coefficients, beside a sum of squares."""
        return np.geomspace(self.lowest_penalty, self.highest_penalty, self.penalties)

    @classmethod
    def of_protocol(cls, protocol: Mapping[str, Any]) -> ContestRule:
        """The rule of a claim's protocol. Raises InvalidRule for a missing key or a value no contest here has."""
        model, folds, interval = (_part(protocol, name) for name in ("model", "folds", "interval"))
        penalties = _part(model, "penalties", "model")
        for where, part, key, allowed in (
            ("model", model, "name", "ridge"),
            ("model", model, "intercept", "unpenalised"),
            ("model", model, "target", "centred_on_training_fold"),
            ("model.penalties", penalties, "spacing", "log"),
            ("protocol", protocol, "score", "pooled"),
            ("protocol", protocol, "features_from", "corpus"),
            ("interval", interval, "method", "paired_bootstrap"),
        ):
            _chosen(where, part, key, (allowed,))
        if sorted(_names(folds, "groups", GROUPINGS)) != sorted(GROUPINGS):
            raise InvalidRule(
                f"contest: folds.groups is {folds['groups']!r}; needed are both of {', '.join(GROUPINGS)}"
            )
        return cls(
            target=_chosen("protocol", protocol, "target", TARGETS),
            add_to_family_e=_names(protocol, "add_to_family_e", ADDITIONS, default=()),
            exclude_features=_names(protocol, "exclude_features", EXCLUSIONS, default=()),
            lowest_penalty=_number("model.penalties", penalties, "from"),
            highest_penalty=_number("model.penalties", penalties, "to"),
            penalties=_count("model.penalties", penalties, "number", 1),
            inner_folds=_count("model", model, "inner_folds", 2),
            outer_folds=_count("folds", folds, "outer", 2),
            repeats=_count("folds", folds, "repeats", 1),
            preprocessing=_names(protocol, "preprocessing", PREPROCESSINGS),
            over=_names(interval, "over", ("heads", "layers")),
            level=_number("interval", interval, "level", below=1.0),
            draws=_count("interval", interval, "draws", 1),
        )


@dataclass(frozen=True)
class ContestGenerators:
    """The generators of a contest, keyed by what is drawn and never by the order of computation."""

    seed: int
    claim: str
    subject: str

    def folds(self, grouping: str, repeat: int, fold: int | str) -> np.random.Generator:
        """Of one split: `fold` is "outer", or the number of the outer fold whose training part is split."""
        return generator(self.seed, "folds", self.claim, self.subject, grouping, repeat, fold)

    def bootstrap(self, over: str) -> np.random.Generator:
        """Of the resamples of heads or of layers: the same ones for every metric of the contest."""
        return generator(self.seed, "bootstrap", self.claim, self.subject, over)


def _part(of: Mapping[str, Any], key: str, where: str = "protocol") -> Mapping[str, Any]:
    if not isinstance(of.get(key), Mapping):
        raise InvalidRule(f"contest: {where}.{key} is {of.get(key)!r}; needed is a mapping")
    return of[key]


def _chosen(where: str, part: Mapping[str, Any], key: str, allowed: Collection[str]) -> str:
    found = part.get(key)
    if not isinstance(found, str) or found not in allowed:
        raise InvalidRule(f"contest: {where}.{key} is {found!r}; allowed is {' or '.join(allowed)}")
    return found


def _names(
    part: Mapping[str, Any], key: str, allowed: Collection[str], *, default: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    found = part.get(key, default)
    if (
        not isinstance(found, list | tuple)
        or any(name not in allowed for name in found)
        or (not found and found != default)
    ):
        raise InvalidRule(f"contest: {key} is {found!r}; allowed is a list of {', '.join(allowed)}")
    return tuple(dict.fromkeys(found))


def _number(where: str, part: Mapping[str, Any], key: str, *, below: float = math.inf) -> float:
    found = part.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < below:
        raise InvalidRule(f"contest: {where}.{key} is {found!r}; allowed is a number above 0 and below {below}")
    return float(found)


def _count(where: str, part: Mapping[str, Any], key: str, least: int) -> int:
    found = part.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or found < least:
        raise InvalidRule(f"contest: {where}.{key} is {found!r}; allowed is a whole number of at least {least}")
    return found
