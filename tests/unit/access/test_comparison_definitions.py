"""Which hosts and names a comparison tells apart, stated binding by binding."""

from itertools import product

from reconciler.access import Authorizer
from reconciler.access.comparison import AccessComparison
from reconciler.access.hosts import host_classes
from reconciler.access.name_set import ALL_NAMES, NameSet, literal
from reconciler.model import AclBinding, ResourceType
from tests.unit.access.test_difference_definitions import VERSION, changes

_ZONES = (ALL_NAMES, NameSet("a"), literal("a"), literal("ab"), literal("b"), literal("*x"))
_NAMES = ("a", "ab", "aa", "b", "*", "*x", "*xa")
_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER)


def _distinguishes(binding: AclBinding, kind: ResourceType, zone: NameSet) -> bool:
    """Whether the host of an entry matters on a zone: on CLUSTER topics count too, and on topics CLUSTER does."""
    own, on_cluster = binding.pattern.resource_type, kind is ResourceType.CLUSTER
    if own is ResourceType.CLUSTER and kind is ResourceType.TOPIC:
        return True
    if on_cluster:
        return own in (ResourceType.TOPIC, ResourceType.CLUSTER)
    # Brokers do not apply LITERAL * to longer names that begin with an asterisk.
    applied = [name for name in _NAMES if not (binding.pattern.is_wildcard and name.startswith("*") and name != "*")]
    return own is kind and any(binding.pattern.matches(name) and zone.matches(name) for name in applied)


def test_hosts_are_told_apart_by_entries_that_matter_on_the_zone_and_by_no_others() -> None:
    for before, after in changes(7, 60):
        sides = [Authorizer(side, (), False, VERSION).interpretations.least for side in (before, after)]
        comparison = AccessComparison(*sides, "User:z")
        for principal, kind, zone in product(("User:a", "User:b", "User:z"), _TYPES, _ZONES):
            texts = {
                binding.entry.host
                for binding in (*before, *after)
                if binding.entry.principal in (principal, "User:*") and _distinguishes(binding, kind, zone)
            }
            assert comparison.hosts(principal, kind, zone) == host_classes(texts, VERSION), (principal, kind, zone)
