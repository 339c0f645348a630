"""resolvent: a pre-registered hypothesis suite for the attention dynamics of language models.

Floors, from the ground up; a lower one never imports a higher one:

    errors, strict_yaml, keyed_random, study      what every floor may use
    operators, statistics                         pure functions on arrays (no model, no file, no torch)
    texts                                         corpora and probes -> token ids
    models                                        load, capture; the only place that imports torch
    evidence                                      stages, shards, store, engine, views
    registry                                      claims, ledger, judge
    report                                        tables, terminal, Markdown
    pytest_plugin, cli                            the two front doors

Begin reading in `operators/` for the mathematics, in `evidence/` for the data flow.
"""

__version__ = "0.1.0"
