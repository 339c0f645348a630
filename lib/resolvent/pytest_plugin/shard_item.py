"""A missing shard as a pytest item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from resolvent.evidence.engine import Engine
    from resolvent.evidence.shards import Shard


class ShardItem(pytest.Item):
    """Computes one shard, unless some other process has done so meanwhile."""

    shard: Shard
    engine: Engine

    @classmethod
    def of(cls, session: pytest.Session, engine: Engine, shard: Shard) -> ShardItem:
        # The node id must be a string given here: `--lf` matches on it.
        item = cls.from_parent(session, name=shard.id, nodeid=shard.node_id)
        item.shard = shard
        item.engine = engine
        return item

    def runtest(self) -> None:
        self.engine.require([self.shard])

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.nodeid
