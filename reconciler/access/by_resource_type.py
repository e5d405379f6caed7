"""``Authorizer.authorizeByResourceType``: whether a principal may do something on at least one resource of a type.

Brokers ask it for WRITE on TOPIC when an idempotent producer starts (``KafkaApis.handleInitProducerIdRequest``).
"""

from typing import Final, NamedTuple

from reconciler.access.evidence import host_matches
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_index import NameIndex
from reconciler.access.name_set import ALL_NAMES, literal, names_of
from reconciler.access.operations import DENIED
from reconciler.model import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourceType,
)

#: The resource name that the default method authorizes first (``Authorizer.authorizeByResourceType``).
PROBE: Final = "hardcode"


class ResourceTypeDecision(NamedTuple):
    """Whether some resource is allowed, and the bindings that allow it (or that deny all of them)."""

    allowed: bool
    bindings: tuple[AclBinding, ...]


def on_some_resource(
    interpretation: Interpretation, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
) -> ResourceTypeDecision:
    """The second half of the default method, which compares patterns. ALL counts; implied operations do not.

    A DENY on LITERAL ``*`` denies all; an ALLOW counts unless a DENY prefix contains it or, for a literal, an equal
    literal DENY. A literal DENY never cancels a prefixed ALLOW.
    """
    found = [
        binding
        for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL))
        for binding in interpretation.index.bindings(resource_type, who)
        if binding.entry.operation in (operation, AclOperation.ALL)
        and host_matches(binding.entry.host, host, interpretation.index.version)
    ]
    denies = [binding for binding in found if binding.entry.permission_type is AclPermissionType.DENY]
    everything = sorted(binding for binding in denies if binding.pattern.is_wildcard)
    if everything:
        return ResourceTypeDecision(False, tuple(everything))
    # A prefix index answers both rules at once: a DENY prefix that contains the ALLOW, or an equal literal.
    denied = NameIndex({names_of(binding.pattern): 1 for binding in denies})
    allows = [
        binding
        for binding in found
        if binding.entry.permission_type is AclPermissionType.ALLOW and not denied.at_names(names_of(binding.pattern))
    ]
    return ResourceTypeDecision(bool(allows), tuple(sorted(allows)))


def may_on_some_resource(
    interpretation: Interpretation, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
) -> bool:
    """The whole method in one interpretation; ignores super users and broker defects."""
    if interpretation.access(principal, host, resource_type, literal(PROBE)) >> operation & 1:
        return True
    # The same as on_some_resource, by the compiled tables: a comparison asks this for each of hundreds of hosts.
    groups = [interpretation.index.group(resource_type, who) for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL))]
    found = [(group.rules[text], group.tables[text]) for group in groups if group for text in group.texts(host)]
    deny = 1 << operation + DENIED
    if any(rules.get(ALL_NAMES, 0) & deny for rules, _ in found):
        return False
    return any(
        mask >> operation & 1 and not any(table.at_names(key) & deny for _, table in found)
        for rules, _ in found
        for key, mask in rules.items()
    )
