"""Probes: generated token ids that anybody must be able to reproduce to the bit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from resolvent.keyed_random import generator
from resolvent.texts.probes import ProbeError, ordinary_token_ids, probe_token_ids, random_probe, repeat_probe

ORDINARY = np.arange(17, 49152)


def probes(generated: str, indices: range = range(3), repeat: int = 5) -> np.ndarray:
    return probe_token_ids(
        ORDINARY,
        generated=generated,  # type: ignore[arg-type]
        seed=20261201,
        subject="smollm2-135m",
        indices=indices,
        repeat=repeat,
        bos=0,
    )


def test_ordinary_ids_leave_out_special_and_added_tokens():
    """Added tokens inside the base vocabulary are no ordinary text either."""
    tokenizer = SimpleNamespace(vocab_size=8, all_special_ids=[0, 1], added_tokens_decoder={1: "", 5: "", 9: ""})
    assert ordinary_token_ids(tokenizer).tolist() == [2, 3, 4, 6, 7]


def test_repeat_probe_is_bos_and_twice_the_same_different_ids():
    """A repeated id inside r would make the place after its first occurrence ambiguous."""
    probe = repeat_probe(ORDINARY, np.random.default_rng(1), 60, 0)
    assert probe.shape == (121,)
    assert probe[0] == 0
    assert (probe[1:61] == probe[61:]).all()
    assert len(set(probe[1:61])) == 60


def test_random_probe_shares_r_and_repeats_nothing():
    """It differs from the repeat probe in the repetition alone."""
    repeat, random = probes("repeat"), probes("random")
    assert (repeat[:, :6] == random[:, :6]).all()
    assert all(len(set(row[1:])) == 10 for row in random)


def test_draws_are_those_of_the_registered_rule():
    """The registered rule written out again: keyed generator, choice without replacement from ascending ids."""
    r = generator(20261201, "probe", "repeat_probe", "smollm2-135m", 2).choice(ORDINARY, 5, replace=False)
    rest = np.array([token for token in ORDINARY if token not in set(r)])
    again = generator(20261201, "probe", "random_probe", "smollm2-135m", 2).choice(rest, 5, replace=False)
    assert probes("repeat")[2].tolist() == [0, *r, *r]
    assert probes("random")[2].tolist() == [0, *r, *again]
    assert (random_probe(ORDINARY, r, np.random.default_rng(0), 0)[:6] == [0, *r]).all()


def test_known_ids():
    """The ids themselves: a change of numpy's streams or of the key must not go unseen."""
    assert probes("repeat")[0, :6].tolist() == [0, 1218, 37522, 29452, 6338, 27477]
    assert probes("random")[0, 6:].tolist() == [99, 42434, 6239, 7212, 1175]


def test_a_probe_depends_on_its_index_alone():
    """Blocks of probes are computed apart and must fit together."""
    assert (probes("random", range(1, 3)) == probes("random")[1:]).all()


def test_too_few_ordinary_ids_are_refused_with_the_numbers():
    """choice would raise too, without saying of what there is too little."""
    with pytest.raises(ProbeError, match="needs 60 different ordinary token ids, the tokenizer has 10"):
        repeat_probe(np.arange(10), np.random.default_rng(0), 60, 0)
