"""What ``kafka-acls`` prints, in the forms of every Kafka since 0.10: lists, and transcripts of changes.

Only a list says what a cluster holds. ``--add`` prints a block before it asks the cluster, and ``--remove`` prints one
before it asks the person, so neither says what came of it. An entry belongs to the heading right above it; after a line
that is neither a heading nor an entry, the resource of the next entry is unknown.

Sources: ``AclCommand``, ``ResourcePattern.toString``, ``AccessControlEntry.toString``; before 2.0, ``Resource`` and
``Acl``.
"""

import re
from typing import Final, NamedTuple

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceFiles

_HEAD: Final = re.compile(r"\s*(Current|Adding) ACLs for resource `(.*)`:\s*")
_REMOVAL: Final = re.compile(r"\s*Are you sure you want to (?:remove ACLs|delete all ACLs for resource)\b.*")
_PATTERN: Final = re.compile(r"ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)")
# Topic:LITERAL:orders since 2.0, Topic:orders before.
_OLD_PATTERN: Final = re.compile(
    r"(Topic|Group|Cluster|TransactionalId|DelegationToken|User):(?:(LITERAL|PREFIXED):)?(.*)"
)
_ENTRY: Final = re.compile(r"\s*\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)\s*")
_OLD_ENTRY: Final = re.compile(r"\s*(\S+:.*) has (Allow|Deny) permission for operations: (\w+) from hosts: (.*?)\s*")
_OF_ONE_PRINCIPAL: Final = re.compile(r"\s*ACLs for principal `.*`\s*")

_UNKNOWN_LINE: Final = "kafka-acls --list prints no such line"
_NO_HEADING: Final = "no heading right above it says which resource this entry is about"
_ADDED: Final = "an addition, and no list after it shows that the cluster took it"
_REMOVED: Final = "listed before ACLs were removed, and not listed again after that: convert a new list"
_ASKED: Final = "an entry that somebody was asked whether to remove"


class _ListedEntry(NamedTuple):
    """One entry as it stands in the text."""

    resource: Resource
    principal: str
    host: str
    operation: str
    permission: str

    @property
    def subject(self) -> str:
        return f"{self.principal} {self.permission} {self.operation} on {self.resource.kind} {self.resource.name}"


class _Transcript:
    """The entries of one file that its last words on each resource show to be there."""

    def __init__(self, name: str, conversion: Conversion) -> None:
        self._name = name
        self._conversion = conversion
        self._listed: dict[_ListedEntry, int] = {}
        self._added: dict[_ListedEntry, int] = {}
        self._doubtful: dict[_ListedEntry, int] = {}
        self._resource: Resource | None = None
        self._heading = ""
        # A list of one principal's entries says nothing about the others of the same resource.
        self._partial = False

    def read(self, text: str) -> None:
        """Read the lines in order, then add what is certain and name the rest."""
        for number, line in enumerate(re.split(r"\r?\n", text), 1):
            if line.strip():
                self._line(number, line)
        for entry, number in self._listed.items():
            self._conversion.add_binding(
                entry.principal,
                entry.resource,
                (entry.operation,),
                f"{self._name}:{number}",
                permission=entry.permission,
                host=entry.host,
            )
        for reason, entries in ((_ADDED, self._added), (_REMOVED, self._doubtful)):
            for entry, number in entries.items():
                if entry not in self._listed:
                    self._skip(number, entry.subject, reason)

    def _line(self, number: int, line: str) -> None:
        head = _HEAD.fullmatch(line)
        if head is not None:
            self._begin(head[1], _resource(head[2]))
        elif _OF_ONE_PRINCIPAL.fullmatch(line):
            self._heading, self._resource, self._partial = "", None, True
        elif _REMOVAL.fullmatch(line):
            # Which entries went depends on a filter, on the answer and on the cluster.
            self._doubtful |= self._listed | self._added
            self._listed, self._added = {}, {}
            self._heading, self._resource, self._partial = "Removing", None, False
        elif (parts := _entry(line)) is None:
            # The end of the question; the entries above it are named already.
            if not (self._heading == "Removing" and line.lstrip().startswith("from resource filter")):
                self._skip(number, line.strip()[:80], _UNKNOWN_LINE)
            self._heading, self._resource = "", None
        elif self._heading == "Removing":
            self._skip(number, line.strip()[:80], _ASKED)
        elif self._resource is None:
            self._skip(number, line.strip()[:80], _NO_HEADING)
        else:
            (self._listed if self._heading == "Current" else self._added)[_ListedEntry(self._resource, *parts)] = number

    def _begin(self, heading: str, resource: Resource | None) -> None:
        """A list of a whole resource replaces what an earlier one said about it."""
        self._heading, self._resource = heading, resource
        if heading == "Current" and not self._partial:
            self._listed = {entry: number for entry, number in self._listed.items() if entry.resource != resource}

    def _skip(self, number: int, subject: str, reason: str) -> None:
        self._conversion.skip(f"{self._name}:{number}", subject, reason)


def read_kafka_acls(files: SourceFiles, conversion: Conversion) -> None:
    """Every entry that a list shows, with the resource above it; a remark on each other line."""
    for name in files.ending(".txt", ".acls", ".log", ".out"):
        _Transcript(name, conversion).read(files.text(name))


def _resource(text: str) -> Resource | None:
    match = _PATTERN.fullmatch(text)
    if match is not None:
        return Resource(*match.groups())
    old = _OLD_PATTERN.fullmatch(text)
    return Resource(old[1], old[3], old[2] or "LITERAL") if old is not None else None


def _entry(line: str) -> tuple[str, str, str, str] | None:
    """Principal, host, operation and permission."""
    match = _ENTRY.fullmatch(line)
    if match is not None:
        principal, host, operation, permission = match.groups()
        return principal, host, operation, permission
    old = _OLD_ENTRY.fullmatch(line)
    return (old[1], old[4], old[3], old[2]) if old is not None else None
