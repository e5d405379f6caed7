"""A cluster's declaration as planning takes it: its terms, and what has to be read."""

from reconciler.codec.kinds import LISTED
from reconciler.manifest import ClusterDeclaration
from reconciler.model import DesiredState, FactSource, Topic
from reconciler.plan import DeleteLimits, Facts, Terms
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


def claimed_super_users(declaration: ClusterDeclaration) -> tuple[str, ...]:
    """The super users that only the manifests state."""
    claimed = declaration.sources.super_users is FactSource.MANIFESTS
    return declaration.super_users if claimed else ()


def delete_limits(declaration: ClusterDeclaration) -> DeleteLimits:
    """How much one plan may delete, with what holds where the declaration says nothing."""
    limits = declaration.limits.effective
    return DeleteLimits(limits.max_deletes, limits.max_delete_percent, limits.percent_above or 0)


def read_request(declaration: ClusterDeclaration, desired: DesiredState) -> ReadRequest:
    """What planning needs to see: all ACLs, and all topics where some may be pruned, collide or need a bridge.

    Otherwise the names of topics alone, for what access they are reached by.
    """
    prunes_topics = Topic.KIND in declaration.prune
    return ReadRequest(
        acls=True,
        all_topics=prunes_topics or bool(desired.topics) or declaration.allow_everyone_if_no_acl_found is True,
        topic_names=tuple(desired.topics),
        principal=declaration.principal,
        super_users=declaration.super_users,
        broker_defaults=bool(desired.topics) or prunes_topics,
        groups=declaration.allow_everyone_if_no_acl_found is True,
        topic_listing=True,
        listings=frozenset({*desired.listed, *declaration.prune.intersection(LISTED)}),
    )
