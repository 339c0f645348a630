"""Pure linear algebra on attention matrices: no model, no file, no torch; usable alone, on anybody's arrays.

Two paths. Causal stochastic matrices (`causal`) go over the real axis, with certified bounds: `kreiss`,
`pseudospectral_radius`, `transient`, and `battery` for whole stacks. Any other square matrix takes the two-dimensional
path of `general`. Around them: `conditioning`, `dominant_mode`, `structure`, `nulls`, `bos_mass_law`, `depth`.

Modules with a leading underscore hold the compiled kernels. May import `errors` and nothing else of resolvent.
Everything here is loaded on first use, so importing this package costs nothing. Begin reading in `causal`, then
`kreiss`.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from resolvent.operators._kernel_cache import discard_stale

if TYPE_CHECKING:
    from resolvent.operators.battery import MEANINGS, ON_REQUEST, QUANTITIES, battery, warm_up
    from resolvent.operators.bos_mass_law import kreiss_from_bos_mass
    from resolvent.operators.causal import (
        CausalStochasticError,
        absorbing_rows,
        check_causal_stochastic,
        deflate,
        leaks,
        pack_lower,
        perron_projector,
        unpack_lower,
    )
    from resolvent.operators.conditioning import departure, log10_condition
    from resolvent.operators.depth import DepthProducts, depth_products, rollout_products, uniform_attention
    from resolvent.operators.dominant_mode import dominant_mode
    from resolvent.operators.general import (
        kreiss_constant_general,
        numerical_radius,
        pseudospectral_abscissa,
        pseudospectral_radius_general,
        pseudospectrum,
    )
    from resolvent.operators.kreiss import KreissConstant, kreiss_constant, raw_kreiss_constant
    from resolvent.operators.nulls import (
        bos_preserving,
        dirichlet,
        head_permutation,
        layer_permutation,
        row_permutation,
    )
    from resolvent.operators.pseudospectral_radius import pseudospectral_radius
    from resolvent.operators.structure import structure
    from resolvent.operators.transient import (
        TransientSupremum,
        deviation_power_norms,
        survival,
        transient_supremum,
    )

__all__ = [
    "MEANINGS",
    "ON_REQUEST",
    "QUANTITIES",
    "CausalStochasticError",
    "DepthProducts",
    "KreissConstant",
    "TransientSupremum",
    "absorbing_rows",
    "battery",
    "bos_preserving",
    "check_causal_stochastic",
    "deflate",
    "departure",
    "depth_products",
    "deviation_power_norms",
    "dirichlet",
    "dominant_mode",
    "head_permutation",
    "kreiss_constant",
    "kreiss_constant_general",
    "kreiss_from_bos_mass",
    "layer_permutation",
    "leaks",
    "log10_condition",
    "numerical_radius",
    "pack_lower",
    "perron_projector",
    "pseudospectral_abscissa",
    "pseudospectral_radius",
    "pseudospectral_radius_general",
    "pseudospectrum",
    "raw_kreiss_constant",
    "rollout_products",
    "row_permutation",
    "structure",
    "survival",
    "transient_supremum",
    "uniform_attention",
    "unpack_lower",
    "warm_up",
]

_MODULE_OF = {
    "MEANINGS": "battery",
    "ON_REQUEST": "battery",
    "QUANTITIES": "battery",
    "battery": "battery",
    "warm_up": "battery",
    "kreiss_from_bos_mass": "bos_mass_law",
    "CausalStochasticError": "causal",
    "absorbing_rows": "causal",
    "check_causal_stochastic": "causal",
    "deflate": "causal",
    "leaks": "causal",
    "pack_lower": "causal",
    "perron_projector": "causal",
    "unpack_lower": "causal",
    "departure": "conditioning",
    "log10_condition": "conditioning",
    "DepthProducts": "depth",
    "depth_products": "depth",
    "rollout_products": "depth",
    "uniform_attention": "depth",
    "dominant_mode": "dominant_mode",
    "kreiss_constant_general": "general",
    "numerical_radius": "general",
    "pseudospectral_abscissa": "general",
    "pseudospectral_radius_general": "general",
    "pseudospectrum": "general",
    "KreissConstant": "kreiss",
    "kreiss_constant": "kreiss",
    "raw_kreiss_constant": "kreiss",
    "bos_preserving": "nulls",
    "dirichlet": "nulls",
    "head_permutation": "nulls",
    "layer_permutation": "nulls",
    "row_permutation": "nulls",
    "pseudospectral_radius": "pseudospectral_radius",
    "structure": "structure",
    "TransientSupremum": "transient",
    "deviation_power_norms": "transient",
    "survival": "transient",
    "transient_supremum": "transient",
}


class _Face(ModuleType):
    """This package, except that the import system can't put a submodule where its function of the same name belongs."""

    def __getattr__(self, name: str) -> Any:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        super().__setattr__(name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted(__all__)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _MODULE_OF.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
discard_stale(Path(__file__).parent)
