"""Draws are keyed by what is drawn, as the comment block of prereg/subjects.yaml says."""

import hashlib

import numpy as np

from resolvent.keyed_random import generator


def test_generator_is_the_registered_one() -> None:
    """Two implementers of the rule must get the same bits; this one is written out independently of the library."""
    digest = hashlib.sha256(b"null|row_permutation|gpt2|final|corpus|17|3|11|0").hexdigest()
    words = [int(digest[8 * i : 8 * i + 8], 16) for i in range(4)]
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence([20261201, *words])))
    found = generator(20261201, "null", "row_permutation", "gpt2", "final", "corpus", "17", 3, 11, 0)
    assert np.array_equal(found.random(8), expected.random(8))


def test_every_field_matters() -> None:
    """Two heads with one stream would make their nulls dependent."""
    keys = [("a", 1), ("a", 2), ("b", 1), ("a", 1, 0), ("a", 11)]
    draws = {generator(1, *key).random() for key in keys} | {generator(2, "a", 1).random()}
    assert len(draws) == len(keys) + 1
