"""The stages: pure functions from a subject and parameters to a table or arrays, one a file.

A stage module holds the `Stage` (named by import path, so that planning imports nothing heavy), the constructor of its
shards, and the function. numpy is imported at module level, everything else inside the functions.
Begin with `capture`, which all others read; `common` has the grid of blocks and the decoding of captured attention.
"""
