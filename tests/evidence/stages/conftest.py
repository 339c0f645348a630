"""Stages that load a model are tested on the tiny models of the tests of `models`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "models"))
