"""What an intervention changed, measured while it ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from resolvent.errors import ResolventError


class NoEffect(ResolventError):
    """An intervention that changed nothing at a place where it was to act, or never ran."""


@dataclass(frozen=True)
class Change:
    """What happened at one place, over all passes.

    place     "layer 3, head 1", "boundary 0", …
    calls     how often the place was reached
    largest   largest |after − before| of an entry
    relative  largest ‖after − before‖ / ‖before‖ of a pass (Frobenius; infinite where something came from nothing)
    """

    place: str
    calls: int
    largest: float
    relative: float


class Receipt:
    """The measured changes of one intervention; filled by its hooks, read by whoever entered it.

    what     the intervention in words, beginning with the model's name
    changes  one a place that the intervention names, in that order
    """

    def __init__(self, what: str, places: Iterable[str]) -> None:
        self.what = what
        self._changes = {place: Change(place, 0, 0.0, 0.0) for place in places}

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(self._changes.values())

    def note(self, place: str, before: torch.Tensor, after: torch.Tensor) -> None:
        """One pass through a place."""
        difference = (after.double() - before.double()).abs()
        size, scale = float(difference.norm()), float(before.double().norm())
        relative = size / scale if scale > 0 else (float("inf") if size > 0 else 0.0)
        known = self._changes[place]
        self._changes[place] = Change(
            place,
            known.calls + 1,
            max(known.largest, float(difference.max()) if difference.numel() else 0.0),
            max(known.relative, relative),
        )

    def check(self) -> None:
        """Raises NoEffect that names the places where nothing was changed (a NaN is no change either)."""
        idle = [change for change in self.changes if not change.largest > 0]
        if idle:
            unreached = all(change.calls == 0 for change in idle)
            why = "no pass reached" if unreached else "it changed nothing at"
            raise NoEffect(f"{self.what}: {why} {', '.join(change.place for change in idle)}")
