"""Recipes: what the study asks of the families, and the schedules of checkpoints and learning rate."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from zoo_builders import recipe

from resolvent.errors import ResolventError
from resolvent.models.families import architecture
from resolvent.models.zoo.families import RECIPES, checkpoint_steps, recipe_of
from resolvent.models.zoo.training import learning_rate, new_model

ASKED = {
    "mini-gpt2": ("layernorm", "learned", 96),
    "mini-neox": ("layernorm", "rope_partial", 48),
    "mini-llama": ("rmsnorm", "rope", 96),
}


@pytest.mark.parametrize("name", list(ASKED))
def test_every_architecture_is_what_the_study_asks_for(name: str) -> None:
    """Norm, positions, and heads enough for the contest (mini-neox is small, for it is kept thirteen times)."""
    model = new_model(RECIPES[name])
    found = architecture(model.config.to_dict(), name=name)
    norm, positions, heads = ASKED[name]
    assert (found.norm, found.positions) == (norm, positions)
    assert found.layers * found.heads >= heads
    assert found.layers >= (6 if name == "mini-neox" else 8)
    assert 1.3e6 < model.num_parameters() < 2.3e6
    if name == "mini-llama":
        assert model.config.num_key_value_heads < model.config.num_attention_heads, "grouped queries"


@pytest.mark.parametrize("name", list(ASKED))
def test_repeats_are_a_tenth_to_a_fifth_of_the_rows(name: str) -> None:
    """Enough to bring induction heads early, and ordinary text most of what is seen."""
    assert 0.1 <= RECIPES[name].repeated_share <= 0.2


def test_thirteen_checkpoints_are_even_in_the_logarithm_of_the_step() -> None:
    """Formation is early: the first half of the training must not take half of the checkpoints."""
    found = RECIPES["mini-neox"]
    steps = checkpoint_steps(found)
    assert len(steps) == 13
    assert (steps[0], steps[1], steps[-1]) == (0, 16, found.steps)
    growth = [later / earlier for earlier, later in pairwise(steps[1:])]
    assert max(growth) / min(growth) < 1.1


def test_one_checkpoint_is_the_last() -> None:
    """The other families ship their final weights alone."""
    assert checkpoint_steps(RECIPES["mini-llama"]) == (RECIPES["mini-llama"].steps,)
    assert checkpoint_steps(recipe(checkpoints=2)) == (0, 20)


def test_too_many_checkpoints_are_refused() -> None:
    """Two of one step would be one checkpoint, counted twice."""
    with pytest.raises(ResolventError, match="13 checkpoints do not fit between steps 2 and 8"):
        checkpoint_steps(recipe(checkpoints=13, steps=8))


def test_an_unknown_family_is_answered_with_the_known_ones() -> None:
    """A typing mistake must not train anything."""
    with pytest.raises(ResolventError, match="no family 'mini-mamba'; known are mini-gpt2, mini-neox, mini-llama"):
        recipe_of("mini-mamba")


def test_the_learning_rate_rises_stays_and_falls_to_zero() -> None:
    """The last step still moves a little; a step more would not."""
    found = recipe(steps=40, warmup=5, decay=10, learning_rate=1.0)
    rates = [learning_rate(found, step) for step in range(found.steps)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert set(rates[5:30]) == {1.0}
    assert rates[30:] == pytest.approx([(10 - i) / 11 for i in range(10)])
    assert learning_rate(found, found.steps) == 0


def test_steps_before_the_fall_do_not_depend_on_how_many_there_will_be() -> None:
    """A longer training begins with the very same steps."""
    short, long = recipe(steps=40, decay=10), recipe(steps=100, decay=10)
    assert [learning_rate(short, step) for step in range(29)] == [learning_rate(long, step) for step in range(29)]


def test_initial_weights_are_the_seeds_and_leave_the_global_generator_alone() -> None:
    """Determinism begins at step 0."""
    import torch

    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, again, other = (new_model(r).state_dict() for r in (recipe(), recipe(), replace(recipe(), seed=2)))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
