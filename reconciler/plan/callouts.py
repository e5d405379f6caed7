"""Grants that a reviewer should not overlook, each with the reason why it stands out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reconciler.model import INTERNAL_TOPICS, AclOperation, DesiredState, ResourceType
from reconciler.plan.consequence import Consequence

_READS: Final = frozenset({AclOperation.READ, AclOperation.WRITE})


@dataclass(frozen=True, slots=True, order=True)
class Callout:
    """A stable rule name, who it is about (``everybody else`` where it is nobody in particular), and the sentence."""

    rule: str
    principal: str
    text: str


def callouts(rows: Iterable[Consequence], desired: DesiredState) -> tuple[Callout, ...]:
    """All that stand out, sorted, each once."""
    labelled = sorted(
        (name, f"{key}={value}") for name, topic in desired.topics.items() for key, value in topic.labels.items()
    )
    found: set[Callout] = set()
    for row in rows:
        if row.gained:
            found.update(_of_row(row))
            found.update(_labelled(row, labelled))
    return tuple(sorted(found))


def _of_row(row: Consequence) -> Iterator[Callout]:
    who = row.principal or "everybody else"
    operations = ", ".join(operation.name for operation in row.gained)
    if row.principal is None:
        yield Callout(
            "everyone", who, f"every principal without bindings of its own gains {operations} on {row.region}"
        )
    if row.region.resource_type is ResourceType.CLUSTER:
        if AclOperation.ALTER in row.gained:
            yield Callout(
                "cluster-alter", who, "ALTER on the cluster is the right to change every ACL, and so anything"
            )
        yield Callout("cluster", who, f"gains {operations} on the cluster")
    elif not row.region.key.text:
        yield Callout("wildcard", who, f"gains {operations} on {row.region}, those that come to be included")
    if row.region.resource_type is ResourceType.TOPIC and _READS.intersection(row.gained):
        internal = sorted(name for name in INTERNAL_TOPICS if row.region.contains(name))
        if internal:
            yield Callout("internal-topic", who, f"gains {operations} on {', '.join(internal)}")


def _labelled(row: Consequence, labelled: list[tuple[str, str]]) -> Iterator[Callout]:
    """Access to declared topics that carry a label, counted by label."""
    if row.region.resource_type is not ResourceType.TOPIC or not _READS.intersection(row.gained):
        return
    counts: dict[str, int] = {}
    for name, label in labelled:
        if row.region.contains(name):
            counts[label] = counts.get(label, 0) + 1
    operations = ", ".join(operation.name for operation in row.gained if operation in _READS)
    for label, count in counts.items():
        topics = "1 topic" if count == 1 else f"{count} topics"
        yield Callout("labelled", row.principal or "everybody else", f"gains {operations} on {topics} with {label}")
