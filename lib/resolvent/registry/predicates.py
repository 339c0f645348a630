"""Frozen predicates: on a metric (value, or an end of its interval) and on a subject's attributes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from resolvent.errors import ResolventError

# The order low <= value <= high, which the proof of exclusion uses.
_RANK = {"low": 0, "value": 1, "high": 2}

ATTRIBUTES: Mapping[str, type] = {
    "trained": bool,
    "norm": str,
    "positions": str,
    "layers": float,
    "heads": float,
    "checkpoints": float,
}


WORDS: Mapping[str, tuple[str, ...]] = {
    "norm": ("layernorm", "rmsnorm"),
    "positions": ("learned", "rope", "rope_partial"),
}
"""What an attribute that is a word may be."""


class PredicateError(ResolventError):
    """A predicate that cannot be taken as it stands, or an attribute that a subject lacks."""


class Predicate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Comparisons of one number that must all hold.

    above, at_least, below, at_most, equals   the threshold
    between   both ends included
    bound     which number is compared: the `low` or `high` end of the interval; left out: the value
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    between: tuple[float, float] | None = None
    equals: float | None = None
    bound: Literal["low", "high"] | None = None

    def holds(self, value: float, low: float | None = None, high: float | None = None) -> bool:
        """Whether the compared number satisfies every comparison. Raises PredicateError where its bound is None."""
        return self.range().contains(self.compared(value, low, high))

    def margin(self, value: float, low: float | None = None, high: float | None = None) -> float:
        """Signed distance of the compared number to the nearest threshold, in the metric's units.

        Positive inside, negative outside; for `equals` −|difference|; with several comparisons the smallest.
        """
        number = self.compared(value, low, high)
        distances = []
        for threshold in (self.above, self.at_least):
            if threshold is not None:
                distances.append(number - threshold)
        for threshold in (self.below, self.at_most):
            if threshold is not None:
                distances.append(threshold - number)
        if self.between is not None:
            distances += [number - self.between[0], self.between[1] - number]
        if self.equals is not None:
            distances.append(-abs(number - self.equals))
        return min(distances)

    def compared(self, value: float, low: float | None = None, high: float | None = None) -> float:
        """The number this predicate looks at."""
        number = {"low": low, "high": high, None: value}[self.bound]
        if number is None:
            raise PredicateError(f"'{self}' needs an interval, found the value {number_text(value)} alone")
        return number

    def range(self) -> Range:
        """The numbers that satisfy every comparison."""
        lowest, low_closed, highest, high_closed = -math.inf, True, math.inf, True
        floors = [(self.above, False), (self.at_least, True), (self.equals, True)]
        ceilings = [(self.below, False), (self.at_most, True), (self.equals, True)]
        if self.between is not None:
            floors.append((self.between[0], True))
            ceilings.append((self.between[1], True))
        for threshold, closed in floors:
            if threshold is not None and (threshold > lowest or (threshold == lowest and not closed)):
                lowest, low_closed = threshold, closed
        for threshold, closed in ceilings:
            if threshold is not None and (threshold < highest or (threshold == highest and not closed)):
                highest, high_closed = threshold, closed
        return Range(lowest, low_closed, highest, high_closed)

    def check(self) -> str | None:
        """What is wrong with it as written, or None."""
        if not self._thresholds():
            return "no comparison; allowed: above, at_least, below, at_most, between, equals"
        for name, threshold in self._thresholds():
            if not math.isfinite(threshold):
                return f"{name}: found {threshold}; allowed: finite numbers"
        if self.between is not None and self.between[0] > self.between[1]:
            return f"between: found {list(self.between)}; the lower end comes first"
        if self.range().empty:
            return f"no number satisfies '{self}'"
        return None

    def __str__(self) -> str:
        parts = [f"{_SIGNS[name]} {number_text(threshold)}" for name, threshold in self._thresholds() if name in _SIGNS]
        if self.between is not None:
            parts.append(f"in [{number_text(self.between[0])}, {number_text(self.between[1])}]")
        return " and ".join(f"{self.bound} {part}" if self.bound else part for part in parts)

    @classmethod
    def from_text(cls, text: str) -> Predicate:
        """The predicate of which `text` is the str: verdicts keep predicates in words. Raises PredicateError."""
        fields: dict[str, Any] = {}
        for part in text.split(" and "):
            match = _PART.fullmatch(part)
            if match is None:
                raise PredicateError(f"'{text}' is no predicate: '{part}' is no comparison")
            fields["bound"] = match["bound"]
            if match["lower"] is not None:
                fields["between"] = (float(match["lower"]), float(match["upper"]))
            else:
                fields[_NAMES[match["sign"]]] = float(match["number"])
        return cls(**fields)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The numbers it compares with; both ends of `between`."""
        return tuple(threshold for _, threshold in self._thresholds())

    def _thresholds(self) -> list[tuple[str, float]]:
        named = [(name, getattr(self, name)) for name in _SIGNS]
        found = [(name, threshold) for name, threshold in named if threshold is not None]
        if self.between is not None:
            found += [("between", self.between[0]), ("between", self.between[1])]
        return found


