"""What is computed: a stage is a named, versioned pure function; a shard is one call of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

    from resolvent.models.subjects import Subject
    from resolvent.study import Study


@dataclass(frozen=True)
class Stage:
    """A pure function `Call -> Result`, named by import path so that planning imports nothing heavy.

    name      shown in shard ids: `capture`, `battery`, …
    version   raised by hand when the meaning of the output changes
    function  "package.module:function"
    output    "table" (Parquet) or "arrays" (safetensors)
    sources   dotted modules or packages whose source text is part of the key
    packages  distributions whose version is part of the key
    loads_model  True where a call holds a language model in memory: it then takes a machine-wide slot
    """

    name: str
    version: int
    function: str
    output: Literal["table", "arrays"]
    sources: tuple[str, ...]
    packages: tuple[str, ...] = ("numpy",)
    loads_model: bool = False


@dataclass(frozen=True)
class Shard:
    """One call of a stage: seconds of work, one file in the store, one pytest item.

    label     what tells it from others of the stage and subject: `corpus@121/row_permutation.0/0-7`
    params    JSON-able mapping, part of the key
    inputs    shards whose results the function reads, in order; their keys are part of the key
    matrices  how many matrices it analyses, for the plan and the progress line
    """

    stage: Stage
    subject: str
    label: str
    params: Mapping[str, Any] = field(hash=False)
    inputs: tuple[Shard, ...] = ()
    matrices: int = 0

    @property
    def id(self) -> str:
        return f"{self.stage.name}[{self.subject}/{self.label}]"

    @property
    def node_id(self) -> str:
        """The pytest node id."""
        return f"evidence::{self.id}"

    def params_json(self) -> str:
        return json.dumps(self.params, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Result:
    """What a stage returns: named arrays (of one length each for a table) and string metadata."""

    arrays: Mapping[str, np.ndarray]
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """What a stage function is given."""

    study: Study
    subject: Subject
    params: Mapping[str, Any]
    inputs: tuple[Result, ...]
    seed: int
    device: str
