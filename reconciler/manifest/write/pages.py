"""Manifests for an editor: documents, where something new belongs, which rights a rule gives.

Manifests as an editor sees them: every document with its text, its spans, and what it declares for each cluster.
"""

import datetime
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import field
from itertools import count, product
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.documents.acls import AclsDeclaration
from reconciler.manifest.documents.kind import Declared
from reconciler.manifest.documents.ownership import OwnerDeclaration, glob_start
from reconciler.manifest.documents.topics import TopicsDeclaration
from reconciler.manifest.manifests import FindingsByFile, Manifests, declared_for, desired_state, load, roles_for
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading, open_document
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import RoleDeclaration, RoleUse, entries_of, grants
from reconciler.manifest.read.documents import read_documents
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, Source
from reconciler.manifest.safeguards import ownership
from reconciler.manifest.variables import Variables, variable_scalars
from reconciler.manifest.write import spans
from reconciler.manifest.write.spans import Item, Splice, TextSpan, Written
from reconciler.manifest.write.text import stem
from reconciler.model.acl import AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.scope import ItemsByName, NameSelector

#: Before every end, so that what expires is declared like everything else.
LONG_AGO: Final = datetime.date.min


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One document: the file, its whole text, and the document's place in it."""

    source: Source
    heading: Heading
    root: MappingNode
    span: TextSpan
    start: int

    @property
    def path(self) -> str:
        """The file."""
        return self.source.path

    @property
    def text(self) -> str:
        """The text of the whole file."""
        return self.source.text

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name, which no other document has."""
        return self.heading.kind, self.heading.name

    @property
    def is_template(self) -> bool:
        """Whether its spec names variables."""
        return any(variable_scalars(self.root.get("spec")))

    def filled(self, cluster: ClusterDeclaration, findings: Findings) -> MappingNode:
        """Its nodes with the variables of a cluster."""
        return Variables(cluster).filled(self.root, findings) if self.is_template else self.root

    def declared(self, cluster: ClusterDeclaration) -> Declared | None:
        """What it declares for a cluster."""
        findings = Findings(self.source)
        document = Document(self.heading, self.filled(cluster, findings), findings)
        return KINDS_BY_NAME[self.heading.kind].declare(document, PatternTable())

    def texts(self, cluster: ClusterDeclaration) -> dict[tuple[int, int], str]:
        """Every text of it for a cluster, by line and column."""
        return dict(_texts(self.filled(cluster, Findings(self.source))))


def _texts(node: Node) -> Iterator[tuple[tuple[int, int], str]]:
    if isinstance(node, ScalarNode):
        yield (node.line, node.column), node.plain
        return
    for below in node.values.values() if isinstance(node, MappingNode) else node.items:
        yield from _texts(below)


@dataclass(slots=True, eq=False)
class Book:
    """All documents of a set of manifests, and what they declare for each of their clusters, expired or not."""

    manifests: Manifests
    pages: list[Page]
    desired: Mapping[str, DesiredState]
    _roles: dict[str, Mapping[str, RoleDeclaration]] = field(default_factory=dict)
    _names: dict[str, Set[str]] = field(default_factory=dict)
    _owners: dict[frozenset[str], "Owners"] = field(default_factory=dict)
    #: By the identity of owners, which are kept.
    _homes: dict[tuple[str, int, frozenset[str]], "Home"] = field(default_factory=dict)
    _naming: dict[str, list[Page]] | None = None
    _principals: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def clusters(self) -> Mapping[str, ClusterDeclaration]:
        """The declared clusters by name."""
        return self.manifests.clusters

    def of(self, *kinds: str) -> Iterator[Page]:
        """The documents of these kinds, in the order of their files."""
        return (page for page in self.pages if page.heading.kind in kinds)

    def names(self, kind: str) -> Set[str]:
        """The names of all documents of a kind."""
        if kind not in self._names:
            self._names[kind] = {page.heading.name for page in self.of(kind)}
        return self._names[kind]

    def where(self, page: Page) -> frozenset[str]:
        """The clusters that a document is for."""
        clusters = self.clusters.items()
        return frozenset(name for name, cluster in clusters if page.heading.applies_to(cluster.labels))

    def principals(self, page: Page) -> tuple[str, ...]:
        """The principals of an ``Acls`` document; none where they differ from cluster to cluster."""
        if id(page) not in self._principals:
            spec = page.span.get("spec")
            named = None if spec is None else spec.get("principal") or spec.get("principals")
            places = [(span.line, span.column) for span in (named.texts if named is not None else ())]
            texts = [page.texts(self.clusters[name]) for name in self.where(page)]
            variants = {tuple(text.get(place, "") for place in places) for text in texts}
            self._principals[id(page)] = variants.pop() if len(variants) == 1 else ()
        return self._principals[id(page)]

    def naming(self, principal: str) -> list[Page]:
        """The ``Acls`` documents that name a principal, alone or with others."""
        if self._naming is None:
            self._naming = {}
            for page in self.of("Acls"):
                for name in self.principals(page):
                    self._naming.setdefault(name, []).append(page)
        return self._naming.get(principal, [])

    def roles(self, cluster: str) -> Mapping[str, RoleDeclaration]:
        """The roles that rules for a cluster can use."""
        if cluster not in self._roles:
            declaration = self.clusters[cluster]
            documents = declared_for(self.manifests, declaration, FindingsByFile(self.manifests), kinds=("Role",))
            self._roles[cluster] = roles_for(self.manifests, declaration, documents).here
        return self._roles[cluster]

    def owners(self, clusters: frozenset[str]) -> "Owners":
        """What Ownership says of teams, on any of the clusters."""
        if clusters not in self._owners:
            declared = (owner for name in clusters for owner in ownership(self.manifests, name)[0])
            self._owners[clusters] = Owners(dict.fromkeys(declared))
        return self._owners[clusters]

    def home(self, kind: str, owners: "Owners", belonging: frozenset[str]) -> "Home":
        """Where documents of a kind are that belong to these teams."""
        asked = (kind, id(owners), belonging)
        if asked not in self._homes:
            self._homes[asked] = _home(self, kind, owners, belonging)
        return self._homes[asked]


def read(texts: Mapping[str, str]) -> Book:
    """Texts by path; raises ``ManifestError`` where they are not valid, for whatever cluster."""
    manifests = load(Source(path, text) for path, text in texts.items())
    pages = [page for path in sorted(texts) for page in _pages(Source(path, texts[path]))]
    return Book(manifests, pages, {name: desired_state(manifests, name, LONG_AGO) for name in manifests.clusters})


def _pages(source: Source) -> Iterator[Page]:
    findings = Findings(source)
    layouts = spans.layout(source.text)
    for root, span in zip(read_documents(findings), layouts, strict=True):
        document = open_document(root, findings, KINDS_BY_NAME)
        if document is not None:
            yield Page(source, document.heading, document.root, span.root, span.start)


# Where something new belongs: a document that is there, the file of the team that owns it, or a file of its own.

_GLOB: Final = "*?["


class NoPlaceError(Exception):
    """Nothing in the manifests is about exactly these clusters, and no labels tell them from the others."""


@dataclass(slots=True)
class NewDocument:
    """A document to be written at the end of a file, which may be new: fields of its spec, and a list of items."""

    path: str
    kind: str
    name: str
    head: dict[str, Written]
    key: str
    items: list[Item] = field(default_factory=list)


def match_labels(book: Book, clusters: frozenset[str]) -> dict[str, Written]:
    """The field ``clusters`` of a document for these clusters only; none where it is for all of them."""
    if clusters == book.clusters.keys():
        return {}
    labels = [set(book.clusters[name].labels.items()) for name in sorted(clusters)]
    common = sorted(set.intersection(*labels))
    for chosen in (*([label] for label in common), common):
        matching = {name for name, cluster in book.clusters.items() if set(chosen) <= set(cluster.labels.items())}
        if chosen and matching == clusters:
            return {"clusters": {"matchLabels": {key: spans.quoted(text) for key, text in chosen}}}
    raise NoPlaceError(f"no labels tell {', '.join(sorted(clusters))} from the other clusters")


class Owners:
    """Teams, by what they own; and of which of them a file is."""

    __slots__ = ("_by_name", "_by_principal", "_by_start", "_by_team", "_holding")

    def __init__(self, declared: Iterable[OwnerDeclaration]) -> None:
        owners = tuple(declared)
        self._by_principal = ItemsByName((owner.principals, owner) for owner in owners if owner.principals)
        self._by_start = ItemsByName((NameSelector((), tuple(map(glob_start, owner.files))), owner) for owner in owners)
        self._by_team: dict[str, list[OwnerDeclaration]] = defaultdict(list)
        named: dict[ResourceType, list[tuple[NameSelector, tuple[ResourcePattern, str]]]] = defaultdict(list)
        for owner in owners:
            self._by_team[owner.team].append(owner)
            for own in owner.patterns:
                named[own.resource_type].append((_names_of(own), (own, owner.team)))
        self._by_name = {kind: ItemsByName(some) for kind, some in named.items()}
        self._holding: dict[str, frozenset[str]] = {}

    def globs(self, teams: Iterable[str]) -> list[str]:
        """Those of the teams' files, sorted."""
        return sorted(glob for team in teams for owner in self._by_team.get(team, ()) for glob in owner.files)

    def of_principal(self, principal: str) -> set[str]:
        """The teams that own a principal."""
        near = self._by_principal.near(principal)
        return {owner.team for owner in near if owner.principals and owner.principals.selects_principal(principal)}

    def of_pattern(self, pattern: ResourcePattern) -> set[str]:
        """The teams that own all names of a pattern."""
        near = self._by_name.get(pattern.resource_type)
        return {team for own, team in near.near(pattern.name) if own.contains(pattern)} if near else set()

    def holding(self, path: str) -> frozenset[str]:
        """The teams of a file."""
        if path not in self._holding:
            near = self._by_start.near(path)
            self._holding[path] = frozenset(owner.team for owner in near if owner.files_of([path]))
        return self._holding[path]


