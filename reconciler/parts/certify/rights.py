"""Rights to certify: what anybody may do, each request in one right of one owner, with the ACLs that an answer ends.

The rights of all owners together are the effective access of the cluster. Besides, there is a right without effect for
each ACL that grants nothing now: behind a DENY or a lock it waits for the day on which that goes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import quote

from reconciler.access.authorizer import Authorizer
from reconciler.access.effective import every_access
from reconciler.access.group import bits
from reconciler.access.hosts import ANY_HOST, Hosts
from reconciler.access.names import ASTERISK_NAMES, NameSet, ResourceSet, around, inside, names_of
from reconciler.codec.document import compact
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    IMPLICATIONS,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)

#: Whose rights those on what no team owns are.
PLATFORM: Final = "platform"


class Standing(StrEnum):
    """What a right rests on, and so what an answer can do."""

    #: On ACLs of its own, which an answer renews or ends.
    ACLS = "acls"
    #: On ACLs that grant nothing now.
    NO_EFFECT = "no effect"
    #: On what is decided elsewhere: ACLs of User:*, a right on another resource.
    FOLLOWS = "follows"
    #: On allow.everyone.if.no.acl.found.
    DEFAULT = "default"
    SUPER_USER = "super user"
    #: No access, but a DENY: its end would give some.
    DENY = "deny"

    @property
    def has_effect(self) -> bool:
        """Whether somebody may do something by it."""
        return self not in (Standing.NO_EFFECT, Standing.DENY)


@dataclass(frozen=True, slots=True)
class AccessRight:
    """What ``principal`` may do on a resource set; ``None``: everybody, but on names on which own ACLs decide.

    Without a ``resources``: on everything. ``through`` are the ACLs that an answer decides about.
    """

    owner: str
    standing: Standing
    principal: str | None
    hosts: Hosts
    resources: ResourceSet | None
    operations: tuple[AclOperation, ...]
    through: tuple[AclBinding, ...]
    certain: bool = True

    @property
    def id(self) -> str:
        """Sixteen hex digits: the same right has the same ones in each campaign."""
        names = (
            None
            if self.resources is None
            else [self.resources.resource_type, self.resources.names, self.resources.cuts]
        )
        through = [[*binding.pattern, *binding.entry] for binding in self.through]
        what = [self.owner, self.standing, self.principal, self.hosts, names, self.operations, through, self.certain]
        return hashlib.sha256(compact({"right": what}).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class OwnedNames:
    """Which teams own which names: those of the narrowest pattern, and of several with that pattern all together."""

    __slots__ = ("_known", "_ordered", "_own")

    def __init__(self, owned: Iterable[tuple[ResourcePattern, str]]) -> None:
        """Patterns, each with a team."""
        result: dict[ResourceType, dict[NameSet, set[str]]] = defaultdict(lambda: defaultdict(set))
        for pattern, team in owned:
            result[pattern.resource_type][names_of(pattern)].add(team)
        self._own = {kind: {names: frozenset(teams) for names, teams in own.items()} for kind, own in result.items()}
        self._ordered = {kind: sorted(own) for kind, own in self._own.items()}
        self._known: dict[tuple[ResourceType, NameSet], frozenset[str]] = {}

    def teams(self, kind: ResourceType, names: NameSet) -> frozenset[str]:
        """The teams of the narrowest pattern around all of the names."""
        own = self._own.get(kind, {})
        if (kind, names) not in self._known:
            wider = [key for key in around(names) if key in own]
            self._known[kind, names] = own[wider[-1]] if wider else frozenset()
        return self._known[kind, names]

    def split(self, resources: ResourceSet) -> Iterator[tuple[str, ResourceSet]]:
        """The parts of a resource set by owner; together they are the resource set, and no two share a name."""
        kind, names = resources.resource_type, resources.names
        outer: list[tuple[NameSet, frozenset[str], list[NameSet]]] = [(names, self.teams(kind, names), [])]
        done, cut = [], None
        keys = {key: False for key in inside(self._ordered.get(kind, []), names) if key != names}
        # A set sorts before its subsets. What is cut out of the resource set counts, whoever owns it.
        for key, is_cut in sorted({**keys, **dict.fromkeys(resources.cuts, True)}.items()):
            if cut is not None and cut.contains(key):
                continue
            while not outer[-1][0].contains(key):
                done.append(outer.pop())
            if is_cut:
                cut = key
                outer[-1][2].append(key)
            elif (teams := self.teams(kind, key)) != outer[-1][1]:
                outer[-1][2].append(key)
                outer.append((key, teams, []))
        for part, teams, cuts in (*done, *outer):
            result = ResourceSet(kind, part, tuple(cuts))
            if part == names and result == resources:
                yield owner_of(teams), resources
            elif result.witness() is not None:
                yield owner_of(teams), result


def owner_of(teams: Iterable[str]) -> str:
    """How an owner is called, in names of files and namespaces of signatures: its teams, or the platform."""
    return "+".join(sorted(quote(team, safe="") for team in teams)) or PLATFORM


class _Allows:
    """The ALLOWs of each principal, to find those behind a right."""

    def __init__(self, authorizer: Authorizer) -> None:
        self.version = authorizer.covering_version
        self.all: set[AclBinding] = {
            item for item in authorizer.bindings if item.entry.permission_type is AclPermissionType.ALLOW
        }
        own: dict[tuple[str, ResourceType], dict[NameSet, list[AclBinding]]] = defaultdict(lambda: defaultdict(list))
        for item in self.all:
            own[item.entry.principal, item.pattern.resource_type][names_of(item.pattern)].append(item)
        self._own = own
        self._ordered = {key: sorted(result) for key, result in own.items()}

    def behind(
        self, principal: str, resources: ResourceSet, operations: Iterable[AclOperation], hosts: Hosts
    ) -> Iterator[AclBinding]:
        """The principal's own ALLOWs that grant some of it."""
        key, wanted = (principal, resources.resource_type), bits(operations)
        own = self._own.get(key)
        if own is None:
            return
        cuts = set(resources.cuts)
        within = (
            names
            for names in inside(self._ordered[key], resources.names)
            if names != resources.names and not (cuts and (names in cuts or any(cut.contains(names) for cut in cuts)))
        )
        for names in dict.fromkeys((*(wider for wider in around(resources.names) if wider in own), *within)):
            for item in own[names]:
                # LITERAL * is no pattern of names such as *x.
                missed = item.pattern.is_wildcard and ASTERISK_NAMES.contains(resources.names)
                if not missed and _grants(item) & wanted and hosts.may_meet(item.entry.host, self.version):
                    yield item


