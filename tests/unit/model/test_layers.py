"""A mapping that comes from another one by few changes: the same as a dictionary, at the price of what changes."""

import random

import pytest

from reconciler.model.frozen import Layers


@pytest.mark.parametrize("seed", range(3))
def test_any_mapping_of_many_that_come_from_one_another_is_as_a_dictionary(seed: int) -> None:
    chance = random.Random(seed)
    first = {key: chance.randrange(3) for key in range(chance.randrange(12))}
    family = [(Layers(first), first)]
    for _ in range(120):
        layers, plain = chance.choice(family)
        changed = {chance.randrange(16): chance.choice((None, 0, 1, 2)) for _ in range(chance.choice((0, 1, 1, 2, 9)))}
        after = {key: value for key, value in {**plain, **changed}.items() if value is not None}
        family.append((layers.with_items(changed), after))
    for layers, plain in family:
        assert dict(layers.items()) == plain == layers
        assert (len(layers), bool(layers), sorted(layers)) == (len(plain), bool(plain), sorted(plain))
        for key in range(17):
            assert (layers.get(key), layers.get(key, 7)) == (plain.get(key), plain.get(key, 7))
            assert (key in layers) is (key in plain)
            if key in plain:
                assert layers[key] == plain[key]
            else:
                with pytest.raises(KeyError):
                    layers[key]


def test_a_thousand_changes_copy_as_much_as_they_change_a_few_times() -> None:
    layers = Layers(dict.fromkeys(range(10_000), 1))
    copied = 0
    for key in range(1_000):
        layers = layers.with_items({key: None})
        copied += len(layers._layers[0])
    assert copied < 40 * 1_000
    assert len(layers._layers) < 5
    assert len(layers) == 9_000
    assert layers.with_items({}) is layers
