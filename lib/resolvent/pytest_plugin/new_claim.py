"""`resolvent new-claim NAME`: a claim that runs as it is written, to be rewritten into one's own."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING

from resolvent.errors import ResolventError
from resolvent.pytest_plugin.rehearsal import planted_file

if TYPE_CHECKING:
    from resolvent.study import Study

_NAME = re.compile(r"[a-z][a-z0-9_]*")

_YAML = """\
claim: {name}
title: Most heads damp transients below their null            # one line
source: {{paper: ours}}
registered: {today}
kind: confirmatory
prior_knowledge: >
  What you know of the data already, and from where. Subjects whose data you have looked at go into `seen: [name]`.
hypothesis: >
  The Kreiss constant of most heads is smaller than that of the same rows permuted within their causal support.
applies_to: {{trained: {{equals: true}}}}
protocol: {{text: corpus, length: 128, texts: 16, nulls: {{row_permutation: 2}}}}
criteria:
  damping:
    says: median over heads of the median over texts of log2 K_dev minus its null's mean, bits
    metric: median_excess_bits
    interval: {{method: bootstrap, over: [heads, layers], level: 0.95, draws: 500}}
    support: {{at_most: -0.5, bound: high}}
    refute: {{above: -0.1, bound: low}}
verdict: all
"""

_TEST = '''\
"""{name}: say here what the family of claims in this file is about."""

import numpy as np


def test_{name}(claim, census):
    excess = census.excess("row_permutation")
    claim.judge(
        median_excess_bits=claim.interval("median_excess_bits", np.median, excess, layer=census.layer),
    )
'''

_PLANTED = '''\
"""Planted examples of {name}: the claim must be supported on `effect` and must not be on `null`.

Each returns, by state of the protocol, causal attention of shape (texts, layers, heads, n, n).
"""

import numpy as np

TEXTS, LAYERS, HEADS, N = 16, 3, 4, 128


def effect(rng):
    """Every head parks 60 % of each row on BOS: a sink."""
    maps = 0.4 * random_rows(rng)
    maps[..., 0] += 0.6
    return {{"corpus": maps}}


def null(rng):
    """The same heads without it: rows at random, like their permutations."""
    return {{"corpus": random_rows(rng)}}


def random_rows(rng):
    """Rows drawn evenly from all distributions on their causal support."""
    maps = np.tril(rng.standard_exponential((TEXTS, LAYERS, HEADS, N, N)))
    return maps / maps.sum(axis=-1, keepdims=True)
'''


def new_claim(study: Study, name: str, *, today: datetime.date | None = None) -> list[Path]:
    """Writes prereg/<name>.yaml, claims/test_<name>.py and claims/planted/<name>.py; registers nothing.

    Raises ResolventError for a name that is none, or where one of the files is there already: all of them or none.
    """
    if not _NAME.fullmatch(name):
        raise ResolventError(f"{name}: allowed: lower-case letters, digits and _, beginning with a letter")
    day = (today or datetime.date.today()).isoformat()
    files = {
        study.prereg / f"{name}.yaml": _YAML,
        study.root / "claims" / f"test_{name}.py": _TEST,
        planted_file(study, name): _PLANTED,
    }
    for path in files:
        if path.exists():
            raise ResolventError(f"{path}: is there already; choose another name")
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.format(name=name, today=day), encoding="utf-8")
    return list(files)
