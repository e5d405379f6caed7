"""The kind ``Ownership``: which files may name which principals and resources."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Kind, Loaded, Touched
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable, named_operations
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.parts.selectors import principal_names
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, Trouble, paired, quoted
from reconciler.manifest.read.problem import Code, did_you_mean, one_of
from reconciler.model.acl import AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.scope import RESOURCE_FIELDS, NameSelector, path_glob
from reconciler.policy.owners import OwnerConsent

if TYPE_CHECKING:
    from reconciler.manifest.models.ownership import ConsentItem, OwnerItem, OwnershipDocument

_OWNS = Trouble(
    Code.OWNERSHIP_FORM, "this item says nothing of the team", "add files, principals, or a kind of resource"
)
_RESOURCE = Trouble(Code.OWNERSHIP_FORM, "the consent names no resource", "add topics, groups or another resource")
_EMPTY = Trouble(Code.OWNERSHIP_FORM, "the document declares nothing", "add teams, owners, or consents")
_NO_DIRECTORY = Trouble(Code.OWNERSHIP_FORM, "no directory below teams/ can be called as this team", "add its files")
#: What a team's prefix is the beginning of.
_OF_A_TEAM: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


@dataclass(frozen=True, slots=True)
class OwnerDeclaration:
    """What one item says of a team; ``files`` are globs from the root; with ``deny_any`` they may deny anything."""

    team: str
    origin: Origin
    files: tuple[str, ...] = ()
    principals: NameSelector | None = None
    patterns: tuple[ResourcePattern, ...] = ()
    deny_any: bool = False

    def files_of(self, ordered: Sequence[str]) -> frozenset[str]:
        """Those of the paths, which are in order, that its globs match."""
        return frozenset(path for glob in self.files for path in _matching(glob, ordered))


def glob_start(glob: str) -> str:
    """What every path begins with that a glob matches."""
    start = re.split(r"[*?]", glob, maxsplit=1)[0]
    return start if start.isascii() else ""


def _matching(glob: str, ordered: Sequence[str]) -> Iterable[str]:
    """The paths that a glob matches; only those that begin as it does are held against it: each team has its own."""
    start = glob_start(glob)
    first = last = bisect_left(ordered, start)
    while last < len(ordered) and ordered[last].startswith(start):
        last += 1
    near = ordered[first:last]
    return filter(path_glob(glob), near) if near else ()


@dataclass(frozen=True, slots=True)
class OwnershipDeclaration:
    """A document's heading, owners and consents."""

    heading: Heading
    owners: tuple[OwnerDeclaration, ...]
    consents: tuple[OwnerConsent, ...]


def check_teams(
    documents: Sequence[OwnershipDeclaration], paths: Iterable[str], findings_of: Callable[[str], Findings]
) -> None:
    """Reports consents of or to unknown teams, and warns of teams whose globs match no file."""
    ordered, owners = sorted(paths), [owner for document in documents for owner in document.owners]
    teams = {owner.team for owner in owners}
    # With a team whose name comes from a variable, any name may be one.
    any_name = any("${" in team for team in teams)
    for consent in (consent for document in documents for consent in document.consents):
        for team, place in ((consent.team, consent.team_origin or consent.origin), (consent.to, consent.origin)):
            if team not in teams and not any_name and "${" not in team:
                advice = did_you_mean(team, teams, one_of(teams) if teams else "declare it under owners")
                trouble = Trouble(Code.OWNERSHIP_FORM, f"there is no team {quoted(team)}", advice)
                findings_of(place.file).add_at(trouble, place)
    # Files that end incidents are there during incidents only.
    with_files = {owner.team for owner in owners if owner.deny_any or owner.files_of(ordered)}
    for owner in owners:
        if owner.team not in with_files and not any("${" in glob for glob in owner.files):
            with_files.add(owner.team)
            trouble = Trouble(
                Code.OWNER_WITHOUT_FILES,
                f"no file belongs to the team {quoted(owner.team)}",
                "compare its files with the paths from the root: * is any text without /, ** any directories",
            )
            findings_of(owner.origin.file).add_at(trouble, owner.origin, severity="warning")


def _owner(
    node: MappingNode, item: "OwnerItem | None", table: PatternTable, findings: Findings
) -> Iterator[OwnerDeclaration]:
    patterns = table.patterns(node, findings)
    principals = principal_names(node.get("principals"), findings)
    files = checked_texts(node.get("files"), _glob_problem, findings, "")
    if not node.values.keys() - {"team"}:
        findings.add(_OWNS, node)
    if item is not None:
        place = findings.origin(node.get("team") or node)
        yield OwnerDeclaration(item.team, place, files, principals, patterns, item.deny_any)


