"""Terms of planning for one cluster, and doubts whether ACLs decide.

A cluster's declaration as planning takes it: its terms, and what has to be read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reconciler.access.authorizer import Authorizer
from reconciler.codec.kinds import LISTED
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from reconciler.model.addresses import ANY_OTHER_HOST
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredState
from reconciler.model.flavor import foreign_authorizer
from reconciler.model.kinds import copying_type, listed_types
from reconciler.model.listing import Change, items_after
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState, FactSource, StatedFacts
from reconciler.model.topic import Topic
from reconciler.plan.guards import DeleteLimits
from reconciler.plan.kinds import listed
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Terms
from reconciler.ports import ReadRequest


def terms(declaration: ClusterDeclaration) -> Terms:
    """A declaration as the planner takes it."""
    return Terms(
        cluster=declaration.name,
        scope=declaration.scope,
        default_allow=declaration.allow_everyone_if_no_acl_found,
        limits=delete_limits(declaration),
        prune=declaration.prune,
        ignore_configs=declaration.ignore_configs,
        facts=Facts(
            declaration.principal,
            declaration.inter_broker_principals,
            declaration.super_users,
            declaration.protect,
            declaration.sources,
            declaration.kafka_version,
        ),
        barrier_wait=declaration.barrier_wait,
        short_wait=declaration.short_wait,
        probe=declaration.probe.principal if declaration.probe else None,
        barrier_seconds=declaration.probe.seconds if declaration.probe else 30.0,
        brokers=declaration.brokers,
        flavor=declaration.flavor,
    )


def unbounded(present: Terms) -> Terms:
    """The same without what manifests answer for and how much they may delete: a lock is none of theirs."""
    return replace(present, scope=Scope(), prune=frozenset(), limits=DeleteLimits())


def claimed_super_users(declaration: ClusterDeclaration) -> tuple[str, ...]:
    """The super users that only the manifests state."""
    claimed = declaration.sources.super_users is FactSource.MANIFESTS
    return declaration.super_users if claimed else ()


def stated_facts(declaration: ClusterDeclaration) -> StatedFacts:
    """What decides access and no Kafka API tells."""
    return StatedFacts(
        tuple(sorted(declaration.super_users)),
        declaration.sources.super_users,
        declaration.allow_everyone_if_no_acl_found,
        declaration.sources.default_allow,
    )


def delete_limits(declaration: ClusterDeclaration) -> DeleteLimits:
    """How much one plan may delete, with what holds where the declaration says nothing."""
    limits = declaration.limits.effective
    return DeleteLimits(limits.max_deletes, limits.max_delete_percent, limits.percent_above or 0)


def read_request(declaration: ClusterDeclaration, desired: DesiredState) -> ReadRequest:
    """What planning needs to see: all ACLs, and all topics where some may be pruned, collide or need a bridge.

    Otherwise the names of topics alone, for what access they are reached by.
    """
    prunes_topics = Topic.KIND in declaration.prune
    kinds = ((listed(item), desired.of(item).values()) for item in listed_types() if item.KIND in desired.listed)
    needed = {name for kind, items in kinds for name in kind.topics_needed(desired_item.item for desired_item in items)}
    return ReadRequest(
        acls=True,
        all_topics=prunes_topics or bool(desired.topics) or declaration.allow_everyone_if_no_acl_found is True,
        topic_names=(*desired.topics, *sorted(needed - desired.topics.keys())),
        principal=declaration.principal,
        super_users=declaration.super_users,
        broker_defaults=bool(desired.topics or needed) or prunes_topics,
        groups=declaration.allow_everyone_if_no_acl_found is True,
        topic_listing=True,
        listings=frozenset({*desired.listed, *declaration.prune.intersection(LISTED)}),
    )


# Why ACLs may not be what decides on a cluster, as far as it tells itself: its word makes an answer stricter only.


def access_doubts(live: ClusterState, declaration: ClusterDeclaration | None) -> tuple[str, ...]:
    """Each reason, in a sentence; none proves that ACLs decide where there is no reason."""
    return (*authorizer_doubts(live), *rights_doubts(live, declaration))


def authorizer_doubts(live: ClusterState) -> Iterator[str]:
    """That the brokers run an authorizer which is not Apache Kafka's."""
    if (foreign := foreign_authorizer(live.broker_configs)) is not None:
        yield f"ACLs are stored here and may not decide: {foreign}"


