"""One process of a run: `evidence_worker.py ROOT RUN COUNT SECONDS` requires `chained(COUNT)`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from evidence_builders import build_engine, chained

root, run_id, count, seconds = sys.argv[1:]
engine = build_engine(Path(root), run_id=run_id)
engine.require(chained(int(count), seconds=float(seconds)))
print(json.dumps(engine.account()))
