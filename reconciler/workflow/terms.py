"""A cluster's declaration as planning takes it: its terms, and what has to be read."""

from reconciler.manifest import ClusterDeclaration
from reconciler.model import DesiredState
from reconciler.plan import DeleteLimits, Facts, Terms
from reconciler.ports import ReadRequest


def terms(declaration: ClusterDeclaration) -> Terms:
    """A declaration as the planner takes it."""
    return Terms(
        cluster=declaration.name,
        scope=declaration.scope,
        default_allow=declaration.allow_everyone_if_no_acl_found,
        limits=DeleteLimits(declaration.limits.max_deletes, declaration.limits.max_delete_percent),
        prune_topics=declaration.prune_topics,
        prune_quotas=declaration.prune_quotas,
        ignore_configs=declaration.ignore_configs,
        facts=Facts(
            declaration.principal,
            declaration.inter_broker_principals,
            declaration.super_users,
            declaration.protect,
        ),
        barrier_wait=declaration.barrier_wait,
        probe=declaration.probe.principal if declaration.probe else None,
        barrier_seconds=declaration.probe.seconds if declaration.probe else 30.0,
        brokers=declaration.brokers,
    )


def read_request(declaration: ClusterDeclaration, desired: DesiredState) -> ReadRequest:
    """What planning needs to see: all ACLs, and all topics where some may be pruned, collide or need a bridge.

    Otherwise the names of topics alone, for what access they are reached by.
    """
    return ReadRequest(
        acls=True,
        all_topics=declaration.prune_topics
        or bool(desired.topics)
        or declaration.allow_everyone_if_no_acl_found is True,
        topic_names=tuple(desired.topics),
        principal=declaration.principal,
        super_users=declaration.super_users,
        broker_defaults=bool(desired.topics) or declaration.prune_topics,
        groups=declaration.allow_everyone_if_no_acl_found is True,
        topic_listing=True,
        quotas=bool(desired.quotas or desired.expired_quotas) or declaration.prune_quotas,
    )
