"""What a reviewer should not overlook, each with the reason why it stands out: grants, and moments without one."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reconciler.model import INTERNAL_TOPICS, AclOperation, DesiredState, ResourceType
from reconciler.plan.phase import TITLES
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, operations_words
from reconciler.plan.review.proof import Violation

#: The rule of :func:`interruptions`.
INTERRUPTED: Final = "interrupted"
_RECORDS: Final = frozenset({AclOperation.READ, AclOperation.WRITE})


@dataclass(frozen=True, slots=True, order=True)
class Callout:
    """A stable rule name, who it is about (``everybody else`` where it is nobody in particular), and a sentence."""

    rule: str
    principal: str
    text: str


def callouts(rows: Iterable[AccessChange], desired: DesiredState) -> tuple[Callout, ...]:
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


def interruptions(moments: Iterable[Violation]) -> tuple[Callout, ...]:
    """What is refused for a moment, although it is permitted before and after; sorted, each once."""
    return tuple(
        sorted(
            Callout(
                INTERRUPTED,
                moment.principal,
                f"after “{TITLES[moment.phase]}”, {moment.principal} is refused {moment.operation.name} on "
                f"{moment.resource_type.name} {moment.name} for a moment: what permits it before and after are rights "
                "on two resources, and the one goes before the other comes",
            )
            for moment in moments
        )
    )


def _of_row(row: AccessChange) -> Iterator[Callout]:
    who = row.principal or EVERYBODY_ELSE
    kind = row.region.resource_type
    operations = operations_words(row.gained, kind)
    certain = "" if row.reading is None else ", depending on what is not known about the cluster"
    if row.principal is None:
        yield Callout("everyone", who, f"whoever has no ACL of its own gains {operations} on {row.region}{certain}")
    if kind is ResourceType.CLUSTER:
        if AclOperation.ALTER in row.gained:
            text = f"{who} gains ALTER on the cluster, the right to change every ACL, and so anything{certain}"
            yield Callout("cluster-alter", who, text)
        elif row.gained != (AclOperation.IDEMPOTENT_WRITE,):
            yield Callout("cluster", who, f"{who} gains {operations} on the cluster{certain}")
    elif not row.region.names.text:
        text = f"{who} gains {operations} on {row.region}, those that come later included{certain}"
        yield Callout("wildcard", who, text)
    if kind is ResourceType.TOPIC and _RECORDS.intersection(row.gained):
        internal = sorted(name for name in INTERNAL_TOPICS if row.region.contains(name))
        if internal:
            yield Callout("internal-topic", who, f"{who} gains {operations} on {', '.join(internal)}{certain}")


def _labelled(row: AccessChange, labelled: Iterable[tuple[str, str]]) -> Iterator[Callout]:
    """Access to the records of declared topics that carry a label, counted by label."""
    operations = [operation for operation in row.gained if operation in _RECORDS]
    if row.region.resource_type is not ResourceType.TOPIC or not operations:
        return
    counts = Counter(label for name, label in labelled if row.region.contains(name))
    who, words = row.principal or EVERYBODY_ELSE, operations_words(operations, ResourceType.TOPIC)
    for label, count in counts.items():
        topics = "1 topic" if count == 1 else f"{count:,} topics"
        yield Callout("labelled", who, f"{who} gains {words} on {topics} with {label}")
