"""Pure functions on hidden states: no model, no file, no torch; usable alone, on anybody's arrays.

spectrum            matrix entropy and anisotropy of a representation, and what one large token forces of them
massive_activations magnitudes at BOS, massive dimensions, onsets
emergence           by how much a block's MLP raises the norm at BOS
sink_scores         attention that a position receives, and the rate of heads that pass a threshold

Imports errors and numpy, nothing else. Begin reading in `spectrum`.
"""

from resolvent.representations.emergence import emergence_factors
from resolvent.representations.massive_activations import largest_dims, massive_ratio, onsets
from resolvent.representations.sink_scores import bos_sink_scores, sink_rate, sink_scores
from resolvent.representations.spectrum import Spectrum, SpectrumBounds, spectrum, spectrum_bounds

__all__ = [
    "Spectrum",
    "SpectrumBounds",
    "bos_sink_scores",
    "emergence_factors",
    "largest_dims",
    "massive_ratio",
    "onsets",
    "sink_rate",
    "sink_scores",
    "spectrum",
    "spectrum_bounds",
]