def _names_of(pattern: ResourcePattern) -> NameSelector:
    if pattern.is_wildcard:
        return NameSelector(any_name=True)
    prefixed = pattern.pattern_type is PatternType.PREFIXED
    return NameSelector(prefixes=(pattern.name,)) if prefixed else NameSelector((pattern.name,))


def teams(owners: Owners, principal: str | None, patterns: Iterable[ResourcePattern]) -> frozenset[str]:
    """The teams in whose files something belongs: those that own the principal, else those that own a resource."""
    own = owners.of_principal(principal) if principal else set[str]()
    return frozenset(own or (team for pattern in patterns for team in owners.of_pattern(pattern)))


def fits(owners: Owners, path: str, belonging: frozenset[str]) -> bool:
    """Whether a file is one of these teams; of no team, where there are none."""
    holding = owners.holding(path)
    return bool(holding & belonging) if belonging else not holding


def best(pages: Iterable[Page], owners: Owners, belonging: frozenset[str]) -> Page | None:
    """The first document in a file that fits, else the first one."""
    candidates = list(pages)
    return next(
        (page for page in candidates if fits(owners, page.path, belonging)), candidates[0] if candidates else None
    )


class Home(NamedTuple):
    """The file for new documents, or the folder for a new file."""

    file: str | None
    folder: str = "."