_SIGNS = {"above": ">", "at_least": ">=", "below": "<", "at_most": "<=", "equals": "="}
_NAMES = {sign: name for name, sign in _SIGNS.items()}
_PART = re.compile(
    r"(?:(?P<bound>low|high) )?(?:in \[(?P<lower>\S+), (?P<upper>\S+)\]|(?P<sign>[<>]=?|=) (?P<number>\S+))"
)


@dataclass(frozen=True)
class Range:
    """An interval of the extended reals, each end in it (closed) or not."""

    lowest: float
    low_closed: bool
    highest: float
    high_closed: bool

    @property
    def empty(self) -> bool:
        return self.lowest > self.highest or (
            self.lowest == self.highest and not (self.low_closed and self.high_closed)
        )

    def contains(self, number: float) -> bool:
        above = number > self.lowest or (self.low_closed and number == self.lowest)
        below = number < self.highest or (self.high_closed and number == self.highest)
        return above and below

    def reaches(self, other: Range) -> bool:
        """Whether some x here and some y in `other` have x <= y."""
        if self.empty or other.empty:
            return False
        return self.lowest < other.highest or (self.lowest == other.highest and self.low_closed and other.high_closed)


def can_both_hold(one: Predicate, other: Predicate) -> bool:
    """Whether some low <= value <= high satisfies both.

    Exact. Both predicates together fix at most two of the three numbers to intervals I and J. For one number the
    question is whether I and J meet; for two, with I that of the smaller, whether inf I <= sup J with both ends
    attained where equal. The third number is then free to lie on or between them.
    """
    first, second = sorted((one, other), key=lambda predicate: _RANK[predicate.bound or "value"])
    if first.bound == second.bound:
        return first.range().reaches(second.range()) and second.range().reaches(first.range())
    return first.range().reaches(second.range())


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Comparisons of one attribute of a subject that must all hold; `equals` also takes words and true/false."""

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    between: tuple[float, float] | None = None
    equals: bool | float | str | None = None

    def check(self, attribute: str) -> str | None:
        """What is wrong with it as a condition on `attribute`, or None."""
        kind = ATTRIBUTES.get(attribute)
        if kind is None:
            return f"unknown attribute '{attribute}'; allowed: {', '.join(ATTRIBUTES)}"
        if kind is float:
            if isinstance(self.equals, bool | str):
                return f"equals: found {self.equals!r}; '{attribute}' is a number"
            return self._numeric().check()
        if any(name != "equals" for name, _ in self._numeric()._thresholds()):
            return f"'{attribute}' is no number; allowed: equals"
        if self.equals is None:
            return "no comparison; allowed: equals"
        if not isinstance(self.equals, kind):
            wanted = "true or false" if kind is bool else "a word"
            return f"equals: found {self.equals!r}; '{attribute}' is {wanted}"
        if kind is str and self.equals not in WORDS[attribute]:
            return f"equals: found {self.equals!r}; allowed: {', '.join(WORDS[attribute])}"
        return None

    def holds(self, attribute: str, found: object) -> bool:
        """Whether a subject's value satisfies it. Raises PredicateError where the types can't be compared."""
        kind = ATTRIBUTES.get(attribute)
        numeric = isinstance(found, int | float) and not isinstance(found, bool)
        if kind is None or not (numeric if kind is float else isinstance(found, kind)):
            raise PredicateError(f"attribute '{attribute}': found {found!r}, which can't be compared with '{self}'")
        if kind is float:
            return self._numeric().holds(float(found))  # type: ignore[arg-type]
        return found == self.equals

    def __str__(self) -> str:
        if isinstance(self.equals, bool | str):
            return f"= {str(self.equals).lower() if isinstance(self.equals, bool) else self.equals}"
        return str(self._numeric())

    def _numeric(self) -> Predicate:
        equals = self.equals if isinstance(self.equals, int | float) and not isinstance(self.equals, bool) else None
        return Predicate(
            above=self.above,
            at_least=self.at_least,
            below=self.below,
            at_most=self.at_most,
            between=self.between,
            equals=equals,
        )


def all_hold(conditions: Mapping[str, Condition], attributes: Mapping[str, object], *, where: str) -> bool:
    """Whether a subject's attributes satisfy every condition.

    where  names claim and key in the error. Raises PredicateError for an attribute that the subject lacks.
    """
    for attribute in conditions:
        if attributes.get(attribute) is None:
            raise PredicateError(
                f"{where}: the subject has no attribute '{attribute}'; it has {', '.join(sorted(attributes))}"
            )
    return all(condition.holds(attribute, attributes[attribute]) for attribute, condition in conditions.items())


def number_text(number: float) -> str:
    """A number as a person writes it: 2 for 2.0, else the shortest that reads back."""
    return (
        str(int(number))
        if math.isfinite(number) and number == int(number) and abs(number) < 1e15
        else repr(float(number))
    )
