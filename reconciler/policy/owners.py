"""Teams, what they own, and their consents to other teams; looked up by pattern."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from enum import StrEnum

from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Expiry, Origin
from reconciler.model.scope import NameSelector

#: Teams by resource type and name or prefix.
_Texts = dict[tuple[ResourceType, str], set[str]]


@dataclass(frozen=True, slots=True)
class Owner:
    """One item of an Ownership document; a team may have several. ``files`` are paths, not globs.

    ``deny_any``: the team's files may DENY anything to anybody, and disable any SCRAM user; it owns nothing by that.
    """

    team: str
    origin: Origin
    files: frozenset[str] = frozenset()
    principals: NameSelector | None = None
    patterns: tuple[ResourcePattern, ...] = ()
    deny_any: bool = False


@dataclass(frozen=True, slots=True)
class OwnerConsent:
    """``team`` permits files of ``to`` to declare these operations on these patterns.

    With ``own_file``, as in ``spec.consents``, it counts only if it is in a file of ``team``. ``principals`` is
    ``None`` for those that ``to`` owns: else ``to`` could pass on what it was given, to everybody. ``team_origin`` is
    where the team is named.
    """

    team: str
    to: str
    operations: frozenset[AclOperation]
    patterns: tuple[ResourcePattern, ...]
    origin: Origin
    own_file: bool = False
    reason: str | None = None
    permissions: frozenset[AclPermissionType] = frozenset({AclPermissionType.ALLOW})
    principals: NameSelector | None = None
    expires: Expiry | None = None
    team_origin: Origin | None = None

    def names(self, pattern: ResourcePattern, operation: AclOperation) -> bool:
        """Whether the consent includes the whole pattern and the operation; ``ALL`` includes every operation."""
        named = operation in self.operations or AclOperation.ALL in self.operations
        return named and any(own.contains(pattern) for own in self.patterns)

    def covers(self, binding: AclBinding, owners_of: Callable[[str], frozenset[str]]) -> bool:
        """Whether the consent includes a binding; ``owners_of`` gives the teams that own a principal."""
        pattern, entry = binding
        if entry.permission_type not in self.permissions or not self.names(pattern, entry.operation):
            return False
        if self.principals is not None:
            return self.principals.selects_principal(entry.principal)
        return self.to in owners_of(entry.principal)


class Agreement(StrEnum):
    """What the owners of a resource say to a binding on it."""

    #: A file of theirs declares it.
    OWN = "own"
    #: They let the file of another team declare it.
    GIVEN = "given"
    #: They do not.
    MISSING = "missing"


class OwnedPatterns:
    """Which team owns which patterns."""

    __slots__ = ("_any", "_literal", "_named", "_prefixed")

    def __init__(self, owners: Iterable[Owner]) -> None:
        """Index the patterns of all owners; of several with a prefix or a name, the most exact says whose it is.

        Who owns a principal owns the USER of that name: with CREATE_TOKENS on it one logs in as that principal.
        """
        users = ResourceType.USER
        owned = [
            (pattern, owner.team)
            for owner in owners
            for pattern in (*owner.patterns, *(owner.principals.patterns(users) if owner.principals else ()))
        ]
        anywhere: dict[ResourceType, set[str]] = defaultdict(set)
        # In order, so that those inside a prefix stand together: each of thousands of teams has rules on prefixes.
        self._named: dict[ResourceType, list[ResourcePattern]] = defaultdict(list)
        self._literal: _Texts = defaultdict(set)
        self._prefixed: _Texts = defaultdict(set)
        for pattern, team in owned:
            if pattern.is_wildcard:
                anywhere[pattern.resource_type].add(team)
            elif pattern.pattern_type is PatternType.PREFIXED:
                self._prefixed[pattern.resource_type, pattern.name].add(team)
            else:
                self._literal[pattern.resource_type, pattern.name].add(team)
        self._any = {kind: frozenset(teams) for kind, teams in anywhere.items()}
        for pattern in {pattern for pattern, _ in owned if not pattern.is_wildcard}:
            self._named[pattern.resource_type].append(pattern)
        for patterns in self._named.values():
            patterns.sort(key=_by_name)

    def owners(self, pattern: ResourcePattern) -> frozenset[str]:
        """The teams with the most exact pattern that contains all of ``pattern``, and those that own every name."""
        return _with(self._any.get(pattern.resource_type, frozenset()), self._most_exact(pattern))

    def touched(self, pattern: ResourcePattern) -> frozenset[str]:
        """The teams that own at least one name that ``pattern`` matches."""
        return self.owners(pattern).union(*map(self.owners, self.inner(pattern)))

    def inner(self, pattern: ResourcePattern) -> Iterator[ResourcePattern]:
        """The owned patterns that contain a part of ``pattern``, each once, sorted by name."""
        if pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard:
            return
        start = "" if pattern.is_wildcard else pattern.name
        named = self._named.get(pattern.resource_type, ())
        for index in range(bisect_left(named, start, key=_by_name), len(named)):
            if not named[index].name.startswith(start):
                break
            if named[index] != pattern:
                yield named[index]

    def _most_exact(self, pattern: ResourcePattern) -> Set[str]:
        kind, name = pattern.resource_type, pattern.name
        if pattern.is_wildcard:
            return frozenset()
        if pattern.pattern_type is PatternType.LITERAL and (kind, name) in self._literal:
            return self._literal[kind, name]
        prefixes = ((kind, name[:length]) for length in range(len(name), 0, -1))
        return next((self._prefixed[prefix] for prefix in prefixes if prefix in self._prefixed), frozenset())


def _with(teams: frozenset[str], more: Set[str]) -> frozenset[str]:
    """Both; the same set where there are no more: of thousands of teams that own every name, one set is kept."""
    return teams if more <= teams else teams.union(more)


def _by_name(pattern: ResourcePattern) -> str:
    return pattern.name


def teams_by_file(owners: Iterable[Owner]) -> dict[str, frozenset[str]]:
    """The teams that a file belongs to."""
    by_file: dict[str, set[str]] = defaultdict(set)
    for owner in owners:
        for path in owner.files:
            by_file[path].add(owner.team)
    return {path: frozenset(teams) for path, teams in by_file.items()}


class OwnedPrincipals:
    """Which team owns which principals."""

    __slots__ = ("_any", "_literal", "_prefixed")

    def __init__(self, owners: Iterable[Owner]) -> None:
        """Index the principals of all owners."""
        anyone: set[str] = set()
        self._literal: dict[str, set[str]] = defaultdict(set)
        self._prefixed: dict[str, set[str]] = defaultdict(set)
        for owner in owners:
            if owner.principals is None:
                continue
            if owner.principals.any_name:
                anyone.add(owner.team)
            for name in owner.principals.literal:
                self._literal[name].add(owner.team)
            for prefix in owner.principals.prefixes:
                self._prefixed[prefix].add(owner.team)
        self._any = frozenset(anyone)

    def owners(self, principal: str) -> frozenset[str]:
        """The teams with the most exact selector that means it, and those that own every one.

        As :meth:`NameSelector.selects_principal`.
        """
        if principal in self._literal:
            return _with(self._any, self._literal[principal])
        if principal != WILDCARD_PRINCIPAL:
            for length in range(len(principal), -1, -1):
                if principal[:length] in self._prefixed:
                    return _with(self._any, self._prefixed[principal[:length]])
        return self._any


def effective_consents(
    consents: Iterable[OwnerConsent], files: dict[str, frozenset[str]]
) -> dict[tuple[str, str], list[OwnerConsent]]:
    """The consents that are in a file where they count, by the team that gets and the one that gives."""
    effective: dict[tuple[str, str], list[OwnerConsent]] = defaultdict(list)
    for consent in consents:
        if not consent.own_file or consent.team in files.get(consent.origin.file, frozenset()):
            effective[consent.to, consent.team].append(consent)
    return dict(effective)
