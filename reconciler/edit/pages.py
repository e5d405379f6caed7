"""Manifests as an editor sees them: every document with its text, its spans, and what it declares for each cluster."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.edit.layout import TextSpan, layout
from reconciler.manifest import (
    ClusterDeclaration,
    Manifests,
    OwnerDeclaration,
    Source,
    desired_state,
    load,
    ownership,
)
from reconciler.manifest.desired import FindingsByFile, declared_for, roles_for
from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.kinds.interface import Declared
from reconciler.manifest.parts.document import Document, Heading, open_document
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.roles import RoleDeclaration
from reconciler.manifest.reader.documents import read_documents
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode
from reconciler.manifest.variables import Variables, variable_scalars
from reconciler.model import DesiredState

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
    _naming: dict[str, list[Page]] | None = None
    _principals: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def clusters(self) -> Mapping[str, ClusterDeclaration]:
        """The declared clusters by name."""
        return self.manifests.clusters

    def of(self, *kinds: str) -> Iterator[Page]:
        """The documents of these kinds, in the order of their files."""
        return (page for page in self.pages if page.heading.kind in kinds)

    def where(self, page: Page) -> frozenset[str]:
        """The clusters that a document is for."""
        found = self.clusters.items()
        return frozenset(name for name, cluster in found if page.heading.applies_to(cluster.labels))

    def principals(self, page: Page) -> tuple[str, ...]:
        """The principals of an ``Acls`` document; none where they differ from cluster to cluster."""
        if id(page) not in self._principals:
            spec = page.span.get("spec")
            named = None if spec is None else spec.get("principal") or spec.get("principals")
            places = [(one.line, one.column) for one in (named.texts if named is not None else ())]
            texts = [page.texts(self.clusters[name]) for name in self.where(page)]
            found = {tuple(one.get(place, "") for place in places) for one in texts}
            self._principals[id(page)] = found.pop() if len(found) == 1 else ()
        return self._principals[id(page)]

    def naming(self, principal: str) -> list[Page]:
        """The ``Acls`` documents that name a principal, alone or with others."""
        if self._naming is None:
            self._naming = {}
            for page in self.of("Acls"):
                for one in self.principals(page):
                    self._naming.setdefault(one, []).append(page)
        return self._naming.get(principal, [])

    def roles(self, cluster: str) -> Mapping[str, RoleDeclaration]:
        """The roles that rules for a cluster can use."""
        if cluster not in self._roles:
            declaration = self.clusters[cluster]
            documents = declared_for(self.manifests, declaration, FindingsByFile(self.manifests), kinds=("Role",))
            self._roles[cluster] = roles_for(self.manifests, declaration, documents).here
        return self._roles[cluster]

    def owners(self, clusters: Iterable[str]) -> list[OwnerDeclaration]:
        """What Ownership says of teams, on any of the clusters."""
        found = (owner for name in clusters for owner in ownership(self.manifests, name)[0])
        return list(dict.fromkeys(found))


def read(texts: Mapping[str, str]) -> Book:
    """Texts by path; raises ``ManifestError`` where they are not valid, for whatever cluster."""
    manifests = load(Source(path, text) for path, text in texts.items())
    pages = [page for path in sorted(texts) for page in _pages(Source(path, texts[path]))]
    return Book(manifests, pages, {name: desired_state(manifests, name, LONG_AGO) for name in manifests.clusters})


def _pages(source: Source) -> Iterator[Page]:
    findings = Findings(source)
    spans = layout(source.text)
    for root, span in zip(read_documents(findings), spans, strict=True):
        document = open_document(root, findings, KINDS_BY_NAME)
        if document is not None:
            yield Page(source, document.heading, document.root, span.root, span.start)
