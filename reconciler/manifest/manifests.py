"""Everything that a set of manifests declares, for all clusters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.kinds.fleet import FleetDeclaration
from reconciler.manifest.kinds.interface import Declared
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode
from reconciler.manifest.reader.problem import Problem
from reconciler.manifest.reader.source import Source
from reconciler.manifest.variables import substitute

D = TypeVar("D")


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A document with variables: what it declares is known for each cluster only."""

    heading: Heading
    root: MappingNode
    source: Source

    def filled(self, cluster: ClusterDeclaration, table: PatternTable, findings: Findings) -> Declared | None:
        """What it declares for ``cluster``; ``None`` after reporting problems."""
        before = len(findings.problems)
        root = substitute(self.root, cluster.vars, cluster.name, findings)
        if len(findings.problems) > before:
            return None
        return KINDS_BY_NAME[self.heading.kind].declare(Document(self.heading, root, findings), table)


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was loaded; ``templates`` are the documents that name variables, ``sources`` the files by path."""

    documents: tuple[Declared, ...]
    clusters: Mapping[str, ClusterDeclaration]
    fleets: Mapping[str, FleetDeclaration]
    templates: tuple[Template, ...]
    sources: Mapping[str, Source]
    warnings: tuple[Problem, ...] = ()

    def of(self, declared: type[D]) -> list[D]:
        """The documents of one kind, by the type of what they declare; not those with variables."""
        return [item for item in self.documents if isinstance(item, declared)]
