"""What a plan's steps on topics and on their ACLs mean for each other, where no guard refuses it."""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.model import AclPermissionType, ClusterState, PatternType, ResourceType
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.kinds.topic import AUTO_CREATE, deleted_topics, grown_topics
from reconciler.plan.overlap import TopicReach
from reconciler.plan.proposal import Terms, bindings_after
from reconciler.plan.step import Step

#: So many names are written out.
_NAMED: Final = 5


def topic_warnings(steps: Sequence[Step], live: ClusterState, terms: Terms) -> Iterator[str]:
    """Yield a sentence each."""
    yield from _orphans(steps, live)
    yield from _without_acls(steps, live, terms)
    yield from _compacted(steps, live)
    deleted = _deleted(steps)
    if deleted and live.broker_defaults.get(AUTO_CREATE) == "true":
        yield (
            f"brokers make topics that clients ask for ({AUTO_CREATE}): a client that still uses "
            f"{_names(sorted(deleted))} brings it back, empty; apply looks again after the deletion"
        )


def _deleted(steps: Sequence[Step]) -> set[str]:
    return {topic.name for topic in deleted_topics(step.change for step in steps)}


def _orphans(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    """ACLs that lose their topic: whoever makes a topic of that name again finds them in force."""
    deleted = _deleted(steps)
    if not deleted:
        return
    left: dict[str, int] = {}
    for binding in bindings_after(live.bindings, steps):
        resource_type, name, pattern_type = binding.pattern
        if resource_type is ResourceType.TOPIC and pattern_type is PatternType.LITERAL and name in deleted:
            left[name] = left.get(name, 0) + 1
    for name, count in sorted(left.items()):
        stay = "1 binding that names it stays" if count == 1 else f"{count} bindings that name it stay"
        yield f"topic {name} goes, but {stay}: a topic of that name that is made later is open to them"


def _without_acls(steps: Sequence[Step], live: ClusterState, terms: Terms) -> Iterator[str]:
    """Topics that stay and lose the last binding that grants anything on them."""
    allow = AclPermissionType.ALLOW
    gone = [
        binding.pattern
        for binding in deleted_bindings(step.change for step in steps)
        if binding.entry.permission_type is allow
    ]
    if not gone or terms.default_allow is not False:  # otherwise the change of coverage says it
        return
    reached = TopicReach(gone)
    after = TopicReach(
        binding.pattern for binding in bindings_after(live.bindings, steps) if binding.entry.permission_type is allow
    )
    staying = live.topics.keys() - _deleted(steps)
    lost = sorted(name for name in staying if reached.reaches(name) and not after.reaches(name))
    if lost:
        noun = "topic loses its" if len(lost) == 1 else "topics lose their"
        yield f"{len(lost):,} {noun} last grant, only super users can use what is there: {_names(lost)}"


def _compacted(steps: Sequence[Step], live: ClusterState) -> Iterator[str]:
    default = live.broker_defaults.get("cleanup.policy", "")
    for name in grown_topics(step.change for step in steps):
        topic = live.topics.get(name)
        if topic is not None and "compact" in topic.configs.get("cleanup.policy", default):
            yield (
                f"topic {name} is compacted: of a key whose records go to another partition from now on, the old "
                "partition keeps its last record forever"
            )


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
