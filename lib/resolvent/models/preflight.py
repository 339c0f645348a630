"""Refuses to measure where the numbers would be wrong: the call, every attention map, the residual stream, the logits.

Each check names the model and, where it has them, text, layer, head and row, and what was found and allowed.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int

from resolvent.errors import ResolventError
from resolvent.models.families import UnsupportedModel
from resolvent.models.load import Dtype, LoadedModel

ROW_SUM_TOLERANCE: dict[Dtype, float] = {"float32": 1e-4, "bfloat16": 1e-2}
"""How far a softmax row may be from 1; dropout moves it by a tenth and more."""

LOGIT_TOLERANCE: dict[Dtype, float] = {"float32": 1e-5, "bfloat16": 1e-2}
"""Largest difference from an untouched pass, in units of the largest logit."""

RESIDUAL_TOLERANCE: dict[Dtype, float] = {"float32": 1e-5, "bfloat16": 2e-2}
"""Largest |block output - (input + attention + MLP)|, in units of the largest entry."""


class PreflightError(ResolventError):
    """A measurement that would be wrong, refused."""


def check_call(loaded: LoadedModel, token_ids: Int[np.ndarray, "texts n"]) -> None:
    """The model is as it was pinned and the ids are texts of one length with exactly one BOS, at position 0.

    Raises PreflightError, or UnsupportedModel where a sliding window is shorter than the texts.
    """
    name = loaded.name
    if token_ids.ndim != 2 or token_ids.dtype.kind not in "iu" or token_ids.shape[1] < 1:
        raise PreflightError(
            f"{name}: token ids must be integers of shape (texts, n), all texts of one length; "
            f"found {token_ids.dtype} of shape {token_ids.shape}"
        )
    low, high = int(token_ids.min(initial=0)), int(token_ids.max(initial=0))
    if low < 0 or high >= loaded.vocabulary:
        raise PreflightError(f"{name}: token ids from {low} to {high}; the model's are 0 to {loaded.vocabulary - 1}")
    for text, row in enumerate(token_ids):
        positions = np.flatnonzero(row == loaded.bos)
        if positions.tolist() != [0]:
            raise PreflightError(
                f"{name}: text {text}: BOS ({loaded.bos}) must stand at position 0 and nowhere else; "
                f"it stands at {positions.tolist() or 'no position'}"
            )
    n = token_ids.shape[1]
    for layer, window in enumerate(loaded.windows):
        if window is not None and window < n:
            raise UnsupportedModel(
                f"{name}: layer {layer} has a sliding window of {window} positions, the texts have {n}: "
                "late rows cannot see BOS, so its attention is not what the study measures"
            )
    limit = getattr(loaded.model.config, "max_position_embeddings", None)
    if limit is not None and n > limit:
        raise PreflightError(f"{name}: texts of {n} positions, the model has {limit}")
    training = [module for module, part in loaded.model.named_modules() if part.training]
    if training:
        raise PreflightError(f"{name}: not in eval mode (module '{training[0] or 'the model'}' is training)")
    implementation = loaded.model.config._attn_implementation
    if implementation != "eager":
        raise PreflightError(f"{name}: attention implementation is '{implementation}', 'eager' is needed")
    wanted = getattr(torch, loaded.dtype)
    for parameter, value in loaded.model.named_parameters():
        if value.is_floating_point() and value.dtype != wanted:
            raise PreflightError(f"{name}: {parameter} is {value.dtype}, {wanted} was pinned")


def check_map(
    loaded: LoadedModel, attention: Float[torch.Tensor, "heads n n"] | None, *, n: int, text: int, layer: int
) -> float:
    """The largest |row sum - 1| of one layer's maps, after every check of them.

    Raises PreflightError where the maps are absent, of another shape, not finite, negative, not exactly zero above the
    diagonal, or their rows do not sum to 1.
    """
    where = f"{loaded.name}: text {text}, layer {layer}"
    if not isinstance(attention, torch.Tensor):
        raise PreflightError(f"{where}: the attention module returns no map ({type(attention).__name__})")
    expected = (loaded.heads, n, n)
    if tuple(attention.shape) != expected:
        raise PreflightError(f"{where}: maps of shape {tuple(attention.shape)}, expected (heads, n, n) = {expected}")
    if not bool(torch.isfinite(attention).all()):
        raise PreflightError(f"{where}, {_first(~torch.isfinite(attention), attention)}: not finite")
    above = attention.triu(1)
    if bool(above.any()):
        raise PreflightError(
            f"{where}, {_first(above != 0, attention)}: mass above the diagonal; the model looks ahead"
        )
    if bool((attention < 0).any()):
        raise PreflightError(f"{where}, {_first(attention < 0, attention)}: negative attention")
    residual = (attention.sum(-1, dtype=torch.float64) - 1).abs()
    worst = float(residual.max())
    if worst > ROW_SUM_TOLERANCE[loaded.dtype]:
        head, row = divmod(int(residual.argmax()), n)
        raise PreflightError(
            f"{where}, head {head}, row {row}: sums to 1 up to {worst:.3g}; "
            f"{ROW_SUM_TOLERANCE[loaded.dtype]:.0e} is allowed for {loaded.dtype}"
        )
    return worst


def check_residual(
    loaded: LoadedModel,
    *,
    before: torch.Tensor,
    attention: torch.Tensor,
    mlp: torch.Tensor,
    after: torch.Tensor,
    layer: int,
) -> None:
    """The block's output is its input plus its attention term plus its MLP term. Raises PreflightError."""
    expected = before.double() + attention.double() + mlp.double()
    difference = float((after.double() - expected).abs().max())
    scale = float(torch.stack([part.abs().max().double() for part in (before, attention, mlp, after)]).max())
    if not difference <= RESIDUAL_TOLERANCE[loaded.dtype] * scale:
        raise PreflightError(
            f"{loaded.name}: layer {layer}: block output differs from input + attention + MLP by {difference:.3g} "
            f"(largest entry {scale:.3g}); its residual stream is not as the family '{loaded.family.model_type}' says"
        )


def check_logits(
    loaded: LoadedModel, captured: Float[torch.Tensor, "n vocabulary"], untouched: Float[torch.Tensor, "n vocabulary"]
) -> None:
    """The logits of the measured pass are those of a pass without hooks. Raises PreflightError."""
    scale = float(untouched.abs().max())
    difference = float((captured - untouched).abs().max())
    if not (np.isfinite(scale) and difference <= LOGIT_TOLERANCE[loaded.dtype] * scale):
        raise PreflightError(
            f"{loaded.name}: logits of the measured pass differ from an untouched pass by {difference:.3g} "
            f"(largest logit {scale:.3g})"
        )


def _first(wrong: torch.Tensor, attention: torch.Tensor) -> str:
    head, row, column = (int(index) for index in torch.nonzero(wrong)[0])
    return f"head {head}, row {row}, column {column} ({float(attention[head, row, column]):.3g})"
