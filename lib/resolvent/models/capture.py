"""Attention, cross-entropy and residual boundaries of texts, measured by hooks and checked by the preflight."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int

from resolvent.models.load import LoadedModel
from resolvent.models.preflight import PreflightError, check_call, check_logits, check_map, check_residual

_ROWS_OF_LOGITS = 32
"""Rows of logits whose exponentials are in memory at once."""


@dataclass(frozen=True)
class Captured:
    """What one call of `capture` measured.

    attention         packed lower triangles, row by row: (0,0), (1,0), (1,1), (2,0), …
    cross_entropy     nats; entry t is that of token t+1 given tokens 0..t
    row_sum_residual  largest |row sum - 1| over heads and rows, before any renormalisation
    boundaries        the stream after the embeddings (0) and after each block, before the final norm; None unless asked
    mlp_at_bos        each block's MLP term at position 0, as the block adds it; None unless boundaries were asked
    """

    attention: Float32[np.ndarray, "texts layers heads packed"]
    cross_entropy: Float32[np.ndarray, "texts predicted"]
    row_sum_residual: Float32[np.ndarray, "texts layers"]
    boundaries: Float32[np.ndarray, "texts boundaries n width"] | None = None
    mlp_at_bos: Float32[np.ndarray, "texts layers width"] | None = None


def capture(loaded: LoadedModel, token_ids: Int[np.ndarray, "texts n"], *, boundaries: bool = False) -> Captured:
    """Run every text through the model and keep what was asked.

    token_ids   one length, BOS at position 0 and nowhere else
    boundaries  also keep the residual stream, (texts, layers + 1, n, width), and the MLP terms at BOS
    One text a pass, so that a result does not depend on its neighbours; each layer's map is packed and freed as it
    comes. Every map of every text is checked; the first text is also run without hooks (equal logits) and through the
    residual check. Within an intervention all that is kept is what it made of the model. Raises PreflightError where a
    number would be wrong.
    """
    check_call(loaded, token_ids)
    texts, n = token_ids.shape
    recorder = _Recorder(loaded, texts=texts, n=n, boundaries=boundaries)
    cross_entropy = np.empty((texts, n - 1), dtype=np.float32)
    for text in range(texts):
        ids = torch.as_tensor(token_ids[text].astype(np.int64), device=loaded.device)
        with recorder.hooks(text, check_terms=text == 0):
            logits = _logits(loaded, ids)
        recorder.finish()
        if text == 0:
            check_logits(loaded, logits, _logits(loaded, ids))
        cross_entropy[text] = token_cross_entropy(logits[:-1], ids[1:]).cpu().numpy()
        del logits
    return Captured(
        attention=recorder.attention,
        cross_entropy=cross_entropy,
        row_sum_residual=recorder.row_sum_residual,
        boundaries=recorder.boundaries,
        mlp_at_bos=recorder.mlp_at_bos,
    )


def token_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """-log softmax(logits)[target] per row in nats, float32; a few rows at a time, without a log-softmax in memory.

    logits (rows, vocabulary), targets (rows,)
    """
    parts = []
    for start in range(0, len(targets), _ROWS_OF_LOGITS):
        rows = logits[start : start + _ROWS_OF_LOGITS].float()
        chosen = rows.gather(1, targets[start : start + _ROWS_OF_LOGITS, None])[:, 0]
        parts.append(torch.logsumexp(rows, dim=1) - chosen)
    return torch.cat(parts) if parts else logits.new_empty(0, dtype=torch.float32)


def _logits(loaded: LoadedModel, ids: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return loaded.model(ids[None], use_cache=False).logits[0]


class _Recorder:
    """Hooks of one call and the arrays they fill.

    attention, row_sum_residual, boundaries, mlp_at_bos  the results, filled text by text
    _seen    layers whose map came in this pass; `finish` demands all
    _terms   of the block that is running: its input and the two terms it adds; only in the residual check
    """

    def __init__(self, loaded: LoadedModel, *, texts: int, n: int, boundaries: bool) -> None:
        self._loaded = loaded
        self._n = n
        self._rows, self._columns = torch.tril_indices(n, n, device=loaded.device)
        packed = n * (n + 1) // 2
        self.attention = np.empty((texts, loaded.layers, loaded.heads, packed), dtype=np.float32)
        self.row_sum_residual = np.empty((texts, loaded.layers), dtype=np.float32)
        self.boundaries: np.ndarray | None = None
        self.mlp_at_bos: np.ndarray | None = None
        if boundaries:
            width = int(loaded.model.get_input_embeddings().weight.shape[1])
            self.boundaries = np.empty((texts, loaded.layers + 1, n, width), dtype=np.float32)
            self.mlp_at_bos = np.empty((texts, loaded.layers, width), dtype=np.float32)
        self._text = 0
        self._seen: set[int] = set()
        self._terms: dict[str, torch.Tensor] = {}

    def hooks(self, text: int, *, check_terms: bool) -> ExitStack:
        """The hooks of one pass, removed at the end of the `with`."""
        self._text = text
        self._seen = set()
        stack = ExitStack()
        family = self._loaded.family
        for layer, block in enumerate(self._loaded.blocks()):
            attention = block.get_submodule(family.attention)
            handles: list[Any] = [attention.register_forward_hook(self._attention_hook(layer))]
            mlp = block.get_submodule(family.mlp_term)
            if check_terms or self.boundaries is not None:
                handles.append(block.register_forward_pre_hook(self._before_hook(layer, check_terms), with_kwargs=True))
            if self.boundaries is not None:
                handles.append(mlp.register_forward_hook(self._mlp_hook(layer)))
                handles.append(block.register_forward_hook(self._after_hook(layer)))
            if check_terms:
                for term, module in (("attention", block.get_submodule(family.attention_term)), ("mlp", mlp)):
                    handles.append(module.register_forward_hook(self._term_hook(term)))
                # First of all hooks: an intervention at this boundary comes after the block's own sum.
                handles.append(block.register_forward_hook(self._sum_hook(layer), prepend=True))
            for handle in handles:
                stack.callback(handle.remove)
        return stack

    def finish(self) -> None:
        """Raises PreflightError where a layer gave no map in this pass."""
        missing = sorted(set(range(self._loaded.layers)) - self._seen)
        if missing:
            raise PreflightError(f"{self._loaded.name}: text {self._text}: no attention map of layers {missing}")

    def _attention_hook(self, layer: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            maps = output[1] if isinstance(output, tuple) and len(output) > 1 else None
            maps = maps[0] if isinstance(maps, torch.Tensor) and maps.ndim == 4 and len(maps) == 1 else maps
            residual = check_map(self._loaded, maps, n=self._n, text=self._text, layer=layer)
            assert maps is not None
            self.row_sum_residual[self._text, layer] = residual
            self.attention[self._text, layer] = maps[:, self._rows, self._columns].float().cpu().numpy()
            self._seen.add(layer)

        return hook

    def _before_hook(self, layer: int, check_terms: bool) -> Any:
        def hook(_module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
            stream = inputs[0] if inputs else keywords["hidden_states"]
            if check_terms:
                self._terms = {"before": stream}
            if layer == 0 and self.boundaries is not None:
                self.boundaries[self._text, 0] = stream[0].float().cpu().numpy()

        return hook

    def _term_hook(self, term: str) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            self._terms[term] = _tensor(output)

        return hook

    def _mlp_hook(self, layer: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            assert self.mlp_at_bos is not None
            self.mlp_at_bos[self._text, layer] = _tensor(output)[0, 0].float().cpu().numpy()

        return hook

    def _sum_hook(self, layer: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            check_residual(self._loaded, **self._terms, after=_tensor(output), layer=layer)
            self._terms = {}

        return hook

    def _after_hook(self, layer: int) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            assert self.boundaries is not None
            self.boundaries[self._text, layer + 1] = _tensor(output)[0].float().cpu().numpy()

        return hook


def _tensor(output: Any) -> torch.Tensor:
    """The stream or term in a module's output: some modules return a tensor, others a tuple that begins with it."""
    return output[0] if isinstance(output, tuple) else output