def _home(book: Book, kind: str, owners: Owners, belonging: frozenset[str]) -> Home:
    fitting = [page.path for page in book.of(kind) if fits(owners, page.path, belonging)]
    if belonging:
        of_team = [path for path in sorted(book.manifests.sources) if fits(owners, path, belonging)]
        return Home(min(fitting or of_team, default=None))
    if len(set(fitting)) == 1 and len(fitting) > 1:
        return Home(fitting[0])  # one file holds all of them
    folders = Counter(str(PurePosixPath(path).parent) for path in fitting).most_common(1)
    return Home(None, folders[0][0] if folders else ".")


def new_path(book: Book, kind: str, title: str, owners: Owners, belonging: frozenset[str]) -> str:
    """The file for a document of this kind: one of the team's, that of all its kind, or a new one beside them."""
    home = book.home(kind, owners, belonging)
    if home.file is not None:
        return home.file
    for glob in owners.globs(belonging):
        path = _within(glob, title)
        if fits(owners, path, belonging):
            return path
    path = str(PurePosixPath(home.folder) / f"{title}.yaml")
    return path if fits(owners, path, belonging) else f"{title}.yaml"


def _within(glob: str, title: str) -> str:
    """A path that a glob may match: ``teams/payments/**`` has ``teams/payments/title.yaml``."""
    if not any(mark in glob for mark in _GLOB):
        return glob
    parts = []
    for part in PurePosixPath(glob).parts:
        if any(mark in part for mark in _GLOB):
            break
        parts.append(part)
    return str(PurePosixPath(*parts, f"{title}.yaml"))


