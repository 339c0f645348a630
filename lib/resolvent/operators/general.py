"""The two-dimensional path: the same quantities of any square matrix, by their definitions in the complex plane.

Slower than the real-axis path and without its certificates; that path is checked against this one. Begin reading in
`kreiss_general`.
"""

from resolvent.operators.kreiss_general import kreiss_constant_general
from resolvent.operators.numerical_range import numerical_abscissa, numerical_radius
from resolvent.operators.pseudospectral_extent import pseudospectral_abscissa, pseudospectral_radius_general
from resolvent.operators.smallest_singular_values import pseudospectrum
from resolvent.operators.square_matrix import SquareMatrixError

__all__ = [
    "SquareMatrixError",
    "kreiss_constant_general",
    "numerical_abscissa",
    "numerical_radius",
    "pseudospectral_abscissa",
    "pseudospectral_radius_general",
    "pseudospectrum",
]
