"""The builders of the report's and of the plugin's tests, for the pages made of them."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "plugin")]