def _grants(binding: AclBinding) -> int:
    operation = binding.entry.operation
    implied = IMPLICATIONS.get(operation)
    return bits([operation] if implied is None else [operation, implied])


def rights_of(authorizer: Authorizer, owned: OwnedNames) -> list[AccessRight]:
    """All rights of a cluster, in one order."""
    allows = _Allows(authorizer)
    rights = [
        AccessRight(PLATFORM, Standing.SUPER_USER, principal, ANY_HOST, None, (), ())
        for principal in sorted(authorizer.super_users)
    ]
    decided: set[AclBinding] = set()
    for row in every_access(authorizer):
        operations = tuple(sorted(row.operations))
        for owner, resources in owned.split(row.resources):
            asked = (row.principal or WILDCARD_PRINCIPAL, resources, operations, row.hosts)
            through = tuple(sorted(set(allows.behind(*asked))))
            decided.update(through)
            standing = _standing(row.principal, through)
            rights.append(
                AccessRight(
                    owner, standing, row.principal, row.hosts, resources, operations, through, certain=row.certain
                )
            )
    denies = authorizer.bindings - allows.all
    return [
        *rights,
        *_without_effect(Standing.NO_EFFECT, allows.all - decided, owned),
        *_without_effect(Standing.DENY, denies, owned),
    ]


def _standing(principal: str | None, through: Sequence[AclBinding]) -> Standing:
    if through:
        return Standing.ACLS
    return Standing.FOLLOWS if principal is not None else Standing.DEFAULT


class _SameNames(NamedTuple):
    principal: str
    pattern: ResourcePattern
    host: str


def _without_effect(standing: Standing, bindings: Iterable[AclBinding], owned: OwnedNames) -> Iterator[AccessRight]:
    """One for the ACLs of a principal on the same names that grant nothing: ALLOWs without effect now, or DENYs."""
    result: dict[_SameNames, list[AclBinding]] = defaultdict(list)
    for item in bindings:
        result[_SameNames(item.entry.principal, item.pattern, item.entry.host)].append(item)
    for (principal, pattern, host), same in sorted(result.items()):
        kind, names = pattern.resource_type, names_of(pattern)
        operations = tuple(sorted(item.entry.operation for item in same))
        hosts = ANY_HOST if host == "*" else Hosts(any_host=False, listed=(host,))
        parts = list(owned.split(ResourceSet(kind, names)))
        through = tuple(sorted(same)) if standing is Standing.NO_EFFECT else ()
        for owner, resources in parts or [(owner_of(owned.teams(kind, names)), ResourceSet(kind, names))]:
            yield AccessRight(owner, standing, principal, hosts, resources, operations, through)
