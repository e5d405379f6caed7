"""Teams, what they own, and their consents to other teams; looked up by pattern."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator

from reconciler.dataclass import dataclass
from reconciler.model import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    Expiry,
    NameSelector,
    Origin,
    PatternType,
    ResourcePattern,
    ResourceType,
)

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

    With ``own_file`` the consent counts only if it is in a file of ``team``. ``principals`` is ``None`` for those that
    ``to`` owns: else ``to`` could pass on what it was given, to everybody.
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


class OwnedPatterns:
    """Which team owns which patterns."""

    __slots__ = ("_all", "_any", "_literal", "_prefixed")

    def __init__(self, owners: Iterable[Owner]) -> None:
        """Index the patterns of all owners.

        Who owns a principal owns the USER of that name: with CREATE_TOKENS on it one logs in as that principal.
        """
        users = ResourceType.USER
        self._all = [
            (pattern, owner.team)
            for owner in owners
            for pattern in (*owner.patterns, *(owner.principals.patterns(users) if owner.principals else ()))
        ]
        self._any: dict[ResourceType, set[str]] = defaultdict(set)
        self._literal: _Texts = defaultdict(set)
        self._prefixed: _Texts = defaultdict(set)
        for pattern, team in self._all:
            if pattern.is_wildcard:
                self._any[pattern.resource_type].add(team)
            elif pattern.pattern_type is PatternType.PREFIXED:
                self._prefixed[pattern.resource_type, pattern.name].add(team)
            else:
                self._literal[pattern.resource_type, pattern.name].add(team)

    def whole(self, pattern: ResourcePattern) -> frozenset[str]:
        """The teams with a pattern that contains all of ``pattern``."""
        return frozenset(self._containing(pattern))

    def touched(self, pattern: ResourcePattern) -> frozenset[str]:
        """The teams that own at least one name that ``pattern`` matches."""
        found = set(self._containing(pattern))
        if pattern.is_wildcard or pattern.pattern_type is PatternType.PREFIXED:
            found.update(team for own, team in self._all if pattern.contains(own))
        return frozenset(found)

    def _containing(self, pattern: ResourcePattern) -> Iterator[str]:
        kind, name = pattern.resource_type, pattern.name
        yield from self._any.get(kind, ())
        if pattern.is_wildcard:
            return
        if pattern.pattern_type is PatternType.LITERAL:
            yield from self._literal.get((kind, name), ())
        for length in range(1, len(name) + 1):
            yield from self._prefixed.get((kind, name[:length]), ())


def teams_by_file(owners: Iterable[Owner]) -> dict[str, frozenset[str]]:
    """The teams that a file belongs to."""
    found: dict[str, set[str]] = defaultdict(set)
    for owner in owners:
        for path in owner.files:
            found[path].add(owner.team)
    return {path: frozenset(teams) for path, teams in found.items()}


def owners_of_principal(owners: Iterable[Owner], principal: str) -> frozenset[str]:
    """The teams that own a principal."""
    return frozenset(
        owner.team for owner in owners if owner.principals is not None and owner.principals.selects_principal(principal)
    )


def effective_consents(consents: Iterable[OwnerConsent], files: dict[str, frozenset[str]]) -> Collection[OwnerConsent]:
    """The consents that are in a file where they count."""
    return [
        consent
        for consent in consents
        if not consent.own_file or consent.team in files.get(consent.origin.file, frozenset())
    ]