def new_name(book: Book, kind: str, title: str, taken: Container[str] = ()) -> str:
    """A name that no document of the kind has, and that is not ``taken``."""
    used, wanted = book.names(kind), stem(title)
    names = (_numbered(wanted, number) for number in count(1))
    return next(name for name in names if name not in used and name not in taken)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


# Which bindings a cluster's rules declare, and which of them one use of a role brings together.


class DeclaredRight(NamedTuple):
    """One binding of a rule, with the place of its name. ``role`` is used at ``use``; ``of_role``: on its own name."""

    binding: AclBinding
    place: Origin
    role: str = ""
    use: Origin | None = None
    of_role: bool = False


def declared_rights(book: Book, cluster: str) -> Iterator[DeclaredRight]:
    """Every binding of every rule for the cluster; one that several rules declare comes as often."""
    roles = book.roles(cluster)
    for page in book.of("Acls", "Topics"):
        if cluster not in book.where(page):
            continue
        declared = page.declared(book.clusters[cluster])
        for rule in declared.rules if isinstance(declared, AclsDeclaration | TopicsDeclaration) else ():
            use = rule.action if isinstance(rule.action, RoleUse) else None
            for grant in grants(rule, roles):
                for (pattern, declaration), entry in product(grant.declared(), entries_of(grant)):
                    binding = AclBinding(pattern, entry)
                    if use is None:
                        yield DeclaredRight(binding, declaration.origin)
                    else:
                        at = use.declaration.origin
                        yield DeclaredRight(binding, declaration.origin, use.name, at, declaration.origin == at)


def cuts_of(book: Book, gone: list[Page]) -> dict[str, list[Splice]]:
    """What removes documents from their files; their comments stay where they were."""
    cuts: dict[str, list[Splice]] = {}
    for page in gone:
        pages = [other for other in book.pages if other.path == page.path]
        number = pages.index(page)
        following = pages[number + 1] if number + 1 < len(pages) else None
        stays = None if following in gone else following
        cuts.setdefault(page.path, []).append(_cut(page, None if number else stays, first=not number))
    return cuts


def _cut(page: Page, following: Page | None, *, first: bool) -> Splice:
    """One document, with the line that separates it: that before it, or after the ``first`` one of a file.

    Comments between its values go to where it was. ``following`` is the next document, where that becomes the first.
    """
    text = page.text
    start, end = spans.line_start(text, page.span.start), spans.next_line(text, page.span.end)
    if not first:
        start = page.start
    elif following is not None and not text[end : following.start].strip():
        end = spans.next_line(text, following.start)
    before = text[start : page.span.start].strip().removeprefix("---").strip()
    lines = [*([before] if before else []), *spans.comments(text, page.span)]
    return Splice(start, end, "".join(line + spans.line_break(text) for line in lines))
