"""Whether a bridge may go: what only we use is nobody's access, and neither keeps a bridge nor lets one go."""

import pytest

from reconciler.apply.bridge_removal import NearbyBindings, interrupts_nobody
from reconciler.model import AclPermissionType, PatternType, ResourcePattern, ResourceType
from tests.faults.scenario import acl

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
    nothing, sentinel = NearbyBindings([]), NearbyBindings([_OURS])
    assert interrupts_nobody(_EVERY, nothing, sentinel, nothing)
    stranger = NearbyBindings([acl("x", "User:a")])
    assert not interrupts_nobody(_EVERY, nothing, stranger, nothing)


def test_a_foreign_deny_keeps_a_bridge() -> None:
    """Whom the end permits is refused by a DENY that neither state has: without the bridge they would be refused."""
    nothing, end = NearbyBindings([]), [acl("x", "User:a")]
    deny = acl("x", "User:a", permission=AclPermissionType.DENY)
    assert interrupts_nobody(_EVERY, nothing, NearbyBindings(end), NearbyBindings(end))
    assert not interrupts_nobody(_EVERY, nothing, NearbyBindings([*end, deny]), NearbyBindings(end))
    assert interrupts_nobody(_EVERY, nothing, NearbyBindings([*end, deny]), NearbyBindings([*end, deny]))
