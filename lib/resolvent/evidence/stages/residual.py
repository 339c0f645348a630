"""The residual stream of one block of texts, boundary by boundary: magnitudes, norms and spectra."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from resolvent.evidence.shards import Call, Result, Shard, Stage
from resolvent.evidence.stages.capture import MODEL_SOURCES, capture_shard
from resolvent.evidence.stages.common import FINAL, Block, text_label

if TYPE_CHECKING:
    from jaxtyping import Float

RESIDUAL = Stage(
    name="residual",
    version=1,
    function="resolvent.evidence.stages.residual:residual_block",
    output="arrays",
    sources=(
        "resolvent.evidence.stages.residual",
        "resolvent.evidence.stages.common",
        "resolvent.models.capture",
        "resolvent.models.preflight",
        *MODEL_SOURCES,
        "resolvent.representations",
    ),
    packages=("numpy", "torch", "transformers"),
    loads_model=True,
)

COLUMNS = (
    "median_magnitude",
    "bos_norm",
    "median_norm",
    "largest_norm",
    "entropy_bits",
    "entropy_share",
    "anisotropy",
    "entropy_bound_bits",
    "anisotropy_bound",
)
"""What is measured of a stream at each boundary, see `boundary_columns`."""


def residual_shard(subject: str, block: Block, *, state: str, length: int, repeat: int | None) -> Shard:
    """The residual stream of a block of texts."""
    capture = capture_shard(subject, state=state, captured=block.captured, repeat=repeat)
    params = {"state": state, "start": block.start, "stop": block.stop, "length": length}
    return Shard(RESIDUAL, subject, f"{text_label(state, length, FINAL)}/{block}", params, (capture,))


def residual_block(call: Call) -> Result:
    """Arrays over texts and boundaries 0..L (the stream after the embeddings and after each block).

    text             (texts,) index
    token_ids        (texts, n)
    cross_entropy    (texts,) mean, nats
    bos_magnitude    (texts, boundaries, width) |x_d| at BOS
    bos_norm_without_mlp  (texts, layers) norm at BOS of boundary l + 1 with the MLP term of layer l left out
    and what `boundary_columns` has. Metadata: `start`, `length`, `text_ids`.
    """
    from resolvent.models.capture import capture
    from resolvent.models.load import load_model

    token_ids, metadata = texts_of(call)
    captured = capture(load_model(call.study, call.subject, device=call.device), token_ids, boundaries=True)
    assert captured.boundaries is not None
    assert captured.mlp_at_bos is not None
    at_bos = captured.boundaries[:, :, 0].astype(np.float64)
    start = int(metadata["start"])
    return Result(
        {
            "text": np.arange(start, start + len(token_ids)),
            "token_ids": token_ids,
            "cross_entropy": captured.cross_entropy.mean(axis=1, dtype=np.float64),
            "bos_magnitude": np.abs(captured.boundaries[:, :, 0]),
            "bos_norm_without_mlp": np.linalg.norm(at_bos[:, 1:] - captured.mlp_at_bos, axis=-1),
            **boundary_columns(captured.boundaries),
        },
        metadata,
    )


def texts_of(call: Call) -> tuple[np.ndarray, dict[str, str]]:
    """Token ids (texts, length) of the call's texts, out of its first input, a capture, and metadata that name them.

    Texts that the corpus could not provide are simply not there.
    """
    capture = call.inputs[0]
    first, length = int(capture.metadata["start"]), int(call.params["length"])
    chosen = slice(call.params["start"] - first, call.params["stop"] - first)
    text_ids = json.loads(capture.metadata["text_ids"])[chosen]
    metadata = {"start": str(call.params["start"]), "length": str(length), "text_ids": json.dumps(text_ids)}
    return capture.arrays["token_ids"][chosen, :length], metadata


def boundary_columns(streams: Float[np.ndarray, "texts boundaries n width"]) -> dict[str, np.ndarray]:
    """Columns (texts, boundaries) of a stream.

    median_magnitude  of all |x| of the boundary
    bos_norm, median_norm, largest_norm  norms: at BOS; median and largest of the other tokens
    entropy_bits, entropy_share, anisotropy  spectrum of the tokens, not centred
    entropy_bound_bits, anisotropy_bound  what the norm of BOS alone forces of them
    """
    parts = [_columns_of_text(stream) for stream in streams]  # one text in float64 at a time
    return {name: np.array([part[name] for part in parts]).reshape(streams.shape[:2]) for name in COLUMNS}


def _columns_of_text(stream: Float[np.ndarray, "boundaries n width"]) -> dict[str, np.ndarray]:
    from resolvent.representations import spectrum, spectrum_bounds

    norms = np.linalg.norm(stream.astype(np.float64), axis=-1)
    found, bounds = spectrum(stream), spectrum_bounds(stream)
    return {
        "median_magnitude": np.median(np.abs(stream).reshape(len(stream), -1), axis=-1),
        "bos_norm": norms[:, 0],
        "median_norm": np.median(norms[:, 1:], axis=-1),
        "largest_norm": norms[:, 1:].max(axis=-1, initial=0.0),
        "entropy_bits": found.entropy_bits,
        "entropy_share": found.entropy_share,
        "anisotropy": found.anisotropy,
        "entropy_bound_bits": bounds.entropy_bits,
        "anisotropy_bound": bounds.anisotropy,
    }
