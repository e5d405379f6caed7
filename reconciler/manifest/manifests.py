"""Everything that a set of manifests declares, for all clusters."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.manifest.acls import AclsDeclaration, declare_acls
from reconciler.manifest.claims import AccessTestsDeclaration, declare_access_tests
from reconciler.manifest.clusters import ClusterDeclaration
from reconciler.manifest.document import Document, Heading
from reconciler.manifest.findings import Findings
from reconciler.manifest.fleets import FleetDeclaration
from reconciler.manifest.nodes import MappingNode
from reconciler.manifest.owners import OwnershipDeclaration, declare_ownership
from reconciler.manifest.policies import TopicPolicyDeclaration, declare_topic_policy
from reconciler.manifest.problem import Problem
from reconciler.manifest.resources import PatternTable
from reconciler.manifest.role_documents import declare_role
from reconciler.manifest.roles import RoleDeclaration
from reconciler.manifest.source import Source
from reconciler.manifest.topics import TopicsDeclaration, declare_topics
from reconciler.manifest.variables import substitute
from reconciler.model import FrozenMap

Declared = (
    AclsDeclaration
    | RoleDeclaration
    | TopicsDeclaration
    | AccessTestsDeclaration
    | OwnershipDeclaration
    | TopicPolicyDeclaration
)


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
        return declare(Document(self.heading, root, findings), table)


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was loaded; ``templates`` are the documents that name variables, ``sources`` the files by path."""

    clusters: Mapping[str, ClusterDeclaration]
    acls: tuple[AclsDeclaration, ...]
    roles: Mapping[str, RoleDeclaration]
    topics: tuple[TopicsDeclaration, ...]
    templates: tuple[Template, ...]
    sources: Mapping[str, Source]
    warnings: tuple[Problem, ...] = ()
    fleets: Mapping[str, FleetDeclaration] = FrozenMap()
    access_tests: tuple[AccessTestsDeclaration, ...] = ()
    ownership: tuple[OwnershipDeclaration, ...] = ()
    topic_policies: tuple[TopicPolicyDeclaration, ...] = ()


def declare(document: Document, table: PatternTable) -> Declared | None:
    """Checks and converts a document of any kind but Cluster and Fleet; ``None`` after reporting problems."""
    match document.heading.kind:
        case "Acls":
            return declare_acls(document, table)
        case "Role":
            return declare_role(document, table)
        case "AccessTests":
            return declare_access_tests(document, table)
        case "Ownership":
            return declare_ownership(document, table)
        case "TopicPolicy":
            return declare_topic_policy(document, table)
        case _:
            return declare_topics(document, table)
