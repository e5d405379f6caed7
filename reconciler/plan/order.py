"""Changes to ordered steps. The order itself is the list in ``phase.py``; here is who goes where, and why."""

from collections.abc import Collection, Iterable

from reconciler.diff import DeclaredChange
from reconciler.model import (
    AclBinding,
    AclPermissionType,
    Change,
    ClientQuota,
    Create,
    Delete,
    ResourcePattern,
    ResourceType,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
)
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.kinds.topic import deleted_topics, losses
from reconciler.plan.overlap import pattern_indexes
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

_ALLOW = AclPermissionType.ALLOW


def ordered(
    changes: Iterable[DeclaredChange],
    after: Iterable[ResourcePattern],
    *,
    default_allow: bool | None,
    frame: Collection[AclBinding] = (),
) -> tuple[Step, ...]:
    """Give each change its phase and sort; any input order gives the same steps.

    ``after`` are the patterns of every binding that will exist behind the plan; ``default_allow`` is the broker's
    ``allow.everyone.if.no.acl.found``, ``None`` where nobody declared it; ``frame`` are bindings that are created
    before, or deleted behind, everything else (:func:`reconciler.plan.default_allow.outermost.outermost`).
    """
    found = list(changes)
    bare = [item.change for item in found]
    vanishing = (binding for binding in deleted_bindings(bare) if binding.entry.permission_type is _ALLOW)
    reached = TopicReach(binding.pattern for binding in vanishing)
    opened = () if default_allow is False else _uncovered_topics(bare, after)
    steps = [_step(item, _phase(item.change, reached, opened, frame)) for item in found]
    return tuple(sorted(steps, key=lambda step: (step.phase, kind_of(step.change).key(step.change))))


def _step(found: DeclaredChange, phase: Phase) -> Step:
    change, declared = found
    if declared is None:
        return Step(phase, change)
    # A deletion has no last day: that of an old declaration is why the binding goes.
    expires = None if change.after is None else declared.expires
    return Step(phase, change, declared.origin, expires, declared.reason, declared.ticket)


def _phase(change: Change, vanishing: "TopicReach", opened: Iterable[str], frame: Collection[AclBinding]) -> Phase:
    match change:
        case Create(AclBinding() as binding) if binding in frame:
            return Phase.CREATE_FIRST
        case Delete(AclBinding() as binding) if binding in frame:
            return Phase.DELETE_LAST
        case Create(AclBinding() as binding):
            return Phase.CREATE_ALLOW if binding.entry.permission_type is _ALLOW else Phase.CREATE_DENY
        case Delete(AclBinding() as binding) if binding.entry.permission_type is not _ALLOW:
            return Phase.DELETE_DENY
        case Delete(AclBinding() as binding):
            waits = binding.pattern.resource_type is ResourceType.TOPIC and any(map(binding.pattern.matches, opened))
            return Phase.DELETE_WAITING_ALLOW if waits else Phase.DELETE_ALLOW
        case Create(Topic() as topic):
            return Phase.CREATE_WAITING_TOPIC if vanishing.reaches(topic.name) else Phase.CREATE_TOPIC
        case Delete(Topic()):
            return Phase.DELETE_TOPIC
        case Update(_, TopicPartitions()):
            return Phase.CREATE_PARTITIONS
        case Update(_, TopicConfigs()):
            return Phase.DELETE_TOPIC if losses(change) else Phase.ALTER_CONFIGS
        case Create(ClientQuota()) | Update(ClientQuota()) | Delete(ClientQuota()):
            return Phase.ALTER_QUOTAS
    raise TypeError(f"{type(change).__name__} is no step")


def _uncovered_topics(changes: Iterable[Change], after: Iterable[ResourcePattern]) -> tuple[str, ...]:
    """Topics that the plan deletes and that no binding will cover any more once it is through.

    With default-allow such a topic would be open to everyone between the last revocation and its own deletion.
    """
    deleted = [topic.name for topic in deleted_topics(changes)]
    if not deleted:
        return ()
    covered = TopicReach(after)
    return tuple(name for name in deleted if not covered.reaches(name))


class TopicReach:
    """Whether some TOPIC pattern matches a name."""

    def __init__(self, patterns: Iterable[ResourcePattern]) -> None:
        """Index the TOPIC patterns among ``patterns``."""
        self._index = pattern_indexes(patterns).get(ResourceType.TOPIC)

    def reaches(self, name: str) -> bool:
        """Whether one of them matches ``name``."""
        return self._index is not None and self._index.contains(ResourcePattern(ResourceType.TOPIC, name))
