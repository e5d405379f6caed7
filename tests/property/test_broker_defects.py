"""What breaks brokers, kept along with changes, is what is read anew from all bindings."""

from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.access.broker_defects import BrokerDefects
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

_NAMES = ("*", "!", "!a", "+", "a", "ab")
_TYPES = (ResourceType.TOPIC, ResourceType.GROUP)


def _binding(kind: ResourceType, name: str, pattern: PatternType, principal: str) -> AclBinding:
    entry = AccessControlEntry(principal, "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(kind, name, pattern), entry)


_sets = st.sets(
    st.builds(
        _binding,
        st.sampled_from(_TYPES),
        st.sampled_from(_NAMES),
        st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
        st.sampled_from(["User:a", "nobody"]),
    ),
    max_size=8,
)
_BELOW = _binding(ResourceType.TOPIC, "!a", PatternType.LITERAL, "User:a")
_WALL = _binding(ResourceType.TOPIC, "*", PatternType.PREFIXED, "User:a")


@given(_sets, _sets)
@example({_BELOW}, {_BELOW, _WALL})  # what ends a scan before it breaks comes, and goes
@example({_BELOW, _WALL}, {_BELOW})
def test_kept_along_is_read_anew(before: set[AclBinding], after: set[AclBinding]) -> None:
    kept, anew = BrokerDefects(before).with_changes(after - before, before - after, after), BrokerDefects(after)
    assert (kept.bindings, kept.types) == (anew.bindings, anew.types)
    for kind in _TYPES:
        for name in _NAMES:
            assert kept.breaking(kind, name, None) == anew.breaking(kind, name, None)
