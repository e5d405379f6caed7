"""Whether a bridge may go: what only we use is nobody's access, and neither keeps a bridge nor lets one go."""

import random
from collections.abc import Collection
from itertools import product

import pytest

from reconciler.apply.bridges import NearbyBindings, interrupts_nobody
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourcePattern, ResourceType
from tests.worlds import acl

_EVERY = ResourcePattern(ResourceType.TOPIC, "*")
_OURS = acl("__kr.run.1", "User:probe")


@pytest.mark.parametrize(
    "pattern", [_EVERY, _OURS.pattern, ResourcePattern(ResourceType.TOPIC, "__", PatternType.PREFIXED)]
)
def test_names_of_ours_are_near_nothing(pattern: ResourcePattern) -> None:
    assert NearbyBindings([_OURS]).to(pattern) == set()
    other = acl("__x", "User:a")
    assert NearbyBindings([_OURS, other]).to(_EVERY) == {other}


def test_a_sentinel_does_not_keep_a_bridge() -> None:
    """It is there now and in neither state: as somebody's access it would be one that the end does not account for."""
    nothing, probe_acl = NearbyBindings([]), NearbyBindings([_OURS])
    assert interrupts_nobody(_EVERY, nothing, probe_acl, nothing)
    stranger = NearbyBindings([acl("x", "User:a")])
    assert not interrupts_nobody(_EVERY, nothing, stranger, nothing)


def test_a_foreign_deny_keeps_a_bridge() -> None:
    """Whom the end permits is refused by a DENY that neither state has: without the bridge they would be refused."""
    nothing, end = NearbyBindings([]), [acl("x", "User:a")]
    deny = acl("x", "User:a", permission=AclPermissionType.DENY)
    assert interrupts_nobody(_EVERY, nothing, NearbyBindings(end), NearbyBindings(end))
    assert not interrupts_nobody(_EVERY, nothing, NearbyBindings([*end, deny]), NearbyBindings(end))
    assert interrupts_nobody(_EVERY, nothing, NearbyBindings([*end, deny]), NearbyBindings([*end, deny]))


_NAMES = ("a", "ab-", "ab-1", "x", "*", "__kr.run.1")
_POOL = [
    acl(name, f"User:{user}", AclOperation.READ, permission, kind)
    for name, user, permission, kind in product(
        ("a", "ab-", "ab-1", "*", "__kr.run.1"),
        "ab",
        (AclPermissionType.ALLOW, AclPermissionType.DENY),
        (ResourceType.TOPIC, ResourceType.GROUP),
    )
]


def _near(bindings: Collection[AclBinding], pattern: ResourcePattern) -> set[AclBinding]:
    """Those whose pattern matches a name, not one of ours, that ``pattern`` matches too."""
    return {
        binding
        for binding in bindings
        if binding.pattern.resource_type is pattern.resource_type
        and not binding.pattern.name.startswith("__kr.")
        and any(binding.pattern.matches(name) and pattern.matches(name) for name in _NAMES)
    }


def test_a_bridge_goes_if_what_the_other_state_permits_is_permitted_or_nothing_covers_its_names() -> None:
    chance = random.Random(3)
    patterns = sorted({binding.pattern for binding in _POOL if binding.pattern.name != "__kr.run.1"})
    answers = set()
    for _ in range(4_000):
        pattern = chance.choice(patterns)
        few = [one for one in _POOL if one.pattern.resource_type is pattern.resource_type or chance.random() < 0.2]
        before, after = (set(chance.sample(few, chance.randrange(4))) if chance.random() < 0.6 else set() for _ in "12")
        # On the way from one to the other, at times with a binding of somebody else.
        now = {one for one in before | after if chance.random() < 0.7} | set(chance.sample(few, chance.randrange(2)))
        old, held, new = (_near(side, pattern) for side in (before, now, after))
        other = new or old
        allows = {one for one in other if one.entry.permission_type is AclPermissionType.ALLOW}
        denies = {one for one in held if one.entry.permission_type is AclPermissionType.DENY}
        free = not held or (bool(other) and allows <= held and denies <= old | new)
        sides = (NearbyBindings(before), NearbyBindings(now), NearbyBindings(after))
        assert [side.to(pattern) for side in sides] == [old, held, new]
        assert interrupts_nobody(pattern, *sides) is free
        answers.add((free, bool(held), bool(denies), bool(old), bool(new)))
    assert len(answers) > 15
