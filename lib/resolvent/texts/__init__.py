"""Texts: what a model is shown, as token ids. Imports no model library and does no download.

entries    typed entries of prereg/subjects.yaml: pinned sources, and errors that name the path of a mistake
corpora    the texts of a corpus in their fixed order
selection  the first texts that a tokenizer can fill, as token ids
probes     BOS + r + r and BOS + r + r', from keyed generators

May import the ground floor only. Begin reading in `corpora`.
"""
