"""Small families trained by the project itself, their weights, and the command that trains them.

families     sizes and recipes of mini-gpt2, mini-neox and mini-llama (light)
sources      the long-form text of pinned, installed packages: docstrings and descriptions (light)
corpus       that text without repeats, a tokenizer trained on it, token ids in rows
batches      what a training step is shown: rows of the corpus, and rows with a repeated segment
training     the loop: deterministic, resumable, checkpoints by a schedule
circuits     which circuits have formed, on held-out rows and random repeats
card         what is said beside the weights: data hash, recipe, loss curve, versions
export       a trained family in Hugging Face format, float16
command      `resolvent train`: all of it in one folder
packaged     where the weights that come with the package lie (light)
weights/     those weights, a folder a family

May import what `models` may. Begin reading in `families`, then `training`.
"""
