"""Tests, corrections and intervals on plain arrays: no model, no file, no torch; usable alone.

Imports only errors and numpy; scipy and statsmodels inside the functions that need them, so that the whole face is
cheap to import. Begin reading in `within_text_rank`, the test of the census; then `census` for its corrections and
`bootstrap` for the intervals of metrics over heads.
"""

from resolvent.statistics.averages import mean, median, ratio
from resolvent.statistics.bootstrap import bootstrap
from resolvent.statistics.census import SignedClasses, signed_classes
from resolvent.statistics.clopper_pearson import clopper_pearson
from resolvent.statistics.corrections import benjamini_hochberg, holm
from resolvent.statistics.correlation import spearman
from resolvent.statistics.crossings import crossing, first_crossing, interpolated_crossing, sustained_crossing
from resolvent.statistics.interval import Interval
from resolvent.statistics.samples import InvalidSample
from resolvent.statistics.wilcoxon import smallest_p_wilcoxon, wilcoxon_one_draw
from resolvent.statistics.within_text_rank import TIE_BITS, RankTest, smallest_p, texts_needed, within_text_rank

__all__ = [
    "TIE_BITS",
    "Interval",
    "InvalidSample",
    "RankTest",
    "SignedClasses",
    "benjamini_hochberg",
    "bootstrap",
    "clopper_pearson",
    "crossing",
    "first_crossing",
    "holm",
    "interpolated_crossing",
    "mean",
    "median",
    "ratio",
    "signed_classes",
    "smallest_p",
    "smallest_p_wilcoxon",
    "spearman",
    "sustained_crossing",
    "texts_needed",
    "wilcoxon_one_draw",
    "within_text_rank",
]
