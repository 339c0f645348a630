"""`resolvent train NAME`: corpus, training and export of a family in one folder, each step resumed where it stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from resolvent.models.devices import chosen_device
from resolvent.models.zoo.corpus import build_corpus
from resolvent.models.zoo.families import recipe_of
from resolvent.models.zoo.packaged import PackagedWeightsError, read_card

REPORT_SECONDS = 60.0
"""Between two lines of progress where there is no bar."""


def train_family(
    name: str,
    folder: Path,
    *,
    output: Path | None = None,
    threads: int = 1,
    device: str = "auto",
    progress: Callable[[int, int], object] | None = None,
    report: Callable[[str], object] = print,
) -> Path:
    """Train a family to its end and return the folder of its weights, manifest and card.

    folder    corpus/ (shared by the families) and NAME/ (the run)
    output    default: NAME/family
    progress  called with (steps done, steps) after every step; None: a line a minute goes to `report`
    Raises ResolventError for an unknown family, a corpus or run that does not fit, or a loss that is not finite.
    """
    recipe = recipe_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".corpus.lock"):
        corpus = build_corpus(folder / "corpus", report=report)
    report(_compared(name, corpus.facts.tokens_sha256))
    # torch takes seconds to import, and what can be wrong above should be said at once.
    from resolvent.models.zoo.export import export
    from resolvent.models.zoo.training import Progress, train

    reported = time.monotonic()

    def tell(now: Progress) -> None:
        nonlocal reported
        if progress is not None:
            progress(now.step, now.steps)
        elif time.monotonic() - reported > REPORT_SECONDS or now.step == now.steps:
            reported = time.monotonic()
            report(
                f"{name}: step {now.step}/{now.steps}, loss {now.loss:.3f}, {now.tokens_per_second:,.0f} tokens/s, "
                f"{(now.steps - now.step) * recipe.tokens_per_step / now.tokens_per_second / 60:.0f} min left"
            )

    run = folder / name
    train(recipe, corpus, run, threads=threads, device=chosen_device(device), progress=tell)
    target = output or run / "family"
    digest = export(name, recipe, corpus, run, target)
    report(f"{name}: {target}, manifest {digest}")
    return target


def _compared(name: str, tokens_sha256: str) -> str:
    try:
        packaged = read_card(name)["corpus"]["tokens_sha256"]
    except PackagedWeightsError:
        return f"corpus: data hash {tokens_sha256[:12]}; this package holds no weights of {name} to compare it with"
    same = "the same as that" if packaged == tokens_sha256 else f"NOT that ({packaged[:12]})"
    return f"corpus: data hash {tokens_sha256[:12]}, {same} of the packaged weights"
