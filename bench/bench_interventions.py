"""Capture against a plain pass that returns its attentions, and head ablation against a pass a head; one thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TEXTS, LENGTH = 32, 128
CAPTURE_TIME_RATIO, CAPTURE_MEMORY_RATIO = 1.3, 1.0
# The output head bounds what can be gained on a small model with a large vocabulary: 1.6 on SmolLM2-135M.
ABLATION_SPEEDUP = {"smollm2-135m": 1.4}
ABLATION_SPEEDUP_ELSE = 1.7
ABLATED_LAYERS = 6  # spread over the depth; a pass a head costs the same in each
NAIVE_HEADS = 3


def load(name):
    """A subject's model on the CPU, and random ordinary token ids (TEXTS, LENGTH)."""
    import torch

    from resolvent.evidence.allocator import keep_freed_memory
    from resolvent.models.load import load_model
    from resolvent.models.subjects import load_subjects
    from resolvent.study import open_study

    torch.set_num_threads(1)
    keep_freed_memory()  # as in the study
    study = open_study(Path.cwd())
    loaded = load_model(study, load_subjects(study).subject(name))
    special = {loaded.bos, *loaded.special_ids}
    ordinary = np.array([token for token in range(loaded.vocabulary) if token not in special])
    ids = np.random.default_rng(0).choice(ordinary, (TEXTS, LENGTH))
    ids[:, 0] = loaded.bos
    return loaded, ids


def resident_peak():
    """Largest resident memory since `reset_peak`, bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


def measured(name, what):
    """CPU seconds and peak bytes of one of `plain`, `capture`, in a process of its own."""
    command = [sys.executable, "-m", "bench.bench_interventions", what, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, what):
    """Prints what `measured` reads."""
    import torch

    from resolvent.models.capture import capture

    loaded, ids = load(name)
    batch = torch.as_tensor(ids)
    with torch.inference_mode():
        loaded.model(batch[:1], use_cache=False)
    reset_peak()
    began = time.process_time()
    if what == "capture":
        kept = capture(loaded, ids)
    else:
        with torch.inference_mode():
            kept = loaded.model(batch, output_attentions=True, use_cache=False)
    print(json.dumps({"seconds": time.process_time() - began, "peak": resident_peak(), "kept": type(kept).__name__}))


def capture_ratios(name):
    """Prints time and memory of both; True where the targets are met."""
    plain, own = measured(name, "plain"), measured(name, "capture")
    times, memory = own["seconds"] / plain["seconds"], own["peak"] / plain["peak"]
    print(
        f"{name}: capture of {TEXTS} texts of {LENGTH} tokens {own['seconds']:.1f} s of CPU and "
        f"{own['peak'] / 2**20:.0f} MiB at most, one plain pass with output_attentions {plain['seconds']:.1f} s and "
        f"{plain['peak'] / 2**20:.0f} MiB: ratios {times:.2f} (target {CAPTURE_TIME_RATIO}) and {memory:.2f} "
        f"(target below {CAPTURE_MEMORY_RATIO})"
    )
    return times <= CAPTURE_TIME_RATIO and memory < CAPTURE_MEMORY_RATIO


def naive_loss(loaded, ids, layer, head):
    """The loss without one head by a whole pass."""
    import torch

    from resolvent.models.capture import token_cross_entropy
    from resolvent.models.intervene.heads import ablate_heads

    tokens = torch.as_tensor(ids)
    with torch.inference_mode(), ablate_heads(loaded, {layer: [head]}):
        logits = loaded.model(tokens[None], use_cache=False).logits[0]
        return float(token_cross_entropy(logits[:-1], tokens[1:]).mean(dtype=torch.float64))


def ablation_speedup(name):
    """Prints the time a head of both; True where the target is met and the losses agree."""
    from resolvent.models.criticality import head_losses

    loaded, ids = load(name)
    layers = [round(at) for at in np.linspace(0, loaded.layers - 1, min(ABLATED_LAYERS, loaded.layers))]
    naive_loss(loaded, ids[0], 0, 0)
    began = time.process_time()
    losses = head_losses(loaded, ids[0], layers).without
    own = (time.process_time() - began) / losses.size
    at = [(row, head) for row in range(len(layers)) for head in range(min(NAIVE_HEADS, loaded.heads))]
    began = time.process_time()
    naive = [naive_loss(loaded, ids[0], layers[row], head) for row, head in at]
    whole = (time.process_time() - began) / len(naive)
    difference = max(abs(losses[place] - loss) for place, loss in zip(at, naive, strict=True))
    target = ABLATION_SPEEDUP.get(name, ABLATION_SPEEDUP_ELSE)
    print(
        f"{name}: ablation of a head {own * 1e3:.0f} ms of CPU, by a pass a head {whole * 1e3:.0f} ms, "
        f"{whole / own:.2f} × (target {target} ×); losses differ by {difference:.1e} nats at most"
    )
    return whole / own >= target and difference < 1e-4


def main():
    """Both, on every embedded subject that is fetched; exits 1 where a target is missed."""
    from resolvent.models.subjects import load_subjects
    from resolvent.study import open_study

    study = open_study(Path.cwd())
    subjects = load_subjects(study)
    met = True
    for name in subjects.cohorts["embedded"]:
        reason = subjects.subject(name).available(study)
        if reason is not None:
            print(f"{name}: not measured: {reason}")
            continue
        met &= ablation_speedup(name)
        met &= capture_ratios(name)
    if not met:
        raise SystemExit(1)


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else measure(sys.argv[2], sys.argv[1])
