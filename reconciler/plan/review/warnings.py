"""What a plan's steps on topics and on their ACLs mean for each other, where no guard refuses it."""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.model.acl import AclPermissionType, PatternType, ResourceType
from reconciler.model.characters import as_name, first_of
from reconciler.model.kinds import listed_types
from reconciler.model.state import ClusterState, FactSource
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import cut_off, readable, refusal_of
from reconciler.plan.kinds import kind_of, kinds_of, listed
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.kinds.topic import (
    AUTO_CREATE,
    MIN_INSYNC,
    REPLICAS,
    configs_set,
    deleted_topics,
    grown_topics,
    loss_by_default,
    name_of,
    topics_after,
)
from reconciler.plan.overlap import TopicReach
from reconciler.plan.proposal import Terms, each_binding_after
from reconciler.plan.review.topics import room_warnings
from reconciler.plan.step import Step

#: So many names are written out.
_NAMED: Final = 5


def kind_warnings(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    """What the kinds say of all steps that a step or a listing is about."""
    changes = [step.change for step in steps]
    about = dict.fromkeys((*kinds_of(changes), *(listed(item) for item in listed_types() if live.listing(item).items)))
    for kind in about:
        yield from kind.warnings(changes, live)


def topic_warnings(steps: Sequence[Step], live: ClusterState, terms: Terms) -> Iterator[str]:
    """Yield a sentence each."""
    yield from _orphans(steps, live)
    yield from _without_acls(steps, live, terms)
    yield from _compacted(steps, live)
    yield from _cut_off(steps, live)
    yield from _by_default(steps)
    yield from _stopped_by_one_broker(steps, live)
    for change in (step.change for step in steps):
        if (first := kind_of(change).first_step(change, terms.flavor)) is not None:
            between = first.intermediate
            way = (
                f"{between.config} of {as_name(name_of(change))} is set to {between.via} first, then to {between.after}"
            )
            yield f"{terms.flavor.title}: {way}: {between.harm}"
    if live.kafka_version is None:
        yield from _perhaps_refused(steps)
    deleted = _deleted(steps)
    if deleted and live.broker_defaults.get(AUTO_CREATE) == "true":
        yield (
            f"brokers make topics that clients ask for ({AUTO_CREATE}): a client that still uses "
            f"{_names(sorted(deleted))} brings it back, empty; apply looks again after the deletion"
        )


def _perhaps_refused(steps: Sequence[Step]) -> Iterator[str]:
    """Configs that some releases refuse, where nobody told the cluster's: apply may stop at them."""
    by_reason: dict[str, list[str]] = {}
    for topic, name, value in configs_set(step.change for step in steps):
        if (refusal := refusal_of(name, value)) is not None:
            why = f"Kafka since {refusal.release} refuses {name}: {refusal.reason}"
            by_reason.setdefault(why, []).append(topic)
    for why, topics in sorted(by_reason.items()):
        yield f"{why}; the cluster's release is not known, so the brokers may refuse {_names(sorted(set(topics)))}"


def _deleted(steps: Sequence[Step]) -> set[str]:
    return {topic.name for topic in deleted_topics(step.change for step in steps)}


def _orphans(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    """ACLs that lose their topic: whoever makes a topic of that name again finds them in force."""
    deleted = _deleted(steps)
    if not deleted:
        return
    remaining: dict[str, list[str]] = {}
    for binding in each_binding_after(live.bindings, steps):
        resource_type, name, pattern_type = binding.pattern
        # A prefix speaks of other topics too, so it is not about this one.
        if resource_type is ResourceType.TOPIC and pattern_type is PatternType.LITERAL and name in deleted:
            entry = binding.entry
            text = f"{as_name(entry.principal)} {entry.permission_type.name} {entry.operation.name}"
            remaining.setdefault(name, []).append(text)
    for name, entries in sorted(remaining.items()):
        stay = "1 binding that names it stays" if len(entries) == 1 else f"{len(entries):,} bindings that name it stay"
        shown = sorted(entries)[:_NAMED]
        more = f" and {len(entries) - len(shown):,} more" if len(entries) > len(shown) else ""
        yield f"topic {as_name(name)} goes, but {stay}, for a new topic of that name: {', '.join(shown)}{more}"


def _without_acls(steps: Sequence[Step], live: ClusterState, terms: Terms) -> Iterator[str]:
    """Topics that stay and lose the last binding that grants anything on them."""
    allow = AclPermissionType.ALLOW
    gone = [
        binding.pattern
        for binding in deleted_bindings(step.change for step in steps)
        if binding.entry.permission_type is allow
    ]
    if not gone or terms.established_default_allow is not False:  # otherwise the change of coverage says it
        return
    reached = TopicReach(gone)
    staying = [name for name in live.topics.keys() - _deleted(steps) if reached.reaches(name)]
    if not staying:
        return
    after = TopicReach(
        binding.pattern
        for binding in each_binding_after(live.bindings, steps)
        if binding.entry.permission_type is allow
    )
    lost = sorted(name for name in staying if not after.reaches(name))
    if lost:
        noun = "topic loses its" if len(lost) == 1 else "topics lose their"
        yield f"{len(lost):,} {noun} last grant, only super users can use what is there: {_names(lost)}"


def _compacted(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    default = live.broker_defaults.get("cleanup.policy", "")
    for name in grown_topics(step.change for step in steps):
        topic = live.topics.get(name)
        if topic is not None and "compact" in topic.configs.get("cleanup.policy", default):
            yield (
                f"topic {as_name(name)} is compacted: of a key whose records go to another partition from now on, the "
                "old partition keeps its last record forever"
            )


def _cut_off(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    """Configs with which producers are refused, or records are gone before they are read."""
    by_reason: dict[str, list[str]] = {}
    for topic, name, value in configs_set(step.change for step in steps):
        existing = live.topics.get(topic)
        before = None if existing is None else existing.configs.get(name, live.broker_defaults.get(name))
        if (why := cut_off(name, before, value)) is not None:
            by_reason.setdefault(why, []).append(topic)
    for why, topics in sorted(by_reason.items()):
        yield f"{why}: {_names(sorted(set(topics)))}"


def _stopped_by_one_broker(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    """Topics that get a number of replicas, all of which have to be in sync, or such a ``min.insync.replicas``.

    Brokers ask for the smaller of the two (``Partition.effectiveMinIsr``).
    """
    by_replicas: dict[tuple[int, int], list[str]] = {}
    for name, after in topics_after(live.topics, (step.change for step in steps)).items():
        before = live.topics.get(name)
        if after is None:
            continue
        least, fewest = _needed_in_sync(after, live)
        if least is None or fewest is None or least < max(fewest, 2):
            continue
        if before is None or _needed_in_sync(before, live) != (least, fewest):
            by_replicas.setdefault((least, fewest), []).append(name)
    for (least, fewest), topics in sorted(by_replicas.items()):
        replicas = "1 replica" if fewest == 1 else f"{fewest} replicas"
        yield (
            f"{MIN_INSYNC} is {least}, with {replicas} of a partition: one broker down stops every producer with "
            f"acks=all: {_names(sorted(topics))}"
        )


def _needed_in_sync(topic: Topic, live: ClusterState) -> tuple[int | None, int | None]:
    """``min.insync.replicas``, and the replicas of the partition with the fewest, as far as they are known."""
    least = topic.configs.get(MIN_INSYNC, live.broker_defaults.get(MIN_INSYNC, ""))
    return int(least) if least.isdecimal() else None, _fewest(topic, live)


def _fewest(topic: Topic, live: ClusterState) -> int | None:
    """The replicas of the partition with the fewest."""
    if topic.replica_assignments:
        return min(map(len, topic.replica_assignments))
    default = live.broker_defaults.get(REPLICAS, "")
    return topic.replication_factor or (int(default) if default.isdecimal() else None)


def _by_default(steps: Sequence[Step]) -> Iterator[str]:
    """Configs that keep as much as before, until somebody lowers a broker's default."""
    by_reason: dict[str, list[str]] = {}
    for step in steps:
        for name, default in loss_by_default(step.change):
            why = f"{name} follows the broker's default, now {readable(name, default)}"
            by_reason.setdefault(why, []).append(name_of(step.change))
    for why, topics in sorted(by_reason.items()):
        yield f"{why}: records may go if somebody changes that default: {_names(sorted(topics))}"


def _names(names: Sequence[str]) -> str:
    return first_of(names, _NAMED, as_name)


# What a plan says before its steps: facts that nobody established, and what the cluster did not show.


def claims_warning(terms: Terms) -> str:
    """What the manifests alone state."""
    return (
        f"only the manifests state {' and '.join(terms.claims)}: access is computed with and without, and the worse is "
        "shown; have the operator state it in the connections file"
    )


def plan_warnings(live: ClusterState, steps: Sequence[Step], terms: Terms, coverage_moves: bool) -> Iterator[str]:
    """What nobody established, what no listing showed, and what a make of Kafka has beside ACLs.

    ``coverage_moves``: patterns get their first binding or lose their last one.
    """
    if terms.claims:
        yield claims_warning(terms)
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
