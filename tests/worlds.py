"""Bindings for tests, each in one line: the one home of the ways to write them, and their words in reports."""

import copy
import re
from collections.abc import Sequence
from typing import Any

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Create
from reconciler.plan.review.topics import TopicReview
from reconciler.show.kinds import Acls

_BINDING = re.compile(
    r"(?P<principal>.*?) (?P<permission>ALLOW|DENY) (?P<operation>\w+)"
    r" on (?P<type>\w+) (?P<prefixed>PREFIXED )?(?P<name>.+?)(?: from (?P<host>\S+))?",
    re.DOTALL,
)
_PATTERN_TYPES = {"L": PatternType.LITERAL, "P": PatternType.PREFIXED}


def pattern(text: str) -> ResourcePattern:
    """``TOPIC:P:pay`` or ``TOPIC:L:*``."""
    kind, pattern_type, name = text.split(":", 2)
    return ResourcePattern(ResourceType[kind], name, _PATTERN_TYPES[pattern_type])


def binding(text: str) -> AclBinding:
    """As reports print it, ``User:a ALLOW READ on TOPIC PREFIXED x from 10.0.0.1``.

    Or as Kafka's own notes do, ``TOPIC:P:pay User:a@* ALLOW READ``, where the principal has no spaces.
    """
    match = _BINDING.fullmatch(text)
    if match is None:
        where, who, permission, operation = text.split(" ")
        principal, _, host = who.rpartition("@")
        return AclBinding(
            pattern(where), AccessControlEntry(principal, host, AclOperation[operation], AclPermissionType[permission])
        )
    pattern_type = PatternType.PREFIXED if match["prefixed"] else PatternType.LITERAL
    return AclBinding(
        ResourcePattern(ResourceType[match["type"]], match["name"], pattern_type),
        AccessControlEntry(
            match["principal"],
            match["host"] or "*",
            AclOperation[match["operation"]],
            AclPermissionType[match["permission"]],
        ),
    )


def bindings(*texts: str) -> list[AclBinding]:
    """Several."""
    return [binding(text) for text in texts]


def step_words(*made: AclBinding) -> str:
    """What reports call the step on a binding, or on several that share a line.

    Tests that only ask whether a step is there take the words from here; ``tests/unit/report/test_lines.py`` and the
    files of expected reports hold them.
    """
    return Acls().words([Create(one) for one in made], TopicReview()).text


def acl(
    name: str,
    principal: str,
    operation: AclOperation = AclOperation.READ,
    permission: AclPermissionType = AclPermissionType.ALLOW,
    resource_type: ResourceType = ResourceType.TOPIC,
) -> AclBinding:
    """A binding; a name that ends in ``-`` is a prefix."""
    kind = PatternType.PREFIXED if name.endswith("-") else PatternType.LITERAL
    return AclBinding(
        ResourcePattern(resource_type, name, kind), AccessControlEntry(principal, "*", operation, permission)
    )


def at_place(document: Any, place: Sequence[str | int]) -> Any:
    """The value in a place of a document: keys and numbers, from the outside."""
    for key in place:
        document = document[key]
    return document


def with_value(document: dict[str, Any], place: Sequence[str | int], value: Any) -> dict[str, Any]:
    """A copy of a document with another value in a place."""
    found = copy.deepcopy(document)
    at_place(found, place[:-1])[place[-1]] = value
    return found
