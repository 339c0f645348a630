"""Views of intervened models are tested on the tiny models of the tests of `models`, through the real stages."""

import sys
from pathlib import Path

for folder in ("models", "evidence/stages"):
    sys.path.append(str(Path(__file__).parents[2] / folder))
