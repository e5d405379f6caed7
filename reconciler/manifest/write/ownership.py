"""A proposed ``Ownership`` for manifests laid out by team, as comments: it decides nothing until you want it.

Each team owns its principals and what is called as the team is. All else, the cluster and every wildcard with it,
is of the owner of the platform, who has the files of nobody's team. What teams have of others they have by consents,
which name exactly the operations, the names and the permission that are there.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.resources import looks_like_a_prefix
from reconciler.manifest.parts.rules import FIELD_OF
from reconciler.manifest.write.manifests import NO_TEAMS, first_word, teams
from reconciler.manifest.write.text import binding_problem, comment, document_head, one_or_list, scalar
from reconciler.model.acl import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState

DRAFT_FILE: Final = "ownership-draft.yaml"
_HEAD: Final = (
    "A draft: which team's files may name what (docs/manifests/ownership.md). Remove the first two characters of",
    "each line below, and what is not right. The files of this directory hold by it as they are.",
)
_EXCEPT: Final = "It does not hold for what follows, which needs a decision of yours:"
#: What names those who own the rest, unless a team is called so.
_PLATFORM: Final = ("platform", "cluster-administrators", "owners-of-the-rest")
_BY_NAME: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
_EVERYTHING: Final = ("topics", "groups", "transactionalIds", "delegationTokens", "users")
#: To whom, with which permission, which operations.
_Terms = tuple[str, AclPermissionType, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Team:
    principals: tuple[str, ...]
    patterns: frozenset[ResourcePattern]


def draft_text(lines: Iterable[str], objections: Collection[str] = ()) -> str:
    """The file: the document's lines as comments, and what it is not right about."""
    head = [*map(comment, _HEAD), *map(comment, [_EXCEPT, *(f"  {one}" for one in objections)] if objections else [])]
    return "\n".join([*head, "#", *(comment(line) for line in lines)]) + "\n"


def ownership_draft(state: ClusterState, places: Mapping[AclBinding | str, str], files: Collection[str]) -> list[str]:
    """The lines of the document; ``files`` are those of the export, ``places`` where in them each binding is."""
    bindings = [binding for binding in sorted(state.bindings) if binding_problem(binding) is None]
    team_of = teams({binding.entry.principal for binding in bindings})
    found = _teams(bindings, team_of, places)
    platform = next(name for name in _PLATFORM if name not in found)
    given: dict[str, dict[_Terms, list[ResourcePattern]]] = defaultdict(lambda: defaultdict(list))
    for (to, pattern, permission), operations in _borrowed(bindings, team_of, found).items():
        owners = (name for name, team in sorted(found.items()) if _owns(team, pattern))
        terms = (to, permission, tuple(sorted(operations)))
        given[next(owners, platform)][terms].append(pattern)
    lines = [*document_head("Ownership", "teams"), *(["  teams:"] if found else [])]
    for name, team in sorted(found.items()):
        lines += [f"    {scalar(name)}:", f"      files: {scalar(_file(name))}"]
        prefixes = sorted({own.name for own in team.patterns if own.pattern_type is PatternType.PREFIXED})
        lines += one_or_list("prefix", prefixes, 6) if prefixes else []
        lines += one_or_list("principals", team.principals, 6, always_list=True)
    lines += ["  owners:"]
    for name, team in sorted(found.items()):
        names, *more = _items(own for own in team.patterns if own.pattern_type is PatternType.LITERAL) or [[]]
        first = [*(f"      {line}" for line in names), *_consents(given[name])]
        lines += [f"    - team: {scalar(name)}", *first] if first else []
        for item in more:
            lines += [f"    - team: {scalar(name)}", *(f"      {line}" for line in item)]
    theirs = sorted(set(files) - {_file(name) for name in found} - {DRAFT_FILE, "cluster.yaml"})
    lines += [f"    - team: {platform}"]
    lines += one_or_list("files", theirs, 6, always_list=True) if theirs else []
    lines += [f"      {field}: {{any: true}}" for field in ("principals", *_EVERYTHING)]
    return [*lines, "      cluster: true", *_consents(given[platform])]


def _file(team: str) -> str:
    return f"teams/{team}.yaml"


