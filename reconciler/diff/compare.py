"""A desired state against a live one, inside a scope.

Scope and ignore are applied to both sides *before* anything is compared: what is outside is never a difference.
What could not be read is never a difference either: it is listed as left, and nothing is planned against it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from reconciler.diff.left import Left, LeftReason
from reconciler.diff.topics import removal, topic_changes
from reconciler.model import (
    AclBinding,
    Change,
    ClusterState,
    Create,
    Delete,
    DesiredState,
    DesiredTopic,
    Impossible,
    Origin,
    Scope,
    collision_key,
)

_Found: TypeAlias = tuple[Change, Origin | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Changes in a fixed order, each with the place that asks for it (``None``: nothing asks for it any more).

    The counts say what was looked at: live bindings ``owned``, ``ignored`` (somebody else's) and ``outside``.
    """

    changes: tuple[tuple[Change, Origin | None], ...]
    left: tuple[Left, ...]
    owned: int
    ignored: int
    outside: int


@dataclass(frozen=True, slots=True)
class TopicRules:
    """How silence about topics and settings is read: prune undeclared topics, leave these settings alone."""

    prune: bool = False
    ignore_configs: Collection[str] = ()


def compare(desired: DesiredState, live: ClusterState, scope: Scope, rules: TopicRules) -> Comparison:
    """Compare; the answer does not depend on the order of either input."""
    owned = frozenset(binding for binding in live.bindings if scope.owns(binding))
    ignored = sum(1 for binding in live.bindings - owned if scope.ignores(binding))
    wanted = desired.bindings.keys()
    acls: list[_Found] = [
        *((Create(binding), _declared(desired, binding)) for binding in sorted(wanted - owned)),
        *((Delete(binding), _expired(desired, binding)) for binding in sorted(owned - wanted)),
    ]
    topics, left = _topics(desired, live, scope, rules)
    return Comparison(
        changes=(*acls, *topics),
        left=left,
        owned=len(owned),
        ignored=ignored,
        outside=len(live.bindings) - len(owned) - ignored,
    )


def _declared(desired: DesiredState, binding: AclBinding) -> Origin:
    return desired.bindings[binding].origin


def _expired(desired: DesiredState, binding: AclBinding) -> Origin | None:
    declaration = desired.expired.get(binding)
    return declaration.origin if declaration else None


def _topics(
    desired: DesiredState, live: ClusterState, scope: Scope, rules: TopicRules
) -> tuple[list[_Found], tuple[Left, ...]]:
    found: list[_Found] = []
    left: list[Left] = []
    taken = {collision_key(name): name for name in (*live.topics, *live.unreadable_topics)}
    for name, wanted in sorted(desired.topics.items()):
        if reason := live.unreadable_topics.get(name):
            left.append(Left(LeftReason.UNREADABLE, f"topic {name}", reason, origin=wanted.origin))
            continue
        for change in topic_changes(wanted, live.topics.get(name), rules.ignore_configs):
            possible = _without_collision(change, taken, desired)
            if isinstance(possible, Impossible):
                left.append(_impossible(possible, wanted))
            else:
                found.append((possible, wanted.origin))
                if isinstance(possible, Create):
                    # Kafka itself does not look for collisions among the topics of one request.
                    taken[collision_key(name)] = name
    if rules.prune:
        for change in _pruned(desired, live, scope):
            if isinstance(change, Impossible):
                continue  # Kafka's own topics: nobody declared that they should go
            found.append((change, None))
    return found, tuple(left)


def _without_collision(change: Change, taken: dict[str, str], desired: DesiredState) -> Change:
    """Kafka refuses a new topic whose name differs from a live one only in ``.`` against ``_``.

    Deletions come last, so it has to wait also for one that goes.
    """
    if isinstance(change, Create):
        other = taken.get(collision_key(change.after.name))
        if other is not None:
            reason = f"the name collides with the topic {other}: Kafka takes '.' and '_' for the same in metrics"
            if (going := desired.topics.get(other)) is not None and going.absent:
                reason += "; once that one is deleted, plan again"
            return Impossible("topic", change.after.name, "absent", "exists", reason)
    return change


def _impossible(change: Impossible, wanted: DesiredTopic) -> Left:
    subject = f"topic {change.name}: {change.what} {change.before} → {change.after}"
    return Left(LeftReason.IMPOSSIBLE, subject, change.reason, change, wanted.origin)


def _pruned(desired: DesiredState, live: ClusterState, scope: Scope) -> Iterator[Change]:
    for name, topic in live.topics.items():
        if name not in desired.topics and scope.owns_topic(name, declared=False):
            yield removal(topic)