def rights_doubts(live: ClusterState, declaration: ClusterDeclaration | None) -> Iterator[str]:
    """That brokers let us do on the cluster what our ACLs do not, or do not let us do what they do (KIP-430).

    Said only where no default-allow, no unread ACL and no address of ours can explain it.
    """
    if declaration is None or declaration.principal is None or live.own_operations is None or live.acl_gap is not None:
        return
    principal = declaration.principal
    default_allow, claimed = declaration.allow_everyone_if_no_acl_found, declaration.sources.default_allow.is_claim
    if claimed and default_allow:
        default_allow = None  # that it is off all the same would explain a refusal
    model = Authorizer(live.bindings, declaration.super_users, default_allow, live.kafka_version, opaque=live.opaque)
    ours = [
        binding.entry
        for binding in live.bindings
        if binding.pattern.resource_type is ResourceType.CLUSTER
        and binding.entry.principal in (principal, WILDCARD_PRINCIPAL)
    ]
    # Under which address we connect, only the brokers know: an entry that names one may or may not be about us.
    named = {entry.permission_type for entry in ours if entry.host != WILDCARD}
    answers = {
        operation: model.authorize(principal, ANY_OTHER_HOST, operation, ResourceType.CLUSTER, CLUSTER_NAME).allowed
        for operation in sorted(SUPPORTED_OPERATIONS[ResourceType.CLUSTER])
        if operation <= AclOperation.IDEMPOTENT_WRITE  # confluent-kafka tells none of the later ones
    }
    let = live.own_operations
    granted = [operation for operation, allowed in answers.items() if operation in let and allowed is False]
    refused = [operation for operation, allowed in answers.items() if operation not in let and allowed is True]
    # Where something that no listing shows grants too, as the flavor says, it is no wonder that somebody may do more.
    granted = [] if AclPermissionType.ALLOW in named or declaration.flavor.unseen else granted
    refused = [] if AclPermissionType.DENY in named else refused
    default = "allowEveryoneIfNoAclFound is on, " if claimed else ""
    if granted:
        yield (
            f"brokers let this login {_named(granted)} on the cluster, and no ACL lets {as_name(principal)}: it is a "
            f"super user that nobody states, spec.principal is not this login, {default}or ACLs do not decide here"
        )
    if refused:
        yield (
            f"brokers do not let this login {_named(refused)} on the cluster, and ACLs or superUsers let "
            f"{as_name(principal)}: spec.principal is not this login, superUsers is wrong, or ACLs do not decide here"
        )


def _named(operations: list[AclOperation]) -> str:
    return ", ".join(operation.name for operation in operations)


# Where brokers copy the records that share groups give up (KIP-1191).

_COPYING: Final = copying_type()
#: The listed kind that says so.
SAYS_DEAD_LETTERS: Final = _COPYING.KIND


def dead_letters(live: ClusterState, changes: Iterable[Change] = ()) -> Mapping[str, str] | None:
    """By group the topic that gets them, with changes made; ``None`` where the configs of groups are not known."""
    since = _COPYING.COPIES_SINCE
    if since is not None and live.kafka_version is not None and live.kafka_version < since:
        return {}
    items = live.listing(_COPYING).items
    return None if items is None else _COPYING.copies(items_after(_COPYING, items, changes))


def declared_dead_letters(wanted: DesiredState, live: ClusterState | None = None) -> Mapping[str, str] | None:
    """As manifests declare it; of groups that they do not declare, as the cluster has it."""
    declared = wanted.of(_COPYING)
    there = {} if live is None else dead_letters(live)
    if there is None:
        return None
    # What is declared of a group is all of its configs.
    kept = {group: topic for group, topic in there.items() if group not in declared}
    return {**kept, **_COPYING.copies(item.item for item in declared.values() if not item.goes)}
