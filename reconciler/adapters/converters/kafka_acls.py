"""``kafka-acls.sh --list``: the text that every Kafka since 0.10 prints, in its three forms.

Sources: ``AclCommand``, ``ResourcePattern.toString``, ``AccessControlEntry.toString``; before 2.0, ``Resource`` and
``Acl``.
"""

import re
from typing import Final

from reconciler.adapters.converters.conversion import Conversion, Resource
from reconciler.adapters.converters.files import SourceFiles

_HEAD: Final = re.compile(r"\s*Current ACLs for resource `(.*)`:\s*")
_PATTERN: Final = re.compile(r"ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)")
# Topic:LITERAL:orders since 2.0, Topic:orders before.
_OLD_PATTERN: Final = re.compile(
    r"(Topic|Group|Cluster|TransactionalId|DelegationToken|User):(?:(LITERAL|PREFIXED):)?(.*)"
)
_ENTRY: Final = re.compile(r"\s*\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)\s*")
_OLD_ENTRY: Final = re.compile(r"\s*(\S+:.*) has (Allow|Deny) permission for operations: (\w+) from hosts: (.*?)\s*")
_CAPTION: Final = re.compile(r"\s*(ACLs for principal `.*`)?\s*")


def read_kafka_acls(files: SourceFiles, conversion: Conversion) -> None:
    """Every entry, with the resource above it; other lines are skipped with a remark."""
    for name in files.ending(".txt", ".acls", ".log", ".out"):
        resource: Resource | None = None
        for number, line in enumerate(re.split(r"\r?\n", files.text(name)), 1):
            head = _HEAD.fullmatch(line)
            if head is not None:
                resource = _resource(head[1])
            elif _CAPTION.fullmatch(line):
                continue
            elif resource is None or not _entry(line, resource, f"{name}:{number}", conversion):
                conversion.skip(f"{name}:{number}", line.strip()[:80], "kafka-acls --list prints no such line")


def _resource(text: str) -> Resource | None:
    found = _PATTERN.fullmatch(text)
    if found is not None:
        return Resource(*found.groups())
    old = _OLD_PATTERN.fullmatch(text)
    return Resource(old[1], old[3], old[2] or "LITERAL") if old is not None else None


def _entry(line: str, resource: Resource, where: str, conversion: Conversion) -> bool:
    found = _ENTRY.fullmatch(line)
    if found is not None:
        principal, host, operation, permission = found.groups()
    else:
        old = _OLD_ENTRY.fullmatch(line)
        if old is None:
            return False
        principal, permission, operation, host = old.groups()
    conversion.add_binding(principal, resource, (operation,), where, permission=permission, host=host)
    return True
