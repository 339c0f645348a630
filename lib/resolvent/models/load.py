"""A model ready to be measured: eager attention, pinned dtype, eval mode, compared with what its subject declares."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import psutil
import torch

from resolvent.errors import ResolventError
from resolvent.models.families import Family, architecture, family_of, sliding_windows
from resolvent.models.subjects import Subject
from resolvent.models.zoo.packaged import check_contents

if TYPE_CHECKING:
    from resolvent.study import Study

Dtype = Literal["float32", "bfloat16"]

_BYTES = {"float32": 4, "bfloat16": 2}
_STORED_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "I32": 4, "I8": 1}

WORKING_MEMORY = 400 * 2**20
"""Bytes that one forward pass and its attention maps may take beside the weights."""


class LoadError(ResolventError):
    """A model that is not loaded; the message names it, what was found and what is needed."""


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory and what is known of it.

    model        causal language model of transformers: eval mode, no gradients, eager attention
    tokenizer    its own tokenizer
    bos          the id at position 0 of every text
    vocabulary   size of its logits
    special_ids  of the tokenizer; texts that contain one are passed over
    windows      per layer, how many positions a row sees; None where all before it
    """

    name: str
    model: Any
    tokenizer: Any
    family: Family
    bos: int
    layers: int
    heads: int
    vocabulary: int
    special_ids: tuple[int, ...]
    windows: tuple[int | None, ...]
    device: str
    dtype: Dtype

    def encode(self, text: str) -> list[int]:
        """The ids of a whole text, no special tokens added."""
        return encode(self.tokenizer, text)

    def blocks(self) -> list[torch.nn.Module]:
        """The blocks in order."""
        return list(self.model.get_submodule(self.family.blocks))


def encode(tokenizer: Any, text: str) -> list[int]:
    """The ids of a whole text, no special tokens added, no padding, no truncation."""
    return list(tokenizer(text, add_special_tokens=False, truncation=False, padding=False, verbose=False).input_ids)


def load_tokenizer(study: Study, subject: Subject) -> Any:
    """The subject's own tokenizer. Raises LoadError where it is not fetched or cannot be read."""
    _require_available(study, subject)
    return _tokenizer(subject.folder(study), subject.name)


def load_model(
    study: Study, subject: Subject, *, step: int | None = None, device: str = "cpu", dtype: Dtype = "float32"
) -> LoadedModel:
    """The model of a fetched, packaged or local subject, or a checkpoint of its series.

    step    of the checkpoint; None: the model itself
    device  "cpu" or "cuda"/"cuda:N"
    dtype   float32 anywhere, bfloat16 on CUDA
    Uses no network and as many threads as torch was told. Raises LoadError where the model is not there, does not fit
    into memory, lacks weights, or differs from what the subject declares; UnsupportedModel for another family;
    PackagedWeightsError where packaged weights are not what their manifest says.
    """
    _require_available(study, subject)
    folder = subject.folder(study) if step is None else subject.checkpoint_folder(study, step)
    if subject.zoo is not None:
        check_contents(folder)
    return load_directory(folder, subject, device=device, dtype=dtype)