def _team(name: ScalarNode, node: Node, table: PatternTable, findings: Findings) -> Iterator[OwnerDeclaration]:
    """The owner that an item of ``teams`` stands for; problems are reported."""
    if not isinstance(node, MappingNode):
        return
    prefix = node.get("prefix")
    forms = MappingNode(node.line, node.column)
    if prefix is not None:
        forms.keys["prefix"], forms.values["prefix"] = node.keys["prefix"], prefix
    named = [table.names(kind, forms, findings) for kind in _OF_A_TEAM] if prefix is not None else []
    patterns = tuple(pattern for names in named for pattern, _ in names)
    principals = principal_names(node.get("principals"), findings)
    files = checked_texts(node.get("files"), _glob_problem, findings, "")
    if not node.values:
        findings.add(_OWNS, node)
    if "files" not in node.values and set(name.plain) & set("*?/\\"):
        findings.add(_NO_DIRECTORY, name)
    files = files if "files" in node.values else (f"teams/{name.plain}/**",)
    yield OwnerDeclaration(name.plain, findings.origin(name), files, principals, patterns)


def _consent(
    node: MappingNode,
    item: "ConsentItem | None",
    team: str,
    table: PatternTable,
    findings: Findings,
    *,
    own_file: bool,
) -> Iterator[OwnerConsent]:
    patterns = table.patterns(node, findings)
    kinds = [pattern.resource_type for pattern in patterns]
    operations = named_operations(node.get("operations"), kinds, findings)
    principals = principal_names(node.get("principals"), findings)
    if not node.keys.keys() & RESOURCE_FIELDS.keys():
        findings.add(_RESOURCE, node)
    if item is not None:
        to = node.get("to") or node
        origin, team_origin = findings.origin(to), findings.origin(node.get("team") or to)
        yield OwnerConsent(
            team,
            item.to,
            frozenset(operations),
            patterns,
            origin,
            own_file,
            item.reason,
            frozenset(AclPermissionType[name] for name in item.permissions),
            principals,
            item.expires,
            team_origin,
        )


def _glob_problem(text: str) -> Trouble | None:
    if not text or text.startswith(("/", "./", "../")) or "\\" in text or ".." in text.split("/"):
        message = f"{quoted(text)} is not a path from the manifests' root"
        return Trouble(Code.OWNERSHIP_FORM, message, "write it with /, such as teams/payments/**")
    return None


class OwnershipKind(Kind["OwnershipDocument"]):
    """Owners and consents; ``reconciler.policy`` applies them."""

    name = "Ownership"
    touched = Touched.ANY

    def declare(self, document: Document, table: PatternTable) -> OwnershipDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        findings, spec = document.findings, document.spec
        model = document.validated(self.model())
        if model is not None and not (model.spec.owners or model.spec.consents or model.spec.teams):
            findings.add(_EMPTY, document.root.keys["spec"])
        owners: list[OwnerDeclaration] = []
        consents: list[OwnerConsent] = []
        teams = spec.get("teams")
        if isinstance(teams, MappingNode):
            for key, value in teams.values.items():
                owners += _team(teams.keys[key], value, table, findings)
        for node, item in paired(spec.get("owners"), model.spec.owners if model else None):
            owners += _owner(node, item, table, findings)
            team = item.team if item else ""
            for inner, consent in paired(node.get("consents"), item.consents if item else None):
                consents += _consent(inner, consent, team, table, findings, own_file=False)
        for node, given in paired(spec.get("consents"), model.spec.consents if model else None):
            consents += _consent(node, given, given.team if given else "", table, findings, own_file=True)
        return OwnershipDeclaration(document.heading, tuple(owners), tuple(consents)) if model else None

    def check(self, loaded: Loaded) -> None:
        """Reports unknown teams, and warns of teams without files; only if every such document could be read."""
        unfilled = [item for item in loaded.unfilled if isinstance(item, OwnershipDeclaration)]
        templates = sum(heading.kind == self.name for heading in loaded.templates)
        if self.name not in loaded.unread and len(unfilled) == templates:
            check_teams([*loaded.of(OwnershipDeclaration), *unfilled], loaded.paths, loaded.findings_of)