def _teams(
    bindings: Collection[AclBinding], team_of: Mapping[str, str], places: Mapping[AclBinding | str, str]
) -> dict[str, _Team]:
    """Those that own something by its name, or have several principals: others are people, or accounts of no team."""
    principals: dict[str, list[str]] = defaultdict(list)
    for principal, name in sorted(team_of.items()):
        principals[name].append(principal)
    named: dict[str, set[ResourcePattern]] = defaultdict(set)
    for item, place in places.items():
        if isinstance(item, str) and place == _file(team := first_word(item)).removesuffix(".yaml"):
            named[team].add(_by_its_word(ResourcePattern(ResourceType.TOPIC, item)))
    for pattern, entry in bindings:
        team, kind = team_of[entry.principal], pattern.resource_type
        whole = pattern.is_wildcard or kind not in _BY_NAME
        if not whole and first_word(pattern.name) == team:
            own = _by_its_word(pattern)
            named[team] |= {own} if own.contains(pattern) else set()
    return {
        name: _Team(tuple(mine), frozenset(chain.from_iterable(map(_of_every_kind, named[name]))))
        for name, mine in principals.items()
        if WILDCARD_PRINCIPAL not in mine and name not in NO_TEAMS and (named[name] or len(mine) > 1)
    }


def _by_its_word(pattern: ResourcePattern) -> ResourcePattern:
    """All that begins with the same word, with its delimiter; the name itself where that is no more than the word."""
    after = next((at for at, letter in enumerate(pattern.name) if letter in "._-" and at), None)
    if after is None:
        return pattern._replace(pattern_type=PatternType.LITERAL)
    return pattern._replace(name=pattern.name[: after + 1], pattern_type=PatternType.PREFIXED)


def _of_every_kind(pattern: ResourcePattern) -> Iterator[ResourcePattern]:
    """A prefix is that of all that a team calls so, as ``teams`` of Ownership has it; a name is one thing's."""
    kinds = _BY_NAME if pattern.pattern_type is PatternType.PREFIXED else (pattern.resource_type,)
    return (pattern._replace(resource_type=kind) for kind in kinds)


def _owns(team: _Team, pattern: ResourcePattern) -> bool:
    return any(own.contains(pattern) for own in team.patterns)


def _borrowed(
    bindings: Iterable[AclBinding], team_of: Mapping[str, str], found: Mapping[str, _Team]
) -> dict[tuple[str, ResourcePattern, AclPermissionType], set[str]]:
    """The operations that each team has of each pattern that is not its own, by permission."""
    used: dict[tuple[str, ResourcePattern, AclPermissionType], set[str]] = defaultdict(set)
    for pattern, entry in bindings:
        to = team_of[entry.principal]
        if to in found and not _owns(found[to], pattern):
            used[to, pattern, entry.permission_type].add(entry.operation.name)
    return used


def _consents(given: Mapping[_Terms, list[ResourcePattern]]) -> Iterator[str]:
    if given:
        yield "      consents:"
    for (to, permission, operations), patterns in sorted(given.items()):
        for item in _items(patterns, one=True):
            yield f"        - to: {scalar(to)}"
            yield f"          operations: [{', '.join(operations)}]"
            if permission is AclPermissionType.DENY:
                yield "          permissions: [DENY]"
            yield from (f"          {line}" for line in item)


def _items(patterns: Iterable[ResourcePattern], *, one: bool = False) -> list[list[str]]:
    """The fields that name these patterns, in as few items as there have to be; ``one``: a field for each item."""
    forms: dict[str, list[list[str]]] = defaultdict(list)
    literal: dict[str, list[str]] = defaultdict(list)
    for pattern in sorted(patterns):
        field = FIELD_OF[pattern.resource_type]
        if pattern.resource_type is ResourceType.CLUSTER:
            forms[field] = [[f"{field}: true"]]
        elif pattern.is_wildcard:
            forms[field].append([f"{field}: {{any: true}}"])
        elif pattern.pattern_type is PatternType.PREFIXED:
            forms[field].append([f"{field}: {{prefix: {scalar(pattern.name, flow=True)}}}"])
        else:
            literal[field].append(pattern.name)
    for field, names in literal.items():
        if any(map(looks_like_a_prefix, names)):
            forms[field].append(
                [f"{field}:", *(f"  {line}" for line in one_or_list("literal", names, 0, always_list=True))]
            )
        else:
            forms[field].append(one_or_list(field, names, 0, always_list=True))
    if one:
        return [form for found in forms.values() for form in found]
    most = max(map(len, forms.values()), default=0)
    return [[line for found in forms.values() if at < len(found) for line in found[at]] for at in range(most)]