def load_directory(folder: Path, subject: Subject, *, device: str = "cpu", dtype: Dtype = "float32") -> LoadedModel:
    """`load_model` of a directory in Hugging Face format, such as one checkpoint of a series."""
    from transformers import AutoConfig, AutoModelForCausalLM

    name = subject.name
    _check_device(device, dtype, name)
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise LoadError(f"{name}: config.json in {folder} cannot be used: {_first_line(error)}") from None
    described = config.to_dict()
    family = family_of(described, name=name)
    if described.get("quantization_config"):
        raise LoadError(f"{name}: its weights are quantised; save it dequantised, as float32 or bfloat16")
    _check_declared(subject, described)
    _check_memory(folder, name, device=device, dtype=dtype)
    try:
        with quiet_transformers():
            model, info = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                attn_implementation="eager",
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                device_map=None if device == "cpu" else {"": device},
            )
    except Exception as error:  # of transformers, safetensors, pickle and torch, each with kinds of its own
        raise LoadError(f"{name}: the weights in {folder} cannot be loaded: {_first_line(error)}") from None
    _check_weights(info, name)
    model.requires_grad_(False)
    model.eval()
    tokenizer = _tokenizer(folder, name)
    vocabulary = int(model.get_output_embeddings().weight.shape[0])
    if not 0 <= subject.bos < vocabulary:
        raise LoadError(f"{name}: bos is {subject.bos}, the model's ids are 0 to {vocabulary - 1}")
    loaded = LoadedModel(
        name=name,
        model=model,
        tokenizer=tokenizer,
        family=family,
        bos=subject.bos,
        layers=subject.layers,
        heads=subject.heads,
        vocabulary=vocabulary,
        special_ids=tuple(tokenizer.all_special_ids),
        windows=sliding_windows(described, name=name),
        device=device,
        dtype=dtype,
    )
    if len(loaded.blocks()) != subject.layers:
        raise LoadError(f"{name}: config.json says {subject.layers} layers, the model has {len(loaded.blocks())}")
    return loaded


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bars and no warnings of transformers while it loads; what matters of them is checked by us."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def weight_bytes(folder: Path, dtype: Dtype) -> int:
    """How many bytes the weights of a directory take in memory as `dtype`, from file headers alone.

    Raises LoadError that names the file whose header can't be read.
    """
    whole = folder / "model.safetensors"
    safetensors = [whole] if whole.is_file() else sorted(folder.glob("model-*.safetensors"))
    total = 0
    for path in safetensors:
        try:
            with path.open("rb") as stream:
                header = json.loads(stream.read(struct.unpack("<Q", stream.read(8))[0]))
        except (OSError, ValueError, OverflowError, MemoryError, struct.error) as error:
            raise LoadError(f"the header of {path} can't be read, is the file whole? ({error})") from None
        for tensor, description in header.items():
            if tensor != "__metadata__":
                begin, end = description["data_offsets"]
                total += (end - begin) * _BYTES[dtype] // _STORED_BYTES.get(description["dtype"], 1)
    # The header of a pickle says no dtype: half precision is assumed, which can only overestimate.
    pickles = [] if safetensors else sorted(folder.glob("pytorch_model*.bin"))
    return total + sum(path.stat().st_size for path in pickles) * _BYTES[dtype] // 2


def available_memory(device: str) -> int:
    """Bytes that can be taken now: of the machine and, on Linux, of the control group; or of the CUDA device."""
    if device != "cpu":
        return int(torch.cuda.mem_get_info(device)[0])
    free = int(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        files = _field_of((group / "memory.stat").read_text(), "inactive_file")
    except (OSError, ValueError):
        return free
    return min(free, limit - used + files)


def _field_of(text: str, key: str) -> int:
    """The number after `key` in lines of `key number`. Raises ValueError where it is not there."""
    for line in text.splitlines():
        word, _, number = line.partition(" ")
        if word == key:
            return int(number)
    raise ValueError(key)


def _require_available(study: Study, subject: Subject) -> None:
    reason = subject.available(study)
    if reason is not None:
        raise LoadError(reason)


def _check_device(device: str, dtype: str, name: str) -> None:
    kind = device.partition(":")[0]
    allowed = {"cpu": ("float32",), "cuda": ("float32", "bfloat16")}
    if kind not in allowed:
        raise LoadError(f"{name}: device '{device}' is not supported; allowed are cpu, cuda and cuda:N")
    if dtype not in allowed[kind]:
        why = "; eager float16 attention gives NaN" if dtype == "float16" else ""
        raise LoadError(f"{name}: dtype {dtype} on {kind} is refused; allowed: {', '.join(allowed[kind])}{why}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise LoadError(f"{name}: device '{device}' was asked for, but torch {torch.__version__} sees no CUDA device")


def _check_declared(subject: Subject, config: dict[str, Any]) -> None:
    found = architecture(config, name=subject.name)
    for attribute in ("norm", "positions", "layers", "heads"):
        declared, loaded = getattr(subject, attribute), getattr(found, attribute)
        if declared != loaded:
            raise LoadError(f"{subject.name}: {attribute} is declared as {declared}, the model's config says {loaded}")


def _check_memory(folder: Path, name: str, *, device: str, dtype: Dtype) -> None:
    try:
        needed = weight_bytes(folder, dtype) + WORKING_MEMORY
    except LoadError as error:
        raise LoadError(f"{name}: {error}") from None
    free = available_memory(device)
    if needed > free:
        raise LoadError(
            f"{name}: does not fit into memory: {needed / 2**30:.2f} GiB are needed on {device} as {dtype}, "
            f"{free / 2**30:.2f} GiB are free"
        )


def _check_weights(info: Any, name: str) -> None:
    # transformers fills what is missing with random numbers, and only warns.
    get = info.get if isinstance(info, dict) else lambda key, default: getattr(info, key, default)
    for kind in ("missing_keys", "mismatched_keys"):
        keys = sorted(str(key) for key in get(kind, ()))
        if keys:
            raise LoadError(f"{name}: {len(keys)} weights are {kind.removesuffix('_keys')}, such as {keys[0]}")


def _tokenizer(folder: Path, name: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise LoadError(f"{name}: no tokenizer can be loaded from {folder}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
