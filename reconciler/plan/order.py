"""Changes to ordered steps. The order itself is the list in ``phase.py``; here is who goes where, and why."""

from collections.abc import Collection, Iterable

from reconciler.model import (
    AclBinding,
    AclPermissionType,
    AlterConfigs,
    Change,
    CreateAcl,
    CreatePartitions,
    CreateTopic,
    DeleteAcl,
    DeleteTopic,
    Origin,
    ResourcePattern,
    ResourceType,
    data_loss,
)
from reconciler.plan.overlap import pattern_indexes
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

_ALLOW = AclPermissionType.ALLOW


def ordered(
    changes: Iterable[tuple[Change, Origin | None]],
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
    vanishing = [c.binding for c, _ in found if isinstance(c, DeleteAcl) and c.binding.entry.permission_type is _ALLOW]
    reached = TopicReach(binding.pattern for binding in vanishing)
    opened = () if default_allow is False else _uncovered_topics((change for change, _ in found), after)
    steps = [Step(_phase(change, reached, opened, frame), change, origin) for change, origin in found]
    return tuple(sorted(steps, key=lambda step: (step.phase, _key(step.change))))


def _phase(change: Change, vanishing: "TopicReach", opened: Iterable[str], frame: Collection[AclBinding]) -> Phase:
    match change:
        case CreateAcl(binding) if binding in frame:
            return Phase.CREATE_FIRST
        case DeleteAcl(binding) if binding in frame:
            return Phase.DELETE_LAST
        case CreateAcl(binding):
            return Phase.CREATE_ALLOW if binding.entry.permission_type is _ALLOW else Phase.CREATE_DENY
        case DeleteAcl(binding) if binding.entry.permission_type is not _ALLOW:
            return Phase.DELETE_DENY
        case DeleteAcl(binding):
            waits = binding.pattern.resource_type is ResourceType.TOPIC and any(map(binding.pattern.matches, opened))
            return Phase.DELETE_WAITING_ALLOW if waits else Phase.DELETE_ALLOW
        case CreateTopic(topic):
            return Phase.CREATE_WAITING_TOPIC if vanishing.reaches(topic.name) else Phase.CREATE_TOPIC
        case DeleteTopic():
            return Phase.DELETE_TOPIC
        case CreatePartitions():
            return Phase.CREATE_PARTITIONS
        case AlterConfigs():
            return Phase.DELETE_TOPIC if losses(change) else Phase.ALTER_CONFIGS
    raise TypeError(f"{type(change).__name__} is no step")


def losses(change: AlterConfigs) -> tuple[str, ...]:
    """Why a settings change may lose records, one reason a setting."""
    found = (data_loss(key, change.before[key], change.after[key]) for key in change.after)
    return tuple(reason for reason in found if reason)


def _key(change: Change) -> tuple[str, AclBinding] | tuple[str, str]:
    match change:
        case CreateAcl(binding) | DeleteAcl(binding):
            return "", binding
        case CreateTopic(topic) | DeleteTopic(topic):
            return type(change).__name__, topic.name
        case _:
            return type(change).__name__, change.name


def _uncovered_topics(changes: Iterable[Change], after: Iterable[ResourcePattern]) -> tuple[str, ...]:
    """Topics that the plan deletes and that no binding will cover any more once it is through.

    With default-allow such a topic would be open to everyone between the last revocation and its own deletion.
    """
    deleted = [change.topic.name for change in changes if isinstance(change, DeleteTopic)]
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
