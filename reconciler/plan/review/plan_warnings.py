"""What a plan says before its steps: facts that nobody established, and what the cluster did not show."""

from collections.abc import Iterator, Sequence

from reconciler.model import ClusterState, FactSource, Topic
from reconciler.plan.kinds import kinds_of
from reconciler.plan.proposal import Terms
from reconciler.plan.review.room_warnings import room_warnings
from reconciler.plan.step import Step


def plan_warnings(live: ClusterState, steps: Sequence[Step], terms: Terms, coverage_moves: bool) -> Iterator[str]:
    """What nobody established, what no listing showed, and what a make of Kafka has beside ACLs.

    ``coverage_moves``: patterns get their first binding or lose their last one.
    """
    if claims := terms.claims:
        yield (
            f"only the manifests state {' and '.join(claims)}: access is computed with and without, and the worse is "
            "shown; have the operator state it in the connections file"
        )
    if terms.facts.sources.default_allow is FactSource.FLAVOR:
        value = str(terms.default_allow).lower()
        yield (
            f"nobody states allowEveryoneIfNoAclFound, which is {value} at {terms.flavor.title} unless changed: "
            "access is computed with and without, and the worse is shown; have the operator state it in the "
            "connections file"
        )
    yield from (f"{terms.flavor.title}: {fact}" for fact in terms.flavor.unseen)
    if terms.short_wait is not None:
        yield (
            f"the manifests state barrier.wait {terms.short_wait:g}s, and a change takes up to "
            f"{terms.flavor.wait_seconds:g}s at {terms.flavor.title}: apply waits {terms.barrier_wait:g}s; only the "
            "operator's connections file can make it shorter"
        )
    yield from room_warnings(live, steps, terms.flavor)
    if live.opaque:
        yield f"{len(live.opaque)} live ACL entries are of a kind that this client cannot name; they stay as they are"
    if live.acl_gap:
        yield f"the ACL listing may not be whole: {live.acl_gap}"
    if live.topic_gap and Topic.KIND in terms.prune:
        yield f"undeclared topics are pruned only as far as they are seen: {live.topic_gap}"
    if coverage_moves and terms.default_allow is None:
        yield (
            "allowEveryoneIfNoAclFound is not declared: the patterns above change between having a binding and having "
            "none, which opens or closes them to everyone if it is true; declare it in Cluster before applying"
        )


def login_warnings(live: ClusterState, steps: Sequence[Step]) -> Iterator[str]:
    """What the login that plans may not do of it."""
    # A warning: the login that plans for a review is seldom the one that applies, and may lack the right on purpose.
    for kind in kinds_of(step.change for step in steps):
        if (lacking := kind.lacking_right(live)) is not None:
            yield f"this login may not {lacking.what}: apply with a login that has {lacking.right} on the cluster"
