"""Claim tests are run on planted models too, through the helpers of the tests of stages and models."""

import sys
from pathlib import Path

for folder in ("models", "evidence/stages"):
    sys.path.append(str(Path(__file__).parents[1] / folder))
